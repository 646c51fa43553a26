"""The record of a lab: every request's answers, every program, every verdict, every review.

One SQLite file in WAL mode with one writer. All that a run decides is a function of its seed and
of what is here, and everything is written down as soon as it is known: a process that is killed
loses what was in flight and nothing else.
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
from colocate.lab.archive_version_1 import upgrade
from colocate.lab.messages import Attempt
from colocate.lab.program import Program

VERSION = 2
"""What this module writes. It reads version 1 too, and upgrades it before it writes."""
SECONDS_TO_WAIT = 10
"""For a lock of SQLite: a writer holds it for milliseconds."""


class Archive:
    """The file of a lab. Use it as a context; reading needs no lock, writing takes the only one.

    Parameters
    ----------
    path
        Where the file is.
    connection
        To the file.
    lock
        Of the only writer; None for a reader.
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
            Where the file shall be.
        settings
            What the lab is told.
        start
            The first program, judged.
        digest
            Of the contest that judged it.
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
            if version not in (1, VERSION):
                archive.close()
                raise ArchiveError(
                    f"{path}: version {version}, must be 1 or {VERSION}; "
                    "open it with the version of colocate that wrote it"
                )
            if writing and version == 1:
                attempts = archive.attempts()
                upgrade(connection, lambda: archive._insert_attempts(attempts))
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
        """See from now on what is there now, whatever a run may add meanwhile."""
        with _told(self.path):
            self._connection.execute("BEGIN")
        self.setting("version")

    def setting(self, name: str) -> Any:
        """Return what the lab was told when it was made; None if nothing."""
        rows = self._rows("SELECT value FROM settings WHERE name = ?", name)
        return json.loads(rows[0][0]) if rows else None

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
    """Return how SQLite finds a file: also in a folder where it cannot put its own beside it."""
    address = f"{path.absolute().as_uri()}?mode={'rw' if writing else 'ro'}"
    unfinished = path.with_name(f"{path.name}-wal").exists()
    kept = not writing and not unfinished and not os.access(path.parent, os.W_OK)
    return f"{address}&immutable=1" if kept else address


def _locked(path: Path) -> Any:
    """Take the lock of the only writer, which ends with its process."""
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
    """Say which file it was that could not be read or written."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise ArchiveError(f"{path}: {error}") from error
