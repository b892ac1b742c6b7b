//! Whether two passages say the same.

use crate::error::Result;
use crate::index::Index;
use crate::text::Stems;

/// Terms of a shingle.
const SHINGLE: usize = 3;

/// Words that turn a sentence round; like numbers they must agree. English only.
const NEGATORS: [&str; 8] = ["no", "not", "never", "none", "nor", "without", "except", "unless"];

/// A passage as it is compared with others: the runs of three terms in its section titles and text, after
/// the analyzer, so that case, white space, punctuation and endings do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Print {
    /// Hashes of the runs, ascending, each once.
    shingles: Vec<u64>,
    /// Hash of the terms that must agree, in their order: those with a digit, and negations.
    marks: u64,
}

impl Print {
    /// The print of the passage at `row`.
    pub(super) fn of(index: &Index, row: u32) -> Result<Self> {
        let passages = index.passages();
        let passage = passages.passage(row)?;
        let mut text = passages.sections(&passages.block(passage.block)?)?.join("\n");
        text.push('\n');
        text.push_str(passages.passage_text(&passage)?);
        let (terms, _) = index.analyzer().document(&text, &mut Stems::default());
        Ok(Self::of_terms(&terms.split('\n').collect::<Vec<_>>()))
    }

    fn of_terms(terms: &[&str]) -> Self {
        let hash = |terms: &[&str]| crate::format::checksum(terms.join("\n").as_bytes());
        let mut shingles: Vec<u64> = if terms.len() < SHINGLE {
            vec![hash(terms)]
        } else {
            terms.windows(SHINGLE).map(hash).collect()
        };
        shingles.sort_unstable();
        shingles.dedup();
        let must_agree = |term: &&str| {
            term.chars().any(char::is_numeric) || NEGATORS.contains(term) || term.ends_with("n't")
        };
        let marks: Vec<&str> = terms.iter().copied().filter(must_agree).collect();
        Self { shingles, marks: hash(&marks) }
    }

    /// The share of the runs of both that each of them has (Jaccard), 0.0..=1.0; 0 when their numbers,
    /// codes or negations are not the same in the same order.
    pub(super) fn likeness(&self, other: &Self) -> f64 {
        if self.marks != other.marks {
            return 0.0;
        }
        let (mut common, mut left, mut right) = (0, &self.shingles[..], &other.shingles[..]);
        while let (Some(a), Some(b)) = (left.first(), right.first()) {
            common += usize::from(a == b);
            if a <= b {
                left = &left[1..];
            }
            if b <= a {
                right = &right[1..];
            }
        }
        let all = self.shingles.len() + other.shingles.len() - common;
        common as f64 / all.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(a: &str, b: &str) -> f64 {
        let analyzer = crate::text::Analyzer::new(&crate::text::Settings::default()).unwrap();
        let print = |text| {
            let (terms, _) = analyzer.document(text, &mut Stems::default());
            Print::of_terms(&terms.split('\n').collect::<Vec<_>>())
        };
        let (one, other) = (print(a).likeness(&print(b)), print(b).likeness(&print(a)));
        assert_eq!(one, other, "it goes both ways");
        one
    }

    #[test]
    fn form_does_not_count_and_numbers_codes_and_negations_do() {
        let text = "The battery of a C-3 is covered for 24 months, the frame is not covered.";
        assert_eq!(likeness(text, text), 1.0);
        let form = "THE BATTERY of a C-3\nis covered for  24 months; the frame is not covered";
        assert_eq!(likeness(text, form), 1.0);
        for other in
            [text.replace("24", "36"), text.replace("C-3", "K-1"), text.replace("not ", "")]
        {
            assert_eq!(likeness(text, &other), 0.0, "{other}");
        }
        let word = likeness(text, &text.replace("frame", "motor"));
        assert!(word > 0.3 && word < 0.9, "{word}");
        assert_eq!(likeness(text, "A brochure."), 0.0);
    }

    #[test]
    fn short_and_empty_texts_are_compared_whole() {
        assert_eq!(likeness("Seals", "seal"), 1.0);
        assert_eq!(likeness("Seals", "Hoses"), 0.0);
        assert_eq!(likeness("", "!?"), 1.0);
        assert_eq!(likeness("", "Hoses"), 0.0);
    }
}
