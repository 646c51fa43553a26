"""Random small problems, and the truth about them by trying every assignment."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import inf

import pytest
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, Status, solve, verify
from colocate.solver.check import check_plan

MEMORIES = st.sampled_from([24, 48, 80, 141, 10, 20.5])
SIZES = st.one_of(
    st.integers(0, 45), st.sampled_from([80, 40, 24, 12, 0.1, 26.7, 26.6]), st.just(1.5)
)
RATES = st.one_of(st.just(0), st.integers(0, 9), st.sampled_from([0.3, 1e-6, 250.0]))
SLOS = st.sampled_from([1, 3, 5, 7, 9, 0.5])


@st.composite
def problems(draw, max_gpus=4, max_models=7, max_windows=1, limited=False):
    windows = draw(st.integers(1, max_windows))
    gpus = []
    for n in range(draw(st.integers(1, max_gpus))):
        limits = {"compute": draw(st.sampled_from([1, 2, 5]))} if limited else {}
        gpus.append(Gpu(f"g{n}", draw(MEMORIES), draw(st.sampled_from("AB")), limits))
    models = []
    for n in range(draw(st.integers(1, max_models))):
        size = draw(SIZES)
        amounts = st.sampled_from([0, 0.3, 1])
        uses = {"compute": {"A": draw(amounts), "B": draw(amounts)}} if limited else {}
        if windows == 1:
            models.append(Model(f"m{n}", size, draw(RATES), draw(SLOS), uses=uses))
        else:
            load = [draw(RATES) / draw(SLOS) for _ in range(windows)]
            models.append(Model(f"m{n}", size, load=load, uses=uses))
    return Problem(gpus, models)


def optimum(problem):
    """Return the lowest possible peak pressure, None if nothing fits, by exact enumeration."""
    best = None
    gpus, models = problem.gpus, problem.models
    windows = range(problem.windows)
    sizes = [Fraction(m.size_gb) for m in models]
    loads = [[Fraction(m.load[t if len(m.load) > 1 else 0]) for t in windows] for m in models]
    for assignment in product(range(len(gpus)), repeat=len(models)):
        value = Fraction(0)
        for g, gpu in enumerate(gpus):
            on = [i for i, where in enumerate(assignment) if where == g]
            free = Fraction(gpu.memory_gb) - sum(sizes[i] for i in on)
            margin = Fraction(gpu.memory_gb) / 10**11
            load = max(sum(loads[i][t] for i in on) for t in windows)
            if free < -margin or not within_limits(gpu, [models[i] for i in on]):
                value = None
                break
            if load > 0:
                value = max(value, inf if free <= margin else load / free)
        if value is not None and (best is None or value < best):
            best = value
    return best


def within_limits(gpu, models):
    """Whether the models respect the further limits of a GPU."""
    return all(
        sum(Fraction(str(dict(dict(m.uses)[resource])[gpu.kind])) for m in models) <= limit
        for resource, limit in gpu.limits
    )


def renamed(problem):
    """Return the same problem with other names for the models."""
    count = len(problem.models)
    models = [replace(m, name=f"z{count - n}") for n, m in enumerate(problem.models)]
    return Problem(problem.gpus, models)


def in_units(problem, size_factor, load_factor):
    """Return the same problem with sizes and loads in other units."""
    gpus = [Gpu(g.name, g.memory_gb * size_factor, g.kind) for g in problem.gpus]
    models = [
        Model(m.name, m.size_gb * size_factor, load=[w * load_factor for w in m.load])
        for m in problem.models
    ]
    return Problem(gpus, models)


def lowest_pressure(problem):
    """The lowest pressure over all numbers of replicas and all places; None if nothing fits."""
    names = [gpu.name for gpu in problem.gpus]
    options = []
    for model in problem.models:
        counts = range(model.replicas, model.most_replicas + 1)
        sizes = [count * model.shards for count in counts if count * model.shards <= len(names)]
        options.append([places for size in sizes for places in permutations(names, size)])
    verdicts = (
        verify(problem, dict(zip((m.name for m in problem.models), places, strict=True)))
        for places in product(*options)
    )
    return min((verdict.pressure for verdict in verdicts if verdict.valid), default=None)


def assert_solved(problem, best, time_limit, reprove=None):
    """Solve a problem whose lowest pressure is known, and return the plan: found and proven."""
    plan = solve(problem, time_limit=time_limit, workers=1)
    if best is None:
        assert plan.status is Status.INFEASIBLE
        return plan
    assert plan.placement, plan.reason
    assert verify(problem, plan.placement).pressure == plan.pressure
    if best < inf:
        assert plan.pressure == pytest.approx(best, rel=1e-8)
        assert plan.bound <= best
        assert plan.status is Status.OPTIMAL
        assert check_plan(problem, plan.as_dict(), reprove).faults == []
    return plan
