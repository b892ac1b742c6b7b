use super::*;
use crate::corpus::{self, BodyForm, Corpus};

/// A `.npy` file of version 1 as numpy writes it.
fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn fvecs(rows: &[&[f32]]) -> Vec<u8> {
    let row = |row: &&[f32]| [(row.len() as i32).to_le_bytes().to_vec(), f32s(row)].concat();
    rows.iter().flat_map(row).collect()
}

fn read(name: &str, bytes: &[u8]) -> Result<Vec<Box<[f32]>>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    VectorFile::open(&path)?.read_all()
}

#[test]
fn rows_come_to_unit_length_from_every_kind_of_file() {
    let expected: Vec<Box<[f32]>> = vec![Box::new([0.6, 0.8]), Box::new([0.0, -1.0])];
    let numbers = [3.0, 4.0, 0.0, -2.5];
    let wide: Vec<u8> = numbers.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect();
    assert_eq!(read("v.npy", &npy("<f4", "False", "2, 2", &f32s(&numbers))).unwrap(), expected);
    assert_eq!(read("v.NPY", &npy("<f8", "False", "2, 2", &wide)).unwrap(), expected);
    let rows: [&[f32]; 2] = [&numbers[..2], &numbers[2..]];
    assert_eq!(read("v.fvecs", &fvecs(&rows)).unwrap(), expected);
    // Far from 1 in both directions: the length is summed in f64.
    let far = unit([1e30, 1e30].into_iter()).unwrap();
    assert_eq!(far, unit([1e-40, 1e-40].into_iter()).unwrap());
}

#[test]
fn each_bad_file_is_told_by_what_is_wrong_with_it() {
    let good = f32s(&[3.0, 4.0, 0.0, -2.5]);
    let (nan, inf) = (f32s(&[1.0, 1.0, 1.0, f32::NAN]), f32s(&[f32::INFINITY, 1.0]));
    let huge: Vec<u8> = [1.0, 1e300f64].iter().flat_map(|x| x.to_le_bytes()).collect();
    let odd: [&[f32]; 2] = [&[1.0, 0.0, 0.0], &[1.0, 0.0]];
    let mut odd = fvecs(&odd);
    odd.extend([0; 4]);
    let cases: [(&str, Vec<u8>, &str); 16] = [
        ("v.txt", good.clone(), "it is neither `.npy` nor `.fvecs`"),
        ("v.npy", b"\x93NUM".to_vec(), "it ends too early"),
        ("v.npy", [0; 80].to_vec(), "it does not begin as a `.npy` file"),
        ("v.npy", npy(">f4", "False", "2, 2", &good), "its numbers are `>f4`; save a 2-d array"),
        ("v.npy", npy("<f2", "False", "2, 2", &good), "its numbers are `<f2`"),
        ("v.npy", npy("<f4", "True", "2, 2", &good), "it is in Fortran order"),
        ("v.npy", npy("<f4", "False", "4,", &good), "its shape is (4,)"),
        ("v.npy", npy("<f4", "False", "1, 2, 2", &good), "its shape is (1, 2, 2)"),
        ("v.npy", npy("<f4", "False", "4, 0", &[]), "a row holds 0 numbers"),
        ("v.npy", npy("<f4", "False", "3, 2", &good), "where 3 rows of 2 numbers take"),
        ("v.npy", npy("<f4", "False", "1, 2", &good), "where 1 rows of 2 numbers take"),
        (
            "v.npy",
            npy("<f4", "False", "2, 2", &nan),
            "row 1 holds NaN at place 1, which is no finite",
        ),
        ("v.npy", npy("<f4", "False", "1, 2", &inf), "row 0 holds inf at place 0"),
        ("v.npy", npy("<f8", "False", "1, 2", &huge), "row 0 holds 1000000000000"),
        ("v.npy", npy("<f4", "False", "2, 2", &[0; 16]), "row 0 holds nothing but zeros"),
        ("v.fvecs", odd, "row 1 says that it holds 2 numbers, and row 0 holds 3"),
    ];
    for (name, bytes, expected) in cases {
        let said = read(name, &bytes).unwrap_err().to_string();
        assert!(said.contains(&format!("{name}: ")) && said.contains(expected), "{said}");
    }
}

/// A folder with the given files, read with rows in `v.npy`.
fn corpus_of(files: &[(&str, &[u8])], ids: bool) -> Result<Corpus> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    let vectors = VectorFiles { file: at("v.npy"), ids: ids.then(|| at("ids.txt")) };
    let settings = CorpusSettings { vectors: Some(vectors), ..CorpusSettings::default() };
    corpus::read(folder.path(), &settings)
}

fn vector_of(corpus: &Corpus, id: &str) -> Vec<f32> {
    corpus.document(id).unwrap().vector.as_ref().unwrap().to_vec()
}

#[test]
fn a_row_belongs_to_its_record_or_to_its_id() {
    let rows = npy("<f4", "False", "2, 2", &f32s(&[1.0, 0.0, 0.0, 1.0]));
    let lines = b"{\"_id\": \"b\", \"text\": \"x\"}\n\n{\"_id\": \"a\", \"text\": \"y\"}\n";
    let set = corpus_of(&[("corpus.jsonl", lines), ("v.npy", &rows)], false).unwrap();
    assert_eq!((vector_of(&set, "b"), vector_of(&set, "a")), (vec![1.0, 0.0], vec![0.0, 1.0]));
    let paths: Vec<&str> = set.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["corpus.jsonl", "v.npy"]);
    let plain: [(&str, &[u8]); 4] =
        [("a.txt", b"one"), ("b.txt", b"two"), ("v.npy", &rows), ("ids.txt", b"b\nother\n")];
    let read = corpus_of(&plain, true).unwrap();
    // The file of ids is no document, and a row that no document asks for is left.
    let ids: Vec<&str> = read.documents.iter().map(|document| document.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(vector_of(&read, "b"), [1.0, 0.0]);
    assert_eq!((&read.documents[0].vector, read.skipped.len()), (&None, 0));
    let said = corpus_of(&plain, false).unwrap_err().to_string();
    assert!(said.ends_with("name a file of ids, one a line, with vectors.ids"), "{said}");
}

#[test]
fn rows_and_documents_must_be_as_many() {
    let rows = npy("<f4", "False", "2, 2", &f32s(&[1.0, 0.0, 0.0, 1.0]));
    let one = b"{\"_id\": \"b\", \"text\": \"x\"}\n";
    let said = corpus_of(&[("corpus.jsonl", one), ("v.npy", &rows)], false).unwrap_err();
    assert!(said.to_string().contains("v.npy: 2 rows for 1 records"), "{said}");
    let of = |ids: &'static [u8]| {
        corpus_of(&[("a.txt", b"one"), ("v.npy", &rows), ("ids.txt", ids)], true)
            .unwrap_err()
            .to_string()
    };
    assert!(of(b"a\n").contains("2 rows for the 1 lines of"));
    assert!(of(b"a\na\n").contains("ids.txt:2: the id `a` stands on line 1 too"));
}

#[test]
fn a_vector_is_part_of_what_a_document_is() {
    let mut document = Document {
        id: "a".into(),
        title: String::new(),
        metadata: corpus::Metadata::default(),
        body: "x".into(),
        form: BodyForm::Plain,
        source: corpus::Source::file("a", 1, 0),
        vector: None,
    };
    let mut digests = vec![document.digest()];
    for vector in [[1.0, 0.0], [0.0, 1.0]] {
        document.vector = Some(Box::new(vector));
        digests.push(document.digest());
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 3);
}

#[test]
fn files_are_named_as_seen_from_the_corpus() {
    let seen = |folder: &str, file: &str| seen_from(Path::new(folder), Path::new(file));
    assert_eq!(seen("/p/docs", "/p/docs/./v.npy"), "v.npy");
    assert_eq!(seen("/p/docs", "/p/v.npy"), "../v.npy");
    assert_eq!(seen("docs", "/data/v.npy"), "/data/v.npy");
}
