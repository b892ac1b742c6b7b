//! Word documents.

use super::make::{docx, paragraph};
use super::{read, shown};

const STYLES: &str = "<w:styles>\
    <w:style w:type='paragraph' w:default='1' w:styleId='Standard'><w:name w:val='Normal'/></w:style>\
    <w:style w:type='paragraph' w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style>\
    <w:style w:type='paragraph' w:styleId='Kapitel'><w:basedOn w:val='Standard'/>\
    <w:pPr><w:outlineLvl w:val='1'/></w:pPr></w:style>\
    <w:style w:type='paragraph' w:styleId='Titel'><w:name w:val='Title'/></w:style>\
    <w:style w:type='paragraph' w:styleId='toc'><w:name w:val='toc 1'/></w:style>\
    <w:style w:type='paragraph' w:styleId='Code'><w:name w:val='Source Code'/></w:style>\
    </w:styles>";

const NUMBERING: &str = "<w:numbering><w:abstractNum w:abstractNumId='0'>\
    <w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>\
    <w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='lowerLetter'/><w:lvlText w:val='%2)'/></w:lvl>\
    </w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>";

fn item(level: u8, text: &str) -> String {
    let place = format!("<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='1'/></w:numPr>");
    paragraph(&place, text)
}

#[test]
fn headings_lists_and_code_are_what_their_styles_say() {
    let style = |style: &str, text: &str| paragraph(&format!("<w:pStyle w:val='{style}'/>"), text);
    let body = [
        style("Titel", "Pump seals"),
        style("toc", "Seals ... 3"),
        style("berschrift1", "Seals"),
        paragraph("", "A seal is *dry* &amp; whistles."),
        style("Kapitel", "Oil"),
        item(0, "one"),
        item(1, "inner"),
        item(1, "inner too"),
        item(0, "two"),
        style("Code", "fn main() {"),
        style("Code", "}"),
        paragraph("<w:outlineLvl w:val='8'/>", "Deep"),
        paragraph("", "Fin."),
    ];
    let bytes = docx(&body.concat(), &[("styles", STYLES), ("numbering", NUMBERING)]);
    let document = read("p.docx", &bytes);
    assert_eq!(document.title, "Pump seals");
    assert_eq!(document.id, "p.docx");
    assert_eq!(document.metadata.text("author"), Some("Ada"));
    assert_eq!(document.metadata.date("created").unwrap().to_string(), "2026-01-31");
    let wanted = [
        "h1 Seals",
        "p A seal is *dry* & whistles.",
        "h2 Oil",
        "li 1. one",
        "li   a) inner",
        "li   b) inner too",
        "li 2. two",
        "code fn main() { / }",
        "h9 Deep",
        "p Fin.",
    ];
    assert_eq!(shown(&document), wanted);
}

#[test]
fn what_is_read_is_what_is_printed() {
    let body = "<w:p><w:r><w:t>The pump </w:t></w:r>\
        <w:del><w:r><w:delText>never </w:delText><w:t>ever </w:t></w:r></w:del>\
        <w:ins><w:r><w:t>always </w:t></w:r></w:ins>\
        <w:moveFrom><w:r><w:t>gone </w:t></w:r></w:moveFrom>\
        <w:r><w:rPr><w:vanish/></w:rPr><w:t>secretly </w:t></w:r>\
        <w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>runs</w:t><w:noBreakHyphen/>\
        <w:t>on\u{AD}wards</w:t><w:instrText>PAGE</w:instrText></w:r>\
        <mc:AlternateContent><mc:Choice><w:r><w:txbxContent><w:p><w:r><w:t>A box.</w:t></w:r></w:p>\
        </w:txbxContent></w:r></mc:Choice><mc:Fallback><w:r><w:txbxContent><w:p><w:r><w:t>A box.</w:t>\
        </w:r></w:p></w:txbxContent></w:r></mc:Fallback></mc:AlternateContent></w:p>\
        <w:sdt><w:sdtContent><w:p><w:r><w:t>In a control.</w:t></w:r></w:p></w:sdtContent></w:sdt>";
    let document = read("p.docx", &docx(body, &[]));
    assert_eq!(shown(&document), ["p The pump always runs-onwards", "p A box.", "p In a control."]);
}

#[test]
fn tables_have_their_header_and_merged_cells_their_text() {
    let cell = |how: &str, text: &str| {
        format!("<w:tc><w:tcPr>{how}</w:tcPr>{}</w:tc>", paragraph("", text))
    };
    let row = |how: &str, cells: &[String]| {
        format!("<w:tr><w:trPr>{how}</w:trPr>{}</w:tr>", cells.concat())
    };
    let plain = |texts: [&str; 3]| texts.map(|text| cell("", text));
    let table = [
        row("<w:tblHeader/>", &plain(["Code", "Meaning", "Way out"])),
        row(
            "",
            &[cell("<w:vMerge w:val='restart'/>", "F-12"), cell("", "No oil"), cell("", "Fill up")],
        ),
        row("<w:del/>", &plain(["F-13", "deleted", "row"])),
        row("", &[cell("<w:vMerge/>", ""), cell("<w:gridSpan w:val='2'/>", "Old oil")]),
        row("<w:gridBefore w:val='1'/>", &[cell("", "late"), cell("", "")]),
    ];
    let frame = format!("<w:tbl>{}</w:tbl>", row("", &[cell("", "Only a frame.")]));
    let body = format!("<w:tbl><w:tblPr/>{}</w:tbl>{frame}", table.concat());
    let document = read("p.docx", &docx(&body, &[]));
    let wanted = [
        "table of 3 Code | Meaning | Way out / F-12 | No oil | Fill up / F-12 | Old oil / | late |",
        "p Only a frame.",
    ];
    let shown = shown(&document);
    assert_eq!(shown[0].replace(" /  |", " / |"), wanted[0]);
    assert_eq!(shown[1], wanted[1]);
}

#[test]
fn notes_follow_what_refers_to_them() {
    let note = |id: u8, inside: &str| {
        format!("<w:footnote w:id='{id}'><w:p><w:r><w:t>{inside}</w:t></w:r></w:p></w:footnote>")
    };
    let notes = format!(
        "<w:footnotes><w:footnote w:type='separator' w:id='0'><w:p/></w:footnote>{}{}</w:footnotes>",
        note(2, "A dry one.</w:t><w:footnoteReference w:id='2'/><w:t>"),
        note(3, "Never referred to.")
    );
    let ends = "<w:endnotes><w:endnote w:id='2'><w:p><w:r><w:t>At the end.</w:t></w:r></w:p></w:endnote></w:endnotes>";
    let body = "<w:p><w:r><w:t>A seal</w:t><w:footnoteReference w:id='2'/><w:t> whistles</w:t>\
        <w:endnoteReference w:id='2'/><w:t>.</w:t></w:r></w:p><w:p><w:r><w:t>Next.</w:t></w:r></w:p>";
    let document = read("p.docx", &docx(body, &[("footnotes", &notes), ("endnotes", ends)]));
    let wanted =
        ["p A seal[1] whistles[2].", "note [1] A dry one.", "note [2] At the end.", "p Next."];
    assert_eq!(shown(&document), wanted);
}

#[test]
fn pages_are_those_that_word_last_laid_out() {
    let body = "<w:p><w:r><w:t>One.</w:t></w:r></w:p>\
        <w:p><w:r><w:lastRenderedPageBreak/><w:t>Two, </w:t></w:r>\
        <w:r><w:lastRenderedPageBreak/><w:t>and three.</w:t></w:r></w:p>\
        <w:p><w:r><w:t>Still three.</w:t></w:r></w:p>";
    let document = read("p.docx", &docx(body, &[]));
    assert_eq!(shown(&document), ["p@1 One.", "p@2 Two, and three.", "p@3 Still three."]);
}

#[test]
fn a_document_in_utf_16_and_strict_names_is_read() {
    let bytes = docx("<w:p><w:r><w:t>Größe.</w:t></w:r></w:p>", &[]);
    assert_eq!(shown(&read("p.docx", &bytes)), ["p Größe."]);
    let text =
        "\u{FEFF}<x:document><x:body><x:p><x:r><x:t>Weit.</x:t></x:r></x:p></x:body></x:document>";
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bytes = super::make::archive(&[("Word/Document.xml", &wide)]);
    let document = read("weit_weg.docx", &bytes);
    assert_eq!(
        (document.title.as_str(), shown(&document)),
        ("Weit weg", vec!["p Weit.".to_owned()])
    );
}
