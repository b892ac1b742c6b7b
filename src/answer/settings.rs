//! What shapes an answer.

use serde::{Deserialize, Serialize};

use super::fold;
use crate::error::{Error, Result};

/// Settings of answers, `[answer]` in `atlas.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The sentence of an answer that declines, whole and in these words.
    pub abstention: String,
    /// What may stand after the sentence in an answer that declines; empty allows nothing.
    pub abstention_tail: String,
    /// The score below which the built-in answerer declines, 0.0..=1.0. Default 0.45; the curve behind it
    /// is in [`extract`](super::extract).
    pub min_score: f64,
    /// The most sentences or rows that it quotes, 1..=20.
    pub max_quotes: usize,
    /// The endpoint that answers or judges when it is asked for.
    pub endpoint: EndpointSettings,
}

/// An OpenAI-compatible endpoint, `[answer.endpoint]` in `atlas.toml`. Used only when a command asks for
/// it, by a program built with the feature `answer-endpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EndpointSettings {
    /// Where it listens, up to `/v1`.
    pub url: String,
    /// The model that it is asked for.
    pub model: String,
    /// Milliseconds from a request to the last byte of its answer, 1..=3,600,000.
    pub timeout_ms: u64,
    /// How often a request is made again after 429 or a fault of the server, 0..=10.
    pub retries: u32,
    /// The longest wait before a request is made again, whatever the server asks for, in milliseconds.
    pub max_wait_ms: u64,
    /// The most tokens of an answer, 1..=100,000.
    pub max_tokens: u32,
    /// Whether it may be on another machine. What is sent there is the text of the evidence.
    pub allow_remote: bool,
}

impl Default for EndpointSettings {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:8080/v1".to_owned(),
            model: "local".to_owned(),
            timeout_ms: 60_000,
            retries: 2,
            max_wait_ms: 10_000,
            max_tokens: 512,
            allow_remote: false,
        }
    }
}

impl EndpointSettings {
    /// Refuses values out of their ranges, and a machine that is not this one unless that is allowed.
    pub fn check(&self) -> Result<()> {
        let whole = |name: &str, value: u64, range: std::ops::RangeInclusive<u64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            Err(Error::invalid(format!("answer.endpoint.{name}"), value, expected))
        };
        whole("timeout_ms", self.timeout_ms, 1..=3_600_000)?;
        whole("retries", u64::from(self.retries), 0..=10)?;
        whole("max_wait_ms", self.max_wait_ms, 0..=600_000)?;
        whole("max_tokens", u64::from(self.max_tokens), 1..=100_000)?;
        let url = "answer.endpoint.url";
        let Some(host) = host(&self.url) else {
            let expected = "http://HOST:PORT/v1; there is no encryption, so no https";
            return Err(Error::invalid(url, format!("`{}`", self.url), expected));
        };
        let here = host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback());
        if here || self.allow_remote {
            return Ok(());
        }
        let expected = "an address of this machine, since it is sent the text of the evidence; \
                        answer.endpoint.allow_remote = true allows another";
        Err(Error::invalid(url, format!("on `{host}`"), expected))
    }
}

/// The host of a plain URL.
fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://")?;
    let authority = rest.split(['/', '?', '#']).next().filter(|own| !own.is_empty())?;
    // Whoever writes `user@host` means something that a reader may not see.
    if authority.contains('@') {
        return None;
    }
    let end = if authority.starts_with('[') {
        authority.find(']')? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at(end);
    let numbered =
        port.is_empty() || port.strip_prefix(':').is_some_and(|own| own.parse::<u16>().is_ok());
    (!host.is_empty() && numbered).then_some(host)
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            abstention: "Nothing in the documents open to you answers this question.".to_owned(),
            abstention_tail: String::new(),
            min_score: 0.45,
            max_quotes: 2,
            endpoint: EndpointSettings::default(),
        }
    }
}

impl Settings {
    /// Refuses values out of their ranges.
    pub fn check(&self) -> Result<()> {
        if fold(&self.abstention).is_empty() {
            let expected = "a sentence of at least one word";
            return Err(Error::invalid("answer.abstention", "without words", expected));
        }
        if !(0.0..=1.0).contains(&self.min_score) {
            return Err(Error::invalid("answer.min_score", self.min_score, "a number from 0 to 1"));
        }
        if !(1..=20).contains(&self.max_quotes) {
            let expected = "a whole number from 1 to 20";
            return Err(Error::invalid("answer.max_quotes", self.max_quotes, expected));
        }
        self.endpoint.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(change: impl FnOnce(&mut EndpointSettings)) -> String {
        let mut settings = EndpointSettings::default();
        change(&mut settings);
        settings.check().err().map_or_else(String::new, |fault| fault.to_string())
    }

    #[test]
    fn only_this_machine_unless_another_is_allowed() {
        for url in [
            "http://127.0.0.1:1/v1",
            "http://localhost",
            "http://[::1]:8080/v1",
            "http://127.9.9.9",
        ] {
            assert_eq!(fault(|own| own.url = url.into()), "", "{url}");
        }
        for url in
            ["http://10.0.0.1/v1", "http://localhost.example.com", "http://[2001:db8::1]:80/v1"]
        {
            let said = fault(|own| own.url = url.into());
            assert!(said.contains("expected an address of this machine"), "{url}: {said}");
            let allowed = fault(|own| {
                own.url = url.into();
                own.allow_remote = true;
            });
            assert_eq!(allowed, "", "{url}");
        }
        for url in [
            "https://localhost",
            "localhost:80",
            "http://",
            "http://a@localhost",
            "http://localhost:x",
        ] {
            let said = fault(|own| own.url = url.into());
            assert!(said.contains("expected http://HOST:PORT/v1"), "{url}: {said}");
        }
        assert!(fault(|own| own.timeout_ms = 0).starts_with("answer.endpoint.timeout_ms is 0"));
        assert!(fault(|own| own.retries = 11).starts_with("answer.endpoint.retries is 11"));
    }
}
