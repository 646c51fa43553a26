"""The page of a simulation in a real browser; `make test-browser` insists on there being one."""

import pytest

from colocate.advise.simulation.ways import simulated_ways
from colocate.inputs.fleet import fleet_of
from colocate.outputs.simulation.page import simulation_page
from colocate.problem.placement import Placement
from colocate.simulate.demand.kinds import PoissonDemand
from colocate.simulate.options import SimulateOptions
from tests.browser.browser import WIDTHS
from tests.outputs.made_plans import HOSTILE


def page(first="a", ways=2, seeds=2):
    models = [
        {
            "name": name,
            "size_gb": 16,
            "rate": 5,
            "slo": 5,
            "prompt_tokens": 512,
            "output_tokens": 64,
            "kv_bytes_per_token": 131072,
            **targets,
        }
        for name, targets in ((first, {"tpot_slo": 0.01}), ("b", {}), ("c", {"ttft_slo": 0.02}))
    ]
    gpus = [{"name": "g", "kind": "H200", "count": 2}]
    problem = fleet_of({"gpus": gpus, "models": models}).problem
    places = (
        {first: ["g-0"], "b": ["g-1"], "c": ["g-1"]},
        {first: ["g-0"], "b": ["g-0"], "c": ["g-0"]},
    )
    placed = {name: Placement(each) for name, each in zip(("this", first), places, strict=True)}
    found = simulated_ways(
        problem,
        dict(list(placed.items())[:ways]),
        PoissonDemand(),
        60.0,
        SimulateOptions(),
        range(seeds),
    )
    return simulation_page(found, True, f"colocate simulate {first}")


@pytest.mark.parametrize("first", ["a", HOSTILE[0], max(HOSTILE, key=len)])
def test_the_page_fits_and_can_be_read(browser, first):
    for frame, width in zip(browser.measured(page(first)), WIDTHS, strict=True):
        assert frame["width"] == width
        assert frame["opened"] <= width
        assert frame["plots"] == 4  # compared, latencies, two GPUs
        assert frame["letters"] >= 11
        assert "of those judged kept their targets" in frame["title"]


def test_one_placement_and_one_seed_have_nothing_to_compare(browser):
    for frame in browser.measured(page(ways=1, seeds=1)):
        assert frame["plots"] == 3


def test_nothing_is_asked_of_the_network(browser):
    assert browser.requests(page("".join(HOSTILE[:2]))) == []
