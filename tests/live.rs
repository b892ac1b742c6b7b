//! An index that stays open while it is built again: every search is answered from one generation, the
//! newest is taken up, what is damaged is not, and a policy that changed closes.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use atlas::index::{self, Quiet};
use atlas::project::{Live, Opened, Project};
use atlas::search::{Request, Retriever as _};

/// Generations that are swapped under load.
const SWAPS: usize = 12;

/// Threads that search meanwhile.
const SEARCHERS: usize = 3;

fn find(folder: &Path) -> atlas::error::Result<Project> {
    Project::find(Some(folder), folder, None, &[])
}

fn build(folder: &Path) -> u64 {
    let project = find(folder).unwrap();
    let corpus = project.read_corpus().unwrap();
    let embedder = project.embedder().unwrap();
    let policy = project.policy.as_ref();
    let options = index::Options { policy, ..index::Options::default() };
    let (settings, store) = (project.index_settings(), project.store());
    let report =
        index::build(&corpus, &settings, embedder.as_ref(), &store, options, &mut Quiet).unwrap();
    report.manifest.generation
}

/// Twenty documents that all say the same number.
fn write(folder: &Path, number: usize) {
    for document in 0..20 {
        let text = format!("# Paper {document}\n\nThe edition of this paper is edition{number}.\n");
        fs::write(folder.join(format!("docs/{document}.md")), text).unwrap();
    }
}

fn project() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    let settings = "corpus = \"docs\"\nindex = \"index\"\nsearch.k = 20\n";
    fs::write(folder.path().join("atlas.toml"), settings).unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

/// The texts that `asker` finds.
fn found(opened: &Opened, question: &str, asker: Option<&str>) -> Vec<String> {
    let scope = opened.project.scope(&opened.index, asker).unwrap();
    let outcome = opened.searcher.retrieve(&Request::new(question, scope)).unwrap();
    let passages = opened.index.passages();
    let text = |row| {
        let passage = passages.passage(row).unwrap();
        passages.passage_text(&passage).unwrap().to_owned()
    };
    outcome.context.iter().map(|hit| text(hit.row)).collect()
}

#[test]
fn searches_go_on_while_generations_are_swapped() {
    let (_gone, folder) = project();
    write(&folder, 0);
    build(&folder);
    let home = folder.clone();
    let live = Arc::new(Live::open(move || find(&home)).unwrap());
    let (heard, news) = channel();
    let follower = live
        .follow(Duration::from_millis(5), move |found| {
            let _ = heard.send(found.map_err(|fault| fault.to_string()));
        })
        .unwrap();
    let (stop, searched) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..SEARCHERS {
            scope.spawn(|| {
                let mut newest = 0;
                while !stop.load(Ordering::Relaxed) {
                    let opened = live.current().unwrap();
                    let texts = found(&opened, "which edition is this paper", None);
                    assert_eq!(texts.len(), 20);
                    let (first, number) = (&texts[0], opened.index.manifest().generation);
                    let own = first.rsplit("edition").next().unwrap();
                    assert!(texts.iter().all(|text| text.rsplit("edition").next() == Some(own)));
                    assert!(number >= newest, "an older generation came back");
                    newest = number;
                    searched.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for edition in 1..=SWAPS {
            write(&folder, edition);
            let built = build(&folder);
            let taken = news.recv_timeout(Duration::from_secs(60)).unwrap();
            assert_eq!(taken, Ok(built));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(searched.into_inner() > SWAPS, "nothing was searched");
    let opened = live.current().unwrap();
    let last = format!("edition{SWAPS}.");
    assert!(found(&opened, "edition", None).iter().all(|text| text.ends_with(&last)));
    drop(follower);
    // Who still has an old one keeps it, files and all.
    write(&folder, 77);
    for _ in 0..3 {
        build(&folder);
    }
    live.refresh().unwrap();
    assert!(found(&opened, "edition", None).iter().all(|text| text.ends_with(&last)));
    let own = opened.index.folder().to_owned();
    assert!(own.is_dir(), "a generation that is held was collected");
    drop(opened);
    live.refresh().unwrap();
    build(&folder);
    assert!(!own.exists(), "a generation that nobody holds was kept");
}

#[test]
fn a_damaged_generation_is_not_taken_up() {
    let (_gone, folder) = project();
    write(&folder, 0);
    build(&folder);
    let home = folder.clone();
    let live = Live::open(move || find(&home)).unwrap();
    write(&folder, 1);
    let number = build(&folder);
    let mut parts = vec![folder.join(format!("index/generation-{number:06}"))];
    let mut damaged = None;
    while let Some(inside) = parts.pop() {
        for entry in fs::read_dir(inside).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                parts.push(path);
            } else if path.ends_with("vectors.part") {
                damaged = Some(path);
            }
        }
    }
    let path = damaged.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let fault = live.refresh().unwrap_err().to_string();
    assert!(fault.contains("vectors.part is damaged"), "{fault}");
    let opened = live.current().unwrap();
    assert!(found(&opened, "edition", None).iter().all(|text| text.ends_with("edition0.")));
    let built = build(&folder);
    assert_eq!(live.refresh().unwrap(), Some(built));
    assert_eq!(live.refresh().unwrap(), None);
}

#[test]
fn a_policy_that_changed_closes_until_the_build_that_follows() {
    let (_gone, folder) = project();
    write(&folder, 0);
    let policy = |readers: &str| {
        let text =
            format!("classifications:\n  internal: {{ read: [{readers}] }}\ndefault: internal\n");
        fs::write(folder.join("access.yaml"), text).unwrap();
    };
    let users = |roles: &str| {
        fs::create_dir_all(folder.join("evals")).unwrap();
        let text = format!("users:\n  - {{ id: ann, roles: [{roles}] }}\n");
        fs::write(folder.join("evals/users.yaml"), text).unwrap();
    };
    policy("staff");
    users("staff");
    let settings = fs::read_to_string(folder.join("atlas.toml")).unwrap();
    fs::write(folder.join("atlas.toml"), format!("access = \"access.yaml\"\n{settings}")).unwrap();
    build(&folder);
    let home = folder.clone();
    let live = Live::open(move || find(&home)).unwrap();
    let count = || found(&live.current().unwrap(), "edition", Some("ann")).len();
    assert_eq!(count(), 20);
    // A role is taken away: no build is needed.
    users("guest");
    assert_eq!(live.refresh().unwrap(), None);
    assert_eq!(count(), 0);
    users("staff");
    live.refresh().unwrap();
    assert_eq!(count(), 20);
    // The policy changes: closed until it is built, and open again when it changes back.
    policy("board");
    live.refresh().unwrap();
    let fault = live.current().unwrap_err().to_string();
    assert!(fault.contains("the policy has changed since it was built"), "{fault}");
    policy("staff");
    live.refresh().unwrap();
    assert_eq!(count(), 20);
    policy("board");
    live.refresh().unwrap();
    let built = build(&folder);
    assert_eq!(live.refresh().unwrap(), Some(built));
    assert_eq!(count(), 0);
    // A file that cannot be read is told, and what was served is served on.
    fs::write(folder.join("evals/users.yaml"), "users: [\n").unwrap();
    assert!(live.refresh().is_err());
    assert_eq!(count(), 0);
}
