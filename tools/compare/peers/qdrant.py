"""Qdrant's client in local mode: dense and sparse vectors, fused by RRF. The sparse side is BM25's term
weights, made here (its own model for them is a download), with Qdrant's IDF."""

import re
import zlib

import Stemmer
from qdrant_client import QdrantClient, models

from peers.texts import STOP

K = 10
BATCH = 2_000
K1, B = 1.2, 0.75


class Qdrant:
    def __init__(self, data, folder):
        self.data, self.folder, self.stop = data, folder / "qdrant", STOP
        self.stemmer = Stemmer.Stemmer("english")

    def client(self):
        return QdrantClient(path=str(self.folder))

    def terms(self, text):
        """Terms by the hash of their stem, with counts."""
        counts = {}
        words = [word for word in re.findall(r"\w+", text.lower()) if word not in self.stop]
        for stem in self.stemmer.stemWords(words):
            term = zlib.crc32(stem.encode())
            counts[term] = counts.get(term, 0) + 1
        return counts

    def build(self):
        vectors, texts, parts = self.data.vectors(), self.data.texts(), self.data.parts()

        def work():
            client = self.client()
            client.create_collection(
                "passages",
                vectors_config={"dense": models.VectorParams(size=self.data.dim, distance=models.Distance.DOT)},
                sparse_vectors_config={"text": models.SparseVectorParams(modifier=models.Modifier.IDF)},
            )
            counted = [self.terms(text) for text in texts]
            mean = sum(sum(counts.values()) for counts in counted) / len(counted)
            for start in range(0, len(texts), BATCH):
                points = []
                for row in range(start, min(start + BATCH, len(texts))):
                    counts = counted[row]
                    length = K1 * (1 - B + B * sum(counts.values()) / mean)
                    weights = [count * (K1 + 1) / (count + length) for count in counts.values()]
                    sparse = models.SparseVector(indices=list(counts), values=weights)
                    payload = {"text": texts[row], "part": int(parts[row])}
                    vector = {"dense": vectors[row].tolist(), "text": sparse}
                    points.append(models.PointStruct(id=row, vector=vector, payload=payload))
                client.upsert("passages", points)
            client.close()

        return work

    def open(self, task):
        self.opened = self.client()

    def search(self, task, asked):
        only = None
        if asked.share is not None:
            only = models.Filter(must=[models.FieldCondition(key="part", range=models.Range(lt=asked.share))])
        counts = self.terms(asked.text)
        sparse = models.SparseVector(indices=list(counts), values=[float(count) for count in counts.values()])
        found = self.opened.query_points(
            "passages",
            prefetch=[
                models.Prefetch(query=asked.vector.tolist(), using="dense", limit=100, filter=only),
                models.Prefetch(query=sparse, using="text", limit=100, filter=only),
            ],
            query=models.FusionQuery(fusion=models.Fusion.RRF),
            limit=K,
            with_payload=["text"],
        ).points
        return [point.id for point in found], sum(len(point.payload["text"]) for point in found)
