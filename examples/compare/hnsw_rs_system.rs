//! The crate hnsw_rs with its own search, over this library's inner product: with the crate's own, which
//! needs features that are off here, it is slower still.

use std::fs;
use std::path::{Path, PathBuf};

use atlas::vectors::kernels::Kernels;
use hnsw_rs::api::AnnT as _;
use hnsw_rs::hnswio::HnswIo;
use hnsw_rs::prelude::{Distance, Hnsw};
use serde_json::{Value, json};

use crate::Result;
use crate::npy::Matrix;
use crate::serve::{Asked, K, System, bytes_below};

/// `1 − inner product`, never under 0, for which the crate panics.
#[derive(Default)]
struct OneMinusDot;

impl Distance<f32> for OneMinusDot {
    fn eval(&self, left: &[f32], right: &[f32]) -> f32 {
        (1.0 - Kernels::best().dot(left, right)).max(0.0)
    }
}

/// hnsw_rs over the vectors of the data.
pub struct HnswRs {
    data: PathBuf,
    folder: PathBuf,
    opened: Option<Hnsw<'static, f32, OneMinusDot>>,
}

impl HnswRs {
    pub fn new(data: &Path, folder: &Path) -> Self {
        Self { data: data.to_owned(), folder: folder.to_owned(), opened: None }
    }
}

impl System for HnswRs {
    fn version(&self) -> String {
        "0.3.5".to_owned()
    }

    fn build(&mut self, _: &str) -> Result<Box<dyn FnOnce() -> Result<Value> + '_>> {
        let matrix = Matrix::read(&self.data.join("vectors.npy"))?;
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)?;
        Ok(Box::new(move || {
            let hnsw = Hnsw::<f32, OneMinusDot>::new(16, matrix.rows(), 16, 200, OneMinusDot);
            for row in 0..matrix.rows() {
                hnsw.insert_slice((matrix.row(row), row));
            }
            hnsw.file_dump(&self.folder, "graph")?;
            Ok(json!({"bytes": bytes_below(&self.folder)?}))
        }))
    }

    fn open(&mut self, _: &str) -> Result<()> {
        // What is loaded borrows its loader, which therefore stays for the life of the process.
        let loader: &'static mut HnswIo = Box::leak(Box::new(HnswIo::new(&self.folder, "graph")));
        let mut hnsw = loader.load_hnsw::<f32, OneMinusDot>()?;
        hnsw.set_searching_mode(true);
        self.opened = Some(hnsw);
        Ok(())
    }

    fn search(&self, _: &str, asked: &Asked<'_>) -> Result<(Vec<u32>, usize)> {
        let hnsw = self.opened.as_ref().ok_or("no index is open")?;
        let found = hnsw.search(asked.vector, K, asked.ef);
        Ok((found.into_iter().map(|one| one.d_id as u32).collect(), 0))
    }
}
