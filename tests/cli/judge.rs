//! `judge-calibration`: judges against people.

use super::json::demand;
use super::session::session;

#[test]
fn judge_calibration() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let text = s.run("judge-calibration").stdout;
    let overlap = text.split("judge       claims").next().unwrap();
    assert!(overlap.contains("Agreement with the person: 3 of 6"), "{overlap}");
    assert!(overlap.contains("kappa 0.00"), "{overlap}");
    assert!(overlap.contains("calls everything correct: 3 of 6"), "{overlap}");
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        format!("{}{}", words.join(" "), if line.ends_with("<- disagree") { " <-" } else { "" })
    };
    let rows: Vec<String> = overlap.lines().filter(|line| line.starts_with('J')).map(row).collect();
    let expected = [
        "J01 correct correct",
        "J02 wrong correct <-",
        "J03 correct correct",
        "J04 wrong wrong",
        "J05 correct wrong <-",
        "J06 wrong correct <-",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn judge_calibration_json() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let json = s.run_json("judge-calibration --format json");
    demand(
        &json,
        "judges[].name judges[].labelled.agreement.k judges[].labelled.constant.k \
         judges[].metamorphic.permits[].permitted judges[].metamorphic.items[].judge",
    );
    let found = |judge: usize| &json["judges"][judge]["metamorphic"]["agreement"];
    let share =
        |judge: usize| found(judge)["k"].as_f64().unwrap() / found(judge)["n"].as_f64().unwrap();
    // The built-in judge is better than the stand-in on what follows from the labels.
    assert!(share(1) > share(0) + 0.2, "{} and {}", share(1), share(0));
}

#[test]
fn judge_calibration_wrong() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    let path = "evals/atlas-bikes/judge.yaml";
    let whole = s.read(path);
    let mut wrong = |what: &str, from: &str, to: &str| {
        s.say(what);
        s.write(path, &whole);
        s.edit(path, from, to);
        assert_eq!(s.run("judge-calibration").code, 4, "{what}");
    };
    wrong("a source that is not there", "[ERR-C3-3]", "[ERR-C3-33]");
    wrong("a misspelt key", "person: correct", "persn: correct");
    wrong("a label that is none", "person: correct", "person: right");
    wrong("an id twice", "id: J02", "id: J01");
    wrong("no sources", "sources: [ERR-C3-3]", "sources: []");
    assert_eq!(s.run("judge-calibration --set nowhere.yaml").code, 4);
    s.write(path, whole);
    s.run("judge-calibration --endpoint");
}
