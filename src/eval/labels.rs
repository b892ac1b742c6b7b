//! What a judgment was made on: the hash of each unit that a question names.
//!
//! A name says where a text stood, a hash says which text it was. With both, a label survives a cut
//! that numbers blocks anew, since the text is found again by its hash, and a label whose text has
//! changed or gone is told as stale instead of counting as a miss.

mod places;
mod write;

use std::collections::BTreeMap;

use serde::Serialize;

use places::Places;
pub use write::{Grades, record, record_grades};

use super::expectations::Expectations;
use super::judgments::Judgments;
use super::questions::QuestionSet;
use super::units;
use crate::error::Result;
use crate::index::Index;
use crate::passage::Unit;
use crate::passage::store::{BlockRecord, PassageStore};
use unicode_normalization::UnicodeNormalization as _;

/// Hexadecimal digits of a hash: 64 bits, so that two of a million blocks share one by chance about
/// once in forty million such corpora.
pub const HASH_DIGITS: usize = 16;

/// The hash of a text under its section titles, outermost first.
///
/// BLAKE3 over the titles and then the text, each in Unicode normal form C, with every run of white
/// space as one blank and none at the ends, each ended by a line feed; the first 16 hexadecimal
/// digits. So wrapping lines anew or padding a table changes nothing, and a letter, a digit, a case
/// or a mark does. The document's title and metadata are no part of it.
///
/// ```
/// use atlas::eval::labels::text_hash;
/// let (a, b) = (text_hash(&["Seals"], "A dry\nseal  whistles. "), text_hash(&["Seals"], "A dry seal whistles."));
/// assert_eq!(a, b);
/// assert_ne!(a, text_hash(&["Hoses"], "A dry seal whistles."));
/// ```
pub fn text_hash<S: AsRef<str>>(sections: &[S], text: &str) -> String {
    let mut hash = blake3::Hasher::new();
    for part in sections.iter().map(AsRef::as_ref).chain([text]) {
        let words: Vec<&str> = part.split_whitespace().collect();
        hash.update(words.join(" ").nfc().collect::<String>().as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().to_hex()[..HASH_DIGITS].to_owned()
}

/// The hash of the unit called `name`: a block's or a passage's as [`text_hash`] has it, a document's
/// over the hashes of its blocks. `None` when there is no such unit.
pub fn unit_hash(passages: &PassageStore, name: &str) -> Result<Option<String>> {
    let Some(unit) = units::parse(passages, name)? else { return Ok(None) };
    let Some(document) = passages.find(unit.document())? else { return Ok(None) };
    let record = passages.document(document)?;
    let mut of_blocks = Vec::new();
    for number in record.first_block..record.first_block + record.blocks {
        let block = passages.block(number)?;
        match &unit {
            Unit::Document(_) => of_blocks.push(block_hash(passages, &block)?),
            Unit::Block(own) if own.block == block.number => {
                return Ok(Some(block_hash(passages, &block)?));
            }
            Unit::Passage(own) if own.block.block == block.number => {
                let passage = passages.passage(block.first_row + own.passage)?;
                let sections = passages.sections(&block)?;
                return Ok(Some(text_hash(&sections, passages.passage_text(&passage)?)));
            }
            Unit::Block(_) | Unit::Passage(_) => {}
        }
    }
    Ok(Some(text_hash(&of_blocks, "")))
}

fn block_hash(passages: &PassageStore, block: &BlockRecord) -> Result<String> {
    Ok(text_hash(&passages.sections(block)?, passages.block_text(block)?))
}

/// What became of a label since it was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    /// The unit has the text that was judged.
    Current,
    /// No hash was recorded, so nobody can tell.
    Unrecorded,
    /// The text that was judged stands elsewhere now, and the label follows it.
    Moved {
        /// Where: the unit that the question is scored with.
        to: String,
    },
    /// The text that was judged stands in several blocks now, one after the other: stale, since somebody
    /// has to say whether any of them is enough or all are needed. Until then it is scored like
    /// [`Changed`](State::Changed), or like [`Gone`](State::Gone) when the unit is not there any more.
    Split {
        /// The blocks, in order.
        into: Vec<String>,
    },
    /// The unit has another text than the one that was judged, which stands nowhere: stale. It is
    /// scored as if the label still held.
    Changed,
    /// Neither the unit nor its text is there: stale. A question left without evidence is not
    /// scored.
    Gone,
}

/// A unit that a question names, and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The question's id.
    pub question: String,
    /// The unit as it is named there.
    pub unit: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: State,
}

impl Label {
    /// Whether the label must be reviewed before it can be believed.
    pub const fn is_stale(&self) -> bool {
        matches!(self.state, State::Split { .. } | State::Changed | State::Gone)
    }
}

/// Why a question is not scored whose evidence has gone.
pub const STALE: &str = "stale evidence";

/// Compares every label of `set` with `index`, and lets those that moved follow their text.
///
/// A unit that moved is renamed in the judgments. One that is gone is taken out; when that empties an
/// evidence group the question becomes unscoreable with the reason [`STALE`], so that it is listed
/// and never counts as a miss. In a `partial` index, which holds a part of the corpus on purpose,
/// what is gone is left alone. A unit that does not exist and has no hash is left to
/// [`QuestionSet::check`], which takes it for a slip of the pen.
pub fn resolve(index: &Index, set: &mut QuestionSet, partial: bool) -> Result<Vec<Label>> {
    let mut now = Now { index, everywhere: None, partial };
    let mut labels = Vec::new();
    for question in &mut set.questions {
        let mut became = BTreeMap::new();
        for unit in question.judgments.units() {
            if let Some(state) = now.state(unit, question.hashes.get(unit))? {
                became.insert(unit.to_owned(), state);
            }
        }
        let renamed = question.judgments.mapped(|unit| match became.get(unit) {
            Some(State::Moved { to }) => Some(to.clone()),
            Some(State::Gone) => None,
            Some(State::Split { into }) if !into.iter().any(|part| part == unit) => None,
            _ => Some(unit.to_owned()),
        });
        match renamed {
            Some(judgments) => question.judgments = judgments,
            None => {
                question.judgments = Judgments::default();
                question.unscoreable = Some(STALE.to_owned());
            }
        }
        labels.extend(became.into_iter().map(|(unit, state)| Label {
            question: question.id.clone(),
            unit,
            state,
        }));
    }
    Ok(labels)
}

/// The same for expected answers: units that moved are renamed. One that is gone keeps its name, so that
/// the failure of its case is told as evidence that is not in the index, beside the stale label.
pub fn resolve_cases(index: &Index, set: &mut Expectations, partial: bool) -> Result<Vec<Label>> {
    let mut now = Now { index, everywhere: None, partial };
    let mut labels = Vec::new();
    for case in &mut set.cases {
        let names = case.supporting.iter_mut().flatten().chain(&mut case.misleading);
        for unit in names {
            let Some(state) = now.state(unit, case.hashes.get(unit.as_str()))? else { continue };
            let label = Label { question: case.id.clone(), unit: unit.clone(), state };
            if let State::Moved { to } = &label.state {
                unit.clone_from(to);
            }
            labels.push(label);
        }
    }
    Ok(labels)
}

/// An index that labels are held against.
struct Now<'i> {
    index: &'i Index,
    /// Where each text stands: made when the first label is not as it was judged.
    everywhere: Option<Places<'i>>,
    /// Whether the index holds a part of the corpus on purpose.
    partial: bool,
}

impl Now<'_> {
    /// The state of the label on `unit`, made on the text of the hash `then`; `None` when nothing can be
    /// said: there is neither such a unit nor a hash, or the unit lies outside the part.
    fn state(&mut self, unit: &str, then: Option<&String>) -> Result<Option<State>> {
        let now = unit_hash(self.index.passages(), unit)?;
        let then = match (then, &now) {
            (None, Some(_)) => return Ok(Some(State::Unrecorded)),
            (None, None) => return Ok(None),
            (Some(then), Some(now)) if then == now => return Ok(Some(State::Current)),
            (Some(then), _) => then,
        };
        let everywhere = match &mut self.everywhere {
            Some(everywhere) => everywhere,
            none => none.insert(Places::of(self.index.passages())?),
        };
        if let Some(to) = everywhere.nearest(then, unit) {
            return Ok(Some(State::Moved { to }));
        }
        if let Some(into) = everywhere.split(then, unit)? {
            return Ok(Some(State::Split { into }));
        }
        Ok(match now {
            Some(_) => Some(State::Changed),
            None if self.partial => None,
            None => Some(State::Gone),
        })
    }
}

/// The hashes that the labels of `set` have in `index`, by question and unit; units that do not exist
/// are left out.
pub fn hashes(index: &Index, set: &QuestionSet) -> Result<BTreeMap<String, Hashes>> {
    let mut all = BTreeMap::new();
    for question in &set.questions {
        let mut own = Hashes::new();
        for unit in question.judgments.units() {
            if let Some(hash) = unit_hash(index.passages(), unit)? {
                own.insert(unit.to_owned(), hash);
            }
        }
        all.insert(question.id.clone(), own);
    }
    Ok(all)
}

/// Hashes of units by their names.
pub type Hashes = BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_hash_sees_words_and_not_their_layout() {
        let hash = |text: &str| text_hash(&["A"], text);
        assert_eq!(hash("one  two\n\tthree"), hash(" one two three\n"));
        assert_eq!(hash("caf\u{e9}"), hash("cafe\u{301}"), "composed and not");
        for other in ["one two", "One two three", "one two three.", "onetwo three"] {
            assert_ne!(hash(other), hash("one two three"), "{other}");
        }
        assert_ne!(text_hash(&["A", "B"], ""), text_hash(&["A"], "B"), "a title is no text");
        assert_eq!(hash("x").len(), HASH_DIGITS);
    }

    const SET: &str = "corpus: c\nkinds: [k]\nquestions:\n  # first\n  - id: a\n    question: Q # why\n    \
                       kind: k\n    relevant: [A-1, [B-1, \"C: 2\"]]\n    hashes:\n      A-1: \
                       \"0123456789abcdef\"\n      B-1: \"0123456789abcde0\"\n    notes: |\n      kept\n\n  - \
                       id: b\n    question: R\n    kind: k\n    relevant: [A-2]\n\n# end\n";

    #[test]
    fn hashes_are_written_beside_everything_that_stands_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.yaml");
        fs::write(&path, SET).unwrap();
        let own = |unit: &str, hash: &str| Hashes::from([(unit.to_owned(), hash.to_owned())]);
        let hash = "00000000000000ff";
        assert_eq!(record(&path, &BTreeMap::from([("b".into(), own("A-2", hash))])).unwrap(), 1);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            SET.replace("[A-2]\n", "[A-2]\n    hashes:\n      A-2: \"00000000000000ff\"\n")
        );
        // The same again changes nothing; others replace, and the name of a unit is quoted.
        assert_eq!(record(&path, &BTreeMap::from([("b".into(), own("A-2", hash))])).unwrap(), 0);
        assert_eq!(record(&path, &BTreeMap::from([("a".into(), own("C: 2", hash))])).unwrap(), 1);
        let text = fs::read_to_string(&path).unwrap();
        let expected =
            "notes: |\n      kept\n    hashes:\n      \"C: 2\": \"00000000000000ff\"\n\n  - id: b";
        assert!(text.contains(expected) && !text.contains("B-1: "), "{text}");
        assert_eq!(record(&path, &BTreeMap::from([("b".into(), Hashes::new())])).unwrap(), 1);
        assert!(fs::read_to_string(&path).unwrap().ends_with("relevant: [A-2]\n\n# end\n"));
    }

    #[test]
    fn grades_are_added_with_the_hashes_of_what_was_graded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.yaml");
        let one = SET.replace("[A-2]\n", "[A-2]\n    grades: { A-2: 3, D-1: 1 }\n");
        fs::write(&path, one).unwrap();
        let hash = "00000000000000ff".to_owned();
        let added = vec![("D-1".to_owned(), 0, hash.clone()), ("E-1".to_owned(), 2, hash)];
        assert_eq!(record_grades(&path, &BTreeMap::from([("b".into(), added)])).unwrap(), 1);
        let text = fs::read_to_string(&path).unwrap();
        let expected = "[A-2]\n    grades:\n      A-2: 3\n      D-1: 0\n      E-1: 2\n    hashes:\n      \
                        D-1: \"00000000000000ff\"\n      E-1: \"00000000000000ff\"\n";
        assert!(text.contains(expected), "{text}");
        let set = QuestionSet::read(&path).unwrap();
        assert_eq!(set.questions[0].judgments.grades().len(), 3, "the other is as it was");
    }

    #[test]
    fn a_question_in_braces_is_left_to_a_person() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.yaml");
        let text = "corpus: c\nkinds: [k]\nquestions:\n  - {id: a, question: Q, kind: k, relevant: [A-1]}\n";
        fs::write(&path, text).unwrap();
        let hash = Hashes::from([("A-1".to_owned(), "00000000000000ff".to_owned())]);
        let said = record(&path, &BTreeMap::from([("a".into(), hash)])).unwrap_err().to_string();
        assert!(
            said.ends_with("cannot be changed: its keys do not stand one a line; do it by hand")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left");
    }
}
