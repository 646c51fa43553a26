from colocate import Gpu, Model, Problem
from colocate.problem.parts import parts_by_gpu, parts_of, replicas_in

PROBLEM = Problem(
    [Gpu(name, 80, node="n") for name in "abcd"],
    [
        Model("whole", 10, load=4),
        Model("both", 40, load=8, shards=2, replicas=2),
        Model("asleep", 10, load=1, sleep_cost=1),
    ],
)
PLACEMENT = {"whole": ("b",), "both": ("a", "b", "c", "d"), "asleep": ()}


def test_replicas_are_counted_by_shard_groups():
    assert replicas_in(PROBLEM, PLACEMENT) == {"whole": 1, "both": 2, "asleep": 0}


def test_every_shard_of_every_replica_is_a_part():
    parts = list(parts_of(PROBLEM, PLACEMENT))
    assert [(p.number, p.model.name, p.replica, p.shard, p.gpu) for p in parts] == [
        (0, "whole", 0, 0, "b"),
        (1, "both", 0, 0, "a"),
        (1, "both", 0, 1, "b"),
        (1, "both", 1, 0, "c"),
        (1, "both", 1, 1, "d"),
    ]
    assert {(p.model.size_gb, p.model.load, p.replicas, p.shards) for p in parts[1:]} == {
        (20.0, (2.0,), 2, 2)
    }


def test_parts_are_listed_by_gpu_in_the_order_of_the_problem():
    by_gpu = parts_by_gpu(PROBLEM, PLACEMENT)
    assert [part.model.name for part in by_gpu["b"]] == ["whole", "both"]
    assert list(by_gpu) == ["a", "b", "c", "d"]
    assert parts_by_gpu(PROBLEM, {})["a"] == []
