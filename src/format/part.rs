//! Reading a part: checked at the door, then block by block as it is touched.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{
    BLOCK_BYTES, FORMAT_VERSION, FRAME_BYTES, MAGIC, MAGIC_END, MappedFile, Pace, PartEntry,
    TABLE_ROW_BYTES, checksum,
};
use crate::error::{Error, Result};

/// Bytes asked of a disk at a time, at most, where reads are scattered.
const ASKED_BYTES: usize = 64 * BLOCK_BYTES;

/// An open part. Opening checks header, footer, lengths and the section table against the
/// manifest; the bodies are checked by [`Section`] on first touch.
#[derive(Debug)]
pub struct Part {
    file: Arc<MappedFile>,
    sections: Vec<Listed>,
}

/// A row of the section table: name, where the section lies, and the checksums of its blocks.
type Listed = (String, Range<usize>, Arc<[u64]>);

impl Part {
    /// Opens the part that `entry` describes in the generation `folder`.
    pub fn open(folder: &Path, entry: &PartEntry, kind: [u8; 4]) -> Result<Self> {
        let path = folder.join(&entry.file);
        let file = MappedFile::open(&path)?;
        let bytes = file.bytes();
        let damaged = |problem: String| Error::damaged(&path, problem);
        if bytes.len() as u64 != entry.size_bytes {
            return Err(damaged(format!(
                "the manifest says {} bytes, the file has {}",
                entry.size_bytes,
                bytes.len()
            )));
        }
        if bytes.len() < 2 * FRAME_BYTES
            || bytes[..8] != MAGIC
            || bytes[bytes.len() - 8..] != MAGIC_END
        {
            return Err(damaged("it does not begin and end as an Atlas part does".to_owned()));
        }
        let version = number_u32(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(damaged(format!(
                "it has format {version}, this program reads {FORMAT_VERSION}"
            )));
        }
        let footer = &bytes[bytes.len() - FRAME_BYTES..];
        if bytes[12..16] != kind || footer[12..16] != kind {
            return Err(damaged(format!("it is not of kind {}", String::from_utf8_lossy(&kind))));
        }
        let table = number(footer, 0) as usize;
        let end = bytes.len() - FRAME_BYTES;
        let fits = table >= FRAME_BYTES && table <= end && number(footer, 16) == bytes.len() as u64;
        let sum = if fits { checksum(&bytes[table..end]) } else { 0 };
        if !fits || sum != number(footer, 24) || format!("{sum:016x}") != entry.checksum {
            return Err(damaged("its section table does not match its checksum".to_owned()));
        }
        let count = number_u32(footer, 8) as usize;
        let sections = read_table(&bytes[table..end], count, table)
            .ok_or_else(|| damaged("its section table points outside the file".to_owned()))?;
        if !is_zero_between(bytes, &sections, table) {
            return Err(damaged("there is something where nothing is stored".to_owned()));
        }
        Ok(Self { file: Arc::new(file), sections })
    }

    /// The same, in large pages if the system grants them: for parts that a search reads all over.
    pub fn in_large_pages(self) -> Self {
        self.file.prefer_large_pages();
        self
    }

    /// The same, for parts of which a search reads few places far apart.
    pub fn in_scattered_reads(mut self) -> Self {
        if let Some(file) = Arc::get_mut(&mut self.file) {
            file.expect_scattered_reads();
        }
        self
    }

    /// The section `name`; absent is damage, since a version fixes which sections a kind has.
    pub fn section(&self, name: &str) -> Result<Section> {
        let found = self.sections.iter().find(|(own, ..)| own == name);
        let Some((_, range, sums)) = found else {
            return Err(Error::damaged(self.file.path(), format!("it has no section `{name}`")));
        };
        let words = sums.len().div_ceil(64);
        Ok(Section {
            file: Arc::clone(&self.file),
            name: name.to_owned(),
            range: range.clone(),
            sums: Arc::clone(sums),
            touched: (0..words).map(|_| AtomicU64::new(0)).collect(),
            whole: AtomicBool::new(false),
        })
    }

    /// Checks every block of every section.
    pub fn verify(&self) -> Result<()> {
        self.sections.iter().try_for_each(|(name, ..)| self.section(name)?.bytes().map(|_| ()))
    }
}

/// Reads `count` rows and the block checksums after them; `None` when anything lies outside.
fn read_table(table: &[u8], count: usize, end: usize) -> Option<Vec<Listed>> {
    let rows = table.get(..count.checked_mul(TABLE_ROW_BYTES)?)?;
    let sums: Vec<u64> = table[rows.len()..].chunks_exact(8).map(|c| number(c, 0)).collect();
    let mut sections = Vec::with_capacity(count);
    for row in rows.chunks_exact(TABLE_ROW_BYTES) {
        let name = String::from_utf8_lossy(&row[..8]).trim_end_matches('\0').to_owned();
        let start = usize::try_from(number(row, 8)).ok()?;
        let length = usize::try_from(number(row, 16)).ok()?;
        let first = usize::try_from(number(row, 24)).ok()?;
        let own = sums.get(first..first.checked_add(length.div_ceil(BLOCK_BYTES))?)?;
        let stop = start.checked_add(length).filter(|stop| *stop <= end)?;
        if start < FRAME_BYTES {
            return None;
        }
        sections.push((name, start..stop, own.into()));
    }
    Some(sections)
}

/// Whether all bytes that no checksum covers are zero: those kept free in header and footer, and the
/// padding before each section and the table.
fn is_zero_between(bytes: &[u8], sections: &[Listed], table: usize) -> bool {
    let mut at = 16;
    let mut ranges: Vec<Range<usize>> =
        sections.iter().map(|(_, range, _)| range.clone()).collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    let footer = bytes.len() - FRAME_BYTES;
    ranges.extend([table..footer + 32, bytes.len() - 8..bytes.len()]);
    ranges.iter().all(|range| {
        let gap = bytes.get(at..range.start.max(at)).unwrap_or_default();
        at = at.max(range.end);
        gap.iter().all(|byte| *byte == 0)
    })
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

fn number_u32(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

/// One section of a part: bytes that are known to be as they were written.
///
/// A block is checked against its checksum the first time any byte of it is asked for, by whichever
/// thread asks first; afterwards asking costs one load of an atomic.
#[derive(Debug)]
pub struct Section {
    file: Arc<MappedFile>,
    name: String,
    range: Range<usize>,
    sums: Arc<[u64]>,
    touched: Box<[AtomicU64]>,
    whole: AtomicBool,
}

impl Section {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// All of it, checked.
    pub fn bytes(&self) -> Result<&[u8]> {
        if !self.whole.load(Ordering::Acquire) {
            self.check(0..self.sums.len())?;
            self.whole.store(true, Ordering::Release);
        }
        Ok(&self.file.bytes()[self.range.clone()])
    }

    /// Checks all of it that was not checked yet.
    pub fn verify(&self, pace: &Pace) -> Result<()> {
        for block in 0..self.sums.len() {
            self.check(block..block + 1)?;
            pace.spend(BLOCK_BYTES);
        }
        self.bytes().map(|_| ())
    }

    /// The bytes of `range`, checked; a range outside the section is damage of whatever named it.
    pub fn slice(&self, range: Range<usize>) -> Result<&[u8]> {
        if range.start > range.end || range.end > self.len() {
            let problem = format!("section `{}` ends before byte {}", self.name, range.end);
            return Err(Error::damaged(self.file.path(), problem));
        }
        if !self.whole.load(Ordering::Acquire) && !range.is_empty() {
            self.check(range.start / BLOCK_BYTES..(range.end - 1) / BLOCK_BYTES + 1)?;
        }
        let start = self.range.start;
        Ok(&self.file.bytes()[start + range.start..start + range.end])
    }

    /// All of it as little-endian numbers in place.
    pub fn numbers<T: bytemuck::Pod>(&self) -> Result<&[T]> {
        bytemuck::try_cast_slice(self.bytes()?).map_err(|_| {
            let problem = format!("section `{}` is not a whole number of records", self.name);
            Error::damaged(self.file.path(), problem)
        })
    }

    /// All of it as little-endian numbers in place, none of them checked: [`slice`](Self::slice) over the
    /// bytes of a number comes before its use.
    pub(crate) fn unchecked<T: bytemuck::Pod>(&self) -> Result<&[T]> {
        bytemuck::try_cast_slice(&self.file.bytes()[self.range.clone()]).map_err(|_| {
            let problem = format!("section `{}` is not a whole number of records", self.name);
            Error::damaged(self.file.path(), problem)
        })
    }

    /// The file it lies in, for messages.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    fn check(&self, blocks: Range<usize>) -> Result<()> {
        let bytes = &self.file.bytes()[self.range.clone()];
        let end = bytes.len().min(blocks.end * BLOCK_BYTES);
        let mut asked = 0;
        for block in blocks {
            let (word, bit) = (&self.touched[block / 64], 1_u64 << (block % 64));
            if word.load(Ordering::Acquire) & bit != 0 {
                continue;
            }
            let start = block * BLOCK_BYTES;
            if start >= asked {
                asked = end.min(start + ASKED_BYTES);
                self.file.will_need(self.range.start + start..self.range.start + asked);
            }
            let run = &bytes[start..bytes.len().min(start + BLOCK_BYTES)];
            if checksum(run) != self.sums[block] {
                let problem = format!(
                    "section `{}` does not match its checksum in bytes {start} to {}",
                    self.name,
                    start + run.len()
                );
                return Err(Error::damaged(self.file.path(), problem));
            }
            word.fetch_or(bit, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::PartWriter;
    use super::*;

    fn written(folder: &Path) -> PartEntry {
        let mut writer = PartWriter::create(&folder.join("a.part"), *b"TEST").unwrap();
        writer.section("one", &[7; 100]).unwrap();
        writer.section("empty", &[]).unwrap();
        writer.begin("two").unwrap();
        for number in 0..40_000_u32 {
            writer.write(&number.to_le_bytes()).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let entry = written(folder.path());
        let part = Part::open(folder.path(), &entry, *b"TEST").unwrap();
        assert_eq!(part.section("one").unwrap().bytes().unwrap(), [7; 100]);
        assert!(part.section("empty").unwrap().bytes().unwrap().is_empty());
        let two = part.section("two").unwrap();
        assert_eq!(two.slice(80_000..80_004).unwrap(), 20_000_u32.to_le_bytes());
        assert_eq!(two.numbers::<u32>().unwrap()[39_999], 39_999);
        assert!(part.section("three").is_err());
        part.verify().unwrap();
    }

    #[test]
    fn scattered_reads_give_the_same_bytes_and_find_the_same_damage() {
        let folder = tempfile::tempdir().unwrap();
        let entry = written(folder.path());
        let open = || Part::open(folder.path(), &entry, *b"TEST").unwrap().in_scattered_reads();
        let two = open().section("two").unwrap();
        assert_eq!(two.slice(159_996..160_000).unwrap(), 39_999_u32.to_le_bytes());
        assert_eq!(two.slice(65_532..65_540).unwrap().len(), 8);
        assert_eq!(two.numbers::<u32>().unwrap()[20_000], 20_000);
        let path = folder.path().join("a.part");
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(4).position(|four| four == 30_000_u32.to_le_bytes()).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let two = open().section("two").unwrap();
        assert!(two.slice(0..4).is_ok());
        assert!(two.slice(120_000..120_004).unwrap_err().to_string().contains("does not match"));
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let entry = written(folder.path());
        let path = folder.path().join("a.part");
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(37).chain(good.len() - 700..good.len()).chain(0..200) {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            std::fs::write(&path, &bad).unwrap();
            let opened = Part::open(folder.path(), &entry, *b"TEST").and_then(|p| p.verify());
            assert!(opened.is_err(), "byte {at} flipped and nothing said");
        }
        for length in (0..good.len()).step_by(997) {
            std::fs::write(&path, &good[..length]).unwrap();
            assert!(Part::open(folder.path(), &entry, *b"TEST").is_err());
        }
    }
}
