//! `ask` and `check`: answers, what is expected of them, and every way in which they fall short.

use super::json::demand;
use super::session::{Session, session};

/// The papers of the distributor with the questions that are put to them.
fn distributor(s: &Session) {
    for path in ["corpus/distributor", "evals/distributor"] {
        s.copy(path, path);
    }
}

/// Two cases on the three documents about pumps.
const CASES: &str = "corpus: pumps
questions:
  - id: oil
    question: How much oil does the pump P-1 need?
    kind: direct
    expect: { must_contain: [litre], must_cite: [Pumps], must_not_contain: [no oil] }
    supporting: [PUMP-1]
  - id: price
    question: What does a yacht cost?
    kind: unanswerable
    expect: { abstains: true, must_not_contain: [litre] }
";

/// A target that one of two answers misses.
const TARGET: &str = "version = 1
agreed = 2026-11-30
primary_measure = \"recall\"

[coverage]
kind = \"target\"
definition = \"share of the questions that get a correct, cited answer\"
method = \"checked by machine\"
sample = \"two questions\"
at_least = 0.9
unit = \"share of questions\"
source = \"check\"
";

fn pumps(s: &Session) {
    s.pumps();
    s.write("evals/questions.yaml", CASES);
    s.prepare("build");
}

#[test]
fn ask() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("ask 'How long is the battery of a C-3 protected under our 2026 policy?'");
    s.run("ask 'How tight does the stem clamp go?' --filter product=T-7");
    s.run("ask 'Who won the regatta at Henley?'");
    let json = s.run_json("ask 'What does E-471 mean on a C-3?' --format json");
    demand(
        &json,
        "answer.text answer.declined answer.score answer.citations[].reference trace.stages[].name",
    );
    s.say("nobody reads what is not theirs: the price list is for sales");
    let price = "ask 'What does a replacement BP-36 cost on the price list?'";
    assert!(s.run(&format!("{price} --as sales")).stdout.contains("589"));
    assert!(!s.run(&format!("{price} --as staff")).stdout.contains("589"));
    assert_eq!(s.run(&format!("{price} --as nobody")).code, 0);
}

#[test]
fn ask_out_of_range() {
    let mut s = session!();
    s.pumps();
    s.run("ask oil --setting answer.min_score=2");
    s.run("ask oil --setting answer.max_quotes=0");
    s.run("ask oil --setting answer.abstention=...");
    s.run("ask oil --setting answer.min_scor=0.5");
    s.run("ask oil --filter zzz=1");
    s.run("ask oil --as-of yesterday");
}

#[test]
fn check_the_distributor() {
    let mut s = session!();
    distributor(&s);
    s.run("check --project corpus/distributor");
    let json = s.run_json("check --project corpus/distributor --format json");
    demand(
        &json,
        "coverage.share.k coverage.share.n coverage.share.interval.low evidence.k abstention.answered \
         groundedness.unsupported_answers.k decomposition.failures decomposition.by_class \
         cases[].id cases[].verdict cases[].failures cases[].evidence",
    );
    let failed = json["coverage"]["share"]["n"].as_u64().unwrap()
        - json["coverage"]["share"]["k"].as_u64().unwrap();
    let classes = json["decomposition"]["by_class"].as_array().unwrap();
    let classed: u64 = classes.iter().map(|own| own["n"].as_u64().unwrap()).sum();
    assert_eq!((json["decomposition"]["failures"].as_u64(), classed), (Some(failed), failed));
}

/// The question that names no bicycle: one answer on nine documents, two on all of them. Nothing of the
/// search has changed; the question broke.
#[test]
fn check_the_bikes() {
    let mut s = session!();
    s.bikes();
    let verdict = |json: &serde_json::Value, id: &str| {
        let cases = json["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| case["id"] == id).unwrap();
        format!("{} {}", case["verdict"].as_str().unwrap(), case["class"].as_str().unwrap_or(""))
    };
    let json = |line: &str, s: &Session| -> serde_json::Value {
        serde_json::from_str(&s.prepare(&format!("{line} --format json")).stdout).unwrap()
    };
    s.prepare("build");
    s.prepare("measure --subset sample.toml");
    for how in ["", " --evidence"] {
        s.run(&format!("check --subset sample.toml{how}"));
        s.run(&format!("check{how}"));
    }
    let sample = json("check --subset sample.toml --evidence", &s);
    let full = json("check --evidence", &s);
    assert_eq!(verdict(&sample, "casing-unnamed"), "passed ");
    assert_eq!(verdict(&full, "casing-unnamed"), "failed ambiguous");
    assert_eq!(verdict(&full, "casing-c3"), "passed ");
}

#[test]
fn an_endpoint_is_a_feature_of_its_own() {
    let mut s = session!();
    pumps(&s);
    assert_eq!(s.run("ask oil --endpoint").code, 4);
    assert_eq!(s.run("check --endpoint").code, 4);
    let elsewhere = "--setting answer.endpoint.url=http://192.0.2.1/v1";
    assert_eq!(s.run(&format!("ask oil {elsewhere}")).code, 4);
    assert_eq!(s.run("ask oil --setting answer.endpoint.url=https://localhost").code, 4);
    assert_eq!(s.run("ask oil --setting answer.endpoint.timeout_ms=0").code, 4);
}

#[test]
fn check_against_a_target() {
    let mut s = session!();
    pumps(&s);
    assert_eq!(s.run("check").code, 0);
    assert_eq!(s.run("check --target 0.5").code, 0);
    s.edit("evals/questions.yaml", "must_contain: [litre]", "must_contain: [gallon]");
    assert_eq!(s.run("check --target 0.7").code, 1);
    assert_eq!(s.run("check --target 0.5 --show").code, 0);
    assert_eq!(s.run("check --target 2").code, 4);
    s.say("the target that was agreed");
    s.write("evals/targets.toml", TARGET);
    assert_eq!(s.run("check").code, 1);
    s.say("the same, when its sample is another project's");
    s.write("evals/targets.toml", format!("{TARGET}project = \"elsewhere\"\n"));
    assert_eq!(s.run("check").code, 0);
    assert_eq!(s.run("check --targets evals/targets.toml").code, 1);
    s.say("a failure that is known fails no run, until it passes");
    s.write("evals/targets.toml", TARGET.split_once("\n[").unwrap().0);
    let marked = "must_contain: [gallon], ";
    s.edit(
        "evals/questions.yaml",
        "kind: direct\n",
        "kind: direct\n    expected_fail: no gallons yet\n",
    );
    assert_eq!(s.run("check").code, 0);
    s.edit("evals/questions.yaml", marked, "must_contain: [litre], ");
    assert_eq!(s.run("check").code, 1);
}

#[test]
fn check_expectations_that_are_wrong() {
    let mut s = session!();
    pumps(&s);
    let mut wrong = |what: &str, from: &str, to: &str| {
        s.say(what);
        s.write("evals/questions.yaml", CASES);
        s.edit("evals/questions.yaml", from, to);
        assert_eq!(s.run("check").code, 4, "{what}");
    };
    wrong("a misspelt key", "must_cite", "must_site");
    wrong("evidence that is not there", "[PUMP-1]", "[PUMP-11]");
    wrong("an id twice", "id: price", "id: oil");
    wrong("nothing demanded", "{ abstains: true, must_not_contain: [litre] }", "{}");
    wrong("a phrase without a word", "[litre], must_cite", "['—'], must_cite");
    assert_eq!(s.run("check --set nowhere.yaml").code, 4);
}

/// 13 of 15, and two that are expected to fail, each for its reason: what the recorded answers that ship show, on
/// the nine documents and on all of them.
#[test]
fn check_of_the_recorded_sample() {
    let s = session!();
    s.bikes();
    let line = "check --answers evals/atlas-bikes/answers-sample.jsonl --format json";
    for documents in ["", " --subset corpus/atlas-bikes/sample.toml"] {
        let ran = s.prepare(&format!("{line}{documents}"));
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["coverage"]["share"]["k"], 13, "{documents}");
        assert_eq!(json["coverage"]["share"]["n"], 15, "{documents}");
        assert_eq!(json["expected_failures"], 2, "{documents}");
        assert_eq!(json["recorded_contexts"], 15, "{documents}");
        for case in json["cases"].as_array().unwrap() {
            let known = case["id"] == "which-warranty" || case["id"] == "charging-bill";
            let verdict = if known { "expected_fail" } else { "passed" };
            assert_eq!(case["verdict"], verdict, "{documents}: {case}");
            assert_eq!(case["expected_fail"].is_string(), known, "{documents}: {case}");
        }
    }
}

/// Labels of expected answers follow their text as those of question sets do.
#[test]
fn check_after_the_corpus_has_changed() {
    let mut s = session!();
    pumps(&s);
    s.say("a hash of a unit that is not named");
    let hash =
        |unit: &str| format!("kind: direct\n    hashes: {{ {unit}: \"0123456789abcdef\" }}\n");
    s.edit("evals/questions.yaml", "kind: direct\n", &hash("PUMP-2"));
    assert_eq!(s.run("check").code, 4);
    s.say("a text that stands nowhere");
    s.edit("evals/questions.yaml", &hash("PUMP-2"), &hash("PUMP-1"));
    s.run("check");
    s.say("recorded, and then the paper gets another id");
    s.edit("evals/questions.yaml", &hash("PUMP-1"), "kind: direct\n");
    s.run("measure --record-hashes --set evals/questions.yaml");
    s.edit("docs/pump.md", "id: PUMP\n", "id: PUMPS\n");
    let followed = s.run("check");
    assert!(followed.stdout.contains("evidence    1 of 1") && !followed.stderr.contains("STALE"));
}

/// Faults that are known, one a line, and the failures that they must give, neither more nor fewer.
#[test]
fn check_recorded_answers_with_known_faults() {
    let mut s = session!();
    pumps(&s);
    s.edit("atlas.toml", "index = \"index\"\n", "index = \"index\"\n[search]\nk = 1\n");
    let fine = r#"{"id": "oil", "answer": "A litre a year.", "citations": ["PUMP-1"]}"#;
    let declines = "Nothing in the documents open to you answers this question.";
    let decline = format!(r#"{{"id": "price", "answer": "{declines}"}}"#);
    let oil = |answer: &str| format!(r#"{{"id": "oil", "answer": "{answer}"}}"#);
    let price = |answer: &str| format!(r#"{{"id": "price", "answer": "{answer}"}}"#);
    let no_oil = fine.replace("A litre a year.", "A litre; F-12 means no\u{a0}oil.");
    let other_words = declines.replace("open to", "shown to");
    let faults: [(&str, String, String, &[&str]); 9] = [
        ("none", fine.to_owned(), decline.clone(), &[]),
        (
            "another unit, and no source",
            oil("A gallon a year."),
            decline.clone(),
            &["missing litre", "uncited Pumps"],
        ),
        (
            "a document in place of its block will do",
            fine.replace("PUMP-1", "PUMP"),
            decline.clone(),
            &[],
        ),
        ("a phrase of something else", no_oil, decline.clone(), &["unexpected no oil"]),
        (
            "a source that was not in the context",
            fine.replace("\"PUMP-1\"", "\"PUMP-1\", \"valve-1\""),
            decline.clone(),
            &["outside_context valve-1"],
        ),
        (
            "declines where it should answer",
            oil(declines),
            decline.clone(),
            &["declined ", "missing litre", "uncited Pumps"],
        ),
        (
            "declines and goes on",
            fine.to_owned(),
            price(&format!("{declines} A litre, perhaps.")),
            &["continued ", "unexpected litre"],
        ),
        ("declines in other words", fine.to_owned(), price(&other_words), &["reworded "]),
        ("says nothing", oil(" "), decline.clone(), &["empty ", "missing litre", "uncited Pumps"]),
    ];
    for (what, oil, price, expected) in faults {
        s.say(what);
        s.write("answers.jsonl", format!("{oil}\n{price}\n"));
        s.run("check --answers answers.jsonl");
        let json = s.prepare("check --answers answers.jsonl --format json").stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let cases = json["cases"].as_array().unwrap();
        let failures = cases.iter().flat_map(|case| case["failures"].as_array().unwrap());
        let found: Vec<String> = failures
            .map(|f| format!("{} {}", f["fault"].as_str().unwrap(), f["what"].as_str().unwrap()))
            .collect();
        assert_eq!(found, expected, "{what}");
    }
}

/// A record that names its context is judged by it, one that names none by what the engine brings.
#[test]
fn check_recorded_answers_with_their_context() {
    let mut s = session!();
    pumps(&s);
    let rest = "Nothing in the documents open to you answers this question.";
    let record = |context: &str| {
        let oil = r#"{"id": "oil", "answer": "A litre a year.", "citations": ["PUMP-1"]"#;
        format!("{oil}{context}}}\n{{\"id\": \"price\", \"answer\": \"{rest}\"}}\n")
    };
    let rung = |s: &Session| {
        let json = s.prepare("check --answers answers.jsonl --format json").stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        (json["cases"][0]["rung"].as_str().map(str::to_owned), json["recorded_contexts"].as_u64())
    };
    s.say("no context is named");
    s.write("answers.jsonl", record(""));
    s.run("check --answers answers.jsonl");
    assert_eq!(rung(&s), (None, Some(0)));
    s.say("the context that was recorded lacks what is cited");
    s.write("answers.jsonl", record(", \"context\": [\"PUMP-2\", \"hose-1\"]"));
    s.run("check --answers answers.jsonl");
    assert_eq!(rung(&s), (Some("not_supplied".to_owned()), Some(1)));
    s.say("and has it, though the engine here would not have brought it");
    s.write("answers.jsonl", record(", \"context\": [\"PUMP-1\"]"));
    s.run("check --answers answers.jsonl --setting search.min_score=1");
    s.write("answers.jsonl", record(""));
    s.run("check --answers answers.jsonl --setting search.min_score=1");
    s.say("a context that is none");
    for context in ["[\"PUMP-9\"]", "[\"PUMP\"]", "\"PUMP-1\""] {
        s.write("answers.jsonl", record(&format!(", \"context\": {context}")));
        assert_eq!(s.run("check --answers answers.jsonl").code, 4);
    }
}

/// The evidence arrived, and the answer is made from the version before: a rung of its own.
#[test]
fn check_an_answer_from_another_version() {
    let mut s = session!();
    s.pumps();
    for (revision, years) in [("R1", 2), ("R2", 3)] {
        let head = format!("---\nid: OIL-{revision}\ntitle: Oil policy {revision}\n---\n");
        s.write(
            &format!("docs/oil-{revision}.md"),
            format!("{head}Oil of the pump is kept for {years} years.\n"),
        );
    }
    s.write(
        "evals/questions.yaml",
        "corpus: pumps\nquestions:\n  - id: kept\n    question: How long is oil of the pump kept by policy R2?\n    \
         kind: direct\n    expect: { must_contain: [3 years] }\n    supporting: [OIL-R2-1]\n",
    );
    let answer = |text: &str, source: &str| {
        format!("{{\"id\": \"kept\", \"answer\": \"{text}\", \"citations\": [\"{source}\"]}}\n")
    };
    s.write("answers.jsonl", answer("2 years.", "OIL-R1-1"));
    s.run("check --answers answers.jsonl");
    let rung = |s: &Session| {
        let json = s.prepare("check --answers answers.jsonl --format json").stdout;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["cases"][0]["rung"].as_str().unwrap().to_owned()
    };
    assert_eq!(rung(&s), "wrong_version");
    s.say("the right one is cited and misread");
    s.write("answers.jsonl", answer("2 years.", "OIL-R2-1"));
    assert_eq!(rung(&s), "unused");
}

/// Figures of other versions and products that arrive beside the evidence are offered to be forbidden.
#[test]
fn check_offers_strings_to_forbid() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let found = s.prepare("check --forbid").stdout;
    let (_, offered) = found.split_once("\nforbid ").unwrap();
    s.write("offered.txt", format!("forbid {offered}"));
    s.show("offered.txt", 60);
    s.run_json("check --forbid --format json");
}

#[test]
fn check_compare() {
    let mut s = session!();
    pumps(&s);
    let json = s.run_json("check --format json");
    demand(&json, "receipt.id receipt.answers.answerer receipt.answers.judge receipt.sets");
    s.write("before.json", json.to_string());
    assert_eq!(s.run("check --compare before.json").code, 0);
    s.say("an answerer that declines sooner");
    s.run("check --compare before.json --quiet --setting answer.min_score=1");
    let found =
        s.run_json("check --compare before.json --setting answer.min_score=1 --format json");
    assert_eq!(found["comparison"]["lost"][0]["id"], "oil");
    assert_ne!(found["receipt"]["id"], json["receipt"]["id"]);
    s.say("another set");
    s.edit("evals/questions.yaml", "must_contain: [litre]", "must_contain: [gallon]");
    assert_eq!(s.run("check --compare before.json").code, 4);
    s.run("check --compare before.json --across");
    s.write("wrong.json", "{}");
    assert_eq!(s.run("check --compare wrong.json").code, 4);
    assert_eq!(s.run("check --compare nowhere.json").code, 4);
}

#[test]
fn check_answers_that_are_wrong() {
    let mut s = session!();
    pumps(&s);
    let mut wrong = |what: &str, text: &str| {
        s.say(what);
        s.write("answers.jsonl", text);
        assert_eq!(s.run("check --answers answers.jsonl").code, 4, "{what}");
    };
    let fine = r#"{"id": "oil", "answer": "A litre a year.", "citations": ["PUMP-1"]}"#;
    wrong(
        "no answer to one, and one to nothing",
        &format!("{fine}\n{}\n", fine.replace("oil", "oils")),
    );
    wrong("an empty file", "");
    wrong("an empty line", &format!("{fine}\n\n"));
    wrong("no JSON", &format!("{fine}\nlitre\n"));
    wrong("a misspelt key", r#"{"id": "oil", "anser": "A litre."}"#);
    wrong("no answer", r#"{"id": "oil"}"#);
    wrong("an id twice", &format!("{fine}\n{fine}\n"));
    wrong("a source that is not there", &fine.replace("PUMP-1", "PUMP-9"));
    assert_eq!(s.run("check --answers nowhere.jsonl").code, 4);
    s.say("what is missing can be left out");
    s.write("answers.jsonl", fine);
    assert_eq!(s.run("check --answers answers.jsonl --allow-missing").code, 0);
}
