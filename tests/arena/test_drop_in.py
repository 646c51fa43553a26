from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from colocate import (
    InfeasibleError,
    InputError,
    NothingFoundError,
    compute_model_placement,
    load_suite,
)


@dataclass(eq=True)
class Unhashable:
    model_name: str
    model_size: int
    req_rate: int
    slo: int
    cur_gpu_id: int = 0


def test_the_same_objects_come_back_with_every_gpu():
    models = [Unhashable("a", 20, 4, 8), Unhashable("b", 20, 4, 8)]
    placement = compute_model_placement(3, iter(models))
    assert list(placement) == [0, 1, 2]
    assert sorted(id(m) for on in placement.values() for m in on) == sorted(map(id, models))


def test_it_reaches_the_optimum_of_the_public_benchmark():
    peaks = []
    for case in load_suite("adrs").cases:
        models = [
            SimpleNamespace(model_size=m.size_gb, req_rate=m.rate, slo=m.slo)
            for m in case.problem.models
        ]
        placement = compute_model_placement(len(case.problem.gpus), models)
        assert sum(len(on) for on in placement.values()) == len(models)
        peaks.append(
            max(
                sum(m.req_rate / m.slo for m in on) / (80 - sum(m.model_size for m in on))
                for on in placement.values()
            )
        )
    assert 1 / (sum(peaks) / 50) + 1 == pytest.approx(26.255972, abs=5e-7)


def test_another_memory_and_no_models():
    big = SimpleNamespace(model_size=90, req_rate=1, slo=1)
    assert compute_model_placement(1, [big], gpu_memory=141) == {0: [big]}
    assert compute_model_placement(2, []) == {0: [], 1: []}


def test_never_a_lost_model():
    big = SimpleNamespace(model_size=90, req_rate=1, slo=1)
    with pytest.raises(InfeasibleError, match="must be at most 80"):
        compute_model_placement(4, [big])
    with pytest.raises(InputError, match="gpu_num=0, must be a whole number, at least 1"):
        compute_model_placement(0, [big])
    hard = [SimpleNamespace(model_size=30 + 0.37 * n, req_rate=1, slo=1) for n in range(60)]
    memory = sum(m.model_size for m in hard) / 20 * 1.0005
    with pytest.raises(NothingFoundError, match="it is not proven that there is none"):
        compute_model_placement(20, hard, gpu_memory=memory)
