"""The hidden cases of a suite: like its own, but from another seed, shuffled and renamed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, takewhile

from numpy.random import default_rng

from colocate.arena.suites import Case, Suite, unseen_problems
from colocate.problem.gpu import Gpu
from colocate.problem.model import Model
from colocate.problem.problem import Problem

HIDDEN = "-hidden"
"""Suffix of a suite's name for its hidden cases."""
HIDDEN_SEED = 20_260
"""A seed that no suite uses."""
HIDDEN_CASES = 25
"""Half as many as in a suite: enough to see what a program learned by heart."""
MOST_HIDDEN_MODELS = 100
"""Hidden cases end before the first one with more models: programs take long on those."""


def hidden_suite(suite: str, seed: int = HIDDEN_SEED) -> Suite:
    """Return problems like a suite's, from another seed, with shuffled order and names."""
    rng = default_rng(seed)
    problems = takewhile(
        lambda problem: len(problem.models) <= MOST_HIDDEN_MODELS,
        unseen_problems(suite, seed),
    )
    cases = []
    for number, problem in enumerate(islice(problems, HIDDEN_CASES)):
        count = len(problem.models)
        order = rng.permutation(count).tolist()
        names = [f"model_{place}" for place in rng.permutation(count).tolist()]
        models = [problem.models[place] for place in order]
        cases.append(Case(f"hidden-{number:02d}", _renamed(problem.gpus, models, names)))
    return Suite(f"{suite}{HIDDEN}", f"never seen, like {suite}", tuple(cases))


def renamed(problem: Problem, names: Sequence[str]) -> Problem:
    """Return a problem with other names of its models, in order."""
    return _renamed(problem.gpus, problem.models, names)


def _renamed(gpus: Sequence[Gpu], models: Sequence[Model], names: Sequence[str]) -> Problem:
    pairs = zip(models, names, strict=True)
    return Problem(tuple(gpus), tuple(replace(model, name=name) for model, name in pairs))
