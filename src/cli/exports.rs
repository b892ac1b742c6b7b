//! What `measure` writes for other programs.

use std::path::{Path, PathBuf};

use atlas::error::{Error, Result};
use atlas::eval::measurement::Measurement;
use atlas::eval::questions::QuestionSet;
use atlas::eval::{ragas, trec};
use atlas::index::Index;
use atlas::report::{counted, measure_csv};
use clap::Args;

use super::output::note;

/// The files to write.
#[derive(Debug, Args)]
pub struct Exports {
    /// Write a line a question as CSV
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// Write the questions for Ragas, one JSON object a line; ids go to FILE.ids
    #[arg(long, value_name = "FILE")]
    export_ragas: Option<PathBuf>,
    /// Answers to go with them: one JSON object a line with `id` and `answer`
    #[arg(long, value_name = "FILE", requires = "export_ragas")]
    answers: Option<PathBuf>,
    /// Write the rankings in TREC's run format
    #[arg(long, value_name = "FILE")]
    export_run: Option<PathBuf>,
    /// Write the judgments in TREC's qrels format; a group's units are judged relevant each
    #[arg(long, value_name = "FILE")]
    export_qrels: Option<PathBuf>,
}

impl Exports {
    /// Whether a file to write shows what single questions got.
    pub fn show_questions(&self) -> bool {
        self.export_csv.is_some() || self.export_run.is_some() || self.export_ragas.is_some()
    }

    /// Writes the files.
    pub fn write(&self, index: &Index, set: &QuestionSet, measured: &Measurement) -> Result<()> {
        if let Some(path) = &self.export_csv {
            put(path, &measure_csv(std::slice::from_ref(measured)))?;
        }
        if let Some(path) = &self.export_ragas {
            self.write_ragas(path, index, set, measured)?;
        }
        if let Some(path) = &self.export_run {
            let mut run = trec::Run::new("atlas".to_owned());
            for question in &measured.questions {
                run.add(question.id.clone(), question.ranking.clone())?;
            }
            let tied = run.reordered();
            if tied > 0 {
                note(&format!(
                    "{tied} rankings hold equal scores, which trec_eval would order by id; scores are \
                     written as falling ranks instead"
                ));
                run = run.with_scores_from_ranks();
            }
            trec::write_run(path, &run)?;
        }
        if let Some(path) = &self.export_qrels {
            let mut qrels = trec::Qrels::default();
            for question in &set.questions {
                for (unit, grade) in question.judgments.grades() {
                    qrels.add(&question.id, unit, *grade)?;
                }
            }
            trec::write_qrels(path, &qrels)?;
        }
        Ok(())
    }

    fn write_ragas(
        &self,
        path: &Path,
        index: &Index,
        set: &QuestionSet,
        measured: &Measurement,
    ) -> Result<()> {
        let answers = match &self.answers {
            Some(path) => ragas::read_answers(path)?,
            None => ragas::Answers::new(),
        };
        let exported = ragas::export(index, set, measured, &answers)?;
        put(path, &exported.rows)?;
        put(&PathBuf::from(format!("{}.ids", path.display())), &exported.sidecar)?;
        put(&PathBuf::from(format!("{}.apart", path.display())), &exported.apart)?;
        let apart = counted(exported.left_out, "question");
        note(&format!(
            "{} of {} written with an answer; {apart} kept apart: not scoreable, nothing retrieved, or no \
             reference",
            exported.answered,
            counted(measured.questions.len() - exported.left_out, "question")
        ));
        Ok(())
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| Error::io("writing", path, e))
}
