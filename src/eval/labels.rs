//! What a judgment was made on: the hash of each unit that a question names.
//!
//! A name says where a text stood, a hash says which text it was. With both, a label survives a cut
//! that numbers blocks anew, since the text is found again by its hash, and a label whose text has
//! changed or gone is told as stale instead of counting as a miss.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::judgments::Judgments;
use super::questions::QuestionSet;
use super::set_text::{Draft, List, by_hand, id_of};
use super::units;
use crate::error::{Error, Result};
use crate::index::Index;
use crate::passage::store::{BlockRecord, PassageStore};
use crate::passage::{BlockRef, Unit};
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
        matches!(self.state, State::Changed | State::Gone)
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
    let passages = index.passages();
    let mut everywhere: Option<Places> = None;
    let mut labels = Vec::new();
    for question in &mut set.questions {
        let mut became = BTreeMap::new();
        for unit in question.judgments.units() {
            let now = unit_hash(passages, unit)?;
            let state = match (question.hashes.get(unit), now) {
                (None, Some(_)) => State::Unrecorded,
                (None, None) => continue,
                (Some(then), Some(now)) if *then == now => State::Current,
                (Some(then), now) => {
                    if everywhere.is_none() {
                        everywhere = Some(Places::of(passages)?);
                    }
                    let found = everywhere.as_ref().and_then(|places| places.nearest(then, unit));
                    match (found, now) {
                        (Some(to), _) => State::Moved { to },
                        (None, Some(_)) => State::Changed,
                        (None, None) if partial => continue,
                        (None, None) => State::Gone,
                    }
                }
            };
            became.insert(unit.to_owned(), state);
        }
        let renamed = question.judgments.mapped(|unit| match became.get(unit) {
            Some(State::Moved { to }) => Some(to.clone()),
            Some(State::Gone) => None,
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

/// Where each text stands: the blocks of an index by their hashes.
struct Places(BTreeMap<String, Vec<BlockRef>>);

impl Places {
    fn of(passages: &PassageStore) -> Result<Self> {
        let mut places: BTreeMap<String, Vec<BlockRef>> = BTreeMap::new();
        for document in 0..passages.documents_len() {
            let record = passages.document(document)?;
            for number in record.first_block..record.first_block + record.blocks {
                let block = passages.block(number)?;
                let hash = block_hash(passages, &block)?;
                let name = BlockRef::new(record.id.clone(), block.number);
                places.entry(hash).or_default().push(name);
            }
        }
        Ok(Self(places))
    }

    /// The block with the text of `hash` that is nearest to the unit called `name`: of the same
    /// document and with the nearest number, else the first by reference.
    fn nearest(&self, hash: &str, name: &str) -> Option<String> {
        let blocks = self.0.get(hash)?;
        let own = name.parse::<BlockRef>().ok();
        let distance = |block: &&BlockRef| {
            let own = own.as_ref().filter(|own| own.document == block.document);
            own.map_or(u32::MAX, |own| own.block.abs_diff(block.block))
        };
        blocks.iter().min_by_key(distance).map(ToString::to_string)
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

/// Writes `hashes` into the set at `path`, by question: they replace those that stand there. Questions
/// that `hashes` does not name keep theirs. Returns how many questions changed.
///
/// The file is written under another name and read before it is put in place, and is left alone
/// unless exactly the hashes have changed.
pub fn record(path: &Path, hashes: &BTreeMap<String, Hashes>) -> Result<usize> {
    let old = QuestionSet::read(path)?;
    let text = fs::read_to_string(path).map_err(|e| Error::reading("reading", path, e))?;
    let list = List::of(&text);
    let (mut new, mut at, mut changed) = (String::with_capacity(text.len()), 0, BTreeSet::new());
    for item in &list.items {
        new.push_str(&text[at..item.start]);
        let own = &text[item.clone()];
        at = item.end;
        let id = id_of(own).unwrap_or_default();
        let known = old.questions.iter().find(|question| question.id == id);
        match hashes.get(&id).filter(|wanted| known.is_some_and(|known| known.hashes != **wanted)) {
            Some(wanted) => {
                new.push_str(&with_hashes(path, &id, own, list.indent, wanted)?);
                changed.insert(id);
            }
            None => new.push_str(own),
        }
    }
    new.push_str(&text[at..]);
    let differs = |question: &&super::questions::Question| {
        hashes.get(&question.id).is_some_and(|wanted| *wanted != question.hashes)
    };
    if let Some(missed) = old.questions.iter().filter(differs).find(|q| !changed.contains(&q.id)) {
        return Err(by_hand(path, &missed.id, "it does not stand on lines of its own"));
    }
    if changed.is_empty() {
        return Ok(0);
    }
    let draft = Draft::write(path, &new)?;
    let found = draft.read()?;
    for (before, after) in old.questions.iter().zip(&found.questions) {
        let wanted = hashes.get(&before.id).unwrap_or(&before.hashes);
        let same = before.id == after.id && before.judgments == after.judgments;
        if !same || after.hashes != *wanted || old.questions.len() != found.questions.len() {
            return Err(by_hand(path, &before.id, "something else would change with it"));
        }
    }
    draft.put()?;
    Ok(changed.len())
}

/// The question `item` with `hashes` as its last key.
fn with_hashes(path: &Path, id: &str, item: &str, dash: usize, hashes: &Hashes) -> Result<String> {
    let after_dash = item.get(dash + 1..).unwrap_or_default();
    let keys = dash + 1 + (after_dash.len() - after_dash.trim_start_matches(' ').len());
    if after_dash.trim_start().starts_with('{') || after_dash.starts_with('\n') {
        return Err(by_hand(path, id, "its keys do not stand one a line"));
    }
    let content = item.trim_end();
    let mut kept = String::new();
    let mut inside = false;
    for line in content.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if indent == keys && line[indent..].starts_with("hashes:") {
            inside = true;
            continue;
        }
        inside &= indent > keys;
        if !inside {
            kept.push_str(line);
        }
    }
    if !kept.ends_with('\n') {
        kept.push('\n');
    }
    if !hashes.is_empty() {
        kept.push_str(&format!("{}hashes:\n", " ".repeat(keys)));
    }
    for (unit, hash) in hashes {
        let name = if unit.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            unit.clone()
        } else {
            serde_json::to_string(unit).unwrap_or_default()
        };
        kept.push_str(&format!("{}{name}: \"{hash}\"\n", " ".repeat(keys + 2)));
    }
    let blank = &item[content.len()..];
    Ok(kept + blank.strip_prefix('\n').unwrap_or(blank))
}

#[cfg(test)]
mod tests {
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
