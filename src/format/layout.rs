//! Where the rows of a generation lie: the live rows of its layers, in one order.

/// Rows that follow each other both in the generation and in one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Number of the first row in the generation.
    pub first: u32,
    /// The layer that holds the rows.
    pub layer: usize,
    /// Number of the first row in its layer.
    pub start: u32,
    /// How many rows there are.
    pub len: u32,
}

/// Numbers the live rows of all layers from 0, as if they lay in one.
///
/// A generation is a base and what has changed since, layer upon layer. Whoever searches it sees one
/// run of rows in the order of their references, the same numbers that a build from nothing would
/// give; rows that were dropped or replaced have none. Invariant: within a layer, the order of the
/// layer is the order of the generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    runs: Vec<Run>,
    /// The runs of each layer, by their places in `runs`.
    by_layer: Vec<Vec<u32>>,
    /// Rows that each layer stores, dropped ones among them.
    stored: Vec<u32>,
    len: u32,
}

impl Layout {
    /// `rows` rows in one layer, all alive.
    pub fn whole(rows: u32) -> Self {
        Self::new(vec![rows], [(0, 0, rows)])
    }

    /// The rows of `runs` (layer, first row in the layer, how many) in their order, of layers that
    /// store as many rows as `stored` says.
    pub fn new(stored: Vec<u32>, runs: impl IntoIterator<Item = (usize, u32, u32)>) -> Self {
        let mut all: Vec<Run> = Vec::new();
        let mut next = 0;
        for (layer, start, len) in runs {
            if len == 0 {
                continue;
            }
            match all.last_mut() {
                Some(last) if last.layer == layer && last.start + last.len == start => {
                    last.len += len;
                }
                _ => all.push(Run { first: next, layer, start, len }),
            }
            next += len;
        }
        let mut by_layer = vec![Vec::new(); stored.len()];
        for (at, run) in all.iter().enumerate() {
            by_layer[run.layer].push(at as u32);
        }
        Self { runs: all, by_layer, stored, len: next }
    }

    /// How many rows the generation has.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many layers there are.
    pub const fn layers(&self) -> usize {
        self.stored.len()
    }

    /// How many rows `layer` stores, dropped ones among them.
    pub fn stored(&self, layer: usize) -> u32 {
        self.stored[layer]
    }

    /// Whether there is one layer with nothing dropped, so that both numbers of a row are the same.
    pub fn is_whole(&self) -> bool {
        matches!(self.stored[..], [only] if only == self.len)
    }

    /// All runs in their order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The runs of one layer in their order.
    pub fn runs_of(&self, layer: usize) -> impl Iterator<Item = &Run> {
        self.by_layer[layer].iter().map(|&at| &self.runs[at as usize])
    }

    /// The layer that holds `row`, and its number there; `None` past the last row.
    #[inline]
    pub fn locate(&self, row: u32) -> Option<(usize, u32)> {
        if row >= self.len {
            return None;
        }
        let at = self.runs.partition_point(|run| run.first <= row) - 1;
        let run = &self.runs[at];
        Some((run.layer, run.start + (row - run.first)))
    }

    /// The number in the generation of row `own` of `layer`; `None` for one that was dropped.
    #[inline]
    pub fn number(&self, layer: usize, own: u32) -> Option<u32> {
        let runs = self.by_layer.get(layer)?;
        let at = runs.partition_point(|&at| self.runs[at as usize].start <= own);
        let run = &self.runs[*runs.get(at.checked_sub(1)?)? as usize];
        (own - run.start < run.len).then(|| run.first + (own - run.start))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_whole_layout_changes_no_number() {
        let layout = Layout::whole(5);
        assert!(layout.is_whole());
        assert_eq!((layout.locate(4), layout.locate(5)), (Some((0, 4)), None));
        assert_eq!(
            (layout.number(0, 4), layout.number(0, 5), layout.number(1, 0)),
            (Some(4), None, None)
        );
        assert!(Layout::whole(0).is_empty() && Layout::whole(0).locate(0).is_none());
    }

    proptest! {
        /// Numbering and locating undo each other, for any drops and any order between layers.
        #[test]
        fn numbers_and_places_undo_each_other(
            marks in prop::collection::vec((0_usize..3, prop::bool::ANY), 0..200),
        ) {
            let mut stored = vec![0; 3];
            let mut runs = Vec::new();
            let mut dropped = Vec::new();
            for (layer, alive) in marks {
                if alive {
                    runs.push((layer, stored[layer], 1));
                } else {
                    dropped.push((layer, stored[layer]));
                }
                stored[layer] += 1;
            }
            let layout = Layout::new(stored, runs.clone());
            prop_assert_eq!(layout.len() as usize, runs.len());
            for (row, (layer, own, _)) in (0..).zip(runs) {
                prop_assert_eq!(layout.locate(row), Some((layer, own)));
                prop_assert_eq!(layout.number(layer, own), Some(row));
            }
            for (layer, own) in dropped {
                prop_assert_eq!(layout.number(layer, own), None);
            }
            prop_assert_eq!(layout.locate(layout.len()), None);
        }
    }
}
