"""DuckDB: its HNSW index (vss) and full-text index (fts), fused by RRF in one statement."""

import duckdb
import pyarrow as pa
from duckdb_extensions import import_extension

K = 10


class Duck:
    def __init__(self, data, folder):
        self.data, self.file = data, folder / "passages.duckdb"

    def connect(self, path, **more):
        base = duckdb.connect(path, config={"threads": 1}, **more)
        for extension in ("fts", "vss"):
            import_extension(extension, con=base)
            base.execute(f"load {extension}")
        return base

    def build(self):
        vectors, texts, parts = self.data.vectors(), self.data.texts(), self.data.parts()

        def work():
            self.file.unlink(missing_ok=True)
            base = self.connect(str(self.file))
            base.execute("set hnsw_enable_experimental_persistence = true")
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), self.data.dim)
            rows = pa.table({"row": range(len(texts)), "part": pa.array(parts), "text": texts, "vector": column})
            base.register("given", rows)
            base.execute(
                f"create table passages as select row::integer as row, part::integer as part, text, "
                f"vector::float[{self.data.dim}] as vector from given"
            )
            base.execute(
                "create index nearest on passages using hnsw (vector) "
                "with (metric = 'ip', m = 16, m0 = 32, ef_construction = 200)"
            )
            base.execute("pragma create_fts_index('passages', 'row', 'text', stemmer = 'english')")
            base.execute("checkpoint")
            base.close()

        return work

    def open(self, task):
        self.base = self.connect(str(self.file), read_only=True)

    def search(self, task, asked):
        # A condition keeps DuckDB from its HNSW index: it then scans what passes.
        where = "" if asked.share is None else f"where part < {int(asked.share)}"
        also = "" if asked.share is None else f"and part < {int(asked.share)}"
        statement = f"""
            with near as (
                select row, row_number() over (order by distance) as place from (
                    select row, array_negative_inner_product(vector, $vector::float[{self.data.dim}]) as distance
                    from passages {where} order by distance limit 100)),
            matching as (
                select row, row_number() over (order by score desc) as place from (
                    select row, fts_main_passages.match_bm25(row, $text) as score
                    from passages where score is not null {also} order by score desc limit 100))
            select passages.row, passages.text from (
                select row, sum(1.0 / (60 + place)) as fused
                from (select * from near union all select * from matching)
                group by row order by fused desc limit {K}) best
            join passages using (row) order by best.fused desc"""
        given = {"vector": asked.vector.tolist(), "text": asked.text}
        found = self.base.execute(statement, given).fetchall()
        return [row for row, _ in found], sum(len(text) for _, text in found)
