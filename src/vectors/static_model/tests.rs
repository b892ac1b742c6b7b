//! Against the reference of the model, damaged files, and arbitrary texts.

use std::path::PathBuf;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Reference {
    dim: usize,
    tolerance: f32,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../model/reference.json")).unwrap()
}

fn model() -> &'static StaticModel {
    StaticModel::built_in().unwrap()
}

fn embed(texts: &[&str]) -> Embeddings {
    let answer = model().embed(Role::Passage, texts).unwrap();
    answer.checked(model(), texts.len()).unwrap()
}

fn readable(text: &str) -> f32 {
    embed(&[text]).readable[0]
}

fn bits(answer: &Embeddings) -> Vec<u32> {
    answer.rows.iter().chain(&answer.readable).map(|x| x.to_bits()).collect()
}

/// English, other scripts, code, nothing; long enough in sum for several threads.
fn mixed_texts() -> Vec<String> {
    let base: Vec<String> = reference().items.into_iter().map(|item| item.text).collect();
    (0..400).map(|i| base[i % base.len()].repeat(i % 7) + &base[i % 11]).collect()
}

#[test]
fn the_reference_is_met() {
    let reference = reference();
    assert_eq!(reference.items.len(), 20);
    assert_eq!(model().dim(), reference.dim);
    for item in &reference.items {
        assert_eq!(model().pieces().ids(&item.text), item.ids, "{:?}", item.text);
        for (found, expected) in embed(&[&item.text]).rows.iter().zip(&item.vector) {
            assert!((found - expected).abs() <= reference.tolerance, "{:?}", item.text);
        }
    }
}

#[test]
fn the_bits_depend_on_the_text_alone() {
    let texts = mixed_texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let expected: Vec<Embeddings> = texts.iter().map(|text| embed(&[text])).collect();
    let all = embed(&texts);
    for (i, one) in expected.iter().enumerate() {
        assert_eq!(one.rows.row(0), all.rows.row(i));
        assert_eq!(one.readable[0], all.readable[i]);
    }
    for batch in [2, 3, 50, 399] {
        let parts: Vec<u32> = texts
            .chunks(batch)
            .flat_map(|part| embed(part).rows.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
            .collect();
        assert_eq!(parts, bits(&all)[..parts.len()], "batches of {batch}");
    }
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(bits(&pool.install(|| embed(&texts))), bits(&all), "{threads} threads");
    }
    assert_eq!(embed(&[]).rows.dim(), (0, 256));
}

/// The bits of one text, as found when it was written: fails on a machine that computes otherwise.
#[test]
fn the_bits_are_those_of_every_machine() {
    let answer = embed(&["What causes high blood pressure?"]);
    let bytes: Vec<u8> = answer.rows.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(&blake3::hash(&bytes).to_hex()[..16], "ecd3f0e7bbb20bda");
}

#[test]
fn english_is_readable_and_other_scripts_are_not() {
    for text in [
        "How long is the warranty for refurbished devices?",
        "Where did Super Bowl 50 take place?",
        "what problems of heat conduction in composite slabs have been solved so far .",
        "A retrieval engine combines lexical and semantic search, doesn't it?",
    ] {
        assert!(readable(text) >= 0.95, "{text}: {}", readable(text));
    }
    for text in [
        "丹佛野马队的防守组有多少次擒杀？",
        "日本で梅雨がないのは北海道とどこか。",
        "Πόσους πόντους έχασε η άμυνα;",
        "Сколько очков уступила защита?",
        "كم عدد النقاط التي خسرها الدفاع؟",
        "수비진은 몇 점을 허용했습니까?",
        "रक्षा ने कितने अंक गंवाए?",
        "มีกี่คะแนน",
        "E-417",
        "🙂🙂",
        "2024-11-30 17:05",
        "...",
        "",
    ] {
        assert!(readable(text) <= 0.1, "{text}: {}", readable(text));
    }
    for text in [
        "Wie lange gilt die Gewährleistung für überholte Geräte?",
        "¿Cuántos puntos cedió la defensa de los Panthers?",
        "Savunma kaç sayı verdi?",
    ] {
        assert!(readable(text) <= 0.75, "{text}: {}", readable(text));
    }
    assert!(readable("What does error E-417 mean?") >= 0.95);
    // A rare word crumbles in English too.
    assert!(readable("The mitochondrion is the powerhouse of the cell.") >= 0.85);
    assert!(readable("WARR-R2-3") <= 0.3);
    assert!(readable("AtlasCloud 的退款政策是什么？") <= 0.5);
}

#[test]
fn the_id_is_that_of_the_files() {
    assert_eq!(model().id(), format!("static-256@{}", digest(MODEL, VOCABULARY)));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/vectors/model");
    let opened = StaticModel::open(&folder).unwrap();
    assert_eq!(opened.id(), model().id());
    let text = ["memory safety without garbage collection"];
    assert_eq!(opened.embed(Role::Query, &text).unwrap(), embed(&text));
}

#[test]
fn damaged_files_are_named() {
    let fault = |file: Vec<u8>, vocabulary: Vec<u8>| {
        let made = StaticModel::new(
            Path::new("m"),
            Cow::Owned(file),
            Cow::Owned(vocabulary),
            String::new(),
        );
        made.unwrap_err().to_string()
    };
    let cut = fault(MODEL[..MODEL.len() - 1].to_vec(), VOCABULARY.to_vec());
    let path = PathBuf::from("m").join(MODEL_FILE);
    assert!(cut.starts_with(&format!("{}: `embedding.weight` ends", path.display())), "{cut}");
    let mut flipped = MODEL.to_vec();
    flipped[8] ^= 0x20; // the brace that opens the header
    assert!(fault(flipped, VOCABULARY.to_vec()).contains("the header of the safetensors file"));
    let two_lines = VOCABULARY[..13].to_vec();
    assert!(fault(MODEL.to_vec(), two_lines).contains("no line is `[UNK]`"));
    let more = [VOCABULARY, b"one more piece\n"].concat();
    let more = fault(MODEL.to_vec(), more);
    assert!(more.contains("30522 rows, but vocab.txt has 30523 pieces"), "{more}");
    let missing = StaticModel::open(Path::new("/no/such/folder")).unwrap_err().to_string();
    assert!(missing.starts_with("reading /no/such/folder/model.safetensors"), "{missing}");
}

proptest! {
    #[test]
    fn any_text_gives_a_unit_or_zero_vector(text in any::<String>()) {
        embed(&[&text]);
    }

    #[test]
    fn pieces_of_words_do_not_depend_on_the_space_between(
        words in prop::collection::vec("[a-zA-Zé日ñ😀.,0-9-]{1,12}", 0..20),
    ) {
        let apart: Vec<u32> = words.iter().flat_map(|w| model().pieces().ids(w)).collect();
        prop_assert_eq!(model().pieces().ids(&words.join(" \t\u{3000}")), apart);
    }
}
