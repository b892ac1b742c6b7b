//! Another model than the one in the program.

use super::session::session;

#[test]
fn model_wrong() {
    let mut s = session!();
    s.pumps();
    for wrong in [
        "model.max_tokens=2",
        "model.threads=1000",
        "model.pooling=max",
        "model.query_prefix=query",
        "model.pat=minilm",
        "search.readable_from=2",
        "search.readable_full=0.4",
    ] {
        assert_eq!(s.run(&format!("search seals --setting {wrong}")).code, 4, "{wrong}");
    }
}

#[cfg(not(feature = "transformer"))]
#[test]
fn model_without_the_feature() {
    let mut s = session!();
    s.pumps();
    assert_eq!(s.run("search seals --setting model.path=minilm").code, 4);
    s.say("a static model that is damaged");
    s.write("static/model.safetensors", "none");
    s.write("static/vocab.txt", "[UNK]\n");
    assert_eq!(s.run("search seals --setting model.path=static").code, 4);
}

#[cfg(feature = "transformer")]
#[test]
fn model_of_an_encoder_that_is_not_all_there() {
    let mut s = session!();
    s.pumps();
    let set = "search seals --setting model.path=minilm";
    s.say("no folder");
    assert_eq!(s.run(set).code, 4);
    s.say("a folder without a library");
    let tokenizer = include_str!("../../src/vectors/encoder/tokenizer.example.json");
    s.write("minilm/model.onnx", "no network");
    s.write("minilm/config.json", r#"{"hidden_size": 8}"#);
    s.write("minilm/tokenizer.json", tokenizer);
    assert_eq!(s.run(set).code, 4);
    s.say("a library that is not there");
    let named = format!("{set} --setting model.runtime=lib/libonnxruntime.so");
    assert_eq!(s.run(&named).code, 4);
    s.say("a tokenizer of another kind");
    s.write("minilm/tokenizer.json", tokenizer.replace("WordPiece", "Unigram"));
    assert_eq!(s.run(&named).code, 4);
}
