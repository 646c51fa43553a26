"""From what was measured to a fleet: its demand, its text, its windows."""

import numpy as np
import pytest

from colocate.errors import InputError
from colocate.inputs.fleet import parse_fleet
from colocate.inputs.fleet_edit import with_fields
from colocate.inputs.observation.demand_changes import demand_changes, fleet_with_demand
from colocate.inputs.observation.estimate import BinTally
from colocate.inputs.observation.measured_model import REQUESTS, measured_model
from colocate.inputs.observation.observation import Basis, Observation
from colocate.inputs.observation.windows import window_rates, windows_in
from colocate.inputs.window_trust import window_trust
from colocate.inputs.yaml_text import parse_yaml
from colocate.outputs.observation.fleet_draft import fleet_draft

FLEET = """# ours
gpus: [{name: g, memory_gb: 80}]
models:
  - name: one   # the first
    size_gb: 10
    rate: 1   # was guessed
    slo: 5
  - {name: two, size_gb: 10, rate: 4, slo: 5}
  - {name: three, size_gb: 10, rate: 4, slo: 5}
"""


def observation(begin=None, bin_seconds=60.0, **rates):
    """Models with the same requests in every bin, or those of a list."""
    models = []
    for name, rate in rates.items():
        row = np.array(rate if isinstance(rate, list) else [rate] * 240, float) * bin_seconds
        seconds = np.full(len(row), bin_seconds)
        tallies = {
            REQUESTS: BinTally(row, seconds),
            "prompt_tokens": BinTally(100.0 * row, row),
            "output_tokens": BinTally(50.0 * row, row),
        }
        models.append(measured_model(name, Basis.STARTED, tallies, bin_seconds))
    number = len(models[0].rates)
    return Observation(
        "here", "trace", begin, bin_seconds, bin_seconds * number, None, tuple(models)
    )


def test_what_was_measured_becomes_the_demand_of_the_fleet():
    fleet = parse_fleet(FLEET)
    found = observation(one=2.0, two=4.0, other=1.0)
    update = demand_changes(fleet.spec.models, found)
    assert update.not_measured == ("three",)
    assert update.not_in_fleet == ("other",)
    measured = found.models[0].rate
    assert update.fields[0] == {
        "rate": 2.0,
        "rate_uncertainty": pytest.approx(measured.margin / measured.value, rel=1e-3),
        "prompt_tokens": 100.0,
        "output_tokens": 50.0,
    }
    assert "rate" not in update.fields[1]  # it is what the fleet states
    new = fleet_with_demand(fleet, found)
    assert [model.rate for model in new.problem.models] == [2.0, 4.0, 4.0]
    assert [model.rate for model in fleet.problem.models] == [1.0, 4.0, 4.0]
    assert new.models["one"].prompt_tokens == 100.0


def test_a_model_is_found_by_its_name_on_the_hub():
    text = FLEET.replace("name: one   # the first\n    size_gb: 10", "name: one\n    size_gb: 10\n"
                         "    source: org/model")  # fmt: skip
    fleet = parse_fleet(text)
    found = observation(**{"org/model": 2.0})
    assert demand_changes(fleet.spec.models, found).fields[0]["rate"] == 2.0


def test_tokens_per_second_stay_tokens_per_second():
    text = "gpus: [{name: g, memory_gb: 80}]\nload: tokens\nmodels:\n- {name: one, size_gb: 1, " \
           "tokens_per_second: 9, kv_bytes_per_token: 1000, tpot_slo: 0.1}\n"  # fmt: skip
    update = demand_changes(parse_fleet(text).spec.models, observation(one=2.0))
    assert update.fields[0]["tokens_per_second"] == 300.0
    assert "rate" not in update.fields[0]


def test_a_stated_load_is_left_alone():
    text = FLEET.replace("rate: 1   # was guessed\n    slo: 5", "load: 3")
    update = demand_changes(parse_fleet(text).spec.models, observation(one=2.0))
    assert update.stated_loads == ("one",)
    assert update.fields == {}


def test_the_text_keeps_comments_and_order():
    update = demand_changes(parse_fleet(FLEET).spec.models, observation(one=2.0, two=8.0))
    text = with_fields(FLEET, update.fields)
    assert "# ours" in text
    assert "    rate: 2   # was guessed\n" in text
    assert "name: one   # the first\n" in text
    assert parse_yaml(text)["models"][1]["rate"] == 8.0
    assert parse_fleet(text).models["two"].output_tokens == 50.0


@pytest.mark.parametrize(
    "before",
    [
        "windows: [a]\nmodels:\n- {name: one, rate: [1]}\n",
        "windows:\n- a   # first\n# about models\nmodels:\n- name: one\n  rate:\n  - 1\n  # end\n",
        "windows:\n  - {name: a, weight: 2}\nmodels:\n- name: one\n  rate: 3\n",
        "models:\n- name: one\n  rate: 3\n",
        '{"models": [{"name": "one", "rate": 3}]}',
        '{"windows": ["x"], "models": [{"name": "one"}]}',
    ],
)
def test_windows_are_written_into_any_form_of_text(before):
    text = with_fields(before, {0: {"rate": [1.5, 2.0]}}, ("night", "day"))
    data = parse_yaml(text)
    assert data["windows"] == ["night", "day"]
    assert data["models"][0]["rate"] == [1.5, 2.0]
    for comment in ("# about models", "# end"):
        assert (comment in text) == (comment in before)


def test_equal_parts():
    found = observation(one=[1.0] * 30 + [3.0] * 30)
    windows = windows_in(found, "2")
    assert [window.name for window in windows] == ["part-1", "part-2"]
    assert window_rates(found.models[0], found, windows) == [1.0, 3.0]


def test_hours_of_the_day_and_of_the_week():
    monday = 1_700_438_400.0 + 6 * 3600.0  # six in the morning, on 20 November 2023
    rates = [float(6 + hour % 24) for hour in range(30) for _ in range(60)]
    found = observation(begin=monday, one=rates)
    day = windows_in(found, "day")
    assert [window.name for window in day] == [f"{hour:02}h" for hour in range(24)]
    by_name = dict(
        zip([w.name for w in day], window_rates(found.models[0], found, day), strict=True)
    )
    assert by_name["06h"] == 6.0
    assert by_name["23h"] == 23.0
    assert by_name["05h"] == 29.0
    week = windows_in(found, "week")
    assert week[0].name == "mon-06h"
    assert len(week) == 30


def test_windows_come_with_how_far_they_can_be_trusted():
    hours = np.arange(5 * 24)
    walk = 9.0 + np.cumsum(np.random.default_rng(5).normal(size=len(hours))) * 0.3
    found = observation(
        begin=1_700_438_400.0,
        bin_seconds=3600.0,
        one=(3.0 - 2.0 * np.cos(hours * np.pi / 12)).tolist(),
        two=walk.tolist(),
    )
    fleet = parse_fleet(FLEET)
    windows = windows_in(found, "day")
    new = fleet_with_demand(fleet, found, windows)
    assert new.models["one"].predictability == 1.0
    assert new.models["two"].predictability <= 0.0
    assert new.models["three"].predictability is None
    assert window_trust(new.spec).doubtful == ("two",)
    assert new.problem.windows == 24
    assert "predictability: 1\n" in fleet_draft(found, {"H100-80GB": 1}, windows)
    without = demand_changes(fleet.spec.models, found)
    assert not any(change.field == "predictability" for change in without.changes)


@pytest.mark.parametrize(("by", "message"), [
    ("1", "must be a number of equal parts"), ("x", "must be a number"), ("500", "only 60 bins"),
    ("-2", "must be"), ("day", "needs times of day"), ("٣", "must be"),
])  # fmt: skip
def test_windows_that_cannot_be(by, message):
    with pytest.raises(InputError, match=message):
        windows_in(observation(one=[1.0] * 60), by)


def test_an_observation_is_checked():
    found = observation(one=1.0)
    with pytest.raises(InputError, match="have one name"):
        Observation("a", "trace", None, 1.0, 1.0, None, (*found.models, *found.models))
