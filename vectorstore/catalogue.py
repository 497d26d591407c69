"""SQLite: the truth about which papers are in, and keyword search over them (FTS5)."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vectorstore.errors import IndexBusy, IndexDamaged, IndexFault
from vectorstore.filters import Filters
from vectorstore.papers import Paper
from vectorstore.text import fold, name_key, search_text

_SCHEMA = """
CREATE TABLE IF NOT EXISTS papers (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, raw_title TEXT NOT NULL, raw_abstract TEXT NOT NULL,
    authors TEXT NOT NULL, year INTEGER, venue TEXT, topic TEXT, url TEXT, venue_key TEXT, topic_key TEXT,
    title TEXT NOT NULL, abstract TEXT NOT NULL, content_hash TEXT NOT NULL,
    passages INTEGER NOT NULL DEFAULT 0,      -- vectors that may stand in Chroma under this id
    embedded INTEGER NOT NULL DEFAULT 0       -- 1 once all of them do
);
CREATE INDEX IF NOT EXISTS pending ON papers (embedded) WHERE embedded = 0;
CREATE TABLE IF NOT EXISTS authors (row INTEGER NOT NULL REFERENCES papers (row) ON DELETE CASCADE, name TEXT NOT NULL, key TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS author_key ON authors (key);
CREATE INDEX IF NOT EXISTS author_row ON authors (row);
CREATE TABLE IF NOT EXISTS removed (id TEXT PRIMARY KEY, passages INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, abstract, authors, tokenize = 'porter unicode61 remove_diacritics 2');
"""
_COLUMNS = "id, raw_title, raw_abstract, authors, year, venue, topic, url, title, abstract"

_START_OVER = "move the index's folder away and add the papers again with: qa-bot add FILE"

TITLE_WEIGHT = 2.0
"""A word in the title counts as two in the abstract (BM25F-style column weight)."""


class Catalogue:
    """The papers of one index. Safe for threads of one process; several processes may read while one writes."""

    def __init__(self, file: Path, *, create: bool = False) -> None:
        """Open ``file``; with ``create``, make it if it is missing.

        Raises:
            IndexDamaged: missing, or no catalogue.
        """
        self.file = file
        self._lock = threading.RLock()
        if not create and not file.is_file():
            raise IndexDamaged(f"{file} is missing; {_START_OVER}")
        try:
            self._db = sqlite3.connect(file, check_same_thread=False, timeout=30, isolation_level=None)
            if self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                self._db.execute("PRAGMA journal_mode = WAL")  # readers go on while one writes
            self._db.execute("PRAGMA foreign_keys = ON")
            if create:
                self._db.executescript(_SCHEMA)
            self._db.execute("SELECT (SELECT row FROM papers LIMIT 1), (SELECT rowid FROM words LIMIT 1)").fetchone()
        except sqlite3.Error as error:
            if hasattr(self, "_db"):
                self._db.close()
            raise _fault(file, error) from error

    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        with self._lock:
            self._db.close()

    def put(self, papers: Iterable[Paper]) -> dict[str, int]:
        """Store papers whole, replacing those with the same id, as not embedded yet; unchanged ones are left alone.

        Returns:
            Numbers of ``added``, ``changed`` and ``unchanged`` papers. All or nothing: one transaction.
        """
        counts = {"added": 0, "changed": 0, "unchanged": 0}
        with self._transaction() as db:
            for paper in papers:
                known = db.execute("SELECT row, content_hash, passages FROM papers WHERE id = ?", (paper.id,)).fetchone()
                if known and known[1] == paper.content_hash:
                    counts["unchanged"] += 1
                    continue
                counts["changed" if known else "added"] += 1
                ghosts = db.execute("SELECT passages FROM removed WHERE id = ?", (paper.id,)).fetchone()
                old = max(known[2] if known else 0, ghosts[0] if ghosts else 0)
                if known:
                    self._forget(db, known[0])
                db.execute("DELETE FROM removed WHERE id = ?", (paper.id,))
                self._insert(db, paper, old)
        return counts

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Take papers out; their vectors are due for removal (see :meth:`ghosts`). Returns the ids that were in."""
        found = []
        with self._transaction() as db:
            for paper_id in ids:
                known = db.execute("SELECT row, passages FROM papers WHERE id = ?", (paper_id,)).fetchone()
                if known:
                    self._forget(db, known[0])
                    db.execute("INSERT OR REPLACE INTO removed VALUES (?, ?)", (paper_id, known[1]))
                    found.append(paper_id)
        return found

    def pending(self) -> list[tuple[Paper, int]]:
        """Papers whose vectors are not all in yet, each with the number of older vectors that may still stand."""
        rows = self._all(f"SELECT {_COLUMNS}, passages FROM papers WHERE embedded = 0 ORDER BY row")
        return [(_paper(row[:-1]), int(row[-1])) for row in rows]

    def mark_embedded(self, papers: Iterable[Paper]) -> None:
        """Note that all vectors of these papers are in; call it only after they are."""
        with self._transaction() as db:
            db.executemany("UPDATE papers SET embedded = 1, passages = ? WHERE id = ?", [(len(p.passages), p.id) for p in papers])

    def expect(self, papers: Iterable[Paper]) -> None:
        """Note how many vectors are about to be written, so that a kill in between leaves none unaccounted."""
        with self._transaction() as db:
            db.executemany("UPDATE papers SET passages = max(passages, ?) WHERE id = ?", [(len(p.passages), p.id) for p in papers])

    def ghosts(self) -> list[tuple[str, int]]:
        """Removed papers whose vectors may still stand: id and number of vectors."""
        return [(str(i), int(n)) for i, n in self._all("SELECT id, passages FROM removed ORDER BY id")]

    def bury(self, ids: Iterable[str]) -> None:
        """Note that the vectors of these removed papers are gone."""
        with self._transaction() as db:
            db.executemany("DELETE FROM removed WHERE id = ?", [(i,) for i in ids])

    def count(self, filters: Filters = Filters()) -> int:
        """Number of papers for which the filters hold."""
        where, values = filters.to_sql()
        return int(self._all(f"SELECT count(*) FROM papers WHERE {where}", values)[0][0])

    def passage_count(self) -> int:
        """Number of vectors that the embedded papers have."""
        return int(self._all("SELECT coalesce(sum(passages), 0) FROM papers WHERE embedded = 1")[0][0])

    def pending_count(self) -> int:
        """Number of writes that an interrupted run left undone."""
        return int(self._all("SELECT (SELECT count(*) FROM papers WHERE embedded = 0) + (SELECT count(*) FROM removed)")[0][0])

    def get(self, ids: Sequence[str], *, searchable: bool = False) -> dict[str, Paper]:
        """The papers with these ids, by id; unknown ids are left out, and with ``searchable`` also those not embedded yet."""
        condition = "embedded = 1" if searchable else "1"
        sql = f"SELECT {_COLUMNS} FROM papers WHERE {condition} AND id IN (SELECT value FROM json_each(?))"
        rows = self._all(sql, [json.dumps(list(ids))])
        return {paper.id: paper for paper in map(_paper, rows)}

    def papers(self, filters: Filters = Filters(), *, limit: int = -1, offset: int = 0) -> Iterator[Paper]:
        """Papers for which the filters hold, by title, then id; ``limit`` -1 means all."""
        where, values = filters.to_sql()
        order = "ORDER BY title COLLATE NOCASE, id LIMIT ? OFFSET ?"
        yield from map(_paper, self._all(f"SELECT {_COLUMNS} FROM papers WHERE {where} {order}", [*values, limit, offset]))

    def ids(self, filters: Filters) -> set[str]:
        """Ids of the searchable papers for which the filters hold."""
        where, values = filters.to_sql()
        return {str(row[0]) for row in self._all(f"SELECT id FROM papers WHERE embedded = 1 AND {where}", values)}

    def keyword_search(self, terms: Sequence[str], limit: int, filters: Filters = Filters()) -> list[tuple[str, float]]:
        """Papers holding any of the terms, with BM25 (k1 1.2, b 0.75; FTS5's), best first, ties by id."""
        if not terms:
            return []
        where, values = filters.to_sql()
        sql = (
            f"SELECT id, -bm25(words, {TITLE_WEIGHT}, 1.0, 1.0) AS score FROM words JOIN papers ON papers.row = words.rowid "
            f"WHERE words MATCH ? AND embedded = 1 AND {where} ORDER BY score DESC, id LIMIT ?"
        )
        return [(str(i), float(s)) for i, s in self._all(sql, [_any_of(terms), *values, limit])]

    def document_frequency(self, term: str) -> int:
        """Number of papers that hold a word with the same stem."""
        return int(self._all("SELECT count(*) FROM words WHERE words MATCH ?", [_any_of([term])])[0][0])

    def vocabulary(self, letter: str) -> list[tuple[str, int]]:
        """Stems of words that start with ``letter``, each with the number of papers that hold it."""
        self._all("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab (main, words, row)")
        return [
            (str(term), int(papers))
            for term, papers in self._all("SELECT term, doc FROM temp.vocabulary WHERE term >= ? AND term < ?", [letter, letter + "\uffff"])
        ]

    def _all(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise _fault(self.file, error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise _fault(self.file, error) from error
                raise

    @staticmethod
    def _forget(db: sqlite3.Connection, row: int) -> None:
        db.execute("DELETE FROM words WHERE rowid = ?", (row,))
        db.execute("DELETE FROM papers WHERE row = ?", (row,))

    @staticmethod
    def _insert(db: sqlite3.Connection, paper: Paper, passages: int) -> None:
        row = db.execute(
            "INSERT INTO papers (id, raw_title, raw_abstract, authors, year, venue, topic, url, venue_key, topic_key, title, abstract, "
            "content_hash, passages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(paper.id, paper.raw_title, paper.raw_abstract, json.dumps(paper.authors), paper.year, paper.venue, paper.topic, paper.url),
                *(fold(paper.venue or ""), fold(paper.topic or "unknown"), paper.title, paper.abstract, paper.content_hash, passages),
            ),
        ).lastrowid
        db.executemany("INSERT INTO authors VALUES (?, ?, ?)", [(row, name, name_key(name)) for name in paper.authors])
        words = (search_text(paper.title), search_text(paper.abstract), search_text(", ".join(paper.authors)))
        db.execute("INSERT INTO words (rowid, title, abstract, authors) VALUES (?, ?, ?, ?)", (row, *words))


def _fault(file: Path, error: sqlite3.Error) -> IndexFault:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return IndexBusy(f"{file} is busy, another process is writing; try again when it has finished")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return IndexFault(f"{file} can't be opened for writing ({error}); give yourself write permission to its folder, or set QA_BOT_INDEX to another")
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return IndexFault(f"{file} can't be written ({error}); make room on the disk, then repeat the command")
    return IndexDamaged(f"{file} is not a readable catalogue ({error}); {_START_OVER}")


def _any_of(terms: Sequence[str]) -> str:
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _paper(row: Sequence[Any]) -> Paper:
    paper_id, raw_title, raw_abstract, authors, year, venue, topic, url, title, abstract = row
    paper = Paper(str(paper_id), str(raw_title), str(raw_abstract), tuple(json.loads(str(authors))), year, venue, topic, url)
    # stored beside the raw text so that a question needn't clean fifty abstracts again
    paper.__dict__.update(title=title, abstract=abstract)
    return paper
