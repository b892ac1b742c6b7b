//! Policies and askers with a fault: never an open door.

use std::fs;

use super::session::session;

const POLICY: &str = "corpus/atlas-bikes/access.yaml";
const USERS: &str = "evals/atlas-bikes/users.yaml";

#[test]
fn policy_missing() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    fs::remove_file(s.at(POLICY)).unwrap();
    assert_eq!(s.run("search battery").code, 4);
}

#[test]
fn policy_wrong() {
    let mut s = session!();
    s.bikes();
    let good = s.read(POLICY);
    for (what, text) in [
        ("broken YAML", "classifications:\n  public: { read: [everyone\n".to_owned()),
        ("an unknown key", good.replace("{ read: [sales] }", "{ reads: [sales] }")),
        ("no classification", "classifications: {}\n".to_owned()),
        ("an alternative of nobody", good.replace("[sales]", "[[]]")),
        ("an unknown default", good.replace("default: nobody", "default: intern")),
        ("a default unlike any", good.replace("default: nobody", "default: xyz")),
        ("an empty file", String::new()),
    ] {
        s.say(what);
        s.write(POLICY, text);
        assert_eq!(s.run("search battery").code, 4, "{what}");
    }
}

#[test]
fn policy_that_does_not_know_a_classification() {
    let mut s = session!();
    s.bikes();
    s.edit("corpus/atlas-bikes/warr-r2.md", "classification: internal", "classification: internl");
    s.edit("corpus/atlas-bikes/warr-r1.md", "classification: internal\n", "");
    s.run("build");
    s.run("status");
    let found = s.run("search 'battery warranty 2026 policy' -k 3");
    assert!(!found.stdout.contains("WARR-R2-"), "what nobody may read was found");
}

#[test]
fn policy_changed_builds_again() {
    let mut s = session!();
    s.bikes();
    s.prepare("build");
    s.edit(POLICY, "sales:    { read: [sales] }", "sales:    { read: [dealers] }");
    s.run("status");
    s.run("search 'price list battery BP-36' -k 1 --as dealer");
}

#[test]
fn askers_wrong() {
    let mut s = session!();
    s.bikes();
    let good = s.read(USERS);
    for (what, text) in [
        ("an unknown key", good.replacen("roles:", "role:", 1)),
        ("an id twice", good.replace("id: sales", "id: staff")),
        ("a role that is no list", good.replace("[staff, sales]", "7")),
        ("broken YAML", "users: [\n".to_owned()),
    ] {
        s.say(what);
        s.write(USERS, text);
        assert_eq!(s.run("search battery").code, 4, "{what}");
    }
    s.say("no such file");
    fs::remove_file(s.at(USERS)).unwrap();
    assert_eq!(s.run("search battery").code, 4);
}
