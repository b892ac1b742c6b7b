//! Cases as JUnit XML, and as annotations of code hosts.

use std::fmt::Write as _;

use super::cases::{Case, Outcome};

/// JUnit XML: a `testsuite` a suite, in the order in which suites first occur, and a `testcase` a case,
/// with `failure`, `error` (could not be evaluated) or `skipped`. No times, so equal results are equal
/// bytes. Characters that XML 1.0 forbids are left out.
///
/// Reference: the Jenkins xUnit schema `junit-10.xsd`, with `file` and `line` as pytest writes them.
pub fn junit(cases: &[Case]) -> String {
    let mut suites: Vec<&str> = Vec::new();
    for case in cases {
        if !suites.contains(&case.suite.as_str()) {
            suites.push(&case.suite);
        }
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"atlas\"{}>", counts(cases.iter()));
    for suite in suites {
        let own = || cases.iter().filter(|case| case.suite == suite);
        let _ = writeln!(out, "  <testsuite name=\"{}\"{}>", attribute(suite), counts(own()));
        for case in own() {
            testcase(&mut out, case);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.outcome {
            Outcome::Passed => {}
            Outcome::Failed(..) => failures += 1,
            Outcome::NotEvaluated(_) => errors += 1,
            Outcome::Skipped(_) => skipped += 1,
        }
    }
    format!(" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn testcase(out: &mut String, case: &Case) {
    let line = if case.line > 0 { format!(" line=\"{}\"", case.line) } else { String::new() };
    let _ = write!(
        out,
        "    <testcase classname=\"atlas.{}\" name=\"{}\" file=\"{}\"{line}",
        attribute(&case.suite),
        attribute(&case.name),
        attribute(&case.path.to_string_lossy())
    );
    let _ = match &case.outcome {
        Outcome::Passed => writeln!(out, "/>"),
        Outcome::Failed(class, what) => writeln!(
            out,
            "><failure type=\"{}\" message=\"{}\"/></testcase>",
            attribute(class),
            attribute(what)
        ),
        Outcome::NotEvaluated(why) => writeln!(
            out,
            "><error type=\"not-evaluated\" message=\"{}\"/></testcase>",
            attribute(why)
        ),
        Outcome::Skipped(why) => {
            writeln!(out, "><skipped message=\"{}\"/></testcase>", attribute(why))
        }
    };
}

/// `text` for an attribute: what XML 1.0 forbids left out, what it reads as more than text written out.
fn attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

/// One line a case that failed or could not be evaluated, as GitHub's workflow commands have it:
/// `::error file=F,line=N,title=T::MESSAGE`.
pub fn annotations(cases: &[Case]) -> String {
    let mut out = String::new();
    for case in cases {
        let (level, what) = match &case.outcome {
            Outcome::Failed(class, what) => ("error", format!("{class}: {what}")),
            Outcome::NotEvaluated(why) => ("warning", why.clone()),
            Outcome::Passed | Outcome::Skipped(_) => continue,
        };
        let line = if case.line > 0 { format!(",line={}", case.line) } else { String::new() };
        let _ = writeln!(
            out,
            "::{level} file={}{line},title={}::{}",
            property(&case.path.to_string_lossy()),
            property(&format!("{} {}", case.suite, case.name)),
            data(&what)
        );
    }
    out
}

fn data(text: &str) -> String {
    let plain: String =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\r')).collect();
    plain.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Case> {
        let case = |suite: &str, name: &str, line, outcome| Case {
            suite: suite.into(),
            name: name.into(),
            path: "evals/a.yaml".into(),
            line,
            outcome,
        };
        vec![
            case("development", "fine", 3, Outcome::Passed),
            case(
                "development",
                "b<a>d & \"odd\"\u{7}\u{1b}",
                9,
                Outcome::Failed("retrieval:absent".into(), "50 %, two\nlines\u{0}".into()),
            ),
            case("leakage", "l1", 0, Outcome::NotEvaluated("unproven: x".into())),
            case("development", "known", 12, Outcome::Skipped("known and kept".into())),
        ]
    }

    #[test]
    fn every_outcome_has_its_element_and_control_characters_are_gone() {
        let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"atlas\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\">
  <testsuite name=\"development\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">
    <testcase classname=\"atlas.development\" name=\"fine\" file=\"evals/a.yaml\" line=\"3\"/>
    <testcase classname=\"atlas.development\" name=\"b&lt;a&gt;d &amp; &quot;odd&quot;\" file=\"evals/a.yaml\" line=\"9\"><failure type=\"retrieval:absent\" message=\"50 %, two&#10;lines\"/></testcase>
    <testcase classname=\"atlas.development\" name=\"known\" file=\"evals/a.yaml\" line=\"12\"><skipped message=\"known and kept\"/></testcase>
  </testsuite>
  <testsuite name=\"leakage\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">
    <testcase classname=\"atlas.leakage\" name=\"l1\" file=\"evals/a.yaml\"><error type=\"not-evaluated\" message=\"unproven: x\"/></testcase>
  </testsuite>
</testsuites>
";
        assert_eq!(junit(&cases()), expected);
    }

    #[test]
    fn annotations_name_file_and_line() {
        assert_eq!(
            annotations(&cases()),
            "::error file=evals/a.yaml,line=9,title=development b<a>d & \"odd\"::retrieval:absent: \
             50 %25, two%0Alines\n::warning file=evals/a.yaml,title=leakage l1::unproven: x\n"
        );
    }
}
