"""Requests that were recorded: a CSV file, read as a stream in constant memory."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError, UnknownNameError
from colocate.fault import Fault
from colocate.inputs.line_blocks import line_blocks
from colocate.inputs.text_file import naming
from colocate.inputs.trace.columns import KNOWN, TraceColumns, columns_of
from colocate.inputs.trace.names import FleetModels, FoundModels, TraceNames
from colocate.inputs.trace.times import TraceClock

NO_MODEL = -1
"""The index of a model that the trace does not name."""
MOST_TOKENS = 10_000_000
"""Of a prompt or an output, as in a stream of requests: no context of a public model is longer."""
LENGTH = f"a whole number from 0 to {MOST_TOKENS}"


class TraceRows(NamedTuple):
    """Requests of a trace in order of time, as arrays of equal length."""

    arrival: NDArray[np.float64]
    """Seconds since the trace began."""
    model: NDArray[np.int32]
    """Indices of models, `NO_MODEL` if the trace has no column for them."""
    prompt: NDArray[np.int32]
    """Tokens, at least 1."""
    output: NDArray[np.int32]
    """Tokens."""


@dataclass(frozen=True)
class Trace:
    """A trace in a CSV file, which may be gzipped; it can be read again and again.

    Parameters
    ----------
    path
        The file; `-` is standard input, which can be read once.
    mapping
        The model of the fleet that stands for a model of the trace, where their names differ.
    """

    path: str | Path
    mapping: Mapping[str, str] = field(default_factory=dict)

    def rows(self, models: Sequence[str]) -> Iterator[TraceRows]:
        """Yield all requests in order of time, in parts of bounded size.

        Parameters
        ----------
        models
            The names of the fleet, in the order that indices count.
        """
        places = {name: index for index, name in enumerate(models)}
        for name, meant in self.mapping.items():
            if meant not in places:
                raise UnknownNameError.among(f"model for {name!r}", meant, places)
        places |= {name: places[meant] for name, meant in self.mapping.items()}
        with naming(self.path):
            yield from _rows(self.path, FleetModels(places, models))

    def all_rows(self, finds: "FoundModels") -> Iterator[TraceRows]:
        """Yield all requests in order of time, whatever their models are called.

        Parameters
        ----------
        finds
            Takes note of the names of models, in the order that indices count.
        """
        with naming(self.path):
            yield from _rows(self.path, finds)


def _rows(path: str | Path, names: TraceNames) -> Iterator[TraceRows]:
    reader, some = None, False
    for block in line_blocks(path):
        first, text = block
        if reader is None:
            begun = text.lstrip()
            if not begun:
                continue
            header, _, rest = begun.partition("\n")
            number = first + text.count("\n", 0, len(text) - len(begun))
            reader = _TraceReader(_header(header, number), names)
            first, text = number + 1, rest
        rows = reader.read(first, text)
        if len(rows.arrival):
            some = True
            yield rows
    if reader is None:
        raise InputError(Fault("is empty", f"a CSV file with the columns {KNOWN}"))
    if not some:
        raise InputError(Fault("has no requests", "one request a line"))


def _header(line: str, number: int) -> TraceColumns:
    try:
        return columns_of(_fields(line))
    except InputError as error:
        raise _at(number, *error.faults) from None


class _TraceReader:
    """Turns lines into arrays: plain lines all at once, any others one by one.

    The quick way leaves every line that it does not understand, or does not like, to the careful
    way, which says what is wrong with it.
    """

    def __init__(self, columns: TraceColumns, names: TraceNames) -> None:
        self._columns, self._names = columns, names
        self._watch = TraceClock(columns.format.dates, columns.format.from_first)

    def read(self, first: int, text: str) -> TraceRows:
        """Return the requests of some lines.

        Parameters
        ----------
        first
            The number of the first line.
        text
            The lines; blank ones say nothing.
        """
        lines = text.split("\n")
        rows = None if '"' in text else self._plain(lines)
        kept = self._kept(self._careful(first, lines) if rows is None else rows)
        self._names.began = self._watch.first_date
        return kept

    def _plain(self, lines: list[str]) -> TraceRows | None:
        columns = self._columns
        fields = [line.split(",") for line in lines if line]
        if set(map(len, fields)) - {columns.number}:
            return None
        try:
            prompt, output = (
                np.fromiter((float(row[place]) for row in fields), np.float64, len(fields))
                for place in (columns.prompt, columns.output)
            )
            model = self._model_column(fields)
        except ValueError:
            return None
        if not (_lengths_fit(prompt) and _lengths_fit(output)):
            return None
        arrival = self._watch.all_at_once([row[columns.time] for row in fields])
        if arrival is None:
            return None
        return TraceRows(arrival, model, prompt.astype(np.int32), output.astype(np.int32))

    def _model_column(self, fields: list[list[str]]) -> NDArray[np.int32]:
        place = self._columns.model
        if place is None:
            return np.full(len(fields), NO_MODEL, np.int32)
        name, place_of = self._columns.model_name, self._names.place
        places = {
            text: place_of(text, name) for text in dict.fromkeys(row[place] for row in fields)
        }
        return np.fromiter((places[row[place]] for row in fields), np.int32, len(fields))

    def _careful(self, first: int, lines: list[str]) -> TraceRows:
        """Return the requests of some lines, or say what is wrong with the first bad one."""
        rows = []
        for number, line in enumerate(lines, start=first):
            if line.strip():
                try:
                    rows.append(self._request(_fields(line)))
                except InputError as error:
                    raise _at(number, *error.faults) from None
        arrival, model, prompt, output = zip(*rows, strict=True) if rows else ((), (), (), ())
        return TraceRows(np.array(arrival, np.float64), *map(_whole, (model, prompt, output)))

    def _request(self, fields: list[str]) -> tuple[float, int, int, int]:
        columns = self._columns
        if len(fields) != columns.number:
            found = f"has {len(fields)} fields"
            raise InputError(Fault(found, f"{columns.number}, as in the header"))
        names = columns.format
        return (
            self._watch.one(fields[columns.time], names.time),
            self._model(fields),
            _length(fields[columns.prompt], names.prompt),
            _length(fields[columns.output], names.output),
        )

    def _model(self, fields: list[str]) -> int:
        columns = self._columns
        if columns.model is None:
            return NO_MODEL
        return self._names.place(fields[columns.model], columns.model_name)

    def _kept(self, rows: TraceRows) -> TraceRows:
        """Return the requests that were served; a prompt has at least the token that begins it."""
        rows = rows._replace(prompt=np.maximum(rows.prompt, 1))
        if not self._columns.format.failed or rows.output.all():
            return rows
        served = rows.output > 0
        arrival, *others = rows
        return TraceRows(arrival[served], *(row[served] for row in others))


def _whole(numbers: Sequence[int]) -> NDArray[np.int32]:
    return np.array(numbers, np.int32)


def _lengths_fit(lengths: NDArray[np.float64]) -> bool:
    fits = (lengths >= 0.0) & (lengths <= MOST_TOKENS) & (lengths == np.floor(lengths))
    return bool(fits.all())


def _length(text: str, column: str) -> int:
    try:
        length = float(text)
    except ValueError:
        length = -1.0
    if not (0.0 <= length <= MOST_TOKENS and length.is_integer()):
        raise InputError.of(column, text, LENGTH)
    return int(length)


def _fields(line: str) -> list[str]:
    """Return the fields of a line, which may be quoted."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError(Fault(f"cannot be read, {error}", "CSV")) from None


def _at(line: int, *faults: Fault) -> InputError:
    """Return the error of a line."""
    return InputError(*(replace(fault, line=line) for fault in faults))
