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

/// The word that matters stands in the title alone: an index without titles loses the bulletin, and the
/// change that brings it in is named, with what it does to all development questions.
#[test]
fn why_without_titles() {
    let mut s = session!();
    s.bikes();
    s.prepare("build --setting passage.titles=false");
    let question = "why 'Which of our chargers does the recall affect?' BULL-RECALL-2";
    let said = s.run(&format!("{question} --setting passage.titles=false")).stdout;
    assert!(said.contains("the smallest that brings it in: document titles"), "{said}");
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

/// A failed request of the usage log becomes a development question, with what it came from.
#[test]
fn promote_from_log() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    assert_eq!(s.run("promote --from-log").code, 4);
    s.edit("atlas.toml", "index =", "usage_log = \"usage.jsonl\"\nindex =");
    s.prepare("search 'Does a seal whistle?'");
    s.prepare("search 'Which way does the valve open'");
    // The day on which they were asked must not depend on the day of this test.
    let logged: Vec<String> = s
        .read("usage.jsonl")
        .lines()
        .map(|line| {
            let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
            entry["at_s"] = serde_json::json!(1_764_500_000);
            format!("{entry}\n")
        })
        .collect();
    let logged = logged.concat();
    s.write("usage.jsonl", &logged);
    let first: serde_json::Value = serde_json::from_str(logged.lines().next().unwrap()).unwrap();
    let manifest = s.prepare("measure --format json").stdout;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(first["corpus"], manifest["corpus"]["fingerprint"]);
    s.run("promote --from-log");
    let one = "promote dev-seal --from-log 1 --why 'no seal came' --who Kim";
    assert_eq!(s.run(one).code, 4);
    assert_eq!(s.run(&format!("{one} --kind tabel")).code, 4);
    assert_eq!(s.run(&format!("{one} --kind table --relevant PUMP-22")).code, 4);
    assert_eq!(s.run(&one.replace("--from-log 1", "--from-log 9 --kind table")).code, 4);
    s.say("the words of a held-out question");
    let valve = one.replace("--from-log 1", "--from-log 2 --kind table");
    assert_eq!(s.run(&valve).code, 4);
    assert!(!s.at("evals/ledger.jsonl").exists(), "something was written for nothing");
    assert_eq!(s.run(&format!("{one} --kind table --relevant PUMP-2,PUMP-1")).code, 0);
    let text = s.read("evals/development.yaml");
    let tail = text.split_once("dev-seal").unwrap().1;
    assert!(tail.contains(first["index"].as_str().unwrap()), "{tail}");
    let lines: Vec<&str> = tail.lines().filter(|line| !line.contains("asked_at_s")).collect();
    s.write("tail.txt", lines.join("\n"));
    s.show("tail.txt", 20);
    s.run_json("history --format json");
    s.run("measure --summary -k 1");
    s.say("without anything that answers it, it is listed and not scored");
    let other = one.replace("dev-seal", "dev-open").replace("1 --why", "1 --kind table --why");
    assert_eq!(s.run(&other).code, 0);
    let measured = s.prepare("measure").stdout;
    assert!(measured.contains("not scored: unlabelled; "), "{measured}");
}

/// The page that people read is what the ledger says, and nothing else.
#[test]
fn history() {
    let mut s = session!();
    s.bikes();
    let page = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/HISTORY.md"),
    )
    .unwrap();
    assert_eq!(s.prepare("history").stdout, page, "atlas history > evals/HISTORY.md");
    s.write("atlas.toml", "corpus = \"docs\"\n");
    pumps(&s);
    s.run("history");
    assert_eq!(s.run("history --note Title").code, 4);
    assert_eq!(s.run("history --note '' --text ''").code, 4);
    s.write("evals/ledger.jsonl", "");
    s.prepare("promote ho-valve --why 'it was shown' --change 'stems of verbs' --who Kim");
    s.write(
        "evals/ledger.jsonl",
        s.read("evals/ledger.jsonl").replace(&s.read("evals/ledger.jsonl")[26..36], "2026-12-01"),
    );
    s.run("history");
}

#[test]
fn measure_compare() {
    let mut s = session!();
    pumps(&s);
    let before = s.prepare("measure --format json").stdout;
    s.write("before.json", before);
    assert_eq!(s.run("measure --summary --compare before.json").code, 0);
    s.run("measure --quiet --compare before.json -k 1");
    s.say("a document was changed since");
    s.edit("docs/pump.md", "| F-12 | No oil |", "| F-13 | No oil |");
    assert_eq!(s.run("measure --summary --compare before.json -k 1").code, 4);
    assert_eq!(s.run("measure --summary --compare before.json --across -k 1").code, 0);
    assert_eq!(s.run("measure --compare nowhere.json").code, 4);
    s.write("wrong.json", "{}");
    assert_eq!(s.run("measure --compare wrong.json").code, 4);
    s.write("wrong.json", "not JSON");
    assert_eq!(s.run("measure --compare wrong.json").code, 4);
    s.say("a measurement of another set");
    assert_eq!(s.run("measure --held-out --compare before.json").code, 4);
}

/// Measures that are declared beforehand are tested, those beside the primary one with Holm's correction;
/// what is not declared has no p.
#[test]
fn measure_compare_declared() {
    let mut s = session!();
    pumps(&s);
    let before = s.prepare("measure --format json").stdout;
    s.write("before.json", before);
    let head = "version = 1\nagreed = 2026-11-30\nprimary_measure = \"recall\"\n";
    s.write("evals/targets.toml", format!("{head}secondary_measures = [\"precision\", \"mrr\"]\n"));
    assert_eq!(s.run("measure --summary --compare before.json -k 1").code, 0);
    let found = s.run_json("measure --compare before.json -k 1 --format json");
    let role =
        |at: usize| found["comparison"]["differences"][at]["role"].as_str().unwrap().to_owned();
    let roles: Vec<String> = (0..4).map(role).collect();
    assert_eq!(roles, ["exploratory", "primary", "secondary", "secondary"]);
    s.say("a measure that there is not");
    s.write("evals/targets.toml", format!("{head}secondary_measures = [\"recal\"]\n"));
    assert_eq!(s.run("measure --summary --compare before.json").code, 4);
    s.say("a loss that is accepted");
    let accepted = "[accepted_loss]\nmeasure = \"precision\"\nmargin = ";
    s.write("evals/targets.toml", format!("{head}{accepted}0.1\n"));
    assert_eq!(s.run("measure --summary --compare before.json -k 1").code, 0);
    s.write("evals/targets.toml", format!("{head}{accepted}1.5\n"));
    assert_eq!(s.run("measure --summary --compare before.json").code, 4);
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
    s.write(
        "answers.jsonl",
        "{\"id\": \"dev-code\", \"answer\": \"It has no oil.\", \"sources\": []}\n",
    );
    s.run("measure --summary --export-ragas ragas.jsonl --answers answers.jsonl");
    s.show("ragas.jsonl.ids", 4);
    s.say("answers that are none");
    s.write("wrong.jsonl", "{\"id\": \"dev-code\"}\n");
    assert_eq!(s.run("measure --summary --export-ragas x --answers wrong.jsonl").code, 4);
    let one = "{\"id\": \"a\", \"answer\": \"b\"}\n";
    s.write("wrong.jsonl", format!("{one}{one}"));
    assert_eq!(s.run("measure --summary --export-ragas x --answers wrong.jsonl").code, 4);
    let text = s.read("ragas.jsonl");
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    s.write("keys.txt", super::json::shape(&first));
    s.show("keys.txt", 40);
}

#[test]
fn review() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    s.run("review");
    s.prepare("measure --record-hashes");
    assert_eq!(s.run("review").code, 0);
    s.say("the corpus goes on: the relevant block has another text, and a paper of another pump comes");
    s.copy_within("docs", "before");
    s.edit("docs/pump.md", "| F-12 | No oil |", "| F-12 | No oil at all |");
    s.write(
        "docs/other.md",
        "---\nid: OTHER\ntitle: Old pumps\nproduct: P-9\n---\n## Seals\n\nA dry seal whistles softly.\n\n\
         | Code | Meaning |\n|---|---|\n| F-12 | No oil |\n",
    );
    assert_eq!(s.run("review --before before").code, 1);
    s.run_json("review --before before --format json");
    assert_eq!(s.run("review --accept dev-code").code, 4);
    assert_eq!(s.run("review --accept dev-cod --who Kim --why 'the same code'").code, 4);
    assert_eq!(s.run("review --accept dev-code --who Kim --why 'the same code'").code, 0);
    s.show("evals/ledger.jsonl", 3);
    s.say("looked at, so there is nothing to tell until another text comes");
    assert_eq!(s.run("review --before before").code, 0);
    s.say("the document is gone");
    s.write("docs/pump.md", "");
    assert_eq!(s.run("review").code, 1);
    assert_eq!(s.run("review --accept dev-code --who Kim --why 'never mind'").code, 4);
    assert_eq!(s.run("review --before nowhere").code, 4);
}

/// A heading put into a block splits it. The hash of the text that was judged is enough to see that: no
/// copy of the corpus as it was is needed.
#[test]
fn review_of_a_block_that_was_split() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    s.prepare("measure --record-hashes");
    s.edit("docs/pump.md", "whistles.\n\n| Code", "whistles.\n\n### Codes\n\n| Code");
    assert_eq!(s.run("review").code, 1);
    let found = s.run_json("review --format json");
    let finding = &found["touched"][0]["findings"][0];
    assert_eq!((&finding["what"], &finding["into"][1]), (&"split".into(), &"PUMP-3".into()));
    s.run("measure --summary -k 1");
    s.say("a sentence more, and no hash tells where the text has gone");
    s.edit("docs/pump.md", "### Codes\n", "### Codes\n\nCodes are shown.\n");
    s.run("review");
}

#[test]
fn mutate() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("mutate");
    s.run_json("mutate --format json");
    s.say("held-out questions are shown by nothing");
    assert_eq!(s.run("mutate --set evals/atlas-bikes/held-out.yaml").code, 4);
}

#[test]
fn measure_filters() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("measure --filters");
    s.run("measure --filters revision");
    s.run_json("measure --filters product --format json");
    assert_eq!(s.run("measure --filters --set evals/atlas-bikes/held-out.yaml").code, 4);
}

#[test]
fn drift() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    assert_eq!(s.run("drift").code, 4);
    assert_eq!(s.run("drift --log nowhere.jsonl").code, 4);
    let line = |at_s: u64, question: &str, context: &str| {
        format!(
            "{{\"at_s\":{at_s},\"asker\":null,\"question\":\"{question}\",\"index\":\"i\",\
             \"stages_us\":[],\"total_us\":1.0,\"context\":{context}}}\n"
        )
    };
    // 1 July 2026, an hour apart; from 3 July on half of the requests get nothing.
    let at = |i: u64| 1_782_864_000 + i * 3_600;
    let early = (0..48).map(|i| line(at(i), "What does F-12 mean?", "[[\"PUMP-2\",0.5]]"));
    let late = (48..96).map(|i| {
        let nothing = i % 2 == 0;
        line(at(i), "Is a hose tax free?", if nothing { "[]" } else { "[[\"hose-1\",0.2]]" })
    });
    s.write("usage.jsonl", early.chain(late).collect::<String>());
    s.run("drift --log usage.jsonl --since 2026-07-03");
    s.run_json("drift --log usage.jsonl --since 2026-07-03 --format json");
    s.say("a week holds all of it, so there is nothing before");
    s.run("drift --log usage.jsonl");
    assert_eq!(s.run("drift --log usage.jsonl --since yesterday").code, 4);
    s.write("usage.jsonl", "{}\n");
    assert_eq!(s.run("drift --log usage.jsonl").code, 4);
}
