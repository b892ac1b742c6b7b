//! Policies from the file to what an asker gets: changed policies and labels, what is closed by mistake,
//! askers nobody knows, modes of folders, the usage log, and the guard of a search.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which clippy takes for production code")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use atlas::access::{Asker, Askers, Bitmap, Policy, Scope};
use atlas::corpus::{self, CorpusSettings};
use atlas::error::Error;
use atlas::format::Store;
use atlas::index::{self, BuildReport, Filter, Index, Options, Quiet};
use atlas::search::{Outcome, Request, Retriever as _, Searcher, Settings};
use atlas::trace::log::Entry;
use atlas::vectors::{Embedder, StaticModel};

const POLICY: &str = "
classifications:
  public:    { read: [everyone] }
  financial: { read: [manager] }
default: nobody
";

/// `sales` may not read what is financial.
const OPENED: &str = "
classifications:
  public:    { read: [everyone] }
  financial: { read: [manager, sales] }
default: nobody
";

const USERS: &str = "
users:
  - { id: ada, roles: [manager] }
  - { id: bob, roles: [sales] }
";

/// A document with its front matter but for id and title.
type Paper = (&'static str, &'static str, &'static str);

const PAPERS: [Paper; 3] = [
    ("SHEET", "classification: public", "The rotary hammer weighs seven pounds.\n"),
    ("COSTS", "classification: financial", "Landed cost of the hammer is two hundred dollars.\n"),
    (
        "MIXED",
        "classification: public\nsections: { Margin: financial }",
        "A hammer is sold by the piece.\n\n## Margin\n\nThe margin of a hammer is thirty percent.\n",
    ),
];

/// A project's folder: documents, policy, askers, and an index beside them.
struct Home {
    folder: tempfile::TempDir,
    embedder: Arc<dyn Embedder>,
    settings: index::Settings,
}

impl Home {
    fn new(policy: &str) -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
            embedder: Arc::new(StaticModel::built_in().unwrap()),
            settings: index::Settings::default(),
        };
        fs::create_dir(home.path().join("papers")).unwrap();
        PAPERS.iter().for_each(|paper| home.write(paper));
        home.write_policy(policy);
        fs::write(home.path().join("users.yaml"), USERS).unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, (id, matter, body): &Paper) {
        let text = format!("---\nid: {id}\ntitle: {id}\n{matter}\n---\n{body}");
        fs::write(self.path().join("papers").join(format!("{id}.md")), text).unwrap();
    }

    fn write_policy(&self, text: &str) {
        fs::write(self.path().join("papers/access.yaml"), text).unwrap();
    }

    fn policy(&self) -> Policy {
        Policy::read(&self.path().join("papers/access.yaml")).unwrap()
    }

    fn askers(&self) -> Askers {
        Askers::read(&self.path().join("users.yaml")).unwrap()
    }

    fn store(&self) -> Store {
        Store::new(self.path().join("index"))
    }

    fn build(&self, policy: Option<&Policy>) -> BuildReport {
        let strict = CorpusSettings { strict: true, ..CorpusSettings::default() };
        let corpus = corpus::read(&self.path().join("papers"), &strict).unwrap();
        let (store, options) = (self.store(), Options { policy, ..Options::default() });
        let embedder = self.embedder.as_ref();
        index::build(&corpus, &self.settings, embedder, &store, options, &mut Quiet).unwrap()
    }

    fn open(&self, policy: Option<&Policy>) -> Result<Arc<Index>, Error> {
        let embedder = Arc::clone(&self.embedder);
        Index::open(&self.store(), &self.settings, embedder, policy).map(Arc::new)
    }

    /// Builds under the policy as it stands and opens the result.
    fn index(&self) -> Arc<Index> {
        let policy = self.policy();
        self.build(Some(&policy));
        self.open(Some(&policy)).unwrap()
    }

    /// References of the blocks that the asker called `id` may read.
    fn readable(&self, index: &Index, id: &str) -> Vec<String> {
        let scope = index.scope(self.askers().get(id)).unwrap();
        scope.readable().iter().map(|row| block_of(index, row)).collect()
    }
}

fn block_of(index: &Index, row: u32) -> String {
    index.passages().reference(row).unwrap().block.to_string()
}

fn search(index: &Arc<Index>, scope: Scope) -> Result<Outcome, Error> {
    let searcher = Searcher::new(Arc::clone(index), Settings::default()).unwrap();
    searcher.retrieve(&Request::new("What does a hammer cost, and what is the margin?", scope))
}

/// Blocks of the context, in the order of their names.
fn found(index: &Arc<Index>, asker: Option<&Asker>) -> Vec<String> {
    let outcome = search(index, index.scope(asker).unwrap()).unwrap();
    let mut blocks: Vec<String> =
        outcome.context.iter().map(|hit| block_of(index, hit.row)).collect();
    blocks.sort();
    blocks
}

const ALL: [&str; 4] = ["COSTS-1", "MIXED-1", "MIXED-2", "SHEET-1"];
const PUBLIC: [&str; 2] = ["MIXED-1", "SHEET-1"];

// Policies that change.

#[test]
fn an_index_of_another_policy_is_refused_by_name() {
    let home = Home::new(POLICY);
    let before = home.policy();
    home.build(Some(&before));
    home.write_policy(OPENED);
    let now = home.policy();
    let fault = home.open(Some(&now)).unwrap_err();
    assert!(matches!(fault, Error::Unusable { .. }));
    let expected = "the policy has changed since it was built; run `atlas build` to build it again";
    assert!(fault.to_string().ends_with(expected), "{fault}");
}

#[test]
fn an_index_under_a_policy_never_opens_without_and_the_other_way_round() {
    let home = Home::new(POLICY);
    let policy = home.policy();
    let refused = |asked: Option<&Policy>| home.open(asked).unwrap_err().to_string();
    home.build(Some(&policy));
    assert!(refused(None).contains("the policy has changed"));
    home.build(None);
    assert!(refused(Some(&policy)).contains("the policy has changed"));
}

#[test]
fn a_changed_policy_takes_over_every_embedding_and_moves_the_scope() {
    let home = Home::new(POLICY);
    let index = home.index();
    assert_eq!(home.readable(&index, "bob"), PUBLIC);
    home.write_policy(OPENED);
    let policy = home.policy();
    let report = home.build(Some(&policy));
    assert_eq!((report.reused, report.manifest.passages), (4, 4));
    let rebuilt = home.open(Some(&policy)).unwrap();
    assert_eq!(found(&rebuilt, home.askers().get("bob")), ALL);
    assert_ne!(rebuilt.manifest().digest, index.manifest().digest);
    assert_eq!(rebuilt.manifest().fingerprint, index.manifest().fingerprint);
    // Whoever has the old generation open keeps the answers of the old policy.
    assert_eq!(found(&index, home.askers().get("bob")), PUBLIC);
}

#[test]
fn a_document_of_another_classification_changes_hands_without_an_embedding() {
    let home = Home::new(POLICY);
    let before = home.index();
    home.write(&("SHEET", "classification: financial", PAPERS[0].2));
    let policy = home.policy();
    let report = home.build(Some(&policy));
    assert_eq!((report.reused, report.changed.updated, report.changed.unchanged), (4, 1, 2));
    let after = home.open(Some(&policy)).unwrap();
    assert_eq!(found(&after, home.askers().get("bob")), ["MIXED-1"]);
    assert_eq!(found(&after, home.askers().get("ada")), ALL);
    assert_ne!(after.manifest().digest, before.manifest().digest);
}

#[test]
fn a_section_is_closed_alone() {
    let home = Home::new(POLICY);
    let index = home.index();
    assert_eq!(found(&index, home.askers().get("ada")), ALL);
    assert_eq!(found(&index, home.askers().get("bob")), PUBLIC);
}

// What is closed by mistake.

#[test]
fn what_has_no_classification_is_nobodys_unless_the_policy_says_whose() {
    let home = Home::new(POLICY);
    home.write(&("SHEET", "region: north", PAPERS[0].2));
    let report = home.build(Some(&home.policy()));
    assert_eq!(report.closed, ["it has no classification, and the policy's default is nobody"]);
    for id in ["ada", "bob"] {
        assert!(!home.readable(&home.index(), id).contains(&"SHEET-1".to_owned()), "{id}");
    }
    home.write_policy(&POLICY.replace("default: nobody", "default: financial"));
    assert!(home.build(Some(&home.policy())).closed.is_empty());
    let index = home.index();
    assert_eq!(home.readable(&index, "ada"), ALL);
    assert_eq!(home.readable(&index, "bob"), ["MIXED-1"]);
    // No `default` at all is `nobody`.
    home.write_policy(&POLICY.replace("default: nobody", ""));
    assert!(!home.readable(&home.index(), "ada").contains(&"SHEET-1".to_owned()));
}

#[test]
fn an_unknown_classification_is_nobodys_and_is_reported_with_a_suggestion() {
    let home = Home::new(POLICY);
    home.write(&("COSTS", "classification: finacial", PAPERS[1].2));
    let mixed = PAPERS[2].1.replace("financial", "secret");
    let mixed = format!("---\nid: MIXED\ntitle: MIXED\n{mixed}\n---\n{}", PAPERS[2].2);
    fs::write(home.path().join("papers/MIXED.md"), mixed).unwrap();
    let report = home.build(Some(&home.policy()));
    let expected = [
        "classification `finacial` is not in access.yaml, so nobody may read it; did you mean `financial`?",
        "classification `secret` is not in access.yaml, so nobody may read it",
    ];
    assert_eq!(report.closed, expected);
    let index = home.index();
    assert_eq!(home.readable(&index, "ada"), PUBLIC);
}

// Who asks.

#[test]
fn an_unknown_asker_reads_nothing_and_is_told_who_was_meant() {
    let home = Home::new(POLICY);
    let (index, askers) = (home.index(), home.askers());
    let unknown = askers.get("bobb");
    let scope = index.scope(unknown).unwrap();
    assert!(unknown.is_none() && scope.is_restricted());
    assert_eq!((scope.readable().count(), scope.allowed().count()), (0, 0));
    let outcome = search(&index, scope).unwrap();
    assert!(outcome.context.is_empty());
    assert!(outcome.trace.stages.iter().all(|stage| stage.list.is_empty() && stage.after == 0));
    let said = askers.known("bobb").unwrap_err();
    assert_eq!(
        said,
        "asker `bobb` is not in users.yaml, so nothing is visible; did you mean `bob`?"
    );
}

#[test]
fn an_asker_without_claims_reads_what_everyone_does() {
    let home = Home::new(POLICY);
    let guest = Asker {
        id: "guest".to_owned(),
        roles: Vec::new(),
        accounts: Vec::new(),
        regions: Vec::new(),
        notes: String::new(),
    };
    assert_eq!(found(&home.index(), Some(&guest)), PUBLIC);
}

#[test]
fn an_asker_who_stands_there_twice_is_refused() {
    let home = Home::new(POLICY);
    let path = home.path().join("users.yaml");
    fs::write(&path, format!("{USERS}  - {{ id: bob, roles: [manager] }}\n")).unwrap();
    let fault = Askers::read(&path).unwrap_err().to_string();
    let (_, said) = fault.split_once("users.yaml").unwrap();
    assert_eq!(said, ":5: asker `bob` stands here a second time; give each an id of its own");
}

// The guard.

#[test]
fn a_scope_of_another_generation_is_refused() {
    let home = Home::new(POLICY);
    let old = home.index();
    home.write(&("EXTRA", "classification: public", "A hammer drill is no hammer.\n"));
    let new = home.index();
    let askers = home.askers();
    for (index, other) in [(&new, &old), (&old, &new)] {
        let scope = other.scope(askers.get("ada")).unwrap();
        let fault = search(index, scope).unwrap_err();
        assert!(matches!(fault, Error::Guard { stage: "request", .. }), "{fault}");
        let expected = "stage request broke an invariant: the scope is of another generation of the index; the request was stopped";
        assert_eq!(fault.to_string(), expected);
    }
}

/// Rows of two generations of one size are told apart by nothing that a scope holds.
#[test]
fn a_scope_of_another_generation_of_the_same_size_is_refused() {
    let home = Home::new(POLICY);
    let old = home.index().scope(home.askers().get("bob")).unwrap();
    home.write(&("SHEET", "classification: financial", PAPERS[0].2));
    assert!(search(&home.index(), old).is_err());
}

#[test]
fn narrowing_never_widens_a_scope() {
    let home = Home::new(POLICY);
    let index = home.index();
    let scope = index.scope(home.askers().get("bob")).unwrap();
    let rows = index.manifest().passages as u32;
    let narrowed = scope.narrowed(&Bitmap::all(rows));
    assert_eq!(narrowed.allowed(), scope.readable());
    assert!(narrowed.is_restricted());
    assert_eq!(scope.narrowed(&Bitmap::none(rows)).allowed().count(), 0);
}

/// The front matter of a document that is readable in part names the titles of its closed sections.
#[test]
fn the_title_of_a_closed_section_is_not_suggested() {
    let home = Home::new(POLICY);
    let index = home.index();
    let scope = index.scope(home.askers().get("bob")).unwrap();
    let mut filter = Filter::default();
    filter.add("sections.Marg=x").unwrap();
    let said = index.narrow(&scope, &filter).unwrap_err().to_string();
    assert!(!said.contains("Margin"), "{said}");
    let mut filter = Filter::default();
    filter.add("sections.Margin=financial").unwrap();
    assert!(index.narrow(&scope, &filter).is_err());
}

// What lies on disk.

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
#[test]
fn only_its_owner_may_enter_a_generation() {
    let home = Home::new(POLICY);
    home.index();
    home.index();
    let folders = fs::read_dir(home.path().join("index")).unwrap().map(|e| e.unwrap().path());
    let folders: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), 2, "the current one and the one before");
    for folder in folders {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
    }
}

/// `atlas search` in the project, as `asker`.
fn ask(home: &Home, asker: &str, question: &str) -> String {
    let toml = "corpus = \"papers\"\nindex = \"index\"\naccess = \"access.yaml\"\naskers = \"users.yaml\"\nusage_log = \"log/usage.jsonl\"\n";
    fs::write(home.path().join("atlas.toml"), toml).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_atlas"))
        .args(["search", question, "--as", asker, "--project"])
        .arg(home.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_usage_log_holds_the_references_of_the_context_and_no_text() {
    let home = Home::new(POLICY);
    let shown = ask(&home, "bob", "hammer margin");
    assert!(shown.contains("SHEET-1-p0") && !shown.contains("COSTS"), "{shown}");
    ask(&home, "ada", "hammer margin");
    ask(&home, "stranger", "hammer margin");
    let path = home.path().join("log/usage.jsonl");
    #[cfg(unix)]
    assert_eq!(mode(&path), 0o600);
    let text = fs::read_to_string(&path).unwrap();
    let entries: Vec<Entry> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let logged = |entry: &Entry| {
        let mut names: Vec<String> = entry.context.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    };
    assert_eq!(logged(&entries[0]), ["MIXED-1-p0", "SHEET-1-p0"]);
    assert_eq!(logged(&entries[1]), ["COSTS-1-p0", "MIXED-1-p0", "MIXED-2-p0", "SHEET-1-p0"]);
    assert!(entries[2].context.is_empty() && entries[2].asker.is_none());
    assert_eq!(entries[0].asker.as_deref(), Some("bob"));
    // Words of the documents that are not words of the question.
    for word in ["rotary", "Landed", "percent", "piece", "Margin", "weighs"] {
        assert!(!text.contains(word), "`{word}` is in the log");
    }
    let first = text.lines().next().unwrap();
    assert!(!first.contains("COSTS") && !first.contains("MIXED-2"), "{first}");
}

#[test]
fn a_search_after_a_changed_policy_builds_again_before_it_answers() {
    let home = Home::new(OPENED);
    assert!(ask(&home, "bob", "landed cost").contains("COSTS-1-p0"));
    home.write_policy(POLICY);
    let shown = ask(&home, "bob", "landed cost");
    assert!(!shown.contains("COSTS") && shown.contains("SHEET-1-p0"), "{shown}");
}
