"""The fleets of the study: random ones of models that people serve, and the published ones.

Every random fleet has a number, which decides all of it. Four regimes take turns:

- `short`: short prompts and answers, and room for cache. Compute is what runs out.
- `mixed`: anything between.
- `long`: long prompts, and weights that leave little memory.
- `full`: the same with hardly any memory left, and users who wait long for tokens. Cache is what
  runs out.

Rates follow Zipf's law. Their level is stated as a share of the highest at which some placement of
a sample is predicted to keep all targets: from light to beyond saturation. Half of the fleets of
every regime share GPUs by time slices, half by MPS.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.study_placements import all_placements, free_of, random_placements, worst_ratio

from colocate import load_suite
from colocate.inputs.compute import busy_shares
from colocate.inputs.fleet import Fleet, fleet_of, read_fleet
from colocate.inputs.model_catalogue import model_catalogue
from colocate.problem.problem import Problem

EXAMPLES = Path(__file__).parents[1] / "examples"
RANDOM_FLEETS = 240
REGIMES = ("short", "mixed", "long", "full")
LEVELS = (0.4, 0.7, 0.9, 1.1, 1.4)
"""Shares of the highest rate at which all targets hold."""
SHARINGS = ("slices", "mps")
FEWEST = 8
"""Placements that a random fleet must have, so that there is a choice."""
KINDS = ("H100-80GB", "A100-80GB", "L40S")
MODELS, GPUS = (5, 8), (2, 4)
"""The fewest and the most."""
FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "phi3", "gemma2")
LEFT_OUT = ("Embedding", "Reranker", "Guard", "VL", "embed", "e5-", "AWQ", "GPTQ", "FP8", "w4a16")
"""Parts of names of models that do not answer in text, or of formats of their own."""
LARGEST = 15e9
"""Parameters: with more than that, few models would fit on a card beside others."""
PROMPTS = {"short": (100, 800), "mixed": (100, 2000), "long": (1500, 8000), "full": (1500, 8000)}
OUTPUTS = {"short": (50, 300), "mixed": (50, 600), "long": (200, 1000), "full": (200, 1000)}
"""Mean tokens, drawn evenly on a logarithmic scale."""
FULL = {"short": (0.3, 0.6), "mixed": (0.4, 0.8), "long": (0.7, 0.9), "full": (0.75, 0.92)}
"""The share of all memory that weights and engines take."""
QUICK = (0.05, 0.08, 0.12)
TPOT = {"short": QUICK, "mixed": QUICK, "long": (0.1, 0.2), "full": (1.0,)}
SOON = (0.5, 1.0, 2.0)
TTFT = {"short": SOON, "mixed": SOON, "long": (2.0, 5.0), "full": (5.0, 10.0)}
"""Seconds that users are promised: with long prompts, they are patient."""
LEAST = {"short": (3.0, 4.0), "mixed": (3.0, 4.0), "long": (5.0, 6.0), "full": (5.0, 6.0)}
"""Targets for tokens and for the first one are at least so many times what the model takes alone on
the slowest of the GPUs."""
ZIPF = (0.4, 1.4)
"""Exponents, from nearly even to steep."""
TRIED = 24
"""Placements of which one has to keep all targets at the highest rate."""
HALVINGS = 14
"""Of the interval for that rate, which is then known to a thousandth."""
PUBLISHED_TTFT = 2.0
"""Seconds to the first token, which the published fleets do not limit."""
MUXSERVE_LEVELS = (1.0, 1.6, 2.4, 3.2, 4.0)
"""Times the rates of `examples/chatlmsys.yaml`: its trace at five factors of condensing."""
PRISM_LEVEL = 0.9
"""The level of `prism24` besides its published rates, which are light."""


@dataclass(frozen=True)
class StudyFleet:
    """A fleet with the busy shares of its models.

    Parameters
    ----------
    name, regime
        What it is called, and the sort of fleet that it is.
    level
        Of its rates.
    problem
        Nothing in it forbids a placement that breaks a target.
    busy
        The estimated share of time of each model on each kind of GPU, all shards together.
    """

    name: str
    regime: str
    level: float
    problem: Problem
    busy: dict[str, dict[str, float]]


def random_fleet(number: int) -> StudyFleet:
    """Return one of the random fleets."""
    rng = np.random.default_rng([14, number])
    regime = REGIMES[number % 4]
    sharing = SHARINGS[number // 4 % 2]
    level = LEVELS[number // 8 % 5]
    data = _fitting(rng, regime, sharing)
    return _at_level(f"random-{number:03}", regime, data, level, rng)


def published_fleets() -> Iterator[StudyFleet]:
    """Yield MuxServe's fleet at five levels, and Prism's at its own rates and near saturation."""
    muxserve = read_fleet(EXAMPLES / "chatlmsys.yaml").as_dict()
    for level in MUXSERVE_LEVELS:
        for sharing in SHARINGS:
            name = f"chatlmsys-{level}-{sharing}"
            yield _made(name, "chatlmsys", level, _scaled({**muxserve, "sharing": sharing}, level))
    for number, case in enumerate(load_suite("prism24").cases):
        data = {**_prism(case.problem), "sharing": SHARINGS[number % 2]}
        yield _made(case.name, "prism24", 0.0, data)
        rng = np.random.default_rng([24, number])
        yield _at_level(f"{case.name}-near", "prism24", data, PRISM_LEVEL, rng)


def _candidates() -> list[str]:
    """Return the models of the catalogue that random fleets have."""
    return sorted(
        name
        for name, model in model_catalogue().items()
        if model.parameters <= LARGEST
        and model.config.get("model_type") in FAMILIES
        and "quantization_config" not in model.config
        and not any(part in name for part in LEFT_OUT)
    )


def _fitting(rng: np.random.Generator, regime: str, sharing: str) -> dict[str, Any]:
    """Draw fleets until one takes its share of memory, and has room for every model."""
    while True:
        data = _drawn(rng, regime, sharing)
        problem = fleet_of(data).problem
        memory = sum(gpu.memory_gb for gpu in problem.gpus)
        share = sum(model.size_gb for model in problem.models) / memory
        if FULL[regime][0] <= share <= FULL[regime][1] and len(all_placements(problem)) >= FEWEST:
            return _with_fair_targets(data, problem, LEAST[regime])


def _drawn(rng: np.random.Generator, regime: str, sharing: str) -> dict[str, Any]:
    count = int(rng.integers(GPUS[0], GPUS[1] + 1))
    first, second = rng.choice(KINDS, 2)
    others = int(rng.integers(1, count)) if rng.random() < 0.4 and first != second else 0
    gpus = [{"kind": str(first), "count": count - others, "name": "a"}]
    gpus += [{"kind": str(second), "count": others, "name": "b"}] if others else []
    names = rng.choice(_candidates(), int(rng.integers(MODELS[0], MODELS[1] + 1)), replace=False)
    shares = 1.0 / (1.0 + rng.permutation(len(names))) ** rng.uniform(*ZIPF)
    models = [
        {
            "name": str(name),
            "config": str(name),
            "dtype": "bf16",
            "rate": float(share / shares.sum()),
            "tpot_slo": float(rng.choice(TPOT[regime])),
            "ttft_slo": float(rng.choice(TTFT[regime])),
            **_lengths(rng, regime, str(name)),
        }
        for name, share in zip(names, shares, strict=True)
    ]
    return {"load": "tokens", "sharing": sharing, "gpus": gpus, "models": models}


def _lengths(rng: np.random.Generator, regime: str, name: str) -> dict[str, int]:
    """Draw mean lengths that are well within what the model can read."""
    longest = model_catalogue()[name].config.get("max_position_embeddings", 4096)
    prompt, output = (
        int(np.exp(rng.uniform(*np.log(within[regime])))) for within in (PROMPTS, OUTPUTS)
    )
    return {"prompt_tokens": min(prompt, longest // 3), "output_tokens": min(output, longest // 8)}


def _with_fair_targets(
    data: dict[str, Any], problem: Problem, least: tuple[float, float]
) -> dict[str, Any]:
    """Raise targets to some times what the model takes alone, where they are below that."""
    models = []
    for stated, model in zip(data["models"], problem.models, strict=True):
        assert model.requests is not None, "lengths and kinds are known"
        speeds = [speed for _, speed in model.requests.engines]
        tpot = least[0] * max(speed.step for speed in speeds)
        ttft = least[1] * max(speed.prefill for speed in speeds)
        fair = {
            "tpot_slo": round(max(stated["tpot_slo"], tpot), 3),
            "ttft_slo": round(max(stated["ttft_slo"], ttft), 2),
        }
        models.append({**stated, **fair})
    return {**data, "models": models}


def _prism(case: Problem) -> dict[str, Any]:
    """Return the example's fleet with the GPUs and tokens of a case of the suite."""
    data = read_fleet(EXAMPLES / "prism24.yaml").as_dict()
    tokens = {model.name: max(model.load) for model in case.models}
    models = [
        {
            **model,
            "tokens_per_second": tokens[model["name"]]
            * 1e9
            * model["tpot_slo"]
            / model["kv_bytes_per_token"],
        }
        for model in data["models"]
    ]
    return {**data, "gpus": [{**data["gpus"][0], "count": len(case.gpus)}], "models": models}


def _at_level(
    name: str, regime: str, data: dict[str, Any], level: float, rng: np.random.Generator
) -> StudyFleet:
    """Return a fleet at a share of the highest rates that are predicted to keep all targets.

    Parameters
    ----------
    name, regime, level
        As for `StudyFleet`.
    data
        The fleet file; only the proportions of its rates count.
    rng
        Draws the placements that are tried.
    """
    tried = random_placements(_made(name, regime, level, data).problem, TRIED, rng)

    def keeps_targets(factor: float) -> bool:
        problem = _made(name, regime, level, _scaled(data, factor)).problem
        return any(worst_ratio(problem, placement) <= 1.0 for placement in tried)

    low, high = 1e-3, 1e-2
    while keeps_targets(high):
        low, high = high, 4.0 * high
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if keeps_targets(middle) else (low, middle)
    return _made(name, regime, level, _scaled(data, low * level))


def _scaled(data: dict[str, Any], factor: float) -> dict[str, Any]:
    rates = ("rate", "tokens_per_second")
    models = [
        {**model, **{field: factor * model[field] for field in rates if field in model}}
        for model in data["models"]
    ]
    return {**data, "models": models}


def _made(name: str, regime: str, level: float, data: dict[str, Any]) -> StudyFleet:
    fleet: Fleet = fleet_of(data)
    kinds = {gpu.kind for gpu in fleet.problem.gpus}
    busy = {
        model.name: {kind: sum(share) for kind, share in busy_shares(model, kinds).items()}
        for model in fleet.spec.models
    }
    problem = free_of(fleet.problem)
    models = tuple(
        model.changed(requests=replace(model.requests, ttft_slo=PUBLISHED_TTFT))
        if model.requests is not None and model.requests.ttft_slo == inf
        else model
        for model in problem.models
    )
    return StudyFleet(name, regime, level, replace(problem, models=models), busy)
