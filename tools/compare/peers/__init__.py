"""The peers: what each is called, where it is, what it is for.

A peer is a class with `build()`, `open(task)` and `search(task, asked)`, over the data in one folder and
an index in another. Graph libraries have `batch(vectors, ef, pass)` instead of `search`, so that
Python's share of their time is small. All run on one thread.
"""

# name: (module, class, environment)
PYTHON = {
    "hnswlib": ("graphs", "Hnswlib", "main"),
    "usearch f32": ("graphs", "UsearchF32", "main"),
    "usearch i8": ("graphs", "UsearchI8", "main"),
    "faiss HNSW,Flat": ("graphs", "FaissFlat", "main"),
    "faiss HNSW,SQ8": ("graphs", "FaissSq8", "main"),
    "faiss Flat": ("graphs", "FaissExact", "main"),
    "bm25s": ("texts", "Bm25s", "main"),
    "SQLite FTS5": ("texts", "Fts5", "main"),
    "LanceDB": ("lance", "Lance", "main"),
    "Chroma": ("chroma", "Chroma", "main"),
    "Qdrant local": ("qdrant", "Qdrant", "main"),
    "DuckDB": ("duck", "Duck", "main"),
    "SQLite + sqlite-vec": ("sqlite", "SqliteVec", "main"),
    "txtai": ("txt", "Txtai", "txtai"),
}
RUST = ("atlas", "tantivy", "hnsw_rs")

# What each is compared in. `tasks` are those that time queries.
GRAPHS = ["hnswlib", "usearch f32", "usearch i8", "faiss HNSW,Flat", "faiss HNSW,SQ8", "faiss Flat", "hnsw_rs"]
TEXTS = ["tantivy", "bm25s", "SQLite FTS5"]
WHOLE = ["LanceDB", "Chroma", "Qdrant local", "DuckDB", "SQLite + sqlite-vec", "txtai"]

# At a million passages only these.
LARGE = ["hnswlib", "tantivy", "LanceDB"]

# Graph libraries that take a filter.
SCOPED = ["hnswlib", "faiss HNSW,Flat", "faiss HNSW,SQ8"]

# txtai takes conditions on its own columns by SQL over more candidates: no filter before the search.
FILTERED = ["LanceDB", "Chroma", "Qdrant local", "DuckDB", "SQLite + sqlite-vec"]

# Passages up to which a system is asked under a filter: Qdrant's client itself says that its local mode is not
# for more than 20,000 points, and takes seconds a query there.
MOST = {"Qdrant local": 20_000}

NOTES = {
    "Chroma": "vectors only: its local mode ranks by no text",
    "hnsw_rs": "with Atlas's own inner product; the crate's is slower without its features",
    "tantivy": "in memory, on the terms of Atlas's analyzer",
    "Qdrant local": "the client's local mode: numpy and Python, meant for tests; BM25 terms weighed by the client",
    "faiss Flat": "an exact scan",
}
