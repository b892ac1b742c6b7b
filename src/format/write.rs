//! Writing a part, front to back, in one pass.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::disk::Output;
use super::{
    ALIGN_BYTES, BLOCK_BYTES, FORMAT_VERSION, FRAME_BYTES, MAGIC, MAGIC_END, PartEntry, checksum,
};
use crate::error::{Error, Result};

/// Bytes that are given to the operating system at once, at a multiple of so many from the start of the
/// file: the size of a huge page on x86-64. A file system that keeps such pages (seen on ext4 under
/// Linux 6.18) then holds the file in them, and who maps it needs one entry of the TLB where there
/// were 512.
const CHUNK_BYTES: usize = 2 << 20;

/// Writes one part. Sections are written one after the other; the table of where they lie and the
/// checksums of their blocks follow them, and the footer stands last, so a file that was cut short
/// is known by its end.
#[derive(Debug)]
pub struct PartWriter {
    path: PathBuf,
    file: Output,
    /// What was not given to the operating system yet.
    chunk: Vec<u8>,
    kind: [u8; 4],
    at: u64,
    sections: Vec<Written>,
    block: Vec<u8>,
    sums: Vec<u64>,
}

#[derive(Debug)]
struct Written {
    name: [u8; 8],
    offset: u64,
    length: u64,
    first_block: u64,
}

impl PartWriter {
    /// Creates the file `path`; `kind` is four ASCII letters that a reader asks for.
    pub fn create(path: &Path, kind: [u8; 4]) -> Result<Self> {
        let file = Output::create_new(path).map_err(|e| Error::io("creating", path, e))?;
        let mut writer = Self {
            path: path.to_owned(),
            file,
            chunk: Vec::new(),
            kind,
            at: 0,
            sections: Vec::new(),
            block: Vec::with_capacity(BLOCK_BYTES),
            sums: Vec::new(),
        };
        let mut header = [0_u8; FRAME_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&kind);
        writer.put(&header)?;
        Ok(writer)
    }

    /// Starts the section `name` (at most eight ASCII letters).
    pub fn begin(&mut self, name: &str) -> Result<()> {
        self.end_section();
        self.pad()?;
        let mut padded = [0_u8; 8];
        for (to, from) in padded.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        self.sections.push(Written {
            name: padded,
            offset: self.at,
            length: 0,
            first_block: self.sums.len() as u64,
        });
        Ok(())
    }

    /// Appends `bytes` to the section begun last.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(bytes)?;
        if let Some(section) = self.sections.last_mut() {
            section.length += bytes.len() as u64;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            if self.block.len() == BLOCK_BYTES {
                self.end_block();
            }
            rest = later;
        }
        Ok(())
    }

    /// Writes a whole section.
    pub fn section(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.begin(name)?;
        self.write(bytes)
    }

    /// Writes table and footer, syncs the file, and gives its entry in the manifest.
    pub fn finish(mut self) -> Result<PartEntry> {
        self.end_section();
        self.pad()?;
        let table_offset = self.at;
        let mut table = Vec::new();
        for section in &self.sections {
            table.extend_from_slice(&section.name);
            for number in [section.offset, section.length, section.first_block] {
                table.extend_from_slice(&number.to_le_bytes());
            }
        }
        for sum in &self.sums {
            table.extend_from_slice(&sum.to_le_bytes());
        }
        self.put(&table)?;
        let mut footer = [0_u8; FRAME_BYTES];
        footer[0..8].copy_from_slice(&table_offset.to_le_bytes());
        footer[8..12].copy_from_slice(&(self.sections.len() as u32).to_le_bytes());
        footer[12..16].copy_from_slice(&self.kind);
        footer[16..24].copy_from_slice(&(self.at + FRAME_BYTES as u64).to_le_bytes());
        let sum = checksum(&table);
        footer[24..32].copy_from_slice(&sum.to_le_bytes());
        footer[56..].copy_from_slice(&MAGIC_END);
        self.put(&footer)?;
        self.flush()?;
        self.file.sync().map_err(|e| Error::io("syncing", &self.path, e))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(PartEntry { file: name, size_bytes: self.at, checksum: format!("{sum:016x}") })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            if self.chunk.len() == CHUNK_BYTES {
                self.flush()?;
            }
            rest = later;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_all(&self.chunk).map_err(|e| Error::io("writing", &self.path, e))?;
        self.chunk.clear();
        Ok(())
    }

    fn pad(&mut self) -> Result<()> {
        let over = self.at as usize % ALIGN_BYTES;
        if over == 0 { Ok(()) } else { self.put(&[0; ALIGN_BYTES][over..]) }
    }

    fn end_section(&mut self) {
        if !self.block.is_empty() {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        self.sums.push(checksum(&self.block));
        self.block.clear();
    }
}
