"""Systems as processes, and the collection they are given."""

import hashlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from peers import PYTHON, RUST

HERE = Path(__file__).resolve().parent
K = 10
SHARES = (50, 10, 1)
# Seconds that a build and any other order may take before the system counts as hung.
PATIENCE_S = {"build": 7200}
OTHERWISE_S = 900
# Not LANCE_IO_THREADS: with one, LanceDB 0.40.0 waits for itself while it builds.
THREADS = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
        "RAYON_NUM_THREADS", "TOKIO_WORKER_THREADS", "LANCE_CPU_THREADS", "TOKENIZERS_PARALLELISM", "CHROMA_NUM_THREADS",
    )
}


class Failed(Exception):
    """A system ended, hung or cannot be had."""

    def __init__(self, system, problem):
        super().__init__(f"{system} {problem}")
        self.system = system


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def source_hash(root):
    """Names the program that is measured: every source that goes into it."""
    digest = hashlib.sha256()
    files = [*(root / "src").rglob("*"), *(root / "examples/compare").rglob("*"), root / "Cargo.lock"]
    for path in sorted(path for path in files if path.is_file()):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Bench:
    """Where everything is."""

    def __init__(self, chosen, root):
        self.root, self.cache, self.core = root, chosen.cache.resolve(), chosen.core
        self.corpus, self.more = chosen.corpus.resolve(), [Path(more).absolute() for more in chosen.more.split(",") if more]
        if not self.more and (self.cache / "text").is_dir():
            # Not resolved: a folder's own name says what it is.
            self.more = sorted(path for path in (self.cache / "text").iterdir() if path.is_dir())
        self.binary = chosen.binary
        if self.binary is None:
            subprocess.run(["cargo", "build", "--release", "--example", "compare"], cwd=root, check=True)
            self.binary = root / "target/release/examples/compare"
        self.binary = self.binary.resolve()
        self.source = source_hash(root)
        (self.cache / "logs").mkdir(parents=True, exist_ok=True)

    def collection(self, passages):
        folder = self.cache / "data" / str(passages)
        if not (folder / "about.json").is_file():
            say(f"making the data of {passages} passages")
            arguments = [self.binary, "data", self.corpus, folder, str(passages), *self.more]
            subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        return Collection(folder)

    def index(self, passages, system):
        return self.cache / "index" / str(passages) / system.replace(" ", "-").replace(",", "-")

    def start(self, system, collection):
        folder = self.index(collection.passages, system)
        folder.mkdir(parents=True, exist_ok=True)
        return Process(self, system, collection.folder, folder)


class Process:
    """One system, pinned to the core, on one thread, behind the protocol."""

    def __init__(self, bench, system, data, folder):
        self.system = system
        if system in RUST:
            command = [bench.binary, "serve", system, data, folder]
        else:
            own = "venv" if PYTHON[system][2] == "main" else f"venv-{PYTHON[system][2]}"
            python = bench.cache / own / "bin/python"
            if not python.is_file():
                raise Failed(system, f"has no environment {own}: --with-txtai makes it")
            command = [python, HERE / "serve.py", system, data, folder]
        self.log = bench.cache / "logs" / f"{system.replace(' ', '-')}.log"
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.log, "a"), text=True,
            env={**os.environ, **THREADS, "PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=lambda: os.sched_setaffinity(0, {bench.core}),
        )

    def ask(self, op, **more):
        try:
            self.child.stdin.write(json.dumps({"op": op, **more}) + "\n")
            self.child.stdin.flush()
            patience = PATIENCE_S.get(op, OTHERWISE_S)
            if not select.select([self.child.stdout], [], [], patience)[0]:
                self.child.kill()
                raise Failed(self.system, f"took more than {patience} s for `{op}`")
            line = self.child.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self.close()
            last = self.log.read_text(errors="replace").strip().splitlines()
            raise Failed(self.system, f"ended at `{op}`: {last[-1] if last else 'no word'}")
        return json.loads(line)

    def close(self):
        try:
            self.child.stdin.close()
        except OSError:
            pass
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Collection:
    """Passages, questions, the truth."""

    def __init__(self, folder):
        self.folder = folder
        self.about = json.loads((folder / "about.json").read_text())
        self.passages = self.about["passages"]
        lines = [json.loads(line) for line in open(folder / "queries.jsonl")]
        self.questions = len(lines)
        self.judged = [set(line["pages"]) for line in lines if "pages" in line]
        self.vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        self.asked = np.load(folder / "queries.npy")
        passages = [(line["page"], line["part"]) for line in map(json.loads, open(folder / "passages.jsonl"))]
        self.pages = [page for page, _ in passages]
        self.parts = np.array([part for _, part in passages])
        # A question that the model cannot read has no nearest passage.
        self.readable = np.abs(self.asked).sum(axis=1) > 0
        self.least = self.truth()

    def truth(self):
        """The score of the tenth nearest passage of every question, by what passes: `[4 × questions]`."""
        file = self.folder / "truth.npy"
        if file.is_file():
            return np.load(file)
        kept = [np.full((self.questions, K), -2.0, dtype=np.float32) for _ in range(1 + len(SHARES))]
        for start in range(0, self.passages, 50_000):
            scores = self.asked @ np.asarray(self.vectors[start : start + 50_000]).T
            parts = self.parts[start : start + 50_000]
            for at, share in enumerate((None, *SHARES)):
                own = scores if share is None else scores[:, parts < share]
                both = np.concatenate([kept[at], own], axis=1)
                kept[at] = np.partition(both, both.shape[1] - K, axis=1)[:, -K:]
        least = np.stack([one.min(axis=1) for one in kept])
        np.save(file, least)
        return least

    def recall(self, ids, share=None):
        """The share of the true first ten that was found: a hit as near as the tenth counts, ties so by value."""
        least = self.least[0 if share is None else 1 + SHARES.index(share)]
        wanted = min(K, self.passages if share is None else int((self.parts < share).sum()))
        found = 0.0
        rows = [at for at in range(len(ids)) if self.readable[at]]
        for at in rows:
            hits = [row for row in dict.fromkeys(ids[at]) if row >= 0]
            if share is not None:
                hits = [row for row in hits if self.parts[row] < share]
            scores = np.asarray(self.vectors[hits]) @ self.asked[at] if hits else np.zeros(0)
            found += min((scores >= least[at] - 1e-5).sum(), wanted) / wanted
        return found / len(rows)

    def ndcg(self, ids):
        """nDCG@10 of pages over the judged questions, each page at its first passage."""
        total = 0.0
        for wanted, hits in zip(self.judged, ids):
            pages = list(dict.fromkeys(self.pages[row] for row in hits if row >= 0))[:K]
            gain = sum(1 / np.log2(at + 2) for at, page in enumerate(pages) if page in wanted)
            total += gain / sum(1 / np.log2(at + 2) for at in range(min(len(wanted), K)))
        return total / len(self.judged)


def overlap(one, other):
    return float(np.mean([len(set(a) & set(b)) / max(len(b), 1) for a, b in zip(one, other)]))
