//! Writing one layer: documents cut, analysed, embedded and stored together.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;

use super::{Options, Progress, Settings, digest};
use crate::access::store::AccessWriter;
use crate::access::{Label, labels};
use crate::corpus::{Document, Documents, Skipped};
use crate::error::{Error, Result};
use crate::format::{Layer, disk};
use crate::lexical::LexicalWriter;
use crate::passage::store::{FormId, PassageStore, StoreWriter, form_id};
use crate::passage::{Block, Passage, cut, searched_form};
use crate::text::{Analyzer, Stems};
use crate::vectors::store::{VectorIndex, VectorWriter};
use crate::vectors::{Embedder, Role};

/// Embeddings of the generation before, by the name of the searched form.
pub(super) struct Known<'k> {
    pub(super) rows: HashMap<FormId, u32>,
    pub(super) vectors: &'k VectorIndex,
}

impl<'k> Known<'k> {
    /// The embeddings of `rows`; those that cannot be read are made again.
    pub(super) fn of(
        passages: &PassageStore,
        vectors: &'k VectorIndex,
        rows: impl Iterator<Item = u32>,
    ) -> Self {
        let rows = rows.filter_map(|row| Some((passages.form(row).ok()?, row))).collect();
        Self { rows, vectors }
    }

    fn get(&self, form: &FormId) -> Option<&[f32]> {
        self.vectors.row(*self.rows.get(form)?).ok()
    }
}

/// A document on its way: cut, analysed, embedded.
struct Prepared<'c> {
    document: &'c Document,
    cut: Vec<(Block, Vec<Passage>)>,
    labels: Vec<Label>,
    terms: Vec<(String, u32)>,
    forms: Vec<FormId>,
    /// `[passages × dim]`, row-major.
    vectors: Vec<f32>,
    digest: [u8; 32],
}

/// What documents are worked on with.
pub(super) struct Work<'w> {
    pub(super) settings: &'w Settings,
    pub(super) analyzer: &'w Analyzer,
    pub(super) embedder: &'w dyn Embedder,
    pub(super) known: Option<&'w Known<'w>>,
    pub(super) options: Options<'w>,
}

/// A layer, and what was seen while it was written.
pub(super) struct Written {
    pub(super) layer: Layer,
    /// Passages whose embeddings were taken over.
    pub(super) reused: usize,
    /// Documents that hold nothing to index.
    pub(super) skipped: Vec<Skipped>,
    /// Labels that close what carries them by mistake, and why.
    pub(super) closed: Vec<String>,
}

impl Work<'_> {
    /// Writes `documents`, which are in the order of their ids, as the layer called `name` of the
    /// generation in `folder`.
    pub(super) fn write(
        &self,
        folder: &Path,
        name: &str,
        documents: &dyn Documents,
        progress: &mut dyn Progress,
    ) -> Result<Written> {
        let folder = folder.join(name);
        disk::create_folder(&folder).map_err(|e| Error::io("creating", &folder, e))?;
        let mut passages = StoreWriter::create(&folder)?;
        let memory = self.settings.memory;
        let mut lexical = LexicalWriter::create(&folder, memory.postings())?;
        let mut vectors = VectorWriter::create(&folder, self.embedder.dim())?;
        let mut access = AccessWriter::default();
        let mut skipped = Vec::new();
        let (mut rows, mut done, mut reused) = (0, 0, 0);
        while done < documents.count() {
            let batch = documents.some(done, memory.batch())?;
            let (prepared, taken) = self.prepare(&batch, (done, documents.count()), progress)?;
            reused += taken;
            progress.step("write");
            for one in &prepared {
                if one.cut.is_empty() {
                    let reason = "it holds no text but comments".to_owned();
                    let path = one.document.source.path.clone();
                    skipped.extend(self.options.keep.is_none().then_some(Skipped { path, reason }));
                    continue;
                }
                passages.add(one.document, &one.cut, &one.forms, one.digest)?;
                for (terms, count) in &one.terms {
                    lexical.add(terms, *count)?;
                }
                vectors.add(&one.vectors)?;
                for ((_, passages), label) in one.cut.iter().zip(&one.labels) {
                    passages.iter().for_each(|_| access.add(label));
                }
                rows += one.terms.len();
            }
            done += prepared.len();
            progress.documents(done, documents.count());
        }
        progress.step("finish");
        let store = passages.finish()?;
        let (lengths, lexical) = lexical.finish()?;
        let (vectors, codes) = vectors.finish()?;
        let (access, closed) = access.finish(&folder, self.options.policy)?;
        let folder = name.to_owned();
        let layer = Layer {
            folder,
            passages: rows,
            dropped: Vec::new(),
            store,
            lengths,
            vectors,
            codes,
            access,
            lexical,
        };
        Ok(Written { layer, reused, skipped, closed })
    }

    /// Cuts, analyses and embeds `batch`, which comes after `done` of `total` documents; says also how
    /// many embeddings were taken over.
    fn prepare<'c>(
        &self,
        batch: &'c [Document],
        (done, total): (usize, usize),
        progress: &mut dyn Progress,
    ) -> Result<(Vec<Prepared<'c>>, usize)> {
        progress.step("cut");
        let (cuts, labels): (Vec<_>, Vec<_>) =
            batch.par_iter().map(|document| self.cut(document)).unzip();
        let forms: Vec<Vec<Form>> = batch
            .par_iter()
            .zip(&cuts)
            .map(|(document, cut)| searched(document, cut, self.settings.passage.titles))
            .collect();
        progress.step("analyse");
        let terms: Vec<Vec<(String, u32)>> = forms
            .par_iter()
            .map_init(Stems::default, |stems, forms| {
                let terms = |form: &Form| {
                    let (headings, text) = form.whole.split_at(form.headings_bytes);
                    self.analyzer.passage(headings, text, stems)
                };
                forms.iter().map(terms).collect()
            })
            .collect();
        progress.step("embed");
        let texts: Vec<&str> = forms.iter().flatten().map(|form| form.whole.as_str()).collect();
        let ids: Vec<FormId> = texts.par_iter().map(|text| form_id(text)).collect();
        let mut brought = Vec::with_capacity(texts.len());
        for (document, forms) in batch.iter().zip(&forms) {
            let own = self.brought(document)?;
            brought.extend(forms.iter().map(|_| own));
        }
        let (vectors, reused) = self.embed(&texts, &ids, &brought, &mut |texts, all_texts| {
            progress.documents(done + batch.len() * texts / all_texts, total);
        })?;
        let (mut ids, mut vectors) = (ids.as_slice(), vectors.as_slice());
        let mut prepared = Vec::with_capacity(batch.len());
        for (((document, cut), labels), terms) in batch.iter().zip(cuts).zip(labels).zip(terms) {
            let (own, later) = vectors.split_at(terms.len() * self.embedder.dim());
            let (forms, other) = ids.split_at(terms.len());
            (vectors, ids) = (later, other);
            let (forms, vectors) = (forms.to_vec(), own.to_vec());
            let digest = [0; 32];
            prepared.push(Prepared { document, cut, labels, terms, forms, vectors, digest });
        }
        prepared.par_iter_mut().for_each(|one| {
            one.digest =
                digest::of_document(one.document, &one.cut, &one.labels, &one.terms, &one.vectors);
        });
        Ok((prepared, reused))
    }

    /// The blocks of a document that are kept, and the label of each.
    fn cut(&self, document: &Document) -> (Vec<(Block, Vec<Passage>)>, Vec<Label>) {
        let whole = cut(document, &self.settings.passage);
        let paths: Vec<&[String]> =
            whole.iter().map(|(block, _)| block.sections.as_slice()).collect();
        let labels = labels(&document.metadata, &paths);
        let both = whole.into_iter().zip(labels);
        both.filter(|(_, label)| self.options.keep.is_none_or(|keep| keep(label))).unzip()
    }

    /// The vector that a document brings, which it must where nothing reads its text.
    fn brought<'c>(&self, document: &'c Document) -> Result<Option<&'c [f32]>> {
        let (dim, source) = (self.embedder.dim(), &document.source);
        let line = source.record.as_ref().and(Some(source.first_line)).filter(|line| *line > 0);
        let fault = |problem: String, help: &str| {
            let problem = format!("document `{}` {problem}", document.id);
            Err(Error::input(&source.path, line, problem, help))
        };
        match document.vector.as_deref() {
            Some(own) if own.len() == dim => Ok(Some(own)),
            Some(own) => {
                let problem = format!("brings a vector of {} numbers", own.len());
                fault(problem, &format!("expected {dim}, as the others of the corpus"))
            }
            None if self.embedder.reads_text() => Ok(None),
            None => {
                let help = "give every document one, or none (`vectors` in atlas.toml)";
                fault("brings no vector".to_owned(), help)
            }
        }
    }

    fn embed(
        &self,
        texts: &[&str],
        ids: &[FormId],
        brought: &[Option<&[f32]>],
        tell: &mut dyn FnMut(usize, usize),
    ) -> Result<(Vec<f32>, usize)> {
        let dim = self.embedder.dim();
        let known: Vec<Option<&[f32]>> = (ids.iter().zip(brought))
            .map(|(id, own)| own.or_else(|| self.known.and_then(|known| known.get(id))))
            .collect();
        let fresh = texts.iter().zip(&known).filter(|(_, row)| row.is_none());
        let missing: Vec<&str> = fresh.map(|(text, _)| *text).collect();
        let mut numbers = Vec::with_capacity(missing.len() * dim);
        for texts in missing.chunks(self.embedder.texts_at_a_time().max(1)) {
            if !numbers.is_empty() {
                tell(numbers.len() / dim.max(1), missing.len());
            }
            let embedded = self.embedder.embed(Role::Passage, texts)?;
            let embedded = embedded.checked(self.embedder, texts.len())?;
            numbers.extend_from_slice(embedded.rows.as_slice().unwrap_or_default());
        }
        let mut made = numbers.chunks_exact(dim.max(1));
        let mut all = Vec::with_capacity(texts.len() * dim);
        for row in &known {
            all.extend_from_slice(row.or_else(|| made.next()).unwrap_or_default());
        }
        let given = brought.iter().flatten().count();
        Ok((all, texts.len() - missing.len() - given))
    }
}

/// The searched form of a passage.
struct Form {
    whole: String,
    /// How much of it is titles.
    headings_bytes: usize,
}

/// The searched form of every passage of a document, in order.
fn searched(document: &Document, cut: &[(Block, Vec<Passage>)], titles: bool) -> Vec<Form> {
    cut.iter()
        .flat_map(|(block, passages)| passages.iter().map(move |passage| (block, passage)))
        .map(|(block, passage)| {
            let whole = searched_form(&document.title, &block.sections, &passage.text, titles);
            let headings_bytes = whole.len() - passage.text.len();
            Form { whole, headings_bytes }
        })
        .collect()
}
