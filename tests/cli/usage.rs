//! Help, version, and arguments that are none.

use super::session::session;

#[test]
fn help() {
    let mut s = session!();
    s.run("--help");
    s.run("-h");
    s.run("--version");
}

#[test]
fn help_of_init() {
    session!().run("init --help");
}

#[test]
fn help_of_build() {
    session!().run("build --help");
}

#[test]
fn help_of_status() {
    session!().run("status --help");
}

#[test]
fn help_of_verify() {
    session!().run("verify --help");
}

#[test]
fn help_of_gc() {
    session!().run("gc --help");
}

#[test]
fn help_of_rollback() {
    session!().run("rollback --help");
}

#[test]
fn help_of_search() {
    session!().run("search --help");
}

#[test]
fn help_of_ask() {
    session!().run("ask --help");
}

#[test]
fn help_of_check() {
    session!().run("check --help");
}

#[test]
fn help_of_judge_calibration() {
    session!().run("judge-calibration --help");
}

#[test]
fn help_of_measure() {
    session!().run("measure --help");
}

#[test]
fn help_of_latency() {
    session!().run("latency --help");
}

#[test]
fn help_of_adoption() {
    session!().run("adoption --help");
}

#[test]
fn help_of_scorecard() {
    session!().run("scorecard --help");
}

#[test]
fn help_of_leakage() {
    session!().run("leakage --help");
}

#[test]
fn help_of_why() {
    session!().run("why --help");
}

#[test]
fn help_of_review() {
    session!().run("review --help");
}

#[test]
fn help_of_judge() {
    session!().run("judge --help");
}

#[test]
fn help_of_mutate() {
    session!().run("mutate --help");
}

#[test]
fn help_of_drift() {
    session!().run("drift --help");
}

#[test]
fn help_of_promote() {
    session!().run("promote --help");
}

#[test]
fn wrong_arguments() {
    let mut s = session!();
    for line in [
        "",
        "serch pump",
        "search",
        "search pump --mod lexical",
        "search pump --mode bm25",
        "search pump -k many",
        "search pump --min-score=-1",
        "build one two",
        "measure --reveal",
        "measure --sweep --choose 0.1",
        "measure --sweep --compare a.json",
        "measure --sweep minscore",
        "--format xml status",
    ] {
        assert_eq!(s.run(line).code, 4, "{line}");
    }
}
