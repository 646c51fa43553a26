"""Time windows in fleet files: names, weights, lists of rates, headroom, predictability."""

import pytest

from colocate.errors import InputError
from colocate.inputs.fleet import fleet_of, parse_fleet, replanned_for
from colocate.inputs.fleet_windows import left_out
from colocate.inputs.window_trust import window_trust
from colocate.problem.window import Window

HEAD = """
windows: [night, day]
gpus:
  - {kind: H100-80GB, count: 2, name: g}
models:
"""


def fleet_with(*models, head=HEAD):
    return parse_fleet(head + "".join(f"  - {{{model}}}\n" for model in models))


def test_rates_over_windows_become_loads_over_windows():
    fleet = fleet_with(
        "name: chat, size_gb: 16, rate: [1, 8], slo: 2", "name: mail, size_gb: 8, rate: 3, slo: 2"
    )
    chat, mail = fleet.problem.models
    assert chat.load == (0.5, 4.0)
    assert mail.load == (1.5,)
    assert fleet.problem.windows == 2
    assert fleet.problem.named_windows == (Window("night"), Window("day"))


def test_windows_may_have_weights():
    head = HEAD.replace("[night, day]", "[{name: night, weight: 8}, {name: day, weight: 16}]")
    fleet = fleet_with(
        "name: chat, size_gb: 16, rate: [1, 8], slo: 2, may_sleep: true",
        "name: mail, size_gb: 8, rate: 3, slo: 2",
        head=head,
    )
    assert fleet.problem.named_windows == (Window("night", 8.0), Window("day", 16.0))
    # What a sleeper loses is its demand over the whole day.
    assert fleet.problem.models[0].sleep_cost == pytest.approx((8 * 1 + 16 * 8) / 24)
    again = parse_fleet(str(fleet.as_dict()).replace("None", "null"))
    assert again.problem == fleet.problem


def test_names_of_windows_may_be_left_out():
    fleet = fleet_with(
        "name: chat, size_gb: 16, rate: [1, 8, 2], slo: 2", head=HEAD.replace("windows", "x-w")
    )
    assert [w.name for w in fleet.problem.named_windows] == ["window 1", "window 2", "window 3"]


def test_tokens_over_windows_become_loads_and_requests():
    head = "load: tokens" + HEAD
    fleet = fleet_with(
        "name: chat, config: Qwen2.5-7B-Instruct, tokens_per_second: [100, 800], "
        "prompt_tokens: 300, output_tokens: 100, tpot_slo: 0.05",
        head=head,
    )
    (chat,) = fleet.problem.models
    assert chat.requests.rates == (0.25, 2.0)
    assert chat.requests.rate == 2.0
    assert chat.load[1] == pytest.approx(8 * chat.load[0])
    night = fleet.problem.in_window(0)
    assert (night.windows, night.models[0].requests.rate) == (1, 0.25)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "rate: [1, 2, 3], slo: 2",
            "line 6: models[0] 'a': rate has 3 numbers, must be 2, as many",
        ),
        ("load: [1, 2, 3]", "line 6: models[0] 'a': load has 3 numbers, must be 2"),
        ("rate: [1, -2], slo: 2", "line 6: models[0] 'a': rate=[1, -2], must be a finite number"),
        ("rate: [], slo: 2", "rate=[], must be"),
        ("rate: [1, x], slo: 2", "rate=[1, 'x'], must be"),
        ("rate: [1, 2]", "slo is missing"),
        ("load: 1, predictability: 1.5", "predictability=1.5"),
    ],
)
def test_a_list_that_is_wrong_is_named_with_line_and_field(model, message):
    with pytest.raises(InputError) as error:
        fleet_with(f"name: a, size_gb: 1, {model}")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ("[night, night]", "line 2: windows has 'night' more than once"),
        ("[]", "windows=[]"),
        ("[{name: night, weight: 0}, day]", "windows="),
        ("[{weight: 1}, day]", "windows="),
        ("3", "windows=3"),
        ("[night, day, dawn]", "rate has 2 numbers, must be 3, as many as windows"),
    ],
)
def test_windows_that_are_wrong_are_refused(windows, message):
    with pytest.raises(InputError) as error:
        fleet_with(
            "name: a, size_gb: 1, rate: [1, 2], slo: 1", head=HEAD.replace("[night, day]", windows)
        )
    assert message in str(error.value)


def test_lists_of_unlike_lengths_are_refused_without_names_too():
    with pytest.raises(InputError, match="rate has 2 numbers, must be 3, as the longest list has"):
        fleet_with(
            "name: a, size_gb: 1, rate: [1, 2], slo: 1",
            "name: b, size_gb: 1, load: [1, 2, 3]",
            head=HEAD.replace("windows", "x-w"),
        )


def test_headroom_multiplies_all_demand():
    models = ("name: a, size_gb: 1, rate: [1, 2], slo: 1", "name: b, size_gb: 1, load: 5")
    fleet = fleet_with(*models, head="headroom: 0.5" + HEAD)
    assert [m.load for m in fleet.problem.models] == [(1.5, 3.0), (7.5,)]
    assert fleet.problem.headroom == 0.5
    assert fleet.spec.models[0].rate == [1, 2]
    more = replanned_for(fleet_with(*models), headroom=0.5)
    assert more.problem == fleet.problem


def test_windows_of_unpredictable_models_are_not_worth_trusting():
    fleet = fleet_with(
        "name: steady, size_gb: 1, rate: 2, slo: 1, predictability: 0",
        "name: daily, size_gb: 1, rate: [1, 2], slo: 1, predictability: 0.6",
        "name: wild, size_gb: 1, rate: [1, 2], slo: 1, predictability: -0.3",
        "name: new, size_gb: 1, rate: [1, 2], slo: 1",
    )
    trust = window_trust(fleet.spec)
    assert trust.moving == ("daily", "wild", "new")
    assert trust.doubtful == ("wild",)
    assert trust.unknown == ("new",)


def test_a_percentile_leaves_out_the_windows_with_most_demand():
    head = HEAD.replace(
        "[night, day]", "[{name: night, weight: 8}, {name: day, weight: 15}, {name: noon}]"
    )
    models = (
        "name: a, size_gb: 1, rate: [1, 2, 9], slo: 1",
        "name: b, size_gb: 1, load: [1, 1, 1]",
        "name: c, size_gb: 1, load: 5",
    )
    for percent, names in ((95, ["noon"]), (96, []), (100, []), (30, ["day", "noon"])):
        fleet = replanned_for(fleet_with(*models, head=head), window_percentile=percent)
        without = left_out(fleet.spec)
        assert [window.name for window in without.windows] == names
        assert fleet.problem.windows == 3 - len(names)
        assert without.share == pytest.approx(sum(w.weight for w in without.windows) / 24)
        again = fleet_of(fleet.as_dict())
        assert again.problem == fleet.problem
    kept = replanned_for(fleet_with(*models, head=head), window_percentile=95).problem
    assert [w.name for w in kept.named_windows] == ["night", "day"]
    assert kept.models[0].load == (1.0, 2.0)
