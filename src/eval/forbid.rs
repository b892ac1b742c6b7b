//! Strings that a wrong answer would have, mined from what arrived beside the evidence.
//!
//! The commonest wrong answer is true of something else: the figure of another version or product. A
//! block of the context that is not evidence and states a quantity in the unit of the right answer, or a
//! code of the same kind, offers it as a string for `must_not_contain`. Whether it is wrong for the
//! question is for a person to say.

use serde::Serialize;

use super::check::CheckReport;
use super::expectations::{Case, Expectations};
use super::ladder::blocks;
use super::phrases::{codes, find, tokens, without_codes};
use crate::error::Result;
use crate::index::Index;
use crate::text::stop::is_stop;

/// Blocks of a context that should have been declined on which are looked at.
const ABSTAINING_BLOCKS: usize = 1;

/// A string that may be forbidden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposed {
    /// The case.
    pub case: String,
    /// The string, as it stands in the block.
    pub string: String,
    /// The first block, best first, that has it.
    pub block: String,
    /// Its place in the context, from 1.
    pub place: usize,
}

/// What may be forbidden in the answers to each case of `set`, by the contexts that `report` holds; in
/// the order of the file, then of the context and of the text.
///
/// A quantity (a number and the word or sign after it) is offered when an expected phrase has one of the
/// same unit; a code when an expected phrase has one that begins with the same letters. Neither is when
/// the evidence says it, or the case names it already. For a case that must decline every quantity of
/// the best block is offered, as that is what would be quoted.
pub fn forbid(index: &Index, set: &Expectations, report: &CheckReport) -> Result<Vec<Proposed>> {
    let mut all = Vec::new();
    for case in set.cases.iter().filter(|case| !case.expect.evidence_only) {
        let Some(found) = report.cases.iter().find(|found| found.id == case.id) else { continue };
        let names: Vec<String> = case.supporting.iter().flatten().cloned().collect();
        let needed = blocks(index, &names)?;
        let text = |block: u32| -> Result<&str> {
            index.passages().block_text(&index.passages().block(block)?)
        };
        let mut evidence = Vec::new();
        for block in &needed {
            evidence.push(text(*block)?);
        }
        let wanted = Wanted::of(case);
        let mut own: Vec<Proposed> = Vec::new();
        for (at, name) in found.context.iter().enumerate() {
            if case.expect.abstains && at >= ABSTAINING_BLOCKS {
                break;
            }
            for block in blocks(index, std::slice::from_ref(name))?.difference(&needed) {
                for string in wanted.like(text(*block)?) {
                    let listed = case.expect.must_contain.iter().flatten();
                    let listed = listed.chain(&case.expect.must_not_contain);
                    let known = listed.map(String::as_str).chain(own.iter().map(|p| &*p.string));
                    let said = evidence.iter().any(|text| find(text, string).is_some());
                    if said || known.into_iter().any(|known| find(known, string).is_some()) {
                        continue;
                    }
                    let (case, string) = (case.id.clone(), string.to_owned());
                    own.push(Proposed { case, string, block: name.clone(), place: at + 1 });
                }
            }
        }
        all.extend(own);
    }
    Ok(all)
}

/// What a wrong string must be like.
struct Wanted {
    /// Units of the expected quantities; `None`: any.
    units: Option<Vec<String>>,
    /// Letters with which the expected codes begin.
    codes: Vec<String>,
}

impl Wanted {
    fn of(case: &Case) -> Self {
        if case.expect.abstains {
            return Self { units: None, codes: Vec::new() };
        }
        let (mut units, mut kinds) = (Vec::new(), Vec::new());
        for phrase in case.expect.must_contain.iter().flatten() {
            units.extend(quantities(phrase).into_iter().map(|(unit, _)| unit));
            kinds.extend(codes(phrase).into_iter().map(|(code, _)| letters(&code)));
        }
        Self { units: Some(units), codes: kinds }
    }

    /// The strings of `text` that are like it, in order.
    fn like<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let wanted = |unit: &String| self.units.as_ref().is_none_or(|units| units.contains(unit));
        let found = quantities(text).into_iter().filter(|(unit, _)| wanted(unit));
        let mut strings: Vec<&str> = found.map(|(_, string)| string).collect();
        let alike = codes(text).into_iter().filter(|(code, _)| self.codes.contains(&letters(code)));
        strings.extend(alike.map(|(_, bytes)| &text[bytes]));
        strings
    }
}

/// The letters before the first digit.
fn letters(code: &str) -> String {
    code.chars().take_while(|c| !c.is_ascii_digit()).collect()
}

/// Every number of `text` with the word or sign that follows on its line: the unit in its one form, and
/// the whole as it stands. The digits of codes are no numbers, and `nine to` is no quantity.
fn quantities(text: &str) -> Vec<(String, &str)> {
    let plain = without_codes(text);
    let tokens = tokens(&plain);
    let mut found = Vec::new();
    for pair in tokens.windows(2) {
        let (number, unit) = (&pair[0], &pair[1]);
        if !number.number || unit.number || is_stop("en", &unit.form) {
            continue;
        }
        let bytes = number.bytes.start.min(unit.bytes.start)..number.bytes.end.max(unit.bytes.end);
        let between =
            number.bytes.end.min(unit.bytes.end)..number.bytes.start.max(unit.bytes.start);
        let near = between.is_empty()
            || plain
                .get(between)
                .is_some_and(|gap| gap.chars().all(|c| " \u{a0}-\u{202f}".contains(c)));
        if let Some(string) = text.get(bytes).filter(|_| near) {
            found.push((unit.form.clone(), string));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::expectations::Expect;

    #[test]
    fn a_quantity_is_a_number_with_its_unit() {
        let found = |text| quantities(text).into_iter().map(|(_, whole)| whole).collect::<Vec<_>>();
        assert_eq!(
            found("up to 3 years, or 20,000 km; E-417 means 42 V"),
            ["3 years", "20,000 km", "42 V"]
        );
        assert_eq!(
            found("15 % for $18, in part 4. Then 7"),
            ["15 %", "$18"],
            "not across a sentence"
        );
        assert!(quantities("from nine to noon").is_empty());
        assert_eq!(quantities("thirty days")[0].0, quantities("30 Day")[0].0);
    }

    #[test]
    fn what_is_offered_is_like_what_is_expected() {
        let expect = |phrases: &[&str]| Expect {
            must_contain: phrases.iter().map(|one| vec![(*one).to_owned()]).collect(),
            ..Expect::default()
        };
        let case = |expect| Case {
            id: "a".into(),
            question: "q".into(),
            asker: None,
            kinds: Vec::new(),
            expect,
            supporting: Vec::new(),
            misleading: Vec::new(),
            filter: Default::default(),
            expected_fail: None,
            hashes: Default::default(),
            line: 1,
        };
        let text = "Two years from R1 on, 30 days after R12; see E-417.";
        let like = |expect| Wanted::of(&case(expect)).like(text).join(", ");
        assert_eq!(like(expect(&["3 years"])), "Two years");
        assert_eq!(like(expect(&["R07"])), "R1, R12");
        assert_eq!(like(expect(&["too high"])), "", "words alone are like nothing");
        let declines = Expect { abstains: true, ..Expect::default() };
        assert_eq!(like(declines), "Two years, 30 days");
    }
}
