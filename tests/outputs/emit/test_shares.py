import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.outputs.emit.engines.launch import launches_of
from colocate.outputs.emit.settings import EmitSettings
from tests.outputs.emit.plans import plan_of


def launches(gpus, models, placement):
    plan, fleet = plan_of(json.dumps({"gpus": gpus, "models": models}), placement)
    return launches_of(plan, fleet, EmitSettings(), 8000).launches, plan, fleet


def model(name, size, load, **fields):
    return {"name": name, "size_gb": size, "load": load, **fields}


def test_free_memory_is_split_by_load_after_a_floor():
    gpus = [{"name": "g", "memory_gb": 100, "reserve_gb": 10}]
    models = [model("hot", 20, 3), model("warm", 20, 1), model("idle", 10, 0)]
    found, *_ = launches(gpus, models, {"hot": ["g"], "warm": ["g"], "idle": ["g"]})
    assert [launch.share.cache_gb for launch in found] == pytest.approx([28.75, 10.25, 1])
    assert [launch.share.utilization for launch in found] == [0.4875, 0.3025, 0.11]
    assert found[0].share.cache_bytes == 28_750_000_000


def test_a_little_stays_free_where_no_reserve_is_stated():
    found, *_ = launches([{"name": "g", "memory_gb": 80}], [model("m", 20, 1)], {"m": ["g"]})
    assert found[0].share.cache_gb == pytest.approx(56)
    assert found[0].share.utilization == 0.95


def test_models_without_load_share_equally():
    gpus = [{"name": "g", "memory_gb": 50, "reserve_gb": 10}]
    models = [model("a", 10, 0), model("b", 20, 0)]
    found, *_ = launches(gpus, models, {"a": ["g"], "b": ["g"]})
    assert [launch.share.cache_gb for launch in found] == pytest.approx([5, 5])


def test_shards_have_as_much_as_the_one_with_the_least():
    gpus = [{"name": "g", "memory_gb": 50, "count": 2, "reserve_gb": 10}]
    models = [model("big", 40, 2, shards=2), model("small", 10, 1)]
    found, *_ = launches(gpus, models, {"big": ["g-0", "g-1"], "small": ["g-1"]})
    # On g-1, 10 GB are free: 0.5 and 1 are the least, and of the 8.5 left each gets a half.
    assert found[0].share.cache_gb == pytest.approx(0.5 + 8.5 / 2)
    assert found[0].share.utilization == 0.495


def test_what_shards_cannot_use_goes_to_their_neighbours():
    gpus = [{"name": "g", "memory_gb": 50, "count": 2, "reserve_gb": 10}]
    models = [model("big", 40, 2, shards=2), model("hog", 18, 1), model("small", 10, 1)]
    found, *_ = launches(gpus, models, {"big": ["g-0", "g-1"], "hog": ["g-0"], "small": ["g-1"]})
    assert [launch.share.cache_gb for launch in found] == pytest.approx([0.75, 1.25, 9.25])


def test_sglang_is_told_a_share_of_what_is_free_when_it_starts():
    gpus = [{"name": "g", "memory_gb": 100, "reserve_gb": 20}]
    models = [model(name, 20, 1, overhead_gb=4) for name in ("first", "second")]
    found, *_ = launches(gpus, models, {"first": ["g"], "second": ["g"]})
    # Each holds 24 GB and 16 GB of cache; 40 less 4 of 100, then 40 less 4 of 60.
    assert [launch.share.static_fraction for launch in found] == [0.36, 0.6]


def test_engines_that_make_fp8_while_loading_are_the_first_on_their_gpu():
    gpus = [{"name": "g", "memory_gb": 200, "reserve_gb": 20}]
    models = [
        model("plain", 20, 1),
        model("small", 10, 1, dtype="fp8"),
        model("large", 30, 1, dtype="fp8"),
        model("kept", 40, 1, dtype="fp8", source="org/kept-FP8"),
    ]
    found, *_ = launches(gpus, models, {m["name"]: ["g"] for m in models})
    assert [launch.port for launch in found] == [8000, 8001, 8002, 8003]
    by_wave = sorted(found, key=lambda launch: launch.wave)
    assert [launch.model for launch in by_wave] == ["large", "small", "plain", "kept"]
    assert [launch.after for launch in by_wave] == [(), ("large",), ("small",), ("plain",)]
    assert by_wave[0].share.free_gb == 200
    held = by_wave[0].share.size_gb + by_wave[0].share.cache_gb
    assert by_wave[1].share.free_gb == pytest.approx(200 - held)


def test_a_floor_is_kept_for_everyone_while_there_is_enough_for_it():
    gpus = [{"name": "g", "memory_gb": 80, "reserve_gb": 10}]
    models = [model("hot", 33.5, 1), model("idle", 34, 0)]
    found, *_ = launches(gpus, models, {"hot": ["g"], "idle": ["g"]})
    assert [launch.share.cache_gb for launch in found] == pytest.approx([1.5, 1])


def test_a_model_without_a_cache_gets_none():
    gpus = [{"name": "g", "memory_gb": 50, "reserve_gb": 10}]
    models = [model("chat", 10, 1), {**model("encoder", 2, 0), "kv_bytes_per_token": 0}]
    found, *_ = launches(gpus, models, {"chat": ["g"], "encoder": ["g"]})
    assert [launch.share.cache_gb for launch in found] == pytest.approx([28, 0])


@st.composite
def fleets(draw):
    """Return GPUs of one node, models that fit, and where they are."""
    gpus = [
        {
            "name": f"g{number}",
            "node": "n",
            "memory_gb": draw(st.floats(20, 200)),
            "reserve_gb": draw(st.floats(0, 10)),
        }
        for number in range(draw(st.integers(1, 4)))
    ]
    count = draw(st.integers(1, 6))
    room = min(gpu["memory_gb"] - gpu["reserve_gb"] for gpu in gpus) / (count + 1) - 1
    models, placement = [], {}
    for number in range(count):
        shards = draw(st.integers(1, len(gpus)))
        replicas = draw(st.integers(1, len(gpus) // shards))
        size = draw(st.floats(0, room)) * shards
        load = draw(
            st.just(0.0) | st.floats(0, 1e6) | st.lists(st.floats(0, 9), min_size=2, max_size=2)
        )
        fields = {"shards": shards, "replicas": replicas}
        overhead = draw(st.just(0.0) | st.floats(0, room / 4))
        fields["overhead_gb"] = min(overhead, size / shards)
        models.append(model(f"m{number}", size - fields["overhead_gb"] * shards, load, **fields))
        names = draw(st.permutations([gpu["name"] for gpu in gpus]))
        placement[f"m{number}"] = list(names[: shards * replicas])
    return gpus, models, placement


@given(fleets())
def test_shares_never_add_up_to_more_than_a_gpu(case):
    found, plan, fleet = launches(*case)
    usable = {gpu.name: gpu.memory_gb for gpu in plan.problem.gpus}
    slack = 1 + 1e-9
    for name, device in fleet.devices.items():
        here = [launch.share for launch in found if name in launch.gpus]
        most = usable[name] / device.memory_gb
        assert sum(share.size_gb + share.cache_gb for share in here) <= usable[name] * slack
        assert (
            sum(share.size_gb + share.cache_bytes / 1e9 for share in here) <= usable[name] * slack
        )
        assert sum(share.utilization for share in here) <= most * slack
        assert sum(share.gpu_fraction for share in here) <= 1 * slack
    for launch in found:
        assert 0 < launch.share.utilization <= 1
        assert 0 < launch.share.static_fraction <= 1
        assert launch.share.cache_gb >= 1 / launch.spec.shards * (1 - 1e-9)


@given(fleets())
def test_sglang_engines_fit_one_after_the_other(case):
    found, _, fleet = launches(*case)
    free = {name: device.memory_gb for name, device in fleet.devices.items()}
    for launch in sorted(found, key=lambda launch: launch.wave):
        static = launch.share.static_fraction * min(free[gpu] for gpu in launch.gpus)
        overhead = launch.spec.overhead_gb or 0.0
        assert static + overhead <= (launch.share.size_gb + launch.share.cache_gb) * (1 + 1e-9)
        for gpu in launch.gpus:
            free[gpu] -= launch.share.size_gb + launch.share.cache_gb


@given(fleets())
def test_engines_of_a_wave_share_no_gpu_and_come_after_their_neighbours(case):
    found, *_ = launches(*case)
    by_name = {launch.name: launch for launch in found}
    for launch in found:
        assert all(by_name[name].wave < launch.wave for name in launch.after)
        for other in found:
            if other is not launch and set(other.gpus) & set(launch.gpus):
                assert other.wave != launch.wave


def test_rounding_leaves_an_engine_its_least_cache():
    """Of a small model, a megabyte is more than the block that its least cache has to spare."""
    gpus = [{"name": "g", "memory_gb": 80}]
    small = model("small", 2, 0, kv_bytes_per_token=12_288, max_model_len=32_768)
    found, *_ = launches(gpus, [small, model("hot", 20, 3)], {"small": ["g"], "hot": ["g"]})
    assert found[0].share.cache_bytes >= 12_288 * (32_768 + 16)


def test_kvcached_may_fill_what_the_plan_counts_on():
    gpus = [{"name": "g", "memory_gb": 80, "reserve_gb": 4.5}]
    found, *_ = launches(gpus, [model("m", 20, 1)], {"m": ["g"]})
    assert found[0].kvcached_utilization == pytest.approx(75.5 / 80, abs=1e-4)
