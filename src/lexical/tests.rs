//! The fast scorer against the slow one, over random corpora, scopes, filters and segmentations.

use proptest::prelude::*;

use super::*;
use crate::access::{Bitmap, Scope};
use std::sync::Arc;

use crate::format::{FileEntry, Layer, Layout, Manifest, PartEntry};

/// The manifest of one layer in the folder of the generation itself.
fn manifest(lengths: &[u32], written: (PartEntry, Vec<FileEntry>)) -> Manifest {
    let (part, lexical) = written;
    let passages = lengths.len();
    let layer = Layer {
        folder: String::new(),
        passages,
        dropped: Vec::new(),
        store: part.clone(),
        vectors: part.clone(),
        codes: part.clone(),
        access: part.clone(),
        lengths: part,
        lexical,
    };
    Manifest {
        format: crate::format::FORMAT_VERSION,
        written_by: String::new(),
        generation: 1,
        digest: String::new(),
        fingerprint: String::new(),
        analyzer: String::new(),
        embedder: String::new(),
        reading: String::new(),
        passage: String::new(),
        dim: 0,
        documents: 0,
        blocks: 0,
        passages,
        terms_total: lengths.iter().map(|&length| u64::from(length)).sum(),
        skipped: Vec::new(),
        noted: Vec::new(),
        sources: Vec::new(),
        layers: vec![layer],
        policy: String::new(),
        graph: None,
        rolled_back_to: None,
    }
}

/// An index over `rows` of terms; a new segment starts before each row named in `cuts`.
fn index(rows: &[Vec<u8>], cuts: &[usize]) -> (tempfile::TempDir, LexicalIndex) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LexicalWriter::create(folder.path(), 64 << 20).unwrap();
    for (at, row) in rows.iter().enumerate() {
        if cuts.contains(&at) {
            writer.end_segment();
        }
        let terms: Vec<String> = row.iter().map(|term| format!("t{term}")).collect();
        writer.add(&terms.join("\n"), row.len() as u32).unwrap();
    }
    let lengths: Vec<u32> = rows.iter().map(|row| row.len() as u32).collect();
    let manifest = manifest(&lengths, writer.finish().unwrap());
    let layout = Arc::new(Layout::whole(rows.len() as u32));
    let index = LexicalIndex::open(folder.path(), &manifest, layout).unwrap();
    (folder, index)
}

fn question(terms: &[u8]) -> Query {
    Query::new(terms.iter().map(|term| format!("t{term}")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fast_equals_slow_bit_for_bit(
        rows in prop::collection::vec(prop::collection::vec(0_u8..12, 0..9), 1..400),
        cuts in prop::collection::vec(1_usize..400, 0..3),
        terms in prop::collection::vec(0_u8..14, 0..6),
        seed in any::<u64>(),
        depth in 0_usize..30,
    ) {
        let (_folder, index) = index(&rows, &cuts);
        let n = rows.len() as u32;
        let query = question(&terms);
        let bit = |row: u32, salt: u64| {
            (u64::from(row) ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(salt) >> 61
        };
        let readable = Bitmap::of(n, (0..n).filter(|row| bit(*row, 0) > 2));
        let filter = Bitmap::of(n, (0..n).filter(|row| bit(*row, seed) > 3));
        let restricted = Scope::restricted(readable);
        let scopes =
            [Scope::everyone(n), restricted.clone(), restricted.narrowed(&filter), Scope::everyone(n).narrowed(&filter)];
        for scope in &scopes {
            let all = exhaustive(&index, &query, scope, Bm25::default()).unwrap();
            let fast = index.search(&query, scope, Bm25::default(), depth).unwrap();
            prop_assert_eq!(&fast[..], &all[..depth.min(all.len())]);
            for other in [LexicalIndex::union, LexicalIndex::seek] {
                prop_assert_eq!(&other(&index, &query, scope, Bm25::default(), depth).unwrap(), &fast);
            }
            let rows: Vec<u32> = all.iter().rev().map(|(row, _)| *row).collect();
            let scores = index.score(&query, scope, Bm25::default(), &rows).unwrap();
            prop_assert_eq!(scores, all.iter().rev().map(|(_, score)| *score).collect::<Vec<_>>());
            let bound = index.bound(&query, scope).unwrap();
            prop_assert!(all.iter().all(|(_, score)| *score <= bound));
        }
    }
}

/// Every row's score of a query with groups, from the definition: tf by looking at the row.
fn grouped(rows: &[Vec<u8>], query: &Query, readable: &Bitmap) -> Vec<f64> {
    let bm25 = Bm25::default();
    let own: Vec<&Vec<u8>> = readable.iter().map(|row| &rows[row as usize]).collect();
    let tf = |row: &[u8], term: &str| {
        let term: u8 = term[1..].parse().unwrap();
        row.iter().filter(|own| **own == term).count()
    };
    let average = own.iter().map(|row| row.len()).sum::<usize>() as f64 / own.len() as f64;
    let idfs: Vec<f64> = (0..14)
        .map(|term| {
            let df = own.iter().filter(|row| row.contains(&term)).count();
            Bm25::idf(own.len() as u64, df as u64)
        })
        .collect();
    let idf = |term: &str| idfs[term[1..].parse::<usize>().unwrap()];
    let share = |tf: usize, row: &[u8]| {
        let slope = bm25.k1 * bm25.b / average.max(1.0);
        let tf = tf as f64;
        tf / (tf + bm25.k1 * (1.0 - bm25.b) + slope * row.len() as f64)
    };
    let score = |row: &Vec<u8>| {
        let one = |term: &String| idf(term) * share(tf(row, term), row);
        let mut total = 0.0;
        for (term, count) in query.terms() {
            let grouped = query.groups().iter().flat_map(|group| &group.asked);
            let grouped = grouped.filter(|own| *own == term).count() as f64;
            total += (count - grouped) * one(term);
        }
        for group in query.groups() {
            let asked: f64 = group.asked.iter().map(one).sum();
            let most: f64 = group.asked.iter().map(|term| idf(term)).sum();
            let instead = group.instead.iter().map(|phrase| {
                let own: f64 = phrase.iter().map(|term| idf(term)).sum();
                let tf = phrase.iter().map(|term| tf(row, term)).min().unwrap();
                group.weight * own.min(most) * share(tf, row)
            });
            total += instead.fold(asked, f64::max);
        }
        total
    };
    rows.iter().map(score).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn groups_are_scored_as_they_are_defined(
        rows in prop::collection::vec(prop::collection::vec(0_u8..12, 1..9), 2..400),
        many in any::<bool>(),
        cuts in prop::collection::vec(1_usize..400, 0..3),
        terms in prop::collection::vec(0_u8..14, 1..6),
        instead in prop::collection::vec(prop::collection::vec(0_u8..14, 1..4), 1..4),
        weight in 0_u8..=4,
        run in 1_usize..3,
        seed in any::<u64>(),
        depth in 0_usize..30,
    ) {
        // More rows than are looked up one by one.
        let rows = if many { rows.iter().cycle().take(4_200).cloned().collect() } else { rows };
        let (_folder, index) = index(&rows, &cuts);
        let n = rows.len() as u32;
        let name = |terms: &[u8]| terms.iter().map(|term| format!("t{term}")).collect::<Vec<_>>();
        let group = Group {
            asked: name(&terms[..run.min(terms.len())]),
            instead: instead.iter().map(|phrase| name(phrase)).collect(),
            weight: f64::from(weight) / 4.0,
        };
        let query = question(&terms).with_groups(vec![group]);
        let bit = |row: u32| (u64::from(row) ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61;
        let readable = Bitmap::of(n, (0..n).filter(|row| bit(*row) > 2 || *row == 0));
        for scope in [Scope::everyone(n), Scope::restricted(readable)] {
            let slow = grouped(&rows, &query, scope.readable());
            let all: Vec<u32> = (0..n).collect();
            let scores = index.score(&query, &scope, Bm25::default(), &all).unwrap();
            for (slow, score) in slow.iter().zip(&scores) {
                prop_assert!((slow - score).abs() < 1e-9, "{slow} and {score}");
            }
            let mut ranked: Vec<(u32, f64)> = scope.allowed().iter()
                .map(|row| (row, scores[row as usize])).filter(|(_, score)| *score > 0.0).collect();
            ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            ranked.truncate(depth);
            let found = index.search(&query, &scope, Bm25::default(), depth).unwrap();
            prop_assert_eq!(&found, &ranked, "the same bits both ways");
            let bound = index.bound(&query, &scope).unwrap();
            for (row, score) in found.into_iter().take(5) {
                prop_assert!(score <= bound + 1e-9);
                let parts = index.explain(&query, &scope, Bm25::default(), row).unwrap();
                let sum: f64 = parts.iter().map(|part| part.score).sum();
                prop_assert!((sum - score).abs() < 1e-9);
            }
        }
    }
}

/// Two passages that differ in one word: the one with the word that was asked is never behind, at any
/// weight and however rare the other word is.
#[test]
fn a_synonym_never_beats_the_word_that_was_asked() {
    let rows = vec![vec![1, 9, 8], vec![2, 9, 8], vec![1, 7], vec![1], vec![1, 3, 4], vec![3, 4]];
    let (_folder, index) = index(&rows, &[]);
    let scope = Scope::everyone(6);
    for weight in [0.0, 0.5, 1.0] {
        let instead = vec![vec!["t2".to_owned()]];
        let group = Group { asked: vec!["t1".to_owned()], instead, weight };
        let query = question(&[1]).with_groups(vec![group]);
        let scores = index.score(&query, &scope, Bm25::default(), &[0, 1]).unwrap();
        assert!(scores[0] >= scores[1], "{scores:?} at {weight}");
        assert_eq!(scores[1] > 0.0, weight > 0.0);
        let alone = index.score(&question(&[1]), &scope, Bm25::default(), &[0]).unwrap();
        assert_eq!(scores[0], alone[0], "the asked word counts as it did");
    }
}

#[test]
fn headings_are_those_of_the_rows_and_weigh_what_the_scope_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LexicalWriter::create(folder.path(), 64 << 20).unwrap();
    let mark = crate::text::HEADING;
    for (at, terms) in ["lamp\noil", "oil\nlamp", "oil\nwick", "lamp"].iter().enumerate() {
        if at == 2 {
            writer.end_segment();
        }
        // All but the first and the third say their first term in a heading.
        let first = terms.lines().next().unwrap();
        let heading = if at % 2 == 1 { format!("\n{mark}{first}") } else { String::new() };
        writer.add(&format!("{terms}{heading}"), terms.lines().count() as u32).unwrap();
    }
    let manifest = manifest(&[2, 2, 2, 1], writer.finish().unwrap());
    let index = LexicalIndex::open(folder.path(), &manifest, Arc::new(Layout::whole(4))).unwrap();
    let query = Query::new(["lamp", "oil", "oil", "mast"].map(str::to_owned));
    let (lamp, oil) = (Bm25::idf(4, 3), 2.0 * Bm25::idf(4, 3));
    let everyone = Scope::everyone(4);
    assert_eq!(index.headings(&query, &everyone, &[3, 0, 1, 2]).unwrap(), [lamp, 0.0, oil, 0.0]);
    let few = Scope::restricted(Bitmap::of(4, [0, 3]));
    assert_eq!(index.headings(&query, &few, &[3]).unwrap(), [Bm25::idf(2, 2)]);
    let parts = index.explain(&query, &everyone, Bm25::default(), 3).unwrap();
    let said: Vec<(&str, bool)> = parts.iter().map(|p| (p.term.as_str(), p.heading)).collect();
    assert_eq!(said, [("lamp", true), ("oil", false)]);
}

#[test]
fn a_term_with_accents_weighs_one_half_and_one_half_without() {
    let asked = ["caf\u{e9}", "cafe", "caf\u{e9}"].map(str::to_owned);
    let expected = [("cafe".to_owned(), 2.0), ("caf\u{e9}".to_owned(), 1.0)];
    assert_eq!(Query::new(asked).terms(), expected);
}

#[test]
fn the_parts_of_a_code_are_asked_for_only_where_the_code_is_unknown() {
    let analyzer = crate::text::Analyzer::new(&crate::text::Settings::default()).unwrap();
    let query = Query::new(analyzer.asked("SKU-417: page 417"));
    let names: Vec<&str> = query.terms().iter().map(|(term, _)| term.as_str()).collect();
    assert_eq!(names, ["417", "page", "sku", "sku417"]);
    assert_eq!(query.counts(&[9, 9, 9, 0]), [2.0, 1.0, 1.0, 1.0]);
    assert_eq!(query.counts(&[9, 9, 9, 1]), [1.0, 1.0, 0.0, 1.0]);
}

#[test]
fn long_lists_are_pruned_to_the_same_rows() {
    let mut state = 7_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let mut rows: Vec<Vec<u8>> = (0..20_000)
        .map(|_| (0..3 + next() % 12).map(|_| (next() % 200).min(next() % 200) as u8).collect())
        .collect();
    // Far apart, on both sides of where windows and segments end.
    for row in [5, 2_047, 2_048, 4_095, 4_096, 8_959, 8_999, 9_000, 19_999] {
        rows[row].push(250);
    }
    [9_001, 13_000].into_iter().for_each(|row: usize| rows[row].push(251));
    let (_folder, index) = index(&rows, &[9_000, 9_001]);
    // Above what is sought row by row, in runs and one by one.
    let readable = (0..20_000).filter(|row| row % 700 < 300 || row % 3 == 0);
    let scopes = [Scope::everyone(20_000), Scope::restricted(Bitmap::of(20_000, readable))];
    let mixed = [&[0, 1, 150][..], &[5, 190, 199], &[0], &[3, 3, 60, 90, 120, 10, 11]];
    for terms in mixed.into_iter().chain([&[250][..], &[250, 251], &[251, 0, 1]]) {
        let query = question(terms);
        for scope in &scopes {
            let all = exhaustive(&index, &query, scope, Bm25::default()).unwrap();
            for depth in [1, 10, 100] {
                let fast = index.search(&query, scope, Bm25::default(), depth).unwrap();
                assert_eq!(fast, all[..depth.min(all.len())]);
            }
        }
    }
}

#[test]
fn statistics_are_those_of_the_scope() {
    let rows = vec![vec![1, 2], vec![1], vec![1, 1, 3], vec![2, 3, 3, 3]];
    let (_folder, whole) = index(&rows, &[]);
    let readable = Bitmap::of(4, [0, 2]);
    let scoped = whole
        .search(&question(&[1, 2, 3]), &Scope::restricted(readable), Bm25::default(), 10)
        .unwrap();
    let (_folder, twin) = index(&[rows[0].clone(), rows[2].clone()], &[]);
    let alone =
        twin.search(&question(&[1, 2, 3]), &Scope::everyone(2), Bm25::default(), 10).unwrap();
    let renamed: Vec<(u32, f64)> = alone.iter().map(|(row, score)| (row * 2, *score)).collect();
    assert_eq!(scoped, renamed);
}

#[test]
fn an_explanation_adds_up_to_the_score() {
    let rows = vec![vec![1, 2, 2, 9], vec![2, 3], vec![1]];
    let (_folder, index) = index(&rows, &[1]);
    let scope = Scope::everyone(3);
    let query = question(&[1, 2, 7]);
    let found = index.search(&query, &scope, Bm25::default(), 5).unwrap();
    let parts = index.explain(&query, &scope, Bm25::default(), found[0].0).unwrap();
    let sum: f64 = parts.iter().map(|part| part.score).sum();
    assert!((sum - found[0].1).abs() < 1e-12);
}

#[test]
fn a_flipped_byte_in_any_file_is_named() {
    let rows: Vec<Vec<u8>> = (0..300).map(|row| vec![row as u8 % 7, row as u8 % 11]).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LexicalWriter::create(folder.path(), 64 << 20).unwrap();
    for row in &rows {
        writer.add(&format!("t{}\nt{}", row[0], row[1]), 2).unwrap();
    }
    let manifest = manifest(&[2; 300], writer.finish().unwrap());
    let layout = Arc::new(Layout::whole(300));
    for entry in manifest.layers[0].lexical.clone() {
        let path = folder.path().join(&entry.file);
        let good = std::fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        std::fs::write(&path, &bad).unwrap();
        let opened = LexicalIndex::open(folder.path(), &manifest, layout.clone()).unwrap();
        let fault = opened.search(&question(&[1]), &Scope::everyone(300), Bm25::default(), 3);
        assert!(fault.unwrap_err().to_string().contains("does not match its checksum"));
        std::fs::write(&path, &good).unwrap();
    }
}
