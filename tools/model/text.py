"""The text that the static model is trained on: pairs of a title (or term) and a passage, out of Debian packages.

Every source is a package of Debian main, so its licence is free and stated; `SOURCES` names it. None holds text of a
test collection. The packages are fetched by apt into a folder of their own; nothing is installed.
"""
import gzip
import hashlib
import html
import pathlib
import random
import re
import subprocess

# source: (packages, glob below the unpacked package, reader, licence, share of the taught pairs, share of its
# paragraphs whose sentences may be taught)
SOURCES = {
    "wordnet": (["wordnet-base"], "usr/share/wordnet/data.*", "wordnet", "WordNet 3.0 License", .12, .5),
    "gcide": (["dict-gcide"], "**/gcide.dict.dz", "gcide", "GPL-2+", .10, .6),
    "foldoc": (["dict-foldoc"], "**/foldoc.dict.dz", "dictionary", "GFDL-1.1+", .08, .8),
    "jargon": (["dict-jargon"], "**/jargon.dict.dz", "dictionary", "public domain", .01, .8),
    "elements": (["dict-elements"], "**/elements.dict.dz", "dictionary", "public domain", .005, 1),
    "descriptions": ([], "", "descriptions", "that of each package of Debian main", .15, .6),
    "python": (["python3.11-doc"], "**/*.rst.txt", "marked", "PSF License 2", .04, .6),
    "linux": (["linux-doc-6.1"], "**/*.rst*", "marked", "GPL-2.0", .04, .4),
    "git": (["git-doc"], "**/*.txt", "marked", "GPL-2.0", .03, .5),
    "perl": (["perl-doc"], "**/*.pod*", "pod", "GPL-1+ or Artistic", .03, .4),
    "postgresql": (["postgresql-doc-15"], "**/*.html", "page", "PostgreSQL License", .05, .5),
    "handbook": (["debian-handbook"], "**/en-US/*.html", "page", "GPL-2+ or CC BY-SA 3.0", .03, 1),
    "gnome": (["gnome-user-docs"], "usr/share/help/C/**/*.page", "mallard", "CC BY-SA 3.0", .02, 1),
    "manual": (["manpages", "manpages-dev"], "usr/share/man/man*/*.gz", "manual",
               "per page: Linux-man-pages-copyleft, GPL-2+, BSD, Expat", .02, .6),
    "sklearn": (["python-sklearn-doc"], "**/html/*.html", "page", "BSD-3-Clause", .01, 1),
    "sklearn-guide": (["python-sklearn-doc"], "**/html/modules/*.html", "page", "BSD-3-Clause", .03, 1),
    "scipy": (["python-scipy-doc"], "**/html/**/*.html", "page", "BSD-3-Clause", .04, .4),
    "statsmodels": (["python-statsmodels-doc"], "**/html/*.html", "page", "BSD-3-Clause", .02, 1),
    "octave": (["octave-doc"], "**/*.html", "page", "GPL-3+", .03, .6),
    "grass": (["grass-doc"], "**/html/*.html", "page", "GPL-2+", .04, .8),
    "r": (["r-doc-html"], "**/manual/*.html", "page", "GPL-2", .02, .6),
    "gimp": (["gimp-help-en"], "**/help/en/*.html", "page", "GFDL-1.2+", .04, .6),
    "cppreference": (["cppreference-doc-en-html"], "**/doc/html/en/**/*.html", "page", "CC BY-SA 3.0 or GFDL-1.3+",
                     .04, .3),
    "policy": (["debian-policy"], "**/policy.html/*.html", "page", "GPL-2+", .015, .6),
}
# A passage has at most so many words. (The entries of `elements` are tables, and none passes the share of letters.)
WORDS = 90


def clean(text):
    return re.sub(r"\s+", " ", html.unescape(text)).strip()


def plain(markup):
    return re.sub(r"<[^>]+>", "", markup)


def parts(text):
    """A long text as passages of at most WORDS words."""
    words = clean(text).split()
    return [" ".join(words[at:at + WORDS]) for at in range(0, len(words), WORDS)]


def wordnet(text, draw):
    for line in text.split("\n"):
        if not line or line[0] == " " or "|" not in line:
            continue
        fields, gloss = line.split("|", 1)
        fields = fields.split()
        words = [re.sub(r"\(.*?\)", "", word.replace("_", " ")) for word in fields[4:4 + 2 * int(fields[3], 16):2]]
        yield ", ".join(draw.sample(words, min(len(words), 2))), gloss.replace('"', ""), 5


def dictionary(text, draw):
    for term, body in re.findall(r"^(\S[^\n]*)\n\n?((?:  +[^\n]*\n|\n)+)", text, re.M):
        if term.startswith("00-"):
            continue
        body = re.sub(r"\(\d{4}-\d\d-\d\d\)|<[a-z ,/]+>|\{\(?http[^}]*\}|[{}]|^ *\d+\. ", "", body, flags=re.M)
        for paragraph in re.split(r"\n\s*\n", body)[:3]:
            yield term, paragraph, 10


def gcide(text, draw):
    for term, body in re.findall(r"^([A-Z][^\n\\]*?) *\\[^\n]*\n((?:   [^\n]*\n|\n)+)", text, re.M):
        if "[Obs" in body[:400]:
            continue
        sense = re.split(r"\n\s*\n|\n *\[(?:1913|Webster|PJC|WordNet)|--[A-Z]", body)[0]
        yield term, re.sub(r'\[[^\]]*\]|[{}"]|^ *\d+\. |^ *Defn: |\([a-z]\) ?', "", sense, flags=re.M), 7


def descriptions(text, draw):
    for entry in text.split("\n\n"):
        found = re.search(r"^Package: (.*)\nDescription-md5:.*\nDescription-en: (.*)\n((?: .*\n?)*)", entry, re.M)
        if not found:
            continue
        name, short, body = found.groups()
        # Hundreds of packages of one kind say much the same.
        alike = r"-(dbg|dev|data|common|dbgsym|locale.*|l10n-.*)$|^(r-|lib.*-perl|ruby-|golang-|node-|librust-|fonts-|libghc-)"
        if re.search(alike, name) and draw.random() < .6:
            continue
        body = re.sub(r"^ \.?$", "\n", body, flags=re.M).split("\n\n")[0]
        yield short if draw.random() < .8 else f"{name} {short}", body, 15


def marked(text, draw):
    """Headings and paragraphs of reStructuredText, AsciiDoc and their like."""
    text = re.sub(r"```.*?```|::\n\n(?:[ \t]+.*\n|\n)+|^(-{4,}|\.{4,})\n.*?^\1$", "\n\n", text, flags=re.S | re.M)
    title = section = ""
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").split("\n")
        if len(lines) >= 2 and re.match(r'^([=\-~^"*+#])\1{2,}\s*$', lines[1]):
            section, lines = lines[0], lines[2:]
        elif found := re.match(r"(?:#|=)+\s+(.*)", lines[0]):
            section, lines = found.group(1), lines[1:]
        title = title or section
        body = "\n".join(lines)
        if not section or not body or body[0] in " \t.|<+`*-":
            continue
        body = re.sub(r":[a-z:]+:`([^`<]*?)(?:\s*<[^>]*>)?`", r"\1", body)
        body = re.sub(r"[`*_~]{1,2}(\S.*?)[`*_~]{1,2}", r"\1", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", body))
        both = section != title and draw.random() < .5
        yield f"{title}: {section}" if both else section, body, 18


def pod(text, draw):
    title = section = ""
    for block in re.split(r"\n\s*\n", text):
        if found := re.match(r"=head\d\s+(.*)", block):
            section = found.group(1).capitalize() if found.group(1).isupper() else found.group(1)
        elif block and block[0] not in " \t=":
            body = re.sub(r"[A-Z]<+\s*([^<>|]*?)(\|[^<>]*)?\s*>+", r"\1", block)
            title = title or (body.split(" - ")[0] if " - " in body else "")
            dull = section.lower() in ("name", "description", "synopsis")
            yield f"{title} {section}" if dull else section, body, 18


def page(text, draw):
    """Headings and paragraphs of HTML."""
    text = re.sub(r"<(script|style|pre|nav|table|footer)\b.*?</\1>", " ", text, flags=re.S)
    found = re.search(r"<title>(.*?)</title>", text, re.S)
    title = re.split(r"\s+(?:—|&#8212;|&mdash;|\|)\s+", clean(plain(found.group(1))))[0] if found else ""
    section = title
    for found in re.finditer(r'<h([1-5])[^>]*>(.*?)</h\1>|<p\b[^>]*>(.*?)</p>|<dd>([^<].*?)</dd>|<div class="para">(.*?)</div>',
                             text, re.S):
        if found.group(1):
            section = re.sub(r"^[\dA-Z.\s]+\.\s", "", clean(plain(found.group(2))).rstrip("¶#"))
            continue
        both = title and section != title and draw.random() < .3
        for part in parts(plain(found.group(3) or found.group(4) or found.group(5) or "")):
            yield f"{title}: {section}" if both else section, part, 18


def mallard(text, draw):
    found = re.search(r"<title>(.*?)</title>", text, re.S)
    for paragraph in re.findall(r"<p>(.*?)</p>", text, re.S):
        yield plain(found.group(1)) if found else "", plain(paragraph), 15


def manual(text, draw):
    name = re.search(r"\.SH NAME\n(.*?)\n\.SH", text, re.S)
    body = re.search(r"\.SH DESCRIPTION\n(.*?)\n\.SH", text, re.S)
    if not name or not body:
        return
    name = clean(re.sub(r"\\f.|\\|^\..*$", "", name.group(1), flags=re.M))
    for block in re.split(r"\n\.(?:PP|P|TP|LP|SS)\b[^\n]*", body.group(1))[:6]:
        block = re.sub(r"^\.(BR|IR|B|I|RB|RI|BI)\s*", " ", block, flags=re.M)
        block = re.sub(r'\\f.|\\[&-]|"', "", re.sub(r"^\..*$", "", block, flags=re.M))
        yield name.split(" - ")[-1] if draw.random() < .6 else name, block, 15


READERS = {reader.__name__: reader for reader in
           (wordnet, dictionary, gcide, descriptions, marked, pod, page, mallard, manual)}


def fetch(work):
    """Packages of all sources unpacked below `work`, and the English descriptions of all packages; the versions."""
    lists, debs, open_ = work / "lists", work / "deb", work / "unpacked"
    for folder in (lists / "partial", debs, open_):
        folder.mkdir(parents=True, exist_ok=True)
    own = ["-q", "-o", f"Dir::State::lists={lists}", "-o", "Acquire::Languages=en", "-o", "APT::Sandbox::User=root"]
    if not list(lists.glob("*Translation-en*")):
        subprocess.run(["apt-get", "update", *own], check=True)
    versions = {}
    for name in sorted({name for packages, *_ in SOURCES.values() for name in packages}):
        if not list(debs.glob(f"{name}_*.deb")):
            subprocess.run(["apt-get", "download", *own, name], cwd=debs, check=True)
        package = next(debs.glob(f"{name}_*.deb"))
        versions[name] = package.name.split("_")[1].replace("%3a", ":")
        if not (open_ / name).is_dir():
            subprocess.run(["dpkg-deb", "-x", package, open_ / name], check=True)
    return versions


def texts(work, source):
    """The files of a source, in the order of their names."""
    packages, glob, *_ = SOURCES[source]
    if source == "descriptions":
        import lz4.frame
        for path in sorted((work / "lists").glob("*main*Translation-en*")):
            data = path.read_bytes()
            yield (lz4.frame.decompress(data) if path.suffix == ".lz4" else data).decode("utf8", "replace")
        return
    for name in packages:
        for path in sorted((work / "unpacked" / name).glob(glob)):
            if path.is_file() and not path.is_symlink() and "/translations/" not in str(path):
                data = path.read_bytes()
                yield (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf8", "replace")


def pairs(work, seed):
    """(title, passage, source) of all sources, each once, in an order drawn by `seed`."""
    draw, seen, found = random.Random(seed), set(), []
    for source, (_, _, reader, *_) in SOURCES.items():
        for text in texts(work, source):
            for title, passage, least_words in READERS[reader](text, draw):
                title, passage = clean(title), clean(passage)
                words = passage.split()
                letters = sum(c.isalpha() or c == " " for c in passage)
                if not title or len(title) > 220 or len(words) < least_words or letters < .75 * len(passage):
                    continue
                passage = " ".join(words[:WORDS])
                key = hashlib.sha256(f"{title}|{passage[:80]}".lower().encode()).digest()
                if key not in seen:
                    seen.add(key)
                    found.append((title, passage, source))
    draw.shuffle(found)
    return found
