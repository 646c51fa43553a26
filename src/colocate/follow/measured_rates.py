"""The rates that a decision rests on, from what was measured in bins of time."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

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
        What was measured. A bin in which nothing is known of a model counts with its mean.
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
    rates = np.array([model.rates for model in found.values()])
    means = np.array([[model.rate.value] for model in found.values()])
    counts = np.where(np.isfinite(rates), rates, means).T * observation.bin_seconds
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
