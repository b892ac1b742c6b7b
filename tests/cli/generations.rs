//! Generations: listing, collecting, going back, waiting for another builder, and what a build may drop.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use super::json::demand;
use super::session::{Session, session};

const POLICY: &str = "corpus/atlas-bikes/access.yaml";

/// A word that stands in one document, in lower case.
const CANARY: &str = "zyxcanary";

/// The pumps, four generations of them: in the third on, a nut; in the fourth, another hose.
fn four(s: &Session) {
    s.pumps();
    s.edit("atlas.toml", "index = ", "build.keep_generations = 9\nindex = ");
    s.prepare("build");
    s.prepare("build --full");
    s.write("docs/nut.md", "# Nuts\n\nA nut holds the hose.\n");
    s.prepare("build");
    s.edit("docs/hose.md", "kink", "bend");
    s.prepare("build");
}

#[test]
fn generations_are_listed_and_collected() {
    let mut s = session!();
    four(&s);
    s.write("index/generation-000009/passages.part", "half");
    s.write("index/CURRENT.new", "half");
    s.write("index/notes.txt", "mine");
    s.run("status");
    let status = s.run_json("status --format json");
    demand(
        &status,
        "disk_bytes leftovers generations[].number generations[].built_at \
         generations[].documents generations[].passages generations[].size_bytes \
         generations[].shared_bytes generations[].current generations[].held",
    );
    s.run("gc --keep 2");
    s.run("gc --keep 2");
    s.run_json("gc --keep 1 --format json");
    s.run("gc --keep 0");
    assert_eq!(s.read("index/notes.txt"), "mine");
    s.run("gc --keep some");
    s.run("gc --keep 1 --purge");
    s.run("rollback");
    s.run("gc --index nowhere");
    s.run("rollback 1 --index nowhere");
    assert!(!s.at("nowhere").exists());
}

#[test]
fn a_generation_that_a_reader_has_open_is_not_collected() {
    let mut s = session!();
    four(&s);
    let reader = File::open(s.at("index/generation-000002/manifest.json")).unwrap();
    reader.lock_shared().unwrap();
    s.run("gc --keep 1");
    assert!(s.at("index/generation-000002/manifest.json").is_file());
    assert!(!s.at("index/generation-000001").exists());
    s.run("status");
    s.prepare("build --full --setting build.keep_generations=1");
    assert!(s.at("index/generation-000002/manifest.json").is_file());
    reader.unlock().unwrap();
    s.say("the reader is gone");
    s.run("gc --keep 1");
    assert!(!s.at("index/generation-000002").exists());
}

/// Whether the canary stands in any file under `folder`, in any case of letters.
fn holds_canary(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds_canary(&path);
        }
        let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
        // A stemmer may cut the end.
        bytes.windows(CANARY.len() - 1).any(|found| found == &CANARY.as_bytes()[..CANARY.len() - 1])
    })
}

#[test]
fn purged_text_is_gone_from_the_disk() {
    let mut s = session!();
    s.pumps();
    s.edit("atlas.toml", "index = ", "build.keep_generations = 9\nindex = ");
    s.write("docs/secret.md", "# Secret\n\nThe word is zyxcanary.\n\nIt is long.\n");
    for number in 0..4 {
        s.write(&format!("docs/other-{number}.md"), format!("# Other\n\nNumber {number}.\n"));
    }
    s.prepare("build");
    s.say("the sentence is deleted from its document");
    s.edit("docs/secret.md", "The word is zyxcanary.\n\n", "");
    s.prepare("build");
    assert!(holds_canary(&s.at("index")), "there is nothing to purge, so that nothing is shown");
    let reader = File::open(s.at("index/generation-000001/manifest.json")).unwrap();
    reader.lock_shared().unwrap();
    s.run("gc --purge");
    assert!(!holds_canary(&s.at("index")), "purged text is still there");
    assert_eq!(s.prepare("verify").code, 0);
    s.say("the whole document is deleted");
    s.write("docs/secret.md", "# Secret\n\nzyxcanary\n");
    s.prepare("build");
    fs::remove_file(s.at("docs/secret.md")).unwrap();
    s.prepare("build");
    assert!(holds_canary(&s.at("index")));
    s.run_json("gc --purge --format json");
    assert!(!holds_canary(&s.at("index")));
    s.run("status");
    s.run("rollback");
}

#[test]
fn back_and_forth() {
    let mut s = session!();
    four(&s);
    s.run("rollback");
    s.run("status");
    s.say("a search leaves it as it is, and builds nothing");
    let found = s.run("search 'how is a hose laid' -k 1");
    assert!(found.stdout.contains("without a kink"), "{}", found.stdout);
    assert_eq!(s.run("verify").code, 0);
    s.say("further back, and forth again");
    s.run("rollback 1");
    s.run_json("rollback 4 --format json");
    let found = s.prepare("search 'how is a hose laid' -k 1");
    assert!(found.stdout.contains("without a bend"), "{}", found.stdout);
    s.run("rollback 7");
    s.run("rollback 99");
    s.say("the next build goes on from there");
    s.run("rollback 1");
    s.run("build");
    s.run("build");
    let found = s.prepare("search 'nut' -k 1");
    assert!(found.stdout.contains("A nut holds the hose."), "{}", found.stdout);
    s.say("a damaged generation and one of other settings are no place to go to");
    let manifest = s.read("index/generation-000002/manifest.json");
    s.write("index/generation-000002/manifest.json", &manifest[..100]);
    s.run("rollback 2");
    let store = s.at("index/generation-000003/lengths.part");
    let store =
        if store.is_file() { store } else { s.at("index/generation-000003/base/lengths.part") };
    let mut bytes = fs::read(&store).unwrap();
    bytes[70] ^= 1;
    fs::remove_file(&store).unwrap();
    fs::write(&store, bytes).unwrap();
    s.run("rollback 3");
    s.run("rollback 4 --setting text.language=de");
    assert_eq!(s.prepare("verify").code, 0);
}

/// What `asker` finds of the price list, in all.
fn price_list(s: &Session, asker: &str) -> bool {
    let found = s.prepare(&format!("search 'price list battery BP-36' -k 50 --as {asker}"));
    assert_eq!(found.code, 0, "{}", found.stderr);
    found.stdout.contains("PRICE-2026-")
}

#[test]
fn going_back_restores_no_access_that_the_policy_withdrew() {
    let mut s = session!();
    s.bikes();
    s.edit("atlas.toml", "index = ", "build.keep_generations = 9\nindex = ");
    s.prepare("build");
    assert!(price_list(&s, "sales"), "there is nothing to withdraw");
    s.say("the policy no longer opens sales to the role of that name");
    let rule = "sales:    { read: [sales] }";
    s.edit(POLICY, rule, "sales:    { read: [board] }");
    s.prepare("build");
    assert!(!price_list(&s, "sales"));
    s.run("rollback 1");
    assert!(!price_list(&s, "sales"), "going back restored what the policy withdrew");
    assert_eq!(s.prepare("verify").code, 0);
    s.say("the policy opens it again");
    s.edit(POLICY, "sales:    { read: [board] }", rule);
    s.run("rollback 1");
    assert!(price_list(&s, "sales"));
}

#[test]
fn going_back_opens_nothing_that_was_reclassified() {
    let mut s = session!();
    s.bikes();
    s.edit("atlas.toml", "index = ", "build.keep_generations = 9\nindex = ");
    let paper = "corpus/atlas-bikes/warr-r2.md";
    s.edit(paper, "classification: internal", "classification: public");
    s.prepare("build");
    let asked = "search 'battery warranty 2026 policy' -k 50 --as customer";
    assert!(s.prepare(asked).stdout.contains("WARR-R2-"));
    s.say("WARR-R2 was public, and is internal now");
    s.edit(paper, "classification: public", "classification: internal");
    s.prepare("build");
    assert!(!s.prepare(asked).stdout.contains("WARR-R2-"));
    s.run("rollback 1");
    assert!(!s.prepare(asked).stdout.contains("WARR-R2-"), "what is internal now was found");
    assert!(s.prepare(&asked.replace("customer", "staff")).stdout.contains("WARR-R2-"));
    s.run("status");
}

#[test]
fn a_second_builder_waits() {
    let mut s = session!();
    s.pumps();
    s.prepare("build");
    let mut lock =
        File::options().write(true).truncate(true).open(s.at("index/BUILD.lock")).unwrap();
    lock.lock().unwrap();
    write!(lock, "4711").unwrap();
    for command in ["build --full", "build --full --wait=0", "gc", "rollback 1"] {
        assert_eq!(s.run(command).code, 4, "{command}");
    }
    s.run("build --full --wait=1");
    s.run("build --wait=soon");
    let mut child = s.command("build --full --wait").spawn().unwrap();
    // It has begun to wait when it has said so.
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "process 4711 is building it; waiting\n");
    assert!(child.try_wait().unwrap().is_none());
    lock.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    s.say("the other is done");
    s.run("status");
}

#[test]
fn a_build_that_drops_most_documents_asks() {
    let mut s = session!();
    s.pumps();
    for number in 1..=9 {
        s.write(&format!("docs/sub/{number}.md"), format!("# Part {number}\n\nNumber {number}.\n"));
    }
    s.prepare("build");
    s.say("half of it may go");
    fs::remove_dir_all(s.at("docs/sub")).unwrap();
    for number in 1..=4 {
        s.write(&format!("docs/sub/{number}.md"), format!("# Part {number}\n\nNumber {number}.\n"));
    }
    s.prepare("build");
    s.prepare("status");
    s.say("the folder is not mounted");
    fs::remove_dir_all(s.at("docs/sub")).unwrap();
    assert_eq!(s.run("build").code, 4);
    assert_eq!(s.run("build --full").code, 4);
    assert_eq!(s.run("gc --purge").code, 4);
    let found = s.run("search 'part 3' -k 1");
    assert!(found.stdout.contains("Number 3."), "{}", found.stdout);
    s.run("build --setting build.max_shrink=1.5");
    s.run("build --allow-shrink");
    s.say("renamed is not dropped");
    fs::rename(s.at("docs"), s.at("papers")).unwrap();
    fs::create_dir(s.at("docs")).unwrap();
    fs::rename(s.at("papers"), s.at("docs/papers")).unwrap();
    assert_eq!(s.prepare("build").code, 0);
}

#[test]
fn many_stale_files_are_counted() {
    let mut s = session!();
    s.pumps();
    s.prepare("build");
    for number in 10..33 {
        s.write(&format!("docs/{number}.md"), format!("# Part {number}\n\nNumber {number}.\n"));
    }
    s.run("status");
    let status = s.run_json("status --format json");
    assert_eq!(status["stale"].as_array().unwrap().len(), 23);
}
