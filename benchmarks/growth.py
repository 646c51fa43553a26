"""How time and memory grow with the fleet, and how well a time limit holds.

Every solve has a process of its own, so that the memory is its own, and is warm.
"""

import argparse
import json
import resource
import subprocess
import sys
from math import log
from time import perf_counter

from numpy.random import RandomState

from colocate import Gpu, Model, Problem, load_suite, solve

GPUS = (64, 128, 256, 512, 1024, 2048, 4096)
MODELS_PER_GPU = 4
GAP = 0.005
LONGEST = 60.0
LIMITS = (0.2, 0.5, 1.0, 2.0, 5.0)
LIMITED_GPUS = (64, 512, 4096)
FITTED = (512, 4096)
KIB_PER_MB = 1024


def main() -> None:
    options = _options()
    if options.one:
        print(json.dumps(_measure(*options.one)))
        return
    _print_growth([gpus for gpus in GPUS if gpus <= options.most_gpus])
    _print_limits([gpus for gpus in LIMITED_GPUS if gpus <= options.most_gpus])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most-gpus", type=int, default=GPUS[-1], help="leave larger fleets out")
    parser.add_argument("--one", nargs=3, type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_problem(gpus: int) -> Problem:
    """Make a fleet as in the suite `scale`, from another seed."""
    draw = RandomState(77_000 + gpus)
    low, high = 200 // MODELS_PER_GPU, 600 // MODELS_PER_GPU
    models = tuple(
        Model(
            f"model-{number}",
            draw.randint(low, high) / 10,
            draw.randint(100, 1000) / 100,
            draw.randint(5, 10),
        )
        for number in range(MODELS_PER_GPU * gpus)
    )
    return Problem(tuple(Gpu(f"gpu-{number}", 80) for number in range(gpus)), models)


def _measure(gpus: float, gap: float, time_limit: float) -> dict[str, float]:
    """Solve once, warm, in this process."""
    solve(load_suite("adrs").cases[0].problem)
    problem = make_problem(int(gpus))
    started = perf_counter()
    plan = solve(problem, gap=gap, time_limit=time_limit)
    seconds = perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MB
    return {"seconds": seconds, "gap": plan.gap, "peak_mb": peak}


def _measured(gpus: int, gap: float, time_limit: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", str(gpus), str(gap), str(time_limit)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _print_growth(sizes: list[int]) -> None:
    print(f"Time to a gap of {GAP:.1%}, {MODELS_PER_GPU} models a GPU\n")
    print("| GPUs | models | seconds | gap | peak memory, MB |\n|---|---|---|---|---|")
    seconds: dict[int, float] = {}
    for gpus in sizes:
        found = _measured(gpus, GAP, LONGEST)
        seconds[gpus] = found["seconds"]
        print(
            f"| {gpus} | {MODELS_PER_GPU * gpus} | {found['seconds']:.3f} | "
            f"{found['gap']:.4%} | {found['peak_mb']:.0f} |",
            flush=True,
        )
    first, last = FITTED
    if last in seconds:
        exponent = log(seconds[last] / seconds[first]) / log(last / first)
        print(f"\nFrom {first} to {last} GPUs time grows as n^{exponent:.2f}.")


def _print_limits(sizes: list[int]) -> None:
    print("\nTime beyond the limit, in ms (allowed: 10% and 50 ms)\n")
    print(f"| limit, s | {' | '.join(f'{gpus} GPUs' for gpus in sizes)} | allowed |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for limit in LIMITS:
        beyond = [_beyond(_measured(gpus, 0.0, limit)["seconds"], limit) for gpus in sizes]
        print(f"| {limit:g} | {' | '.join(beyond)} | {100 * limit + 50:.0f} |", flush=True)


def _beyond(seconds: float, limit: float) -> str:
    return f"{1000 * (seconds - limit):+.0f}"


if __name__ == "__main__":
    main()
