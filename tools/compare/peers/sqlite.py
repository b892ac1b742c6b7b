"""SQLite with sqlite-vec beside FTS5, fused by RRF in one statement, as sqlite-vec's author shows it."""

import apsw
import sqlite_vec

from peers.texts import match

K = 10


class SqliteVec:
    def __init__(self, data, folder):
        self.data, self.file = data, folder / "passages.db"

    def connect(self, **more):
        base = apsw.Connection(str(self.file), **more)
        base.enable_load_extension(True)
        base.load_extension(sqlite_vec.loadable_path())
        base.enable_load_extension(False)
        return base

    def build(self):
        vectors, texts, parts = self.data.vectors(), self.data.texts(), self.data.parts()

        def work():
            self.file.unlink(missing_ok=True)
            base = self.connect()
            base.execute("create table passages(row integer primary key, part integer, text text)")
            base.execute(
                "create virtual table found using fts5"
                "(text, content='passages', content_rowid='row', tokenize='porter unicode61')"
            )
            base.execute(
                f"create virtual table near using vec0"
                f"(row integer primary key, part integer, vector float[{self.data.dim}] distance_metric=cosine)"
            )
            with base:
                rows = [(row, int(parts[row]), text) for row, text in enumerate(texts)]
                base.executemany("insert into passages values (?, ?, ?)", rows)
                base.execute("insert into found(found) values ('rebuild')")
                rows = ((row, int(parts[row]), vectors[row].tobytes()) for row in range(len(texts)))
                base.executemany("insert into near(row, part, vector) values (?, ?, ?)", rows)
            base.execute("insert into found(found) values ('optimize')")
            base.close()

        return work

    def open(self, task):
        self.base = self.connect(flags=apsw.SQLITE_OPEN_READONLY)

    def search(self, task, asked):
        near = "" if asked.share is None else f"and part < {int(asked.share)}"
        within = "" if asked.share is None else f"and +rowid in (select row from passages where part < {int(asked.share)})"
        statement = f"""
            with close as (
                select row, row_number() over (order by distance) as place
                from near where vector match ? and k = 100 {near}),
            matching as (
                select rowid as row, row_number() over (order by rank) as place
                from (select rowid, rank from found where found match ? {within} order by rank limit 100))
            select passages.row, passages.text from (
                select row, sum(1.0 / (60 + place)) as fused
                from (select * from close union all select * from matching)
                group by row order by fused desc limit {K}) best
            join passages on passages.row = best.row order by best.fused desc"""
        found = list(self.base.execute(statement, (asked.vector.tobytes(), match(asked.text))))
        return [row for row, _ in found], sum(len(text) for _, text in found)
