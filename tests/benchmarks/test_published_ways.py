"""Ways to estimate published runs: what they count, and how they are judged."""

import pytest
from benchmarks.published_runs import read, speed_of
from benchmarks.published_ways import (
    FACTS,
    TODAY,
    Way,
    best_without,
    operations_by,
    speed_by,
)

from colocate.inputs.gpu_catalogue import find_accelerator

EIGHT_B = next(row for row in read() if row["model"] == "Llama-3.1-8B-Instruct")
FOUR_B = next(row for row in read() if row["model"] == "Qwen3-4B")


def test_the_way_of_today_is_the_catalogue():
    for row in read():
        expected, found = speed_of(row), speed_by(TODAY, row)
        assert found.step == pytest.approx(expected.step)
        assert found.step_per_request == pytest.approx(expected.step_per_request)
        assert found.prefill == pytest.approx(expected.prefill)
        assert found.prefill_work == pytest.approx(expected.prefill_work)


def test_a_step_leaves_out_the_bytes_of_a_table_that_is_not_the_head():
    # 128,256 rows of 4,096 numbers in 2 bytes, at 0.8 of the 2,039 GB/s of an A100.
    less = speed_by(Way(), EIGHT_B).step - speed_by(Way(tables=True), EIGHT_B).step
    assert less == pytest.approx(128256 * 4096 * 2 / (0.8 * 2039e9), rel=1e-6)
    assert speed_by(Way(), FOUR_B).step == pytest.approx(speed_by(Way(tables=True), FOUR_B).step)


def test_prefills_take_measured_products():
    assert operations_by(FACTS, find_accelerator("RTX-5090"), 16) == pytest.approx(0.7 * 238e12)
    assert operations_by(FACTS, find_accelerator("A10"), 16) == pytest.approx(0.7 * 100e12)
    assert operations_by(FACTS, find_accelerator("RTX-5090"), 8) == 0.5 * 419e12
    assert operations_by(Way(geforce=0.9), find_accelerator("RTX-5090"), 16) == pytest.approx(
        0.9 * 209.5e12
    )


def test_the_engine_that_judges_does_not_choose():
    found = [[[0.1], [0.1], [0.0]], [[0.05], [0.05], [0.9]]]
    assert best_without(found, None) == 0
    assert best_without(found, 2) == 1
    assert best_without(found, 0) == 0
