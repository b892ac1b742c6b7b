"""txtai: faiss under vectors from outside, its own BM25 beside them, content stored, its default fusion."""

import faiss
import numpy as np
from txtai import Embeddings

K = 10


class Txtai:
    def __init__(self, data, folder):
        self.data, self.folder = data, folder / "txtai"
        self.known = {}

    def transform(self, texts):
        """The vectors of texts that are known: txtai asks for them by the text alone."""
        return np.stack([self.known[text] for text in texts]).astype("float32")

    def given(self):
        """The vectors from outside: txtai takes a function and nothing else that can be called."""
        return {"transform": lambda texts: self.transform(texts)}

    def build(self):
        vectors, texts = self.data.vectors(), self.data.texts()

        def work():
            self.known = dict(zip(texts, vectors))
            shape = {"method": "external", "hybrid": True, "content": True, "backend": "faiss"}
            made = Embeddings(shape | self.given())
            made.index((row, text, None) for row, text in enumerate(texts))
            made.save(str(self.folder))

        return work

    def open(self, task):
        faiss.omp_set_num_threads(1)
        self.known = self.data.asked_vectors()
        self.made = Embeddings()
        self.made.load(str(self.folder), config=self.given())

    def search(self, task, asked):
        found = self.made.search(asked.text, limit=K)
        return [int(one["id"]) for one in found], sum(len(one["text"]) for one in found)
