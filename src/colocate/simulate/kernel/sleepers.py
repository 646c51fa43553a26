"""Engines of models that sleep, and how fast those that may sleep are wherever they may be."""

from collections.abc import Sequence

import numpy as np

from colocate.latency.table import engine_row
from colocate.problem.instance import Floats
from colocate.problem.parts import Part, Places
from colocate.problem.problem import Problem
from colocate.simulate.kernel.state import LAYERS, MEAN_PROMPT


def sleeping_engines(problem: Problem, placement: Places) -> list[list[Part]]:
    """Return an engine for every model without a GPU that can be woken on one.

    It stands on the first GPU until it is woken.
    """
    return [
        [Part(number, model.part(1), 0, 1, 0, 1, problem.gpus[0].name)]
        for number, model in enumerate(problem.models)
        if not placement.get(model.name, ()) and model.shards == 1
    ]


def speeds_elsewhere(problem: Problem, replicas: Sequence[Sequence[Part]], wakes: bool) -> Floats:
    """Return how fast every engine of one part is on all GPUs; no layers where it may not be.

    Parameters
    ----------
    problem
        What is simulated.
    replicas
        The parts of every engine.
    wakes
        Whether engines are woken at all.
    """
    found = np.zeros((len(replicas), len(problem.gpus) if wakes else 0, MEAN_PROMPT))
    for row, parts in enumerate(replicas if wakes else ()):
        requests, model = parts[0].model.requests, problem.models[parts[0].number]
        for place, gpu in enumerate(problem.gpus):
            speed = requests.engine_on(gpu.kind) if requests else None
            if requests and speed and len(parts) == 1 and model.may_be_on(gpu):
                found[row, place] = engine_row(requests, speed)[2 : 2 + MEAN_PROMPT]
                found[row, place, LAYERS] = speed.layers
    return found
