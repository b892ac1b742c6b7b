//! Which model embeds: the one in the program, or an encoder in a folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::static_model::StaticModel;
use crate::error::{Error, Result};

/// The most tokens that a text may be given: attention costs the square of it.
const MOST_TOKENS: usize = 8_192;

/// How the vectors of a text's tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// That of the first token, `[CLS]`.
    Cls,
}

/// The model, `[model]` in `atlas.toml`. Without a path the model in the program embeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// The folder of another model: of a static one (`model.safetensors` and `vocab.txt`, as that in the
    /// program has them), or else of a sentence encoder (`model.onnx`, `tokenizer.json` and
    /// `config.json`). Keys below are for encoders.
    pub path: Option<PathBuf>,
    /// The shared library of ONNX Runtime that runs it. What it holds is run as a part of this
    /// program, so it is as trusted as the program.
    pub runtime: Option<PathBuf>,
    /// How the vectors of a text's tokens become one; a model is trained for one way.
    pub pooling: Pooling,
    /// Tokens of a text that are read, `[CLS]` and `[SEP]` among them, 3..=8192; what comes later is
    /// cut off. Default 256.
    pub max_tokens: usize,
    /// What is written before a question; part of the model's training, empty for most.
    pub query_prefix: String,
    /// What is written before a passage.
    pub passage_prefix: String,
    /// Texts that are encoded side by side, each in a copy of the model, 0..=256. Default 0: one for
    /// each thread of the program.
    pub threads: usize,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            path: None,
            runtime: None,
            pooling: Pooling::Mean,
            max_tokens: 256,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            threads: 0,
        }
    }
}

impl ModelSettings {
    /// Whether a sentence encoder is named, and not a static model.
    pub fn is_encoder(&self) -> bool {
        self.path.as_ref().is_some_and(|path| !path.join(StaticModel::FILE).is_file())
    }

    /// Refuses values out of their ranges.
    ///
    /// # Errors
    /// [`Error::Invalid`], which names the value.
    pub fn check(&self) -> Result<()> {
        let count = |name: &str, value: usize, least: usize, most: usize| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Error::invalid(name, value, format!("a whole number from {least} to {most}")))
        };
        count("model.max_tokens", self.max_tokens, 3, MOST_TOKENS)?;
        count("model.threads", self.threads, 0, 256)?;
        for (name, prefix) in [
            ("model.query_prefix", &self.query_prefix),
            ("model.passage_prefix", &self.passage_prefix),
        ] {
            // It is cut into tokens apart from the text, so no word may run across the two.
            if prefix.ends_with(char::is_alphanumeric) {
                let expected = "a text that ends with a space or a colon, such as \"query: \"";
                return Err(Error::invalid(name, format!("`{prefix}`"), expected));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        let fault = |change: fn(&mut ModelSettings)| {
            let mut settings = ModelSettings::default();
            settings.check().unwrap();
            change(&mut settings);
            settings.check().unwrap_err().to_string()
        };
        let said = fault(|s| s.max_tokens = 2);
        assert_eq!(said, "model.max_tokens is 2; expected a whole number from 3 to 8192");
        assert!(fault(|s| s.threads = 257).starts_with("model.threads is 257"));
        let said = fault(|s| s.query_prefix = "query".to_owned());
        assert!(said.starts_with("model.query_prefix is `query`; expected a text that"), "{said}");
        assert!(fault(|s| s.passage_prefix = "p: q".to_owned()).contains("passage_prefix"));
    }
}
