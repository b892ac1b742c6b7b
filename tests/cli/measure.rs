//! `measure` on the project of this repository, and on one of two questions.

use super::json::demand;
use super::session::{Session, session};

/// A set of two questions on the pumps, one of which is missed, and one that nothing answers.
const QUESTIONS: &str = "\
corpus: pumps
kinds: [table, paraphrase, clarification]
questions:
  - id: code
    question: What does F-12 mean?
    kind: table
    relevant: [PUMP-2]
  - id: far
    question: Which way does a hose lie?
    kind: paraphrase
    relevant: [PUMP-1]
    standing_miss: nothing in it speaks of hoses
  - id: open
    question: How much?
    kind: clarification
    unscoreable: clarification
";

/// The same under other words, so that the two sets are apart.
fn held_out() -> String {
    QUESTIONS
        .replace("id: ", "id: ho-")
        .replace("What does F-12 mean?", "Which fault has the code F-12?")
        .replace("Which way does a hose lie?", "Is a kink bad?")
        .replace("How much?", "Which one is best?")
}

fn pumps(s: &Session) {
    s.pumps();
    s.write("evals/development.yaml", QUESTIONS);
    s.write("evals/held-out.yaml", held_out());
}

#[test]
fn measure_text() {
    let mut s = session!();
    s.bikes();
    let first = s.run("measure").stdout;
    let second = s.prepare("measure").stdout;
    let above = |text: &str| text.split_once("\ntiming ").unwrap().0.to_owned();
    assert_eq!(above(&first), above(&second), "a rerun is identical byte for byte");
}

#[test]
fn measure_json() {
    let mut s = session!();
    s.bikes();
    let measured = s.run_json("measure --format json");
    demand(
        &measured,
        "receipt corpus.documents corpus.blocks corpus.passages corpus.fingerprint sets[].name \
         sets[].mode sets[].questions sets[].scored sets[].unscoreable sets[].means \
         sets[].by_kind[].kind sets[].by_kind[].n sets[].by_kind[].means \
         sets[].per_question[].id sets[].per_question[].kind sets[].per_question[].hit \
         sets[].per_question[].recall sets[].per_question[].precision \
         sets[].per_question[].rank sets[].per_question[].tokens \
         sets[].per_question[].supplied[].reference sets[].per_question[].supplied[].score",
    );
    for mean in [
        "hit",
        "recall",
        "precision",
        "rank",
        "prompt_tokens",
        "ndcg@10",
        "recall@10",
        "recall@100",
        "mrr",
        "map",
        "p@5",
        "success@5",
        "judged@10",
    ] {
        assert!(measured["sets"][0]["means"][mean].is_number(), "{mean}");
    }
    let mut again: serde_json::Value =
        serde_json::from_str(&s.prepare("measure --format json").stdout).unwrap();
    again["timing"] = measured["timing"].clone();
    assert_eq!(again, measured, "a rerun is identical, times apart");
}

#[test]
fn measure_summary() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("measure --summary --mode lexical");
    s.run("measure --summary -k 1 --min-score 0.2");
}

#[test]
fn measure_sweep() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("measure --sweep");
    s.run("measure --sweep k");
    s.run("measure --sweep alpha");
    s.run("measure --sweep rrf-k");
    s.run_json("measure --sweep min-score --format json");
}

/// Beside a written choice alone, and at the price of a look.
#[test]
fn measure_sweep_beside_held_out() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    assert_eq!(s.run("measure --sweep --held-out").code, 4);
    assert_eq!(s.run("measure --sweep --set evals/held-out.yaml").code, 4);
    assert_eq!(s.run("measure --sweep k --held-out --choose 3 --why 'less to read'").code, 4);
    assert_eq!(s.run("measure --sweep --choose 2 --why 'less to read'").code, 4);
    assert!(!s.at("evals/ledger.jsonl").exists(), "nothing was chosen and nothing looked at");
    let choice = "measure --sweep --held-out --choose 0.1 --why 'less to read'";
    let shown = s.run(choice).stdout;
    assert!(!shown.contains("far") && shown.contains("held-out"), "{shown}");
    assert_eq!(s.read("evals/ledger.jsonl").lines().count(), 2);
    s.say("the same again is the same choice and the same look");
    assert_eq!(s.prepare(choice).stdout, shown);
    assert_eq!(s.read("evals/ledger.jsonl").lines().count(), 2);
    s.show("evals/ledger.jsonl", 5);
    s.run_json(&format!("{choice} --format json"));
}

#[test]
fn measure_subset() {
    let mut s = session!();
    s.bikes();
    s.run("measure --subset sample.toml");
    s.say("the index of the subset is one of its own");
    assert!(s.at("index/local-sample/CURRENT").is_file() && !s.at("index/local").exists());
    s.run("measure --subset nowhere.toml");
    s.write("wrong.toml", "document = [\"WARR-R1\"]\n");
    s.run("measure --subset wrong.toml");
    s.write("wrong.toml", "documents = [\"WARR-R1\", \"WARR-R8\"]\n");
    s.run("measure --subset wrong.toml");
    s.write("wrong.toml", "documents = []\n");
    s.run("measure --subset wrong.toml");
}

/// Totals of the held-out questions, and not one of them by name.
#[test]
fn measure_held_out() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    // The looks that the repository has had are none of this test's business.
    s.write("evals/atlas-bikes/ledger.jsonl", "");
    let text = s.run("measure --held-out").stdout;
    let json = s.prepare("measure --held-out --format json").stdout;
    let written = s.read("evals/atlas-bikes/held-out.yaml");
    let ids: Vec<&str> =
        written.lines().filter_map(|line| line.trim().strip_prefix("- id: ")).collect();
    assert!(ids.len() >= 10, "{}", ids.len());
    for id in ids {
        assert!(!text.contains(id) && !json.contains(id), "{id} is shown");
    }
}

/// On a set of two questions: the held-out questions of the repository are shown by no snapshot.
#[test]
fn measure_held_out_revealed() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    s.run("measure --held-out -k 1");
    s.run("measure --held-out --by-kind -k 1");
    s.run("measure --held-out --reveal -k 1");
    s.say("an equal receipt is the same look, and what it shows less is told already");
    let ledger = s.read("evals/ledger.jsonl");
    s.prepare("measure --held-out -k 1");
    s.prepare("measure --held-out --by-kind -k 1");
    assert_eq!(s.read("evals/ledger.jsonl"), ledger);
    assert_eq!(ledger.lines().count(), 3);
    s.say("a question that was shown as missed arrives with another setting");
    let text = s.run("measure --held-out --summary -k 4").stdout;
    assert!(text.contains("used up     ho-far was shown as missed"), "{text}");
    assert!(text.contains("standing    1 miss known and kept"), "{text}");
    s.run("measure --held-out --reveal --summary -k 4");
}

/// Every superfluous block with its relation to the evidence.
#[test]
fn measure_noise() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let text = s.run("measure --summary --noise --min-score 0.2").stdout;
    s.say("a score that is read there and given back keeps its block");
    let noise = text.lines().find(|line| line.contains("WARR-T7-2, other product")).unwrap();
    let score = noise.split_whitespace().nth(1).unwrap();
    let again = s.prepare(&format!("measure --summary --noise --min-score {score}")).stdout;
    assert!(again.contains(&format!("{score} WARR-T7-2, other product")), "{score}: {again}");
}

/// What a shorter window cuts off makes the mean rank better, and nothing else.
#[test]
fn measure_rank_beside_what_was_missed() {
    let s = session!();
    s.bikes();
    s.prepare("build");
    let measured = |k: u32| {
        let text = s.prepare(&format!("measure --format json -k {k}")).stdout;
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let set = &value["sets"][0];
        let number = |path: &str| set.pointer(path).unwrap().as_f64().unwrap();
        [number("/means/rank"), number("/supplied/missed"), number("/supplied/mrr")]
    };
    let ([rank, missed, mrr], [cut_rank, cut_missed, cut_mrr]) = (measured(5), measured(1));
    assert!(cut_rank < rank && cut_missed > missed && cut_mrr < mrr);
}

/// Evidence that its asker may not read can be no miss.
#[test]
fn measure_evidence_that_is_closed() {
    let s = session!();
    s.bikes();
    s.prepare("build");
    s.edit("evals/atlas-bikes/development.yaml", "asker: sales", "asker: staff");
    let measured = s.prepare("measure --format json").stdout;
    let measured: serde_json::Value = serde_json::from_str(&measured).unwrap();
    let set = &measured["sets"][0];
    assert_eq!(set["scored"], 13);
    let closed = set["per_question"].as_array().unwrap();
    let closed = closed.iter().find(|question| question["id"] == "dev-price-pack").unwrap();
    assert_eq!(closed["unscoreable"], "permission");
    assert!(closed["hit"].is_null() && closed["lost"].as_array().unwrap().is_empty());
}

/// On a narrow terminal no line is longer than it, but for a word that is.
#[test]
fn measure_on_60_columns() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let ran = s.command("measure").env("COLUMNS", "60").output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 60).collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
    let table = text.split_once("  question").unwrap().1.split_once("\n\n").unwrap().0;
    s.say(&format!("60 columns\n\n  question{table}"));
}

#[test]
fn measure_out_of_range() {
    let mut s = session!();
    pumps(&s);
    for wrong in ["-k 0", "-k 101", "--min-score 2", "--set nowhere.yaml", "--set docs"] {
        assert_eq!(s.run(&format!("measure {wrong}")).code, 4, "{wrong}");
    }
}

#[test]
fn measure_exports() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    s.write("evals/held-out.yaml", held_out());
    assert_eq!(s.run("measure --held-out --export-csv no.csv").code, 4);
    assert!(!s.at("no.csv").exists() && !s.at("evals/ledger.jsonl").exists());
    s.prepare("measure --export-csv questions.csv");
    s.show("questions.csv", 6);
    let ran = s.prepare("measure --export-run run.txt --export-qrels qrels.txt");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    s.show("run.txt", 6);
    s.show("qrels.txt", 6);
    s.run("measure --export-run nowhere/run.txt");
}

/// A label follows its text when blocks are numbered anew, and says so when the text is another.
#[test]
fn measure_after_the_corpus_has_changed() {
    let mut s = session!();
    pumps(&s);
    s.write(
        "evals/development.yaml",
        QUESTIONS.replace("relevant: [PUMP-1]", "relevant: [hose-1]"),
    );
    s.prepare("build");
    s.say("nothing is recorded yet");
    let before = s.run("measure --summary -k 1 --record-hashes").stdout;
    assert!(before.starts_with("2 labels of 2 questions"), "{before}");
    s.show("evals/development.yaml", 30);
    s.run("measure --record-hashes");
    s.run("measure -k 1");
    s.say("a section now stands before the table, and the hose is another");
    s.edit("docs/pump.md", "## Seals", "## Filters\n\nA filter is washed.\n\n## Seals");
    s.edit("docs/hose.md", "without a kink", "without a knot");
    s.run("measure -k 1");
    let labels = &s.run_json("measure -k 1 --format json")["sets"][0]["labels"];
    assert_eq!(labels["differing"][0]["to"], "PUMP-3");
    s.say("and now the codes are gone");
    s.edit("docs/pump.md", "| F-12 | No oil |", "| F-14 | No oil |");
    s.write("docs/hose.md", "# Hoses\n");
    s.run("measure -k 1");
    for line in ["mutate", "why 'F-14 no oil' PUMP-2 --setting search.k=1"] {
        let said = s.prepare(line).stderr;
        assert!(said.contains("STALE: "), "{line}: {said}");
    }
    s.say("a held-out question is not named");
    s.edit(
        "evals/held-out.yaml",
        "[PUMP-1]",
        "[PUMP-1]\n    hashes: { PUMP-1: \"0123456789abcdef\" }",
    );
    s.run("measure --held-out --summary -k 1");
}

#[test]
fn measure_sets_that_are_not_apart() {
    let mut s = session!();
    pumps(&s);
    s.prepare("build");
    for (from, to) in [
        ("id: ho-code", "id: code"),
        ("Which fault has the code F-12?", "what does  f-12 mean"),
        ("Is a kink bad?", "Which way does the hose lie?"),
    ] {
        s.write("evals/held-out.yaml", held_out().replace(from, to));
        assert_eq!(s.run("measure --summary").code, 4, "{to}");
        assert_eq!(s.prepare("measure --held-out --summary").code, 4, "{to}");
    }
    s.say("a copy of the held-out questions under another name");
    s.write("evals/held-out.yaml", held_out());
    s.write("evals/copy.yaml", held_out());
    assert_eq!(s.run("measure --set evals/copy.yaml").code, 4);
    assert!(!s.at("evals/ledger.jsonl").exists());
}

#[test]
fn measure_a_public_set() {
    let mut s = session!();
    s.write(
        "corpus.jsonl",
        "{\"_id\": \"d1\", \"title\": \"Pumps\", \"text\": \"A pump needs oil.\"}\n\
         {\"_id\": \"d2\", \"title\": \"\", \"text\": \"A hose is laid without a kink.\"}\n",
    );
    s.write(
        "queries.jsonl",
        "{\"_id\": \"q1\", \"text\": \"What does a pump need?\"}\n\
         {\"_id\": \"q2\", \"text\": \"How is a hose laid?\"}\n",
    );
    s.write("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n");
    s.run("measure --project .");
}

#[test]
fn a_minimum_chosen_on_another_scale_is_told() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let choose = "measure --sweep --choose 0.1 --why 'less to read'";
    s.prepare(choose);
    s.say("chosen with the settings in force: nothing to tell");
    s.run("search 'What does E-417 stand for?' -k 1");
    let moved = "--setting search.alpha=0.4 --setting search.bm25.k1=2";
    s.run(&format!("search 'What does E-417 stand for?' -k 1 {moved}"));
    s.run(&format!("build {moved}"));
    let measured = s.prepare(&format!("measure {moved}"));
    assert!(measured.stderr.contains("was chosen on development when scores had another scale"));
    s.say("chosen anew, with the record of what it was chosen under");
    s.prepare(&format!("{choose} {moved}"));
    s.run(&format!("search 'What does E-417 stand for?' -k 1 {moved}"));
    let ledger = s.read("evals/atlas-bikes/ledger.jsonl");
    let last = ledger.lines().last().unwrap();
    assert!(last.contains("\"search.alpha\":\"0.4\"") && last.contains("\"model\":"), "{last}");
}
