"""Constants come back from readings, with honest uncertainty."""

from math import inf, isinf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.latency.calibration import Calibration, fit_linear, fit_prefills, fit_steps, student

TRUE = {"base_ms": 5.26, "per_request_ms": 0.12, "per_1k_context_ms": 0.21}
BATCHES = [1, 2, 4, 8, 16, 32]
CONTEXTS = [100, 500, 2000]


def readings(generator, noise=0.0, repeats=2, batches=BATCHES, contexts=CONTEXTS):
    """Batches, contexts and milliseconds with relative noise."""
    grid = [(b, n) for _ in range(repeats) for b in batches for n in contexts]
    b, n = (np.array(column, float) for column in zip(*grid, strict=True))
    exact = TRUE["base_ms"] + TRUE["per_request_ms"] * b + TRUE["per_1k_context_ms"] * b * n / 1000
    return b, n, exact * (1 + noise * generator.standard_normal(len(b)))


def test_exact_readings_give_the_constants():
    fit = fit_steps(*readings(np.random.default_rng(1)))
    for name, value in TRUE.items():
        assert fit.constants[name].value == pytest.approx(value)
        assert fit.constants[name].is_clear
    assert (fit.readings, fit.unusual) == (36, 0)
    assert fit.typical_error < 1e-9


def test_two_prompts_by_hand():
    fit = fit_prefills([1000, 3000], [30.0, 70.0])
    assert fit.constants["prefill_base_ms"].value == pytest.approx(10.0)
    assert fit.constants["prefill_ms_per_1k_tokens"].value == pytest.approx(20.0)
    assert isinf(fit.constants["prefill_base_ms"].margin)


def test_intervals_hold_as_often_as_they_say():
    generator = np.random.default_rng(7)
    held = dict.fromkeys(TRUE, 0)
    for _ in range(300):
        fit = fit_steps(*readings(generator, noise=0.03))
        for name, value in TRUE.items():
            found = fit.constants[name]
            held[name] += abs(found.value - value) <= found.margin
    assert all(count / 300 >= 0.90 for count in held.values()), held


def test_noise_of_another_kind_than_expected_is_covered_too():
    """Of prefills, a constant jitter: short prompts are relatively noisier."""
    generator = np.random.default_rng(3)
    tokens = np.array([100, 500, 2000] * 8, float)
    held = 0
    for _ in range(300):
        times = 10 + 20 * tokens / 1000 + generator.standard_normal(len(tokens))
        found = fit_prefills(tokens, times).constants["prefill_ms_per_1k_tokens"]
        held += abs(found.value - 20) <= found.margin
    assert held / 300 >= 0.88


def test_disturbed_readings_hardly_matter():
    generator = np.random.default_rng(5)
    b, n, times = readings(generator, noise=0.01, repeats=3)
    times[::6] *= generator.uniform(2, 20, len(times[::6]))
    fit = fit_steps(b, n, times)
    assert fit.constants["base_ms"].value == pytest.approx(TRUE["base_ms"], rel=0.03)
    assert fit.constants["per_1k_context_ms"].value == pytest.approx(0.21, rel=0.1)
    assert fit.unusual >= len(times[::6])


def test_one_context_is_not_told_apart_from_requests():
    fit = fit_steps(*readings(np.random.default_rng(1), contexts=[500]))
    merged = fit.constants["per_1k_context_ms"]
    assert (merged.value, merged.merged_into, merged.is_clear) == (0.0, "per_request_ms", False)
    assert isinf(merged.margin)
    assert fit.constants["per_request_ms"].value == pytest.approx(0.12 + 0.21 * 0.5)


def test_contexts_that_hardly_differ_are_one():
    fit = fit_steps(*readings(np.random.default_rng(1), contexts=[490, 500, 510]))
    assert fit.constants["per_1k_context_ms"].merged_into == "per_request_ms"


def test_one_batch_is_not_told_apart_from_the_base():
    fit = fit_steps(*readings(np.random.default_rng(1), batches=[1]))
    assert fit.constants["per_request_ms"].merged_into == "base_ms"
    assert fit.constants["base_ms"].value == pytest.approx(5.26 + 0.12)
    assert fit.constants["per_1k_context_ms"].value == pytest.approx(0.21)


def test_one_reading_is_the_base():
    fit = fit_steps([4], [800], [6.0])
    assert [each.value for each in fit.constants.values()] == [6.0, 0.0, 0.0]
    assert all(isinf(each.margin) for each in fit.constants.values())
    assert not fit.constants["base_ms"].is_clear


def test_no_constant_is_below_zero():
    b, n, _ = readings(np.random.default_rng(1))
    fit = fit_steps(b, n, 10 - 0.1 * b)
    assert fit.constants["per_request_ms"].value == 0.0
    assert min(each.value for each in fit.constants.values()) == 0.0
    assert not fit.constants["per_request_ms"].is_clear


def test_constants_are_listed_as_a_fleet_file_lists_them():
    steps = fit_steps(*readings(np.random.default_rng(1)))
    prefills = fit_prefills([10, 20, 30], [1.0, 2.0, 3.0])
    names = list(Calibration(steps, prefills).constants)
    assert names == [*TRUE, "prefill_base_ms", "prefill_ms_per_1k_tokens"]
    assert list(Calibration(steps, None).constants) == list(TRUE)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (5, 2.571), (30, 2.042)]
)
def test_quantiles_of_student(freedom, quantile):
    assert student(freedom) == pytest.approx(quantile, rel=0.01)
    assert student(0) == inf


@given(
    st.lists(
        st.tuples(st.integers(1, 256), st.floats(1, 1e5), st.floats(1e-3, 1e6)),
        min_size=1,
        max_size=30,
    )
)
def test_any_readings_give_some_answer(rows):
    fit = fit_steps(*zip(*rows, strict=True))
    for constant in fit.constants.values():
        assert 0.0 <= constant.value < inf
        assert constant.standard_error >= 0.0


@given(st.floats(1e-3, 1e3))
def test_units_do_not_matter(scale):
    generator = np.random.default_rng(11)
    b, n, times = readings(generator, noise=0.02)
    once = fit_steps(b, n, times).constants["base_ms"]
    again = fit_steps(b, n, times * scale).constants["base_ms"]
    assert again.value == pytest.approx(scale * once.value)
    assert again.margin == pytest.approx(scale * once.margin)


def test_columns_that_are_zero_do_not_count():
    fit = fit_linear({"a": np.ones(4), "b": np.zeros(4)}, np.full(4, 2.0))
    assert fit.constants["a"].value == pytest.approx(2.0)
    assert fit.constants["b"].merged_into == "a"
