"""What must hold of the law whatever its constants are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from colocate.latency.law import (
    ENGINE_COLUMNS,
    LAYERS,
    PER_REQUEST,
    PREFILL,
    RATE,
    SLOTS,
    SPREAD,
    STATE_COLUMNS,
    STEP,
    TOKENS,
    TPOT_SLO,
    TTFT_SLO,
    WORK,
    ratio_of,
)
from colocate.latency.placed import settle_all
from colocate.latency.prediction import predict_placement
from colocate.latency.table import PlacedEngines, engine_row
from colocate.problem.sharing import COSTS
from tests.latency.drawn_engines import (
    KIND,
    MODES,
    drawn,
    groups,
    latencies,
    modes,
    on_gpus,
    requests,
    with_engine,
)

SLACK = 1e-6
"""Of a latency: the iteration stops before the last digits."""


def no_better(before, after):
    """Say whether an engine has it as bad as before, or worse, in every way."""
    pairs = [
        *zip(before.tpot, after.tpot, strict=True),
        *zip(before.ttft, after.ttft, strict=True),
        (before.busy, after.busy),
        (before.in_flight, after.in_flight),
        (before.ratio, after.ratio),
    ]
    saturated = before.saturated or after.saturated
    return all(a <= b * (1 + SLACK) for a, b in (pairs[3:] if saturated else pairs))


@given(groups, drawn(), modes)
def test_one_more_engine_makes_nobody_faster(group, added, sharing):
    before, after = latencies(group, sharing), latencies([*group, added], sharing)
    assert all(no_better(*pair) for pair in zip(before, after, strict=False))


MORE = {
    "rate": lambda stated: replace(stated, rate=stated.rate * 1.3 + 0.01),
    "step": lambda stated: with_engine(stated, step=stated.engines[0][1].step * 1.3),
    "step_per_request": lambda stated: with_engine(
        stated, step_per_request=stated.engines[0][1].step_per_request * 1.3 + 1e-5
    ),
    "prefill": lambda stated: with_engine(stated, prefill=stated.engines[0][1].prefill * 1.3),
}


@pytest.mark.parametrize("field", MORE)
@given(groups, modes, st.integers(0, 5))
def test_more_work_for_one_makes_nobody_faster(field, group, sharing, number):
    place = number % len(group)
    more = [MORE[field](each) if n == place else each for n, each in enumerate(group)]
    pairs = zip(latencies(group, sharing), latencies(more, sharing), strict=True)
    assert all(no_better(*pair) for pair in pairs)


@given(groups, modes, st.integers(0, 5))
def test_longer_answers_of_one_make_no_other_faster(group, sharing, number):
    # Its own TPOT may fall: what its first token waits for counts for more tokens.
    place = number % len(group)
    assume(group[place].output_tokens > 1.0)  # an encoder that becomes a decoder is another engine
    longer = replace(group[place], output_tokens=group[place].output_tokens * 1.3 + 1)
    more = [longer if n == place else each for n, each in enumerate(group)]
    pairs = list(zip(latencies(group, sharing), latencies(more, sharing), strict=True))
    before, after = pairs.pop(place)
    assert before.busy <= after.busy * (1 + SLACK)
    assert all(no_better(*pair) for pair in pairs)


def test_a_neighbour_that_is_never_asked_costs_nothing():
    for sharing in MODES:
        (alone,) = latencies([requests()], sharing)
        beside, idle = latencies([requests(), requests(rate=0.0)], sharing)
        assert beside == alone
        assert (idle.busy, idle.in_flight, idle.saturated) == (0.0, 0.0, False)
        assert idle.tpot.mean > 0.0


@given(groups, modes)
def test_other_gpus_do_not_matter(group, sharing):
    problem, placement = on_gpus(group, [requests(rate=20.0)] * 3)
    found = predict_placement(problem, placement, sharing)
    assert [each.shared for each in found[: len(group)]] == latencies(group, sharing)
    assert all(no_better(each.alone, each.shared) for each in found)


def far_from_saturation(found):
    return all(
        not each.saturated and each.in_flight_p99 < 8 and each.ttft.mean < 5.0 for each in found
    )


@given(groups, modes, st.randoms(use_true_random=False))
def test_the_order_of_the_engines_does_not_matter(group, sharing, random):
    order = list(range(len(group)))
    random.shuffle(order)
    before = latencies(group, sharing)
    assume(far_from_saturation(before))
    after = latencies([group[place] for place in order], sharing)
    for place, found in zip(order, after, strict=True):
        assert [*found.tpot, *found.ttft, found.busy, found.ratio] == pytest.approx(
            [*before[place].tpot, *before[place].ttft, before[place].busy, before[place].ratio],
            rel=SLACK,
        )


@given(groups, modes, st.sampled_from(list(MORE)), st.integers(0, 5))
def test_a_little_more_work_makes_a_little_difference(group, sharing, field, number):
    before = latencies(group, sharing)
    assume(far_from_saturation(before))
    place = number % len(group)
    factor = 1 + 1e-9
    slightly = replace(group[place], rate=group[place].rate * factor)
    if field != "rate":
        engine = group[place].engines[0][1]
        slightly = with_engine(group[place], **{field: getattr(engine, field) * factor})
    after = latencies([slightly if n == place else e for n, e in enumerate(group)], sharing)
    for old, new in zip(before, after, strict=True):
        assert [*new.tpot, *new.ttft, new.busy] == pytest.approx(
            [*old.tpot, *old.ttft, old.busy], rel=1e-5, abs=1e-12
        )


def settled(engines, sharing):
    state = np.zeros((len(engines), STATE_COLUMNS))
    here = np.arange(len(engines))
    one_gpu = np.zeros_like(here), np.append(here, len(engines))
    all_there = here, np.array([0, len(engines)])
    settle_all(PlacedEngines(engines, *one_gpu, *all_there, *all_there), sharing, state)
    return [ratio_of(engines, row, state, row, engines[row, SLOTS]) for row in range(len(engines))]


@given(groups, modes, st.sampled_from([1e-3, 60.0, 1e3]))
def test_seconds_or_milliseconds_do_not_matter(group, sharing, unit):
    assume(far_from_saturation(latencies(group, sharing)))
    engines = np.array([engine_row(each, each.engine_on(KIND)) for each in group])
    assert engines.shape[1] == ENGINE_COLUMNS
    others = engines.copy()
    others[:, RATE] /= unit
    for column in (STEP, PER_REQUEST, PREFILL, WORK, TPOT_SLO, TTFT_SLO):
        others[:, column] *= unit
    for column in (TOKENS, LAYERS, SLOTS, SPREAD):
        assert (others[:, column] == engines[:, column]).all()
    costs = COSTS[sharing]
    rates = {name: value / unit for name, value in costs._asdict().items() if "second" in name}
    scaled = costs._replace(switch=costs.switch * unit, **rates)
    assert settled(others, np.array(scaled)) == pytest.approx(
        settled(engines, np.array(costs)), rel=SLACK
    )


def test_one_request_at_a_time_is_what_a_lone_engine_takes():
    (found,) = latencies([requests(rate=1e-9, step=5e-3, more=1e-4, prefill=0.02)], "slices")
    assert found.tpot == pytest.approx([5.1e-3] * 3, rel=1e-6)
    assert found.ttft == pytest.approx([0.02] * 3, rel=1e-6)
    assert found.ratio == pytest.approx(5.1e-3 / 0.1, rel=1e-6)


def test_an_encoder_has_a_busy_chance_and_a_latency():
    # 10 requests a second of 20 ms are a queue with one server, a fifth of the time in work. The
    # mean wait is (0.2 x 20 ms / 2) / 0.8 = 2.5 ms.
    (found,) = latencies([requests(rate=10.0, tokens=0.0, prefill=0.02)], "slices")
    assert found.tpot == (0.0, 0.0, 0.0)
    assert found.ttft.mean == pytest.approx(0.0225)
    assert found.busy == pytest.approx(1 - np.exp(-0.2))
    assert found.ratio == pytest.approx(0.0225 / 1.0)
    beside, _ = latencies([requests(rate=10.0, tokens=0.0, prefill=0.02), requests(9.0)], "slices")
    assert beside.ttft.mean > found.ttft.mean


def test_a_full_engine_is_saturated_and_its_tokens_still_come():
    (found,) = latencies([requests(rate=1e6, slots=16.0)], "slices")
    assert found.saturated
    assert found.ratio == found.ttft.mean == float("inf")
    assert found.in_flight == 16.0
    # Full batches, each token with its share of 16 prefills: 5 + 1.6 + 20 x 16 / 100 ms.
    assert 5e-3 + 1.6e-3 < found.tpot.mean < 5e-3 + 1.6e-3 + 0.02 * 16


def test_a_replica_in_shards_waits_where_the_wait_is_longest():
    def beside(*neighbours):
        gpus, models = on_gpus(*[[each] for each in neighbours])[0].gpus, []
        problem, placement = on_gpus(*[[each] for each in neighbours])
        split = problem.models[0].changed(
            name="split", shards=2, requests=requests(rate=2.0), size_gb=2.0
        )
        whole = replace(problem, gpus=gpus, models=(split, *problem.models, *models))
        return predict_placement(whole, {"split": ["g0", "g1"], **placement})[0].shared

    calm, hot = requests(rate=0.1), requests(rate=8.0)
    assert beside(hot, calm).tpot.mean > beside(calm, calm).tpot.mean
    assert beside(hot, calm).tpot.mean == pytest.approx(beside(calm, hot).tpot.mean, rel=SLACK)
