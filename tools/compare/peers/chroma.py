"""Chroma on disk: vectors with documents. Its local mode ranks by vectors alone."""

import chromadb
from chromadb.config import Settings

K = 10
BATCH = 5_000


class Chroma:
    def __init__(self, data, folder):
        self.data, self.folder = data, folder / "chroma"

    def client(self):
        return chromadb.PersistentClient(str(self.folder), settings=Settings(anonymized_telemetry=False))

    def build(self):
        vectors, texts, parts = self.data.vectors(), self.data.texts(), self.data.parts()

        def work():
            shape = {"space": "ip", "max_neighbors": 16, "ef_construction": 200, "num_threads": 1}
            made = self.client().create_collection(
                "passages", configuration={"hnsw": shape}, embedding_function=None
            )
            for start in range(0, len(texts), BATCH):
                rows = range(start, min(start + BATCH, len(texts)))
                made.add(
                    ids=[str(row) for row in rows],
                    embeddings=vectors[rows.start : rows.stop],
                    documents=texts[rows.start : rows.stop],
                    metadatas=[{"part": int(parts[row])} for row in rows],
                )

        return work

    def open(self, task):
        self.made = self.client().get_collection("passages", embedding_function=None)

    def search(self, task, asked):
        where = None if asked.share is None else {"part": {"$lt": asked.share}}
        found = self.made.query(
            query_embeddings=asked.vector[None, :], n_results=K, where=where, include=["documents", "distances"]
        )
        return [int(row) for row in found["ids"][0]], sum(len(text) for text in found["documents"][0])
