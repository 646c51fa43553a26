"""The record of a lab: every answer to a request, every program, every verdict, every review.

It is one SQLite file in WAL mode with one writer. Every decision of a run follows from its seed and
this record. The lab writes each result as soon as it is known, so a process that is killed loses
only the work in progress.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any, Self

from colocate.errors import ArchiveError
from colocate.lab.archive_rows import (
    ATTEMPT_COLUMNS,
    SCHEMA,
    attempt_of,
    attempt_row,
    program_of,
    program_row,
)
from colocate.lab.archive_upgrade import OLDER, VERSION, upgrade
from colocate.lab.messages import Attempt
from colocate.lab.program import Program
from colocate.lab.spending import Spending

UNANSWERED = "unanswered"
"""Where the settings hold what was spent on requests without an answer."""
SECONDS_TO_WAIT = 10
"""Longest wait for a lock of SQLite, which a writer holds for milliseconds."""


class Archive:
    """The file of a lab, a context manager. Reading needs no lock; writing takes the only one.

    Parameters
    ----------
    path
        The path of the file.
    connection
        The connection to the file.
    lock
        The lock of the only writer; None for a reader.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: Any = None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @classmethod
    def create(cls, path: Path, settings: Mapping[str, Any], start: Program, digest: str) -> Self:
        """Make a new archive with its first program, and open it for writing.

        Parameters
        ----------
        path
            The path of the new file.
        settings
            The settings of the lab.
        start
            The first program, judged.
        digest
            The digest of the contest that judged it.
        """
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path), _told(path):
            if path.exists():
                raise ArchiveError(
                    f"{path}: exists already; take another folder, or go on with `colocate lab run`"
                )
            unfinished = path.with_suffix(".new")
            unfinished.unlink(missing_ok=True)
            archive = cls(unfinished, sqlite3.connect(unfinished))
            archive._connection.executescript(SCHEMA)
            values = {"version": VERSION, **settings}
            rows = [(name, json.dumps(value)) for name, value in values.items()]
            archive._write("INSERT INTO settings VALUES (?, ?)", rows)
            archive.add_program(start, digest)
            archive.close()
            unfinished.rename(path)
        return cls.open(path, writing=True)

    @classmethod
    def open(cls, path: Path, writing: bool = False) -> Self:
        """Open an archive, for reading or as its only writer."""
        if not path.is_file():
            raise ArchiveError(f"{path}: does not exist; make a lab with `colocate lab init`")
        lock = _locked(path) if writing else None
        with _told(path):
            connection = sqlite3.connect(_address(path, writing), uri=True, timeout=SECONDS_TO_WAIT)
            archive = cls(path, connection, lock)
            if writing:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
            version = archive.setting("version")
            if version not in (*OLDER, VERSION):
                archive.close()
                raise ArchiveError(
                    f"{path}: version {version}, must be 1 to {VERSION}; "
                    "open it with the version of colocate that wrote it"
                )
            if writing and version in OLDER:
                attempts = archive.attempts()
                upgrade(connection, version, lambda: archive._insert_attempts(attempts))
            return archive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others write."""
        self._connection.close()
        if self._lock:
            self._lock.close()

    def hold(self) -> None:
        """Keep the present state in view, whatever a run adds meanwhile."""
        with _told(self.path):
            self._connection.execute("BEGIN")
        self.setting("version")

    def setting(self, name: str) -> Any:
        """Return a setting of the lab from when it was made; None if it is not set."""
        rows = self._rows("SELECT value FROM settings WHERE name = ?", name)
        return json.loads(rows[0][0]) if rows else None

    @property
    def task(self) -> str:
        """The task, by its name or folder; archives before version 3 call it a suite."""
        return str(self.setting("task") or self.setting("suite"))

    def add_program(self, program: Program, digest: str) -> None:
        """Keep a program with its verdict; `digest` is that of the contest."""
        row = program_row(program, digest)
        self._write("INSERT OR REPLACE INTO programs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [row])

    def programs(self) -> list[Program]:
        """Return all programs by number."""
        rows = self._rows("SELECT * FROM programs ORDER BY number")
        return [program_of(row) for row in rows]

    def judged_otherwise(self, digest: str) -> list[int]:
        """Return the numbers of the programs that were judged in another contest."""
        return [n for (n,) in self._rows("SELECT number FROM programs WHERE digest != ?", digest)]

    def add_attempts(self, attempts: Sequence[Attempt]) -> None:
        """Keep the answers to a request, all or none of them."""
        with _told(self.path), self._connection:
            self._insert_attempts(attempts)

    def _insert_attempts(self, attempts: Sequence[Attempt]) -> None:
        rows = [attempt_row(attempt) for attempt in attempts]
        marks = ", ".join("?" * ATTEMPT_COLUMNS)
        self._connection.executemany(f"INSERT OR REPLACE INTO attempts VALUES ({marks})", rows)

    def attempts(self) -> list[Attempt]:
        """Return all answers, in the order of their numbers."""
        rows = self._rows("SELECT * FROM attempts ORDER BY number, attempt")
        return [attempt_of(row) for row in rows]

    def unanswered(self) -> Spending:
        """Return what was spent on requests that no answer is kept of."""
        return Spending.from_dict(self.setting(UNANSWERED) or {})

    def add_unanswered(self, spending: Spending) -> None:
        """Keep what was spent on a request without keeping the request: it is asked again."""
        total = json.dumps((self.unanswered() + spending).as_dict())
        self._write("INSERT OR REPLACE INTO settings VALUES (?, ?)", [(UNANSWERED, total)])

    def add_review(self, number: int, facts: Mapping[str, Any]) -> None:
        """Keep a review, made when there were so many programs."""
        self._write("INSERT OR REPLACE INTO reviews VALUES (?, ?)", [(number, json.dumps(facts))])

    def reviews(self) -> list[tuple[int, dict[str, Any]]]:
        """Return all reviews, the last one last."""
        rows = self._rows("SELECT number, facts FROM reviews ORDER BY number")
        return [(number, json.loads(facts)) for number, facts in rows]

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with _told(self.path):
            return self._connection.execute(query, values).fetchall()

    def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with _told(self.path), self._connection:
            self._connection.executemany(statement, rows)


def _address(path: Path, writing: bool) -> str:
    """Return the address of a file for SQLite, which also works in a read-only folder."""
    address = f"{path.absolute().as_uri()}?mode={'rw' if writing else 'ro'}"
    unfinished = path.with_name(f"{path.name}-wal").exists()
    kept = not writing and not unfinished and not os.access(path.parent, os.W_OK)
    return f"{address}&immutable=1" if kept else address


def _locked(path: Path) -> Any:
    """Take the lock of the only writer; it ends with the process."""
    with _told(path):
        file = path.with_suffix(".lock").open("w")
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError as error:
        file.close()
        raise ArchiveError(f"{path}: another run is writing to it; wait until it ends") from error
    return file


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Name the file in errors about reading or writing it."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise ArchiveError(f"{path}: {error}") from error
