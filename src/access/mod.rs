//! Who may see what.
//!
//! A [`Scope`] says which passages an asker may read, as a bitmap over the rows of one generation.
//! A request cannot be made without one, and both legs apply it before they rank. It carries two
//! bitmaps: what the asker may **read**, which the statistics of BM25 are taken over, and what is
//! **allowed** as a candidate, which a filter narrows further.

mod bitmap;
mod scope;

pub use bitmap::Bitmap;
pub use scope::Scope;
