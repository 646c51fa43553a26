"""Changes to fleets, and that whatever they claim to bring really fits."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem, verify
from colocate.advise.remedies.diagnosis import EASIEST_FIRST, diagnose
from colocate.advise.remedies.fleet_changes import in_more_shards, options_for, shard_ladder
from colocate.advise.remedies.quantising import configs_in, quantised
from colocate.advise.what_if import ChangeKind
from colocate.inputs.fleet import fleet_of, parse_fleet
from colocate.inputs.huggingface import ConfigLookup
from colocate.inputs.spec import ModelSpec
from colocate.solver.warm_up import warm_up
from tests.campaign import campaign
from tests.inputs.tiny_model import CONFIGS


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    """Diagnoses here are so short that compiling would take all of their time."""
    warm_up(Problem([Gpu("g", 80)], [Model("m", 1, load=1)], most_models=1))


CROWDED = """
gpus:
  - {name: a, kind: A100-80GB, node: alpha, count: 2, reserve_gb: 0}
models:
  - {name: x, size_gb: 41, overhead_gb: 3, rate: 4, slo: 8}
  - {name: y, size_gb: 19, dtype: awq, rate: 18, slo: 6, only: [a-0]}
  - {name: z, size_gb: 19, dtype: fp8, rate: 3, slo: 6, only: [a-0]}
  - {name: w, size_gb: 60, rate: 3, slo: 6}
"""


def found(text, **arguments):
    fleet = parse_fleet(text)
    diagnosis = diagnose(
        fleet.problem, lambda names, targets: options_for(fleet, names, targets, **arguments)
    )
    for remedy in (*diagnosis.remedies, *diagnosis.constraints):
        assert verify(remedy.change.problem, remedy.placement).valid
    return diagnosis


def told(diagnosis, kind):
    return [remedy.change for remedy in diagnosis.remedies if remedy.change.kind is kind]


def test_the_smallest_change_of_each_sort_is_found():
    diagnosis = found(CROWDED)
    assert {change.names: change.to for change in told(diagnosis, ChangeKind.QUANTISE)} == {
        ("x",): "fp8",
        ("z",): "int4",
        ("w",): "fp8",
    }
    assert [change.names for change in told(diagnosis, ChangeKind.SLEEP)] == [("z",)]
    gpus = [(change.to, change.count, change.node) for change in told(diagnosis, ChangeKind.GPUS)]
    assert gpus == [("A100-80GB", 1, "alpha"), ("L40", 1, "")]


def test_quantised_sizes_are_in_proportion_to_the_bits_and_said_to_be_assumed():
    fleet = parse_fleet(CROWDED)
    sizes = {
        name: [(q.spec.dtype, q.spec.size_gb, q.assumed) for q in quantised(fleet.models[name])]
        for name in "xyz"
    }
    assert sizes == {
        "x": [("fp8", 20.5, True), ("int4", 10.25, True)],
        "y": [],
        "z": [("int4", 9.5, True)],
    }


def test_quantised_sizes_are_counted_where_there_is_a_config(tmp_path):
    config = CONFIGS / "Llama-3.1-70B"
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "gpus: [{kind: H100-NVL}]\n"
        f"models: [{{name: m, config: {config}, load: 1}}, {{name: n, size_gb: 1, load: 1}}]"
    )
    configs = configs_in(path, ConfigLookup(tmp_path))
    assert {name: file.place for name, file in configs.items()} == {
        "m": str(config / "config.json")
    }
    fleet = parse_fleet(path.read_text())
    eight, four = quantised(fleet.models["m"], configs["m"])
    assert (eight.spec.dtype, eight.assumed) == ("fp8", False)
    assert 70.6 < eight.spec.size_gb < 73
    assert 36 < four.spec.size_gb < 42
    diagnosis = found(path.read_text(), configs=configs)
    (change,) = told(diagnosis, ChangeKind.QUANTISE)
    assert (change.to, change.assumed) == ("fp8", False)
    assert change.before_gb == pytest.approx(141.1, abs=0.1)
    assert change.after_gb == eight.spec.size_gb


def test_quantised_sizes_are_counted_for_models_of_the_catalogue(tmp_path):
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "gpus: [{kind: A100-80GB}]\n"
        "models: [{name: m, config: Llama-3.1-70B-Instruct, load: 1}, {name: n, config: gone}]"
    )
    configs = configs_in(path, ConfigLookup(tmp_path))
    assert list(configs) == ["m"]
    model = ModelSpec(name="m", config="Llama-3.1-70B-Instruct").resolved(ConfigLookup().find)
    assert [q.assumed for q in quantised(model, configs["m"])] == [False, False]


def test_a_model_too_large_for_a_gpu_is_cut():
    text = """
gpus: [{kind: A100-80GB, node: n, count: 4}]
models: [{name: m, size_gb: 200, overhead_gb: 4, dtype: int4, rate: 1, slo: 1}]
"""
    diagnosis = found(text)
    (change,) = told(diagnosis, ChangeKind.SHARDS)
    assert (change.count, change.gb) == (4, 12)
    assert change.problem.models[0].size_gb == 216


def test_too_many_shards_for_any_node_are_too_many():
    text = """
gpus: [{kind: A100-80GB, node: n, count: 4}, {kind: A100-80GB, node: k, count: 4}]
models: [{name: m, size_gb: 120, shards: 8, rate: 1, slo: 1}]
"""
    diagnosis = found(text)
    (change,) = told(diagnosis, ChangeKind.SHARDS)
    assert change.count == 4
    assert [r.change.kind for r in diagnosis.constraints] == [ChangeKind.ONE_NODE]


def test_several_models_are_changed_where_one_is_not_enough():
    models = ", ".join(f"{{name: m{n}, size_gb: 60, rate: {n + 1}, slo: 1}}" for n in range(4))
    diagnosis = found(f"gpus: [{{name: g, memory_gb: 80}}]\nmodels: [{models}]")
    (quantise,) = told(diagnosis, ChangeKind.QUANTISE)
    assert (quantise.to, len(quantise.names)) == ("int4", 4)
    (sleep,) = told(diagnosis, ChangeKind.SLEEP)
    assert sleep.names == ("m0", "m1", "m2")
    (gpus,) = told(diagnosis, ChangeKind.GPUS)
    assert (gpus.count, gpus.to) == (3, "80 GB")


def test_names_and_kinds_of_added_gpus_do_not_clash():
    text = """
gpus: [{name: added, memory_gb: 10, count: 2}]
models: [{name: m, size_gb: 8, load: 1},
         {name: n, size_gb: 8, load: 1}, {name: k, size_gb: 8, load: 1}]
"""
    (change,) = told(found(text), ChangeKind.GPUS)
    assert [gpu.name for gpu in change.problem.gpus] == ["added-0", "added-1", "added1-0"]


def test_models_kept_together_are_not_cut():
    text = """
gpus: [{name: g, memory_gb: 10, count: 2}]
models: [{name: m, size_gb: 8, load: 1}, {name: n, size_gb: 8, load: 1}]
together: [[m, n]]
"""
    fleet = parse_fleet(text)
    assert list(shard_ladder(fleet, "m")) == []
    diagnosis = found(text)
    assert [r.change.kind for r in diagnosis.constraints] == [ChangeKind.TOGETHER]


def test_more_shards_hold_more_overhead():
    text = """
gpus: [{kind: A100-80GB, node: n, count: 4}]
models: [{name: m, size_gb: 20, overhead_gb: 4, rate: 1, slo: 1},
         {name: k, size_gb: 1, load: 1, shards: 4}]
"""
    fleet = parse_fleet(text)
    model = in_more_shards(fleet, "m")
    assert (model.shards, model.size_gb) == (2, 28)
    assert in_more_shards(fleet, "k") is None


@st.composite
def fleets(draw):
    kinds = draw(st.lists(st.sampled_from(["A100-40GB", "L4", "T4"]), min_size=1, max_size=2))
    gpus = [
        {"name": f"g{n}", "kind": kind, "node": f"n{n}", "count": draw(st.integers(1, 2))}
        for n, kind in enumerate(kinds)
    ]
    models = []
    for number in range(draw(st.integers(1, 5))):
        model = {
            "name": f"m{number}",
            "size_gb": draw(st.sampled_from([6, 14, 20, 34, 50])),
            "rate": draw(st.sampled_from([0, 1, 5])),
            "slo": 1,
        }
        if draw(st.booleans()):
            model |= {"prompt_tokens": 500, "output_tokens": draw(st.sampled_from([10, 900]))}
        if draw(st.booleans()):
            model["overhead_gb"] = 3
        models.append(model)
    return {"gpus": gpus, "models": models, "most_models": draw(st.sampled_from([3, 1, 2]))}


@campaign(60)
@given(fleets())
def test_whatever_is_claimed_to_help_really_fits(data):
    fleet = fleet_of(data)
    diagnosis = diagnose(
        fleet.problem, lambda names, targets: options_for(fleet, names, targets), 3.0
    )
    assume(not diagnosis.fits)
    assert diagnosis.conflict is not None
    for remedy in (*diagnosis.remedies, *diagnosis.constraints):
        change = remedy.change
        verdict = verify(change.problem, remedy.placement)
        assert verdict.valid, verdict.faults
        if change.kind is ChangeKind.GPUS:
            assert len(change.problem.gpus) == len(fleet.problem.gpus) + change.count
        elif change.kind is ChangeKind.SLEEP:
            left = {model.name for model in change.problem.models}
            assert left == set(fleet.models) - set(change.names)
        elif change.kind is ChangeKind.QUANTISE:
            assert change.after_gb < change.before_gb


def of_heads(heads, kv_heads, shards=1, gpus=8):
    return fleet_of(
        {
            "gpus": [{"name": "g", "memory_gb": 100, "node": "n", "count": gpus}],
            "models": [
                {
                    "name": "m",
                    "size_gb": 10,
                    "load": 1,
                    "attention_heads": heads,
                    "kv_heads": kv_heads,
                    "shards": shards,
                }
            ],
        }
    )


@pytest.mark.parametrize(
    ("heads", "kv_heads", "shards", "numbers"),
    [
        (28, 4, 1, [2, 4]),
        (24, 24, 1, [2, 3, 4, 6, 8]),
        (40, 8, 8, [4, 2, 1]),
        (71, 1, 1, []),
    ],
)
def test_shards_are_proposed_only_where_engines_accept_them(heads, kv_heads, shards, numbers):
    fleet = of_heads(heads, kv_heads, shards)
    assert [change.count for change in shard_ladder(fleet, "m")] == numbers
    lever = in_more_shards(fleet, "m")
    assert (lever and lever.shards) == next((n for n in numbers if n > shards), None)


def test_a_format_whose_groups_the_shards_would_cut_is_not_proposed():
    fleet = of_heads(64, 8, 2)
    spec = fleet.models["m"].model_copy(update={"shard_widths": {"feed_forward": 29568}})
    assert [found.spec.dtype for found in quantised(spec)] == ["fp8"]
    whole = spec.model_copy(update={"shards": 1})
    assert [found.spec.dtype for found in quantised(whole)] == ["fp8", "int4"]


LONG = """
gpus: [{kind: H100-80GB, memory_gb: 80, node: a}]
models:
  - {name: x, size_gb: 34, rate: 1, slo: 5, kv_bytes_per_token: 196608, max_model_len: 131072}
  - {name: y, size_gb: 20, rate: 2, slo: 5, kv_bytes_per_token: 131072, max_model_len: 65536,
     min_concurrency: 2}
"""


def test_shorter_requests_are_the_first_remedy_where_cache_is_short():
    diagnosis = found(LONG)
    changes = [
        (remedy.change.kind, remedy.change.names, remedy.change.count)
        for remedy in diagnosis.remedies
    ]
    assert changes[:2] == [
        (ChangeKind.CONTEXT, ("x",), 16384),
        (ChangeKind.CONTEXT, ("x", "y"), 32768),
    ]
    kinds = [kind for kind, _, _ in changes]
    assert sorted(kinds, key=EASIEST_FIRST.index) == kinds
    assert ChangeKind.SLEEP in kinds


def test_fewer_requests_at_once_come_before_shorter_ones():
    text = """
gpus: [{memory_gb: 80, name: g}]
models:
  - {name: x, size_gb: 40, load: 1, kv_bytes_per_token: 131072, max_model_len: 65536,
     min_concurrency: 8}
"""
    first, second = told(found(text), ChangeKind.CONCURRENCY), told(found(text), ChangeKind.CONTEXT)
    assert [(change.count, change.names) for change in first] == [(4, ("x",))]
    assert first[0].before_gb == pytest.approx(8 * first[0].after_gb / 4)
    assert [change.count for change in second] == [32768]
    assert found(text).remedies[0].change.kind is ChangeKind.CONCURRENCY


def test_the_longest_request_still_holds_a_mean_one():
    text = """
gpus: [{memory_gb: 80, name: g}]
models:
  - {name: x, size_gb: 74, rate: 1, slo: 1, kv_bytes_per_token: 131072, prompt_tokens: 20000,
     output_tokens: 1000}
"""
    assert told(found(text), ChangeKind.CONTEXT) == []
    shorter = text.replace("size_gb: 74", "size_gb: 72").replace("20000", "19000")
    assert [change.count for change in told(found(shorter), ChangeKind.CONTEXT)] == []
    stated = shorter.replace("output_tokens: 1000", "output_tokens: 1000, max_model_len: 60000")
    assert [change.count for change in told(found(stated), ChangeKind.CONTEXT)] == [30000]


BUSY = """
compute_limit: 0.8
gpus: [{kind: L40S, node: a, count: 2}]
models:
  - {name: hot, size_gb: 16, rate: RATE, slo: 5, prompt_tokens: 1200, output_tokens: 250}
  - {name: cool, size_gb: 6, rate: 2.9, slo: 5, prompt_tokens: 1200, output_tokens: 250}
"""


def test_a_little_too_busy_is_cured_by_a_higher_limit():
    diagnosis = found(BUSY.replace("RATE", "6.5"))
    first = diagnosis.remedies[0].change
    assert (first.kind, first.before, first.after) == (ChangeKind.COMPUTE_LIMIT, 0.8, 0.85)
    assert diagnosis.conflict.shortage.resource == "compute"
    assert (diagnosis.conflict.busiest, diagnosis.conflict.models) == ("hot", ("hot",))


def test_much_too_busy_is_cured_by_replicas_with_the_gpus_that_they_take():
    diagnosis = found(BUSY.replace("RATE", "12"))
    (change,) = told(diagnosis, ChangeKind.REPLICAS)
    assert (change.count, change.gpus, change.to, change.node) == (2, 1, "L40S", "a")
    assert len(change.problem.gpus) == 3
    assert not told(diagnosis, ChangeKind.COMPUTE_LIMIT)


def test_formats_that_no_gpu_calculates_in_are_not_proposed():
    text = """
gpus: [{kind: KIND, node: n, count: 2}]
models: [{name: m, size_gb: 24, load: 1}, {name: k, size_gb: 24, load: 2},
         {name: l, size_gb: 12, load: 2}]
"""
    old = told(found(text.replace("KIND", "V100-32GB")), ChangeKind.QUANTISE)
    assert {change.to for change in old} == {"int4"}
    new = told(found(text.replace("KIND", "RTX-5090")), ChangeKind.QUANTISE)
    assert "fp8" in {change.to for change in new}
