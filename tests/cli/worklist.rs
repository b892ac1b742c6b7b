//! `judge`: blocks that nobody has judged, as a list, as a sheet, and what a person says of them.

use super::json::demand;
use super::session::{Session, session};

/// A question whose evidence stands beside blocks that nobody has looked at.
const QUESTIONS: &str = "\
corpus: pumps
kinds: [table]
questions:
  - id: code
    question: What does F-12 mean?
    kind: table
    relevant: [PUMP-2]
    notes: kept
  - id: open
    question: How much?
    kind: table
    unscoreable: clarification
";

fn pumps(s: &Session) {
    s.pumps();
    s.write("evals/development.yaml", QUESTIONS);
    s.write(
        "evals/held-out.yaml",
        QUESTIONS.replace("id: ", "id: ho-").replace("F-12", "a kink").replace("How", "By what"),
    );
    s.prepare("build");
}

#[test]
fn judge_what_nobody_has_judged() {
    let mut s = session!();
    pumps(&s);
    s.run("judge");
    s.run("judge --depth 1");
    let found = s.run_json("judge --format json");
    demand(
        &found,
        "set depth unjudged[].question unjudged[].block unjudged[].lists unjudged[].hash",
    );
    s.run("judge --sheet sheet.csv");
    let sheet = s.read("sheet.csv");
    let n = found["unjudged"].as_array().unwrap().len();
    assert_eq!(sheet.matches(",,\r\n").count(), n, "a row a block, not graded");
    s.say("nothing is graded yet, and then the first is, and one that answers too");
    s.run("judge --take sheet.csv --who Kim");
    assert!(s.read("evals/development.yaml").contains("kind: table\n    relevant: [PUMP-2]"));
    let filled = sheet.replacen(",,\r\n", ",0,\r\n", 1).replacen(",,\r\n", ",2,it says so\r\n", 1);
    s.write("sheet.csv", filled);
    s.run("judge --take sheet.csv --who Kim");
    s.show("evals/development.yaml", 20);
    s.show("evals/ledger.jsonl", 2);
    s.say("what was judged is not listed again");
    let left = s.run_json("judge --format json");
    assert_eq!(left["unjudged"].as_array().unwrap().len(), n - 2);
    s.run("measure --summary");
    let ledger = s.read("evals/ledger.jsonl");
    s.write("evals/ledger.jsonl", ledger.replace(&ledger[25..35], "2026-12-01"));
    s.run("history");
}

#[test]
fn judge_sheets_that_are_wrong() {
    let mut s = session!();
    pumps(&s);
    let head = "question,block,hash,grade\n";
    for (what, rows) in [
        ("a misspelt question", "cod,hose-1,0,1\n"),
        ("no such block", "code,hose-9,0,1\n"),
        ("evidence", "code,PUMP-2,0,1\n"),
        ("another text", "code,hose-1,0123456789abcdef,1\n"),
        ("no grade", "code,hose-1,0123456789abcdef,good\n"),
        ("twice", "code,hose-1,0,1\ncode,hose-1,0,2\n"),
        ("a question that cannot be scored", "open,hose-1,0,1\n"),
    ] {
        s.say(what);
        s.write("sheet.csv", format!("{head}{rows}"));
        assert_eq!(s.run("judge --take sheet.csv --who Kim").code, 4, "{what}");
    }
    assert_eq!(s.read("evals/development.yaml"), QUESTIONS, "a refused sheet changes nothing");
    s.run("judge --take nowhere.csv --who Kim");
    s.run("judge --depth 0");
    s.say("held-out questions are shown by nothing");
    assert_eq!(s.run("judge --set evals/held-out.yaml").code, 4);
}
