//! What the readers of packaged formats find, before it becomes a body.

use serde::{Deserialize, Serialize};

use super::heading::tidy;
use super::{BodyForm, Document, Draft, Metadata, Place, RawFile, Source, naming};

/// A part of a document, in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    pub(super) place: Place,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum PieceKind {
    /// What the author marked as the title of the whole.
    Title(String),
    Heading {
        level: u8,
        text: String,
    },
    Paragraph(String),
    ListItem {
        depth: usize,
        marker: String,
        text: String,
    },
    Quote(String),
    Code(String),
    Table {
        header: Option<(Vec<String>, Place)>,
        rows: Vec<(Vec<String>, Place)>,
    },
    /// A row of a sheet, one field a line.
    Record(String),
}

/// Endings of titles that a program made of the name of a file.
const FILE_ENDINGS: [&str; 12] = [
    ".doc", ".docx", ".odt", ".rtf", ".tex", ".dvi", ".indd", ".pdf", ".ps", ".xls", ".xlsx",
    ".ppt",
];

/// Titles that programs fill in, lower case.
const MADE_UP: [&str; 8] = [
    "untitled",
    "anonymous",
    "unspecified",
    "document",
    "document1",
    "word document",
    "book1",
    "powerpoint presentation",
];

/// The one document of `source`.
///
/// The title is the one stated, unless a program made it up; else what is marked as title; else the
/// heading that opens the text, when it is the only one of level 1; else the name of the file. A
/// heading that says the same leaves the body.
pub(super) fn document(
    source: &RawFile,
    stated: Option<String>,
    metadata: Metadata,
    mut pieces: Vec<Piece>,
) -> Document {
    let title = entitle(stated, &mut pieces);
    let mut draft = Draft::default();
    for Piece { kind, place } in pieces {
        match kind {
            PieceKind::Title(text) => draft.heading(1, &text, place),
            PieceKind::Heading { level, text } => draft.heading(level, &text, place),
            PieceKind::Paragraph(text) => draft.paragraph(&text, place),
            PieceKind::ListItem { depth, marker, text } => {
                draft.list_item(depth, &marker, &text, place);
            }
            PieceKind::Quote(text) => draft.quote(&text, place),
            PieceKind::Code(text) => draft.code(&text, place),
            PieceKind::Table { header, rows } => draft.table(header.as_ref(), &rows),
            PieceKind::Record(text) => draft.record(&text, place),
        }
    }
    let (body, structure) = draft.finish();
    Document {
        id: naming::id_with_ending(&source.path),
        title: title.unwrap_or_else(|| naming::title_of_path(&source.path)),
        metadata,
        body,
        form: BodyForm::Structured(structure),
        source: Source::file(&source.path, 1, 0),
        vector: None,
    }
}

fn entitle(stated: Option<String>, pieces: &mut Vec<Piece>) -> Option<String> {
    let first = pieces.first().and_then(|piece| match &piece.kind {
        PieceKind::Title(text) => Some((tidy(text), true)),
        PieceKind::Heading { level, text } => Some((tidy(text), *level == 1)),
        _ => None,
    });
    if let Some(stated) = stated.as_deref().and_then(worth_showing) {
        if first.is_some_and(|(text, _)| text == stated) {
            pieces.remove(0);
        }
        return Some(stated);
    }
    let marked = pieces.iter().position(|piece| matches!(piece.kind, PieceKind::Title(_)));
    let of_level_1 = |piece: &&Piece| matches!(piece.kind, PieceKind::Heading { level: 1, .. });
    let lone =
        first.is_some_and(|(_, is_top)| is_top) && pieces.iter().filter(of_level_1).count() == 1;
    let place = marked.or(lone.then_some(0))?;
    match pieces.remove(place).kind {
        PieceKind::Title(text) | PieceKind::Heading { text, .. } => Some(tidy(&text)),
        _ => None,
    }
}

/// A stated title, unless it is one that a program fills in by itself.
fn worth_showing(stated: &str) -> Option<String> {
    let title = tidy(stated);
    let title = title.strip_prefix("Microsoft Word - ").unwrap_or(&title);
    let low = title.to_lowercase();
    let made_up = MADE_UP.contains(&low.trim_matches(['(', ')']))
        || FILE_ENDINGS.iter().any(|ending| low.ends_with(ending))
        || !title.chars().any(char::is_alphanumeric);
    (!made_up).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(level: u8, text: &str) -> Piece {
        let kind = PieceKind::Heading { level, text: text.to_owned() };
        Piece { kind, place: Place::default() }
    }

    fn entitled(stated: &str, pieces: &[Piece]) -> (Option<String>, usize) {
        let mut pieces = pieces.to_vec();
        let stated = Some(stated.to_owned()).filter(|stated| !stated.is_empty());
        (entitle(stated, &mut pieces), pieces.len())
    }

    #[test]
    fn a_title_is_stated_or_marked_or_opens_the_text() {
        let two = [heading(1, "Seals"), heading(2, "Dry")];
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(entitled(" Pump  seals", &two), (some("Pump seals"), 2));
        assert_eq!(entitled("Seals", &two), (some("Seals"), 1));
        assert_eq!(entitled("", &two), (some("Seals"), 1));
        assert_eq!(entitled("seals_v2.docx", &two), (some("Seals"), 1));
        assert_eq!(entitled("Microsoft Word - Seals", &two), (some("Seals"), 1));
        assert_eq!(entitled("", &[heading(1, "A"), heading(1, "B")]), (None, 2));
        assert_eq!(entitled("", &[heading(2, "A")]), (None, 1));
        let marked = Piece { kind: PieceKind::Title("T".into()), place: Place::default() };
        assert_eq!(entitled("", &[heading(1, "A"), marked]), (some("T"), 1));
    }
}
