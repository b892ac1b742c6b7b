//! `why`, `promote`, and `measure --compare`: what went wrong, and what became of it.

use super::session::{Session, session};

const QUESTIONS: &str = "\
corpus: pumps
kinds: [table]
questions:
";

/// A development set of one question and a held-out set of two, on the pumps.
fn pumps(s: &Session) {
    let question = |id: &str, text: &str, block: &str| {
        format!("  - id: {id}\n    question: {text}\n    kind: table\n    relevant: [{block}]\n")
    };
    s.pumps();
    let code = question("dev-code", "What does F-12 mean?", "PUMP-2");
    s.write("evals/development.yaml", format!("{QUESTIONS}{code}"));
    let held_out = [
        question("ho-valve", "Which way does the valve open?", "valve-1"),
        question("ho-hose", "How is a hose laid?", "hose-1"),
    ];
    s.write("evals/held-out.yaml", format!("{QUESTIONS}{}", held_out.concat()));
}

#[test]
fn why() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let question = "why 'Which accessories go out of the door with a C-3?'";
    s.run(&format!("{question} DELIV-C3-2"));
    s.run("why 'What does E-417 stand for?' ERR-C3-3");
    s.say("a block that the asker may not read");
    s.run("why 'What does a BP-36 cost?' PRICE-2026-3 --as staff");
    s.run_json(&format!("{question} DELIV-C3-2 --format json"));
}

#[test]
fn why_not() {
    let mut s = session!();
    s.pumps();
    s.prepare("build");
    assert_eq!(s.run("why 'dry seal' PUMP-22").code, 4);
    assert_eq!(s.run("why 'dry seal' zzz").code, 4);
    assert_eq!(s.run("why 'dry seal'").code, 4);
}

#[test]
fn promote() {
    let mut s = session!();
    pumps(&s);
    let reason = "--why 'shown in a review' --change 'stemming of valves'";
    assert_eq!(s.run(&format!("promote ho-valve {reason}")).code, 4);
    assert_eq!(s.run("promote ho-valve --who Kim").code, 4);
    assert_eq!(s.run(&format!("promote ho-valv {reason} --who Kim")).code, 4);
    assert_eq!(s.run(&format!("promote ho-valve {reason} --who Kim")).code, 0);
    s.show("evals/development.yaml", 20);
    s.show("evals/held-out.yaml", 20);
    s.say("a second time");
    assert_eq!(s.run(&format!("promote ho-valve {reason} --who Kim")).code, 4);
    s.run("measure --summary");
}

#[test]
fn measure_compare() {
    let mut s = session!();
    pumps(&s);
    let before = s.prepare("measure --format json").stdout;
    s.write("before.json", before);
    assert_eq!(s.run("measure --summary --compare before.json").code, 0);
    s.say("a document was changed since");
    s.edit("docs/pump.md", "| F-12 | No oil |", "| F-13 | No oil |");
    assert_eq!(s.run("measure --summary --compare before.json -k 1").code, 0);
    assert_eq!(s.run("measure --compare nowhere.json").code, 4);
    s.write("wrong.json", "{}");
    assert_eq!(s.run("measure --compare wrong.json").code, 4);
    s.write("wrong.json", "not JSON");
    assert_eq!(s.run("measure --compare wrong.json").code, 4);
    s.say("a measurement of another set");
    assert_eq!(s.run("measure --held-out --compare before.json").code, 4);
}

#[test]
fn ledger_broken() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    s.write("evals/ledger.jsonl", "{\"look\"\n");
    assert_eq!(s.run("measure --held-out").code, 4);
    assert_eq!(s.run("promote ho-valve --why a --change b --who Kim").code, 4);
    assert!(s.read("evals/held-out.yaml").contains("ho-valve"), "it moved without an entry");
}

#[test]
fn measure_exports_for_ragas() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    s.say("without a right answer in words there is nothing to export");
    s.run("measure --summary --export-ragas ragas.jsonl");
    s.write(
        "evals/development.yaml",
        format!("{}    reference: No oil.\n", s.read("evals/development.yaml")),
    );
    s.run("measure --summary --export-ragas ragas.jsonl");
    let text = s.read("ragas.jsonl");
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    s.write("keys.txt", super::json::shape(&first));
    s.show("keys.txt", 40);
}
