//! Zip archives that hold a document, opened under limits.

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::error::{Error, Result};

/// Entries above which an archive is refused: thrice what the largest books and papers hold.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// How many times its packed size an entry may unpack to. Office files reach 100 with very even
/// tables; a bomb is built to reach deflate's own limit of 1,032.
pub(super) const MAX_RATIO: u64 = 300;

/// Entries up to this many bytes may have any ratio: they are too small to harm.
const RATIO_FREE_BYTES: u64 = 1 << 20;

/// The first bytes of a compound file, which old office formats and encrypted new ones are.
const COMPOUND: [u8; 8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];

/// An archive whose entries are unpacked one by one, with all that was unpacked counted.
pub(super) struct Archive {
    zip: ZipArchive<Cursor<Vec<u8>>>,
    location: PathBuf,
    /// Bytes that may be unpacked in all, and those that still may.
    most: u64,
    left: u64,
}

impl Archive {
    /// Opens the bytes of the file at `location`; at most `max_unpacked_bytes` are ever unpacked.
    pub(super) fn open(location: &Path, bytes: Vec<u8>, max_unpacked_bytes: u64) -> Result<Self> {
        let refuse = |problem: String, help: &str| Error::input(location, None, problem, help);
        if bytes.starts_with(&COMPOUND) {
            return Err(if holds_wide(&bytes, "EncryptedPackage") {
                refuse("it is encrypted".to_owned(), "save it without a password")
            } else {
                let problem = "it is of an old binary format, whatever its ending says".to_owned();
                refuse(problem, "save it in the present format")
            });
        }
        if !bytes.starts_with(b"PK") {
            let problem = "it is not a zip archive, as files of this kind are".to_owned();
            return Err(refuse(problem, "open it in the program it is of, and save it again"));
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|fault| damaged(location, &fault))?;
        if zip.len() > MAX_ENTRIES {
            let problem = format!("its archive has {} entries, above {MAX_ENTRIES}", zip.len());
            return Err(refuse(problem, ""));
        }
        let (most, left) = (max_unpacked_bytes, max_unpacked_bytes);
        Ok(Self { zip, location: location.to_owned(), most, left })
    }

    /// An error about the whole file.
    pub(super) fn fault(&self, problem: impl Into<String>, help: &str) -> Error {
        Error::input(&self.location, None, problem, help)
    }

    /// Whether there is an entry called `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// The bytes of the entry called `name`; `None` when there is no such entry.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(place) = self.place(name) else { return Ok(None) };
        let most = self.most;
        let entry = self.zip.by_index(place).map_err(|fault| damaged(&self.location, &fault))?;
        let packed = entry.compressed_size();
        let by_ratio = packed.saturating_mul(MAX_RATIO).max(RATIO_FREE_BYTES);
        let allowed = by_ratio.min(self.left);
        let mut bytes = Vec::new();
        // The size that the archive states is not believed; one byte more tells that there is more.
        let read = entry.take(allowed.saturating_add(1)).read_to_end(&mut bytes);
        if bytes.len() as u64 > allowed {
            let problem = if by_ratio < self.left {
                format!("`{name}` in it unpacks to more than {MAX_RATIO} times its packed size")
            } else {
                format!("it unpacks to more than `max_unpacked_bytes` = {most}")
            };
            return Err(self.fault(problem, "raise the setting if the file can be trusted"));
        }
        read.map_err(|fault| self.fault(format!("`{name}` in it is damaged: {fault}"), REPAIR))?;
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// The text of the XML entry called `name`; `None` when there is no such entry.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>> {
        Ok(self.bytes(name)?.map(decoded))
    }

    /// Names are compared as Windows does, which made most of these files.
    fn place(&self, name: &str) -> Option<usize> {
        self.zip.index_for_name(name).or_else(|| {
            let same = |found: &[u8]| found.eq_ignore_ascii_case(name.as_bytes());
            let exact = self.zip.file_names_raw().find(|found| same(found))?;
            self.zip.index_for_name_raw(exact)
        })
    }
}

const REPAIR: &str = "open it in the program it is of, and save it again";

fn damaged(location: &Path, fault: &zip::result::ZipError) -> Error {
    let problem = format!("its zip archive is cut off or damaged ({fault})");
    Error::input(location, None, problem, REPAIR)
}

/// XML as text: UTF-16 where its mark or its first `<` says so, else UTF-8; a byte that is neither
/// becomes U+FFFD, as a damaged letter must not cost the document.
fn decoded(bytes: Vec<u8>) -> String {
    let wide = |bytes: &[u8], join: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| join([pair[0], pair[1]]));
        char::decode_utf16(units).map(|found| found.unwrap_or('\u{FFFD}')).collect::<String>()
    };
    let text = match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] | rest @ [b'<', 0, ..] => wide(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] | rest @ [0, b'<', ..] => wide(rest, u16::from_be_bytes),
        _ => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(fault) => String::from_utf8_lossy(fault.as_bytes()).into_owned(),
        },
    };
    match text.strip_prefix('\u{FEFF}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// Whether `bytes` hold `word` in UTF-16, as names in a compound file are.
fn holds_wide(bytes: &[u8], word: &str) -> bool {
    let wide: Vec<u8> = word.encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.windows(wide.len()).any(|window| window == wide)
}
