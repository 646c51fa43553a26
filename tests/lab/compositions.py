"""Compositions to try, programs made of them, and what these say."""

from types import SimpleNamespace

import numpy as np

from colocate import load_suite
from colocate.lab.proposers.composer.grammar import (
    CHOICES,
    EFFORTS,
    IMPROVERS,
    STARTS,
    Composition,
    replaced,
)
from colocate.problem.placement import Placement
from colocate.problem.verify import verify
from colocate.solver.construct.bisection import Bisection
from colocate.solver.construct.greedy import Greedy, Look
from colocate.solver.construct.orders import Order
from colocate.solver.construct.packing import Fit, Packing
from colocate.solver.improve.descent import Descent
from colocate.solver.improve.iterated import Iterated
from colocate.solver.improve.kicks import Kick
from colocate.solver.strategy import Strategy

ADRS = [case.problem for case in load_suite("adrs").cases]
IDLE = [case.problem for case in load_suite("idle").cases]

BY_LOAD = Greedy(Order.LOAD, Look.CURRENT)
BEST_FIT = Bisection((Packing(Fit.BEST, Order.VIRTUAL),), halvings=12)
SIMPLE = Composition((BY_LOAD,))
RICH = Composition(
    (BEST_FIT, BY_LOAD),
    (Iterated(Descent(best=True, smooth=True), Kick.RUIN, steps=25), Descent()),
    (Iterated(kick=Kick.BURST, steps=100),),
    seed=3,
)


def variants(block):
    """Return the block, and with every choice of each of its parameters, one at a time."""
    found = {repr(block): block}
    for field, options in CHOICES[type(block)].items():
        others = (block._replace(**{field: option}) for option in options)
        found |= {repr(other): other for other in others}
    for place, part in enumerate(block):
        if type(part) in CHOICES:
            others = (replaced(block, (place,), other) for other in variants(part))
            found |= {repr(other): other for other in others}
    return list(found.values())


def quick_blocks(kind):
    """Return blocks of a kind with all choices of their parameters, but little effort."""
    block = {Greedy: BY_LOAD, Bisection: BEST_FIT}.get(kind) or kind()
    least = {field: CHOICES[kind][field][0] for field in CHOICES[kind] if field in EFFORTS}
    return variants(block._replace(**least))


def composed(block):
    """Return the block alone, or after a start."""
    assert type(block) in {**STARTS, **IMPROVERS}
    is_start = type(block) in STARTS
    return Composition((block,) if is_start else (BY_LOAD,), () if is_start else (block,), seed=1)


def loaded(source):
    """Return what a program defines."""
    namespace = {"__name__": "program"}
    exec(compile(source, "program", "exec"), namespace)
    return namespace


def program_answer(namespace, problem):
    """Return the index of the GPU of every model, by a program."""
    models = [
        SimpleNamespace(
            model_name=model.name,
            model_size=model.size_gb,
            req_rate=model.rate,
            slo=model.slo,
            cur_gpu_id=None,
        )
        for model in problem.models
    ]
    answer = namespace["compute_model_placement"](len(problem.gpus), models)
    assert list(answer) == list(range(len(problem.gpus)))
    homes = [(model.model_name, gpu) for gpu, on in answer.items() for model in on]
    gpu_of = dict(homes)
    assert len(gpu_of) == len(homes) == len(models)
    return [gpu_of[model.name] for model in problem.models]


def product_answer(composition, problem):
    """Return the same by the product, compiled."""
    strategy = Strategy("", "", composition.starts, composition.each, composition.finish)
    return strategy.run(problem.instance, np.random.default_rng(composition.seed)).tolist()


def pressure_of(problem, gpu_of):
    """Return the peak by the independent checker."""
    verdict = verify(problem, Placement.from_indices(problem, gpu_of))
    assert verdict.valid, verdict.faults
    return verdict.pressure


def public_score(source):
    """Return the score on adrs of a program that does not fail."""
    program = loaded(source)
    return 1 + 1 / np.mean([pressure_of(p, program_answer(program, p)) for p in ADRS])
