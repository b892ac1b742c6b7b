#!/usr/bin/env python3
"""Fit the built-in answerer: which unit answers, and whether the evidence answers at all.

    tools/calibrate_answers.py FOLDER

FOLDER holds what `cargo run --release --example units` printed, a pair or a triple of files for each set:
NAME.answerable.tsv, NAME.removed.tsv and, where there are some, NAME.unanswerable.tsv and NAME.claims.tsv.

unit    1 / (1 + exp(-(w0 + w . features))), fitted on sets with recorded answers: a unit counts as the
        answer by the share of the answer's words that it has, when its document is relevant.
score   the same form over the features of the unit with the highest probability: whether the question can
        be answered from what is there.

judge   the same form over the share of words and the cosine of a claim: whether its sources support it.

A set whose NAME starts with `development-` fits whole, and weighs as three sets in `score`: it is of papers
with sections, which the public sets are not. What a block says besides the unit is left out of `score`.

Half of each other set's questions (by a hash of the id) fits, the other half is reported: the share of questions
whose best unit has the most of the answer, and the curve of declining too often and too seldom.
"""
import glob
import hashlib
import math
import os
import sys

FEATURES = 7


def fits(name, question):
    return name.startswith("development-") or tune(question)


def reports(name, question):
    return name.startswith("development-") or not tune(question)


def tune(question):
    return hashlib.sha256(question.encode()).digest()[0] & 1


def read(path):
    questions = {}
    for line in open(path, encoding="utf-8", newline="\n"):
        cells = line.rstrip("\n").split("\t")
        question, source, relevant, share = cells[0], int(cells[1]), int(cells[2]), float(cells[3])
        features = tuple(float(cell) for cell in cells[4 : 4 + FEATURES])
        questions.setdefault(question, []).append((relevant, share, features))
    return questions


def logistic(theta, x):
    z = theta[0] + sum(t * v for t, v in zip(theta[1:], x))
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, z))))


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


def fit(rows, ridge=1e-3, positive=True, features=FEATURES):
    """Newton's method; rows are (weight, values, label in 0..1). With `positive`, a feature whose weight
    comes out below 0 is left out and the rest fitted again: every feature is made so that more is better."""
    active = list(range(features))
    while True:
        theta = [0.0] * (len(active) + 1)
        for _ in range(60):
            n = len(theta)
            gradient = [-ridge * t for t in theta]
            hessian = [[ridge if i == j else 0.0 for j in range(n)] for i in range(n)]
            for weight, values, label in rows:
                x = (1.0,) + tuple(values[f] for f in active)
                z = max(-40.0, min(40.0, sum(t * v for t, v in zip(theta, x))))
                p = 1 / (1 + math.exp(-z))
                for i in range(n):
                    gradient[i] += weight * (label - p) * x[i]
                    for j in range(n):
                        hessian[i][j] += weight * p * (1 - p) * x[i] * x[j]
            step = solve(hessian, gradient)
            theta = [t + s for t, s in zip(theta, step)]
            if max(map(abs, step)) < 1e-9:
                break
        bad = [f for f, t in zip(active, theta[1:]) if t < 0]
        if not positive or not bad:
            break
        worst = min(bad, key=lambda f: theta[1 + active.index(f)])
        active.remove(worst)
    full = [theta[0]] + [0.0] * features
    for f, t in zip(active, theta[1:]):
        full[1 + f] = t
    return full


def judge(folder):
    sets = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.claims.tsv"))):
        for line in open(path, encoding="utf-8", newline="\n"):
            question, supported, words, cosine = line.split("\t")
            row = ((float(words), float(cosine)), int(supported))
            sets.setdefault(os.path.basename(path).split(".")[0], []).append((question, *row))
    rows = []
    for own in sets.values():
        kept = [row for row in own if tune(row[0])]
        rows += [(1000 / len(kept), x, label) for _, x, label in kept]
    theta = fit(rows, features=2)
    print("JUDGE", shown(theta), f"on {len(rows)} claims")
    for name, own in sets.items():
        test = [row for row in own if not tune(row[0])]
        for label, what in ((1, "supported"), (0, "not supported")):
            of = [logistic(theta, x) >= 0.5 for _, x, own_label in test if own_label == label]
            print(f"  {name:14} other half, {what:13} {len(of):4}  called supported {sum(of) / len(of):.2f}")


def shown(theta):
    return "[" + ", ".join(f"{t:.3f}" for t in theta) + "]"


def besides(features):
    """The features without what the whole block says."""
    return features[:2] + (0.0,) + features[3:]


def best(theta, units):
    return max(range(len(units)), key=lambda at: (logistic(theta, units[at][2]), -at))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sets = {}
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.tsv"))):
        name, what = os.path.basename(path)[:-4].rsplit(".", 1)
        if what == "claims":
            continue
        sets.setdefault(name, {})[what] = read(path)
    rows = []
    for name, own in sets.items():
        answered = {
            q: u for q, u in own["answerable"].items() if fits(name, q) and any(r and s > 0.2 for r, s, _ in u)
        }
        for q, units in answered.items():
            top = max(s for r, s, _ in units if r)
            for relevant, share, features in units:
                label = (share / top) ** 2 if relevant and share > 0 else 0.0
                rows.append((1 / len(answered) / len(units), features, label))
    scale = 60000.0
    unit = fit([(w * scale, f, l) for w, f, l in rows])
    print("UNIT ", shown(unit), f"on {len(rows)} units")
    for name, own in sets.items():
        test = {
            q: u for q, u in own["answerable"].items() if reports(name, q) and any(r and s > 0.2 for r, s, _ in u)
        }
        if not test:
            continue
        good = won = 0
        for units in test.values():
            at = best(unit, units)
            top = max(s for r, s, _ in units if r)
            good += units[at][0] and units[at][1] >= 0.999 * top
            won += units[at][0] * units[at][1] / top
        n = len(test)
        print(f"  {name:14} other half: best unit is the best there is {good} of {n} ({good / n:.2f}), "
              f"has {won / n:.2f} of what the best has")
    rows = []
    for name, own in sets.items():
        if len(own) < 2:
            continue
        for what, label in (("answerable", 1.0), ("removed", 0.0), ("unanswerable", 0.0)):
            questions = {q: u for q, u in own.get(what, {}).items() if fits(name, q)}
            if what == "answerable":
                questions = {q: u for q, u in questions.items() if any(r for r, _, _ in u)}
            for q, units in questions.items():
                kinds = 1 if what == "answerable" else len(own) - 1
                heavy = 3 if name.startswith("development-") else 1
                rows.append((heavy / len(questions) / kinds, besides(units[best(unit, units)][2]), label))
    scale = 1000.0
    score = fit([(w * scale, f, l) for w, f, l in rows])
    print("SCORE", shown(score), f"on {len(rows)} questions")
    print("other half, share declined at a minimum score of:")
    steps = [0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7]
    print(" " * 34 + "  ".join(f"{s:4.2f}" for s in steps))
    total = {}
    for name, own in sets.items():
        for what in ("answerable", "removed", "unanswerable"):
            if len(own) < 2:
                continue
            test = {q: u for q, u in own.get(what, {}).items() if reports(name, q)}
            if what == "answerable":
                test = {q: u for q, u in test.items() if any(r for r, _, _ in u)}
            if not test:
                continue
            values = [logistic(score, besides(u[best(unit, u)][2])) for u in test.values()]
            shares = [sum(v < s for v in values) / len(values) for s in steps]
            kind = "answerable" if what == "answerable" else "not"
            total.setdefault(kind, []).append(shares)
            print(f"  {name:14} {what:12} {len(values):4}  " + "  ".join(f"{s:4.2f}" for s in shares))
    for kind, lists in total.items():
        mean = [sum(column) / len(lists) for column in zip(*lists)]
        print(f"  {'mean':14} {kind:12} {len(lists):4}  " + "  ".join(f"{s:4.2f}" for s in mean))

    judge(sys.argv[1])


main()