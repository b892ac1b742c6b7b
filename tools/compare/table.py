"""A record as Markdown."""

import json

BEGIN, END = "<!-- compare: begin -->", "<!-- compare: end -->"
TASKS = {
    "dense": "Nearest vectors (recall@10 of .95 and .99)", "lexical": "Text (top 10)",
    "hybrid": "Whole search (vectors and text, fused, text fetched)", "scoped": "Under a filter",
    "build": "Building", "open": "Opening, to the first answer",
}


def count(number):
    return f"{number:,}"


def shown(row, key):
    value, measure = row[key], row["measure"]
    if value is None:
        return "never"
    if measure.endswith("bytes"):
        return f"{value / 1e6:,.1f} MB"
    if measure.startswith("qps"):
        return f"{value:,.0f}/s"
    if measure == "cpu_s":
        return f"{value:,.2f} s"
    if measure == "open_ms":
        return f"{value:,.1f} ms"
    return f"{value / 1000:,.2f} ms" if value >= 1000 else f"{value:,.0f} µs"


def quality(row):
    if "ndcg" in row:
        return f"nDCG@10 {row['ndcg']:.3f} / {row['atlas_ndcg']:.3f}, overlap {row['overlap']:.2f}"
    if "recall" in row:
        return f"recall@10 {row['recall']:.3f} / {row['atlas_recall']:.3f}"
    if "best_recall" in row:
        return f"best recall {row['best_recall']:.4f} / {row['atlas_best_recall']:.4f}"
    return ""


def ratio(row):
    if row["ratio"] is None:
        return "–"
    number = row["ratio"]
    text = f"{number:,.0f}×" if number >= 100 else f"{number:.1f}×" if number >= 10 else f"{number:.2f}×"
    return text if number >= 1 else f"**{text}**"


def what(row):
    name = row["measure"].replace("_us", "").replace("_ms", "").replace("_", " ")
    if row["task"] == "scoped":
        name = f"{row['pass_percent']} % pass, {row['of']}, {name}"
    return name


def markdown(record, sizes=None, skip=("p95_us",)):
    """All rows as one table a task and size, Atlas's losses in bold."""
    lines = []
    for task, title in TASKS.items():
        rows = [row for row in record["rows"] if row["task"] == task and row["measure"] not in skip]
        for passages in sorted({row["passages"] for row in rows}):
            if sizes and passages not in sizes:
                continue
            lines += ["", f"**{title}, {count(passages)} passages**", ""]
            lines += ["| Peer | Measure | Peer | Atlas | Ratio | Quality: peer / Atlas |", "| --- | --- | ---: | ---: | ---: | --- |"]
            for row in rows:
                if row["passages"] == passages:
                    name = f"{row['system']} {row['version']}".strip()
                    cells = [name, what(row), shown(row, "value"), shown(row, "atlas"), ratio(row), quality(row)]
                    lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines).strip()


def short(record):
    """One line a peer: what a reader of README.md wants to know."""
    rows = record["rows"]
    sizes = sorted({row["passages"] for row in rows})
    lines = [
        f"Measured {record['date']} on {record['machine'].split(',')[0]}, every system in a process of its own on one "
        "core and one thread, the same passages, embeddings and k, the median of paired runs. A ratio above 1 means that "
        "Atlas is ahead by that factor; where it is behind, the ratio is bold.",
        "",
    ]
    columns = [
        ("dense", "qps at recall .95"), ("dense", "qps at recall .99"), ("lexical", "p50_us"), ("hybrid", "p50_us"),
        ("build", "cpu_s"), ("build", "bytes"), ("open", "open_ms"), (None, "private_bytes"),
    ]
    names = ["QPS, recall .95", "QPS, recall .99", "text p50", "whole search p50", "build CPU", "bytes", "open", "private memory"]
    for passages in sizes:
        here = [row for row in rows if row["passages"] == passages]
        lines += [f"**{count(passages)} passages**", "", "| Beside | " + " | ".join(names) + " |"]
        lines.append("| --- |" + " ---: |" * len(names))
        for system in dict.fromkeys(row["system"] for row in here):
            cells = []
            for task, measure in columns:
                own = [
                    row for row in here
                    if row["system"] == system and row["measure"] == measure and task in (None, row["task"])
                ]
                cells.append(("never" if own[0]["value"] is None else ratio(own[0])) if own else "")
            lines.append(f"| {system} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines).strip()


def refresh(root):
    """Writes the newest record's tables between the markers of README.md and benches/README.md."""
    records = sorted((root / "benches/records").glob("*-compare.json"))
    if not records:
        print("no record of a comparison in benches/records")
        return 4
    record = json.loads(records[-1].read_text())
    for file, text in ((root / "README.md", short(record)), (root / "benches/README.md", markdown(record))):
        whole = file.read_text()
        if BEGIN not in whole or END not in whole:
            print(f"{file.name} has no markers {BEGIN} and {END}: the table is left out")
            continue
        before, rest = whole.split(BEGIN, 1)
        _, after = rest.split(END, 1)
        source = f"From `benches/records/{records[-1].name}`."
        file.write_text(f"{before}{BEGIN}\n{text}\n\n{source}\n{END}{after}")
        print(f"{file} shows {records[-1].name}")
    return 0
