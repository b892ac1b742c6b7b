//! The helper's side: limits on itself, one PDF in, one answer out.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use pdf_extract::{Document, Error, ObjectId};

use super::compose::pieces;
use super::extract::{self, PageGlyphs};
use super::lines::{Line, lines};
use super::outline::{bookmarks, day, stated};
use super::rebuild::{mend_streams, rebuilt};
use super::{Answer, Read};

/// The stack of the thread that reads; the parser goes down with the nesting of objects.
const STACK_BYTES: usize = 64 << 20;

/// Pages and fonts that a remark names; more are counted.
const NAMED: usize = 5;

/// Reads one PDF from `input` and writes what is in it to `output`, for a parent that started this
/// process as its [`PdfHelper`](super::PdfHelper).
///
/// The whole process is put under limits first, of `memory_bytes` of address space and of `seconds`
/// of processor time, and panics are silenced: nothing else can be done in it.
///
/// # Errors
///
/// What the system says when reading or writing fails, or when a limit cannot be set.
pub fn serve(
    memory_bytes: u64,
    seconds: u64,
    input: &mut dyn io::Read,
    output: &mut dyn Write,
) -> io::Result<()> {
    limit(memory_bytes, seconds)?;
    std::panic::set_hook(Box::new(|_| {}));
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let reader = thread::Builder::new().stack_size(STACK_BYTES);
    let answer = reader.spawn(move || answer(&bytes))?.join().unwrap_or_else(|_| stumbled());
    serde_json::to_writer(&mut *output, &answer)?;
    output.flush()
}

#[cfg(unix)]
fn limit(memory_bytes: u64, seconds: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let set = |resource, current: u64, maximum: u64| {
        let (current, maximum) = (Some(current), Some(maximum));
        setrlimit(resource, Rlimit { current, maximum }).map_err(io::Error::from)
    };
    set(Resource::Core, 0, 0)?;
    set(Resource::Fsize, 0, 0)?;
    // The first limit ends the process by a signal that tells why, the second by one that does not.
    set(Resource::Cpu, seconds, seconds.saturating_add(5))?;
    // Not every system keeps to this one; the parent's clock is there in any case.
    let _ = set(Resource::As, memory_bytes, memory_bytes);
    Ok(())
}

#[cfg(not(unix))]
fn limit(_: u64, _: u64) -> io::Result<()> {
    Ok(())
}

fn stumbled() -> Answer {
    refused("it is damaged in a way that its reader does not survive", RESAVE)
}

const RESAVE: &str = "open it in a PDF program and save it again";

fn refused(problem: &str, help: &str) -> Answer {
    Answer::Refused { problem: problem.to_owned(), help: help.to_owned() }
}

/// What is in the PDF whose bytes are `bytes`.
pub(super) fn answer(bytes: &[u8]) -> Answer {
    match catch_unwind(AssertUnwindSafe(|| read(bytes))) {
        Ok(Ok(read)) => Answer::Read(read),
        Ok(Err(refused)) => refused,
        Err(_) => stumbled(),
    }
}

fn read(bytes: &[u8]) -> Result<Read, Answer> {
    let (mut doc, is_whole) = open(bytes)?;
    let pages: Vec<ObjectId> = doc.get_pages().into_values().collect();
    let marks = bookmarks(&doc, &pages);
    let mut read = Read {
        title: stated(&doc, b"Title"),
        author: stated(&doc, b"Author").filter(|name| !is_nobody(name)),
        created: stated(&doc, b"CreationDate").and_then(|stated| day(&stated)),
        ..Read::default()
    };
    let mut all: Vec<Vec<Line>> = Vec::with_capacity(pages.len());
    let mut losses = Losses::default();
    for (number, id) in (1..).zip(pages) {
        let found = extract::page(&mut doc, id);
        let of_page = lines(&found.glyphs);
        losses.note(number, &found, of_page.is_empty());
        all.push(of_page);
    }
    if all.iter().all(Vec::is_empty) {
        return Err(losses.nothing());
    }
    read.losses = losses.told();
    if !is_whole {
        let told = "the table of its objects is damaged; what was found without it was read";
        read.losses.insert(0, told.to_owned());
    }
    read.pieces = pieces(all, &marks);
    Ok(read)
}

/// Whether a program wrote this in place of a name.
fn is_nobody(author: &str) -> bool {
    let bare = author.trim_matches(['(', ')']).to_lowercase();
    ["anonymous", "unspecified", "unknown", "user"].contains(&bare.as_str())
}

/// The file as objects, and whether it was found by its own table.
fn open(bytes: &[u8]) -> Result<(Document, bool), Answer> {
    let encrypted = || refused("it is encrypted", "save it without a password");
    // The mark may stand behind some bytes of another program, but not far.
    let start = &bytes[..bytes.len().min(1024)];
    if !start.windows(5).any(|window| window == b"%PDF-") {
        return Err(refused("it is not a PDF, whatever its ending says", ""));
    }
    let (mut doc, is_whole) = match load(bytes) {
        Ok((doc, is_mended)) if is_useful(&doc) => (doc, !is_mended),
        Err(Error::InvalidPassword | Error::Decryption(_)) => return Err(encrypted()),
        first => {
            let problem = match first {
                Ok(_) => "it is damaged: no page can be found in it".to_owned(),
                Err(fault) => format!("it is cut off or damaged ({fault})"),
            };
            let again = rebuilt(bytes).and_then(|bytes| load(&bytes).ok());
            let again = again.map(|(doc, _)| doc).filter(is_useful);
            (again.ok_or_else(|| refused(&problem, RESAVE))?, false)
        }
    };
    if doc.is_encrypted() && doc.decrypt("").is_err() {
        return Err(encrypted());
    }
    Ok((doc, is_whole))
}

fn is_useful(doc: &Document) -> bool {
    doc.is_encrypted() || !doc.get_pages().is_empty()
}

/// Parses a file, and whether streams had to be mended. A panic is one more way to fail.
fn load(bytes: &[u8]) -> Result<(Document, bool), Error> {
    let stumbled = |_| Err(Error::InvalidStream("its reader stumbled over it".to_owned()));
    let parse = || {
        let mut doc = Document::load_mem(bytes)?;
        let is_mended = !doc.was_encrypted() && mend_streams(&mut doc, bytes);
        Ok((doc, is_mended))
    };
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or_else(stumbled)
}

/// What could not be read, page by page.
#[derive(Default)]
struct Losses {
    pictures: Vec<u32>,
    partial: Vec<u32>,
    unknown: Vec<u32>,
    bad_fonts: BTreeSet<String>,
}

impl Losses {
    fn note(&mut self, page: u32, found: &PageGlyphs, is_empty: bool) {
        if is_empty && found.has_picture {
            self.pictures.push(page);
        }
        if found.is_partial {
            self.partial.push(page);
        }
        // A sign or two without meaning are ornaments; many are a font that tells nothing.
        if found.unknown * 4 > found.glyphs.len() {
            self.unknown.push(page);
        }
        self.bad_fonts.extend(found.bad_fonts.iter().cloned());
    }

    /// Why there is no text at all.
    fn nothing(&self) -> Answer {
        if !self.bad_fonts.is_empty() || !self.unknown.is_empty() || !self.partial.is_empty() {
            return refused("none of its text can be decoded", RESAVE);
        }
        if self.pictures.is_empty() {
            return refused("it has no text", "");
        }
        refused("it has no text: its pages are pictures", "run a text recognition over it first")
    }

    fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (pages, what) in [
            (&self.pictures, "is a picture without text"),
            (&self.partial, "is damaged, and some of its text is missing"),
            (&self.unknown, "has text in a font that does not tell its letters"),
        ] {
            let names: Vec<String> = pages.iter().map(u32::to_string).collect();
            told.extend(listed("page", &names).map(|pages| format!("{pages} {what}")));
        }
        let fonts: Vec<String> = self.bad_fonts.iter().map(|name| format!("`{name}`")).collect();
        let fonts = listed("the font", &fonts);
        told.extend(fonts.map(|fonts| format!("{fonts} cannot be decoded")));
        told
    }
}

/// `page 3`, `page 3 (and 4, 7)`, with a number for what is too long to name.
fn listed(what: &str, names: &[String]) -> Option<String> {
    let (first, rest) = names.split_first()?;
    let mut shown = format!("{what} {first}");
    if !rest.is_empty() {
        let more = rest.len().saturating_sub(NAMED);
        let mut others = rest.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            others.push_str(&format!(" and {more} more"));
        }
        shown.push_str(&format!(" (and {others})"));
    }
    Some(shown)
}
