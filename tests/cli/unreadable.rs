//! What becomes of the documents of a file that cannot be read, is deleted, or is opened to others.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use super::session::{Session, session};

fn allow(s: &Session, path: &str, mode: u32) {
    let path = s.at(path);
    // A file of whoever runs the tests is readable by nobody for want of permission, not of ownership.
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn finds(s: &Session, question: &str, asker: &str, words: &str) -> bool {
    let found = s.prepare(&format!("search '{question}' --as {asker} -k 20"));
    assert_eq!(found.code, 0, "{}", found.stderr);
    found.stdout.contains(words)
}

#[test]
fn unreadable_deleted_and_reclassified() {
    let mut s = session!();
    if !s.bind() {
        return;
    }
    s.pumps();
    s.edit("atlas.toml", "index = ", "access = \"access.yaml\"\nevals = \".\"\nindex = ");
    s.write(
        "docs/access.yaml",
        "classifications:\n  public: { read: [everyone] }\n  internal: { read: [staff] }\ndefault: public\n",
    );
    s.write("users.yaml", "users:\n  - { id: anna, roles: [staff] }\n  - { id: ben, roles: [] }\n");
    s.write("docs/parts/nut.md", "# Nuts\n\nA nut holds the hose.\n");
    s.write("docs/parts/bolt.md", "# Bolts\n\nA bolt takes nine newton metres.\n");
    for number in 1..=9 {
        s.write(&format!("docs/{number}.md"), format!("# Part {number}\n\nNumber {number}.\n"));
    }
    // A file that looks as old as its index is not opened, and so not known to be closed.
    let hose = fs::File::options().write(true).open(s.at("docs/hose.md")).unwrap();
    hose.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    assert_eq!(s.prepare("build").code, 0);

    s.say(
        "a file and a folder may not be read any more; another file is deleted, another internal",
    );
    allow(&s, "docs/hose.md", 0);
    allow(&s, "docs/parts", 0);
    fs::remove_file(s.at("docs/valve.txt")).unwrap();
    s.edit("docs/pump.md", "title: Pumps\n", "title: Pumps\nclassification: internal\n");
    s.run("status");
    assert_eq!(s.run("build").code, 0);
    assert!(finds(&s, "how is a hose laid", "ben", "without a kink"));
    assert!(
        finds(&s, "which bolt", "ben", "nine newton metres")
            && finds(&s, "nut", "ben", "A nut holds")
    );
    assert!(!finds(&s, "valve opens to the left", "anna", "The valve opens"));
    assert!(finds(&s, "dry seal", "anna", "whistles") && !finds(&s, "dry seal", "ben", "whistles"));
    assert_eq!(s.run("build").code, 0);
    assert_eq!(s.run("verify").code, 0);

    s.say("strictly it is an error, and to build all of it would lose them");
    assert_eq!(s.run("build --strict").code, 4);
    assert_eq!(s.run("build --full").code, 4);
    assert_eq!(s.run("build --setting passage.max_tokens=64").code, 4);
    s.say("so much changes that all would be written anew, which waits");
    for number in 1..=9 {
        s.write(&format!("docs/{number}.md"), format!("# Part {number}\n\nAnother {number}.\n"));
    }
    assert_eq!(s.run("build").code, 0);
    assert!(finds(&s, "how is a hose laid", "ben", "without a kink"));

    s.say("they may be read again, one with another text");
    allow(&s, "docs/parts", 0o755);
    allow(&s, "docs/hose.md", 0o644);
    s.edit("docs/hose.md", "kink", "bend");
    s.run("status");
    assert_eq!(s.run("build").code, 0);
    assert!(finds(&s, "how is a hose laid", "ben", "without a bend"));
    assert_eq!(s.run("verify --against-rebuild").code, 0);

    s.say("the loss is meant");
    allow(&s, "docs/hose.md", 0);
    assert_eq!(s.run("build --full --allow-shrink").code, 0);
    assert!(!finds(&s, "how is a hose laid", "ben", "without a"));
    allow(&s, "docs/hose.md", 0o644);
}
