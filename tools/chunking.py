#!/usr/bin/env python3
"""Measure how documents are cut: passage size, overlap, titles.

    tools/chunking.py [--sets chunking-spans,scifact] [--full] [--setting KEY=VALUE ..] [--out benches/records/DATE-chunking.json]

Spans (chunking-spans: 5 long documents, 472 questions whose answers are marked by byte): each question is
searched, and the passages found are held against the marked bytes. Recall is the share of them that the
passages cover, precision the share of the passages' bytes that is marked, IoU what both share over what
either holds. `first 5` takes five passages whatever their size; `4,000 bytes` takes passages in order while
they fit, so that sizes compare at equal cost to a reader. A block is as large as a passage here, but a paragraph
is one block however long, and of a block the best passage counts: the smaller the passages, the more of a long
paragraph is left out.

Documents (aws-docs, claude-docs, scifact; with --full aws-docs-full): nDCG@10 and recall@10 of the hybrid,
passages folded to documents by their best; with the bytes of the index.

Every row changes one thing of the defaults. Needs a release build and ../shared/data, and says so and ends
without the latter.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SIZES = [64, 128, 192, 256, 384, 512, 1024]
ROWS = [(f"{size} tokens", {"max_tokens": size}) for size in SIZES] + [
    ("256 tokens, none repeated", {"overlap_tokens": 0}),
    ("256 tokens, 64 repeated", {"overlap_tokens": 64}),
    ("256 tokens, 128 repeated", {"overlap_tokens": 128}),
    ("256 tokens, without the title", {"titles": "false"}),
]
FULL_ROWS = [row for row in ROWS if row[0] in ("128 tokens", "256 tokens", "512 tokens")]
BUDGET_BYTES, FIRST = 4_000, 5


def run(root, *words, lines=False):
    """What a command prints: one object, or with `lines` one a line."""
    done = subprocess.run([root / "target/release/atlas", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"atlas {' '.join(map(str, words))}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()] if lines else json.loads(done.stdout)


def flags(settings, extra):
    both = [f"passage.{key}={value}" for key, value in settings.items()] + extra
    return [word for setting in both for word in ("--setting", setting)]


def size_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def overlap(found, marked):
    """Bytes that are in both, in `found` and in either; ranges by document."""
    def total(ranges):
        covered = {}
        for name, start, end in ranges:
            covered.setdefault(name, set()).update(range(start, end))
        return covered
    a, b = total(found), total(marked)
    both = sum(len(a[name] & b.get(name, set())) for name in a)
    own, wanted = sum(map(len, a.values())), sum(map(len, b.values()))
    return both, own, own + wanted - both, wanted


def spans(root, data, corpus, settings, extra):
    settings = dict(settings)
    settings["plain_block_tokens"] = settings.get("max_tokens", 256)
    questions = {q["_id"]: q["text"] for q in map(json.loads, (data / "queries.jsonl").read_text().splitlines())}
    marks = {}
    for line in (data / "spans.jsonl").read_text().splitlines():
        own = json.loads(line)
        marks[own["query_id"]] = [(own["doc_id"], s["start_byte"], s["end_byte"]) for s in own["spans"]]
    with tempfile.TemporaryDirectory() as index:
        words = ["--project", corpus, "--index", index, "--format", "json",
                 *flags(settings, extra + ["search.k=60", "search.window_tokens=1000000"])]
        ranges = {}

        def ask(question, *more):
            for hit in run(root, "search", *words, *more, "--", question)["hits"]:
                ranges[hit["reference"]] = (hit["document"], *hit["source"]["bytes"])

        ask("anything", "--setting", "search.depth=10000", "--setting", "search.k=10000")
        assert ranges, "the first search builds the index"
        asked = pathlib.Path(index) / "questions.jsonl"
        asked.write_text("".join(json.dumps({"id": q, "question": text}) + "\n" for q, text in questions.items()))
        answers = run(root, "search", *words, "--batch", asked, lines=True)
        asked.unlink()
        # A batch names passages and a search tells their bytes, so only questions with unknown ones are searched.
        found = {}
        for answer in answers:
            references = [hit["reference"] for hit in answer["hits"]]
            if not ranges.keys() >= set(references):
                ask(questions[answer["id"]])
            found[answer["id"]] = [ranges[reference] for reference in references]
        size = size_bytes(pathlib.Path(index))
    sums = {"first": [0.0] * 3, "budget": [0.0] * 3}
    for question, hits in found.items():
        fitting, left = [], BUDGET_BYTES
        for hit in hits:
            if hit[2] - hit[1] > left and fitting:
                break
            left -= hit[2] - hit[1]
            fitting.append(hit)
        for name, own in (("first", hits[:FIRST]), ("budget", fitting)):
            both, held, either, wanted = overlap(own, marks[question])
            for at, value in enumerate((both / wanted, both / max(held, 1), both / either)):
                sums[name][at] += value / len(found)
    return {"set": "chunking-spans", "n": len(found), "index_bytes": size,
            **{f"{name}_{measure}": sums[name][at] for name in sums
               for at, measure in enumerate(("recall", "precision", "iou"))}}


def documents(root, data, name, settings, extra):
    with tempfile.TemporaryDirectory() as index:
        report = run(root, "measure", "--project", data / name, "--index", index, "--format", "json",
                     *flags(settings, extra))
        own = report["sets"][0]
        return {"set": name, "n": own["scored"], "index_bytes": size_bytes(pathlib.Path(index)),
                "ndcg@10": own["means"]["ndcg@10"], "recall@10": own["means"]["recall@10"]}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    parse.add_argument("--sets", default="chunking-spans,aws-docs,claude-docs,scifact")
    parse.add_argument("--full", action="store_true", help="aws-docs-full as well, at three sizes")
    parse.add_argument("--setting", action="append", default=[])
    parse.add_argument("--out", type=pathlib.Path, help="a record; rows of other sets that stand there are kept")
    args = parse.parse_args()
    if not args.data.is_dir():
        print(f"skipped: no public sets at {args.data}")
        return
    names = args.sets.split(",") + ["aws-docs-full"] * args.full
    rows = []
    if "chunking-spans" in names:
        print("| cut | first 5: recall, precision, IoU | 4,000 bytes: recall, precision, IoU | index MB |\n|---|---|---|---|")
        with tempfile.TemporaryDirectory() as folder:
            corpus = pathlib.Path(folder)
            for line in (args.data / "chunking-spans/corpus.jsonl").read_text().splitlines():
                own = json.loads(line)
                (corpus / f"{own['_id']}.txt").write_bytes(own["text"].encode())
            for label, settings in ROWS:
                row = spans(root, args.data / "chunking-spans", corpus, settings, args.setting)
                rows.append({"cut": label, **row})
                cells = (label, *(", ".join(f"{row[f'{name}_{m}']:.3f}" for m in ("recall", "precision", "iou"))
                                  for name in ("first", "budget")), f"{row['index_bytes'] / 1e6:.1f}")
                print("| " + " | ".join(cells) + " |", flush=True)
        names.remove("chunking-spans")
    print("\n| set | cut | nDCG@10 | R@10 | index MB |\n|---|---|---|---|---|")
    for name in names:
        for label, settings in FULL_ROWS if name == "aws-docs-full" else ROWS:
            row = documents(root, args.data, name, settings, args.setting)
            rows.append({"cut": label, **row})
            print(f"| {name} | {label} | {row['ndcg@10']:.4f} | {row['recall@10']:.3f} | {row['index_bytes'] / 1e6:.1f} |",
                  flush=True)
    if args.out:
        measured = {row["set"] for row in rows}
        kept = json.loads(args.out.read_text()) if args.out.exists() else []
        rows = [row for row in kept if row["set"] not in measured] + rows
        args.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
