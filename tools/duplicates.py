#!/usr/bin/env python3
"""From which likeness on two passages are judged alike: what `search.duplicates` may be set to.

    tools/duplicates.py [--data DIR] [--atlas PROGRAM] [--sets aws-docs,claude-docs]

Every pair among the first 20 hits of a question is compared as `src/search/duplicates.rs` does, but for
stemming: the share of runs of three words that both have, and whether numbers, codes and negations are the
same in the same order. Judged alike means that both documents are relevant, or neither.
"""
import argparse
import collections
import pathlib
import re
import tempfile

from unanswerable import atlas, lines

NEGATORS = {"no", "not", "never", "none", "nor", "without", "except", "unless"}


def print_of(hit):
    words = re.findall(r"[\w'-]+", " ".join([*hit["sections"], hit["text"]]).lower())
    runs = {tuple(words[at:at + 3]) for at in range(max(1, len(words) - 2))}
    marks = [word for word in words
             if any(c.isdigit() for c in word) or word in NEGATORS or word.endswith("n't")]
    return runs, marks


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    parse.add_argument("--atlas", type=pathlib.Path, default=root / "target/release/atlas")
    parse.add_argument("--sets", default="aws-docs,claude-docs,mtrag-un-mini,medquad-liveqa")
    parse.add_argument("--questions", type=int, default=150)
    args = parse.parse_args()
    if not args.data.is_dir():
        print(f"skipped: no public sets at {args.data}")
        return
    pairs, same_marks, apart = (collections.Counter() for _ in range(3))
    for name in args.sets.split(","):
        relevant = collections.defaultdict(set)
        for path in (args.data / name / "qrels").iterdir():
            for line in open(path):
                question, document, grade = line.rstrip("\n").split("\t")
                if grade.isdigit() and int(grade) > 0:
                    relevant[question].add(document)
        asked = [q for q in lines(args.data / name / "queries.jsonl") if q["_id"] in relevant]
        with tempfile.TemporaryDirectory() as index:
            for question in asked[:args.questions]:
                found = atlas(args.atlas, "search", "--project", args.data / name, "--index", index, "-k", 20,
                              "--setting", "search.window_tokens=1000000", "--format", "json", "--",
                              question["text"])
                hits = [(hit["document"] in relevant[question["_id"]], *print_of(hit)) for hit in found["hits"]]
                for at, (own, runs, marks) in enumerate(hits):
                    for other, other_runs, other_marks in hits[:at]:
                        likeness = len(runs & other_runs) / max(1, len(runs | other_runs))
                        place = int(likeness * 10)
                        pairs[place] += 1
                        same_marks[place] += marks == other_marks
                        apart[place] += marks == other_marks and own != other
    print("| likeness | pairs | with the same numbers, codes and negations | of these judged apart |\n|---|---|---|---|")
    for place in sorted(pairs):
        if place >= 2:
            print(f"| {place / 10:.1f} | {pairs[place]} | {same_marks[place]} | {apart[place]} |")


if __name__ == "__main__":
    main()
