//! Matrices of `f32` in numpy's format 1.0: little-endian, row-major.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::Result;

const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// A matrix `[rows × dim]`, row-major.
pub struct Matrix {
    pub dim: usize,
    pub numbers: Vec<f32>,
}

impl Matrix {
    pub fn row(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.dim..(row + 1) * self.dim]
    }

    pub fn rows(&self) -> usize {
        self.numbers.len() / self.dim
    }

    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path)?;
        let fault = || format!("{} is not a matrix of f32 in .npy 1.0", path.display());
        let head = bytes.get(..10).filter(|head| head.starts_with(MAGIC)).ok_or_else(fault)?;
        let end = 10 + usize::from(u16::from_le_bytes([head[8], head[9]]));
        let about = std::str::from_utf8(bytes.get(10..end).ok_or_else(fault)?)?;
        let shape = about.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')'));
        let (rows, dim) = shape.and_then(|(shape, _)| shape.split_once(',')).ok_or_else(fault)?;
        let (rows, dim): (usize, usize) = (rows.trim().parse()?, dim.trim().parse()?);
        let numbers: Vec<f32> =
            bytes[end..].as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        if !about.contains("'<f4'") || !about.contains("False") || numbers.len() != rows * dim {
            return Err(fault().into());
        }
        Ok(Self { dim, numbers })
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let (rows, dim) = (self.rows(), self.dim);
        let mut about =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
        // The whole head is a multiple of 64 bytes and ends a line.
        about += &" ".repeat((64 - (10 + about.len() + 1) % 64) % 64);
        about.push('\n');
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(MAGIC)?;
        out.write_all(&(about.len() as u16).to_le_bytes())?;
        out.write_all(about.as_bytes())?;
        for number in &self.numbers {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(out.flush()?)
    }
}
