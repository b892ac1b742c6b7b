//! What needs no library, and, where one is named, an encoder held to its reference.
//!
//! `ATLAS_ENCODER` names a folder that `tools/model/encoder.py` wrote, `ORT_DYLIB_PATH` the library of
//! ONNX Runtime; without them the tests that need them say so and end.

use std::fs;

use serde::Deserialize;

use super::*;

/// A folder whose files can be read, though its network is none.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tokenizer = include_str!("tokenizer.example.json");
    for (name, text) in [
        (NETWORK_FILE, "no network"),
        (TOKENIZER_FILE, tokenizer),
        (
            CONFIG_FILE,
            r#"{"hidden_size": 8, "max_position_embeddings": 512, "model_type": "bert"}"#,
        ),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn settings(folder: &Path) -> ModelSettings {
    ModelSettings {
        path: Some(folder.to_owned()),
        runtime: Some(folder.join("libonnxruntime.so")),
        ..ModelSettings::default()
    }
}

fn fault(settings: &ModelSettings, folder: &Path) -> String {
    let said = match Encoder::open(settings) {
        Ok(encoder) => encoder.embed(Role::Query, &["a pump"]).unwrap_err().to_string(),
        Err(fault) => fault.to_string(),
    };
    said.replace(&folder.display().to_string(), "DIR")
}

#[test]
fn what_is_missing_is_named_with_the_way_out() {
    let own = folder();
    let folder = own.path();
    let good = settings(folder);
    let said = fault(&good, folder);
    assert!(
        said.starts_with("DIR/libonnxruntime.so: there is no library of ONNX Runtime"),
        "{said}"
    );
    assert!(said.contains("model.runtime"), "{said}");
    fs::write(folder.join("libonnxruntime.so"), "no library").unwrap();
    let said = fault(&good, folder);
    // Another test of this process may have loaded a real one before.
    let known = ["it is no library of ONNX Runtime that can be used", "this process has loaded"];
    assert!(known.iter().any(|known| said.contains(known)), "{said}");
    let said = fault(&ModelSettings { runtime: None, ..good.clone() }, folder);
    assert!(said.starts_with("model.runtime is not set; expected the path of"), "{said}");
    let said = fault(&ModelSettings { max_tokens: 513, ..good.clone() }, folder);
    assert_eq!(
        said,
        "model.max_tokens is 513; expected at most the 512 tokens that the model knows"
    );
    fs::write(folder.join(CONFIG_FILE), "{}").unwrap();
    assert!(
        fault(&good, folder).contains("config.json: not the configuration of a model (missing")
    );
    fs::write(folder.join(CONFIG_FILE), r#"{"hidden_size": 0}"#).unwrap();
    assert!(fault(&good, folder).contains("hidden_size is 0"));
    fs::remove_file(folder.join(TOKENIZER_FILE)).unwrap();
    let said = fault(&good, folder);
    let expected = "model.path is `DIR`, which has no tokenizer.json; expected a folder with \
                    model.onnx, tokenizer.json and config.json";
    assert_eq!(said, expected);
}

#[test]
fn the_id_is_that_of_the_files_and_of_what_shapes_a_vector() {
    let own = folder();
    let folder = own.path();
    let good = settings(folder);
    let id = |settings: &ModelSettings| Encoder::open(settings).unwrap().id().to_owned();
    let first = id(&good);
    assert!(first.starts_with("onnx-8@") && first.len() == "onnx-8@".len() + 16, "{first}");
    assert_eq!(
        id(&ModelSettings { threads: 3, runtime: Some("other".into()), ..good.clone() }),
        first
    );
    let mut ids = vec![first.clone()];
    ids.push(id(&ModelSettings { pooling: Pooling::Cls, ..good.clone() }));
    ids.push(id(&ModelSettings { max_tokens: 128, ..good.clone() }));
    ids.push(id(&ModelSettings { query_prefix: "query: ".to_owned(), ..good.clone() }));
    ids.push(id(&ModelSettings { passage_prefix: "query: ".to_owned(), ..good.clone() }));
    fs::write(folder.join(WEIGHT_FILES[0]), "weights").unwrap();
    ids.push(Encoder::new(folder, &good).unwrap().id().to_owned());
    fs::remove_file(folder.join(WEIGHT_FILES[0])).unwrap();
    fs::write(folder.join(NETWORK_FILE), "another network").unwrap();
    ids.push(id(&good));
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
    fs::write(folder.join(NETWORK_FILE), "no network").unwrap();
    assert_eq!(Encoder::new(folder, &good).unwrap().id(), first);
}

#[test]
fn texts_of_equal_length_go_together_and_none_is_lost() {
    let lengths = [3, 5, 3, 0, 600, 3, 5, 600];
    let read: Vec<(Vec<i64>, f32)> =
        lengths.iter().enumerate().map(|(i, length)| (vec![i as i64; *length], 1.0)).collect();
    let batches = batches(&read);
    let shapes: Vec<(usize, Vec<usize>)> =
        batches.iter().map(|batch| (batch.tokens, batch.places.clone())).collect();
    let expected = [(600, vec![4]), (600, vec![7]), (5, vec![1, 6]), (3, vec![0, 2, 5])];
    assert_eq!(shapes, expected);
    for batch in &batches {
        let ids: Vec<i64> =
            batch.places.iter().flat_map(|place| vec![*place as i64; batch.tokens]).collect();
        assert_eq!(batch.ids, ids);
    }
    let many: Vec<(Vec<i64>, f32)> = vec![(vec![1; 8], 1.0); 200];
    let sizes: Vec<usize> = super::batches(&many).iter().map(|batch| batch.places.len()).collect();
    assert_eq!(sizes, [128, 72]);
}

#[test]
fn pooling_gives_length_one() {
    let states = [3.0, 0.0, 0.0, 4.0];
    assert_eq!(pool(Pooling::Mean, &states, 2), [0.6, 0.8]);
    assert_eq!(pool(Pooling::Cls, &states, 2), [1.0, 0.0]);
    assert_eq!(pool(Pooling::Mean, &[1.0, -1.0], 1), [0.0]);
}

#[derive(Deserialize)]
struct Reference {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: String,
    ids: Vec<i64>,
    vector: Vec<f32>,
}

/// The encoder of the environment and its reference, or a word about why there is none.
fn real() -> Option<(ModelSettings, Reference)> {
    let (path, runtime) = (std::env::var_os("ATLAS_ENCODER"), std::env::var_os("ORT_DYLIB_PATH"));
    let (Some(path), Some(runtime)) = (path, runtime) else {
        eprintln!(
            "skipped: ATLAS_ENCODER names no folder of tools/model/encoder.py, or ORT_DYLIB_PATH no library"
        );
        return None;
    };
    let (path, runtime) = (Some(PathBuf::from(path)), Some(PathBuf::from(runtime)));
    let reference = fs::read_to_string(path.as_ref().unwrap().join("reference.json")).unwrap();
    let settings = ModelSettings { path, runtime, threads: 2, ..ModelSettings::default() };
    Some((settings, serde_json::from_str(&reference).unwrap()))
}

fn embed(encoder: &Encoder, role: Role, texts: &[&str]) -> Embeddings {
    encoder.embed(role, texts).unwrap().checked(encoder, texts.len()).unwrap()
}

#[test]
fn the_reference_is_met() {
    let Some((settings, reference)) = real() else { return };
    let encoder = Encoder::open(&settings).unwrap();
    assert!(reference.items.len() >= 10);
    let texts: Vec<&str> = reference.items.iter().map(|item| item.text.as_str()).collect();
    let embedded = embed(&encoder, Role::Passage, &texts);
    for (item, row) in reference.items.iter().zip(embedded.rows.rows()) {
        assert_eq!(encoder.ids(Role::Passage, &item.text), item.ids, "{:?}", item.text);
        let cosine: f32 = row.iter().zip(&item.vector).map(|(a, b)| a * b).sum();
        assert!(cosine >= 0.999, "{cosine} for {:?}", item.text);
    }
}

#[test]
fn the_bits_depend_on_the_text_alone() {
    let Some((settings, reference)) = real() else { return };
    let encoder = Encoder::open(&settings).unwrap();
    // Many of one length, and all between 3 and 60 tokens.
    let mut texts: Vec<String> = (0..60).map(|i| format!("{} pumps", "new ".repeat(i))).collect();
    texts.extend((0..60).map(|i| format!("pump number {i} is old")));
    texts.extend(reference.items.into_iter().map(|item| item.text));
    texts.push(String::new());
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = embed(&encoder, Role::Passage, &texts);
    let one = ModelSettings { threads: 1, ..settings.clone() };
    let alone = Encoder::new(one.path.as_ref().unwrap(), &one).unwrap();
    for (text, row) in texts.iter().zip(together.rows.rows()) {
        assert_eq!(embed(&alone, Role::Passage, &[text]).rows.row(0), row, "{text:?}");
    }
    assert!(together.rows.rows().into_iter().next_back().unwrap().iter().all(|x| *x == 0.0));
}

#[test]
fn prefix_pooling_and_cut_do_what_they_say() {
    let Some((settings, _)) = real() else { return };
    let row = |settings: &ModelSettings, role, text| {
        let encoder = Encoder::new(settings.path.as_ref().unwrap(), settings).unwrap();
        embed(&encoder, role, &[text]).rows.row(0).to_vec()
    };
    let prefixed = ModelSettings { query_prefix: "query: ".to_owned(), ..settings.clone() };
    let plain = row(&settings, Role::Query, "an old pump");
    assert_ne!(row(&prefixed, Role::Query, "an old pump"), plain);
    assert_eq!(
        row(&prefixed, Role::Query, "an old pump"),
        row(&settings, Role::Query, "query: an old pump")
    );
    assert_eq!(row(&prefixed, Role::Passage, "an old pump"), plain);
    let cls = ModelSettings { pooling: Pooling::Cls, ..settings.clone() };
    assert_ne!(row(&cls, Role::Query, "an old pump"), plain);
    let short = ModelSettings { max_tokens: 5, ..settings.clone() };
    assert_eq!(row(&short, Role::Query, "an old pump that leaks"), plain);
}
