"""How long it takes to rate one GPU by the law, and how far `solve` gets by latency.

    python -m benchmarks.latency_speed             microseconds for one GPU, by its engines
    python -m benchmarks.latency_speed --solve     value, bound and seconds of random fleets

The fleets have models of 1B to 8B on H100 and H200, with Zipf rates. Needs a quiet machine.
"""

import sys
from time import perf_counter

import numpy as np
from tests.latency_fleets import latency_fleet

from colocate import solve
from colocate.problem.kernel import entry_kernel
from colocate.problem.layout import arrange
from colocate.problem.reduction import reduction_of
from colocate.solver.latency.cost import cost_alone
from colocate.solver.latency.now import SearchState, empty_state

TIMES = 100_000
"""How often a GPU is rated."""
FLEETS = ((24, 8, 5.0), (36, 8, 5.0), (256, 64, 10.0))
"""Models, GPUs and seconds of the fleets that are solved."""


@entry_kernel
def rate_often(now: SearchState, times: int) -> float:
    """Rate the first GPU again and again.

    Parameters
    ----------
    now : the state of the search
    times : how often
    """
    total = 0.0
    for _ in range(times):
        total += cost_alone(now, 0, np.inf)
    return total


def seconds_each(engines: int) -> float:
    """Return the seconds to rate a GPU with so many engines."""
    now = empty_state(reduction_of(latency_fleet(engines, 1, load=0.3)))
    arrange(now.instance, now.layout, np.zeros(engines, np.int64))
    rate_often(now, 1)
    best = np.inf
    for _ in range(5):
        begin = perf_counter()
        rate_often(now, TIMES)
        best = min(best, (perf_counter() - begin) / TIMES)
    return best


def main() -> None:
    """Print the table."""
    if "--solve" not in sys.argv:
        for engines in (1, 2, 3, 4, 6, 8):
            print(f"{engines} engines: {1e6 * seconds_each(engines):.2f} microseconds")
        return
    solve(latency_fleet(6, 3), time_limit=1.0)
    for models, gpus, seconds in FLEETS:
        for seed in range(3):
            plan = solve(latency_fleet(models, gpus, seed), time_limit=seconds)
            print(
                f"{models} models on {gpus} GPUs, seed {seed}: {plan.summary}, {plan.seconds:.2f} s"
            )


if __name__ == "__main__":
    main()
