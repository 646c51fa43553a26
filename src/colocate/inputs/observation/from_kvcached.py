"""What the router of kvcached counts: requests that ended, of each model.

It keeps the moments of the last thousand requests of a model. Where that is fewer than came in the
time asked for, a shorter time is asked for.
"""

import json
from collections.abc import Mapping
from math import isfinite
from time import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from colocate.errors import InputError, ServerError, SourceError, Trouble
from colocate.inputs.observation.estimate import BinTally
from colocate.inputs.observation.mapped_names import unmatched_notes
from colocate.inputs.observation.measured_model import REQUESTS, measured_model
from colocate.inputs.observation.observation import (
    Basis,
    ModelObservation,
    Observation,
    Remark,
    SourceNote,
)
from colocate.inputs.server.address import ServerAddress

ENDPOINT = "/traffic/stats"
MOST_COUNTED = 1000
"""Requests of a model that the router remembers."""
LARGEST_ANSWER = 4 * 1024 * 1024
"""Bytes: thousands of models have less."""
SECONDS_TO_ANSWER = 10.0
"""Within which the answer must be there; it is no work for a router."""
SHORTER = 4.0
"""How many times shorter a time is asked for next, where too many requests came."""
SHORTEST = 1.0
"""Seconds: a model with more than a thousand requests in one is beyond this router."""
ADVICE = {404: "check the address: the router of kvcached answers at /traffic/stats"}


def observe_kvcached(
    url: str, window: float = 60.0, mapping: Mapping[str, str] | None = None
) -> Observation:
    """Return the demand that the router of kvcached has seen lately.

    Parameters
    ----------
    url
        Its address, with or without `/traffic/stats`.
    window
        How many seconds to look back.
    mapping
        The model of the fleet that stands for a model of the router, where names differ.

    Raises
    ------
    SourceError
        If the router is down, knows no model, or says what cannot be.
    InputError
        If the address or the time is none.
    """
    if not SHORTEST <= window <= 86400.0:
        raise InputError.of("window", window, f"from {SHORTEST:g} s to a day")
    address = ServerAddress(url, None, ADVICE)
    names = mapping or {}
    taken, found, asked = time(), dict[str, ModelObservation](), float(round(window))
    known: set[str] = set()
    while True:
        counted = _counted(address, asked)
        known.update(counted)
        full = {name for name, number in counted.items() if number >= MOST_COUNTED}
        for name, number in counted.items():
            if name not in full and name not in found:
                found[name] = _model(names.get(name, name), number, asked)
        if not full - set(found):
            break
        if asked <= SHORTEST:
            raise SourceError(
                Trouble.NONSENSE,
                f"{address}: the router forgets all but {MOST_COUNTED} requests of a model, and "
                f"{sorted(full)[0]!r} has more in a second; read its metrics from Prometheus",
            )
        asked = max(round(asked / SHORTER), SHORTEST)
    if not found:
        raise SourceError(
            Trouble.EMPTY,
            f"{address}: no model was asked in the last {window:g} s; give a longer --window",
        )
    models = tuple(sorted(found.values(), key=lambda model: (-model.rate.value, model.name)))
    notes = (
        SourceNote(Remark.ENDED_ONLY, tuple(model.name for model in models)),
        *unmatched_notes(names, known),
    )
    return Observation(
        str(address), "kvcached", taken - window, window, window, taken, models, notes
    )


def _model(name: str, number: float, seconds: float) -> ModelObservation:
    tallies = {REQUESTS: BinTally(np.array([number]), np.array([seconds]))}
    found = measured_model(name, Basis.COMPLETED, tallies, seconds)
    assert found is not None, "its time is not 0"
    return found


def _counted(address: ServerAddress, window: float) -> dict[str, float]:
    """Return the requests of each model in the last seconds."""
    root = urlsplit(address.url).path.rstrip("/").removesuffix(ENDPOINT)
    try:
        text = address.get(f"{root}{ENDPOINT}?window={window:g}", SECONDS_TO_ANSWER, LARGEST_ANSWER)
    except ServerError as error:
        raise SourceError(Trouble.DOWN, str(error), error.status) from None
    try:
        stats = json.loads(text)["traffic_stats"].items()
        return {str(name): _number(each) for name, each in stats}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise SourceError(
            Trouble.NONSENSE,
            f"{address}: the answer is none of kvcached's router ({address.quote(text)}); check "
            "the address",
        ) from None


def _number(stats: Any) -> float:
    number = float(stats["total_requests"])
    if not (isfinite(number) and number >= 0.0):
        raise ValueError
    return number
