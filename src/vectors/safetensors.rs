//! The two tensors of a static model, out of a `.safetensors` file.
//!
//! The file is: the length of the header (8 bytes, little-endian), the header (a JSON object that
//! gives dtype, shape and byte range of each tensor), the tensors, row-major and little-endian.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::vocabulary::FRESH_COPY;
use crate::error::{Error, Result};

/// The table of the vectors: `i8`, `[pieces × dim]`.
const WEIGHT: &str = "embedding.weight";
/// The factor of each row: `f32`, `[pieces]`.
const SCALE: &str = "embedding.scale";
/// Larger factors come from damage: they could make a sum of a long text infinite.
const MOST_SCALE: f32 = 1e6;

/// What a file holds, checked: every length fits the file and the other tensor.
#[derive(Debug)]
pub(super) struct Table {
    /// `[pieces]`, each finite and not negative.
    pub(super) scales: Vec<f32>,
    /// Numbers of a row, at least 1.
    pub(super) dim: usize,
    /// The bytes of the file that are the rows: `pieces × dim` of `i8`.
    pub(super) rows: Range<usize>,
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl Table {
    /// Reads the bytes of a file; `path` is for messages.
    pub(super) fn read(path: &Path, file: &[u8]) -> Result<Self> {
        Self::parse(file).map_err(|problem| Error::input(path, None, problem, FRESH_COPY))
    }

    fn parse(file: &[u8]) -> Result<Self, String> {
        let (header, start) = header_of(file)?;
        let weight = tensor(&header, WEIGHT, "I8")?;
        let scale = tensor(&header, SCALE, "F32")?;
        let [pieces, dim] = weight.shape[..] else {
            return Err(format!("`{WEIGHT}` has {} dimensions, not 2", weight.shape.len()));
        };
        if dim == 0 {
            return Err(format!("the rows of `{WEIGHT}` are empty"));
        }
        if scale.shape[..] != [pieces] {
            return Err(format!("`{SCALE}` does not have one number for each of {pieces} rows"));
        }
        let rows = bytes_of(&weight, WEIGHT, 1, file.len() - start)?;
        let factors = bytes_of(&scale, SCALE, size_of::<f32>(), file.len() - start)?;
        let scales: Vec<f32> =
            file[start..][factors].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        if let Some(row) = scales.iter().position(|s| !(0.0..=MOST_SCALE).contains(s)) {
            let found = scales[row];
            return Err(format!(
                "number {row} of `{SCALE}` is {found}, not from 0 to {MOST_SCALE}"
            ));
        }
        Ok(Self { scales, dim, rows: start + rows.start..start + rows.end })
    }
}

/// The header, and where the tensors start.
fn header_of(file: &[u8]) -> Result<(Map<String, Value>, usize), String> {
    let Some((length, rest)) = file.split_first_chunk() else {
        return Err(format!("{} bytes, too short for a safetensors file", file.len()));
    };
    let length = u64::from_le_bytes(*length);
    let bytes = usize::try_from(length).ok().and_then(|length| rest.get(..length));
    let Some(bytes) = bytes else {
        return Err(format!("the header should have {length} bytes; {} are there", rest.len()));
    };
    let header = serde_json::from_slice(bytes)
        .map_err(|e| format!("the header of the safetensors file is not as it must be ({e})"))?;
    Ok((header, size_of::<u64>() + bytes.len()))
}

fn tensor(header: &Map<String, Value>, name: &str, dtype: &str) -> Result<Tensor, String> {
    let entry = header.get(name).ok_or_else(|| format!("no tensor is named `{name}`"))?;
    let tensor = Tensor::deserialize(entry)
        .map_err(|e| format!("the header says of `{name}` what cannot be read ({e})"))?;
    if tensor.dtype == dtype {
        Ok(tensor)
    } else {
        Err(format!("`{name}` is of type {}, not {dtype}", tensor.dtype))
    }
}

/// The byte range of a tensor, which must have the length its shape asks for and lie in the data.
fn bytes_of(
    tensor: &Tensor,
    name: &str,
    item_bytes: usize,
    data_bytes: usize,
) -> Result<Range<usize>, String> {
    let (start, end) = tensor.data_offsets;
    let expected = tensor.shape.iter().try_fold(item_bytes, |size, n| size.checked_mul(*n));
    if end.checked_sub(start) != expected || expected.is_none() {
        return Err(format!("the bytes {start} to {end} of `{name}` do not fit its shape"));
    }
    if end > data_bytes {
        return Err(format!("`{name}` ends at byte {end} of {data_bytes}: the file is cut short"));
    }
    Ok(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"__metadata__":{"a":"b"},
        "embedding.scale":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
        "embedding.weight":{"dtype":"I8","shape":[2,3],"data_offsets":[8,14]}}"#;

    fn file(header: &str) -> Vec<u8> {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend([0.5f32, 2.0].iter().flat_map(|s| s.to_le_bytes()));
        file.extend([1, 2, 3, 4, 5, 6]);
        file
    }

    fn fault(file: &[u8]) -> String {
        Table::parse(file).unwrap_err()
    }

    #[test]
    fn a_good_file_is_read_in_place() {
        let file = file(GOOD);
        let table = Table::parse(&file).unwrap();
        assert_eq!((table.scales, table.dim), (vec![0.5, 2.0], 3));
        assert_eq!(file[table.rows], [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn every_cut_is_refused() {
        let file = file(GOOD);
        for length in 0..file.len() {
            fault(&file[..length]);
        }
        assert_eq!(fault(&file[..7]), "7 bytes, too short for a safetensors file");
        assert!(fault(&file[..99]).contains("bytes; 91 are there"));
        let cut = fault(&file[..file.len() - 1]);
        assert_eq!(cut, "`embedding.weight` ends at byte 14 of 13: the file is cut short");
    }

    #[test]
    fn a_flipped_bit_of_the_header_never_panics() {
        let good = file(GOOD);
        for at in 0..8 * (8 + GOOD.len()) {
            let mut bad = good.clone();
            bad[at / 8] ^= 1 << (at % 8);
            if let Ok(table) = Table::parse(&bad) {
                assert_eq!(bad[table.rows].len(), table.scales.len() * table.dim);
            }
        }
    }

    #[test]
    fn damage_is_named() {
        let changed = |from, to| {
            assert!(GOOD.contains(from));
            fault(&file(&GOOD.replace(from, to)))
        };
        assert!(changed("{\"__meta", "[\"__meta").contains("header of the safetensors file"));
        assert!(changed("embedding.scale", "scale").contains("no tensor is named"));
        assert!(changed("\"I8\"", "\"F16\"").contains("of type F16, not I8"));
        assert!(changed("[2,3]", "[6]").contains("has 1 dimensions, not 2"));
        assert!(changed("[2,3]", "[6,0]").contains("are empty"));
        assert!(changed("\"shape\":[2]", "\"shape\":[3]").contains("for each of 2 rows"));
        assert!(changed("[8,14]", "[8,13]").contains("do not fit its shape"));
        assert!(changed("[8,14]", "[14,8]").contains("do not fit its shape"));
        assert!(changed("[8,14]", "[-8,14]").contains("cannot be read"));
        assert!(changed("[2,3]", "[2,9223372036854775808]").contains("do not fit its shape"));
        let both = GOOD.replace("[2,3]", "[2,9223372036854775808]").replace("[8,14]", "[14,8]");
        assert!(fault(&file(&both)).contains("do not fit its shape"));
        let mut bad = file(GOOD);
        let scales = bad.len() - 14;
        bad[scales..scales + 4].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(fault(&bad).contains("number 0 of `embedding.scale` is NaN"));
    }
}
