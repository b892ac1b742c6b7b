#!/usr/bin/env python3
"""Fit the reranker's score: the probability that a candidate is relevant.

    tools/calibrate.py            makes the candidates of SETS and PAIRS below, and fits
    tools/calibrate.py FILE.tsv ..

Each file is what `cargo run --release --example candidates` prints for one set; without files the built
example is run on ../shared/data (a minute). The score is
1 / (1 + exp(-(a + b * fused + c * confidence))), fitted by maximum likelihood on the half of each set's
questions that may tune, every set with equal weight; the reliability table is of the other half. A set in
which nothing is relevant (questions of another subject) weighs a quarter of one.
"""
import hashlib
import math
import pathlib
import subprocess
import sys
import tempfile

SETS = ("scifact cranfield cisi cacm medline npl claude-docs xquad/en aws-docs medquad-liveqa "
        "mtrag-un-mini").split()
# A corpus, and questions of another subject: nothing is relevant.
PAIRS = [
    ("scifact", "claude-docs"), ("cranfield", "medline"), ("cisi", "aws-docs"), ("cacm", "cranfield"),
    ("medline", "cisi"), ("npl", "medquad-liveqa"), ("claude-docs", "scifact"), ("xquad/en", "cacm"),
    ("aws-docs", "xquad/en"), ("medquad-liveqa", "npl"),
]


def tune(question):
    return hashlib.sha256(question.encode()).digest()[0] & 1


def share(rows):
    return 1.0 if any(row[3] for row in rows) else 0.25


def read(path):
    rows = []
    for line in open(path):
        question, _, fused, confidence, relevant = line.split("\t")
        rows.append((question, float(fused), float(confidence), int(relevant)))
    return rows


def fit(rows):
    """Newton's method on the weighted log likelihood; rows are (weight, fused, confidence, relevant)."""
    theta = [0.0, 0.0, 0.0]
    for _ in range(50):
        gradient = [0.0] * 3
        hessian = [[1e-9 if i == j else 0.0 for j in range(3)] for i in range(3)]
        for weight, fused, confidence, relevant in rows:
            x = (1.0, fused, confidence)
            p = 1 / (1 + math.exp(-sum(t * v for t, v in zip(theta, x))))
            for i in range(3):
                gradient[i] += weight * (relevant - p) * x[i]
                for j in range(3):
                    hessian[i][j] += weight * p * (1 - p) * x[i] * x[j]
        step = solve(hessian, gradient)
        theta = [t + s for t, s in zip(theta, step)]
        if max(map(abs, step)) < 1e-10:
            break
    return theta


def solve(matrix, right):
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    out = [0.0] * n
    for i in reversed(range(n)):
        out[i] = (rows[i][n] - sum(rows[i][j] * out[j] for j in range(i + 1, n))) / rows[i][i]
    return out


def candidates(folder):
    """Runs the example on every set and pair; the files are in `folder`."""
    root = pathlib.Path(__file__).resolve().parent.parent
    data = root.parent / "shared" / "data"
    if not data.is_dir():
        sys.exit(f"no public sets at {data}; name files instead")
    paths = []
    for own, *foreign in [(name,) for name in SETS] + PAIRS:
        store = folder / own.replace("/", "-")
        path = folder / f"{len(paths)}.tsv"
        words = [root / "target/release/examples/candidates", data / own, store, *(data / name for name in foreign)]
        with path.open("w") as out:
            subprocess.run(list(map(str, words)), stdout=out, check=True)
        paths.append(path)
    return paths


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = sys.argv[1:] or candidates(pathlib.Path(folder))
        sets = {path: read(path) for path in paths}
    rows = []
    for own in sets.values():
        kept = [row for row in own if tune(row[0])]
        rows += [(share(own) / len(kept), *row[1:]) for row in kept]
    a, b, c = fit(rows)
    print(f"a = {a:.3f}  b = {b:.3f}  c = {c:.3f}  on {len(rows)} candidates of {len(sets)} sets")
    print("reliability on the other half: score, candidates, share relevant (sets of equal weight)")
    bins = [[0.0, 0.0, 0.0, 0] for _ in range(10)]
    loss = total = 0.0
    for own in sets.values():
        kept = [row for row in own if not tune(row[0])]
        for _, fused, confidence, relevant in kept:
            p = 1 / (1 + math.exp(-(a + b * fused + c * confidence)))
            place = bins[min(9, int(p * 10))]
            weight = share(own) / len(kept)
            place[0] += weight
            place[1] += weight * p
            place[2] += weight * relevant
            place[3] += 1
            loss -= weight * math.log(p if relevant else 1 - p)
            total += weight
    for weight, score, relevant, n in bins:
        if n:
            print(f"  {score / weight:.2f}  {n:6}  {relevant / weight:.2f}")
    print(f"log loss {loss / total:.4f}")


if __name__ == "__main__":
    main()
