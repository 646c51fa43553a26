"""What a trace tells: when requests came, and how long they were."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from colocate.errors import InputError
from colocate.fault import Fault
from colocate.inputs.observation.burstiness import variation_of
from colocate.inputs.observation.estimate import BinTally
from colocate.inputs.observation.mapped_names import refuse_unmatched
from colocate.inputs.observation.measured_model import REQUESTS, measured_model
from colocate.inputs.observation.observation import (
    Basis,
    ModelObservation,
    Observation,
    Remark,
    SourceNote,
)
from colocate.inputs.observation.trace_bins import TraceBins
from colocate.inputs.text_file import name_of, naming
from colocate.inputs.trace.names import FoundModels
from colocate.inputs.trace.reading import NO_MODEL, Trace

ALL_REQUESTS = "all"
"""What the one model of a trace without names is called, until it is mapped."""
FIRST_DATE = 1e9
"""Seconds: a trace that begins later than this counts them from 1970 on (it is in 2001)."""
SHORTEST = 1.0
"""Seconds that a trace must last: over less there is no rate."""


def observe_trace(path: str | Path, mapping: Mapping[str, str] | None = None) -> Observation:
    """Return the demand that a trace of requests shows, read once and in constant memory.

    Parameters
    ----------
    path
        A CSV file, gzipped or not; `-` is standard input.
    mapping
        The model of the fleet that stands for a model of the trace, where their names differ;
        several may stand for one. A trace without names has one model, `all`.

    Raises
    ------
    InputError
        If the file cannot be read, a line is wrong, all requests came at one moment, or the mapping
        names a model that the trace does not have.
    """
    finds = FoundModels(mapping or {})
    bins: TraceBins | None = None
    unnamed = False
    began = None
    for rows in Trace(path).all_rows(finds):
        if bins is None:
            first = float(rows.arrival[0])
            began = first if first >= FIRST_DATE else None
            bins = TraceBins(began or 0.0)
        unnamed = unnamed or bool(rows.model[0] == NO_MODEL)
        bins.add(rows._replace(model=np.zeros_like(rows.model)) if unnamed else rows)
    assert bins is not None, "a trace has requests"
    with naming(path):
        if bins.seconds.sum() < SHORTEST:
            found = f"lasts {bins.seconds.sum():.3g} s from its first to its last request"
            raise InputError(Fault(found, f"{SHORTEST:g} s or longer, to have a rate"))
    refuse_unmatched(mapping or {}, {ALL_REQUESTS} if unnamed else finds.originals)
    names = [finds.named(ALL_REQUESTS)] if unnamed else list(finds.names)
    notes = (SourceNote(Remark.UNNAMED, tuple(names)),) if unnamed else ()
    models = [_model(bins, number, name) for number, name in enumerate(names)]
    return Observation(
        name_of(path),
        "trace",
        began if finds.began is None else finds.began.timestamp(),
        bins.width,
        float(bins.seconds.sum()),
        None,
        tuple(sorted(filter(None, models), key=lambda model: -model.rate.value)),
        notes,
    )


def _model(bins: TraceBins, number: int, name: str) -> ModelObservation | None:
    requests, prompts, outputs = bins.counts(number)
    tallies = {
        REQUESTS: BinTally(requests, bins.seconds),
        "prompt_tokens": BinTally(prompts, requests),
        "output_tokens": BinTally(outputs, requests),
    }
    variation = variation_of(*bins.gaps(number))
    return measured_model(name, Basis.ARRIVED, tallies, bins.width, variation)
