"""The rates that a decision rests on, from what was measured in bins of time."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet, fleet_of
from colocate.inputs.observation.demand_changes import matched_models, rounded
from colocate.inputs.observation.observation import Observation, Remark
from colocate.inputs.spec import MOST_UNCERTAIN
from colocate.replan.policy.rates import RateEstimate, estimated_rates
from colocate.replan.policy.settings import PolicySettings

MOST_REQUESTS = 10_000_000
"""That a decision replays for the time ahead, at most: some seconds of work, and far more than the
largest fleets are asked."""
BEFORE_GAPS = 150.0
"""Seconds of counts whose mean stands for those after them that are not known: many enough that one
odd count among them does not seem to go on, and few enough to tell how it was."""


def measured_rates(
    fleet: Fleet, observation: Observation, settings: PolicySettings
) -> tuple[RateEstimate, ...]:
    """Return the rate of every model that is measured; others have none.

    A model of which nothing was heard of late is not measured any more.

    Parameters
    ----------
    fleet
        Whose models are meant.
    observation
        What was measured. A bin in which nothing is known of a model counts as those before it: one
        scrape that failed is no change.
    settings
        How far back to look, and ahead.

    Raises
    ------
    InputError
        If it is more than can be replayed, which no fleet is asked.
    """
    gone = {
        name for note in observation.notes if note.remark is Remark.GONE for name in note.models
    }
    matched = matched_models(fleet.spec.models, observation)
    found = {name: model for name, model in matched.items() if model.name not in gone}
    if not found:
        return ()
    bins = max(round(BEFORE_GAPS / observation.bin_seconds), 1)
    rates = [_without_gaps(model.rates, bins, model.rate.value) for model in found.values()]
    counts = np.array(rates).T * observation.bin_seconds
    asked, most = (
        counts.max(axis=0).sum() / observation.bin_seconds,
        MOST_REQUESTS / settings.horizon,
    )
    if asked > most:
        raise InputError(
            f"{asked:,.0f} requests a second are more than can be replayed, {most:,.0f}"
        )
    whole = np.rint(counts).astype(np.int64)
    queues = [model.queue or 0.0 for model in found.values()]
    return estimated_rates(tuple(found), whole, observation.bin_seconds, settings, queues)


def _without_gaps(rates: Sequence[float], bins: int, mean: float) -> NDArray[np.float64]:
    """Return rates with the mean of those before where one is not known.

    Parameters
    ----------
    rates
        In each bin; NaN where nothing is known.
    bins
        How many known ones the mean is of.
    mean
        Stands where none is known before.
    """
    row = np.array(rates)
    known = np.flatnonzero(np.isfinite(row))
    sums = np.concatenate(([0.0], np.cumsum(row[known])))
    last = np.searchsorted(known, np.arange(len(row)))
    first = np.maximum(last - bins, 0)
    before = (sums[last] - sums[first]) / np.maximum(last - first, 1)
    filled: NDArray[np.float64] = np.where(last > 0, before, mean)
    return np.where(np.isfinite(row), row, filled)


def fleet_with_rates(fleet: Fleet, rates: Sequence[RateEstimate]) -> Fleet:
    """Return a fleet with the rates that a decision rested on; models without one keep their own.

    Parameters
    ----------
    fleet
        With the demand that was measured.
    rates
        As of `measured_rates`.
    """
    data, known = fleet.as_dict(), {each.model: each for each in rates}
    for model in data["models"]:
        used = known.get(model["name"])
        if used is None or model.get("rate") is None:
            continue
        model["rate"] = rounded(used.rate)
        if used.rate > 0.0 and isfinite(used.high):
            share = (used.high - used.low) / (2.0 * used.rate)
            model["rate_uncertainty"] = rounded(min(share, MOST_UNCERTAIN))
    return fleet_of(data)
