"""A record as Markdown."""

import json

BEGIN, END = "<!-- compare: begin -->", "<!-- compare: end -->"
AIMS_BEGIN, AIMS_END = "<!-- aims: begin -->", "<!-- aims: end -->"
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


# What was aimed at before the code was written, at 100,000 passages: what, near, moonshot, and how the record shows
# it. A factor of speed is better the larger; a share of a peer's cost, and bytes, the smaller.
AIMED_AT = 100_000
AIMS = [
    ("QPS at recall .95 / hnswlib's", 2.3, 5, ("faster", "dense", "hnswlib", "qps at recall .95")),
    ("QPS at recall .99 / hnswlib's", 2.75, 6, ("faster", "dense", "hnswlib", "qps at recall .99")),
    ("QPS at recall .95 / faiss HNSW,SQ8's", 1.7, 4, ("faster", "dense", "faiss HNSW,SQ8", "qps at recall .95")),
    ("QPS at recall .95 / hnsw_rs's", 6, 15, ("faster", "dense", "hnsw_rs", "qps at recall .95")),
    ("highest recall of the walk, over byte codes", 0.998, 0.999, ("recall", "dense", "hnswlib", "qps at recall .95")),
    ("processor time of building / hnswlib's", 0.6, 0.35, ("share", "build", "hnswlib", "cpu_s")),
    ("processor time of building / hnsw_rs's", 0.15, 0.07, ("share", "build", "hnsw_rs", "cpu_s")),
    ("links and codes / hnswlib's bytes", 0.35, 0.23, ("hot", "build", "hnswlib", "bytes")),
    ("private memory, MB", 10, 5, ("private", "dense", "hnswlib", "private_bytes")),
    ("opening and first query / hnswlib's", 0.1, 0.02, ("share", "open", "hnswlib", "open_ms")),
    ("opening and first query / usearch i8's, mapped", 1.2, 0.4, ("share", "open", "usearch i8", "open_ms")),
    ("opening and first query / hnsw_rs's", 0.01, 0.002, ("share", "open", "hnsw_rs", "open_ms")),
    ("filter that passes 50 %, p50 / without one", 2, 1.2, ("filter", 50, "hnswlib", "p50_us")),
    ("filter that passes 10 %, p50 / without one", 2, 1.2, ("filter", 10, "hnswlib", "p50_us")),
    ("filter that passes 1 %, p50 / without one", 2, 1.2, ("filter", 1, "hnswlib", "p50_us")),
    ("whole search, processor time, LanceDB's / Atlas's", 10, 25, ("cpu", "hybrid", "LanceDB", "p50_us")),
]


def found(record, kind, task, system, measure):
    """What the record shows of an aim; `None` where it has no row for it."""
    here = [row for row in record["rows"] if (row["passages"], row["system"], row["measure"]) == (AIMED_AT, system, measure)]
    if kind == "filter":
        by_share = {row["pass_percent"]: row["atlas"] for row in here if row["task"] == "scoped" and row["of"] == "vectors"}
        return by_share[task] / by_share[100] if task in by_share and 100 in by_share else None
    row = next((row for row in here if row["task"] == task), None)
    if row is None:
        return None
    if kind == "recall":
        return row.get("atlas_walk_recall")
    if kind == "hot":
        return row["atlas_hot_bytes"] / row["value"]
    if kind == "private":
        return row["atlas"] / 1e6
    if kind == "cpu":
        return row["cpu_us"] / row["atlas_cpu_us"]
    return row["ratio"] if kind == "faster" else row["atlas"] / row["value"]


def aims(record):
    """What was aimed at beside what the record shows."""
    lines = ["| At 100,000 passages | Near | Moonshot | The record | Reached |", "| --- | ---: | ---: | ---: | --- |"]
    for what, near, moonshot, how in AIMS:
        number = found(record, *how)
        if number is None:
            lines.append(f"| {what} | {near} | {moonshot} | not measured | |")
            continue
        more = how[0] in ("faster", "recall", "cpu")
        met = [number >= aim if more else number <= aim for aim in (near, moonshot)]
        reached = "moonshot" if met[1] else "near" if met[0] else "**no**"
        cell = f"{number:.4f}" if how[0] == "recall" else f"{number:.3g}"
        lines.append(f"| {what} | {near} | {moonshot} | {cell} | {reached} |")
    return "\n".join(lines)


def replaced(whole, begin, end, text):
    """`whole` with `text` between its markers."""
    before, rest = whole.split(begin, 1)
    _, after = rest.split(end, 1)
    return f"{before}{begin}\n{text}\n{end}{after}"


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
        source = f"From `benches/records/{records[-1].name}`."
        whole = replaced(whole, BEGIN, END, f"{text}\n\n{source}")
        if AIMS_BEGIN in whole and AIMS_END in whole:
            whole = replaced(whole, AIMS_BEGIN, AIMS_END, aims(record))
        file.write_text(whole)
        print(f"{file} shows {records[-1].name}")
    return 0
