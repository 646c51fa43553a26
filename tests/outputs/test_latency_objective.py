"""Plans that minimise latency: what is said of them, on screen, page and picture."""

from dataclasses import replace
from math import inf

import pytest

from colocate.advise.explain.explanation import explain
from colocate.advise.latency import predictions_of
from colocate.outputs.explain.bound import OF_LATENCY
from colocate.outputs.explain.sentences import explanation_lines
from colocate.outputs.plan.fleet_bars import fleet_bars
from colocate.outputs.plan.latency_words import of_target, value_lines
from colocate.outputs.plan.plot import plan_plot
from colocate.outputs.plan.table import improvement_line
from colocate.outputs.report import Alternative, Comparison, report_page
from colocate.outputs.report.bound import MEANING
from colocate.outputs.report.tables import beside
from colocate.problem.certificate import OF_RATIOS, Certificate, Proof
from colocate.problem.placement import Placement
from colocate.solver.plan import Improvement, with_ratios
from colocate.solver.proof_words import PROOFS
from tests.advise.test_slowdown import planned
from tests.outputs.made_plans import asked, latencies
from tests.outputs.test_latency_table import drawn
from tests.outputs.test_plan_plot import texts
from tests.pages import Page


def plan_by_latency():
    """Return a plan whose worst latency is known, and at most a quarter too high."""
    fleet, plan = latencies(objective="latency")
    placement = {"chat": ("g-0", "g-2"), "coder": ("g-0",), "flood": (), "reader": ("g-1",)}
    plan = with_ratios(replace(plan, placement=Placement(placement), ratios={}))
    bound = plan.ratio / 1.25
    steps = (Improvement(0.01, 3.0, 0.5, "start"), Improvement(0.1, 2.0, bound, "search"))
    return fleet, replace(plan, certificate=Certificate(Proof.SEARCH, bound), history=steps)


def test_the_worst_latency_comes_first_and_the_pressure_next():
    _, plan = plan_by_latency()
    lines = list(value_lines(plan, predictions_of(plan)))
    assert lines[0].startswith("worst latency 1.")
    assert " of its target (coder on g-0), at least " in lines[0]
    assert lines[0].endswith(" for any placement, gap 25%")
    assert lines[1] == "1 of 2 models misses its target"
    assert lines[-1].startswith("peak pressure ")
    assert "worst latency" in drawn(plan)


def test_the_gpu_with_the_worst_latency_is_marked():
    _, plan = plan_by_latency()
    plan = replace(plan, pressures={"g-0": 1.0, "g-1": 3.0, "g-2": 2.0})
    (marked,) = (line for line in drawn(plan).splitlines() if "◀" in line)
    assert marked.split()[0] == "g-0"


def test_without_a_bound_nothing_is_said_to_be_proven():
    _, plan = plan_by_latency()
    lines = list(value_lines(replace(plan, certificate=None), predictions_of(plan)))
    assert lines[0].endswith("of its target (coder on g-0)")


def test_progress_is_told_as_latency():
    line = improvement_line(Improvement(0.1, 0.88, 0.8, "regrouping"), "latency")
    assert line == "worst latency 0.88 of its target, at most 10% above the optimum"


def test_the_page_and_the_picture_have_it_as_their_headline():
    fleet, plan = plan_by_latency()
    ways = Comparison(Alternative(3, 1.0, ratio=2 * plan.ratio), Alternative(4, None, "no"))
    page = Page(report_page(plan, fleet, ways, "colocate plan"))
    assert "Worst latency 1." in page.text
    assert "No placement has a worst latency below " in page.text
    assert "the worst latency over its target of the best so far" in page.text
    assert "2 times as high" in page.text
    assert "worst latency / target" in page.text
    assert "the worst latency on each GPU over its target" in page.text
    assert fleet_bars(plan, fleet).drawn[0].shown == of_target(plan.ratio)
    found = texts(plan_plot(plan, fleet, "svg"))
    assert "worst latency / target" in found
    assert any(text.startswith("Worst latency 1.") for text in found)


def test_other_ways_are_compared_by_what_the_plan_minimises():
    _, plan = plan_by_latency()
    own = plan.ratio
    assert beside(plan, Alternative(3, 9.0, ratio=own)) == "the same"
    assert beside(plan, Alternative(3, 9.0, ratio=inf)) == "higher"
    assert beside(plan, Alternative(3, None, "does not fit")) == "does not fit"


@pytest.mark.parametrize("proof", Proof)
def test_every_proof_has_words(proof):
    assert PROOFS[proof]
    assert MEANING[proof]
    assert (proof in OF_LATENCY) == (proof in OF_RATIOS)


def test_explain_tells_the_bound_on_the_latency():
    models = (asked("one", 4, tpot_slo=0.05), asked("two", 6, tpot_slo=0.05))
    plan = planned({"one": ("g-0",), "two": ("g-0",)}, *models, objective="latency")
    bound = plan.ratio / 1.25
    told = explain(replace(plan, certificate=Certificate(Proof.SEARCH, bound)), seconds=0.2)
    assert told is not None
    assert told.ratio == plan.ratio
    text = "\n".join(explanation_lines(replace(told, solved_again=0.05)))
    assert "the solver finds a worst latency of 0.05 instead of 0." in text
    assert f"no placement is below {bound:.4g} of a target" in text
    assert "so the worst latency could fall by 20% at most" in text
    assert text.startswith("who slows whom\n")
    assert "the plan minimises the worst latency, which comes before pressure" in text
    assert "levers" not in text
    assert "next move" not in text
    alone = planned({"one": ("g-0",), "two": ("g-1",)}, *models, objective="latency")
    told = explain(alone, seconds=0.2)
    assert told is not None
    assert "no other model shares its GPUs" in "\n".join(explanation_lines(told))
