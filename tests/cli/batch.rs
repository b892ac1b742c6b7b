//! Vectors that a corpus brings, and many requests in one go.

use std::fmt::Write as _;

use super::session::{Session, session};

/// Four passages whose vectors point along the axes, and say the contrary of their words.
const LINES: &str = concat!(
    "{\"_id\": \"oil\", \"text\": \"The pump needs a litre of oil.\", \"kind\": \"pump\"}\n",
    "{\"_id\": \"hose\", \"text\": \"A hose is laid without a kink.\", \"kind\": \"hose\"}\n",
    "{\"_id\": \"seal\", \"text\": \"A dry seal whistles in the pump.\", \"kind\": \"pump\"}\n",
    "{\"_id\": \"valve\", \"text\": \"The valve opens to the left.\", \"kind\": \"valve\"}\n",
);

/// A `.npy` file of `f32` rows.
fn npy(rows: &[[f32; 4]]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 4), }}", rows.len());
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|number| number.to_le_bytes()));
    bytes
}

const AXES: [[f32; 4]; 4] =
    [[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.5, 0.5]];

fn outside(s: &Session) {
    s.write(
        "atlas.toml",
        "index = \"index\"\n[vectors]\nfile = \"vectors.npy\"\n[layers]\nrewrite_percent = 100\n",
    );
    s.write("corpus.jsonl", LINES);
    s.write("vectors.npy", npy(&AXES));
}

#[test]
fn vectors_from_outside() {
    let mut s = session!();
    outside(&s);
    s.run("build");
    s.write("q.npy", npy(&[[0.0, 0.1, 0.0, 0.9]]));
    s.say("a question with its vector: `valve` is nearest, the words are the hose's");
    s.run("search 'kink in a hose' -k 2 --vector q.npy --mode dense");
    s.run("search 'kink in a hose' -k 2 --vector q.npy --explain");
    s.say("without one, the words alone; and no dense search");
    s.run("search 'kink in a hose' -k 2 --explain");
    assert_eq!(s.run("search 'kink in a hose' --mode dense").code, 4);
    s.say("one row has changed: what it belongs to is written, the rest taken over");
    let mut rows = AXES;
    rows[1] = [0.0, 1.0, 0.0, 1.0];
    s.write("vectors.npy", npy(&rows));
    let built = s.run("build");
    assert!(built.stdout.contains("1 passage, 1 dropped"), "{}", built.stdout);
    s.run("search hose -k 1 --vector q.npy --mode dense");
    assert_eq!(s.run("verify --against-rebuild").code, 0);
    s.say("and back to the built-in model");
    s.write("atlas.toml", "index = \"index\"\n");
    s.run("search 'kink in a hose' -k 1 --mode dense");
}

#[test]
fn vectors_that_are_none() {
    let mut s = session!();
    outside(&s);
    let mut rows = AXES;
    rows[2][1] = f32::NAN;
    s.write("vectors.npy", npy(&rows));
    assert_eq!(s.run("build").code, 4);
    s.write("vectors.npy", npy(&[AXES[0], [0.0; 4], AXES[2], AXES[3]]));
    assert_eq!(s.run("build").code, 4);
    s.write("vectors.npy", npy(&AXES[..3]));
    assert_eq!(s.run("build").code, 4);
    s.write("vectors.npy", &npy(&AXES)[..150]);
    assert_eq!(s.run("build").code, 4);
    s.write("vectors.npy", npy(&AXES));
    for set in ["vectors.dim=3", "vectors.file=gone.npy", "reading.json.vector=v"] {
        assert_eq!(s.run(&format!("build --setting {set}")).code, 4, "{set}");
    }
    s.write("atlas.toml", "index = \"index\"\n[vectors]\ndim = 4\n");
    assert_eq!(s.run("build").code, 4);
    s.write("q.npy", npy(&AXES[..2]));
    s.write("atlas.toml", "index = \"index\"\n");
    assert_eq!(s.run("search hose --vector q.npy").code, 4);
    s.write("q.npy", npy(&AXES[..1]));
    s.say("of another length than the built-in model's");
    assert_eq!(s.run("search hose --vector q.npy").code, 4);
}

#[test]
fn vectors_in_json() {
    let mut s = session!();
    s.write(
        "atlas.toml",
        "corpus = \"docs\"\nindex = \"index\"\n[reading.json]\nid = \"key\"\nvector = \"v\"\n",
    );
    let lines = "{\"key\": \"a\", \"text\": \"One.\", \"v\": [1, 0]}\n{\"key\": \"b\", \"text\": \"Two.\", \"v\": [0.5, 0.5]}\n";
    s.write("docs/x.jsonl", lines);
    assert_eq!(s.run("build").code, 0);
    s.write("batch.jsonl", "{\"vector\": [0.6, 0.8], \"mode\": \"dense\"}\n");
    s.run("search --batch batch.jsonl --threads 1");
    s.say("one of another length, one that is no list, one without");
    s.write("docs/x.jsonl", lines.replace("[0.5, 0.5]", "[1, 2, 3]"));
    assert_eq!(s.run("build").code, 4);
    s.write("docs/x.jsonl", lines.replace("[0.5, 0.5]", "[1, null]"));
    assert_eq!(s.run("build --strict").code, 4);
    s.write("docs/x.jsonl", lines.replace(", \"v\": [0.5, 0.5]", ""));
    assert_eq!(s.run("build").code, 4);
}

#[test]
fn search_batch() {
    let mut s = session!();
    outside(&s);
    s.prepare("build");
    s.write(
        "batch.jsonl",
        concat!(
            "{\"id\": \"q1\", \"question\": \"kink in a hose\", \"k\": 2, \"mode\": \"lexical\"}\n\n",
            "{\"question\": \"pump\", \"filter\": \"kind=pump\", \"vector\": [0, 0, 1, 0.2]}\n",
            "{\"id\": 7, \"question\": \"pump\", \"filter\": [\"kind=pump,hose\"], \"mode\": \"dense\"}\n",
            "{\"id\": \"q4\", \"questoin\": \"pump\"}\n",
            "{\"id\": \"q5\", \"question\": \"pump\", \"k\": 0}\n",
            "{\"id\": \"q6\", \"question\": \"pump\", \"vector\": [0, 0, 0, 0]}\n",
            "{\"id\": \"q7\", \"question\": \"valve\", \"vector\": [1, 1]}\n",
            "not JSON\n",
            "{\"id\": \"q9\", \"question\": \"valve\", \"mode\": \"lexical\", \"as\": \"anyone\"}\n",
        ),
    );
    assert_eq!(s.run("search --batch batch.jsonl -k 1 --threads 2").code, 4);
    s.run("search --batch batch.jsonl -k 1 --vectors vectors.npy");
    s.write("one.jsonl", "{\"id\": \"q1\", \"question\": \"hose\"}\n");
    s.run("search --batch one.jsonl --texts --mode lexical --threads 1 --warm-up 2");
    let told = s.prepare("search --batch one.jsonl --mode lexical --threads 1 --format json");
    let keys = |json: &str| -> Vec<String> {
        let value: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&told.stdout), ["id", "hits", "total_us", "stages_us"]);
    let of_all = ["requests", "failed", "threads", "wall_s", "cpu_s", "requests_per_second"];
    assert_eq!(keys(told.stderr.lines().last().unwrap()), of_all);
    s.say("arguments that do not go together");
    s.run("search --batch one.jsonl hose");
    s.run("search");
    for only in ["--threads 2", "--texts", "--timings", "--warm-up 1", "--vectors q.npy"] {
        assert_eq!(s.run(&format!("search hose {only}")).code, 4, "{only}");
    }
    s.run("search --batch one.jsonl --threads 0");
}

/// Hundreds of requests, most of them of the built-in project, some that fail.
#[test]
fn a_batch_is_the_same_on_any_number_of_threads() {
    let s = session!();
    s.bikes();
    s.prepare("build");
    let (mut lines, words) =
        (String::new(), ["brake", "E-417", "charger", "warranty", "Größe", ""]);
    for at in 0..180 {
        let (word, k) = (words[at % words.len()], at % 8);
        let mode = ["hybrid", "lexical", "dense"][at / 7 % 3];
        writeln!(lines, "{{\"question\": \"{word} {at}\", \"k\": {k}, \"mode\": \"{mode}\"}}")
            .unwrap();
    }
    s.write("batch.jsonl", &lines);
    let one = s.prepare("search --batch batch.jsonl --threads 1");
    assert_eq!((one.stdout.lines().count(), one.code), (180, 4));
    assert_eq!(one.stdout.matches("\"error\"").count(), 23, "{}", one.stdout);
    assert!(one.stderr.contains("180 requests, 23 failed"), "{}", one.stderr);
    for threads in [2, 5] {
        let more = s.prepare(&format!("search --batch batch.jsonl --threads {threads}"));
        assert_eq!((more.stdout == one.stdout, more.code), (true, 4), "{threads} threads");
    }
    // Each line is what a search by itself finds.
    let alone = s.prepare("search 'warranty 9' -k 1 --mode lexical --format json");
    let alone: serde_json::Value = serde_json::from_str(&alone.stdout).unwrap();
    let line: serde_json::Value = serde_json::from_str(one.stdout.lines().nth(9).unwrap()).unwrap();
    let hits = |of: &serde_json::Value| -> Vec<(serde_json::Value, serde_json::Value)> {
        let hits = of["hits"].as_array().unwrap().iter();
        hits.map(|hit| (hit["reference"].clone(), hit["score"].clone())).collect()
    };
    assert_eq!((hits(&line), line["id"].as_u64()), (hits(&alone), Some(10)));
    assert_eq!(hits(&line).len(), 1);
}
