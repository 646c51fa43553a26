"""Two hundred fleet files with random constraints: all plans are right, and two solvers agree."""

import json
import random
from math import inf

import pytest

from colocate import Status, solve
from colocate.inputs.fleet import fleet_of, parse_fleet
from colocate.solver.check import check_plan
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.prove.solvers.two_solvers import search_all, small_enough

FLEETS = 200
KINDS = ("T4", "L4", "L40S", "A100-80GB", "H100-80GB", "H200")


def random_fleet(seed):
    """Return a fleet file with some of every constraint."""
    draw = random.Random(seed)
    nodes = [f"node-{n}" for n in range(draw.randint(1, 3))]
    gpus = [
        {"node": node, "kind": draw.choice(KINDS), "count": draw.randint(1, 4)} for node in nodes
    ]
    if draw.random() < 0.3:
        gpus.append({"name": "spare", "memory_gb": draw.choice([16, 40]), "reserve_gb": 1})
    places = [*nodes, *{gpu["kind"] for gpu in gpus if "kind" in gpu}]
    models = [random_model(draw, number, places) for number in range(draw.randint(2, 8))]
    names = [model["name"] for model in models]
    single = [m["name"] for m in models if m.get("shards", 1) == 1 and "replicas" not in m]
    fleet = {"gpus": gpus, "models": models, "load": "requests"}
    if draw.random() < 0.3:
        fleet["apart"] = [draw.sample(names, 2)]
    if draw.random() < 0.2 and len(single) > 1 and "apart" not in fleet:
        fleet["together"] = [draw.sample(single, 2)]
    if draw.random() < 0.2:
        fleet["most_models"] = draw.randint(1, 4)
    if draw.random() < 0.2:
        fleet["most_pressure"] = draw.choice([0.01, 0.05, 0.2])
    return fleet


def random_model(draw, number, places):
    model = {
        "name": f"model-{number}",
        "size_gb": draw.choice([3, 8, 16, 20, 35, 70, 140]),
        "rate": draw.choice([0, 0.1, 1, 5]),
        "slo": draw.choice([2, 10]),
    }
    chance = draw.random()
    if chance < 0.15:
        model["shards"] = 2
    elif chance < 0.3:
        model["replicas"] = draw.choice([2, "auto"])
    if draw.random() < 0.2:
        model[draw.choice(["only", "never"])] = [draw.choice(places)]
    if draw.random() < 0.25:
        model |= {"may_sleep": True, "importance": draw.choice([0.5, 1, 2])}
    if draw.random() < 0.4:
        model |= {"prompt_tokens": 500, "output_tokens": 100}
    return model


@pytest.mark.parametrize("seed", range(FLEETS))
def test_plans_pass_the_checker_and_two_solvers_agree_on_what_fits(seed):
    fleet = parse_fleet(json.dumps(random_fleet(seed)))
    plan = solve(fleet.problem, time_limit=1.0, gap=0.05)
    if plan.placement:
        assert check_plan(fleet.problem, plan.as_dict()).faults == []
    assert fleet_of(fleet.as_dict()).problem.digest == fleet.problem.digest
    if small_enough(fleet.problem):
        most = fleet.problem.most_pressure
        answer = search_all(fleet.problem, inf if most is None else most, Deadline(20.0))
        assert answer.outcome is not Outcome.UNDECIDED
        expected = bool(plan.placement), plan.status is Status.INFEASIBLE
        assert expected == (answer.outcome is Outcome.FOUND, answer.outcome is Outcome.NONE)


def test_both_answers_are_among_them():
    small = [parse_fleet(json.dumps(random_fleet(seed))).problem for seed in range(60)]
    found = [bool(solve(problem, time_limit=0.5, gap=0.5).placement) for problem in small]
    assert 10 < sum(found) < 50
    assert sum(map(small_enough, small)) == len(small)
