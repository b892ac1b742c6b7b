//! `init`, `build`, `status` and `verify`, from an empty folder on.

use std::fs;

use super::json::demand;
use super::session::session;

#[test]
fn init() {
    let mut s = session!();
    s.run("init");
    s.show("atlas.toml", 100);
    s.show("evals/development.yaml", 100);
    s.run("init");
    s.run("init nowhere");
    fs::create_dir(s.at("other")).unwrap();
    s.run("init other --format json");
    s.say("what init writes is a project that works");
    s.write("pump.md", "# Pumps\n\nA pump needs oil.\n");
    s.run("search oil");
    s.run("measure");
}

#[test]
fn from_build_to_rebuild() {
    let mut s = session!();
    s.pumps();
    s.run("status");
    s.run("build");
    s.run("build");
    s.run("build --full");
    s.run("status");
    s.run("verify");
    s.say("edits hose.md, adds nut.md, removes valve.txt");
    s.edit("docs/hose.md", "kink", "bend, and never stepped on");
    s.write("docs/nut.md", "# Nuts\n\nA nut holds the hose.\n");
    fs::remove_file(s.at("docs/valve.txt")).unwrap();
    s.run("status");
    s.run("search 'how is a hose laid'");
    s.run("status");
    s.say("edits hose.md");
    s.edit("docs/hose.md", "bend", "knot");
    s.run("search 'how is a hose laid' -k 1");
    s.edit("docs/hose.md", "knot", "twist");
    s.run("build");
}

#[test]
fn changes_are_written_beside_what_was() {
    let mut s = session!();
    s.pumps();
    s.write("atlas.toml", "corpus = \"docs\"\nlayers.rewrite_percent = 1000\nlayers.most = 2\n");
    s.run("build");
    s.edit("docs/hose.md", "kink", "bend, and never stepped on");
    s.run("build");
    s.run("verify --against-rebuild");
    s.say("a second change merges the layers beside the base");
    s.write("docs/nut.md", "# Nuts\n\nA nut holds the hose.\n");
    s.run("build");
    s.run("search 'what holds the hose' -k 2");
    s.run("verify --against-rebuild");
    s.run("--format json verify --against-rebuild");
    s.say("a change that the index does not have");
    s.edit("docs/hose.md", "bend", "knot");
    s.run("verify --against-rebuild");
}

#[test]
fn a_file_touched_but_not_changed_is_not_stale() {
    let mut s = session!();
    s.pumps();
    s.prepare("build");
    let text = s.read("docs/hose.md");
    s.write("docs/hose.md", text);
    s.run("build");
}

#[test]
fn build_json() {
    let mut s = session!();
    s.pumps();
    s.write("docs/bad.md", b"\xff\xfe broken");
    s.write("docs/photo.png", "");
    let keys = "documents blocks passages generation digest fingerprint changed.added \
        changed.updated changed.removed changed.unchanged skipped[].path skipped[].reason \
        noted[].path noted[].reason steps size_bytes peak_rss_bytes";
    let built = s.run_json("build --format json");
    demand(&built, keys);
    demand(&built, "steps[].name steps[].elapsed_ms");
    let again = s.run_json("build --format json");
    demand(&again, keys);
    assert_eq!(again["digest"], built["digest"]);
    assert_eq!(again["changed"]["unchanged"], built["changed"]["added"]);
}

#[test]
fn status_json() {
    let mut s = session!();
    s.pumps();
    s.prepare("build");
    s.edit("docs/hose.md", "kink", "bend, and never stepped on");
    let status = s.run_json("status --format json");
    demand(
        &status,
        "documents passages generation digest stale[].path stale[].why size_bytes dense.kind \
         dense.rows dense.dim dense.recall_at_10",
    );
    s.run_json("verify --format json");
}

#[test]
fn an_index_with_a_graph() {
    let mut s = session!();
    s.pumps();
    s.edit("atlas.toml", "index = ", "graph.from_passages = 1\nindex = ");
    s.run("build");
    s.run("status");
    s.run("verify");
    s.run("search 'dry seal' -k 1 --explain --dense graph");
    s.run("search 'dry seal' -k 1 --explain --dense auto");
}

#[test]
fn a_folder_without_settings() {
    let mut s = session!();
    s.run("search oil");
    s.run("search oil --project nowhere");
    s.write("docs/pump.md", "A pump needs oil.\n");
    s.run("search oil --project docs");
    assert!(s.at("docs/.atlas/CURRENT").is_file());
    s.run("status --project docs");
    s.run("search oil --project docs --index elsewhere");
    assert!(s.at("elsewhere/CURRENT").is_file());
}

#[test]
fn settings_of_one_run() {
    let mut s = session!();
    s.pumps();
    s.run("search seals --setting search.k=1 --setting text.language=de");
    for wrong in ["search.kk=1", "search.k=many", "search", "=1", "search.k=0", "text.language=xx"]
    {
        assert_eq!(s.run(&format!("search seals --setting {wrong}")).code, 4, "{wrong}");
    }
}

#[test]
fn a_corpus_named_on_the_command_line() {
    let mut s = session!();
    s.pumps();
    s.write("more/nut.md", "# Nuts\n\nA nut holds the hose.\n");
    s.run("build more");
    s.run("build nowhere");
    s.run("build more/nut.md");
}
