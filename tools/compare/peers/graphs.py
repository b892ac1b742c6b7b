"""Graphs over vectors: hnswlib, usearch, faiss. M 16, ef_construction 200, inner product, one thread."""

import numpy as np

M, EF_CONSTRUCTION, K = 16, 200, 10


class Hnswlib:
    def __init__(self, data, folder):
        import hnswlib

        self.lib, self.data, self.file = hnswlib, data, folder / "graph.bin"

    def empty(self):
        return self.lib.Index(space="ip", dim=self.data.dim)

    def build(self):
        vectors = self.data.vectors()

        def work():
            index = self.empty()
            index.init_index(max_elements=len(vectors), M=M, ef_construction=EF_CONSTRUCTION, random_seed=1)
            index.add_items(vectors, np.arange(len(vectors)), num_threads=1)
            index.save_index(str(self.file))

        return work

    def open(self, task):
        self.index = self.empty()
        self.index.load_index(str(self.file))
        self.index.set_num_threads(1)
        self.allowed = {}
        if task == "scoped":
            parts = self.data.parts()
            self.allowed = {share: parts < share for share in (50, 10, 1)}

    def batch(self, vectors, ef, share):
        self.index.set_ef(ef)
        if share is None:
            return self.index.knn_query(vectors, k=K, num_threads=1)[0]
        allowed = self.allowed[share]
        return self.index.knn_query(vectors, k=K, num_threads=1, filter=lambda row: bool(allowed[row]))[0]


class UsearchF32:
    dtype = "f32"

    def __init__(self, data, folder):
        from usearch.index import Index

        self.made, self.data, self.file = Index, data, folder / "graph.usearch"

    def empty(self):
        return self.made(ndim=self.data.dim, metric="ip", dtype=self.dtype, connectivity=M, expansion_add=EF_CONSTRUCTION)

    def build(self):
        vectors = self.data.vectors()

        def work():
            index = self.empty()
            index.add(np.arange(len(vectors)), vectors, threads=1)
            index.save(str(self.file))

        return work

    def open(self, task):
        self.index = self.empty()
        # Mapped, as Atlas's index is: it opens sooner than with `load` and takes no memory of its own.
        self.index.view(str(self.file))

    def batch(self, vectors, ef, share):
        self.index.expansion_search = ef
        found = self.index.search(vectors, K, threads=1)
        return np.atleast_2d(found.keys)


class UsearchI8(UsearchF32):
    dtype = "i8"


class FaissFlat:
    """Full vectors under the graph."""

    def __init__(self, data, folder):
        import faiss

        faiss.omp_set_num_threads(1)
        self.lib, self.data, self.file = faiss, data, folder / "index.faiss"

    def empty(self):
        return self.lib.IndexHNSWFlat(self.data.dim, M, self.lib.METRIC_INNER_PRODUCT)

    def build(self):
        vectors = self.data.vectors()

        def work():
            index = self.empty()
            if hasattr(index, "hnsw"):
                index.hnsw.efConstruction = EF_CONSTRUCTION
            index.train(vectors)
            index.add(vectors)
            self.lib.write_index(index, str(self.file))

        return work

    def open(self, task):
        self.index = self.lib.read_index(str(self.file))
        self.allowed = {}
        if task == "scoped":
            parts = self.data.parts()
            for share in (50, 10, 1):
                bits = np.packbits(parts < share, bitorder="little")
                self.allowed[share] = (self.lib.IDSelectorBitmap(bits), bits)

    def batch(self, vectors, ef, share):
        params = self.lib.SearchParametersHNSW(efSearch=ef)
        if share is not None:
            params = self.lib.SearchParametersHNSW(efSearch=ef, sel=self.allowed[share][0])
        return self.index.search(vectors, K, params=params)[1]


class FaissSq8(FaissFlat):
    """One byte a number under the graph."""

    def empty(self):
        return self.lib.IndexHNSWSQ(self.data.dim, self.lib.ScalarQuantizer.QT_8bit, M, self.lib.METRIC_INNER_PRODUCT)


class FaissExact(FaissFlat):
    """No graph: the scan."""

    def empty(self):
        return self.lib.IndexFlatIP(self.data.dim)

    def batch(self, vectors, ef, share):
        return self.index.search(vectors, K)[1]
