"""Traces as observations, against sums that are made without bins."""

import gzip
from collections import defaultdict
from statistics import fmean

import numpy as np
import pytest

from colocate.errors import InputError
from colocate.inputs.observation.from_trace import observe_trace
from colocate.inputs.observation.observation import Basis, Remark
from colocate.inputs.observation.together import correlations
from colocate.inputs.observation.trace_bins import MOST_BINS

HEAD = "arrival_s,model,prompt_tokens,output_tokens\n"


def written(tmp_path, rows, head=HEAD, name="trace.csv"):
    path = tmp_path / name
    path.write_text(head + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def drawn(seed, number, seconds, models=5):
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0.0, seconds, number))
    which = random.integers(0, models, number)
    prompts, outputs = random.integers(1, 900, number), random.integers(0, 500, number)
    return [
        (repr(float(t)), f"m-{m}", int(p), int(o))
        for t, m, p, o in zip(times, which, prompts, outputs, strict=True)
    ]


@pytest.mark.parametrize(("number", "seconds"), [(300, 90.0), (5000, 4000.0), (3000, 9e6)])
def test_rates_and_lengths_are_those_of_the_trace(tmp_path, number, seconds):
    rows = drawn(4, number, seconds)
    found = observe_trace(written(tmp_path, rows))
    by_model = defaultdict(list)
    for row in rows:
        by_model[row[1]].append(row)
    last = float(rows[-1][0])
    assert found.seconds == pytest.approx(last)
    assert found.bins <= MOST_BINS
    asked = {name: len(own) for name, own in by_model.items()}
    assert [asked[model.name] for model in found.models] == sorted(asked.values(), reverse=True)
    for model in found.models:
        own = by_model[model.name]
        assert model.basis is Basis.ARRIVED
        assert model.rate.value == pytest.approx(len(own) / last)
        assert model.prompt_tokens.value == pytest.approx(fmean(row[2] for row in own))
        assert model.output_tokens.value == pytest.approx(fmean(row[3] for row in own))
        gaps = np.diff([float(row[0]) for row in own])
        assert model.burstiness.variation == pytest.approx(gaps.std() / gaps.mean())
        whole = [found.bin_seconds] * (found.bins - 1)
        seconds_of = [*whole, found.seconds - sum(whole)]
        total = sum(rate * each for rate, each in zip(model.rates, seconds_of, strict=True))
        assert total == pytest.approx(len(own))


def test_blocks_of_a_large_file_change_nothing(tmp_path):
    rows = drawn(9, 40_000, 3000.0, models=40)
    plain = observe_trace(written(tmp_path, rows))
    packed = tmp_path / "trace.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "trace.csv").read_bytes()))
    again = observe_trace(packed)
    assert again.models == plain.models
    assert sum(model.rate.value for model in plain.models) == pytest.approx(40_000 / plain.seconds)


def test_dates_tell_the_time_of_day(tmp_path):
    head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    rows = [(f"2024-05-10 00:00:{n:02}+00:00", 10, 5) for n in range(60)]
    found = observe_trace(written(tmp_path, rows, head))
    assert found.begin == 1715299200.0
    assert [model.name for model in found.models] == ["all"]
    assert [note.remark for note in found.notes] == [Remark.UNNAMED]
    named = observe_trace(written(tmp_path, rows, head), {"all": "llama"})
    assert named.models[0].name == "llama"


def test_seconds_since_1970_tell_the_time_and_are_no_endless_trace(tmp_path):
    rows = [(1.7e9 + n, "a", 10, 5) for n in range(100)]
    found = observe_trace(written(tmp_path, rows))
    assert found.begin == 1.7e9
    assert found.seconds == 99.0
    assert observe_trace(written(tmp_path, drawn(1, 50, 60.0))).begin is None


def test_several_names_may_stand_for_one_model(tmp_path):
    rows = [(n, " ab"[n % 3] or "a", 10, 5) for n in range(90)]
    rows = [(t, {" ": "b ", "a": "a", "b": "b"}[m], p, o) for t, m, p, o in rows]
    found = observe_trace(written(tmp_path, rows), {"a": "one", "b": "one"})
    assert [model.name for model in found.models] == ["one"]
    assert found.models[0].rate.value == pytest.approx(90 / 89)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, "a", 1, 1)], r"trace.csv: lasts 0 s .* must be 1 s or longer"),
        ([(0, "a", 1, 1), (0.5, "a", 1, 1)], r"lasts 0.5 s"),
        ([(0, "", 1, 1), (5, "a", 1, 1)], r"trace.csv: line 2: model is empty"),
        ([(0, "a", -1, 1)], r"trace.csv: line 2: prompt_tokens='-1', must be a whole number"),
        ([(5, "a", 1, 1), (1, "a", 1, 1)], r"line 3: arrival_s='1' is earlier"),
        ([], r"has no requests"),
        (
            [(n, f"user-{n}", 1, 1) for n in range(2500)],
            r"line 2002: model='user-2000', must be one",
        ),
    ],
)
def test_a_bad_trace_is_one_sentence(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        observe_trace(written(tmp_path, rows))


def test_models_that_peak_together_and_apart_are_told(tmp_path):
    random = np.random.default_rng(2)
    rows = []
    for second in range(1200):
        high = (second // 60) % 2 == 0
        for name, rate in (("day", 1.5 if high else 0.1), ("too", 1.5 if high else 0.1),
                           ("night", 0.1 if high else 1.5), ("any", 0.8)):  # fmt: skip
            rows += [(second, name, 10, 10)] * int(random.poisson(rate))
    pairs = {
        frozenset((pair.first, pair.second)): pair
        for pair in correlations(observe_trace(written(tmp_path, rows)))
    }
    assert len(pairs) == 6
    assert pairs[frozenset(("day", "too"))].clear
    assert pairs[frozenset(("day", "too"))].value > 0.5
    assert pairs[frozenset(("day", "night"))].clear
    assert pairs[frozenset(("day", "night"))].value < -0.5
    assert not pairs[frozenset(("day", "any"))].clear


def test_independent_models_are_hardly_ever_called_alike(tmp_path):
    wrong = 0
    for seed in range(20):
        rows = drawn(seed, 2000, 600.0, models=8)
        found = correlations(observe_trace(written(tmp_path, rows)))
        wrong += any(pair.clear for pair in found)
    assert wrong <= 4  # 1 in 20 is expected
