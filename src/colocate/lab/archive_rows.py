"""The tables of an archive, and their rows for programs and attempts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from colocate.arena.verdict import Verdict
from colocate.lab.archive_version_1 import read_refusal
from colocate.lab.messages import Answer, Attempt, Kind
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.program import Program

MOST_KEPT = 4096
"""Verdicts to cache: the pages of a lab look at all programs repeatedly."""
SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE programs (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    source TEXT NOT NULL,
    parents TEXT NOT NULL,
    generation INTEGER NOT NULL,
    island INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE TABLE attempts (
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    kind TEXT NOT NULL,
    parents TEXT NOT NULL,
    text TEXT NOT NULL,
    who TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL NOT NULL,
    seconds REAL NOT NULL,
    cut_off INTEGER NOT NULL,
    refusal TEXT NOT NULL,
    advice TEXT NOT NULL DEFAULT '',
    code TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (number, attempt)
) STRICT;
CREATE TABLE reviews (number INTEGER PRIMARY KEY, facts TEXT NOT NULL) STRICT;
"""
ATTEMPT_COLUMNS = 15
"""How many columns the table of attempts has."""
COLUMNS_OF_ANSWER = 6
"""Six of them hold the answer: text, who, tokens in and out, cost, seconds."""


def attempt_row(attempt: Attempt) -> tuple[Any, ...]:
    """Return the row of an attempt."""
    return (
        attempt.number,
        attempt.attempt,
        attempt.generation,
        attempt.kind.value,
        json.dumps(attempt.parents),
        attempt.answer.text,
        attempt.answer.who,
        attempt.answer.tokens_in,
        attempt.answer.tokens_out,
        attempt.answer.cost,
        attempt.answer.seconds,
        int(attempt.answer.cut_off),
        *_refusal_columns(attempt.refusal),
    )


def program_row(program: Program, digest: str) -> tuple[Any, ...]:
    """Return the row of a program; `digest` is that of the contest that judged it."""
    return (
        program.number,
        program.name,
        program.description,
        program.source,
        json.dumps(program.parents),
        program.generation,
        program.island,
        json.dumps(program.verdict.as_dict()),
        digest,
    )


def program_of(row: Sequence[Any]) -> Program:
    """Return the program of a row."""
    number, name, description, source, parents, generation, island, verdict, _digest = row
    lineage = tuple(json.loads(parents))
    judged = _verdict(verdict)
    return Program(number, name, description, source, judged, lineage, generation, island)


@lru_cache(MOST_KEPT)
def _verdict(text: str) -> Verdict:
    return Verdict.from_dict(json.loads(text))


def attempt_of(row: Sequence[Any]) -> Attempt:
    """Return the attempt of a row; in version 1, a row ends with the sentence of the refusal."""
    (number, attempt, generation, kind, parents), rest = row[:5], row[5:]
    said, (cut_off, *refusal) = rest[:COLUMNS_OF_ANSWER], rest[COLUMNS_OF_ANSWER:]
    answer = replace(Answer(*said), cut_off=bool(cut_off))
    lineage = tuple(json.loads(parents))
    why = _refusal(*refusal) if refusal[1:] else read_refusal(refusal[0], answer.came)
    return Attempt(number, attempt, generation, Kind(kind), lineage, answer, why)


def _refusal(fault: str, advice: str, code: str) -> Refusal | None:
    return Refusal(RefusalCode(code), fault, advice) if code else None


def _refusal_columns(refusal: Refusal | None) -> tuple[str, str, str]:
    """Return the columns `refusal`, `advice` and `code`; all are empty if nothing was refused."""
    return (refusal.fault, refusal.advice, refusal.code.value) if refusal else ("", "", "")
