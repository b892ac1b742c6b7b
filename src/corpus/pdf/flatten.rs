//! A page as a plain sequence of text operators.
//!
//! The crate that decodes fonts stops at many things that have nothing to do with text: colour
//! spaces, patterns, odd operands. So a page is first written anew with nothing but text: forms are
//! put where they are shown, fonts get names of their own, and whatever is not as it must be goes.

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

/// Forms that may stand in one another.
const MAX_DEPTH: usize = 12;

/// Operators of one page, forms counted where they are shown; pages have up to a million.
const MAX_OPERATIONS: usize = 4_000_000;

/// A page with nothing but text on it.
#[derive(Debug, Default)]
pub(super) struct Flat {
    pub(super) operations: Vec<Operation>,
    /// The fonts that the operations name by their place: `F0`, `F1` and so on.
    pub(super) fonts: Vec<Dictionary>,
    /// Whether a picture is shown.
    pub(super) has_picture: bool,
    /// Whether some of it could not be parsed.
    pub(super) is_partial: bool,
    /// Ids of the fonts that are not written in place.
    known: Vec<(ObjectId, usize)>,
}

impl Flat {
    /// The page `id`, without the strings whose numbers are in `left_out`.
    pub(super) fn of(doc: &Document, id: ObjectId) -> Self {
        let mut flat = Self::default();
        let Ok(page) = doc.get_dictionary(id) else { return flat };
        let resources = inherited(doc, page, b"Resources");
        let content = doc.get_page_content(id).unwrap_or_default();
        flat.add(doc, &content, resources.and_then(|found| found.as_dict().ok()), 0);
        flat
    }

    fn add(
        &mut self,
        doc: &Document,
        content: &[u8],
        resources: Option<&Dictionary>,
        depth: usize,
    ) {
        // The parser stops in silence at what it does not understand; its strict form tells.
        self.is_partial |= Content::decode_strict(content).is_err();
        let Ok(content) = Content::decode(content) else { return };
        // What a form opens and does not close must not reach beyond it.
        let mut open = 0_usize;
        for Operation { operator, operands } in content.operations {
            if self.operations.len() > MAX_OPERATIONS {
                return;
            }
            match operator.as_str() {
                "q" => open += 1,
                "Q" if open == 0 => continue,
                "Q" => open -= 1,
                "BI" | "EI" => self.has_picture = true,
                _ => {}
            }
            match operator.as_str() {
                "Do" => self.show(doc, operands.first(), resources, depth),
                "Tf" => self.font(doc, &operands, resources),
                // The two operators that begin a line and show a string, in the words of others.
                "'" => {
                    self.push("T*", Vec::new());
                    self.push("Tj", operands);
                }
                "\"" => {
                    let [word, letter, text] = operands.as_slice() else { continue };
                    let (word, letter, text) = (word.clone(), letter.clone(), text.clone());
                    self.push("Tw", vec![word]);
                    self.push("Tc", vec![letter]);
                    self.push("T*", Vec::new());
                    self.push("Tj", vec![text]);
                }
                _ => self.push(&operator, operands),
            }
        }
        for _ in 0..open {
            self.push("Q", Vec::new());
        }
    }

    /// Adds an operator of text whose operands are as they must be.
    fn push(&mut self, operator: &str, operands: Vec<Object>) {
        let numbers = |count: usize| {
            operands.len() == count && operands.iter().all(|one| number(one).is_some())
        };
        let fits = match operator {
            "q" | "Q" | "BT" | "ET" | "T*" => operands.is_empty(),
            "cm" | "Tm" => numbers(6),
            "Td" | "TD" => numbers(2),
            "Tc" | "Tw" | "Tz" | "TL" | "Ts" => numbers(1),
            "Tj" => matches!(operands.as_slice(), [Object::String(..)]),
            "TJ" => matches!(operands.as_slice(), [Object::Array(_)]),
            _ => false,
        };
        if fits {
            self.operations.push(Operation::new(operator, operands));
        }
    }

    fn font(&mut self, doc: &Document, operands: &[Object], resources: Option<&Dictionary>) {
        let [Object::Name(name), size] = operands else { return };
        if number(size).is_none() {
            return;
        }
        let fonts = resources.and_then(|own| dictionary(doc, own.get(b"Font").ok()?));
        let Some(stated) = fonts.and_then(|fonts| fonts.get(name).ok()) else { return };
        let Some(font) = dictionary(doc, stated) else { return };
        let id = stated.as_reference().ok();
        let known = self.known.iter().find(|(known, _)| Some(*known) == id);
        let place = match known {
            Some((_, place)) => *place,
            None => {
                let place = self.fonts.len();
                self.fonts.push(font.clone());
                self.known.extend(id.map(|id| (id, place)));
                place
            }
        };
        let name = Object::Name(format!("F{place}").into_bytes());
        self.operations.push(Operation::new("Tf", vec![name, size.clone()]));
    }

    /// Puts a form in its place.
    fn show(
        &mut self,
        doc: &Document,
        name: Option<&Object>,
        resources: Option<&Dictionary>,
        depth: usize,
    ) {
        let Some(Object::Name(name)) = name else { return };
        let shown = resources.and_then(|own| dictionary(doc, own.get(b"XObject").ok()?));
        let shown = shown.and_then(|shown| shown.get(name).ok()?.as_reference().ok());
        let Some(form) = shown.and_then(|id| doc.get_object(id).ok()?.as_stream().ok()) else {
            return;
        };
        let kind = form.dict.get(b"Subtype").and_then(Object::as_name).ok();
        if kind == Some(b"Image") {
            self.has_picture = true;
        }
        if kind != Some(b"Form") || depth >= MAX_DEPTH {
            return;
        }
        let own = form.dict.get(b"Resources").ok().and_then(|own| dictionary(doc, own));
        self.push("q", Vec::new());
        if let Ok(Object::Array(matrix)) = form.dict.get_deref(b"Matrix", doc) {
            self.push("cm", matrix.clone());
        }
        self.add(doc, &content(form), own.or(resources), depth + 1);
        self.push("Q", Vec::new());
    }

    /// Takes the string of the number `string`, counted from 0 as they are shown, off the page.
    pub(super) fn leave_out(&mut self, string: usize) {
        let mut passed = 0;
        for operation in &mut self.operations {
            match operation.operands.as_mut_slice() {
                [Object::String(text, _)] if operation.operator == "Tj" => {
                    if passed == string {
                        text.clear();
                    }
                    passed += 1;
                }
                [Object::Array(parts)] if operation.operator == "TJ" => {
                    for part in parts {
                        if let Object::String(text, _) = part {
                            if passed == string {
                                text.clear();
                            }
                            passed += 1;
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// What `page` states under `key`, or the nodes above it do.
pub(super) fn inherited<'d>(
    doc: &'d Document,
    page: &'d Dictionary,
    key: &[u8],
) -> Option<&'d Object> {
    let mut node = page;
    // Deeper trees of pages are circles.
    for _ in 0..64 {
        if let Ok(found) = node.get_deref(key, doc) {
            return Some(found);
        }
        node = dictionary(doc, node.get(b"Parent").ok()?)?;
    }
    None
}

/// The dictionary that `object` is or refers to.
pub(super) fn dictionary<'d>(doc: &'d Document, object: &'d Object) -> Option<&'d Dictionary> {
    doc.dereference(object).ok()?.1.as_dict().ok()
}

pub(super) fn number(object: &Object) -> Option<f64> {
    match object {
        Object::Integer(whole) => Some(*whole as f64),
        Object::Real(real) if real.is_finite() => Some(f64::from(*real)),
        _ => None,
    }
}

fn content(stream: &Stream) -> Vec<u8> {
    if stream.filters().is_ok() {
        stream.decompressed_content().unwrap_or_default()
    } else {
        stream.content.clone()
    }
}
