"""When requests arrive at an engine, and how many tokens each asks for."""

from dataclasses import dataclass

import numpy as np

FEWEST_TOKENS = 2
"""A request has a time per output token only if it has a second one."""


@dataclass(frozen=True)
class Schedule:
    """Seconds from the start to each arrival, and the output tokens of each request."""

    arrivals: list[float]
    outputs: list[int]


def draw_schedule(seed: list[int], rate: float, seconds: float, output_tokens: float) -> Schedule:
    """Draw Poisson arrivals, and outputs from an exponential, rounded up.

    Parameters
    ----------
    seed
        Equal seeds give equal schedules, whatever the way of sharing.
    rate
        Requests a second.
    seconds
        Arrivals after so long are left out.
    output_tokens
        Mean of the exponential.
    """
    draw = np.random.default_rng(seed)
    arrivals, outputs, now = [], [], draw.exponential(1 / rate)
    while now < seconds:
        arrivals.append(float(now))
        outputs.append(max(FEWEST_TOKENS, int(np.ceil(draw.exponential(output_tokens)))))
        now += draw.exponential(1 / rate)
    return Schedule(arrivals, outputs)
