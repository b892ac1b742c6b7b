#!/usr/bin/env python3
"""How well the score tells that nothing relevant is there, and whether it is the probability it claims to be.

    tools/unanswerable.py [--data DIR] [--atlas PROGRAM] [--out FILE.json] [--svg FILE.svg]

1. The best hit's score for the questions of mtrag-un-mini that its corpus answers, against four kinds that
   it does not: its 97 unanswerable ones, questions of other sets, sentences of invented words, and its own
   words in no order. AUROC is the chance that an answerable question scores above an unanswerable one
   (ties half), with a 95 % bootstrap interval over the questions.
2. Risk and coverage: questions are answered best score first. Coverage is the share answered, risk the share
   of those that are wrong: unanswerable ones, and answerable ones of which the window holds nothing relevant.
3. Reliability: the hits of ten sets by score, and how many were relevant, on the halves of the questions that
   no setting was chosen on. Every set weighs the same.

Everything drawn is drawn from a fixed seed.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

from quality import of_half

SEED = 20261201
SETS = "scifact cranfield cisi medline npl cacm claude-docs aws-docs medquad-liveqa mtrag-un-mini".split()
OTHER = "cranfield medline npl cisi".split()
HITS = 20


def atlas(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"atlas {' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def lines(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


def invented(draw):
    """A sentence of words that nobody uses."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ax", "ez", "ool")]
    return " ".join("".join(draw.choice(syllables) for _ in range(draw.randint(2, 4)))
                    for _ in range(draw.randint(4, 9))) + "?"


def questions(data):
    """Each kind with its questions, as (id, text)."""
    draw = random.Random(SEED)
    home = data / "mtrag-un-mini"
    relevant = {}
    for line in open(home / "qrels" / "test.tsv"):
        question, document, grade = line.rstrip("\n").split("\t")
        if grade.isdigit() and int(grade) > 0:
            relevant.setdefault(question, set()).add(document)
    answerable = [(q["_id"], q["text"]) for q in lines(home / "queries.jsonl") if q["_id"] in relevant]
    kinds = {"unanswerable": [(q["_id"], q["text"]) for q in lines(home / "queries.unanswerable.jsonl")]}
    n = len(kinds["unanswerable"])
    others = [(f"{name}/{q['_id']}", q["text"]) for name in OTHER for q in lines(data / name / "queries.jsonl")]
    kinds["other subjects"] = draw.sample(sorted(others), n)
    kinds["invented words"] = [(f"invented/{at}", invented(draw)) for at in range(n)]
    words = [word for _, text in answerable for word in text.split()]
    kinds["words in no order"] = [(f"salad/{at}", " ".join(draw.sample(words, 9))) for at in range(n)]
    return answerable, relevant, kinds


def ask(args, index, text):
    """The best score, the confidence, and the documents of the window."""
    found = atlas(args.atlas, "search", "--project", args.data / "mtrag-un-mini", "--index", index,
                  "--format", "json", *args.extra, "--", text)
    hits = found["hits"]
    note = next(stage["note"] for stage in found["trace"]["stages"] if stage["name"] == "rerank")
    return hits[0]["score"] if hits else 0.0, float(note.split()[1]), [hit["document"] for hit in hits]


def auroc(above, below):
    """The chance that one of `above` exceeds one of `below`, ties half (Mann and Whitney, 1947)."""
    ranked = sorted([(value, 1) for value in above] + [(value, 0) for value in below])
    total, at = 0.0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        total += (at + 1 + end) / 2 * sum(own for _, own in ranked[at:end])
        at = end
    n, m = len(above), len(below)
    return (total - n * (n + 1) / 2) / (n * m)


def interval(above, below, rounds=1000):
    draw = random.Random(SEED)
    values = sorted(auroc(draw.choices(above, k=len(above)), draw.choices(below, k=len(below)))
                    for _ in range(rounds))
    return values[int(.025 * rounds)], values[int(.975 * rounds) - 1]


def curve(answers):
    """(coverage, risk, score) after each question, best score first; answers are (score, right)."""
    wrong, points = 0, []
    for at, (score, right) in enumerate(sorted(answers, reverse=True), 1):
        wrong += not right
        points.append((at / len(answers), wrong / at, score))
    return points


def reliability(args):
    """Ten bins of the score: mean score, share relevant, hits; and the expected calibration error."""
    bins = [[0.0, 0.0, 0.0, 0] for _ in range(10)]
    for name in SETS:
        with tempfile.TemporaryDirectory() as index:
            found = atlas(args.atlas, "measure", "--project", args.data / name, "--index", index, "--format",
                          "json", "--setting", f"search.k={HITS}", "--setting", "search.window_tokens=1000000",
                          *args.extra)
        hits = [hit for q in found["sets"][0]["per_question"] if of_half(q["id"], "report")
                for hit in q["supplied"]]
        for hit in hits:
            place = bins[min(9, int(hit["score"] * 10))]
            for at, value in enumerate((1, hit["score"], hit["relevant"])):
                place[at] += value / len(hits)
            place[3] += 1
    rows = [(score / weight, relevant / weight, n) for weight, score, relevant, n in bins if n]
    total = sum(own[0] for own in bins)
    return rows, sum(abs(score - relevant) for _, score, relevant, _ in bins) / total


def chart(x, title, across, up, series, marks=False):
    """A square plot from 0 to 1 on both sides."""
    out = [f'<g transform="translate({x},40)"><text x="150" y="-16" text-anchor="middle" font-weight="bold">'
           f'{title}</text><rect width="300" height="300" fill="none" stroke="#888"/>']
    for step in range(0, 11, 2):
        at = step * 30
        out.append(f'<text x="{at}" y="316" text-anchor="middle">{step / 10:.1f}</text>'
                   f'<text x="-6" y="{304 - at}" text-anchor="end">{step / 10:.1f}</text>'
                   f'<path d="M{at},0V300M0,{at}H300" stroke="#ddd"/>')
    out.append(f'<text x="150" y="336" text-anchor="middle">{across}</text>'
               f'<text transform="rotate(-90)" x="-150" y="-34" text-anchor="middle">{up}</text>')
    for at, (label, colour, points) in enumerate(series):
        path = " ".join(f"{300 * a:.1f},{300 - 300 * b:.1f}" for a, b in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="8" y="{18 + 16 * at}" fill="{colour}">{label}</text>')
        if marks:
            out += [f'<circle cx="{300 * a:.1f}" cy="{300 - 300 * b:.1f}" r="3" fill="{colour}"/>'
                    for a, b in points]
    return "".join(out) + "</g>"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--data", type=pathlib.Path, default=root.parent / "shared" / "data")
    parse.add_argument("--atlas", type=pathlib.Path, default=root / "target/release/atlas")
    parse.add_argument("--setting", action="append", default=[])
    parse.add_argument("--out", type=pathlib.Path)
    parse.add_argument("--svg", type=pathlib.Path)
    args = parse.parse_args()
    if not args.data.is_dir():
        print(f"skipped: no public sets at {args.data}")
        return
    args.extra = [word for setting in args.setting for word in ("--setting", setting)]
    answerable, relevant, kinds = questions(args.data)
    record = {"seed": SEED, "settings": args.setting, "auroc": {}, "confidence_auroc": {}, "risk": {}}
    with tempfile.TemporaryDirectory() as index:
        ask(args, index, "first")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            def all_of(own):
                return list(pool.map(lambda q: ask(args, index, q[1]), own))
            good = all_of(answerable)
            bad = {kind: all_of(own) for kind, own in kinds.items()}
    print(f"{len(answerable)} answerable questions of mtrag-un-mini against")
    print("| kind | n | AUROC of the best score | 95 % | of the confidence alone | median score |\n|---|---|---|---|---|---|")
    middle = sorted(score for score, *_ in good)[len(good) // 2]
    for kind, own in bad.items():
        one, other = ([score for score, *_ in side] for side in (good, own))
        value, (low, high) = auroc(one, other), interval(one, other)
        sure = auroc([c for _, c, _ in good], [c for _, c, _ in own])
        record["auroc"][kind] = {"n": len(own), "value": value, "low": low, "high": high}
        record["confidence_auroc"][kind] = sure
        print(f"| {kind} | {len(own)} | {value:.3f} | {low:.3f} to {high:.3f} | {sure:.3f} | "
              f"{sorted(other)[len(other) // 2]:.3f} (answerable {middle:.3f}) |")
    right = [(score, bool(relevant[q] & set(documents)))
             for (q, _), (score, _, documents) in zip(answerable, good)]
    curves = {kind: curve(right + [(score, False) for score, *_ in own]) for kind, own in bad.items()}
    curves["answerable alone"] = curve(right)
    print("\n| risk at a coverage of | " + " | ".join(f"{at}0 %" for at in range(1, 11)) + " | mean (AURC) |")
    print("|---|" + "---|" * 11)
    for kind, points in curves.items():
        at = [points[max(0, math.ceil(len(points) * step / 10) - 1)] for step in range(1, 11)]
        area = sum(risk for _, risk, _ in points) / len(points)
        record["risk"][kind] = {"aurc": area, "points": [(round(c, 4), round(r, 4), round(s, 4)) for c, r, s in at]}
        print(f"| {kind} | " + " | ".join(f"{risk:.3f}" for _, risk, _ in at) + f" | {area:.3f} |")
    rows, error = reliability(args)
    record["reliability"] = {"bins": rows, "expected_calibration_error": error}
    print(f"\n| score | share relevant | hits |\n|---|---|---|")
    for score, share, n in rows:
        print(f"| {score:.2f} | {share:.2f} | {n} |")
    print(f"expected calibration error {error:.3f}, {len(SETS)} sets of equal weight, the other halves")
    if args.out:
        args.out.write_text(json.dumps(record, indent=1) + "\n")
    if args.svg:
        colours = ["#c0392b", "#2471a3", "#7d3c98", "#b9770e", "#1e8449"]
        shown = [(kind, colour, [(c, r) for c, r, _ in points])
                 for colour, (kind, points) in zip(colours, curves.items())]
        line = [("calibrated", "#999", [(0, 0), (1, 1)]),
                ("measured", "#2471a3", [(score, share) for score, share, _ in rows])]
        args.svg.write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" width="780" height="400" font-family="sans-serif" '
            'font-size="12"><rect width="780" height="400" fill="white"/>'
            + chart(60, "Risk and coverage", "questions answered", "of them wrong", shown)
            + chart(450, "Reliability", "score", "share relevant", line, True) + "</svg>\n")


if __name__ == "__main__":
    main()
