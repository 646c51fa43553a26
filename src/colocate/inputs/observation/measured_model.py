"""From what was counted in bins of time to what is known of a model."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from colocate.inputs.observation.bins import coarse
from colocate.inputs.observation.burstiness import burstiness_of
from colocate.inputs.observation.estimate import BinTally, rate_estimate, ratio_estimate
from colocate.inputs.observation.observation import Basis, ModelObservation
from colocate.inputs.observation.predictability import predictability_of

REQUESTS = "requests"
"""The tally of requests over seconds; all others are named as in `ModelObservation`."""


def measured_model(
    name: str,
    basis: Basis,
    tallies: Mapping[str, BinTally],
    bin_seconds: float,
    variation: float | None = None,
    replicas: int = 0,
    unseen: NDArray[np.bool_] | None = None,
) -> ModelObservation | None:
    """Return what is known of a model, None if its rate is not.

    Parameters
    ----------
    name
        Of the model.
    basis
        Which requests count.
    tallies
        What was counted, by name.
    bin_seconds
        How long a bin is.
    variation
        Of the times between requests, where they are known.
    replicas
        Engines that were seen.
    unseen
        The bins of which only the sum with their neighbours is known: they count for the rate, and
        for nothing that is about single bins.
    """
    rate = rate_estimate(tallies[REQUESTS])
    if rate is None:
        return None
    requests = tallies[REQUESTS]
    if unseen is not None:
        requests = BinTally(*(np.where(unseen, np.nan, side) for side in requests))
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(
            requests.per > 0.0, np.maximum(requests.amount, 0.0) / requests.per, np.nan
        )
    others = {each: ratio_estimate(tally) for each, tally in tallies.items() if each != REQUESTS}
    return ModelObservation(
        name,
        basis,
        rate,
        tuple(rates.tolist()),
        burstiness_of(coarse(requests), variation),
        predictability_of(requests, bin_seconds),
        replicas=replicas,
        queue=_last(tallies.get("waiting")),
        **others,
    )


def _last(tally: BinTally | None) -> float | None:
    """Return the amount of the last bin, or of the one before if that is all that is known."""
    if tally is None:
        return None
    newest = tally.amount[-2:]
    known = newest[np.isfinite(newest)]
    return max(float(known[-1]), 0.0) if len(known) else None
