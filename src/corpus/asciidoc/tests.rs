//! Texts as projects have them.

use super::*;
use crate::corpus::tests::{items, read_text};

#[test]
fn a_document_is_its_sections_lists_and_blocks() {
    let text = "\
// a comment
= Pumps & hoses
Ada Lovelace <ada@x.org>
v1.10, 2026-01-01
:toc:
:product: C-3

The {product} pump, see <<seals,Seals>>
on two lines. +
Third

////
hidden
////

[[seals]]
== Seals

.Kinds
* one
goes on
** inner
* two
+
more

. first
.. a
. second

Term:: its meaning
Other::
  below

[source,python]
----
if a:

    b()
----

NOTE: Mind.

====
Inside an example
====

____
Quoted
____

 literal

'''
include::x.adoc[]
image::a.png[Alt]

=== Deep

x
";
    let document = read_text(&AsciiDoc, "a/guide.adoc", text);
    assert_eq!((document.id.as_str(), document.title.as_str()), ("a/guide.adoc", "Pumps & hoses"));
    assert_eq!(document.metadata.text("author"), Some("Ada Lovelace <ada@x.org>"));
    assert_eq!(document.metadata.text("revision"), Some("v1.10, 2026-01-01"));
    let wanted = [
        "p The C-3 pump, see Seals/on two lines./Third",
        "h2 Seals",
        "p Kinds",
        "i - one goes on",
        "i   - inner",
        "i - two",
        "p more",
        // Another marker is one further in, as long as the list is open.
        "i   . first",
        "i     . a",
        "i   . second",
        "i     - Term: its meaning",
        "i     - Other: below",
        "c if a://    b()",
        "p NOTE: Mind.",
        "p Inside an example",
        "q Quoted",
        "c literal",
        "h3 Deep",
        "p x",
    ];
    assert_eq!(items(&document), wanted);
}

#[test]
fn tables_become_rows_under_their_header() {
    let text = "\
[cols=\"1,2\",options=\"header\"]
|===
|Code |Meaning
|F-12
|no oil
at all
|F-13 2+|*dry*
|===

|===
|a |b

|1 |2
|===

|===
|1 |2
|3 |4
|===
";
    let wanted =
        ["t1 Code | Meaning/F-12 | no oil at all/F-13 | *dry*", "t1 a | b/1 | 2", "t0 1 | 2/3 | 4"];
    assert_eq!(items(&read_text(&AsciiDoc, "t.adoc", text)), wanted);
}

#[test]
fn broken_and_long_texts_end_well() {
    assert_eq!(
        items(&read_text(&AsciiDoc, "a.adoc", "x\n\n----\nnever closed\n\ny")),
        ["p x", "c never closed//y"]
    );
    assert_eq!(items(&read_text(&AsciiDoc, "a.adoc", "|===\n|a |b")), ["t0 a | b"]);
    let bomb: String = (0..200).map(|n| format!(":a{}: {{a{n}}}{{a{n}}}\n", n + 1)).collect();
    for text in [
        format!(":a0: x\n{bomb}\n{{a200}}\n"),
        "* ".repeat(100_000),
        "* a\n** b\n".repeat(50_000),
        "----\n".repeat(50_001),
        "{".repeat(300_000),
        "[<".repeat(300_000),
        "a:: ".repeat(100_000),
        "////\n".repeat(50_001),
    ] {
        read_text(&AsciiDoc, "d.adoc", &text);
    }
}
