//! Who may see what.
//!
//! A document carries a [`Label`] in its front matter: a classification, and the account and region it
//! belongs to. A [`Policy`] says which [`Asker`]s a classification is open to. A build resolves each
//! label to the sets of principals that open it and stores them with the passages ([`store`]); a
//! search asks for the [`Scope`] of its asker, a bitmap over the rows of one generation. A request
//! cannot be made without one, and both legs apply it before they rank.
//!
//! A scope carries two bitmaps: what the asker may **read**, which the statistics of BM25 are taken
//! over, and what is **allowed** as a candidate, which a filter narrows further.
//!
//! Everything closes when in doubt: an unknown asker, an unknown classification and a document without
//! one (unless the policy states a default) are readable by nobody.

mod asker;
mod bitmap;
mod label;
mod policy;
mod scope;
pub mod store;

pub use asker::{Asker, Askers};
pub use bitmap::Bitmap;
pub use label::{Label, SECTIONS, labels};
pub use policy::{Policy, Principal};
pub use scope::Scope;
