#!/usr/bin/env python3
"""Measure every public set in every mode, print one table, and compare it with the last record.

    tools/quality.py [--sets scifact,cranfield | --sets nine] [--full] [--half tune] [--setting KEY=VALUE ..]
                     [--against FILE] [--out benches/records/DATE-quality.json]

The folder of --data holds sets in BEIR layout. Indexes go to a temporary folder. Needs a release build.

Columns: nDCG@10 with a 95 % interval (percentile bootstrap over the questions, seeded), recall@10 and
@100, MRR. `BM25` is what bm25s reaches (k1 1.2, b 0.75, Snowball, stop words), `MiniLM` what
all-MiniLM-L6-v2 reaches alone; `-` where nobody measured. `since` is the difference from the last record
in the same mode, `over lexical` that of hybrid from lexical mode in this run. Behind a difference stands
the p value of a paired randomisation test (signs of the differences of questions, 10,000 draws, seeded,
two-sided), corrected by Holm over the sets of the table. A record without values of questions gives no p.

A record is a list with a row a set and mode. `by_question` is nDCG@10 of each question in ten-thousandths,
as unsigned 16-bit little-endian numbers, deflated (zlib), in base64; `ids` is the hash of the questions'
ids in the same order.
"""
import argparse
import base64
import concurrent.futures
import hashlib
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zlib

NINE = "scifact cranfield cisi cacm medline npl claude-docs xquad/en aws-docs".split()
OTHERS = ("medquad-liveqa mtrag-un-mini limit-small xquad/de xquad/es xquad/ru xquad/zh xquad/ar xquad/th xquad/vi "
          "xquad/tr xquad/el xquad/hi jsquad drcd miracl-yo").split()
LARGE = "aws-docs-full"

BM25 = {
    "scifact": .679, "cranfield": .360, "cisi": .381, "medline": .699, "npl": .436, "cacm": .524,
    "claude-docs": .702, "aws-docs": .753, "medquad-liveqa": .560, "xquad/en": .967, "xquad/de": .923,
    "xquad/zh": .902, "jsquad": .804, "xquad/es": .949, "xquad/ru": .872, "xquad/ar": .889,
    "xquad/th": .847, "xquad/vi": .961, "xquad/tr": .896, "xquad/el": .912, "xquad/hi": .750,
    "drcd": .906, "miracl-yo": .517, "limit-small": .992, "aws-docs-full": .685, "mtrag-un-mini": .768,
}
# Measured on these files where English; else the results that MTEB publishes.
MINILM = {
    "scifact": .649, "cranfield": .377, "cisi": .422, "cacm": .444, "medline": .797, "npl": .428, "claude-docs": .692,
    "xquad/en": .940, "xquad/de": .703, "xquad/es": .632, "xquad/ru": .216, "xquad/zh": .242, "xquad/ar": .038,
    "xquad/th": .101, "xquad/vi": .508, "xquad/tr": .400, "xquad/el": .130, "xquad/hi": .048, "miracl-yo": .381,
}
LANGUAGE = {
    "xquad/zh": "none", "jsquad": "none", "drcd": "none", "xquad/th": "none", "xquad/vi": "none", "xquad/el": "none",
    "xquad/hi": "none", "miracl-yo": "none", "xquad/de": "de", "xquad/es": "es", "xquad/ru": "ru", "xquad/ar": "ar",
    "xquad/tr": "tr",
}
DRAWS, RESAMPLES, SEED = 10_000, 1_000, 20261201


def atlas(root, *words):
    done = subprocess.run([root / "target/release/atlas", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"atlas {' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def of_half(question, half):
    """Whether a question is in the half that settings may be chosen on (`tune`) or the other (`report`)."""
    odd = hashlib.sha256(question.encode()).digest()[0] & 1
    return half == "all" or (half == "tune") == bool(odd)


def pack(values):
    whole = struct.pack(f"<{len(values)}H", *(round(value * 10_000) for value in values))
    return base64.b64encode(zlib.compress(whole, 9)).decode()


def unpack(text):
    whole = zlib.decompress(base64.b64decode(text))
    return [value / 10_000 for value in struct.unpack(f"<{len(whole) // 2}H", whole)]


def interval(values):
    draw, n = random.Random(SEED), len(values)
    means = sorted(sum(draw.choices(values, k=n)) / n for _ in range(RESAMPLES))
    return means[int(.025 * RESAMPLES)], means[int(.975 * RESAMPLES) - 1]


def randomisation(differences):
    """Two-sided p of the sum of `differences` when each could as well have the other sign."""
    moved = [round(d * 10_000) for d in differences if abs(d) > 1e-9]
    if not moved:
        return 1.0
    # Sums for all signs of eight differences at a time, so that a draw is one look-up for eight.
    tables = []
    for start in range(0, len(moved), 8):
        sums = [0]
        for d in moved[start:start + 8]:
            sums = [s + d for s in sums] + [s - d for s in sums]
        tables.append(sums)
    draw, seen, extreme = random.Random(SEED), abs(sum(moved)), 0
    for _ in range(DRAWS):
        signs = draw.randbytes(len(tables))
        total = sum(table[sign % len(table)] for table, sign in zip(tables, signs))
        extreme += abs(total) >= seen
    return (extreme + 1) / (DRAWS + 1)


def holm(values):
    """Holm's correction of a dictionary of p values."""
    corrected, least = {}, 0.0
    for place, (key, p) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(values) - place)))
        corrected[key] = least
    return corrected


def measure(root, args, name, modes):
    """The rows of one set."""
    extra = ["--setting", f"text.language={LANGUAGE[name]}"] if name in LANGUAGE else []
    for setting in args.setting:
        extra += ["--setting", setting]
    rows = []
    with tempfile.TemporaryDirectory() as index:
        for mode in modes:
            report = atlas(root, "measure", "--project", args.data / name, "--index", index, "--mode", mode,
                           "--format", "json", *extra)
            one = report["sets"][0]
            kept = [q for q in one["per_question"] if not q["unscoreable"] and of_half(q["id"], args.half)]
            measures = [q["measures"] for q in kept]
            means = {}
            for key in one["means"]:
                known = [q[key] for q in measures if q.get(key) is not None]
                means[key] = sum(known) / len(known) if known else one["means"][key]
            if args.half == "all":
                means = one["means"]
            ndcg = [q["ndcg@10"] for q in measures]
            ids = hashlib.sha256("\n".join(q["id"] for q in kept).encode()).hexdigest()[:16]
            rows.append({"set": name, "mode": mode, "n": len(kept), "means": means, "bm25": BM25.get(name),
                         "interval": interval(ndcg), "ids": ids, "by_question": pack(ndcg)})
    print(f"{name}: " + ", ".join(f"{row['mode']} {row['means']['ndcg@10']:.4f}" for row in rows), file=sys.stderr,
          flush=True)
    return rows


def compare(rows, others):
    """Difference and p for each row that has a partner, by (set, mode)."""
    difference, p = {}, {}
    for row in rows:
        key = row["set"], row["mode"]
        other = others.get(key)
        if not other or other["n"] != row["n"]:
            continue
        difference[key] = row["means"]["ndcg@10"] - other["means"]["ndcg@10"]
        if other.get("ids") == row["ids"]:
            p[key] = randomisation([a - b for a, b in zip(unpack(row["by_question"]), unpack(other["by_question"]))])
    corrected = {}
    for mode in {mode for _, mode in p}:
        corrected |= holm({key: value for key, value in p.items() if key[1] == mode})
    return difference, p, corrected


def last_record(root):
    return max(root.glob("benches/records/*-quality.json"), default=None)


def arguments(root):
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    parse.add_argument("--sets", default="all", help="names, or `nine` (the sets of the goal), or `all` (default)")
    parse.add_argument("--full", action="store_true", help=f"{LARGE} as well: 29,151 pages, a minute or two more")
    parse.add_argument("--setting", action="append", default=[])
    parse.add_argument("--modes", default="lexical,dense,hybrid")
    parse.add_argument("--jobs", type=int, default=2, help="sets measured at a time (default 2)")
    parse.add_argument("--half", choices=["all", "tune", "report"], default="all",
                       help="only the half of the questions that may tune, or only the other")
    parse.add_argument("--against", default=None, help="a record to compare with, or `none` (default: the newest)")
    parse.add_argument("--out", type=pathlib.Path, help="write the record here")
    return parse.parse_args()


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    args = arguments(root)
    if not args.data.is_dir():
        print(f"skipped: no public sets at {args.data}")
        return
    modes = args.modes.split(",")
    names = {"all": NINE + OTHERS, "nine": NINE}.get(args.sets) or args.sets.split(",")
    names = names + [LARGE] * args.full
    record = last_record(root) if args.against is None else pathlib.Path(args.against)
    others = {}
    if args.against != "none" and record:
        others = {(row["set"], row["mode"]): row for row in json.loads(record.read_text())}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = [row for own in pool.map(lambda name: measure(root, args, name, modes), names) for row in own]
    since, _, since_p = compare(rows, others)
    lexical = {(row["set"], "hybrid"): row for row in rows if row["mode"] == "lexical"}
    over, over_raw, over_p = compare(rows, lexical)

    def figure(table, name):
        return f"{table[name]:.3f}" if name in table else "-"

    def change(difference, p, key):
        if key not in difference:
            return "-"
        return f"{difference[key]:+.4f}" + (f" (p {p[key]:.3f})" if key in p else "")

    head = "set n mode nDCG@10 interval R@10 R@100 MRR BM25 MiniLM since over·lexical".split()
    print("| " + " | ".join(head).replace("·", " ") + " |\n|" + "---|" * len(head))
    for row in rows:
        key, means, (low, high) = (row["set"], row["mode"]), row["means"], row["interval"]
        cells = (row["set"], row["n"], row["mode"], f"{means['ndcg@10']:.4f}", f"{low:.3f} to {high:.3f}",
                 f"{means['recall@10']:.3f}", f"{means['recall@100']:.3f}", f"{means['mrr']:.3f}",
                 figure(BM25, row["set"]), figure(MINILM, row["set"]), change(since, since_p, key),
                 change(over, over_p, key))
        print("| " + " | ".join(map(str, cells)) + " |")
    for mode in modes:
        own = {row["set"]: row["means"]["ndcg@10"] for row in rows if row["mode"] == mode}
        print(f"mean nDCG@10 of {len(own)} sets, {mode}: {sum(own.values()) / len(own):.4f}")
        if set(NINE) < set(own):
            print(f"mean nDCG@10 of the nine, {mode}: {sum(own[name] for name in NINE) / len(NINE):.4f}")
        behind = [f"{name} {value - BM25[name]:+.3f}" for name, value in own.items()
                  if name in BM25 and round(value, 3) < BM25[name]]
        print(f"below bm25s, {mode}: {', '.join(behind) or 'none'}")
    if set(NINE) <= {name for name, _ in over}:
        nine = holm({name: over_raw[name, "hybrid"] for name in NINE})
        above = [name for name in NINE if over[name, "hybrid"] > 0 and nine[name] < .05]
        below = [name for name, _ in over if over[name, "hybrid"] < -5e-5]
        print(f"hybrid over lexical, the nine: above on {len(above)} by Holm p < .05 ({', '.join(above) or 'none'})")
        print(f"hybrid below lexical: {', '.join(below) or 'none'} of {len(over)} sets")
    if record and others:
        print(f"compared with {record.name}")
    if args.out:
        args.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
