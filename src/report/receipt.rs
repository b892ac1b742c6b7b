//! What a number depends on. Two receipts that are equal have equal numbers, times apart.

use serde::Serialize;

use crate::eval::bootstrap::SEED;
use crate::format::Manifest;
use crate::search::{Mode, Settings};

/// Version of the definitions of the measures: raised when one changes its value.
const DEFINITIONS: u32 = 2;

/// Everything that decides the numbers of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// Fingerprint of the corpus.
    pub corpus: String,
    /// Digest of the index.
    pub index: String,
    /// Hash of each question set, by name.
    pub sets: Vec<(String, String)>,
    /// The legs used.
    pub mode: Mode,
    /// The pipeline's settings.
    pub settings: Settings,
    /// Who may read what and who asks by default; `open` without a policy.
    pub access: String,
    /// The embedder's id.
    pub model: String,
    /// Version of the program.
    pub code: String,
    /// Version of the measures' definitions.
    pub definitions: u32,
    /// The seed of every interval and test.
    pub seed: u64,
    /// What answered and what judged, each with all that decides it; `None` where retrieval alone was
    /// measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Answers>,
    /// BLAKE3 over all of the above; equal receipts, equal numbers.
    pub id: String,
}

/// What decides the answers of a check, and what is said of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answers {
    /// The answerer's id; empty when evidence alone was judged.
    pub answerer: String,
    /// The judge's id.
    pub judge: String,
}

impl Receipt {
    /// The receipt of measuring `sets` on the index of `manifest`.
    pub fn new(
        manifest: &Manifest,
        sets: Vec<(String, String)>,
        mode: Mode,
        settings: &Settings,
        access: String,
    ) -> Self {
        let mut receipt = Self {
            corpus: manifest.fingerprint.clone(),
            index: manifest.digest.clone(),
            sets,
            mode,
            settings: settings.clone(),
            access,
            model: manifest.embedder.clone(),
            code: env!("CARGO_PKG_VERSION").to_owned(),
            definitions: DEFINITIONS,
            seed: SEED,
            answers: None,
            id: String::new(),
        };
        receipt.id = receipt.hash();
        receipt
    }

    /// The same for a check of answers.
    #[must_use]
    pub fn with_answers(self, answerer: &str, judge: &str) -> Self {
        let answers = Answers { answerer: answerer.to_owned(), judge: judge.to_owned() };
        let mut receipt = Self { answers: Some(answers), id: String::new(), ..self };
        receipt.id = receipt.hash();
        receipt
    }

    fn hash(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// The settings that a reader asks for first, in a line.
    pub fn settings_line(&self) -> String {
        let s = &self.settings;
        let mode = format!("{:?}", self.mode).to_lowercase();
        format!(
            "{mode}, k {}, window {} tokens, min-score {}, depth {}",
            s.k, s.window_tokens, s.min_score, s.depth
        )
    }
}
