"""How fast the simulator is, and how much memory it takes.

    python -m benchmarks.simulate_speed            8 GPUs, 24 models, 40 requests a second
    python -m benchmarks.simulate_speed --day      a day of 64 GPUs, 192 models, 320 a second

Models of 1B to 8B share H100s, three on each, with prompts of 500 tokens and outputs of 200 on
average. Requests are drawn while the simulation runs, in pieces of a minute; drawing them is not
counted.
"""

import resource
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np

from colocate.inputs.fleet import fleet_of
from colocate.problem.problem import Problem
from colocate.simulate.demand.requests import RequestStream
from colocate.simulate.options import SimulateOptions
from colocate.simulate.run import simulate_placement

SIZES = (2.5, 3.1, 6.4, 8.0, 14.5, 16.1)
"""GB of weights: 1B, 1.5B, 3B, 4B, 7B and 8B models."""
EACH = 3
"""Models on every GPU."""
RATE = 5.0
"""Requests a second on every GPU, on average."""
PROMPT, OUTPUT = 500, 200
"""Mean tokens."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def fleet(gpus: int) -> Problem:
    """Return a fleet whose models have rates by Zipf's law."""
    rng = np.random.default_rng(7)
    count = gpus * EACH
    shares = 1.0 / (rng.permutation(count) + 1) ** 0.5
    rates = gpus * RATE * shares / shares.sum()
    models = [
        {
            "name": f"m{number}",
            "size_gb": float(rng.choice(SIZES)),
            "kv_bytes_per_token": 131072,
            "rate": float(rates[number]),
            "slo": 1.0,
            "prompt_tokens": PROMPT,
            "output_tokens": OUTPUT,
        }
        for number in range(count)
    ]
    places = [{"name": f"g{number}", "kind": "H100-80GB"} for number in range(gpus)]
    return fleet_of({"gpus": places, "models": models}).problem


class Drawn:
    """Requests in pieces of a minute, and the time that it took to draw them."""

    def __init__(self, problem: Problem, seconds: float) -> None:
        self.rates = np.array([model.requests.rate for model in problem.models if model.requests])
        self.seconds, self.spent = seconds, 0.0

    def __iter__(self) -> Iterator[RequestStream]:
        rng = np.random.default_rng(1)
        for begin in np.arange(0.0, self.seconds, MINUTE):
            start = time.process_time()
            end = min(begin + MINUTE, self.seconds)
            count = rng.poisson(self.rates.sum() * (end - begin))
            arrival = np.sort(rng.uniform(begin, end, count))
            model = rng.choice(len(self.rates), count, p=self.rates / self.rates.sum())
            prompt, output = (
                np.ceil(rng.exponential(mean, count)).astype(np.int32) for mean in (PROMPT, OUTPUT)
            )
            piece = RequestStream(arrival, model.astype(np.int32), prompt, output, float(end))
            self.spent += time.process_time() - start
            yield piece


def measure(gpus: int, seconds: float, sharing: str) -> None:
    """Simulate a fleet and print how long it took.

    Parameters
    ----------
    gpus
        How many GPUs it has.
    seconds
        How long to simulate.
    sharing
        How engines share a GPU.
    """
    problem = fleet(gpus)
    placement = {model.name: [f"g{n % gpus}"] for n, model in enumerate(problem.models)}
    options = SimulateOptions(sharing=sharing)
    simulate_placement(problem, placement, Drawn(problem, 1.0), options)
    drawn = Drawn(problem, seconds)
    start = time.process_time()
    found = simulate_placement(problem, placement, drawn, options)
    spent = time.process_time() - start - drawn.spent
    tokens = sum(model.tokens_out for model in found.models)
    finished = sum(model.finished for model in found.models)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    busy = np.mean([model.busy for model in found.models])
    print(
        f"{sharing:7} {gpus} GPUs, {len(problem.models)} models, {found.seconds:.0f} s: "
        f"{finished} requests, {tokens / 1e6:.1f} million tokens, engines busy {busy:.0%}, "
        f"in {spent:.2f} s: {seconds / spent:.0f} times real time, "
        f"{spent / tokens * 1e9:.0f} ns a token, {memory:.2f} GB"
    )


def main(arguments: Sequence[str]) -> None:
    day = "--day" in arguments
    for sharing in ("slices",) if day else ("slices", "mps", "alone"):
        measure(64 if day else 8, DAY if day else HOUR / 2, sharing)


if __name__ == "__main__":
    main(sys.argv[1:])
