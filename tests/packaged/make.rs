//! Files for the tests, written from scratch.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A zip archive of `entries`.
pub fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Relationships as `(id, kind, target)`.
pub fn relationships(of: &[(&str, &str, &str)]) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Relationships>".to_owned();
    for (id, kind, target) in of {
        text.push_str(&format!(
            "<Relationship Id=\"{id}\" Type=\"{RELATIONSHIPS}/{kind}\" Target=\"{target}\"/>"
        ));
    }
    text + "</Relationships>"
}

/// What a package states about itself.
pub const PROPERTIES: &str = "<cp:coreProperties xmlns:dc=\"x\"><dc:title>Pump  seals</dc:title>\
    <dc:creator>Ada</dc:creator><dcterms:created>2026-01-31T08:00:00Z</dcterms:created>\
    </cp:coreProperties>";

/// A Word document: the text of its body, and further parts by kind.
pub fn docx(body: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let top = relationships(&[
        ("a", "officeDocument", "word/document.xml"),
        ("b", "metadata/core-properties", "docProps/core.xml"),
    ]);
    let files: Vec<String> = parts.iter().map(|(kind, _)| format!("{kind}.xml")).collect();
    let links: Vec<(&str, &str, &str)> =
        parts.iter().zip(&files).map(|((kind, _), file)| (*kind, *kind, file.as_str())).collect();
    let links = relationships(&links);
    let main = format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    let names: Vec<String> = files.iter().map(|file| format!("word/{file}")).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("_rels/.rels", top.as_bytes()),
        ("word/_rels/document.xml.rels", links.as_bytes()),
        ("word/document.xml", main.as_bytes()),
        ("docProps/core.xml", PROPERTIES.as_bytes()),
    ];
    for (name, (_, text)) in names.iter().zip(parts) {
        entries.push((name, text.as_bytes()));
    }
    archive(&entries)
}

/// A paragraph with `properties` and one run of text.
pub fn paragraph(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// A workbook: its sheets as `(name, state, rows)`, shared texts, and format codes by style.
pub fn xlsx(sheets: &[(&str, &str, &str)], texts: &[&str], codes: &[&str]) -> Vec<u8> {
    let mut links = vec![
        ("t".to_owned(), "sharedStrings", "sharedStrings.xml".to_owned()),
        ("s".to_owned(), "styles", "styles.xml".to_owned()),
    ];
    let mut listed = String::new();
    let mut parts = Vec::new();
    for (number, (name, state, rows)) in (1..).zip(sheets) {
        listed.push_str(&format!(
            "<sheet name=\"{name}\" sheetId=\"{number}\" state=\"{state}\" r:id=\"r{number}\"/>"
        ));
        links.push((format!("r{number}"), "worksheet", format!("worksheets/sheet{number}.xml")));
        let text = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
        parts.push((format!("xl/worksheets/sheet{number}.xml"), text));
    }
    let links: Vec<(&str, &str, &str)> =
        links.iter().map(|(id, kind, file)| (id.as_str(), *kind, file.as_str())).collect();
    let links = relationships(&links);
    let top = relationships(&[("a", "officeDocument", "xl/workbook.xml")]);
    let book = format!("<workbook><sheets>{listed}</sheets></workbook>");
    let texts: String = texts.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
    let shared = format!("<sst>{texts}</sst>");
    let formats: String = (200..)
        .zip(codes)
        .map(|(id, code)| format!("<numFmt numFmtId=\"{id}\" formatCode=\"{code}\"/>"))
        .collect();
    let cells: String =
        (200..).zip(codes).map(|(id, _)| format!("<xf numFmtId=\"{id}\"/>")).collect();
    let styles = format!(
        "<styleSheet><numFmts>{formats}</numFmts><cellXfs><xf numFmtId=\"0\"/>{cells}</cellXfs></styleSheet>"
    );
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("_rels/.rels", top.as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/_rels/workbook.xml.rels", links.as_bytes()),
        ("xl/sharedStrings.xml", shared.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
    ];
    for (name, text) in &parts {
        entries.push((name, text.as_bytes()));
    }
    archive(&entries)
}

/// A row of cells as `(attributes, inside)`.
pub fn row(number: u32, cells: &[(&str, &str)]) -> String {
    let cells: String =
        cells.iter().map(|(how, inside)| format!("<c {how}>{inside}</c>")).collect();
    format!("<row r=\"{number}\">{cells}</row>")
}

/// A PDF in the making: objects by number, from 1.
pub struct PdfMaker {
    objects: Vec<Vec<u8>>,
    trailer: String,
}

impl PdfMaker {
    /// Pages whose content streams are `pages`; Helvetica is their font `F`. Object 1 is the catalog,
    /// 2 the tree of pages, 3 the font.
    pub fn new(pages: &[&str]) -> Self {
        let mut made = Self { objects: Vec::new(), trailer: String::new() };
        let first = 4;
        let kids: String =
            (0..pages.len()).map(|page| format!("{} 0 R ", first + 2 * page)).collect();
        made.add("<</Type/Catalog/Pages 2 0 R>>");
        made.add(&format!(
            "<</Type/Pages/Kids[{kids}]/Count {}/MediaBox[0 0 600 800]\
             /Resources<</Font<</F 3 0 R>>>>>>",
            pages.len()
        ));
        made.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
        for (page, content) in pages.iter().enumerate() {
            made.add(&format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", first + 2 * page + 1));
            made.add_stream("", content.as_bytes());
        }
        made
    }

    /// Adds an object and gives its number.
    pub fn add(&mut self, object: &str) -> usize {
        self.objects.push(object.as_bytes().to_vec());
        self.objects.len()
    }

    pub fn add_stream(&mut self, keys: &str, content: &[u8]) -> usize {
        let mut object = format!("<</Length {}{keys}>>stream\n", content.len()).into_bytes();
        object.extend_from_slice(content);
        object.extend_from_slice(b"\nendstream");
        self.objects.push(object);
        self.objects.len()
    }

    /// Replaces the object `number`.
    pub fn set(&mut self, number: usize, object: &str) {
        self.objects[number - 1] = object.as_bytes().to_vec();
    }

    /// Adds keys to the trailer.
    pub fn trailer(&mut self, keys: &str) {
        self.trailer.push_str(keys);
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = b"%PDF-1.4\n".to_vec();
        let mut places = Vec::new();
        for (number, object) in (1..).zip(&self.objects) {
            places.push(out.len());
            out.extend_from_slice(format!("{number} 0 obj\n").as_bytes());
            out.extend_from_slice(object);
            out.extend_from_slice(b"\nendobj\n");
        }
        let start = out.len();
        let size = places.len() + 1;
        out.extend_from_slice(format!("xref\n0 {size}\n0000000000 65535 f \n").as_bytes());
        for place in places {
            out.extend_from_slice(format!("{place:010} 00000 n \n").as_bytes());
        }
        let keys = &self.trailer;
        let tail =
            format!("trailer\n<</Size {size}/Root 1 0 R{keys}>>\nstartxref\n{start}\n%%EOF\n");
        out.extend_from_slice(tail.as_bytes());
        out
    }
}

/// The content of a page: lines as `(size, x, y, text)`.
pub fn page(lines: &[(u32, u32, u32, &str)]) -> String {
    let mut content = String::new();
    for (size, x, y, text) in lines {
        content.push_str(&format!("BT /F {size} Tf {x} {y} Td ({text}) Tj ET\n"));
    }
    content
}

/// Says that the book is at `OEBPS/book.opf`.
pub const CONTAINER: &str =
    "<container><rootfiles><rootfile full-path='OEBPS/book.opf'/></rootfiles></container>";

/// A book: its chapters as `(file, attributes in the list, page)` in the order of reading, more of its
/// package, and further files.
pub fn epub(chapters: &[(&str, &str, &str)], more: &str, files: &[(&str, &str)]) -> Vec<u8> {
    // The list has an order of its own, which is not that of reading.
    let items: String = (0..chapters.len())
        .rev()
        .map(|at| {
            let (file, how, _) = chapters[at];
            format!("<item id='c{at}' href='{file}' media-type='application/xhtml+xml' {how}/>")
        })
        .collect();
    let spine: String = (0..chapters.len()).map(|at| format!("<itemref idref='c{at}'/>")).collect();
    let package = format!(
        "<?xml version='1.0'?><package xmlns:dc='d'><metadata><dc:title>Pump  seals</dc:title>\
         <dc:creator>Ada</dc:creator><dc:date>2026-01-31</dc:date><dc:language>en</dc:language></metadata>\
         <manifest>{items}</manifest><spine>{spine}</spine>{more}</package>"
    );
    let names: Vec<String> =
        chapters.iter().map(|(file, ..)| format!("OEBPS/{}", file.replace("%20", " "))).collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        ("OEBPS/book.opf", package.as_bytes()),
    ];
    let pages = names.iter().zip(chapters).filter(|(_, (.., page))| !page.is_empty());
    entries.extend(pages.map(|(name, (.., page))| (name.as_str(), page.as_bytes())));
    entries.extend(files.iter().map(|(name, text)| (*name, text.as_bytes())));
    archive(&entries)
}

/// A page of a book.
pub fn chapter(title: &str, body: &str) -> String {
    format!(
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title>{title}</title></head>\
         <body>{body}</body></html>"
    )
}
