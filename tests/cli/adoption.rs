//! `adoption`: the sample that is shipped, a project's own log, and files that are wrong.

use super::json::demand;
use super::session::{Session, session};

/// The project of this repository with the distributor's, whose people are counted.
fn both(s: &Session) {
    s.bikes();
    for path in ["corpus/distributor", "evals/distributor"] {
        s.copy(path, path);
    }
}

#[test]
fn adoption_of_the_sample() {
    let mut s = session!();
    both(&s);
    s.run("adoption");
    s.say("as it was in the middle of the fourth week, and with more asked of it");
    s.run("adoption --until 2026-09-30");
    s.edit("evals/atlas-bikes/targets.toml", "at_least = 0.50", "at_least = 0.95");
    assert_eq!(s.run("adoption --weeks 2").code, 3);
    s.say("named, it is no more evidence than it was");
    assert_eq!(s.run("adoption --weeks 2 --log evals/distributor/usage-sample.jsonl").code, 3);
}

#[test]
fn adoption_json() {
    let mut s = session!();
    both(&s);
    let found = s.run_json("adoption --format json");
    demand(
        &found,
        "weeks[].week weeks[].askers weeks[].questions weeks[].members weeks[].members_asking \
         weeks[].unnamed weeks[].excluded target.value target.verdict tried_once.once",
    );
}

#[test]
fn adoption_of_a_log_that_searches_wrote() {
    let mut s = session!();
    s.pumps();
    s.write(
        "access.yaml",
        "classifications: [open]\ngrants:\n  - read: [open]\n    by: { role: staff }\n",
    );
    s.edit(
        "atlas.toml",
        "index = \"index\"\n",
        "index = \"index\"\nusage_log = \"usage.jsonl\"\nusage_log_pseudonyms = true\n",
    );
    s.prepare("search seals");
    s.prepare("search oil");
    s.write(
        "evals/roster.yaml",
        "group: readers\nlaunch: 2026-01-05\nutc_offset: \"+00:00\"\npeople:\n  - id: ada\n",
    );
    // The week of the run depends on the day, so only what does not is looked at.
    let ran = s.prepare("adoption --format json");
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let last = found["weeks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["unnamed"], &last["askers"]),
        (&2.into(), &0.into()),
        "nobody is named in an open project"
    );
    assert!(last["partial"].is_string(), "the week that runs is not shown as if it were over");
    assert_eq!((ran.code, &found["target"]), (0, &serde_json::Value::Null));
    s.run("adoption --log nowhere.jsonl");
}

#[test]
fn adoption_wrong() {
    let mut s = session!();
    both(&s);
    s.run("adoption --weeks 0");
    s.run("adoption --until yesterday");
    s.run("adoption --roster nowhere.yaml");
    s.edit("evals/distributor/roster.yaml", "from: 2026-09-21", "form: 2026-09-21");
    s.run("adoption");
    s.edit(
        "evals/atlas-bikes/targets.toml",
        "project = \"corpus/distributor\"",
        "project = \"corpus/nowhere\"",
    );
    s.edit(
        "evals/atlas-bikes/targets.toml",
        "project = \"corpus/distributor\"",
        "project = \"corpus/nowhere\"",
    );
    s.edit(
        "evals/atlas-bikes/targets.toml",
        "project = \"corpus/distributor\"",
        "project = \"corpus/nowhere\"",
    );
    s.edit(
        "evals/atlas-bikes/targets.toml",
        "project = \"corpus/distributor\"",
        "project = \"corpus/nowhere\"",
    );
    s.edit(
        "evals/atlas-bikes/targets.toml",
        "project = \"corpus/distributor\"",
        "project = \"corpus/nowhere\"",
    );
    s.run("adoption");
}
