//! What `--endpoint` asks for, in a program that has it and in one that has not.

use atlas::answer::{Answerer, Settings};
use atlas::error::Result;
use atlas::eval::judge::Judge;

/// The answerer behind the endpoint of `settings`.
#[cfg(feature = "answer-endpoint")]
pub fn answerer(settings: &Settings) -> Result<Box<dyn Answerer>> {
    Ok(Box::new(atlas::answer::endpoint::Endpoint::new(settings)?))
}

/// The judge behind the endpoint of `settings`.
#[cfg(feature = "answer-endpoint")]
pub fn judge(settings: &Settings) -> Result<Box<dyn Judge>> {
    Ok(Box::new(atlas::eval::endpoint_judge::EndpointJudge::new(&settings.endpoint)?))
}

#[cfg(not(feature = "answer-endpoint"))]
fn absent<T>() -> Result<T> {
    let expected = "a program that was built with `cargo build --features answer-endpoint`";
    Err(atlas::error::Error::invalid("--endpoint", "not in this program", expected))
}

/// Says that this program has no endpoint.
#[cfg(not(feature = "answer-endpoint"))]
pub fn answerer(_: &Settings) -> Result<Box<dyn Answerer>> {
    absent()
}

/// Says that this program has no endpoint.
#[cfg(not(feature = "answer-endpoint"))]
pub fn judge(_: &Settings) -> Result<Box<dyn Judge>> {
    absent()
}
