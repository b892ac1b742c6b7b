#!/usr/bin/env python3
"""Measure every public set in every mode, and print one table.

    tools/quality.py [--data DIR] [--sets scifact,cranfield] [--setting KEY=VALUE ..] [--out FILE]

DIR holds folders in BEIR layout (default: ../shared/data). Indexes go to a temporary folder. The last
column compares with BM25 as bm25s computes it (k1 1.2, b 0.75, Snowball, stop words).
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

BM25 = {
    "scifact": .679, "cranfield": .360, "cisi": .381, "medline": .699, "npl": .436, "cacm": .524,
    "claude-docs": .702, "aws-docs": .753, "medquad-liveqa": .560, "xquad/en": .967, "xquad/de": .923,
    "xquad/zh": .902, "jsquad": .804, "xquad/es": .949, "xquad/ru": .872, "xquad/ar": .889,
    "xquad/th": .847, "xquad/vi": .961, "xquad/tr": .896, "xquad/el": .912, "xquad/hi": .750,
    "drcd": .906, "miracl-yo": .517, "limit-small": .992, "aws-docs-full": .685, "mtrag-un-mini": .768,
}
DEFAULT = ("scifact cranfield cisi medline npl cacm claude-docs aws-docs medquad-liveqa xquad/en xquad/de "
           "xquad/zh jsquad").split()
NO_STEMMER = {"xquad/zh": "none", "jsquad": "none", "drcd": "none", "xquad/th": "none", "xquad/vi": "none",
              "xquad/el": "none", "xquad/hi": "none", "miracl-yo": "none"}
HELD = {"xquad/de": "de", "xquad/es": "es", "xquad/ru": "ru", "xquad/ar": "ar", "xquad/tr": "tr"}


def atlas(root, *words):
    done = subprocess.run([root / "target/release/atlas", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"atlas {' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def of_half(question, half):
    """Whether a question is in the half that settings may be chosen on (`tune`) or the other (`report`)."""
    odd = hashlib.sha256(question.encode()).digest()[0] & 1
    return half == "all" or (half == "tune") == bool(odd)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    parse.add_argument("--sets", default=",".join(DEFAULT))
    parse.add_argument("--setting", action="append", default=[])
    parse.add_argument("--modes", default="lexical,dense,hybrid")
    parse.add_argument("--half", choices=["all", "tune", "report"], default="all",
                       help="only the half of the questions that may tune, or only the other")
    parse.add_argument("--out", type=pathlib.Path)
    args = parse.parse_args()
    if not args.data.is_dir():
        print(f"skipped: no public sets at {args.data}")
        return
    modes = args.modes.split(",")
    rows, head = [], ("set", "n", "mode", "nDCG@10", "R@10", "R@100", "MRR", "BM25", "difference")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name in args.sets.split(","):
        extra = []
        language = NO_STEMMER.get(name) or HELD.get(name)
        if language:
            extra += ["--setting", f"text.language={language}"]
        for setting in args.setting:
            extra += ["--setting", setting]
        with tempfile.TemporaryDirectory() as index:
            for mode in modes:
                report = atlas(root, "measure", "--project", args.data / name, "--index", index, "--mode", mode,
                               "--format", "json", *extra)
                one = report["sets"][0]
                means = one["means"]
                if args.half != "all":
                    kept = [q["measures"] for q in one["per_question"]
                            if not q["unscoreable"] and of_half(q["id"], args.half)]
                    means = {key: sum(q[key] or 0 for q in kept) / len(kept) for key in means if key in kept[0]}
                    one["scored"] = len(kept)
                known = BM25.get(name)
                ndcg = means["ndcg@10"]
                row = (name, one["scored"], mode, f"{ndcg:.4f}", f"{means['recall@10']:.3f}",
                       f"{means['recall@100']:.3f}", f"{means['mrr']:.3f}", known, f"{ndcg - known:+.4f}" if known else "")
                rows.append({"set": name, "mode": mode, "n": one["scored"], "means": means, "bm25": known})
                print("| " + " | ".join(map(str, row)) + " |", flush=True)
    for mode in modes:
        own = [row["means"]["ndcg@10"] for row in rows if row["mode"] == mode]
        print(f"mean nDCG@10 of {len(own)} sets, {mode}: {sum(own) / len(own):.4f}")
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
