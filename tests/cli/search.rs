//! `search` on the documents of a project.

use super::json::demand;
use super::session::session;

#[test]
fn search_text() {
    let mut s = session!();
    s.bikes();
    s.run("search 'What does E-417 stand for?'");
    s.run("search 'What does E-417 stand for?' -k 1 --min-score 0");
}

#[test]
fn search_json() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let found = s.run_json("search 'What does E-417 stand for?' --format json");
    demand(
        &found,
        "hits[].reference hits[].block hits[].document hits[].title hits[].score hits[].text \
         hits[].source.path hits[].source.lines trace.stages[].name trace.stages[].elapsed_us \
         trace.stages[].in trace.stages[].out trace.stages[].note trace.total_us",
    );
}

#[test]
fn search_explain() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("search 'What does E-417 stand for?' --explain");
    s.run("search 'May I wash it?' --explain -k 1 --mode dense");
    s.run("search 'May I wash it?' --explain -k 1 --mode lexical");
}

#[test]
fn search_with_synonyms() {
    let mut s = session!();
    s.copy("corpus/distributor", "corpus/distributor");
    s.copy("evals/distributor", "evals/distributor");
    s.write(
        "corpus/distributor/synonyms.txt",
        "# Words of our customers.\nRMA => return authorisation number\nVAR, value added reseller\n",
    );
    let ask = "search 'How long is an RMA good for?' --project corpus/distributor -k 1 --explain --mode lexical";
    s.run(ask);
    s.run(&format!("{ask} --setting search.synonyms=synonyms.txt"));
    s.run(&format!(
        "{ask} --setting search.synonyms=synonyms.txt --setting search.synonym_weight=0"
    ));
}

#[test]
fn other_synonyms_are_another_receipt() {
    let mut s = session!();
    s.bikes();
    let mut receipt = |rules: &str| {
        s.write("words.txt", rules);
        let line = "measure --format json --setting search.synonyms=words.txt";
        let found = s.run_json(line);
        found["receipt"]["id"].clone()
    };
    let first = receipt("guarantee, warranty\n");
    assert_eq!(first, receipt("guarantee, warranty\n"));
    assert_ne!(first, receipt("guarantee => warranty\n"));
}

#[test]
fn search_with_another_choice_of_blocks() {
    let mut s = session!();
    s.bikes();
    s.write(
        "corpus/atlas-bikes/copy.md",
        s.read("corpus/atlas-bikes/err-c3.md").replace("id: ERR-C3", "id: ERR-C3-COPY"),
    );
    s.prepare("build");
    let ask = "search 'What does E-417 stand for?' -k 2 --min-score 0";
    s.run(ask);
    s.run(&format!("{ask} --setting search.duplicates=0.9"));
    s.run(&format!(
        "{ask} --setting search.duplicates=0.9 --setting search.neighbours=1 --explain"
    ));
    s.run(&format!("{ask} --setting search.per_document=1 --setting search.diversity=0.2"));
    let line = format!(
        "{ask} --setting search.duplicates=0.9 --setting search.neighbours=1 --format json"
    );
    let found = s.run_json(&line);
    let hits = found["hits"].as_array().unwrap();
    assert!(hits.iter().any(|hit| hit["same_as"].is_array()), "{hits:?}");
    assert!(hits.iter().any(|hit| hit["joined_to"].is_string()), "{hits:?}");
}

#[test]
fn search_with_cues() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let ask = "search 'battery warranty of the C-3 under the 2026 policy' -k 3 --min-score 0 --explain --mode lexical";
    s.run(ask);
    s.edit("atlas.toml", "[search]\n", "[search]\ncues = [\"product\", \"effective_from\"]\n");
    s.run(ask);
}

#[test]
fn search_by_mode() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("search 'error E-417' -k 2 --mode lexical");
    s.run("search 'error E-417' -k 2 --mode dense");
    s.run("search 'error E-417' -k 2 --dense exact");
    s.say("29 documents are too few for a graph");
    s.run("search 'error E-417' -k 2 --dense graph");
}

#[test]
fn search_out_of_range() {
    let mut s = session!();
    s.pumps();
    for wrong in ["-k 0", "-k 101", "--min-score 2", "--min-score nan", "--as-of yesterday"] {
        assert_eq!(s.run(&format!("search seals {wrong}")).code, 4, "{wrong}");
    }
    s.run("search seals --as-of 2026-02-30");
    s.say("bad arguments are told before an index is built for them");
    assert!(!s.at("index").exists());
    s.run("search seals -k 100 --min-score 1");
}

#[test]
fn search_filter() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("search 'error E-417' -k 3 --filter product=T-7");
    s.run("search 'battery warranty' -k 2 --filter product=C-3,K-1 --filter 'effective_from<=2025-06-30'");
    s.run("search 'battery warranty' -k 2 --as-of 2025-06-30 --filter product=C-3");
    s.run("search 'battery warranty' --filter product=X-9");
    for wrong in ["produkt=T-7", "zzz=1", "product", "=T-7", "product=", "'effective_from>='"] {
        assert_eq!(s.run(&format!("search warranty --filter {wrong}")).code, 4, "{wrong}");
    }
}

#[test]
fn search_nothing_found() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.run("search 'quadratic zebra yacht' --mode lexical");
    s.run("search '' ");
    s.run("search '   ' --format json");
    s.run("search '???'");
}

#[test]
fn search_as_someone() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let question = "search 'price of the battery BP-36 on the price list' -k 2";
    let sales = s.run(&format!("{question} --as sales"));
    let staff = s.run(&format!("{question} --as staff"));
    assert!(sales.stdout.contains("PRICE-2026"));
    assert!(!staff.stdout.contains("PRICE-2026"));
    s.say("nobody named: the default asker, staff");
    assert_eq!(s.run(question).stdout, staff.stdout);
    s.run(&format!("{question} --as sale"));
    s.run(&format!("{question} --as zzz --filter product=C-3"));
    s.say("without a default asker");
    s.edit("atlas.toml", "default_asker = \"staff\"\n", "");
    s.run(question);
}

#[test]
fn search_writes_a_usage_log_where_told() {
    let mut s = session!();
    s.pumps();
    s.edit("atlas.toml", "index = \"index\"\n", "index = \"index\"\nusage_log = \"usage.jsonl\"\n");
    s.run("search seals -k 1");
    let line: serde_json::Value = serde_json::from_str(&s.read("usage.jsonl")).unwrap();
    s.prepare("ask 'What does F-12 mean?'");
    let asked = s.read("usage.jsonl");
    let asked: serde_json::Value = serde_json::from_str(asked.lines().last().unwrap()).unwrap();
    let stages = asked["stages_us"].as_array().unwrap();
    assert_eq!(stages.last().unwrap()[0], "answer", "an answer is a stage like any other");
    s.write("usage.jsonl", super::json::shape(&line));
    s.show("usage.jsonl", 40);
}
