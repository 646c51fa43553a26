"""The rates that a decision rests on, from what was measured in bins of time."""

import numpy as np

from colocate.errors import InputError
from colocate.inputs.fleet import Fleet
from colocate.inputs.observation.demand_changes import matched_models
from colocate.inputs.observation.observation import Observation
from colocate.replan.policy.rates import RateEstimate, estimated_rates
from colocate.replan.policy.settings import PolicySettings

MOST_REQUESTS = 10_000_000
"""That a decision replays for the time ahead, at most: some seconds of work, and far more than the
largest fleets are asked."""


def measured_rates(
    fleet: Fleet, observation: Observation, settings: PolicySettings
) -> tuple[RateEstimate, ...]:
    """Return the rate of every model that was measured; others have none.

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
    found = matched_models(fleet.spec.models, observation)
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
