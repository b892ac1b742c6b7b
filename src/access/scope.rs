//! What one request may see.

use std::sync::Arc;

use super::Bitmap;

/// The passages of one generation that an asker may read, and those of them that a filter allows.
///
/// Invariant: what is allowed is a subset of what is readable. Statistics are those of what is
/// readable, so that a filter narrows the candidates and changes no score, and so that removing
/// what an asker may not read changes nothing that the asker can observe.
#[derive(Debug, Clone)]
pub struct Scope {
    readable: Arc<Bitmap>,
    allowed: Arc<Bitmap>,
    restricted: bool,
    of: Option<u64>,
}

impl Scope {
    /// The scope of everyone in a project whose access is open: all `passages`, under no policy.
    pub fn everyone(passages: u32) -> Self {
        let all = Arc::new(Bitmap::all(passages));
        Self { readable: Arc::clone(&all), allowed: all, restricted: false, of: None }
    }

    /// The scope that a policy resolved to.
    pub fn restricted(readable: Bitmap) -> Self {
        let readable = Arc::new(readable);
        Self { allowed: Arc::clone(&readable), readable, restricted: true, of: None }
    }

    /// The same asker's scope, with only `filter` allowed as candidates.
    #[must_use]
    pub fn narrowed(&self, filter: &Bitmap) -> Self {
        Self { allowed: Arc::new(self.allowed.and(filter)), ..self.clone() }
    }

    /// The same scope, bound to the generation with this stamp: any other refuses it.
    #[must_use]
    pub fn bound_to(self, stamp: u64) -> Self {
        Self { of: Some(stamp), ..self }
    }

    /// The stamp of the generation that it is of; `None` for a scope made by hand.
    pub const fn stamp(&self) -> Option<u64> {
        self.of
    }

    /// What statistics are taken over.
    pub fn readable(&self) -> &Bitmap {
        &self.readable
    }

    /// The same, shared: two scopes with the same set of readable rows can be told by it.
    pub fn readable_shared(&self) -> &Arc<Bitmap> {
        &self.readable
    }

    /// What may be a candidate.
    pub fn allowed(&self) -> &Bitmap {
        &self.allowed
    }

    /// Whether the scope came from a policy. Such a request takes the exact path by default, however
    /// wide its scope: a walk over a graph that holds forbidden rows can miss differently.
    pub const fn is_restricted(&self) -> bool {
        self.restricted
    }
}
