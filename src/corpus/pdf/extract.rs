//! The glyphs of a PDF, page by page.
//!
//! Run in the child process only. The crate that decodes fonts panics on odd files by design; each
//! panic is caught as near to its cause as can be: it costs a string, a font or a page, and is told.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::content::{Content, Operation};
use pdf_extract::{
    Dictionary, Document, MediaBox, Object, ObjectId, OutputDev, OutputError, Stream, Transform,
};

use super::flatten::Flat;
use super::fonts;

/// Strings of one page that may be given up before the page is.
const MAX_BAD_STRINGS: usize = 100;

/// Glyphs of one page; a page full of the smallest print has some ten thousand.
const MAX_GLYPHS: usize = 1_000_000;

/// A shown character, or the characters that one sign stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Glyph {
    pub(super) text: String,
    /// Where its base line begins, in points from the lower left corner of the page.
    pub(super) x: f64,
    pub(super) y: f64,
    /// How far the next one is, in points along the base line.
    pub(super) advance: f64,
    /// The height of its font in points, positive.
    pub(super) size: f64,
    /// The direction of its base line in degrees, 0.0 to 360.0, counted against the clock.
    pub(super) angle: f64,
}

/// What was found on a page.
#[derive(Debug, Default)]
pub(super) struct PageGlyphs {
    pub(super) glyphs: Vec<Glyph>,
    pub(super) has_picture: bool,
    /// Fonts whose text could not be decoded.
    pub(super) bad_fonts: BTreeSet<String>,
    /// Whether strings had to be given up.
    pub(super) is_partial: bool,
    /// How many signs have no meaning in their fonts. A sign that stands for several letters accounts
    /// for as many that stand for none.
    pub(super) unknown: usize,
}

/// The glyphs of the page `id` in the order in which they are drawn.
pub(super) fn page(doc: &mut Document, id: ObjectId) -> PageGlyphs {
    let Ok(mut flat) = catch_unwind(AssertUnwindSafe(|| Flat::of(doc, id))) else {
        return PageGlyphs { is_partial: true, ..PageGlyphs::default() };
    };
    let Flat { has_picture, is_partial, .. } = flat;
    let mut found = PageGlyphs { has_picture, is_partial, ..PageGlyphs::default() };
    let mut usable = Dictionary::new();
    for (place, font) in flat.fonts.iter().enumerate() {
        match readable(doc, font) {
            Some(font) => usable.set(format!("F{place}"), Object::Dictionary(font)),
            None => {
                found.bad_fonts.insert(fonts::name(doc, font));
            }
        }
    }
    drop_fonts(&mut flat, &usable);
    for _ in 0..MAX_BAD_STRINGS {
        let mut collector = Collector::default();
        let done = draw(doc, &flat.operations, &usable, &mut collector);
        found.glyphs = collector.glyphs;
        found.unknown = collector.unknown.saturating_sub(collector.manifold);
        match (done, collector.strings.checked_sub(1)) {
            (true, _) => return found,
            (false, None) => break,
            (false, Some(last)) => flat.leave_out(last),
        }
        found.is_partial = true;
    }
    found.is_partial = true;
    found
}

/// `font` in the fullest form that can be read.
fn readable(doc: &mut Document, font: &Dictionary) -> Option<Dictionary> {
    let mended = catch_unwind(AssertUnwindSafe(|| fonts::mended(doc, font))).ok()?;
    let forms = fonts::poorer(doc, &mended);
    std::iter::once(mended).chain(forms).find(|form| {
        let name = || Object::Name(b"F".to_vec());
        let tries = [Operation::new("Tf", vec![name(), Object::Integer(1)])];
        let mut fonts = Dictionary::new();
        fonts.set("F", Object::Dictionary(form.clone()));
        draw(doc, &tries, &fonts, &mut Collector::default())
    })
}

/// Takes off the page what is shown in a font that cannot be read.
fn drop_fonts(flat: &mut Flat, usable: &Dictionary) {
    let mut can_show = false;
    let mut saved = Vec::new();
    flat.operations.retain(|operation| match operation.operator.as_str() {
        "Tf" => {
            let name = operation.operands.first().and_then(|name| name.as_name().ok());
            can_show = name.is_some_and(|name| usable.has(name));
            can_show
        }
        "q" => {
            saved.push(can_show);
            true
        }
        "Q" => {
            can_show = saved.pop().unwrap_or(can_show);
            true
        }
        "Tj" | "TJ" => can_show,
        _ => true,
    });
}

/// Draws `operations` on a page of its own; `false` when that panicked or failed.
fn draw(
    doc: &mut Document,
    operations: &[Operation],
    fonts: &Dictionary,
    collector: &mut Collector,
) -> bool {
    let Ok(content) = (Content { operations }).encode() else { return false };
    let mut resources = Dictionary::new();
    resources.set("Font", Object::Dictionary(fonts.clone()));
    // The crate takes pages by their number, so this one stands in a tree of its own.
    let content = doc.add_object(Object::Stream(Stream::new(Dictionary::new(), content)));
    let corners = [0, 0, 1000, 1000].map(Object::Integer).to_vec();
    let mut page = Dictionary::new();
    page.set("Type", Object::Name(b"Page".to_vec()));
    page.set("MediaBox", Object::Array(corners));
    page.set("Resources", Object::Dictionary(resources));
    page.set("Contents", Object::Reference(content));
    let page = doc.add_object(Object::Dictionary(page));
    let mut pages = Dictionary::new();
    pages.set("Type", Object::Name(b"Pages".to_vec()));
    pages.set("Kids", Object::Array(vec![Object::Reference(page)]));
    pages.set("Count", Object::Integer(1));
    let pages = doc.add_object(Object::Dictionary(pages));
    let mut root = Dictionary::new();
    root.set("Type", Object::Name(b"Catalog".to_vec()));
    root.set("Pages", Object::Reference(pages));
    let root = doc.add_object(Object::Dictionary(root));
    let own = doc.trailer.get(b"Root").cloned().ok();
    doc.trailer.set("Root", Object::Reference(root));
    let drawn =
        catch_unwind(AssertUnwindSafe(|| pdf_extract::output_doc_page(doc, collector, 1).is_ok()));
    match own {
        Some(own) => doc.trailer.set("Root", own),
        None => {
            doc.trailer.remove(b"Root");
        }
    }
    for id in [content, page, pages, root] {
        doc.objects.remove(&id);
    }
    doc.max_id = doc.max_id.saturating_sub(4);
    drawn.unwrap_or(false)
}

/// Writes down what is drawn.
#[derive(Default)]
struct Collector {
    glyphs: Vec<Glyph>,
    /// Strings begun so far.
    strings: usize,
    /// Signs without letters, and letters beyond one a sign.
    unknown: usize,
    manifold: usize,
}

impl OutputDev for Collector {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        matrix: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        let along = matrix.m11.hypot(matrix.m12);
        let size = matrix.m21.hypot(matrix.m22) * font_size.abs();
        let values = [matrix.m31, matrix.m32, along, size, width, spacing];
        if values.iter().any(|value| !value.is_finite()) || self.glyphs.len() >= MAX_GLYPHS {
            return Ok(());
        }
        if text.is_empty() || text.chars().all(|c| c == '\0' || c == '\u{FFFD}') {
            self.unknown += usize::from(width > 0.0);
        }
        self.manifold += text.chars().count().saturating_sub(1);
        let turned = if font_size < 0.0 { 180.0 } else { 0.0 };
        let angle = matrix.m12.atan2(matrix.m11).to_degrees() + turned;
        self.glyphs.push(Glyph {
            text: text.to_owned(),
            x: matrix.m31,
            y: matrix.m32,
            advance: (width * font_size.abs() + spacing) * along,
            size,
            angle: angle.rem_euclid(360.0),
        });
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.strings += 1;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}
