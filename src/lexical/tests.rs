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
    let mut writer = LexicalWriter::create(folder.path()).unwrap();
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
    Query::new(terms.iter().map(|term| format!("t{term}")).collect())
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

#[test]
fn long_lists_are_pruned_to_the_same_rows() {
    let mut state = 7_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let rows: Vec<Vec<u8>> = (0..20_000)
        .map(|_| (0..3 + next() % 12).map(|_| (next() % 200).min(next() % 200) as u8).collect())
        .collect();
    let (_folder, index) = index(&rows, &[9_000, 9_001]);
    let scope = Scope::everyone(20_000);
    for terms in [&[0, 1, 150][..], &[5, 190, 199], &[0], &[3, 3, 60, 90, 120, 10, 11]] {
        let query = question(terms);
        let all = exhaustive(&index, &query, &scope, Bm25::default()).unwrap();
        for depth in [1, 10, 100] {
            let fast = index.search(&query, &scope, Bm25::default(), depth).unwrap();
            assert_eq!(fast, all[..depth.min(all.len())]);
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
    let mut writer = LexicalWriter::create(folder.path()).unwrap();
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
