"""Twenty conditions of fleets whose demand moves, or does not.

Three fleets of models that people serve, each with a curve of rates for every model and a seed. A
level says how many times the rates below a fleet is asked on average: at 1, a plan that is made for
the mean of a steady demand just keeps nearly all targets.
"""

from dataclasses import dataclass, replace
from typing import Any

from colocate.inputs.fleet import fleet_of
from colocate.problem.problem import Problem
from colocate.simulate.demand.kinds import BurstDemand, Demand
from colocate.simulate.demand.moving import MovingDemand
from colocate.simulate.demand.patterns import burst_groups, day_and_night, drifting, hot_sets
from colocate.solver.targets import without_targets

SECONDS = 5400.0
"""Of each condition, unless somebody asks for more."""
MOST_REPLICAS = 3
"""Of each model."""
FLEETS: dict[str, dict[str, Any]] = {
    "chat": {
        "gpus": {"kind": "H100-80GB", "name": "h100", "count": 4},
        "rate": 2.6,
        "models": (
            ("Llama-3.1-8B-Instruct", 700, 220),
            ("Qwen2.5-7B-Instruct", 800, 200),
            ("Mistral-7B-Instruct-v0.3", 600, 250),
            ("gemma-2-9b-it", 400, 250),
            ("Qwen2.5-14B-Instruct", 700, 250),
            ("Qwen2.5-Coder-14B-Instruct", 900, 200),
            ("Mistral-Nemo-Instruct-2407", 800, 200),
            ("Qwen2.5-Coder-7B-Instruct", 900, 150),
        ),
    },
    "small": {
        "gpus": {"kind": "L40S", "name": "l40s", "count": 4},
        "rate": 2.0,
        "models": (
            ("Llama-3.1-8B-Instruct", 500, 150),
            ("Qwen2.5-7B-Instruct", 500, 150),
            ("Qwen2.5-Coder-7B-Instruct", 600, 120),
            ("Mistral-7B-Instruct-v0.3", 400, 150),
            ("Llama-3.2-3B-Instruct", 400, 150),
            ("Phi-4-mini-instruct", 600, 120),
        ),
    },
    "wide": {
        "gpus": {"kind": "H100-80GB", "name": "h100", "count": 6},
        "rate": 2.6,
        "models": (
            ("Llama-3.1-8B-Instruct", 700, 220),
            ("Qwen2.5-7B-Instruct", 800, 200),
            ("Mistral-7B-Instruct-v0.3", 600, 250),
            ("gemma-2-9b-it", 400, 250),
            ("Qwen2.5-14B-Instruct", 700, 250),
            ("Qwen2.5-Coder-14B-Instruct", 900, 200),
            ("Mistral-Nemo-Instruct-2407", 800, 200),
            ("Qwen2.5-Coder-7B-Instruct", 900, 150),
            ("Llama-3.2-3B-Instruct", 500, 180),
            ("Phi-4-mini-instruct", 900, 150),
        ),
    },
}
"""GPUs, requests a second to each model, and models with mean tokens of prompts and outputs."""
TPOT, TTFT = 0.06, 1.5
"""Seconds that users are promised."""


@dataclass(frozen=True)
class Condition:
    """A fleet and the demand for it."""

    name: str
    kind: str
    fleet: str
    level: float
    pattern: dict[str, Any]
    seed: int = 1
    seconds: float = SECONDS
    """For how long requests come."""

    @property
    def problem(self) -> Problem:
        """The fleet at its level; nothing in it forbids a placement that breaks a target."""
        stated = FLEETS[self.fleet]
        models = [
            {
                "name": config,
                "config": config,
                "dtype": "bf16",
                "rate": stated["rate"] * self.level,
                "prompt_tokens": prompt,
                "output_tokens": output,
                "tpot_slo": TPOT,
                "ttft_slo": TTFT,
            }
            for config, prompt, output in stated["models"]
        ]
        data = {"load": "tokens", "gpus": [stated["gpus"]], "models": models}
        problem = without_targets(fleet_of({**data, "objective": "latency"}).problem)
        free = tuple(model.changed(most_replicas=MOST_REPLICAS) for model in problem.models)
        return replace(problem, models=free)

    @property
    def demand(self) -> Demand:
        """Who asks what, and when."""
        names = [model.name for model in self.problem.models]
        if self.kind == "steady":
            return MovingDemand()
        if self.kind == "bursts":
            return BurstDemand(**self.pattern)
        made = {
            "burst groups": lambda: burst_groups(
                names, self.seconds, seed=self.seed, **self.pattern
            ),
            "drift": lambda: drifting(names, self.seconds, **self.pattern),
            "day and night": lambda: day_and_night(names, **self.pattern),
            "hot set": lambda: hot_sets(names, self.seconds, seed=self.seed, **self.pattern),
        }
        return MovingDemand(curves=made[self.kind]())


def _rows() -> list[tuple[str, str, float, dict[str, Any]]]:
    return [
        ("steady", "chat", 0.8, {}),
        ("steady", "chat", 1.1, {}),
        ("steady", "wide", 1.0, {}),
        ("bursts", "chat", 0.9, {"variation": 2.0}),
        ("bursts", "small", 0.9, {"variation": 3.0}),
        ("bursts", "wide", 0.9, {"variation": 4.0}),
        ("burst groups", "chat", 0.8, {"length": 60.0, "times": 4.0, "groups": 2}),
        ("burst groups", "small", 0.9, {"length": 120.0, "times": 3.0, "groups": 3}),
        ("burst groups", "wide", 0.8, {"length": 90.0, "times": 4.0, "groups": 4}),
        ("drift", "chat", 0.9, {"times": 3.0}),
        ("drift", "chat", 1.0, {"times": 8.0}),
        ("drift", "small", 1.0, {"times": 5.0}),
        ("day and night", "chat", 0.9, {"seconds": 5400.0, "peak": 1.6}),
        ("day and night", "chat", 1.0, {"seconds": 2700.0, "peak": 1.9}),
        ("day and night", "wide", 1.0, {"seconds": 5400.0, "peak": 1.9, "groups": 3}),
        ("hot set", "chat", 0.9, {"period": 1800.0, "times": 6.0, "hot": 2}),
        ("hot set", "chat", 1.0, {"period": 1800.0, "times": 8.0, "hot": 1}),
        ("hot set", "small", 1.0, {"period": 1800.0, "times": 6.0, "hot": 1}),
        ("hot set", "wide", 1.0, {"period": 1800.0, "times": 8.0, "hot": 2}),
        ("hot set", "wide", 0.9, {"period": 2700.0, "times": 8.0, "hot": 3}),
    ]


def conditions() -> list[Condition]:
    """Return the twenty conditions."""
    return [
        Condition(f"{kind} {number}", kind, fleet, level, pattern, number)
        for number, (kind, fleet, level, pattern) in enumerate(_rows(), 1)
    ]
