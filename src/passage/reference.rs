//! Names of blocks and passages, as people write and cite them.
//!
//! A block is named `<document>-<n>`, a passage `<block>-p<m>`. Ids of documents hold hyphens and
//! digits themselves, so names are read from the right end.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of a block: `WARR-R2-2`.
///
/// Ordered by document (bytes of the id), then by number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockRef {
    /// The id of the document.
    pub document: String,
    /// The number of the block in its document, from 1.
    pub block: u32,
}

/// The name of a passage: `WARR-R2-2-p0`.
///
/// Ordered by block, then by number: the order that decides between equal scores everywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PassageRef {
    /// The block that the passage is cut from.
    pub block: BlockRef,
    /// The number of the passage in its block, from 0.
    pub passage: u32,
}

impl BlockRef {
    /// The block numbered `block`, from 1, of `document`.
    pub fn new(document: impl Into<String>, block: u32) -> Self {
        Self { document: document.into(), block }
    }
}

impl PassageRef {
    /// The passage numbered `passage`, from 0, of `block`.
    pub fn new(block: BlockRef, passage: u32) -> Self {
        Self { block, passage }
    }

    /// The id of the document.
    pub fn document(&self) -> &str {
        &self.block.document
    }
}

impl fmt::Display for BlockRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.document, self.block)
    }
}

impl fmt::Display for PassageRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-p{}", self.block, self.passage)
    }
}

/// A text that cannot be the name asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not the name of a {unit}; expected {form}")]
pub struct NotAReference {
    found: String,
    unit: &'static str,
    form: &'static str,
}

impl FromStr for BlockRef {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        parse_block(text).ok_or_else(|| NotAReference {
            found: text.to_owned(),
            unit: "block",
            form: "<document id>-<number from 1>, as in `WARR-R2-2`",
        })
    }
}

impl FromStr for PassageRef {
    type Err = NotAReference;

    fn from_str(text: &str) -> Result<Self, NotAReference> {
        parse_passage(text).ok_or_else(|| NotAReference {
            found: text.to_owned(),
            unit: "passage",
            form: "<block>-p<number from 0>, as in `WARR-R2-2-p0`",
        })
    }
}

fn parse_block(text: &str) -> Option<BlockRef> {
    let (document, number) = text.rsplit_once('-')?;
    let block = number_of(number).filter(|block| *block >= 1)?;
    (!document.is_empty()).then(|| BlockRef::new(document, block))
}

fn parse_passage(text: &str) -> Option<PassageRef> {
    let (block, number) = text.rsplit_once("-p")?;
    Some(PassageRef::new(parse_block(block)?, number_of(number)?))
}

/// A number as [`fmt::Display`] writes it, so that every unit has one name only.
fn number_of(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let padded = digits.len() > 1 && digits.starts_with('0');
    if plain && !padded { digits.parse().ok() } else { None }
}

/// What a judgment may name: a document, a block, or a passage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// A whole document, by its id.
    Document(String),
    /// A block.
    Block(BlockRef),
    /// A passage.
    Passage(PassageRef),
}

impl Unit {
    /// What `text` may name, judged by its form alone: a document always, then a block, then a
    /// passage.
    pub fn readings(text: &str) -> impl Iterator<Item = Self> {
        let block = parse_block(text).map(Self::Block);
        let passage = parse_passage(text).map(Self::Passage);
        std::iter::once(Self::Document(text.to_owned())).chain(block).chain(passage)
    }

    /// What `text` names, given which documents exist; `None` when it names nothing there.
    ///
    /// A name with two readings is the one that exists, and the document where both do: with the
    /// documents `A` and `A-2`, `A-2` is the document. [`Unit::readings`] serves whoever knows
    /// which blocks exist as well.
    ///
    /// ```
    /// use atlas::passage::{BlockRef, Unit};
    /// let known = |id: &str| id == "WARR-R2";
    /// assert_eq!(Unit::parse("WARR-R2", known), Some(Unit::Document("WARR-R2".into())));
    /// assert_eq!(Unit::parse("WARR-R2-2", known), Some(Unit::Block(BlockRef::new("WARR-R2", 2))));
    /// assert_eq!(Unit::parse("WARR-2", known), None);
    /// ```
    pub fn parse(text: &str, known: impl Fn(&str) -> bool) -> Option<Self> {
        Self::readings(text).find(|unit| known(unit.document()))
    }

    /// The id of the document that the unit is or belongs to.
    pub fn document(&self) -> &str {
        match self {
            Self::Document(id) => id,
            Self::Block(block) => &block.document,
            Self::Passage(passage) => passage.document(),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document(id) => out.write_str(id),
            Self::Block(block) => block.fmt(out),
            Self::Passage(passage) => passage.fmt(out),
        }
    }
}

/// Whether `passage` satisfies a judgment on `unit`: it is that unit, or a part of it.
pub fn covers(unit: &Unit, passage: &PassageRef) -> bool {
    match unit {
        Unit::Document(id) => id == passage.document(),
        Unit::Block(block) => *block == passage.block,
        Unit::Passage(own) => own == passage,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_from_the_right() {
        let passage: PassageRef = "WARR-FRAME-R1-3-p12".parse().unwrap();
        assert_eq!(passage, PassageRef::new(BlockRef::new("WARR-FRAME-R1", 3), 12));
        assert_eq!("a/b-p1-2".parse(), Ok(BlockRef::new("a/b-p1", 2)));
        for bad in ["", "-1", "A", "A-0", "A-01", "A-+1", "A-p0", "A-1-p0", "A-4294967296"] {
            assert!(bad.parse::<BlockRef>().is_err(), "{bad}");
        }
        for bad in ["A-1", "A-1-p", "A-1-p00", "A-1-p-1", "A-0-p1", "-1-p1", "A-1-P1"] {
            assert!(bad.parse::<PassageRef>().is_err(), "{bad}");
        }
        let fault = "A-0".parse::<BlockRef>().unwrap_err().to_string();
        assert!(fault.starts_with("`A-0` is not the name of a block; expected"), "{fault}");
    }

    #[test]
    fn a_name_is_what_exists() {
        let unit = |text: &str, known: &[&str]| Unit::parse(text, |id| known.contains(&id));
        assert_eq!(unit("A-2", &["A"]), Some(Unit::Block(BlockRef::new("A", 2))));
        assert_eq!(unit("A-2", &["A-2"]), Some(Unit::Document("A-2".into())));
        assert_eq!(unit("A-2", &["A", "A-2"]), Some(Unit::Document("A-2".into())));
        let passage = Unit::Passage(PassageRef::new(BlockRef::new("A", 2), 0));
        assert_eq!(unit("A-2-p0", &["A"]), Some(passage.clone()));
        assert_eq!(unit("A-2-p0", &["A", "A-2-p0"]), Some(Unit::Document("A-2-p0".into())));
        assert_eq!(unit("B-2", &["A"]), None);
        assert_eq!(passage.to_string(), "A-2-p0");
    }

    #[test]
    fn a_passage_satisfies_itself_and_what_contains_it() {
        let passage: PassageRef = "A-2-p1".parse().unwrap();
        for (unit, expected) in [
            (Unit::Document("A".into()), true),
            (Unit::Document("A-2".into()), false),
            (Unit::Block(BlockRef::new("A", 2)), true),
            (Unit::Block(BlockRef::new("A", 1)), false),
            (Unit::Passage("A-2-p1".parse().unwrap()), true),
            (Unit::Passage("A-2-p0".parse().unwrap()), false),
        ] {
            assert_eq!(covers(&unit, &passage), expected, "{unit}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(id in "[A-Za-z0-9p/-]{1,12}", block in 1..u32::MAX, passage: u32) {
            let passage = PassageRef::new(BlockRef::new(id, block), passage);
            prop_assert_eq!(passage.to_string().parse(), Ok(passage.clone()));
            prop_assert_eq!(passage.block.to_string().parse(), Ok(passage.block));
        }
    }
}
