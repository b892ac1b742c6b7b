//! `scorecard`: verdicts and exit codes, the files that it writes, ratings, and targets that move.

use super::json::demand;
use super::session::{Session, session};

/// The project of this repository with the distributor's, and limits of time that any machine holds.
fn both(s: &Session) {
    s.bikes();
    for path in ["corpus/distributor", "evals/distributor"] {
        s.copy(path, path);
    }
    let targets = "evals/atlas-bikes/targets.toml";
    s.edit(targets, "p50_at_most = 1.0", "p50_at_most = 5000.0");
    s.edit(targets, "p95_at_most = 3.0", "p95_at_most = 9000.0");
}

fn sheet(correct: usize, of: usize, differ: usize) -> String {
    let mut text = "id,question,expected,answer,cited,rating,remark\n".to_owned();
    for at in 0..of {
        let rating = if at < correct || at >= of - differ { "correct" } else { "wrong" };
        text.push_str(&format!("q{at:02},\"a, b\",,,,{rating},\n"));
    }
    text
}

/// The lines of one row with its notes; how the answers of today turn out is no part of the snapshots.
fn row<'t>(card: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = card.lines().skip_while(|line| !line.starts_with(&format!("  {name} ")));
    let first = lines.next();
    let notes = lines.take_while(|line| line.starts_with(&" ".repeat(20)));
    first.into_iter().chain(notes).collect()
}

#[test]
fn scorecard_text() {
    let mut s = session!();
    both(&s);
    s.prepare("build");
    s.prepare("leakage --project corpus/distributor");
    let ran = s.prepare("scorecard");
    assert!([1, 3].contains(&ran.code), "{}{}", ran.stdout, ran.stderr);
    for name in ["coverage", "groundedness", "leakage", "latency p50", "adoption", "retrieval p95"]
    {
        assert!(!row(&ran.stdout, name).is_empty(), "{name} is missing in\n{}", ran.stdout);
    }
    assert!(row(&ran.stdout, "coverage").concat().contains("people have not rated them"));
    let named = s.prepare("scorecard --log evals/distributor/usage-sample.jsonl").stdout;
    for name in ["latency p50", "latency p95", "adoption"] {
        let row = row(&named, name).concat();
        assert!(row.contains("not measured") && row.contains("sample data"), "{row}");
    }
    for name in ["build", "rebuild_one_file"] {
        assert!(row(&named, name).concat().contains("debug build") || !cfg!(debug_assertions));
    }
    s.say("two raters: 26 by both, 4 on which they differ");
    s.write("a.csv", sheet(26, 34, 0));
    s.write("b.csv", sheet(26, 34, 4));
    let rated = s.prepare("scorecard --ratings a.csv --ratings b.csv").stdout;
    let mut shown: Vec<&str> = Vec::new();
    for name in ["coverage", "leakage", "latency p50", "adoption"] {
        shown.extend(row(&rated, name));
    }
    shown.extend(rated.lines().filter(|line| line.starts_with("note ")));
    s.write("rated.txt", shown.join("\n"));
    s.show("rated.txt", 100);
}

#[test]
fn scorecard_ratings_sheet() {
    let mut s = session!();
    both(&s);
    s.prepare("build");
    s.prepare("leakage --project corpus/distributor");
    s.prepare("scorecard --ratings-sheet sheet.csv");
    let sheet = s.read("sheet.csv");
    assert_eq!(sheet.matches(",,\r\n").count(), 34, "an answer a question, not rated");
    s.write("first.csv", sheet.lines().take(1).collect::<Vec<_>>().join(""));
    s.show("first.csv", 1);
}

#[test]
fn scorecard_json() {
    let s = session!();
    both(&s);
    let card: serde_json::Value =
        serde_json::from_str(&s.prepare("scorecard --format json").stdout).unwrap();
    demand(
        &card,
        "rows[].name rows[].kind rows[].value rows[].n rows[].interval rows[].threshold rows[].verdict \
         rows[].held receipt sets[].per_question[].id work[].stage work[].ids targets.hash",
    );
    s.write("before.json", card.to_string());
    s.edit("evals/atlas-bikes/development.yaml", "handover-box", "handover-crate");
    let again = s.prepare("scorecard --compare before.json --html page.html --format json");
    let again: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["changed"], serde_json::json!([]), "no verdict changed");
    assert!(s.read("page.html").contains("Against the run before"));
}

#[test]
fn scorecard_fails_for_a_gate_before_a_target() {
    let s = session!();
    both(&s);
    let targets = "evals/atlas-bikes/targets.toml";
    s.edit(targets, "p50_at_most = 5000.0", "p50_at_most = 0.000001");
    let missed = s.prepare("scorecard --annotations");
    assert_eq!(missed.code, 1, "{}", missed.stdout);
    let line = "::error file=evals/atlas-bikes/targets.toml,line=";
    assert!(
        missed.stdout.contains(line) && missed.stdout.contains("target:missed"),
        "{}",
        missed.stdout
    );
    // A case that its asker may read in full is no attempt, and its gate proves nothing.
    let cases = s.read("evals/distributor/leakage.yaml");
    let asker = cases.lines().find(|line| line.trim_start().starts_with("asker:")).unwrap();
    s.write("evals/distributor/leakage.yaml", cases.replacen(asker, "    asker: manager", 1));
    let failed = s.prepare("scorecard");
    assert_eq!(failed.code, 2, "{}", failed.stdout);
    assert!(failed.stdout.contains("the gate FAILED, so no release"));
}

#[test]
fn scorecard_targets_that_move() {
    let mut s = session!();
    both(&s);
    s.prepare("build");
    s.prepare("leakage --project corpus/distributor");
    let moved = |s: &Session| -> Vec<String> {
        let said = s.prepare("scorecard").stdout;
        said.lines().filter(|line| line.starts_with("MOVED")).map(str::to_owned).collect()
    };
    assert!(!moved(&s).is_empty(), "the limits of time were edited above");
    s.prepare("scorecard --acknowledge 'slower machines' --who ada");
    assert!(moved(&s).is_empty());
    s.edit("evals/atlas-bikes/targets.toml", "at_least = 0.70", "at_least = 0.60");
    let told = moved(&s);
    assert_eq!(told, moved(&s), "it is told again");
    s.write("moved.txt", told.join("\n").split_once(" since ").unwrap().0);
    s.show("moved.txt", 3);
    s.prepare("scorecard --acknowledge 'agreed with sales'");
    assert!(moved(&s).is_empty());
}

#[test]
fn scorecard_files() {
    let mut s = session!();
    both(&s);
    s.prepare("build");
    s.prepare("leakage --project corpus/distributor");
    s.prepare("scorecard --html page.html --junit cases.xml --markdown summary.md");
    let page = s.read("page.html");
    assert!(
        page.starts_with("<!doctype html>") && !page.contains("<script") && !page.contains("://")
    );
    for part in
        ["Along the minimum score", "By kind of question", "Where the time goes", "Who uses it"]
    {
        assert!(page.contains(part), "{part}");
    }
    let cases = s.read("cases.xml");
    let own: Vec<&str> = cases.lines().filter(|line| line.contains("atlas.development")).collect();
    s.write("development.xml", own.join("\n"));
    s.show("development.xml", 20);
    s.prepare("scorecard --junit again.xml");
    let undated = |text: String| {
        text.lines()
            .filter(|line| !line.contains("atlas.scorecard"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        undated(s.read("again.xml"))[3..],
        undated(cases.clone())[3..],
        "equal results are equal bytes"
    );
    let place = "name=\"leak-001\" file=\"evals/distributor/leakage.yaml\" line=\"";
    assert!(cases.contains(place), "the path goes straight to the file");
    assert!(
        s.read("summary.md").contains("| leakage | at most 0 cases | 0 of 40 | yes | **passed** |")
    );
}

#[test]
fn scorecard_verifies_a_receipt() {
    let s = session!();
    s.bikes();
    s.prepare("build");
    let before = s.prepare("measure --format json").stdout;
    let verify = |text: &str, more: &str| {
        s.write("before.json", text);
        let ran = s.prepare(&format!("scorecard --verify before.json{more}"));
        (ran.code, ran.stdout, ran.stderr)
    };
    let (code, said, _) = verify(&before, "");
    assert!(code == 0 && said.starts_with("the same: "), "{said}");
    let changed = before.replacen("\"recall\": 1.0", "\"recall\": 0.9", 1);
    assert_ne!(changed, before);
    let (code, said, _) = verify(&changed, "");
    assert!(code == 1 && said.contains("at byte ") && said.contains("\"recall\":0.9"), "{said}");
    let (code, said, _) = verify(&before, " --setting search.k=3");
    assert!(code == 3 && said.contains("by its receipt: settings"), "{said}");
    let (code, _, said) = verify("{}", "");
    assert!(code == 4 && said.contains("it holds no receipt and no sets"), "{said}");
}

#[test]
fn scorecard_wrong() {
    let mut s = session!();
    s.pumps();
    s.run("scorecard");
    both(&s);
    s.prepare("build");
    s.write("a.csv", sheet(1, 2, 0));
    s.run("scorecard --ratings a.csv");
    s.write("b.csv", "id,rating\nq00,maybe\n");
    s.prepare("leakage --project corpus/distributor");
    s.run("scorecard --ratings a.csv --ratings b.csv");
    s.write("before.json", "{}");
    s.run("scorecard --compare before.json");
    s.run("scorecard --who ada");
}
