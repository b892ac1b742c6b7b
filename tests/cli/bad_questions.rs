//! Question sets with a fault, each with its line.

use super::session::session;

const HEAD: &str = "corpus: pumps\nkinds: [table, paraphrase]\nquestions:\n";
const GOOD: &str =
    "  - id: one\n    question: Which code?\n    kind: table\n    relevant: [PUMP-2]\n";

#[test]
fn questions_wrong() {
    let mut s = session!();
    s.pumps();
    s.prepare("build");
    for (what, text) in [
        ("an unknown key", GOOD.replace("relevant:", "relevent:")),
        ("a key unlike any", GOOD.replace("relevant:", "zzz:")),
        ("an unknown kind", GOOD.replace("kind: table", "kind: tabel")),
        ("a kind unlike any", GOOD.replace("kind: table", "kind: zzz")),
        ("an unknown block", GOOD.replace("PUMP-2", "PUMP-22")),
        ("a block unlike any", GOOD.replace("PUMP-2", "zzz")),
        ("an id twice", format!("{GOOD}{GOOD}")),
        ("neither relevant nor unscoreable", GOOD.replace("    relevant: [PUMP-2]\n", "")),
        ("relevant, and empty", GOOD.replace("[PUMP-2]", "[]")),
        ("a group of none", GOOD.replace("[PUMP-2]", "[[]]")),
        ("no text", GOOD.replace("Which code?", "\"\"")),
        ("a key missing", GOOD.replace("    kind: table\n", "")),
        (
            "a grade below zero",
            GOOD.replace("kind: table", "kind: table\n    grades: { PUMP-1: -1 }"),
        ),
        (
            "a grade of nothing",
            GOOD.replace("kind: table", "kind: table\n    grades: { PUMP-9: 1 }"),
        ),
        (
            "a hash of nothing",
            GOOD.replace("kind: table", "kind: table\n    hashes: { PUMP-1: a }"),
        ),
        (
            "a hash that is none",
            GOOD.replace("kind: table", "kind: table\n    hashes: { PUMP-2: a }"),
        ),
        ("an empty reason", GOOD.replace("relevant: [PUMP-2]", "unscoreable: ''")),
        ("broken YAML", GOOD.replace("[PUMP-2]", "[PUMP-2")),
    ] {
        s.say(what);
        s.write("evals/development.yaml", format!("{HEAD}{text}"));
        assert_eq!(s.run("measure --summary").code, 4, "{what}");
    }
    s.say("no question");
    s.write("evals/development.yaml", "corpus: pumps\nkinds: []\nquestions: []\n");
    assert_eq!(s.run("measure --summary").code, 4);
    s.say("an unknown filter key");
    s.write("evals/development.yaml", format!("{HEAD}{GOOD}    filter: {{ produkt: P-1 }}\n"));
    assert_eq!(s.run("measure --summary").code, 4);
    s.say("an empty file");
    s.write("evals/development.yaml", "");
    assert_eq!(s.run("measure --summary").code, 4);
}

#[test]
fn questions_missing() {
    let mut s = session!();
    s.pumps();
    assert_eq!(s.run("measure").code, 4);
    assert_eq!(s.run("measure --held-out").code, 4);
}

#[test]
fn questions_of_a_public_set_wrong() {
    let mut s = session!();
    s.write("corpus.jsonl", "{\"_id\": \"d1\", \"title\": \"\", \"text\": \"A pump.\"}\n");
    s.write("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"What?\"}\n");
    s.say("no judgments");
    assert_eq!(s.run("measure --project .").code, 4);
    let head = "query-id\tcorpus-id\tscore\n";
    for (what, lines) in [
        ("a line of two columns", "q1\td1\n"),
        ("a grade that is none", "q1\td1\thigh\n"),
        ("judgments of another set", "q9\td1\t1\n"),
        ("one judgment twice", "q1\td1\t1\nq1\td1\t2\n"),
    ] {
        s.say(what);
        s.write("qrels/test.tsv", format!("{head}{lines}"));
        assert_eq!(s.run("measure --project .").code, 4, "{what}");
    }
    s.write("qrels/test.tsv", format!("{head}q1\td1\t1\n"));
    s.say("a question without text");
    s.write("queries.jsonl", "{\"_id\": \"q1\"}\n");
    assert_eq!(s.run("measure --project .").code, 4);
}
