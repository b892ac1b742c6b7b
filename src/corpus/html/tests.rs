//! Pages as people have them.

use super::*;
use crate::corpus::tests::items;

fn read_bytes(bytes: &[u8]) -> Reading {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("x.html");
    std::fs::write(&location, bytes).unwrap();
    let source = RawFile { path: "web/my page.html".into(), location };
    Html.read(&source, &CorpusSettings::default()).unwrap()
}

fn document(page: &str) -> Document {
    read_bytes(page.as_bytes()).documents.remove(0)
}

fn shown(page: &str) -> Vec<String> {
    items(&document(page))
}

#[test]
fn a_page_is_its_content_under_its_title() {
    let page = "<!DOCTYPE html><html lang=de><head><title>Pumps &amp; hoses</title>\
        <style>p{}</style><script>if (a<b) document.write('<p>no</p>')</script></head><body>\
        <header><a href=/>Home</a></header><nav><ul><li>Menu</ul></nav>\n\
        <h1>Pumps</h1><p>One &eacute;&nbsp;<b>two</b>\n three<br>four &lt;b&gt; *x*<p>Next\
        <h2>Parts<!-- no --></h2><blockquote><p>Said.</blockquote><hr>Loose\
        <aside class=related>More</aside><aside class='note tip'>Mind.</aside>\
        <footer>(c)</footer></body></html>";
    let one = document(page);
    assert_eq!((one.id.as_str(), one.title.as_str()), ("web/my-page.html", "Pumps & hoses"));
    assert_eq!(one.metadata.text("lang"), Some("de"));
    let wanted = [
        "h1 Pumps",
        "p One é two three/four <b> *x*",
        "p Next",
        "h2 Parts",
        "q Said.",
        "p Loose",
        "p Mind.",
    ];
    assert_eq!(items(&one), wanted);
}

#[test]
fn the_main_part_is_the_page_where_it_has_one() {
    let page = "<div>Banner</div><main><header><h1>T</h1></header><p>In</p><nav>toc</nav></main>\
        <div>After</div>";
    assert_eq!(shown(page), ["p In"]);
    assert_eq!(document(page).title, "T");
    let page = "<p>Cookies</p><article><p>A long text of its own.</article><div>x</div>";
    assert_eq!(shown(page), ["p A long text of its own."]);
    let page = "<p>The text of the page itself.</p><article>card</article>";
    assert_eq!(shown(page), ["p The text of the page itself.", "p card"]);
    let page = "<div role=navigation>a</div><div role=main>b</div><div role=contentinfo>c</div>";
    assert_eq!(shown(page), ["p b"]);
    assert_eq!(shown("<nav>all there is</nav>"), ["p all there is"]);
    assert_eq!(document("<p>x").title, "My page");
}

#[test]
fn lists_keep_their_depth_and_numbers() {
    let page = "<ul><li>a<p>more</p><ol start=3><li>b<li><p>c</ol>rest<li>d</ul>\
        <dl><dt>Term<dd>Meaning<dt>Other</dl>after";
    let wanted = [
        "i - a",
        "i  more",
        "i   3. b",
        "i   4. c",
        "i  rest",
        "i - d",
        "i - Term",
        "i  Meaning",
        "i - Other",
        "p after",
    ];
    assert_eq!(shown(page), wanted);
}

#[test]
fn tables_have_headers_spans_and_no_nesting() {
    let page = "<table><caption>Codes</caption><thead><tr><th>Code<th>Meaning</thead>\
        <tr><td rowspan=2>F-12</td><td>no <b>oil</b> | *x*</td></tr><tr><td>dry<td></tr>\
        <tr><td colspan=2>all</table>";
    assert_eq!(
        shown(page),
        ["p Codes", "t1 Code | Meaning/F-12 | no oil | *x*/F-12 | dry |/all |"]
    );
    assert_eq!(shown("<table><tr><td>a<td>b<tr><td>c<td>d</table>"), ["t0 a | b/c | d"]);
    let page =
        "<table><tr><td>left<td><h2>T</h2><table><tr><td>1<td>2</table>end<tr><td>x</table>y";
    assert_eq!(shown(page), ["p left", "p T", "t0 1 | 2", "p end", "p x", "p y"]);
    assert_eq!(shown("<table><tr><td>only<tr><td>one column</table>"), ["p only", "p one column"]);
    let wide = format!("<table><tr><td colspan=9999999>a<td>b</tr>{}</table>", "<td>x".repeat(5));
    assert_eq!(shown(&wide).len(), 1);
}

#[test]
fn code_keeps_its_lines_and_hidden_things_stay_hidden() {
    let page = "<pre><code>\nif a &lt; b:\n    c()\n</code></pre>\
        <div hidden>a<div>b</div>c</div><span style='Display : none'>d<span>e</span>f</span>\
        <svg><title>no</title><path/></svg><p aria-hidden=true>g</p><button>Go</button>\
        <select><option>h</select><textarea><p>i</textarea><iframe srcdoc='j'>k</iframe>\
        <noscript>l</noscript><template>m</template>seen";
    assert_eq!(shown(page), ["c if a < b:/    c()", "p seen"]);
}

#[test]
fn broken_pages_are_read_as_far_as_they_go() {
    assert_eq!(shown("a<p>b</div></p></p>c<li>d</td>e"), ["p a", "p b", "p c", "p de"]);
    assert_eq!(shown("before<script>never closed <p>x"), ["p before"]);
    assert_eq!(shown("<p>x</p><!-- never closed <p>y"), ["p x"]);
    assert_eq!(shown("é < 3 & > 2 <"), ["p é < 3 & > 2 <"]);
    assert_eq!(shown(""), [""; 0]);
    assert_eq!(shown("<title>t"), [""; 0]);
    assert_eq!(document("<title>t</title>x").title, "t");
    let xml =
        "<?xml version='1.0'?><html><head><title/><script src='a'/></head><body>x</body></html>";
    assert_eq!(shown(xml), ["p x"]);
}

#[test]
fn pieces_know_their_lines_and_bytes() {
    let page = "<h2>A</h2>\n<p>one\ntwo</p>\n<table>\n<tr><td>a<td>b\n<tr><td>c<td>d</table>";
    let one = document(page);
    let BodyForm::Structured(structure) = &one.form else { unreachable!() };
    let places = structure.places.iter().map(|(_, place)| {
        let bytes = place.bytes.clone().unwrap();
        let raw = page[bytes.start as usize..bytes.end as usize].replace('\n', "/");
        format!("{}: {raw}", place.lines.unwrap())
    });
    let wanted =
        ["1: <h2>A", "2-3: <p>one/two", "5-6: <td>a<td>b/", "6: <td>c<td>d"].map(str::to_owned);
    assert_eq!(places.collect::<Vec<_>>(), wanted);
}

#[test]
fn a_page_is_read_in_the_encoding_that_it_declares() {
    let (russian, ..) = encoding_rs::KOI8_R.encode("<meta charset=\"koi8-r\"><p>Насос течёт");
    let read = read_bytes(&russian);
    assert_eq!(items(&read.documents[0]), ["p Насос течёт"]);
    assert_eq!(read.remarks[0].text, "read as KOI8-R, as it declares");
    let wrong = "<meta http-equiv=x content='text/html; charset=koi8-r'><p>é";
    assert_eq!(shown(wrong), ["p é"]);
    assert_eq!(
        declared(b"<?xml version='1.0' encoding='Shift_JIS'?>").as_deref(),
        Some("shift_jis")
    );
    assert_eq!(declared(b"charset then nothing"), None);
}

#[test]
fn time_grows_with_length_only() {
    let heavy = [
        ("attributes of one tag", format!("<a {}>x", "a b=c ".repeat(100_000))),
        (
            "names of one tag",
            format!("<a {}>x", (0..200_000).map(|n| format!("a{n} ")).collect::<String>()),
        ),
        (
            "attributes that hold a tag",
            format!("<a {}>x", (0..200_000).map(|n| format!("a{n}='<' ")).collect::<String>()),
        ),
        ("open blocks", "<div><ul><li>x".repeat(100_000)),
        ("open tables", "<table><tr><td>x".repeat(50_000)),
        (
            "stray ends",
            format!("{}{}", "<div>".repeat(100_000), "</p></li></table>".repeat(100_000)),
        ),
        ("spans", format!("<table>{}</table>", "<tr><td rowspan=1000 colspan=1000>x".repeat(300))),
        ("one line", "word ".repeat(1_000_000)),
        ("angles", "<".repeat(1_000_000)),
        ("ampersands", "&".repeat(1_000_000)),
        ("comments", "<!--<p>x-->y".repeat(100_000)),
        ("an open comment", format!("<!-- {}", "<p>x".repeat(200_000))),
    ];
    for (name, page) in heavy {
        println!("{name}: {} pieces", Page::of(&page).pieces.len());
    }
}

#[test]
fn menus_around_the_text_are_left_out() {
    let link = |name: &str| format!("<li><a href='/{name}'>{name}</a></li>");
    let menu = ["Home", "Products", "Support", "Contact us"].map(link).concat();
    let text = "<p>A dry seal whistles. See <a href=x>the parts</a>, or the list:</p>";
    let parts = ["Seals", "Hoses", "Valves", "Bolts"].map(link).concat();
    let foot = "<div><a href=a>About</a> | <a href=b>Terms</a> | <a href=c>Privacy</a> | <a href=d>Jobs</a></div>";
    let page = format!(
        "<title>T</title><ul>{menu}</ul><div><h1>Seals</h1>{text}<ul>{parts}</ul>\
         <p>Order by phone.</p></div>{foot}<p>(c)</p>{foot}"
    );
    let kept = [
        "h1 Seals",
        "p A dry seal whistles. See the parts, or the list:",
        "i - Seals",
        "i - Hoses",
    ];
    let found = shown(&page);
    assert_eq!(found[..4], kept);
    let foot = "p About | Terms | Privacy | Jobs";
    // Between two texts it is taken for one; after the last it is not.
    assert_eq!(found[6..], ["p Order by phone.", foot, "p (c)"]);
    // Links under a heading are a section, few are a remark, and a page of links is its links.
    let headed = format!("<title>T</title>{text}<h2>See also</h2><ul>{parts}</ul>");
    assert_eq!(shown(&headed).len(), 6);
    let few = format!("<title>T</title>{text}<ul>{}{}</ul>", link("one"), link("two"));
    assert_eq!(shown(&few).len(), 3);
    let index = format!("<title>T</title><ul>{menu}{parts}</ul><p>All pages.</p>");
    assert_eq!(shown(&index).len(), 9);
}
