//! Exact or graph: the choice for one query, by what each would cost.
//!
//! Measured (`ARCHITECTURE.md`, When the graph is used; 256 dimensions): the scan of all rows costs about
//! 10 ns a row. Under a filter it costs three to five times that, as listed rows lie apart. A walk costs about
//! 1 µs for each candidate it keeps, and a filter that passes a share `p` of the rows makes it `1 / p` times
//! as long, as only allowed rows are kept, while it keeps fewer of them ([`kept`]). So with `a` allowed rows
//! of `n` the scan is cheaper when `0.035 × a < kept × n / a`.
//! The scan is exact, so it also wins wherever the two are near: under [`EXACT_ROWS`], and where a filter
//! leaves fewer than [`EXACT_ALLOWED`].

use crate::vectors::walk::kept;

/// Rows under which the scan is taken whatever the walk would cost: 0.1 ms, with a recall of 1.
pub const EXACT_ROWS: usize = 20_000;

/// Allowed rows under which the scan is taken whatever the walk would cost.
pub const EXACT_ALLOWED: usize = 10_000;

/// Microseconds of an unfiltered walk for each candidate it keeps.
const WALK_US_PER_EF: f64 = 1.0;

/// Microseconds of a scan for each row when it reads all.
const SCAN_US_PER_ROW: f64 = 0.01;

/// Microseconds of a scan for each row that a filter leaves.
const LISTED_US_PER_ROW: f64 = 0.035;

/// How a query is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Every allowed row ([`scan`](crate::vectors::scan::scan)): recall 1.
    Exact,
    /// The walk ([`search`](crate::vectors::walk::search)), with the scan to fall back on.
    Graph,
}

/// What the choice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// Rows in the index.
    pub rows: usize,
    /// Rows that may be returned: the bitmap's ones.
    pub allowed: usize,
    /// Hits wanted.
    pub depth: usize,
    /// Candidates a walk would keep.
    pub ef: usize,
    /// Whether there is a graph of these rows.
    pub has_graph: bool,
}

/// A path, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The path to take.
    pub path: Path,
    /// The reason, for the trace: a clause without a full stop.
    pub reason: &'static str,
}

/// The path for a query, the same for the same situation.
pub fn choose(situation: &Situation) -> Choice {
    let &Situation { rows, allowed, depth, ef, has_graph } = situation;
    let exact = |reason| Choice { path: Path::Exact, reason };
    if !has_graph {
        return exact("there is no graph");
    }
    if rows < EXACT_ROWS {
        return exact("the index is small enough to scan");
    }
    if allowed < EXACT_ALLOWED {
        return exact("the allowed rows are few enough to scan");
    }
    let walk_us = WALK_US_PER_EF * ef.max(depth) as f64;
    if SCAN_US_PER_ROW * (rows as f64) < walk_us {
        return exact("so many candidates are wanted that a scan costs less");
    }
    let longer = rows as f64 / allowed as f64;
    let walk_us = WALK_US_PER_EF * kept(ef, depth, allowed, rows) as f64 * longer;
    if allowed < rows && LISTED_US_PER_ROW * (allowed as f64) < walk_us {
        return exact("the filter leaves too few rows for a walk to pay");
    }
    Choice { path: Path::Graph, reason: "a walk costs less than a scan of the allowed rows" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rows: usize, allowed: usize, depth: usize, ef: usize) -> Path {
        choose(&Situation { rows, allowed, depth, ef, has_graph: true }).path
    }

    #[test]
    fn small_sets_are_scanned_and_large_ones_walked() {
        assert_eq!(path(19_999, 19_999, 10, 64), Path::Exact);
        assert_eq!(path(20_000, 20_000, 10, 64), Path::Graph);
        assert_eq!(path(1_000_000, 1_000_000, 10, 64), Path::Graph);
        assert_eq!(path(1_000_000, 9_999, 10, 64), Path::Exact);
        assert_eq!(path(0, 0, 10, 64), Path::Exact);
    }

    /// At 100,000 rows and `ef` 256 at a share of about .15, at a million at about .03.
    #[test]
    fn filters_cross_where_the_costs_meet() {
        assert_eq!(path(100_000, 50_000, 10, 64), Path::Graph);
        assert_eq!(path(100_000, 25_000, 10, 128), Path::Graph);
        assert_eq!(path(100_000, 18_000, 10, 256), Path::Graph);
        assert_eq!(path(100_000, 15_000, 10, 256), Path::Exact);
        assert_eq!(path(1_000_000, 100_000, 10, 128), Path::Graph);
        assert_eq!(path(1_000_000, 35_000, 10, 256), Path::Graph);
        assert_eq!(path(1_000_000, 25_000, 10, 256), Path::Exact);
        // A deep result leaves less to save.
        assert_eq!(path(1_000_000, 50_000, 100, 128), Path::Exact);
        assert_eq!(path(1_000_000, 100_000, 100, 128), Path::Graph);
    }

    #[test]
    fn a_deep_result_is_scanned() {
        assert_eq!(path(100_000, 100_000, 1_200, 64), Path::Exact);
        assert_eq!(path(100_000, 100_000, 10, 1_200), Path::Exact);
        assert_eq!(path(100_000, 100_000, 100, 128), Path::Graph);
    }

    #[test]
    fn without_a_graph_there_is_no_choice() {
        let situation =
            Situation { rows: 1 << 20, allowed: 1 << 20, depth: 10, ef: 64, has_graph: false };
        let expected = Choice { path: Path::Exact, reason: "there is no graph" };
        assert_eq!(choose(&situation), expected);
    }
}
