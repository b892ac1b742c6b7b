//! The door of every embedding model: texts in, unit vectors out.

use ndarray::Array2;

use crate::error::{Error, Result};

/// How far from 1 the length of a vector may be; rounding of `f32` stays well within it.
pub const LENGTH_TOLERANCE: f64 = 1e-3;

/// What a text is to the search; models trained with prefixes treat the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question, to be compared with passages.
    Query,
    /// A passage of a document, to be found.
    Passage,
}

/// What an embedder makes of some texts: row `i` and share `i` belong to text `i`.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// `[texts × dim]`, row-major. Each row has length 1, so a dot product is a cosine; or it is
    /// exactly zero, when the model found nothing in the text that it knows.
    pub rows: Array2<f32>,
    /// `[texts]`, each in `0.0..=1.0`: the share of the text that the model could read. Low means
    /// that the row says little about the text (another language, codes), whatever its length.
    /// An embedder that cannot tell says 1.
    pub readable: Vec<f32>,
}

/// A model that embeds texts.
///
/// The same text gives the same bits whatever stands beside it in the call and however many
/// threads there are. A text is read whole: cutting it to the model's taste is the caller's part.
pub trait Embedder: Send + Sync {
    /// Name and digest of the model. It goes into the manifest of an index: two embedders with the
    /// same id give the same vectors.
    fn id(&self) -> &str;

    /// Length of a vector, at least 1.
    fn dim(&self) -> usize;

    /// Texts that a long build gives at a time, so that it can say how far it is; at least 1. All at
    /// once unless the model is slow. Nothing but that depends on it.
    fn texts_at_a_time(&self) -> usize {
        usize::MAX
    }

    /// Whether it makes vectors of texts at all; one that does not stands for vectors from outside.
    fn reads_text(&self) -> bool {
        true
    }

    /// Embeds `texts`, in their order; no texts give no rows.
    fn embed(&self, role: Role, texts: &[&str]) -> Result<Embeddings>;
}

impl<E: Embedder + ?Sized> Embedder for &E {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn dim(&self) -> usize {
        (**self).dim()
    }

    fn texts_at_a_time(&self) -> usize {
        (**self).texts_at_a_time()
    }

    fn reads_text(&self) -> bool {
        (**self).reads_text()
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Embeddings> {
        (**self).embed(role, texts)
    }
}

impl Embeddings {
    /// These embeddings, if they are what `by` owes for `texts` texts; the first fault otherwise.
    ///
    /// Looked at are the shape `[texts × dim]`, the number of shares and their range, and that each
    /// row is finite and of length 1 (within [`LENGTH_TOLERANCE`]) or exactly zero.
    pub fn checked(self, by: &dyn Embedder, texts: usize) -> Result<Self> {
        let fault = |what: &str, found: String, expected: String| {
            Err(Error::invalid(format!("{what} from embedder {}", by.id()), found, expected))
        };
        let shape = |rows: usize, columns: usize| format!("{rows} × {columns} numbers");
        let (rows, columns) = self.rows.dim();
        if (rows, columns) != (texts, by.dim()) {
            return fault("the answer", shape(rows, columns), shape(texts, by.dim()));
        }
        if self.readable.len() != texts {
            return fault(
                "the list of readable shares",
                format!("{} long", self.readable.len()),
                format!("one share for each of {texts} texts"),
            );
        }
        for (i, (row, share)) in self.rows.rows().into_iter().zip(&self.readable).enumerate() {
            if !(0.0..=1.0).contains(share) {
                return fault(
                    &format!("the readable share of text {i}"),
                    share.to_string(),
                    "a number from 0 to 1".to_owned(),
                );
            }
            // NaN and infinity in any component end up in the sum and fail the comparison.
            let length = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            let unit = (length - 1.0).abs() <= LENGTH_TOLERANCE;
            if !unit && row.iter().any(|x| *x != 0.0) {
                return fault(
                    &format!("the length of vector {i}"),
                    length.to_string(),
                    "1, or a vector of zeros".to_owned(),
                );
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    struct Two;

    impl Embedder for Two {
        fn id(&self) -> &str {
            "two@0"
        }
        fn dim(&self) -> usize {
            2
        }
        fn embed(&self, _: Role, _: &[&str]) -> Result<Embeddings> {
            Ok(good())
        }
    }

    fn good() -> Embeddings {
        Embeddings { rows: array![[0.6, 0.8], [0.0, 0.0]], readable: vec![1.0, 0.0] }
    }

    #[test]
    fn unit_and_zero_rows_pass() {
        assert_eq!(Two.embed(Role::Query, &["a", ""]).unwrap().checked(&Two, 2).unwrap(), good());
    }

    #[test]
    fn each_fault_is_named() {
        let fault = |change: fn(&mut Embeddings), texts| {
            let mut answer = good();
            change(&mut answer);
            answer.checked(&Two, texts).unwrap_err().to_string()
        };
        assert_eq!(
            fault(|_| (), 3),
            "the answer from embedder two@0 is 2 × 2 numbers; expected 3 × 2 numbers"
        );
        assert_eq!(
            fault(|a| a.rows[[0, 1]] = f32::NAN, 2),
            "the length of vector 0 from embedder two@0 is NaN; expected 1, or a vector of zeros"
        );
        assert!(fault(|a| a.rows[[1, 0]] = 0.9, 2).starts_with("the length of vector 1"));
        assert!(fault(|a| a.rows[[1, 0]] = 1e-30, 2).starts_with("the length of vector 1"));
        assert!(fault(|a| a.rows = array![[1.0], [0.0]], 2).contains("2 × 1 numbers"));
        assert!(fault(|a| a.readable.truncate(1), 2).contains("is 1 long"));
        assert_eq!(
            fault(|a| a.readable[1] = 1.5, 2),
            "the readable share of text 1 from embedder two@0 is 1.5; expected a number from 0 to 1"
        );
        assert!(fault(|a| a.readable[1] = f32::NAN, 2).contains("is NaN"));
    }
}
