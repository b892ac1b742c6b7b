//! Making a graph: the door for builders, and our own.
//!
//! [`Batched`] inserts rows in batches. The searches of a batch see the graph as it was before the
//! batch, and each changes nothing, so they run on all threads; then every list that the batch touches
//! is worked out from the old list and the batch's new links, again each apart from the others.
//! Nothing depends on which thread was first: **the bytes of a graph are those of its rows and
//! parameters, on any number of threads and any machine** (similarities are exact sums of bytes times
//! scales; levels and order come from whole-number hashes).
//!
//! Rows are inserted in the order of a hash, not of their numbers: consecutive rows are passages of
//! one document, and would miss each other by standing in one batch.
//!
//! Rows of equal codes ("twins") are inserted once, through the first of them; the others hang below
//! it in a tree. Inserted one by one, a thousand equal rows would fill each other's lists and become
//! an island; this way they cost nothing, and one found leads to all.
//!
//! At the end every row can be reached from the entry on layer 0 (see `repair.rs`).

use std::collections::HashMap;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::vectors::codes::QueryCode;
use crate::vectors::graph::{Graph, LEVEL_MAX, M_MAX, NONE};
use crate::vectors::kernels::{Kernels, prefer_large_pages};
use crate::vectors::repair::repair;
use crate::vectors::rows::Rows;
use crate::vectors::walk::{Key, Scorer, beam, descend, with_scratch};

/// Rows in a batch, at most.
const BATCH_MAX: usize = 2_000;

/// A batch is at most one row in this many of the graph: a row misses that share of its neighbours.
const BATCH_SHARE: usize = 50;

/// Batches and groups under this are not worth waking a thread for.
const PARALLEL_MIN: usize = 8;

/// Makes a [`Graph`] of rows; one file an implementation.
pub trait GraphBuilder: Send + Sync {
    /// The name by which settings and manifests know the builder.
    fn id(&self) -> &'static str;

    /// The graph of `rows`: every row is reachable from the entry on layer 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] when `params` are out of range.
    fn build(&self, rows: &Rows<'_>, params: &GraphParams) -> Result<Graph>;
}

/// What shapes a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphParams {
    /// Links of a row on an upper layer, 2 to [`M_MAX`]; twice that on layer 0. More find more, and
    /// cost memory.
    pub m: usize,
    /// Candidates kept while a row is inserted, from 1; more find better links, and cost time.
    pub ef_construction: usize,
}

impl Default for GraphParams {
    /// 16 links (two cache lines a row on layer 0) out of 200 candidates.
    fn default() -> Self {
        Self { m: 16, ef_construction: 200 }
    }
}

impl GraphParams {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// [`Error::Invalid`], which names the value.
    pub fn check(&self) -> Result<()> {
        if !(2..=M_MAX).contains(&self.m) {
            return Err(Error::invalid(
                "graph.m",
                self.m,
                format!("a whole number from 2 to {M_MAX}"),
            ));
        }
        if !(1..=10_000).contains(&self.ef_construction) {
            let found = self.ef_construction;
            let expected = "a whole number from 1 to 10000";
            return Err(Error::invalid("graph.ef_construction", found, expected));
        }
        Ok(())
    }
}

/// Our deterministic, parallel builder over byte codes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Batched;

impl GraphBuilder for Batched {
    fn id(&self) -> &'static str {
        "batched"
    }

    fn build(&self, rows: &Rows<'_>, params: &GraphParams) -> Result<Graph> {
        params.check()?;
        let firsts = first_twins(rows);
        let mut work = Work::new(rows, params, &firsts);
        let mut order: Vec<u32> =
            (0..rows.len() as u32).filter(|&row| firsts[row as usize] == row).collect();
        order.sort_unstable_by_key(|&row| (hash(u64::from(row), ORDER_SEED), row));
        let mut done = 0;
        while done < order.len() {
            let size = (done / BATCH_SHARE).clamp(1, BATCH_MAX).min(order.len() - done);
            work.insert(&order[done..done + size]);
            done += size;
        }
        let mut graph = work.graph;
        hang_twins(&mut graph, &firsts);
        repair(&mut graph, rows, params.ef_construction);
        Ok(graph)
    }
}

/// A link while building, with what it is worth.
#[derive(Debug, Clone, Copy)]
struct Link {
    row: u32,
    similarity: f32,
}

/// A list that a batch adds links to.
struct Addition {
    level: usize,
    target: u32,
    link: Link,
}

/// A graph under construction.
struct Work<'a> {
    rows: &'a Rows<'a>,
    ef: usize,
    graph: Graph,
    /// Similarities of the links of `graph.links0` and `graph.upper_links`, place by place.
    worth0: Vec<f32>,
    upper_worth: Vec<f32>,
    /// Rows with twins, which leave one place on layer 0 for them.
    has_twins: Vec<bool>,
}

impl<'a> Work<'a> {
    fn new(rows: &'a Rows<'a>, params: &GraphParams, firsts: &[u32]) -> Self {
        let mut has_twins = vec![false; rows.len()];
        let mut levels = Vec::with_capacity(rows.len());
        for (row, &first) in firsts.iter().enumerate() {
            let twin = first as usize != row;
            has_twins[first as usize] |= twin;
            levels.push(if twin { 0 } else { level_of(row as u64, params.m) });
        }
        let graph = Graph::unlinked(params.m, &levels);
        let mut worth0 = vec![0.0; graph.links0.len()];
        prefer_large_pages(&mut worth0);
        Self {
            rows,
            ef: params.ef_construction,
            worth0,
            upper_worth: vec![0.0; graph.upper_links.len()],
            graph,
            has_twins,
        }
    }

    fn room(&self, row: u32, level: usize) -> usize {
        match level {
            0 => 2 * self.graph.m - usize::from(self.has_twins[row as usize]),
            _ => self.graph.m,
        }
    }

    /// Inserts `batch`: searches, links from the new rows, links back to them, entry.
    fn insert(&mut self, batch: &[u32]) {
        let this = &*self;
        let found: Vec<Vec<Vec<Link>>> =
            map_each(batch, |&row, selection| this.links_for(row, selection));
        let mut additions = Vec::new();
        for (&row, levels) in batch.iter().zip(found) {
            for (level, links) in levels.into_iter().enumerate() {
                self.write(row, level, &links);
                additions.extend(links.into_iter().map(|Link { row: target, similarity }| {
                    Addition { level, target, link: Link { row, similarity } }
                }));
            }
        }
        // Stable, so that links to one list stay in the order of insertion.
        additions.sort_by_key(|addition| (addition.level, addition.target));
        let same = |a: &Addition, b: &Addition| (a.level, a.target) == (b.level, b.target);
        let groups: Vec<&[Addition]> = additions.chunk_by(same).collect();
        let this = &*self;
        let lists = map_each(&groups, |group, selection| this.with_additions(group, selection));
        for (group, links) in groups.iter().zip(lists) {
            self.write(group[0].target, group[0].level, &links);
        }
        for &row in batch {
            let view = self.graph.view();
            if view.entry().is_none_or(|entry| view.level(row) > view.level(entry)) {
                self.graph.entry = row;
            }
        }
    }

    /// The links of a new row on each of its layers that the graph has already.
    fn links_for(&self, row: u32, selection: &mut Selection) -> Vec<Vec<Link>> {
        let view = self.graph.view();
        let Some(entry) = view.entry() else { return Vec::new() };
        let mut code = QueryCode::empty();
        code.set_to_row(self.rows.code(row), self.rows.scales()[row as usize]);
        let scorer = Scorer { kernels: Kernels::best(), rows: self.rows, query: &code };
        let top = view.level(row).min(view.level(entry));
        with_scratch(self.rows.len(), |scratch| {
            let mut starts = vec![descend(&view, &scorer, entry, view.level(row), scratch)];
            let mut all = vec![Vec::new(); top + 1];
            for level in (0..=top).rev() {
                beam(&view, &scorer, level, self.ef, &starts, scratch);
                starts.clone_from(&scratch.best);
                let link = |key: &_| Link { row: Key::row(*key), similarity: Key::score(*key) };
                let candidates: Vec<Link> = starts.iter().map(link).collect();
                all[level] = selection.choose(self.rows, &candidates, self.room(row, level));
            }
            all
        })
    }

    /// The list of a row after a batch has added to it.
    fn with_additions(&self, group: &[Addition], selection: &mut Selection) -> Vec<Link> {
        let (level, target) = (group[0].level, group[0].target);
        let mut links = self.read(target, level);
        links.extend(group.iter().map(|addition| addition.link));
        let room = self.room(target, level);
        if links.len() <= room {
            return links;
        }
        links
            .sort_unstable_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.row.cmp(&b.row)));
        selection.choose(self.rows, &links, room)
    }

    fn read(&self, row: u32, level: usize) -> Vec<Link> {
        let place = self.graph.place(row, level);
        let worth = if level == 0 { &self.worth0[place] } else { &self.upper_worth[place] };
        let rows = self.graph.view().neighbours(row, level).iter();
        rows.zip(worth).map(|(&row, &similarity)| Link { row, similarity }).collect()
    }

    fn write(&mut self, row: u32, level: usize, links: &[Link]) {
        let place = self.graph.place(row, level);
        let worth = if level == 0 { &mut self.worth0[place] } else { &mut self.upper_worth[place] };
        let list = self.graph.list_mut(row, level);
        list.fill(NONE);
        for (at, link) in links.iter().enumerate() {
            list[at] = link.row;
            worth[at] = link.similarity;
        }
    }
}

/// Chooses links: near, and in different directions.
#[derive(Default)]
struct Selection {
    code: Option<QueryCode>,
    left: Vec<Link>,
    rows: Vec<u32>,
    sums: Vec<i32>,
    scores: Vec<f32>,
}

impl Selection {
    /// At most `most` of `candidates`, which stand best first: each is kept unless one kept before it
    /// is nearer to it than the row whose links these are.
    ///
    /// That is the heuristic of Malkov and Yashunin (arXiv:1603.09320, algorithm 4), without filling
    /// up from what was left out. The first one left is kept, and those in its shadow go at once, all
    /// scored against the one code; the outcome is that of taking candidates one by one, as similarities
    /// are symmetric to the bit. It takes a sixth off a build.
    fn choose(&mut self, rows: &Rows<'_>, candidates: &[Link], most: usize) -> Vec<Link> {
        let code = self.code.get_or_insert_with(QueryCode::empty);
        let mut kept: Vec<Link> = Vec::with_capacity(most);
        self.left.clear();
        self.left.extend_from_slice(candidates);
        while let Some((&best, others)) = self.left.split_first() {
            kept.push(best);
            if kept.len() == most {
                break;
            }
            code.set_to_row(rows.code(best.row), rows.scales()[best.row as usize]);
            self.rows.clear();
            self.rows.extend(others.iter().map(|link| link.row));
            let scorer = Scorer { kernels: Kernels::best(), rows, query: code };
            scorer.score(&self.rows, &mut self.sums, &mut self.scores);
            let mut count = 0;
            for (i, &score) in self.scores.iter().enumerate() {
                let link = self.left[i + 1];
                self.left[count] = link;
                count += usize::from(score <= link.similarity);
            }
            self.left.truncate(count);
        }
        kept
    }
}

/// `work` on each item, on all threads when there are enough of them, results in order.
fn map_each<T: Sync, U: Send>(
    items: &[T],
    work: impl Fn(&T, &mut Selection) -> U + Sync,
) -> Vec<U> {
    if items.len() < PARALLEL_MIN || rayon::current_num_threads() == 1 {
        let mut selection = Selection::default();
        return items.iter().map(|item| work(item, &mut selection)).collect();
    }
    let each =
        items.par_iter().map_init(Selection::default, |selection, item| work(item, selection));
    each.collect()
}

/// For each row, the first row of equal code and scale: itself, for most.
fn first_twins(rows: &Rows<'_>) -> Vec<u32> {
    let mut firsts = HashMap::with_capacity(rows.len());
    (0..rows.len() as u32)
        .map(|row| {
            let scale = rows.scales()[row as usize].to_bits();
            *firsts.entry((rows.code(row), scale)).or_insert(row)
        })
        .collect()
}

/// Hangs each row's twins below it: the row leads to the first of them, each of them back to the row
/// and on to as many others as its list holds, in rising order.
fn hang_twins(graph: &mut Graph, firsts: &[u32]) {
    let mut twins: HashMap<u32, Vec<u32>> = HashMap::new();
    for (row, &first) in firsts.iter().enumerate() {
        if first as usize == row {
            continue;
        }
        let row = row as u32;
        let before = twins.entry(first).or_default();
        let parent = match before.len() {
            0 => first,
            count => before[(count - 1) / (2 * graph.m - 1)],
        };
        before.push(row);
        graph.list_mut(row, 0)[0] = first;
        if let Some(free) = graph.list_mut(parent, 0).iter_mut().find(|link| **link == NONE) {
            *free = row;
        }
    }
}

const LEVEL_SEED: u64 = 0x6C65_7665_6C73_0001;
const ORDER_SEED: u64 = 0x6F72_6465_7200_0001;

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
fn hash(x: u64, seed: u64) -> u64 {
    let mut z = x.wrapping_add(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The highest layer of a row: `l` or more with a chance of `m⁻ˡ`, in whole numbers alone.
fn level_of(row: u64, m: usize) -> u8 {
    let mut digits = hash(row, LEVEL_SEED);
    let mut level = 0;
    while usize::from(level) < LEVEL_MAX && digits.is_multiple_of(m as u64) {
        digits /= m as u64;
        level += 1;
    }
    level
}
