"""The law in the start program of `fleet-latency` is the checker's."""

import pytest
from numpy.random import RandomState

from colocate.arena.tasks.fleets.fleet import FLEETS
from colocate.arena.tasks.start import fleet_latency
from colocate.problem.verify import verify
from tests.campaign import examples


def test_the_start_program_knows_the_law():
    draw = RandomState(7)
    for _ in range(examples(60)):
        problem = FLEETS["fleet-latency"].make(draw)
        gpus, models = FLEETS["fleet-latency"].shown(problem)
        names = [gpu["name"] for gpu in gpus]
        homes = {model["name"]: names[draw.randint(len(names))] for model in models}
        verdict = verify(problem, {model: [gpu] for model, gpu in homes.items()})
        for gpu in gpus:
            here = [model for model in models if homes[model["name"]] == gpu["name"]]
            ratio = fleet_latency.worst_ratio(gpu, here)
            if sum(model["size_gb"] for model in here) > gpu["memory_gb"]:
                assert ratio == float("inf")
                assert not verdict.valid
            elif verdict.valid:
                assert ratio == pytest.approx(verdict.ratios[gpu["name"]], rel=1e-6)


def test_an_empty_gpu_keeps_every_target():
    gpus, _ = FLEETS["fleet-latency"].shown(FLEETS["fleet-latency"].make(RandomState(7)))
    assert fleet_latency.worst_ratio(gpus[0], []) == 0.0
