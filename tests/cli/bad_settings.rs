//! `atlas.toml` with a fault.

use super::session::session;

#[test]
fn settings_wrong() {
    let mut s = session!();
    s.pumps();
    for text in [
        "corpus = \"docs\"\n\n[search]\nmin_scor = 0.3\n",
        "corpus = \"docs\"\nzzz = 1\n",
        "corpus = \"docs\"\n\n[serch]\nk = 3\n",
        "corpus = 5\n",
        "corpus = \"docs\"\n\n[search]\nk = \"five\"\n",
        "corpus = \"docs\"\n\n[search]\nk = -1\n",
        "corpus = \"docs\"\n\n[search]\ndense = \"fast\"\n",
        "corpus = \"docs\"\ncorpus = \"other\"\n",
        "corpus = \"docs\n",
        "[search\n",
    ] {
        s.write("atlas.toml", text);
        s.say(&format!("atlas.toml: {}", text.trim_end().replace('\n', " ⏎ ")));
        assert_eq!(s.run("search seals").code, 4, "{text}");
    }
    s.say("it is not UTF-8");
    s.write("atlas.toml", b"corpus = \"d\xff\"\n");
    assert_eq!(s.run("search seals").code, 4);
}

#[test]
fn settings_out_of_range() {
    let mut s = session!();
    s.pumps();
    for wrong in [
        "search.k=0",
        "search.k=101",
        "search.depth=0",
        "search.min_score=1.5",
        "search.window_tokens=0",
        "passage.max_tokens=1",
        "passage.overlap_tokens=9000",
        "text.language=klingon",
        "search.alpha=2",
        "search.fusion=sum",
        "search.rrf_k=0",
        "search.ef=1",
        "search.bm25.b=-1",
        "search.bm25.k1=5000",
        "search.synonym_weight=2",
        "search.duplicates=2",
        "search.diversity=-0.1",
        "search.neighbours=101",
        "search.cue_weight=1.5",
        "search.cues=product",
        "graph.builder=faiss",
        "graph.m=1",
        "graph.ef_construction=0",
    ] {
        assert_eq!(s.run(&format!("search seals --setting {wrong}")).code, 4, "{wrong}");
    }
}

#[test]
fn synonyms_that_cannot_be_used() {
    let mut s = session!();
    s.pumps();
    let mut wrong = |text: &[u8]| {
        s.write("words.txt", text);
        assert_eq!(s.run("search seals --setting search.synonyms=words.txt").code, 4);
    };
    wrong(b"# fine\npump, compressor\nlonely\n");
    wrong(b"a => b => c\n");
    wrong(b"pump =>\n");
    wrong(b"pump, !?\n");
    wrong(b"pump, \xff\n");
    s.run("search seals --setting search.synonyms=gone.txt");
}
