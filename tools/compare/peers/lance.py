"""LanceDB: IVF_HNSW_SQ in one partition beside its full-text index, fused by its default, RRF."""

import lancedb
import pyarrow as pa

K = 10


class Lance:
    def __init__(self, data, folder):
        self.data, self.folder = data, folder / "lance"

    def build(self):
        vectors, texts, parts = self.data.vectors(), self.data.texts(), self.data.parts()

        def work():
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), self.data.dim)
            rows = pa.table({
                "row": pa.array(range(len(texts)), pa.int32()),
                "part": pa.array(parts, pa.int32()),
                "text": pa.array(texts),
                "vector": column,
            })
            table = lancedb.connect(str(self.folder)).create_table("passages", rows, mode="overwrite")
            table.create_index(
                metric="dot", index_type="IVF_HNSW_SQ", num_partitions=1, m=16, ef_construction=200,
                vector_column_name="vector",
            )
            table.create_fts_index("text")
            table.create_scalar_index("part")
            table.wait_for_index([index.name for index in table.list_indices()])

        return work

    def open(self, task):
        self.table = lancedb.connect(str(self.folder)).open_table("passages")

    def search(self, task, asked):
        if task == "dense":
            query = self.table.search(asked.vector).ef(asked.ef or 100)
        elif task == "lexical":
            query = self.table.search(asked.text, query_type="fts")
        else:
            query = self.table.search(query_type="hybrid").vector(asked.vector).text(asked.text)
        if asked.share is not None:
            query = query.where(f"part < {asked.share}", prefilter=True)
        found = query.limit(K).select(["row", "text"]).to_arrow()
        return found["row"].to_pylist()[:K], sum(len(text) for text in found["text"].to_pylist())
