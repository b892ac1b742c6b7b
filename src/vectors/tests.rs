//! What holds between the files of this room: the scan against plain `f32`, walks against the scan.

use proptest::prelude::*;

use crate::format::Pace;
use crate::vectors::build::{Batched, GraphBuilder, GraphParams};
use crate::vectors::codes::Codes;
use crate::vectors::graph::{Graph, GraphView, NONE, Sections};
use crate::vectors::hnsw::HnswRs;
use crate::vectors::kernels::Kernels;
use crate::vectors::rows::{Hit, Rows, count_allowed, is_allowed};
use crate::vectors::scan::{PARALLEL_ROWS, scan, scan_f32, scan_with, score_rows};
use crate::vectors::walk::kept;
use crate::vectors::walk::search;

/// Splitmix64: a failing case is repeated from its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From -1 to 1.
    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn unit(&mut self, dim: usize) -> Vec<f32> {
        unit((0..dim).map(|_| self.float()).collect())
    }

    fn bits(&mut self, rows: usize, one_in: u64) -> Vec<u64> {
        let mut bits = vec![0; rows.div_ceil(64)];
        for row in 0..rows {
            if self.next().is_multiple_of(one_in) {
                bits[row / 64] |= 1 << (row % 64);
            }
        }
        bits
    }
}

fn unit(mut x: Vec<f32>) -> Vec<f32> {
    let length = x.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        x.iter_mut().for_each(|v| *v = (f64::from(*v) / length) as f32);
    }
    x
}

/// `rows` unit vectors in clusters of about 50, and queries of the same kind.
fn clustered(dim: usize, rows: usize, queries: usize, seed: u64) -> (Vec<f32>, Vec<Vec<f32>>) {
    let mut random = Random(seed);
    let centres: Vec<Vec<f32>> = (0..rows.div_ceil(50)).map(|_| random.unit(dim)).collect();
    let mut all: Vec<Vec<f32>> = (0..rows + queries)
        .map(|_| {
            let centre = &centres[random.below(centres.len())];
            let own = random.unit(dim);
            unit(centre.iter().zip(own).map(|(c, o)| c + 0.8 * o).collect())
        })
        .collect();
    let held = all.split_off(rows);
    (all.concat(), held)
}

fn same_bits(left: &[Hit], right: &[Hit]) -> bool {
    let key = |hits: &[Hit]| -> Vec<(u32, u32)> {
        hits.iter().map(|hit| (hit.row, hit.score.to_bits())).collect()
    };
    key(left) == key(right)
}

/// Rows with ties on purpose: copies, zero rows, rows that differ in the last bit.
fn awkward_rows(dim: usize, rows: usize, random: &mut Random) -> Vec<f32> {
    let mut all: Vec<f32> = Vec::new();
    for row in 0..rows {
        let vector = match random.below(5) {
            0 => vec![0.0; dim],
            1 if row > 0 => all[random.below(row) * dim..][..dim].to_vec(),
            2 if row > 0 => {
                let from = random.below(row) * dim;
                let mut near = all[from..from + dim].to_vec();
                let at = random.below(dim);
                near[at] = f32::from_bits(near[at].to_bits() ^ 1);
                near
            }
            3 => {
                let mut axis = vec![0.0; dim];
                axis[random.below(dim)] = 1.0;
                axis
            }
            _ => random.unit(dim),
        };
        all.extend(vector);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_scan_is_the_brute_force_bit_for_bit(
        seed: u64, dim in 1_usize..90, count in 0_usize..1_500, depth in 0_usize..40,
        filter in 0_u64..7, size in -20_i32..20
    ) {
        let mut random = Random(seed);
        let vectors = awkward_rows(dim, count, &mut random);
        let codes = Codes::of(dim, &vectors).unwrap();
        let rows = Rows::with_codes(dim, &vectors, &codes).unwrap();
        let query: Vec<f32> = match random.below(5) {
            // Along what the code of one row leaves out: where the bound is needed in full.
            4 if count > 0 => {
                let row = random.below(count);
                let scale = codes.scales[row];
                let pair = vectors[row * dim..][..dim].iter().zip(&codes.codes[row * dim..]);
                unit(pair.map(|(x, &code)| x - scale * (f32::from(code) - 128.0)).collect())
            }
            0 if count > 0 => vectors[random.below(count) * dim..][..dim].to_vec(),
            1 => vec![0.0; dim],
            _ => random.unit(dim).iter().map(|x| x * 2_f32.powi(size)).collect(),
        };
        let bits = match filter {
            0 => None,
            1 => Some(vec![0; count.div_ceil(64)]),
            2 => Some(vec![u64::MAX; count.div_ceil(64) + 1]),
            3 => Some(random.bits(count, 10).iter().map(|word| !word).collect()),
            n => Some(random.bits(count, 1 << (2 * (n - 4)))),
        };
        let expected = scan_f32(&rows, &query, depth, bits.as_deref()).unwrap();
        for kernels in Kernels::available() {
            let found = scan_with(kernels, &rows, &query, depth, bits.as_deref()).unwrap();
            prop_assert!(same_bits(&found, &expected), "{}: {found:?} {expected:?}", kernels.name());
        }
    }
}

#[test]
fn a_parallel_scan_is_the_same_on_any_number_of_threads() {
    let dim = 12;
    let mut random = Random(5);
    let count = PARALLEL_ROWS * 3 + 77;
    let vectors = awkward_rows(dim, count, &mut random);
    let codes = Codes::of(dim, &vectors).unwrap();
    let rows = Rows::with_codes(dim, &vectors, &codes).unwrap();
    let half = random.bits(count, 2);
    for depth in [1, 10, 3_000] {
        for allowed in [None, Some(&half[..])] {
            let query = random.unit(dim);
            let expected = scan_f32(&rows, &query, depth, allowed).unwrap();
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let found = pool.install(|| scan(&rows, &query, depth, allowed).unwrap());
                assert!(same_bits(&found, &expected), "{threads} threads, depth {depth}");
            }
        }
    }
}

#[test]
fn a_scan_refuses_what_is_not_a_query() {
    let codes = Codes::of(2, &[0.6, 0.8]).unwrap();
    let rows = Rows::with_codes(2, &[0.6, 0.8], &codes).unwrap();
    assert!(scan(&rows, &[0.0], 1, None).is_err());
    assert!(scan(&rows, &[0.0, f32::NAN], 1, None).is_err());
    assert_eq!(
        scan(&rows, &[0.0, 1.0], 1, Some(&[])).unwrap_err().to_string(),
        "bitmap of allowed rows is 0 words; expected 1 words of 64 bits, for 1 rows"
    );
    assert_eq!(score_rows(&rows, &[1.0, 0.0], &[0, 0]).unwrap(), [0.6, 0.6]);
    assert!(score_rows(&rows, &[1.0, 0.0], &[1]).is_err());
}

/// A graph and what it was built of, for tests that search.
struct Built {
    dim: usize,
    vectors: Vec<f32>,
    codes: Codes,
    queries: Vec<Vec<f32>>,
    graph: Graph,
}

impl Built {
    fn new(builder: &dyn GraphBuilder, dim: usize, rows: usize, queries: usize) -> Self {
        let (vectors, queries) = clustered(dim, rows, queries, 11);
        let codes = Codes::of(dim, &vectors).unwrap();
        let graph = {
            let rows = Rows::with_codes(dim, &vectors, &codes).unwrap();
            builder.build(&rows, &GraphParams::default()).unwrap()
        };
        Self { dim, vectors, codes, queries, graph }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::with_codes(self.dim, &self.vectors, &self.codes).unwrap()
    }

    /// Mean share of the true first 10 that a walk finds.
    fn recall(&self, ef: usize, allowed: Option<&[u64]>) -> f64 {
        let (rows, view) = (self.rows(), self.graph.view());
        let mut found = 0;
        for query in &self.queries {
            let truth = scan(&rows, query, 10, allowed).unwrap();
            let walked = search(&view, &rows, query, 10, ef, allowed).unwrap();
            assert!(walked.complete);
            assert_eq!(walked.hits.len(), truth.len());
            found += walked.hits.iter().filter(|hit| truth.contains(hit)).count();
        }
        found as f64 / (10 * self.queries.len()) as f64
    }
}

#[test]
fn both_builders_find_what_the_scan_finds() {
    for (builder, rows) in [(&Batched as &dyn GraphBuilder, 6_000), (&HnswRs, 3_000)] {
        let built = Built::new(builder, 48, rows, 100);
        let report = built.graph.view().check(&Pace::full()).unwrap();
        assert_eq!(report.reachable, rows, "{}", builder.id());
        assert!(report.top_level >= 1);
        let recall = built.recall(96, None);
        assert!(recall >= 0.95, "{}: recall {recall}", builder.id());
    }
}

#[test]
fn a_filtered_walk_never_leaks_and_says_when_it_fell_short() {
    let built = Built::new(&Batched, 48, 4_000, 40);
    let (rows, view) = (built.rows(), built.graph.view());
    let mut random = Random(3);
    for one_in in [1, 2, 4, 20, 400, 5_000] {
        let bits = random.bits(rows.len(), one_in);
        let count = count_allowed(Some(&bits), rows.len()).unwrap();
        for query in &built.queries {
            let walked = search(&view, &rows, query, 10, 64, Some(&bits)).unwrap();
            assert!(walked.hits.iter().all(|hit| is_allowed(&bits, hit.row)));
            assert!(walked.hits.is_sorted_by(|a, b| a.order(b).is_lt()));
            assert!(!walked.complete || walked.hits.len() == count.min(10));
            assert_eq!(walked.kept, kept(64, 10, count, rows.len()));
        }
        if one_in <= 4 {
            let recall = built.recall(96, Some(&bits));
            assert!(recall >= 0.95, "one in {one_in}: recall {recall}");
        }
    }
    let none = vec![0; rows.len().div_ceil(64)];
    let walked = search(&view, &rows, &built.queries[0], 10, 64, Some(&none)).unwrap();
    assert!(walked.hits.is_empty());
}

#[test]
fn scores_of_a_walk_are_those_of_the_scan() {
    let built = Built::new(&Batched, 33, 1_000, 20);
    let (rows, view) = (built.rows(), built.graph.view());
    for query in &built.queries {
        for hit in search(&view, &rows, query, 10, 64, None).unwrap().hits {
            let score = score_rows(&rows, query, &[hit.row]).unwrap()[0];
            assert_eq!(score.to_bits(), hit.score.to_bits());
        }
    }
}

#[test]
fn a_graph_does_not_depend_on_the_number_of_threads() {
    let (vectors, _) = clustered(24, 3_000, 0, 9);
    let codes = Codes::of(24, &vectors).unwrap();
    let rows = Rows::with_codes(24, &vectors, &codes).unwrap();
    let build = |builder: &dyn GraphBuilder, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| builder.build(&rows, &GraphParams::default()).unwrap())
    };
    let one = build(&Batched, 1);
    assert!(one == build(&Batched, 2) && one == build(&Batched, 5));
    let small = &vectors[..24 * 500];
    let codes = Codes::of(24, small).unwrap();
    let rows = Rows::with_codes(24, small, &codes).unwrap();
    let twice = [0, 1].map(|_| HnswRs.build(&rows, &GraphParams::default()).unwrap());
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn thousands_of_equal_rows_stay_reachable_and_findable() {
    let dim = 32;
    let (mut vectors, queries) = clustered(dim, 1_000, 20, 21);
    let mut random = Random(1);
    let (twin, zero) = (random.unit(dim), vec![0.0; dim]);
    for i in 0..3_000 {
        vectors.extend(if i % 3 == 0 { &zero } else { &twin });
    }
    let codes = Codes::of(dim, &vectors).unwrap();
    let rows = Rows::with_codes(dim, &vectors, &codes).unwrap();
    for builder in [&Batched as &dyn GraphBuilder, &HnswRs] {
        let params = GraphParams { m: 8, ef_construction: 60 };
        let graph = builder.build(&rows, &params).unwrap();
        let report = graph.view().check(&Pace::full()).unwrap();
        assert_eq!(report.reachable, rows.len(), "{}", builder.id());
        let walked = search(&graph.view(), &rows, &twin, 100, 100, None).unwrap();
        assert_eq!(walked.hits.len(), 100);
        assert!(walked.hits.iter().all(|hit| hit.row >= 1_000), "{}", builder.id());
        if builder.id() == "batched" {
            // Twins hang in rising order, so a walk meets the lowest first, as the order of hits wants.
            assert_eq!(walked.hits, scan(&rows, &twin, 100, None).unwrap());
            for query in &queries {
                let truth = scan(&rows, query, 1, None).unwrap();
                let found = search(&graph.view(), &rows, query, 10, 64, None).unwrap();
                assert_eq!(found.hits[0].score, truth[0].score);
            }
        }
    }
}

#[test]
fn small_and_degenerate_sets_build_and_answer() {
    let mut random = Random(2);
    for builder in [&Batched as &dyn GraphBuilder, &HnswRs] {
        for count in [0, 1, 2, 3, 40] {
            for equal in [false, true] {
                let first = random.unit(5);
                let vectors: Vec<f32> = (0..count)
                    .flat_map(|_| if equal { first.clone() } else { random.unit(5) })
                    .collect();
                let codes = Codes::of(5, &vectors).unwrap();
                let rows = Rows::with_codes(5, &vectors, &codes).unwrap();
                let params = GraphParams { m: 2, ef_construction: 10 };
                let graph = builder.build(&rows, &params).unwrap();
                assert_eq!(graph.view().check(&Pace::full()).unwrap().reachable, count);
                let found = search(&graph.view(), &rows, &first, 3, 64, None).unwrap();
                assert!(found.complete);
                assert_eq!(found.hits, scan(&rows, &first, 3, None).unwrap());
            }
        }
    }
    for params in
        [GraphParams { m: 1, ..Default::default() }, GraphParams { m: 500, ..Default::default() }]
    {
        let codes = Codes::of(1, &[]).unwrap();
        let rows = Rows::with_codes(1, &[], &codes).unwrap();
        assert!(Batched.build(&rows, &params).is_err() && HnswRs.build(&rows, &params).is_err());
    }
}

#[test]
fn damage_is_named_and_never_panics() {
    let built = Built::new(&Batched, 16, 600, 5);
    let rows = built.rows();
    let whole = built.graph.to_sections();
    fn sections<'a>(
        links0: &'a [u32],
        upper_starts: &'a [u32],
        upper_links: &'a [u32],
        head: [u32; 4],
    ) -> Result<GraphView<'a>, String> {
        GraphView::from_sections(Sections { head, links0, upper_starts, upper_links })
    }
    assert_eq!(
        GraphView::from_sections(whole).unwrap().check(&Pace::full()).unwrap().reachable,
        600
    );
    let mut named = 0;
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let mut head = whole.head;
        let mut links0 = whole.links0.to_vec();
        let mut starts = whole.upper_starts.to_vec();
        let mut upper = whole.upper_links.to_vec();
        for _ in 0..=random.below(3) {
            let word = match random.below(4) {
                0 => &mut links0[random.below(600 * 32)],
                1 => &mut starts[random.below(601)],
                2 => &mut upper[random.below(whole.upper_links.len())],
                _ => &mut head[random.below(3)],
            };
            *word = match random.below(4) {
                0 => NONE,
                1 => random.next() as u32,
                2 => random.below(600) as u32,
                _ => *word ^ 1 << random.below(32),
            };
        }
        let Ok(view) = sections(&links0, &starts, &upper, head) else {
            named += 1;
            continue;
        };
        named += usize::from(view.check(&Pace::full()).is_err());
        for query in &built.queries {
            // A walk over an unchecked graph may find little; it must end, and return rows that exist.
            let walked = search(&view, &rows, query, 10, 20, None).unwrap();
            assert!(walked.hits.iter().all(|hit| (hit.row as usize) < 600), "seed {seed}");
            search(&view, &rows, query, 10, 20, Some(&[u64::MAX; 10])).unwrap();
        }
    }
    assert!(named > 1_500, "only {named} of 2,000 damages were named");
    assert!(
        sections(&whole.links0[1..], whole.upper_starts, whole.upper_links, whole.head).is_err()
    );
    assert!(sections(whole.links0, whole.upper_starts, &[], whole.head).is_err());
    assert!(sections(whole.links0, &[], whole.upper_links, whole.head).is_err());
}

#[test]
fn each_fault_of_a_graph_has_its_words() {
    let built = Built::new(&Batched, 16, 600, 1);
    let rows = built.rows();
    let view = built.graph.view();
    let on_level = |level| (0..600).find(|&row| view.level(row) == level).unwrap();
    let (low, high) = (on_level(0), on_level(1));
    let fault = |change: &dyn Fn(&mut Graph)| {
        let mut graph = built.graph.clone();
        change(&mut graph);
        let faults = graph.view().check(&Pace::full());
        faults.unwrap_err()
    };
    let expected =
        format!("row {high} of the graph, layer 1: a link to row {low}, which is on layer 0");
    assert_eq!(fault(&|graph| graph.list_mut(high, 1)[0] = low), expected);
    let expected = "row 7 of the graph, layer 0: a link to row 600, of 600 rows";
    assert_eq!(fault(&|graph| graph.list_mut(7, 0)[0] = 600), expected);
    assert!(fault(&|graph| graph.list_mut(7, 0)[0] = 7).contains("a link to row 7,"));
    assert!(fault(&|graph| graph.list_mut(7, 0)[0] = NONE).ends_with("a link after the padding"));
    assert!(fault(&|graph| graph.entry = low).contains("expected the highest"));
    assert!(fault(&|graph| graph.upper_starts[0] = 1).contains("do not begin at 0"));
    assert!(fault(&|graph| graph.upper_starts[300] = 9_999).contains("has upper lists"));

    // Without links a graph is valid, and a walk says that it fell short.
    let mut bare = built.graph.clone();
    bare.links0.fill(NONE);
    bare.upper_links.fill(NONE);
    assert_eq!(bare.view().check(&Pace::full()).unwrap().reachable, 1);
    let walked = search(&bare.view(), &rows, &built.queries[0], 10, 64, None).unwrap();
    assert!(walked.hits.len() == 1 && !walked.complete);
}
