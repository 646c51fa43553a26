"""The rates that a decision rests on, from what was measured in bins of time."""

import numpy as np

from colocate.inputs.fleet import Fleet
from colocate.inputs.observation.demand_changes import matched_models
from colocate.inputs.observation.observation import Observation
from colocate.replan.policy.rates import RateEstimate, estimated_rates
from colocate.replan.policy.settings import PolicySettings


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
        How far back to look.
    """
    found = matched_models(fleet.spec.models, observation)
    if not found:
        return ()
    rates = np.array([model.rates for model in found.values()])
    means = np.array([[model.rate.value] for model in found.values()])
    counts = np.where(np.isfinite(rates), rates, means).T * observation.bin_seconds
    whole = np.rint(counts).astype(np.int64)
    return estimated_rates(tuple(found), whole, observation.bin_seconds, settings)
