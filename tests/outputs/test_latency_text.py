import re
from math import inf

import pytest
from rich.console import Console

from colocate import predict
from colocate.inputs.fleet import fleet_of
from colocate.inputs.known_requests import RequestGap
from colocate.outputs.latency.table import latency_rows, latency_table
from colocate.outputs.latency.words import gap_note, shown_ratio, shown_time, target_text


def predictions(**fields):
    model = {"size_gb": 16, "rate": 6, "slo": 5, "prompt_tokens": 512, "output_tokens": 128}
    names = {"chat": {**model, "tpot_slo": 0.05, **fields}, "code": model}
    models = [{"name": name, **stated} for name, stated in names.items()]
    fleet = fleet_of({"gpus": [{"node": "n", "kind": "H200", "count": 4}], "models": models})
    places = [f"n-{number}" for number in range(fields.get("shards", 1))]
    return predict(fleet, {"chat": places, "code": "n-0"})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0157, "15.7 ms"),
        (0.00004, "0.04 ms"),
        (0.9994, "999 ms"),
        (0.99951, "1 s"),
        (21.34, "21.3 s"),
        (1234.5, "1,234 s"),
        (inf, "∞"),
    ],
)
def test_times_as_people_read_them(seconds, text):
    assert shown_time(seconds) == text


def test_ratios():
    assert [shown_ratio(value) for value in (0.305, 2.716, 3000, inf)] == [
        "0.30",
        "2.72",
        "3,000",
        "∞",
    ]


def test_targets_in_words():
    for fields, text in (
        ({}, "TPOT 50 ms"),
        ({"ttft_slo": 1.5}, "TPOT 50 ms, TTFT 1.5 s"),
        ({"percentile": 99}, "TPOT 50 ms (p99)"),
    ):
        assert target_text(predictions(**fields)[0].requests) == text


def test_a_row_says_how_slow_a_model_is_and_whether_its_target_holds():
    chat, code = latency_rows(predictions())
    assert (chat.model, chat.gpus, chat.target, chat.verdict) == (
        "chat",
        "n-0",
        "TPOT 50 ms",
        "holds",
    )
    assert (code.target, code.verdict) == ("-", "no target")
    assert chat.tpot.endswith(" ms")
    assert re.fullmatch(r"\d\.\dx", chat.slower)
    assert latency_rows(predictions(tpot_slo=0.001))[0].verdict == "misses"
    assert latency_rows(predictions(rate=1e6))[0].verdict == "saturated"
    assert latency_rows(predictions(shards=4))[0].gpus == "n-0 + 3 more"
    encoder = latency_rows(predictions(output_tokens=0))[0]
    assert (encoder.tpot, encoder.tpot_p99, encoder.cache) == ("-", "-", "-")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_table_fits_the_screen_and_keeps_what_matters(width):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(latency_table(predictions(), "mps", width))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    for word in ("TPOT", "alone", "slower", "TTFT", "verdict", "holds"):
        assert word in text
    assert "engines on a GPU share it by MPS" in text
    assert "the targets of 1 model hold" in text
    assert ("on a wider screen also" in text) == (width < 160)


def test_the_worst_ratio_names_its_model_and_a_usual_target():
    usual = predictions(tpot_slo=1.0)
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(latency_table(usual, "slices", 200))
    assert "code on n-0 (assumed target: TPOT 100 ms)" in console.export_text()


def test_gaps_in_words():
    some = RequestGap("prompt_tokens", ("x", "y")), RequestGap("output_tokens", ("x", "y"))
    assert gap_note(some, 5, limited=False) == (
        "latency is not predicted: 2 models state no prompt_tokens and output_tokens"
    )
    kinds = (RequestGap("steps", ("x",), ("", "mine")),)
    assert gap_note(kinds, 5, limited=True) == (
        "latency is not predicted: no steps are stated for GPU kind none and 'mine', so tpot_slo "
        "is no limit"
    )
