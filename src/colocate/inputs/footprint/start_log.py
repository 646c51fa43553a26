"""Reading the log of an engine's start, line by line, however long the log is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.footprint.log_patterns import (
    ARGUMENT_LINES,
    ARGUMENTS,
    SGLANG,
    STARTS,
    VLLM,
    LineShape,
)
from colocate.inputs.text_file import opened

LONGEST_LINE = 64 * 1024
"""Bytes; the arguments of an engine take up to 20,000."""
MOST_BYTES = 512 * 1024 * 1024
"""Of a log that are read: days of requests, of which only the start counts."""
LEAST = ("cache", "tokens", "pool", "left", "times")
"""Facts of which the least counts where workers differ; of all others it is the most."""
TEXTS = ("served", "model", "version", "unprofiled", "foreseen", "windowed")
"""Facts that are texts."""
MARKS = re.compile(
    b"|".join(
        re.escape(mark.encode())
        for mark in dict.fromkeys(
            (*STARTS, *ARGUMENT_LINES, *(line.mark for line in (*VLLM, *SGLANG)))
        )
    )
)
COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")


@dataclass
class FoundFacts:
    """What one start of an engine said.

    Parameters
    ----------
    engine
        `vllm` or `sglang`, empty as long as nothing told.
    facts
        Numbers by the names that the patterns give them.
    texts
        Names and versions likewise.
    """

    engine: str = ""
    facts: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Keep what a line says."""
        if any(mark in line for mark in ARGUMENT_LINES):
            self._take(ARGUMENTS, line)
        for engine, patterns in (("vllm", VLLM), ("sglang", SGLANG)):
            if self._take(patterns, line):
                self.engine = engine

    def _take(self, patterns: tuple[LineShape, ...], line: str) -> bool:
        told = False
        for mark, pattern in patterns:
            found = pattern.search(line) if mark in line else None
            if found is None:
                continue
            told = True
            for name, text in found.groupdict().items():
                self._keep(name, text)
        return told

    def _keep(self, name: str, text: str | None) -> None:
        if text is None or text == "None":
            return
        if name in TEXTS:
            self.texts.setdefault(name, text)
            return
        value = float(text.replace(",", ""))
        if name in self.facts:
            better = min if name in LEAST else max
            if name == "pool" and value != self.facts[name]:
                self.texts["windowed"] = "pools"
            self.facts[name] = better(self.facts[name], value)
        else:
            self.facts[name] = value


def read_start_log(path: str | Path) -> FoundFacts:
    """Return what the last start in a log said; `-` is standard input.

    Raises
    ------
    InputError
        If the log cannot be read, or no engine says in it what its weights take.
    """
    current, last = FoundFacts(), None
    for line in _lines(path):
        if "weights" in current.facts and any(mark in line for mark in STARTS):
            last, current = current, FoundFacts()
        current.take(line)
    found = current if _has_weights(current) else last
    if found is None:
        raise InputError(
            Fault(
                "does not say what the weights of a model take",
                "the log of vLLM or SGLang from its start on, with its INFO lines",
                "start the engine with its output in a file",
            )
        )
    return found


def _has_weights(log: FoundFacts) -> bool:
    return "weights" in log.facts or {"before", "after"} <= log.facts.keys()


def _lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a log that may matter."""
    read = 0
    try:
        with opened(path) as file:
            while read < MOST_BYTES and (line := file.readline(LONGEST_LINE)):
                read += len(line)
                if MARKS.search(line):
                    yield COLOURS.sub("", line.decode("utf-8", "replace"))
    except OSError as error:
        raise InputError(Fault(f"cannot be read, {error.strerror or error}")) from None
