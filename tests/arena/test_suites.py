import numpy as np
import pytest

from colocate import STRATEGIES, Problem, UnknownNameError, load_suite, place
from colocate.arena.suites import SUITES

DIGESTS = {
    "adrs": "8e32a6f5dd69bfb2",
    "idle": "cefb8f7cfe2d7d55",
    "tight": "eb35934d74004538",
    "mixed": "0f327bf675992f56",
    "longtail": "5b99298cfe6c2854",
    "scale": "6f64b0a272381728",
    "chatlmsys": "e35e242290e43dbb",
    "prism24": "c6c03b0380a33ab8",
    "families": "11ef3b8177604bb6",
}


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_always_the_same(name):
    suite = load_suite(name)
    assert suite.digest == DIGESTS[name]
    assert len({case.problem.digest for case in suite.cases}) == len(suite.cases)
    assert len({case.name for case in suite.cases}) == len(suite.cases)


def test_adrs_is_drawn_as_the_public_benchmark_draws_it():
    np.random.seed(42)
    for case in load_suite("adrs").cases:
        gpus = np.random.randint(5, 10)
        assert [gpu.memory_gb for gpu in case.problem.gpus] == [80] * gpus
        for model in case.problem.models:
            size, rate, slo = (np.random.randint(*r) for r in ((10, 30), (1, 10), (5, 10)))
            assert (model.size_gb, model.rate, model.slo) == (size, rate, slo)
            assert model.load == (rate / slo,)
        assert len(case.problem.models) == 2 * gpus


def fill(problem: Problem) -> float:
    return sum(m.size_gb for m in problem.models) / sum(g.memory_gb for g in problem.gpus)


def test_suites_are_what_they_say():
    for case in load_suite("idle").cases:
        idle = [model for model in case.problem.models if model.load == (0.0,)]
        assert len(idle) == len(case.problem.models) // 3
    for case in load_suite("tight").cases:
        assert 0.85 <= round(fill(case.problem), 2) <= 0.95
    for case in load_suite("mixed").cases:
        assert {gpu.memory_gb for gpu in case.problem.gpus} == {24, 48, 80, 141}
    for case in load_suite("longtail").cases:
        loads = sorted((model.load[0] for model in case.problem.models), reverse=True)
        assert loads == pytest.approx([6 / rank for rank in range(1, len(loads) + 1)])
        assert max(model.size_gb for model in case.problem.models) <= 80
    shapes = [
        (len(case.problem.gpus), len(case.problem.models) / len(case.problem.gpus))
        for case in load_suite("scale").cases
    ]
    assert shapes == [(g, m) for g in (8, 64, 512, 4096) for m in (2, 3, 4, 8)]


def test_an_unknown_suite_is_refused():
    with pytest.raises(UnknownNameError, match="suite='adr' is not known, did you mean 'adrs'"):
        load_suite("adr")


@pytest.mark.parametrize("name", ["idle", "tight", "mixed", "longtail", "prism24"])
def test_every_strategy_places_every_model_of_every_suite(name):
    for case in load_suite(name).cases[::5]:
        for strategy in STRATEGIES:
            plan = place(case.problem, strategy)
            assert len(plan.placement) == len(case.problem.models), (case.name, strategy)
