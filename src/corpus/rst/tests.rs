//! Texts as projects have them.

use super::*;
use crate::corpus::tests::{items, read_text};

#[test]
fn a_document_is_its_sections_lists_and_code() {
    let text = "\
=======
Pumps *
=======

:Author: Ada
:Revision: 1.10

.. a comment
   over two lines
.. _target:
.. |s| replace:: x

A pump, see :ref:`Seals <seals>`
on two lines::

    if a:

        b()

Seals
-----

* one
  more
* two

  - inner ``x``

  second

1. first
#. next

Term
  its meaning

    quoted

.. note:: Mind
   the gap.

.. code-block:: python
   :linenos:

   x = 1

.. toctree::
   :maxdepth: 2

   other

.. image:: a.png

.. [1] A note.

>>> doctest
1

Deep
~~~~

x

Next
----

y

----------

z
";
    let document = read_text(&Rst, "a/guide.rst", text);
    assert_eq!((document.id.as_str(), document.title.as_str()), ("a/guide.rst", "Pumps *"));
    assert_eq!(document.metadata.text("author"), Some("Ada"));
    assert_eq!(document.metadata.text("revision"), Some("1.10"));
    let wanted = [
        "p A pump, see Seals/on two lines:",
        "c if a://    b()",
        "h2 Seals",
        "i * one more",
        "i * two",
        "i   - inner x",
        "i    second",
        "i 1. first",
        "i #. next",
        "p Term/its meaning",
        "q quoted",
        "p Mind",
        "p the gap.",
        "c x = 1",
        "q [1] A note.",
        "c >>> doctest/1",
        "h3 Deep",
        "p x",
        "h2 Next",
        "p y",
        "p z",
    ];
    assert_eq!(items(&document), wanted);
}

#[test]
fn tables_become_rows_under_their_header() {
    let text = "\
====  =======
Code  Meaning
====  =======
F-12  no oil
      at all
F-13  dry
====  =======

+------+---------+
| Code | Meaning |
+======+=========+
| F-12 | no oil  |
|      | at all  |
+------+---------+
| F-13 | *dry*   |
+------+---------+

end
";
    let wanted = [
        "t1 Code | Meaning/F-12 | no oil at all/F-13 | dry",
        "t1 Code | Meaning/F-12 | no oil at all/F-13 | *dry*",
        "p end",
    ];
    assert_eq!(items(&read_text(&Rst, "t.rst", text)), wanted);
}

#[test]
fn places_are_those_of_the_lines() {
    let text = "TT\n==\n\none\ntwo\n\n* a\n";
    let document = read_text(&Rst, "p.rst", text);
    let BodyForm::Structured(structure) = &document.form else { unreachable!() };
    let places = structure.places.iter().map(|(_, place)| {
        let bytes = place.bytes.clone().unwrap();
        (place.lines.unwrap().to_string(), &text[bytes.start as usize..bytes.end as usize])
    });
    let found: Vec<(String, &str)> = places.collect();
    assert_eq!(found, [("4-5".to_owned(), "one\ntwo"), ("7".to_owned(), "* a")]);
}

#[test]
fn depth_and_length_end_well() {
    let deep: String = (0..1000).map(|n| format!("{}* x\n\n", " ".repeat(n * 2))).collect();
    for text in [
        deep,
        "* ".repeat(100_000),
        "::\n\n a\n".repeat(20_000),
        "=\n".repeat(50_000),
        ".. a::\n".repeat(50_000),
    ] {
        read_text(&Rst, "d.rst", &text);
    }
}
