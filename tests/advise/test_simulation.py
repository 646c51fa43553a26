from math import inf, isfinite

import pytest

from colocate import InfeasibleError, InputError, Problem, Simulation, read_fleet, simulate, solve
from colocate.advise.simulation.comparison import Difference, difference
from colocate.advise.simulation.intervals import Interval, interval_of, student
from colocate.advise.simulation.means import attainment_of, goodput_of
from colocate.advise.simulation.other_ways import other_way
from colocate.advise.simulation.verdicts import TargetMiss, TargetOutcome
from colocate.advise.simulation.ways import simulated_ways
from colocate.inputs.fleet import parse_fleet
from colocate.inputs.trace.reading import Trace
from colocate.problem.placement import Placement
from colocate.simulate.demand.kinds import BurstDemand, PoissonDemand, TraceDemand
from colocate.simulate.options import SimulateOptions
from colocate.simulate.run import simulate_placement

THREE = """
gpus: [{name: g, kind: H200, count: COUNT}]
models:
  - {name: a, size_gb: 16, rate: RATE, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072, tpot_slo: 0.01, ttft_slo: 1}
  - {name: b, size_gb: 16, rate: 4, slo: 5, prompt_tokens: 512, output_tokens: 64,
     kv_bytes_per_token: 131072, tpot_slo: 0.01}
  - {name: c, size_gb: 2, rate: 3, slo: 5, prompt_tokens: 300, output_tokens: 0,
     kv_bytes_per_token: 0}
"""
APART = {"a": "g-0", "b": "g-1", "c": "g-1"}
TOGETHER = {"a": "g-0", "b": "g-0", "c": "g-0"}


def fleet(rate="4", count="2"):
    return parse_fleet(THREE.replace("RATE", rate).replace("COUNT", count))


def ways(stated, placements, seeds=1, seconds=60.0, **options):
    problem = stated.problem
    placed = {name: Placement(places) for name, places in placements.items()}
    chosen = SimulateOptions(**options)
    return simulated_ways(problem, placed, PoissonDemand(), seconds, chosen, range(seeds))


def lists(places):
    return {name: [gpu] for name, gpu in places.items()}


def test_a_plan_is_enough_and_a_seed_decides_on_everything():
    stated = fleet()
    plan = solve(stated.problem)
    found = simulate(plan, minutes=1)
    assert isinstance(found, Simulation)
    assert found.complete
    assert found.seconds == 60.0
    again = simulate(stated, plan, minutes=1)
    other = simulate(stated.problem, plan.placement, minutes=1, seed=1)
    assert found.models == again.models
    assert found.models != other.models


def test_several_seeds_are_means_with_intervals_whatever_the_workers():
    stated = fleet()
    one, two = (simulate(stated, APART, minutes=1, seeds=4, workers=n) for n in (1, 4))
    alone = [simulate(stated, APART, minutes=1, seed=seed) for seed in range(4)]
    assert [run.models for run in one.runs] == [run.models for run in two.runs]
    assert [run.models for run in one.runs] == [run.models for run in alone]
    assert one.goodput == interval_of([goodput_of(run) for run in alone])
    assert one.attainment.mean == pytest.approx(sum(map(attainment_of, alone)) / 4)
    assert one.models[0].tpot.p99 == interval_of([run.models[0].tpot.p99 for run in alone])
    assert one.models[0].tpot.p99.half > 0.0


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.7062), (2, 4.3027), (4, 2.7764), (30, 2.0423)])
def test_intervals_are_those_of_students_tables(freedom, t):
    assert student(freedom) == pytest.approx(t, abs=5e-5)


def test_an_interval_by_hand():
    assert interval_of([3.0]) == Interval(3.0)
    found = interval_of([1.0, 3.0])
    assert (found.mean, found.half) == (2.0, pytest.approx(12.7062, abs=1e-4))
    assert not found.beyond_chance
    assert interval_of([1.0, 1.1, 0.9]).beyond_chance


def test_demand_traces_and_options_count(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("arrival_s,model,prompt_tokens,output_tokens\n1,a,10,5\n3,x,10,5\n")
    with pytest.raises(InputError, match="line 3"):
        simulate(fleet(), APART, trace=path)
    path.write_text("arrival_s,model,prompt_tokens,output_tokens\n1,a,10,5\n3,b,10,5\n")
    found = simulate(fleet(), APART, trace=path)
    assert [model.arrived for model in found.models] == [1, 1, 0]
    with pytest.raises(InputError, match="demand and trace are both given"):
        simulate(fleet(), APART, trace=path, demand=PoissonDemand())
    steady, bursts = (
        simulate(fleet(), TOGETHER, demand=each, minutes=5)
        for each in (PoissonDemand(), BurstDemand(variation=4))
    )
    assert bursts.models[0].ttft.p99 > steady.models[0].ttft.p99
    mps = simulate(fleet(), TOGETHER, minutes=1, sharing="mps")
    assert mps.models[0].tpot.mean < simulate(fleet(), TOGETHER, minutes=1).models[0].tpot.mean


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "placement is missing, give one, or a plan"),
        ({"placement": {"z": "g-0"}}, "model 'z': is not in the fleet"),
        ({"placement": APART, "minutes": 0}, "minutes=0, must be a finite number > 0"),
        ({"placement": APART, "minutes": inf}, "minutes=inf"),
        ({"placement": APART, "minutes": 1e9}, "minutes=1000000000.0, must be at most 525,600, a"),
        ({"placement": APART, "seeds": 0}, "seeds=0, must be a whole number from 1 to 10000"),
        ({"placement": APART, "seed": -1}, "seed=-1"),
        ({"placement": APART, "router": "nope"}, "router='nope', must be round-robin or"),
    ],
)
def test_bad_questions(question, message):
    with pytest.raises(InputError) as error:
        simulate(fleet(), **question)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ({"a": ["g-7"]}, "model 'a': is on 'g-7', which is no GPU, did you mean 'g-"),
        ({"z": ["g-0"]}, "model 'z': is not in the problem"),
        ({"a": [7]}, "model 'a': is on 7, which is no GPU"),
        ({"a": "g-0"}, "model 'a': is on 'g-0', must be on a list of GPUs"),
        ({"a": None}, "model 'a': is on None, must be on a list of GPUs"),
        ({"a": ["g-0", "g-0"]}, "model 'a': is on one GPU more than once"),
    ],
)
def test_a_placement_that_cannot_be_is_told_before_anything_is_replayed(placement, message):
    with pytest.raises(InputError) as error:
        simulate_placement(fleet().problem, placement, [])
    assert message in str(error.value)


def test_a_problem_without_requests_cannot_be_simulated():
    stated = fleet().problem
    bare = Problem(stated.gpus, [model.changed(requests=None) for model in stated.models])
    with pytest.raises(InputError, match="has no requests to simulate"):
        simulate(bare, APART)


def test_an_interrupt_gives_what_was_simulated_so_far():
    def stop(seconds):
        if seconds >= 60.0:
            raise KeyboardInterrupt

    found = simulate(fleet("400"), APART, minutes=30, watch=stop)
    assert not found.complete
    assert 60.0 <= found.seconds < 600.0
    several = simulate(fleet("400"), APART, minutes=30, watch=stop, seeds=3, workers=1)
    assert len(several.runs) == 1
    assert not several.complete


@pytest.mark.parametrize(("stop", "seeds", "ways"), [(0.0, 1, 1), (90.0, 1, 1), (200.0, 1, 2)])
def test_an_interrupt_leaves_the_seeds_that_all_placements_had(stop, seeds, ways):
    def watch(seconds):
        if seconds >= stop:
            raise KeyboardInterrupt

    placed = {"one": Placement(lists(APART)), "two": Placement(lists(TOGETHER))}
    demand, options = PoissonDemand(piece=20), SimulateOptions()
    found = simulated_ways(
        fleet().problem, placed, demand, 60.0, options, range(3), workers=1, watch=watch
    )
    assert len(found) == ways
    assert all(len(way.found.runs) == seeds for way in found)


def test_equal_placements_are_equal():
    first, other = ways(fleet(), {"one": lists(APART), "two": lists(APART)}, seeds=3)
    found = difference(first.found, other.found)
    assert found.verdict is Difference.SAME
    assert found.goodput == Interval(0.0, 0.0)


def test_a_clearly_worse_placement_is_told_from_chance():
    first, other = ways(fleet(), {"apart": lists(APART), "together": lists(TOGETHER)}, seeds=3)
    found = difference(first.found, other.found)
    assert found.verdict is Difference.WORSE
    assert found.goodput.mean + found.goodput.half < 0.0
    assert difference(other.found, first.found).verdict is Difference.BETTER
    assert (first.kept, first.judged) == (2, 2)
    assert [model.outcome for model in first.models] == [
        TargetOutcome.KEPT,
        TargetOutcome.KEPT,
        TargetOutcome.NOT_STATED,
    ]
    assert other.worst.found.name in ("a", "b")
    assert TargetMiss.TPOT in other.worst.misses


def test_one_seed_does_not_tell_chance_and_small_differences_may_be_chance():
    placed = {"apart": lists(APART), "other": {"a": ["g-1"], "b": ["g-0"], "c": ["g-1"]}}
    first, other = ways(fleet(), placed, seconds=30.0)
    assert difference(first.found, other.found).verdict in (Difference.UNSURE, Difference.SAME)


def test_why_targets_are_missed():
    (way,) = ways(fleet("400"), {"apart": {"a": ["g-0"], "b": ["g-1"]}})
    a, b, c = way.models
    assert a.misses[0] is TargetMiss.QUEUE
    assert a.queue_grows
    assert b.misses == ()
    assert c.misses == (TargetMiss.ASLEEP,)
    assert not a.disagrees
    assert a.predicted_ttft == inf
    assert isfinite(b.predicted_tpot)
    assert c.predicted_tpot is None


def test_a_model_that_nobody_asked_or_that_finished_nothing_keeps_no_targets(tmp_path):
    trace = tmp_path / "few.csv"
    head = "arrival_s,model,prompt_tokens,output_tokens"
    trace.write_text(f"{head}\n0,a,100,20000\n1,c,10,0\n2,c,10,0\n")
    placement = Placement(lists(APART))
    demand = TraceDemand(Trace(trace))
    (way,) = simulated_ways(
        fleet().problem, {"apart": placement}, demand, 3.0, SimulateOptions(), range(1)
    )
    outcomes = {model.found.name: model.outcome for model in way.models}
    assert outcomes["b"] is TargetOutcome.NOT_ASKED
    assert outcomes["a"] is not TargetOutcome.KEPT
    assert (way.kept, way.judged) in ((0, 0), (0, 1))
    assert way.worst.found.name != "b"


def test_other_ways_place_the_same_replicas():
    problem = fleet().problem
    placement = Placement({"a": ["g-0", "g-1"], "b": ["g-1"], "c": []})
    greedy = other_way("greedy", problem, placement)
    assert {name: len(gpus) for name, gpus in greedy.items()} == {"a": 2, "b": 1, "c": 0}
    with pytest.raises(InfeasibleError, match=r"needs 3 GPUs, one for each .* the fleet has 2"):
        other_way("one-model-per-gpu", problem, placement)
    whole = Placement(lists(APART))
    apart = other_way("one-model-per-gpu", fleet(count="3").problem, whole)
    assert len({gpu for gpus in apart.values() for gpu in gpus}) == 3
    with pytest.raises(InputError, match="compare='nope', must be greedy, lowest-pressure"):
        other_way("nope", problem, whole)


def test_the_example_of_the_docstring():
    plan = solve(read_fleet("examples/start/fleet.yaml").problem)
    found = simulate(plan, minutes=1, seed=3)
    assert all(model.attainment <= 1.0 for model in found.models)
