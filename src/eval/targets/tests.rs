//! The project's own targets, and files that are wrong in one way each.

use super::*;

const HEAD: &str = "version = 1\nagreed = 2026-11-30\nprimary_measure = \"recall\"\n";

fn row(name: &str, kind: &str, unit: &str, limits: &str) -> String {
    format!(
        "[{name}]\nkind = \"{kind}\"\ndefinition = \"d\"\nmethod = \"m\"\nsample = \"s\"\n\
         unit = \"{unit}\"\nsource = \"o\"\n{limits}\n"
    )
}

fn read(text: &str) -> Result<Targets> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("targets.toml");
    fs::write(&path, text).unwrap();
    Targets::read(&path)
}

fn fault(text: &str) -> String {
    let said = read(text).unwrap_err().to_string();
    said.split_once("targets.toml").unwrap().1.to_owned()
}

#[test]
fn the_projects_own_targets_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/atlas-bikes/targets.toml");
    let targets = Targets::read(&path).unwrap();
    assert_eq!(targets.agreed, "2026-11-30");
    let limits = targets.limits();
    assert_eq!(limits["coverage.at_least"], 0.70);
    assert_eq!(limits["groundedness.at_most"], 0.02);
    assert_eq!(limits["leakage.at_most"], 0.0);
    assert_eq!((limits["latency.p50_at_most"], limits["latency.p95_at_most"]), (4.0, 10.0));
    assert_eq!(limits["adoption.at_least"], 0.5);
    assert_eq!(targets.expected.unwrap().retrieve, (10.0, 40.0));
    let ledger = super::super::ledger::read(&path.with_file_name("ledger.jsonl")).unwrap();
    assert!(targets.moved(&ledger).is_empty(), "{:?}", targets.moved(&ledger));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let with = |row: &str| format!("{HEAD}{row}");
    let cases = [
        (
            with(&row("coverage", "target", "share", "at_leest = 0.7")),
            ":11: unknown key `at_leest`; did you mean `at_least`?".to_owned(),
        ),
        (
            with("[coverrage]\n"),
            ":4: unknown key `coverrage`; did you mean `coverage`?".to_owned(),
        ),
        (
            with(&row("coverage", "target", "share", "")),
            ":4: [coverage]: it has 0 limits where one is needed; state one of at_least and at_most"
                .to_owned(),
        ),
        (
            with(&row("coverage", "target", "share", "at_least = 70")),
            ":4: [coverage]: at_least is 70; it is a share: 0 to 1".to_owned(),
        ),
        (
            with(&row("latency", "target", "s", "at_most = 4.0")),
            ":4: [latency]: it needs limits of percentiles, and no other; state p50_at_most, \
             p95_at_most or p99_at_most"
                .to_owned(),
        ),
        (
            with(&row("latency", "target", "minutes", "p50_at_most = 4.0")),
            ":4: [latency]: unit is `minutes`; expected s, ms or µs".to_owned(),
        ),
        (
            with(&row("leakage", "target", "cases", "at_most = 0")),
            ":4: [leakage]: leakage is a gate, and nothing averages it; state kind = \"gate\" and \
             at_most = 0: one leak means no release"
                .to_owned(),
        ),
        (
            with(&row("leakage", "gate", "cases", "at_most = 1")),
            ":4: [leakage]: leakage is a gate, and nothing averages it; state kind = \"gate\" and \
             at_most = 0: one leak means no release"
                .to_owned(),
        ),
        (
            with(&row("adoption", "target", "share", "at_least = -0.5")),
            ":4: [adoption]: at_least is -0.5; a limit is 0 or more".to_owned(),
        ),
        (HEAD.replace("= 1", "= 2"), format!(":1: version is 2; expected 1; {FORM}")),
        (
            HEAD.replace("2026-11-30", "2026-11-30T10:00:00Z"),
            format!(":2: agreed must be a day, YYYY-MM-DD; {FORM}"),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(fault(&text), expected, "{text}");
    }
}

#[test]
fn a_limit_that_moved_is_told_until_it_is_acknowledged() {
    let file = |limit: &str| {
        read(&format!("{HEAD}{}", row("coverage", "target", "share", limit))).unwrap()
    };
    let (old, new) = (file("at_least = 0.7"), file("at_least = 0.6"));
    assert_eq!(old.moved(&[]), ["nobody has acknowledged these targets yet"]);
    let agreed =
        |targets: &Targets| targets.acknowledged("2026-11-30".into(), "x".into(), "y".into());
    let mut ledger = vec![agreed(&old)];
    assert!(old.moved(&ledger).is_empty());
    assert_eq!(new.moved(&ledger), ["coverage.at_least moved from 0.7 to 0.6 since 2026-11-30"]);
    ledger.push(agreed(&new));
    assert!(new.moved(&ledger).is_empty());
    // The limit is the same and the yardstick another.
    let text = format!("{HEAD}{}", row("coverage", "target", "share", "at_least = 0.6"));
    let other = read(&text.replace("\"d\"", "\"e\"")).unwrap();
    assert!(other.moved(&ledger)[0].starts_with("no limit moved since 2026-11-30, but what is"));
    // A comment is no change.
    let commented = read(&format!("# a remark\n{text}")).unwrap();
    assert!(commented.moved(&ledger).is_empty());
}

#[test]
fn limits_are_compared_exactly() {
    let limit = |key, limit| Threshold { key, limit };
    assert!(limit("at_least", 0.7).holds(0.7) && !limit("at_least", 0.7).holds(0.699_999));
    assert!(limit("p95_at_most", 10.0).holds(10.0) && !limit("at_most", 0.0).holds(1.0));
    assert_eq!(limit("p95_at_most", 10.0).words(), "p95 at most 10");
}
