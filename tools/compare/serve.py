"""One peer in a process of its own: the protocol of `examples/compare/serve.rs`, on stdin and stdout.

    python serve.py SYSTEM DATA INDEX

Nothing is timed but the calls to the system; imports, reading of questions and writing of answers are not.
"""

import importlib
import importlib.metadata
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peers import PYTHON

PACKAGES = {
    "hnswlib": "hnswlib", "usearch f32": "usearch", "usearch i8": "usearch", "faiss HNSW,Flat": "faiss-cpu",
    "faiss HNSW,SQ8": "faiss-cpu", "faiss Flat": "faiss-cpu", "bm25s": "bm25s", "SQLite FTS5": "apsw",
    "LanceDB": "lancedb", "Chroma": "chromadb", "Qdrant local": "qdrant-client", "DuckDB": "duckdb",
    "SQLite + sqlite-vec": "sqlite-vec", "txtai": "txtai",
}
# Questions in one call to a graph library, where queries a second are wanted.
CHUNK = 100


@dataclass
class Asked:
    text: str
    vector: np.ndarray
    ef: int
    share: int | None


class Data:
    """What every system is given. Passages are read only when they are asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.questions = [json.loads(line)["text"] for line in open(folder / "queries.jsonl")]
        self.asked = np.load(folder / "queries.npy")
        self.dim = self.asked.shape[1]

    def lines(self):
        return [json.loads(line) for line in open(self.folder / "passages.jsonl")]

    def texts(self):
        return [line["text"] for line in self.lines()]

    def parts(self):
        return np.array([line["part"] for line in self.lines()], dtype=np.int32)

    def vectors(self):
        return np.load(self.folder / "vectors.npy")

    def asked_vectors(self):
        return dict(zip(self.questions, self.asked))


def bytes_below(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def memory():
    """Bytes of this process alone (dirty), and of file pages that the kernel may drop (clean)."""
    kib = {}
    for line in open("/proc/self/smaps_rollup"):
        words = line.split()
        if words[0].endswith(":") and words[-1] == "kB":
            kib[words[0][:-1]] = int(words[1])
    return {
        "private_bytes": kib["Private_Dirty"] * 1024, "clean_bytes": kib["Private_Clean"] * 1024,
        "resident_bytes": kib["Rss"] * 1024,
    }


def run(peer, data, order):
    task, ef, share = order["task"], order.get("ef", 0), order.get("pass")
    start = order.get("from", 0)
    rows = range(start, start + order["count"])
    us, ids, text_bytes = [], [], 0
    wall, cpu = time.perf_counter(), time.process_time()
    if hasattr(peer, "batch"):
        # One question at a time where times of single ones are wanted.
        chunk = CHUNK if task == "dense" else 1
        for start in range(rows.start, rows.stop, chunk):
            stop = min(start + chunk, rows.stop)
            began = time.perf_counter()
            found = peer.batch(data.asked[start:stop], ef, share)
            us.extend([(time.perf_counter() - began) * 1e6 / (stop - start)] * (stop - start))
            ids.append(found)
    else:
        for at in rows:
            asked = Asked(data.questions[at], data.asked[at], ef, share)
            began = time.perf_counter()
            found, size = peer.search(task, asked)
            us.append((time.perf_counter() - began) * 1e6)
            ids.append(found)
            text_bytes += size
    answer = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall, "us": us}
    if order.get("ids"):
        if hasattr(peer, "batch"):
            ids = np.concatenate(ids).astype(np.int64).tolist()
        answer["ids"], answer["text_bytes"] = ids, text_bytes
    return answer


def build(peer, folder):
    work = peer.build()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    answer = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    answer["bytes"] = bytes_below(folder)
    return answer


def first(peer, data, order):
    """Opens, and asks the first question."""
    before, began = memory(), time.perf_counter()
    peer.open(order["task"])
    opened = time.perf_counter()
    run(peer, data, {**order, "from": 0, "count": 1})
    ended = time.perf_counter()
    return {"open_ms": (opened - began) * 1e3, "first_ms": (ended - began) * 1e3, "before": before}


def main():
    system, data, folder = sys.argv[1], Data(Path(sys.argv[2])), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    # Libraries that print to stdout would garble the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module, name, _ = PYTHON[system]
    peer = getattr(importlib.import_module(f"peers.{module}"), name)(data, folder)
    for line in sys.stdin:
        order = json.loads(line)
        if order["op"] == "hello":
            answer = {"system": system, "version": importlib.metadata.version(PACKAGES[system])}
        elif order["op"] == "build":
            answer = build(peer, folder)
        elif order["op"] == "open":
            answer = first(peer, data, order)
        elif order["op"] == "run":
            answer = run(peer, data, order)
        else:
            answer = memory()
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
