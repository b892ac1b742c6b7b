//! The neighbour graph (HNSW), flat enough to be served from a mapped file.
//!
//! Layer 0 holds every row; each layer above holds about one in `m` of the one below, for the first
//! long steps towards a query. A row has room for `2 × m` links on layer 0 and `m` on each layer
//! above; a list is padded with [`NONE`] at its end. With `m` 16 the links of a row on layer 0 are two
//! cache lines, found by one multiplication: no header, no pointer, nothing parsed on opening.
//!
//! | section | shape (`u32`, little-endian in a file) | meaning |
//! |---|---|---|
//! | `head` | `[4]` | rows, `m`, entry row ([`NONE`] when there are no rows), 0 |
//! | `links0` | `[rows × 2m]` | neighbours on layer 0 |
//! | `upper_starts` | `[rows + 1]` | lists of row `r` on layers 1, 2, … are `upper_starts[r] .. upper_starts[r + 1]` of `upper_links`, counted in lists; so their number is the row's level |
//! | `upper_links` | `[lists × m]` | neighbours on the layers above |
//!
//! [`GraphView::from_sections`] checks lengths only. A view over damaged sections may find poor
//! neighbours, but cannot panic or loop: every access is bounded, and the walk visits a row once.
//! [`GraphView::check`] reads all links and says what is wrong.

use crate::format::Pace;
use crate::vectors::kernels::prefer_large_pages;
use crate::vectors::rows::ROWS_MAX;

/// No link: pads a list, and is the entry of a graph without rows.
pub const NONE: u32 = u32::MAX;

/// Links of a row on an upper layer, at most; twice that on layer 0.
pub const M_MAX: usize = 128;

/// Layers above layer 0, at most. With `m` 16 a row on the sixteenth is one in 10¹⁸.
pub const LEVEL_MAX: usize = 15;

/// Following and checking the links of a row takes about as long as reading so many bytes.
const ROW_EFFORT_BYTES: usize = 1024;

/// A graph in memory, as builders make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub(super) m: usize,
    pub(super) entry: u32,
    pub(super) links0: Vec<u32>,
    pub(super) upper_starts: Vec<u32>,
    pub(super) upper_links: Vec<u32>,
}

/// The sections of a graph, as they stand in its files; see the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sections<'a> {
    /// Rows, `m`, entry row, 0.
    pub head: [u32; 4],
    /// `[rows × 2m]`.
    pub links0: &'a [u32],
    /// `[rows + 1]`.
    pub upper_starts: &'a [u32],
    /// `[lists × m]`.
    pub upper_links: &'a [u32],
}

/// A graph over borrowed sections; what a search walks.
#[derive(Debug, Clone, Copy)]
pub struct GraphView<'a> {
    rows: usize,
    m: usize,
    entry: u32,
    links0: &'a [u32],
    upper_starts: &'a [u32],
    upper_links: &'a [u32],
}

/// What [`GraphView::check`] counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphReport {
    /// Rows in the graph.
    pub rows: usize,
    /// Rows that a walk on layer 0 from the entry can come to; all of them, in a graph of ours.
    pub reachable: usize,
    /// Links on layer 0.
    pub links: usize,
    /// The highest layer, 0 when there is no other.
    pub top_level: usize,
}

impl Graph {
    /// A graph without links; row `r` stands on layers 0 to `levels[r]`.
    pub(super) fn unlinked(m: usize, levels: &[u8]) -> Self {
        let mut upper_starts = Vec::with_capacity(levels.len() + 1);
        let mut lists = 0;
        upper_starts.push(lists);
        for &level in levels {
            lists += u32::from(level);
            upper_starts.push(lists);
        }
        let mut links0 = vec![0; levels.len() * 2 * m];
        prefer_large_pages(&mut links0);
        links0.fill(NONE);
        Self { m, entry: NONE, links0, upper_links: vec![NONE; lists as usize * m], upper_starts }
    }

    /// The graph as a search walks it.
    pub fn view(&self) -> GraphView<'_> {
        GraphView {
            rows: self.upper_starts.len() - 1,
            m: self.m,
            entry: self.entry,
            links0: &self.links0,
            upper_starts: &self.upper_starts,
            upper_links: &self.upper_links,
        }
    }

    /// The graph as it is written to files.
    pub fn to_sections(&self) -> Sections<'_> {
        let rows = (self.upper_starts.len() - 1) as u32;
        Sections {
            head: [rows, self.m as u32, self.entry, 0],
            links0: &self.links0,
            upper_starts: &self.upper_starts,
            upper_links: &self.upper_links,
        }
    }

    /// Where the list of `row` on `level` stands in the links of that layer.
    pub(super) fn place(&self, row: u32, level: usize) -> std::ops::Range<usize> {
        let (list, stride) = match level {
            0 => (row as usize, 2 * self.m),
            _ => (self.upper_starts[row as usize] as usize + level - 1, self.m),
        };
        list * stride..(list + 1) * stride
    }

    /// The whole list of `row` on `level`, padding included, to be written.
    pub(super) fn list_mut(&mut self, row: u32, level: usize) -> &mut [u32] {
        let place = self.place(row, level);
        if level == 0 { &mut self.links0[place] } else { &mut self.upper_links[place] }
    }
}

impl<'a> GraphView<'a> {
    /// A graph over `sections`, whose lengths are checked; [`GraphView::check`] reads the rest.
    ///
    /// # Errors
    /// What is wrong, in words that fit [`Error::damaged`](crate::error::Error::damaged).
    pub fn from_sections(sections: Sections<'a>) -> Result<Self, String> {
        let [rows, m, entry, _] = sections.head;
        let (rows, m) = (rows as usize, m as usize);
        if rows >= ROWS_MAX || !(2..=M_MAX).contains(&m) {
            return Err(format!(
                "the graph's head gives {rows} rows and {m} links; expected under {ROWS_MAX} and 2 to {M_MAX}"
            ));
        }
        let view = Self {
            rows,
            m,
            entry,
            links0: sections.links0,
            upper_starts: sections.upper_starts,
            upper_links: sections.upper_links,
        };
        for (what, found, expected) in [
            ("layer-0 links", view.links0.len(), rows * 2 * m),
            ("upper starts", view.upper_starts.len(), rows + 1),
            ("upper links", view.upper_links.len(), view.lists() * m),
        ] {
            if found != expected {
                return Err(format!("the graph has {found} {what}; expected {expected}"));
            }
        }
        if rows == 0 && entry != NONE || rows > 0 && entry as usize >= rows {
            return Err(format!("the graph's entry is row {entry}, of {rows} rows"));
        }
        Ok(view)
    }

    fn lists(&self) -> usize {
        self.upper_starts.last().map_or(0, |&lists| lists as usize)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Links of a row on an upper layer, at most; twice that on layer 0.
    pub fn m(&self) -> usize {
        self.m
    }

    /// The row a walk starts from; `None` when there are no rows.
    pub fn entry(&self) -> Option<u32> {
        ((self.entry as usize) < self.rows).then_some(self.entry)
    }

    /// The highest layer `row` stands on; 0 for a row that does not exist.
    #[inline]
    pub fn level(&self, row: u32) -> usize {
        match self.upper_starts.get(row as usize..) {
            Some([start, end, ..]) => (end.saturating_sub(*start) as usize).min(LEVEL_MAX),
            _ => 0,
        }
    }

    /// The links of `row` on `level`, padding included; empty when the row is not on that layer.
    #[inline]
    pub fn links(&self, row: u32, level: usize) -> &'a [u32] {
        let (list, stride, links) = match level {
            0 => (row as usize, 2 * self.m, self.links0),
            _ if level > self.level(row) => return &[],
            _ => {
                let list = self.upper_starts[row as usize] as usize + level - 1;
                (list, self.m, self.upper_links)
            }
        };
        let start = list.saturating_mul(stride);
        links.get(start..start.saturating_add(stride)).unwrap_or(&[])
    }

    /// The neighbours of `row` on `level`: its links up to the padding.
    #[inline]
    pub fn neighbours(&self, row: u32, level: usize) -> &'a [u32] {
        let links = self.links(row, level);
        let end = links.iter().position(|&link| link == NONE).unwrap_or(links.len());
        &links[..end]
    }

    /// Reads every link: rows exist, a layer links rows of that layer only, padding is at the end.
    ///
    /// Takes time in proportion to the links. A graph that passes with
    /// `reachable == rows` is as a builder left it, or was changed into another valid graph.
    ///
    /// # Errors
    /// The first fault found, in words that fit [`Error::damaged`](crate::error::Error::damaged).
    pub fn check(&self, pace: &Pace) -> Result<GraphReport, String> {
        let mut report = GraphReport { rows: self.rows, reachable: 0, links: 0, top_level: 0 };
        if self.upper_starts.first() != Some(&0) {
            return Err("the graph's upper starts do not begin at 0".to_owned());
        }
        for (row, pair) in self.upper_starts.windows(2).enumerate() {
            if pair[1] < pair[0] || (pair[1] - pair[0]) as usize > LEVEL_MAX {
                return Err(format!(
                    "row {row} of the graph has upper lists {} to {}; expected 0 to {LEVEL_MAX} lists",
                    pair[0], pair[1]
                ));
            }
            report.top_level = report.top_level.max((pair[1] - pair[0]) as usize);
        }
        for row in 0..self.rows as u32 {
            pace.spend(ROW_EFFORT_BYTES);
            for level in 0..=self.level(row) {
                let links = self.check_list(row, level)?;
                report.links += if level == 0 { links } else { 0 };
            }
        }
        if let Some(entry) = self.entry() {
            if self.level(entry) != report.top_level {
                return Err(format!(
                    "the graph's entry, row {entry}, is on layer {}; expected the highest, {}",
                    self.level(entry),
                    report.top_level
                ));
            }
            report.reachable = self.reachable(pace).iter().filter(|&&reached| reached).count();
        }
        Ok(report)
    }

    fn check_list(&self, row: u32, level: usize) -> Result<usize, String> {
        let fault =
            |problem: String| Err(format!("row {row} of the graph, layer {level}: {problem}"));
        let links = self.links(row, level);
        let neighbours = self.neighbours(row, level);
        if links[neighbours.len()..].iter().any(|&link| link != NONE) {
            return fault("a link after the padding".to_owned());
        }
        for &link in neighbours {
            if link as usize >= self.rows || link == row {
                return fault(format!("a link to row {link}, of {} rows", self.rows));
            }
            if self.level(link) < level {
                return fault(format!(
                    "a link to row {link}, which is on layer {}",
                    self.level(link)
                ));
            }
        }
        Ok(neighbours.len())
    }

    /// For each row, whether a walk on layer 0 from the entry can come to it.
    pub(super) fn reachable(&self, pace: &Pace) -> Vec<bool> {
        let mut reached = vec![false; self.rows];
        if let Some(entry) = self.entry() {
            reached[entry as usize] = true;
            self.spread(entry, &mut reached, pace);
        }
        reached
    }

    /// Marks every row that layer-0 links lead to from `from`, which is marked already.
    pub(super) fn spread(&self, from: u32, reached: &mut [bool], pace: &Pace) {
        let mut open = vec![from];
        while let Some(row) = open.pop() {
            pace.spend(ROW_EFFORT_BYTES);
            for &next in self.neighbours(row, 0) {
                if let Some(seen) = reached.get_mut(next as usize)
                    && !std::mem::replace(seen, true)
                {
                    open.push(next);
                }
            }
        }
    }
}
