from itertools import product

import pytest

from colocate.advise.capacity.fleet_sizes import FleetSizes
from colocate.advise.capacity.prices import needed_prices, parse_prices, prices_of
from colocate.errors import InputError, UnknownNameError
from colocate.inputs.fleet import parse_fleet

MODELS = "\nmodels: [{name: m, size_gb: 10, load: 1}]"


def sizes(text, whole=False):
    return FleetSizes(parse_fleet(text), whole)


def names(fleet):
    return [gpu.name for gpu in fleet.problem.gpus]


def test_a_pool_grows_and_shrinks_by_its_count():
    pool = sizes("gpus: [{name: h, memory_gb: 80, count: 2, devices: [4, 6]}]" + MODELS)
    assert [(kind.label, kind.listed, kind.at_once) for kind in pool.kinds] == [("h", 2, 1)]
    assert names(pool.fleet((1,))) == ["h-0"]
    grown = pool.fleet((4,))
    assert names(grown) == ["h-0", "h-1", "h-2", "h-3"]
    assert [device.number for device in grown.devices.values()] == [4, 6, 7, 8]
    assert pool.fleet((0,)) is None


def test_a_fleet_that_grows_takes_no_device_of_another_kind():
    text = (
        "gpus: [{name: h, memory_gb: 80, count: 2, devices: [0, 1]}, "
        "{name: l, memory_gb: 24, count: 2, devices: [2, 3]}]"
    )
    grown = sizes(text + MODELS).fleet((4, 1))
    assert [device.number for device in grown.devices.values()] == [0, 1, 4, 5, 2]


def test_a_gpu_without_count_keeps_its_name_when_there_are_more():
    single = sizes("gpus: [{name: l, memory_gb: 48}, {name: l-2, memory_gb: 24}]" + MODELS)
    assert names(single.fleet((3, 1))) == ["l", "l-3", "l-4", "l-2"]


def test_machines_are_filled_one_after_the_other():
    machines = sizes("gpus: [{kind: L4, node: alpha, count: 2}]" + MODELS)
    grown = machines.fleet((5,))
    assert names(grown) == ["alpha-0", "alpha-1", "alpha.2-0", "alpha.2-1", "alpha.3-0"]
    assert [gpu.node for gpu in grown.problem.gpus] == ["alpha"] * 2 + ["alpha.2"] * 2 + ["alpha.3"]
    assert [device.number for device in grown.devices.values()] == [0, 1, 0, 1, 0]


def test_whole_machines_come_at_once():
    machines = sizes("gpus: [{kind: L4, node: alpha, count: 2}]" + MODELS, whole=True)
    assert machines.kinds[0].at_once == 2
    assert machines.listed == (1,)
    assert len(names(machines.fleet((3,)))) == 6


def test_entries_that_are_alike_are_one_kind():
    text = (
        "gpus: [{kind: L4, node: a, count: 2}, {kind: T4, count: 2}, {kind: L4, node: b, count: 3}]"
    )
    fleet = sizes(text + MODELS)
    assert [(kind.label, kind.listed) for kind in fleet.kinds] == [("L4", 5), ("T4", 2)]
    assert names(fleet.fleet((3, 1))) == ["a-0", "a-1", "T4-0", "b-0"]
    assert names(fleet.fleet((6, 0)))[-2:] == ["b-2", "b.2-0"]
    assert fleet.kind_of_gpus((3, 1)) == (0, 0, 1, 0)


def test_entries_that_differ_in_reserve_or_limits_are_kinds_with_labels_of_their_own():
    text = "gpus: [{kind: L4, name: x, count: 2}, {kind: L4, name: y, reserve_gb: 2}]"
    assert [kind.label for kind in sizes(text + MODELS).kinds] == ["L4 x", "L4 y"]


def test_a_smaller_fleet_is_part_of_a_larger_one():
    text = (
        "gpus: [{kind: L4, node: a, count: 2}, {kind: T4}, {kind: L4, node: b, count: 1}, "
        "{name: z, memory_gb: 9, count: 1}]"
    )
    fleet = sizes(text + MODELS)
    for mix in product(range(5), repeat=len(fleet.kinds)):
        for kind in range(len(mix)):
            more = tuple(n + (k == kind) for k, n in enumerate(mix))
            if any(mix):
                small, large = fleet.fleet(mix).problem, fleet.fleet(more).problem
                assert set(small.gpus) < set(large.gpus)
                assert len(large.gpus) == len(small.gpus) + 1 == sum(more)
                kinds = fleet.kind_of_gpus(more)
                assert [kinds.count(k) for k in range(len(mix))] == list(more)


def test_places_that_models_name_keep_their_meaning():
    text = (
        "gpus: [{kind: L4, node: a, count: 2}, {kind: L4, node: b, count: 2}, {kind: T4}]\n"
        "models: [{name: m, size_gb: 1, load: 1, only: [b, T4]}, "
        "{name: n, size_gb: 1, load: 1, never: [T4]}]"
    )
    fleet = sizes(text)
    assert [kind.label for kind in fleet.kinds] == ["L4 a", "L4 b", "T4"]
    assert fleet.fleet((2, 0, 0)) is None
    with_b = fleet.fleet((1, 3, 0)).problem
    assert with_b.models[0].only == ("b",)
    assert with_b.models[1].never == ()
    allowed = [gpu.name for gpu in with_b.gpus if with_b.models[0].may_be_on(gpu)]
    assert allowed == ["b-0", "b-1"]
    assert fleet.fleet((0, 0, 2)).problem.models[0].only == ("T4",)


def test_one_gpu_of_several_cannot_be_named():
    text = (
        "gpus: [{name: h, memory_gb: 80, count: 2}]\n"
        "models: [{name: m, size_gb: 1, load: 1, only: [h-1]}]"
    )
    with pytest.raises(InputError, match="models\\[0\\] 'm': only names the GPU 'h-1', one of 2"):
        sizes(text)
    assert sizes(text.replace("count: 2", "count: 1").replace("h-1", "h-0")).fleet((3,))


def test_models_are_awake_and_the_rest_is_kept():
    text = (
        "gpus: [{kind: L4, count: 2}]\nmost_models: 3\ncompute_limit: 0.7\n"
        "models: [{name: m, size_gb: 1, load: 1, may_sleep: true, importance: 3, replicas: auto}]"
    )
    fleet = sizes(text).fleet((4,))
    assert not fleet.problem.sleepers
    assert fleet.problem.most_models == 3
    assert fleet.problem.models[0].most_replicas == 4
    assert fleet.problem.gpus[0].limit_on("compute") == 0.7


def test_prices_are_told_by_kind_name_or_node_and_else_those_of_the_catalogue():
    fleet = sizes("gpus: [{kind: L4, node: a}, {name: mine, memory_gb: 9}]" + MODELS)
    assert [float(p) if p else p for p in prices_of(fleet, {})] == [0.44, None]
    told = parse_prices(["a=0.5", "mine=0"])
    assert [float(price) for price in needed_prices(fleet, told)] == [0.5, 0.0]
    with pytest.raises(InputError, match="the price of 'mine' is not known, give it: --price mine"):
        needed_prices(fleet, parse_prices(["L4=1"]))
    with pytest.raises(UnknownNameError, match="price of GPU='mime' is not known, did you mean"):
        prices_of(fleet, parse_prices(["mime=1"]))


@pytest.mark.parametrize("text", ["", "L4", "L4=", "=3", "L4=x", "L4=-1", "L4=nan", "L4=inf"])
def test_what_is_no_price(text):
    with pytest.raises(InputError, match="must be KIND=PRICE with a price per hour >= 0"):
        parse_prices([text])
