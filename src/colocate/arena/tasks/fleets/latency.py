"""Cases of `fleet-latency`: models that slow each other down, on GPUs of two kinds."""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem
from colocate.problem.requests import EngineSpeed, Requests

MEMORIES_GB = {"H100": 80, "L40S": 45}
"""What models may use of each kind of GPU."""
FAST, SLOW = (4, 6), (2, 4)
"""GPUs of each kind in a case: at least the first number, below the second."""
MODELS_OF_GPU = (2.9, 3.3)
"""Models for each GPU, the lowest and the highest mean."""
EVENNESS, RATE = 0.9, 0.5
"""Zipf's exponent of the rates, and requests a second of a model on average."""
PROMPTS, OUTPUTS = (100, 1000), (50, 300)
"""Tokens of prompts and of outputs: at least the first number, below the second."""
TIME = (2.5, 6.0)
"""The target of a model over the length of its step on an H100, the lowest and the highest."""
DIGITS = 7
"""Of seconds: tenths of a microsecond."""


class Speed(NamedTuple):
    """How fast a kind of GPU runs a model."""

    step_ms: float
    """A decode step, before its requests."""
    token_us: float
    """More for each token of context in the batch."""
    prompt_us: float
    """The work on each token of a prompt."""


class LatencyModel(NamedTuple):
    """A published model."""

    size_gb: float
    host_ms: float
    """What a prefill takes at least: the host launches its kernels layer by layer."""
    layers: int
    speeds: dict[str, Speed]
    """By kind of GPU."""


SERVED = (
    LatencyModel(
        3.7, 6.24, 24, {"H100": Speed(1.43, 0.0046, 1.67), "L40S": Speed(2.49, 0.018, 4.55)}
    ),
    LatencyModel(
        4.9, 4.16, 16, {"H100": Speed(1.63, 0.0122, 4.17), "L40S": Speed(4.28, 0.047, 11.4)}
    ),
    LatencyModel(
        5.8, 7.28, 28, {"H100": Speed(2.38, 0.0107, 5.20), "L40S": Speed(5.70, 0.042, 14.2)}
    ),
    LatencyModel(
        8.9, 7.28, 28, {"H100": Speed(3.63, 0.0428, 10.8), "L40S": Speed(10.5, 0.166, 29.6)}
    ),
    LatencyModel(
        17.9, 7.28, 28, {"H100": Speed(6.92, 0.0214, 25.7), "L40S": Speed(23.3, 0.083, 70.1)}
    ),
    LatencyModel(
        18.5, 8.32, 32, {"H100": Speed(7.40, 0.0489, 27.1), "L40S": Speed(24.6, 0.190, 73.9)}
    ),
)
"""Qwen2.5 0.5B, Llama 3.2 1B, Qwen2.5 1.5B, Llama 3.2 3B, Qwen2.5 7B and Llama 3.1 8B in 16 bits,
as `colocate size` and the catalogue of GPUs estimate them."""


def latency_problem(draw: RandomState) -> Problem:
    """Make the problem of one case; nobody knows its optimum yet."""
    kinds = ["H100"] * draw.randint(*FAST) + ["L40S"] * draw.randint(*SLOW)
    gpus = [Gpu(f"gpu-{n}", MEMORIES_GB[kind], kind) for n, kind in enumerate(kinds)]
    count = round(len(gpus) * draw.uniform(*MODELS_OF_GPU))
    popular = np.arange(1, count + 1) ** -EVENNESS
    rates = draw.permutation(popular / popular.sum() * count * RATE)
    models = [_model(draw, number, float(rate)) for number, rate in enumerate(rates)]
    return Problem(tuple(gpus), tuple(models), objective="latency")


def _model(draw: RandomState, number: int, rate: float) -> Model:
    served = SERVED[draw.randint(len(SERVED))]
    prompt, output = int(draw.randint(*PROMPTS)), int(draw.randint(*OUTPUTS))
    target = served.speeds["H100"].step_ms * draw.uniform(*TIME)
    context = prompt + output / 2
    engines = {
        kind: EngineSpeed(
            step=_seconds(speed.step_ms),
            step_per_request=_seconds(speed.token_us * context / 1000),
            prefill=_seconds(max(served.host_ms, speed.prompt_us * prompt / 1000)),
            prefill_work=_seconds(speed.prompt_us * prompt / 1000),
            layers=served.layers,
        )
        for kind, speed in served.speeds.items()
    }
    requests = Requests(
        rate=round(rate, 3),
        output_tokens=output,
        engines=tuple(engines.items()),
        tpot_slo=_seconds(target),
        binding=False,
        prompt_tokens=prompt,
    )
    return Model(f"model-{number}", served.size_gb, load=0.0, requests=requests)


def _seconds(milliseconds: float) -> float:
    return round(milliseconds / 1000, DIGITS)
