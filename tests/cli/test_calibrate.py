"""`colocate calibrate` as people use it: the block, JSON, notes, errors and Ctrl-C."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
import yaml
from typer.testing import CliRunner

from colocate.cli.main import app, main
from colocate.inputs.calibration.dialect import Dialect
from colocate.inputs.calibration.probe_settings import ProbeFindings
from colocate.inputs.calibration.readings import PrefillReading, StepReading, calibration_of
from colocate.outputs.calibration import (
    calibration_data,
    calibration_yaml,
    notes_on_fit,
    notes_on_probe,
)
from tests.inputs.calibration.broken_server import answering, silent, status, whole
from tests.inputs.calibration.step_server import Law, serving

DATA = Path(__file__).parents[1] / "data" / "metrics"
FIELDS = ["base_ms", "per_request_ms", "per_1k_context_ms"]
FIELDS += ["prefill_base_ms", "prefill_ms_per_1k_tokens"]
GRID = [(batch, context) for batch in (1, 2, 4, 8) for context in (100, 900)]
STEPS = [StepReading(b, n, 5.0 + 0.1 * b + 0.2 * b * n / 1000) for b, n in GRID]
PREFILLS = [PrefillReading(tokens, 3.0 + tokens / 50) for tokens in (100, 400, 900, 100, 400, 900)]


def ended(arguments, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["colocate", "calibrate", *arguments])
    try:
        main()
    except SystemExit as end:
        printed = capsys.readouterr()
        return end.code or 0, printed.out, printed.err
    raise AssertionError("typer always exits")


def test_a_server_becomes_a_block_of_a_fleet_file(monkeypatch, capsys):
    with serving(Law()) as url:
        options = [url, "--kind", "h200", "--seconds", "5", "--most-requests", "4"]
        code, out, err = ended(options, monkeypatch, capsys)
    assert code == 0, err
    block = yaml.safe_load(out)["steps"]["H200"]
    assert list(block) == FIELDS
    assert block["base_ms"] == pytest.approx(8.0, rel=0.15)
    assert out.startswith("# small: ")
    assert out.count(" ± ") == 1 + len(FIELDS)


def test_json_has_uncertainty_and_notes(monkeypatch, capsys):
    with serving(Law(slots=1)) as url:
        code, out, err = ended([url, "--seconds", "4", "--json"], monkeypatch, capsys)
    assert code == 0, err
    data = json.loads(out)
    assert (data["model"], data["kind"]) == ("small", None)
    assert list(data["steps"]) == list(data["constants"]) == FIELDS
    assert data["constants"]["base_ms"]["standard_error"] > 0
    assert data["constants"]["per_request_ms"]["merged_into"] == "base_ms"
    assert data["constants"]["per_request_ms"]["margin_95"] is None
    assert any("at most 1" in note for note in data["notes"])
    assert all(f"note: {note}" in err for note in data["notes"])


def test_ctrl_c_keeps_what_was_measured():
    with serving(Law()) as url:
        command = [sys.executable, "-m", "colocate", "calibrate", url, "--seconds", "300"]
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        sleep(6)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=10)
    assert running.returncode == 0, err
    assert "interrupted: the constants rest on what was measured until then" in err
    assert yaml.safe_load(out)["steps"]["base_ms"] == pytest.approx(8.0, rel=0.3)


def test_ctrl_c_before_anything_was_measured():
    with answering(silent) as (_, url):
        command = [sys.executable, "-m", "colocate", "calibrate", url, "--seconds", "300"]
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        sleep(4)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=10)
    assert (running.returncode, out) == (130, ""), err


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_metrics_in_files(engine, monkeypatch, capsys):
    """Of a GPU that nobody knows."""
    files = [
        each for number in (1, 2) for each in ("--metrics", str(DATA / f"{engine}-{number}.txt"))
    ]
    code, out, err = ended([*files, "--kind", "mine"], monkeypatch, capsys)
    assert code == 0, err
    assert yaml.safe_load(out)["steps"]["mine"]["base_ms"] == pytest.approx(5.6, abs=0.3)
    assert "only 1 decode reading" in err
    assert "'mine' is not in the catalogue" in err
    assert "too few readings to tell how uncertain it is" in out
    assert "per_request_ms cannot be told apart from base_ms" in err


@pytest.mark.parametrize(
    ("way", "options", "code", "told"),
    [
        (whole, [], 1, "not in pieces"),
        (status(500), [], 1, "answered 500"),
        (status(404), ["--model", "smal"], 2, "did you mean 'small'?"),
        (status(404), ["--model", "small"], 1, "answered 404"),
    ],
)
def test_broken_servers(way, options, code, told, monkeypatch, capsys):
    with answering(way) as (_, url):
        found = ended([url, "--seconds", "2", *options], monkeypatch, capsys)
    assert found[:2] == (code, "")
    assert told in found[2]


def test_a_server_that_is_down(monkeypatch, capsys):
    with answering(whole) as (_, url):
        pass
    code, out, err = ended([url], monkeypatch, capsys)
    assert (code, out) == (1, "")
    assert "no connection" in err


def test_help_names_all_ways():
    text = CliRunner().invoke(app, ["calibrate", "--help"]).stdout
    assert all(option in text for option in ("[url]", "--metrics", "--prometheus"))


def test_the_block_without_and_with_a_kind():
    found = calibration_of(STEPS, PREFILLS)
    plain = yaml.safe_load(calibration_yaml(found, "m", None))["steps"]
    assert plain["base_ms"] == pytest.approx(5.0)
    assert plain["prefill_ms_per_1k_tokens"] == pytest.approx(20.0)
    odd = yaml.safe_load(calibration_yaml(found, "a\n- b: \x1b[31m", 'H100: "x"'))["steps"]
    assert odd == {'H100: "x"': plain}
    assert calibration_data(found, "m", "h200", [])["steps"] == {"h200": plain}


def test_without_prefills_the_block_has_none():
    found = calibration_of(STEPS, [])
    assert list(yaml.safe_load(calibration_yaml(found, "m", None))["steps"]) == FIELDS[:3]
    assert "no prefill was measured: add prefill_ms_per_1k_tokens to the block" in notes_on_fit(
        found
    )


def test_notes_say_what_could_not_be_told():
    one_length = calibration_of([each for each in STEPS if each.context == 100], PREFILLS[:1])
    told = "\n".join(notes_on_fit(one_length))
    assert "per_1k_context_ms cannot be told apart from per_request_ms, which holds both" in told
    assert "prefill_base_ms cannot be told apart from prefill_ms_per_1k_tokens" in told
    assert "only 4 decode readings: measure for longer" in told
    crooked = [StepReading(b, n, 5.0 + 3.0 * (b % 3)) for b, n in 2 * GRID]
    assert "off the law" in "\n".join(notes_on_fit(calibration_of(crooked, PREFILLS)))


def test_notes_say_what_happened():
    findings = ProbeFindings(
        Dialect("m", full_length=False),
        failures=2,
        counted_words=True,
        tokens_per_arrival=2.5,
        too_many=8,
        at_once=5,
        own_fault=1,
        interrupted=True,
    )
    told = list(notes_on_probe(findings))
    assert len(told) == 7
    assert "8 requests were not answered at once, but at most 5" in told[1]
    findings.too_long = 2048
    assert any("2,048 words were refused" in note for note in notes_on_probe(findings))
    assert list(notes_on_probe(ProbeFindings(Dialect("m")))) == []
