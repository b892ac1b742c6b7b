//! The second builder: hnsw_rs makes the graph, and we take its links and let it go.
//!
//! It is there to check ours against: other code, `f32` distances, the same search afterwards. It
//! inserts on one thread, as its parallel insertion is not reproducible, and takes six to ten times
//! as long. Nothing outside this file names the crate.

use hnsw_rs::prelude::{Distance, Hnsw};

use crate::error::Result;
use crate::vectors::build::{GraphBuilder, GraphParams};
use crate::vectors::graph::{Graph, LEVEL_MAX, NONE};
use crate::vectors::kernels::Kernels;
use crate::vectors::repair::repair;
use crate::vectors::rows::Rows;

/// Builds with hnsw_rs, one row after the other in the order of their numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct HnswRs;

/// `1 − inner product`, never under 0: hnsw_rs takes a negative distance for a fault and panics, and a
/// unit vector's product with itself may round to more than 1.
struct OneMinusDot(&'static Kernels);

impl Distance<f32> for OneMinusDot {
    fn eval(&self, left: &[f32], right: &[f32]) -> f32 {
        (1.0 - self.0.dot(left, right)).max(0.0)
    }
}

impl GraphBuilder for HnswRs {
    fn id(&self) -> &'static str {
        "hnsw_rs"
    }

    fn build(&self, rows: &Rows<'_>, params: &GraphParams) -> Result<Graph> {
        params.check()?;
        if rows.is_empty() {
            // hnsw_rs panics when an empty index is iterated.
            return Ok(Graph::unlinked(params.m, &[]));
        }
        let distance = OneMinusDot(Kernels::best());
        // 16 layers are the most it knows.
        let hnsw = Hnsw::<f32, OneMinusDot>::new(
            params.m,
            rows.len(),
            LEVEL_MAX + 1,
            params.ef_construction,
            distance,
        );
        for (row, vector) in rows.vectors()?.chunks_exact(rows.dim()).enumerate() {
            hnsw.insert_slice((vector, row));
        }
        let mut graph = export(&hnsw, rows.len(), params.m);
        drop(hnsw);
        repair(&mut graph, rows, params.ef_construction);
        Ok(graph)
    }
}

/// The links of `hnsw` in our layout.
///
/// What has to be known: the entry is private, but it is the point of rank 0 on the highest layer; a
/// point lists links above its own level, which are not links; and a point that opened a layer lists
/// lower points there, which would lead out of the layer.
fn export(hnsw: &Hnsw<'_, f32, OneMinusDot>, rows: usize, m: usize) -> Graph {
    let points = hnsw.get_point_indexation();
    let mut levels = vec![0; rows];
    for point in points {
        levels[point.get_origin_id()] = point.get_point_id().0;
    }
    let top = levels.iter().copied().max().unwrap_or(0);
    let mut graph = Graph::unlinked(m, &levels);
    for point in points {
        let row = point.get_origin_id() as u32;
        let id = point.get_point_id();
        if id.0 == top && id.1 == 0 {
            graph.entry = row;
        }
        let layers = point.get_neighborhood_id();
        for (level, neighbours) in layers.iter().enumerate().take(usize::from(id.0) + 1) {
            let list = graph.list_mut(row, level);
            let mut end = 0;
            for neighbour in neighbours {
                let link = neighbour.d_id as u32;
                let on_layer = usize::from(levels[link as usize]) >= level;
                if end < list.len() && link != row && on_layer && !list[..end].contains(&link) {
                    list[end] = link;
                    end += 1;
                }
            }
            debug_assert!(list[end..].iter().all(|&link| link == NONE));
        }
    }
    graph
}
