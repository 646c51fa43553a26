"""Targets that cannot be kept: which, why, and what would help, confirmed by placements."""

import json
import re
from functools import partial

import pytest

from colocate.advise.remedies.any_placement import any_placement
from colocate.advise.remedies.conflict import find_conflict
from colocate.advise.remedies.diagnosis import EASIEST_FIRST, diagnose, diagnose_fleet
from colocate.advise.remedies.fleet_changes import options_for
from colocate.advise.remedies.gpu_changes import faster_ladder
from colocate.advise.remedies.latency_changes import (
    hottest_first,
    rate_ladder,
    sharing_ladder,
    target_ladder,
)
from colocate.advise.remedies.missed_targets import missed_targets
from colocate.advise.remedies.replica_changes import replicas_for_targets
from colocate.advise.remedies.shortage import Lack
from colocate.advise.what_if import ChangeKind
from colocate.inputs.fleet import fleet_of
from colocate.latency.prediction import predict_placement
from colocate.outputs.explain.remedies import change_text, diagnosis_lines
from colocate.problem.verify import verify
from colocate.solver.construct.completion import Outcome
from colocate.solver.deadline import Deadline
from colocate.solver.warm_up import warm_up

CHAT = {"size_gb": 16, "slo": 8, "kv_bytes_per_token": 131072, "prompt_tokens": 500,
        "output_tokens": 200, "layers": 32, "dtype": "bf16"}  # fmt: skip


def team(rates, *tpot_slo, kind="H100-80GB", gpus=1, **fields):
    """Models of 8B that are alike but for their rates and targets; the last target is repeated."""
    models = [
        {"name": f"m{n}", **CHAT, "rate": rate, "tpot_slo": tpot_slo[min(n, len(tpot_slo) - 1)]}
        for n, rate in enumerate(rates)
    ]
    return fleet_of({"gpus": [{"kind": kind, "count": gpus}], "models": models, **fields})


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    """Searches here are so short that compiling would take all of their time."""
    warm_up(team([1, 1], 0.05).problem)


def kept(problem, placement):
    """Whether a placement is valid and keeps all targets."""
    predicted = predict_placement(problem, placement)
    stated = [each for each in predicted if each.requests.binding]
    return verify(problem, placement).valid and all(each.keeps_targets for each in stated)


def test_placements_keep_the_targets():
    problem = team([6, 6, 1], 0.03, gpus=2).problem
    outcome, placement = any_placement(problem, Deadline(2.0))
    assert outcome is Outcome.FOUND
    assert kept(problem, placement)


def test_what_cannot_be_kept_is_told_with_who_is_in_the_way():
    found = missed_targets(team([6, 6], 0.012).problem, Deadline(2.0))
    assert found.ratio > 1.0
    worst = found.missed[0]
    assert worst.field == "tpot_slo"
    assert worst.alone < worst.target < worst.shared
    assert worst.neighbours == ("m1",) if worst.model == "m0" else ("m0",)
    assert missed_targets(team([6, 6], 0.1).problem, Deadline(2.0)) is None


def test_a_model_too_slow_alone_is_a_conflict_by_itself():
    fleet = team([6, 1], 0.002, gpus=2)
    lines = list(diagnosis_lines(diagnose(fleet.problem, partial(options_for, fleet), 4.0)))
    conflict = find_conflict(fleet.problem, Deadline(4.0))
    if conflict is not None:
        assert len(conflict.models) == 1
        assert conflict.shortage.lack is Lack.TARGETS
        assert "cannot keep its latency target even without the other models" in lines[0]
    assert "alone" in lines[1]
    assert "2 ms allowed (tpot_slo)" in lines[1]


def test_remedies_are_confirmed_and_easiest_first():
    fleet = team([6, 6], 0.013, 0.1)
    found = diagnose_fleet(fleet, {}, 8.0)
    assert not found.fits
    kinds = [remedy.change.kind for remedy in found.remedies]
    assert kinds == sorted(kinds, key=EASIEST_FIRST.index)
    assert {ChangeKind.RAISED_TARGET, ChangeKind.GPUS, ChangeKind.SLEEP} <= set(kinds)
    for remedy in found.remedies:
        assert kept(remedy.change.problem, remedy.placement)
    assert ChangeKind.TARGETS in {remedy.change.kind for remedy in found.constraints}


def test_more_time_is_the_least_that_works():
    fleet = team([6, 6], 0.013, 0.1)
    (target,) = next(iter(target_ladder(fleet, "m0"))).targets
    both = dict.fromkeys(("m0", "m1"), ("H100-80GB-0",))
    shared = predict_placement(fleet.problem, both)[0].shared.tpot.mean
    assert shared <= target.after <= shared * 1.1
    assert (target.field, target.before) == ("tpot_slo", 0.013)
    assert list(target_ladder(team([6, 6], 0.1), "m0")) == []
    assert list(target_ladder(team([6, 6], 0.013), "m0")) == []


def test_only_nvidias_gpus_share_by_mps():
    assert [change.to for change in sharing_ladder(team([1], 0.05))] == ["mps"]
    assert list(sharing_ladder(team([1], 0.05, sharing="mps"))) == []
    assert list(sharing_ladder(team([1], 0.05, kind="MI300X"))) == []


def test_replicas_fit_on_the_gpus_there_are():
    fleet = team([6, 1], 0.02, gpus=2)
    assert [change.count for change in replicas_for_targets(fleet, "m0")] == [2]
    assert hottest_first(fleet.problem, ["m1", "m0"]) == ["m0", "m1"]


def test_a_saturated_model_is_offered_replicas_and_a_lower_rate():
    fleet = team([120, 1], 0.05)
    lines = "\n".join(diagnosis_lines(diagnose(fleet.problem, partial(options_for, fleet), 8.0)))
    assert "'m0': its queue grows without end even alone on a GPU" in lines
    assert re.search(r"- \d replicas of 'm0', and \d more GPUs of H100-80GB", lines)
    assert re.search(
        r"- rate: [\d.]+ of 'm0' instead of 120 \(the highest found that works\)", lines
    )


def test_rates_fall_to_what_a_model_serves_alone():
    fleet = team([120], 0.05)
    rates = [change.after for change in rate_ladder(fleet, "m0")]
    assert rates == sorted(rates, reverse=True)
    served = next(iter(rate_ladder(fleet, "m0")))
    assert any_placement(served.problem, Deadline(2.0))[0] is Outcome.FOUND
    assert any_placement(team([1.2 * served.after], 0.05).problem, Deadline(2.0))[0] is Outcome.NONE
    assert not list(rate_ladder(team([0], 0.05), "m0"))


def test_tokens_per_second_fall_too():
    stated = team([120], 0.05).as_dict()
    (model,) = stated["models"]
    model["tokens_per_second"] = 700 * model.pop("rate")
    stated["load"] = "tokens"
    del model["slo"]
    change = next(iter(rate_ladder(fleet_of(stated), "m0")))
    assert change.to == "tokens_per_second"
    assert 0.0 < change.after < change.before == 84_000


def test_open_replicas_are_offered_the_gpus_that_they_need():
    stated = team([400], 0.05).as_dict()
    stated["models"][0]["replicas"] = "auto"
    stated["gpus"][0]["count"] = 2
    change = next(iter(replicas_for_targets(fleet_of(stated), "m0")))
    assert change.kind is ChangeKind.GPUS
    assert change.count > 8
    assert any_placement(change.problem, Deadline(2.0))[0] is Outcome.FOUND


def test_faster_gpus_are_of_the_same_maker():
    kinds = [change.to for change in faster_ladder(team([1], 0.05))]
    assert kinds
    assert not any(kind.startswith("MI") for kind in kinds)


def test_targets_in_words():
    fleet = team([6, 6], 0.013, 0.1)
    found = diagnose_fleet(fleet, {}, 8.0)
    text = "\n".join(diagnosis_lines(found))
    assert "13 ms allowed (tpot_slo)" in text
    assert "beside 'm" in text
    assert "the latency targets (tpot_slo, ttft_slo)" in text
    raised = next(r.change for r in found.remedies if r.change.kind is ChangeKind.RAISED_TARGET)
    assert change_text(raised).endswith(" instead of 0.013 (the least found that works)")
    json.dumps([change_text(remedy.change) for remedy in found.remedies])
