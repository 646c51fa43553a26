"""Fleets whose GPUs are all a little unlike: proofs share their tables and keep to the time."""

from math import inf
from random import Random
from time import perf_counter

import numpy as np
import pytest

from colocate import Gpu, Model, Problem
from colocate.problem.checker.latency import group_search
from colocate.problem.checker.latency.companies import choices_of, companies_of
from colocate.problem.requests import EngineSpeed, Requests
from colocate.solver.deadline import Deadline
from colocate.solver.prove.latency import columns, relaxed
from colocate.solver.prove.latency.bounds import latency_bounds
from colocate.solver.prove.latency.columns import GroupColumns
from colocate.solver.prove.latency.knapsacks import GpuKnapsacks
from colocate.solver.prove.latency.relaxed import KnapsackColumns


def unlike_fleet(models, gpus, pinned=0):
    """Models on GPUs of which no two have the same memory, some pinned to one by name."""
    draw = Random(1)
    made = []
    for number in range(models):
        step = draw.choice([1e-3, 3e-3, 7e-3]) * draw.uniform(0.8, 1.2)
        speed = EngineSpeed(step, 0.02 * step, 5.0 * step, step, 32)
        rates = (draw.uniform(0.1, 3.0), draw.uniform(0.1, 3.0))
        asked = Requests(
            max(rates), 128.0, (("A", speed),), 12.0 * step, inf, binding=False, rates=rates
        )
        only = [f"g{number % gpus}"] if number < pinned else ()
        made.append(Model(f"m{number}", draw.choice([2.0, 7.0]), load=1, only=only, requests=asked))
    row = tuple(Gpu(f"g{number}", 80.0 + 0.01 * number, "A") for number in range(gpus))
    return Problem(row, tuple(made), objective="latency")


def companies_at(problem, ratio=0.5):
    choices = choices_of(problem)
    return choices, companies_of(problem, choices, ratio, False, 0)


def test_gpus_that_differ_in_memory_and_pins_share_their_tables():
    problem = unlike_fleet(20, 6, pinned=3)
    _, companies = companies_at(problem)
    assert len(companies) == 6
    assert len({id(company.push) for company in companies}) == 1
    for number, company in enumerate(companies):
        open_here = [n for n in range(20) if n >= 3 or n == number]
        assert company.choice.tolist() == open_here
        assert company.choice.tolist() == company.row.tolist()
        sizes = [problem.models[n].size_gb for n in open_here]
        assert company.demand[:, 0] == pytest.approx(np.array(sizes) / (80.0 + 0.01 * number))


def test_a_proof_by_knapsacks_is_given_up_between_two_kinds_of_gpu(monkeypatch):
    choices, companies = companies_at(unlike_fleet(40, 12))
    begun = []

    class Knapsacks(GpuKnapsacks):
        def heaviest(self, *others):
            begun.append(self)
            return super().heaviest(*others)

    monkeypatch.setattr(relaxed, "GpuKnapsacks", Knapsacks)
    deadline = Deadline(60.0, stop_when=lambda: len(begun) == 3)
    assert KnapsackColumns(choices).prove(companies, deadline) is None
    assert len(begun) == 3


def test_a_proof_by_groups_is_given_up_between_two_kinds_of_gpu(monkeypatch):
    choices, companies = companies_at(unlike_fleet(40, 12))
    deadline, begun = Deadline(60.0), []

    def density_order(*others):
        begun.append(others)
        if len(begun) == 3:
            deadline.stop()
        return group_search.density_order(*others)

    monkeypatch.setattr(columns, "density_order", density_order)
    assert GroupColumns(choices).prove(companies, deadline) is None
    assert len(begun) == 3


@pytest.mark.parametrize("pinned", [0, 100])
def test_proofs_for_unlike_gpus_keep_to_their_time(pinned):
    problem = unlike_fleet(1000, 256, pinned)
    list(latency_bounds(problem, Deadline(0.5), inf))  # compiles what is not compiled
    start = perf_counter()
    assert list(latency_bounds(problem, Deadline(1.0), inf))
    assert perf_counter() - start < 2.5
