//! `leakage`: the gate, and when it fails.

use super::json::demand;
use super::session::{Session, session};

/// One case on the corpus of Atlas Bikes; what is forbidden, to whom, and who may read it.
fn case(s: &Session, asker: &str, question: &str, forbidden: &str, control: &str) {
    let text = format!(
        "corpus: atlas-bikes\ncases:\n  - id: only\n    question: \"{question}\"\n    asker: {asker}\n    \
         expect: refused\n    forbidden: [{forbidden}]\n    control: {control}\n"
    );
    s.write("evals/atlas-bikes/leakage.yaml", text);
}

const PRICE: &str = "What does a replacement battery BP-36 cost on the price list?";

#[test]
fn leakage_passed() {
    let mut s = session!();
    s.bikes();
    assert_eq!(s.run("leakage").code, 0);
    assert_eq!(s.run("leakage --twin").code, 0);
    let json = s.run_json("leakage --format json");
    demand(
        &json,
        "gate cases leaks unproven per_case[].id per_case[].forbidden per_case[].stage \
         per_case[].control",
    );
    assert_eq!(json["gate"], "passed");
}

#[test]
fn leakage_failed() {
    let mut s = session!();
    s.bikes();
    s.say("staff may read what the case forbids them");
    case(&s, "staff", "What does E-417 stand for on the C-3?", "ERR-C3-3", "sales");
    assert_eq!(s.run("leakage").code, 2);
    let json = s.run_json("leakage --format json");
    assert_eq!((&json["gate"], &json["leaks"]), (&"failed".into(), &1.into()));
}

#[test]
fn leakage_unproven() {
    let mut s = session!();
    s.bikes();
    s.say("the control may not read it either");
    case(&s, "customer", PRICE, "PRICE-2026-3", "staff");
    assert_eq!(s.run("leakage").code, 2);
    let json = s.run_json("leakage --format json");
    assert_eq!((&json["leaks"], &json["unproven"]), (&0.into(), &1.into()));
}

#[test]
fn leakage_of_an_empty_set() {
    let mut s = session!();
    s.bikes();
    s.write("evals/atlas-bikes/leakage.yaml", "corpus: atlas-bikes\ncases: []\n");
    assert_eq!(s.run("leakage").code, 2);
    assert_eq!(s.run_json("leakage --format json")["gate"], "failed");
}

#[test]
fn leakage_in_an_open_project() {
    let mut s = session!();
    s.pumps();
    assert_eq!(s.run("leakage").code, 4);
}

#[test]
fn leakage_cases_that_are_wrong() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.say("an unknown asker");
    case(&s, "staf", PRICE, "PRICE-2026-3", "sales");
    assert_eq!(s.run("leakage").code, 4);
    s.say("an unknown block");
    case(&s, "staff", PRICE, "PRICE-2026-33", "sales");
    assert_eq!(s.run("leakage").code, 4);
    s.say("nothing forbidden");
    case(&s, "staff", PRICE, "", "sales");
    assert_eq!(s.run("leakage").code, 4);
    s.say("an unknown key");
    case(&s, "staff", PRICE, "PRICE-2026-3", "sales\n    expected: refused");
    assert_eq!(s.run("leakage").code, 4);
    s.say("an unknown demand");
    case(&s, "staff", PRICE, "PRICE-2026-3", "sales");
    s.edit("evals/atlas-bikes/leakage.yaml", "expect: refused", "expect: denied");
    assert_eq!(s.run("leakage").code, 4);
    s.say("an id twice");
    let one = "{id: a, question: Why, asker: staff, expect: refused, forbidden: [PRICE-2026-3], control: sales}";
    s.write("evals/atlas-bikes/leakage.yaml", format!("corpus: c\ncases:\n  - {one}\n  - {one}\n"));
    assert_eq!(s.run("leakage").code, 4);
    assert_eq!(s.run("leakage --set nowhere.yaml").code, 4);
}
