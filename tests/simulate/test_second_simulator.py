"""The fast simulator against a slow and plain one, on random fleets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate import Gpu, Model, Problem
from colocate.simulate.options import SimulateOptions
from colocate.simulate.run import simulate_placement
from tests.campaign import campaign
from tests.simulate.drawn_fleets import KIND, asked, poisson
from tests.simulate.slow_simulator import SlowSimulator

TELLING = {
    "slices": (24, 30, 435, 471, 527, 573, 594, 601, 603, 631),
    "mps": (11, 72, 154, 173, 228, 360, 470, 633, 646),
}
"""Cases that send requests back, with prompts first and in pieces, caches of both sorts, and with
or without shards."""
EXACT = 1e-9
"""Both add up the same times in another order."""


def drawn(seed):
    """Return a fleet whose caches often run full, its placement, requests and options."""
    rng = np.random.default_rng(seed)
    memory = float(rng.choice([5.5, 8.0]))
    gpus = [Gpu(f"g{n}", memory, KIND, node="n") for n in range(int(rng.integers(1, 4)))]
    names = [gpu.name for gpu in gpus]
    models, placement = [], {}
    for number in range(int(rng.integers(1, 5))):
        shards = int(rng.integers(1, len(gpus) + 1))
        replicas = int(rng.integers(1, len(gpus) // shards + 1))
        prefill = float(rng.uniform(1e-3, 20e-3))
        requests = asked(
            step=float(
                rng.choice([rng.uniform(0.5e-3, 10e-3), rng.uniform(2e-5, 4e-4)], p=[0.9, 0.1])
            ),
            more=float(rng.choice([0.0, rng.uniform(0.0, 1e-3)])),
            prefill=prefill,
            work=prefill * float(rng.uniform(0.3, 1.0)),
            layers=float(rng.integers(4, 60)),
            rate=float(rng.choice([4.0, 15.0, 40.0])),
            slots=float(rng.choice([1.0, 3.0, 64.0])),
            request_gb=float(rng.choice([0.0, 0.55, 1.1])),
        )
        name = f"m{number}"
        model = Model(name, 1.0, load=1.0, shards=shards, replicas=replicas, requests=requests)
        models.append(model)
        placement[name] = [names[n] for n in rng.permutation(len(gpus))[: shards * replicas]]
    sharing = str(rng.choice(["slices", "mps", "alone"], p=[0.5, 0.4, 0.1]))
    problem = Problem(gpus, models, sharing="mps")
    rates = [model.requests.rate for model in models]
    stream = poisson(rates, 0.8, seed, 100, 50, float(rng.choice([0.0, 400.0])), exponential=True)
    options = SimulateOptions(
        prefill=str(rng.choice(["first", "chunked"])),
        token_budget=int(rng.choice([8, 64, 300, 2048])),
        cache=str(rng.choice(["blocks", "elastic"])),
        block_tokens=int(rng.choice([1, 16, 50])),
        sharing=sharing,
        router=str(rng.choice(["round-robin", "least-requests", "random-two"])),
    )
    return problem, placement, stream, options


def compare(seed):
    """Run both simulators; return how many requests were sent back."""
    problem, placement, stream, options = drawn(seed)
    fast = simulate_placement(problem, placement, [stream], options, seed)
    slow = SlowSimulator(problem, placement, options, seed)
    requests = slow.run(stream)
    for number, found in enumerate(fast.models):
        workers = [worker for worker in slow.workers if worker.model == number]
        mine = [each for each in requests if each.model == number]
        done = [each for each in mine if each.done < np.inf]
        assert found.arrived == len(mine)
        assert found.refused == sum(each.refused for each in mine)
        assert found.finished == len(done)
        assert found.preemptions == sum(worker.sent_back for worker in workers)
        assert found.tokens_out == sum(each.output for each in done)
        _same(found.ttft, [each.first - each.arrival for each in done])
        _same(found.end_to_end, [each.done - each.arrival for each in done])
        several = [each for each in done if each.output > 1]
        _same(found.tpot, [(each.done - each.first) / (each.output - 1) for each in several])
    return sum(worker.sent_back for worker in slow.workers)


def _same(found, times):
    assert found.count == len(times)
    if times:
        assert found.mean == pytest.approx(np.mean(times), rel=EXACT, abs=1e-12)
        assert found.max == pytest.approx(max(times), rel=EXACT, abs=1e-12)


@campaign(200)
@given(st.integers(0, 10**9))
def test_both_simulators_find_the_same(seed):
    compare(seed)


@pytest.mark.parametrize("sharing", TELLING)
def test_they_do_where_requests_are_sent_back_in_every_way(sharing):
    seen, routers = set(), set()
    for seed in TELLING[sharing]:
        problem, placement, _, options = drawn(seed)
        assert options.sharing == sharing
        assert compare(seed) > 0
        shards = any(model.shards > 1 for model in problem.models)
        seen.add((options.prefill, options.cache, shards))
        if any(len(placement[model.name]) > model.shards for model in problem.models):
            routers.add(options.router)
    assert len(seen) == 8, "prompts first and in pieces, both caches, with and without shards"
    assert len(routers) == 3, "all routers have replicas to choose from"
