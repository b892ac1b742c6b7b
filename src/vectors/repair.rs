//! The last step of every builder: no row is out of reach.
//!
//! The selection of links may drop the last one that led to a row. Such a row would never be found,
//! however large `ef`; it gets a link from a row that can be reached, the nearest with a free place.

use crate::format::Pace;
use crate::vectors::codes::QueryCode;
use crate::vectors::graph::{Graph, NONE};
use crate::vectors::kernels::Kernels;
use crate::vectors::rows::Rows;
use crate::vectors::walk::{Key, Scorer, beam, with_scratch};

/// Links in every row that cannot be reached from the entry on layer 0; how many links that took.
///
/// Rows are taken in rising order, and what one makes reachable counts for the next, so the outcome
/// depends on the graph and the rows alone.
pub(super) fn repair(graph: &mut Graph, rows: &Rows<'_>, ef: usize) -> usize {
    let Some(entry) = graph.view().entry() else { return 0 };
    let mut reached = graph.view().reachable(&Pace::full());
    let mut mended = 0;
    for row in 0..rows.len() as u32 {
        if reached[row as usize] {
            continue;
        }
        let near = nearest_reachable(graph, rows, row, entry, ef);
        lead(graph, &near, row);
        reached[row as usize] = true;
        graph.view().spread(row, &mut reached, &Pace::full());
        mended += 1;
    }
    mended
}

/// Reachable rows, nearest to `row` first; at least the entry.
fn nearest_reachable(graph: &Graph, rows: &Rows<'_>, row: u32, entry: u32, ef: usize) -> Vec<u32> {
    let mut code = QueryCode::empty();
    code.set_to_row(rows.code(row), rows.scales()[row as usize]);
    let scorer = Scorer { kernels: Kernels::best(), rows, query: &code };
    with_scratch(rows.len(), |scratch| {
        // From the entry itself, not from where the upper layers lead: that may be out of reach too.
        beam(&graph.view(), &scorer, 0, ef, &[Key::new(0.0, entry)], scratch);
        scratch.best.iter().map(|key| key.row()).collect()
    })
}

/// Makes one of `near` lead to `row`.
///
/// When all their lists are full, `row` is put between the nearest and the last row it leads to, so
/// that this one stays reachable, through `row`. What `row` led to before is not lost by that: nothing
/// reachable depended on a row out of reach.
fn lead(graph: &mut Graph, near: &[u32], row: u32) {
    for &from in near {
        if let Some(free) = graph.list_mut(from, 0).iter_mut().find(|link| **link == NONE) {
            *free = row;
            return;
        }
    }
    let Some(last) = near.first().and_then(|&from| graph.list_mut(from, 0).last_mut()) else {
        return;
    };
    let next = std::mem::replace(last, row);
    let links = graph.list_mut(row, 0);
    if !links.contains(&next)
        && let at = links.iter().position(|&link| link == NONE).unwrap_or(links.len() - 1)
        && let Some(place) = links.get_mut(at)
    {
        *place = next;
    }
}
