"""Text alone: bm25s with numba, SQLite FTS5. English stems; any word of the question may match."""

import re

K = 10

# Words too common to search by, as bm25s has them in English; FTS5 knows none of its own.
STOP = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with what how do does can which when i my you your".split()
)


def words(text):
    """The words of a question that FTS5 is asked for; all of them when all are common."""
    all_words = re.findall(r"\w+", text.lower())
    return [word for word in all_words if word not in STOP] or all_words


def match(text):
    return " OR ".join(f'"{word}"' for word in words(text))


class Bm25s:
    def __init__(self, data, folder):
        import bm25s
        import Stemmer

        self.lib, self.data, self.folder = bm25s, data, folder / "bm25s"
        self.stemmer = Stemmer.Stemmer("english")

    def tokens(self, texts):
        return self.lib.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def build(self):
        texts = self.data.texts()

        def work():
            index = self.lib.BM25(method="lucene", k1=1.2, b=0.75)
            index.index(self.tokens(texts), show_progress=False)
            index.save(str(self.folder))

        return work

    def open(self, task):
        self.index = self.lib.BM25.load(str(self.folder), mmap=True)
        self.index.backend = "numba"

    def search(self, task, asked):
        found, _ = self.index.retrieve(self.tokens([asked.text]), k=K, n_threads=1, show_progress=False)
        return [int(row) for row in found[0]], 0


class Fts5:
    def __init__(self, data, folder):
        import apsw

        self.lib, self.data, self.file = apsw, data, folder / "fts.db"

    def build(self):
        texts = self.data.texts()

        def work():
            self.file.unlink(missing_ok=True)
            base = self.lib.Connection(str(self.file))
            base.execute("create virtual table texts using fts5(text, content='', tokenize='porter unicode61')")
            with base:
                rows = ((row, text) for row, text in enumerate(texts))
                base.executemany("insert into texts(rowid, text) values (?, ?)", rows)
            base.execute("insert into texts(texts) values ('optimize')")
            base.close()

        return work

    def open(self, task):
        self.base = self.lib.Connection(str(self.file), flags=self.lib.SQLITE_OPEN_READONLY)

    def search(self, task, asked):
        query = "select rowid from texts where texts match ? order by rank limit ?"
        return [row for (row,) in self.base.execute(query, (match(asked.text), K))], 0
