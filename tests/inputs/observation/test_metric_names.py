"""The file of names: the one that comes along, and those of users."""

import pytest

from colocate.errors import InputError
from colocate.inputs.observation.metrics.metric_names import (
    known_metric_names,
    parse_metric_names,
    read_metric_names,
)
from colocate.inputs.observation.metrics.version_limits import VersionLimits

START = "schema: 1\nengines:\n- engine: a\n  labels: [x]\n  metrics:\n"


def test_the_names_that_come_along_are_those_of_five_engines():
    names = known_metric_names()
    assert [engine.engine for engine in names.engines][:5] == [
        "vllm", "sglang", "tgi", "tensorrt-llm", "dynamo"]  # fmt: skip
    assert {"vllm:kv_cache_usage_perc", "tgi_request_count"} <= names.names
    assert all(not engine.gateway for engine in names.engines if engine.engine != "dynamo")


def test_a_file_of_the_user(tmp_path):
    path = tmp_path / "names.yaml"
    path.write_text(START + "    started: [{name: own_total}]\n    tpot: [{histogram: own}]\n")
    names = read_metric_names(path)
    assert names.names == {"own_total", "own_sum", "own_count"}
    assert names.targets == ("job", "instance")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no list of engines"),
        ("engines: []", "schema=None, must be 1"),
        ("schema: 1\nengines: []", "from 1 to 50 engines"),
        ("schema: 1\nengines: [1]", r"line 2: engines.*engine.* is missing"),
        (START + "    cash: [{name: a}]", r"line 6: .*cash.* is not known, must be one of"),
        (START + "    cache: [{name: a b}]", r"line 6: .*'a b', must be the name of a metric"),
        (START + "    cache: [{name: 'a\"} or x'}]", "must be the name of a metric"),
        (START + "    tpot: [{name: a}]", "must be histogram, or sum and count"),
        (START + "    cache: [{name: a, versions: 0.3}]", "must be limits like"),
        (START + "    cache: []", "must be a list of metrics"),
        (START.replace("[x]", "['x-y']") + "    cache: [{name: a}]", "names of labels"),
        (START + "    cache: [{name: a}]\n- engine: a\n  labels: [x]\n  metrics:\n"
         "    cache: [{name: b}]", "name one twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_one_sentence(text, message):
    with pytest.raises(InputError, match=message):
        parse_metric_names(text)


@pytest.mark.parametrize(
    ("limits", "version", "holds"),
    [
        ("", "0.1", True),
        (">=0.10", "0.9.9", False),
        (">=0.10", "0.10", True),
        (">=0.10,<0.12", "v0.11.2rc1", True),
        (">=0.10,<0.12", "0.12", False),
        ("==1", "1.0.0", True),
        (">1.2", "1.2.0", False),
    ],
)
def test_ranges_of_versions(limits, version, holds):
    assert VersionLimits.parsed(limits).holds(version) is holds
    assert str(VersionLimits.parsed(limits)) == limits


def test_versions_and_engines_that_are_none():
    with pytest.raises(InputError, match="a version like"):
        VersionLimits.parsed(">1").holds("latest")
    with pytest.raises(InputError, match="did you mean 'vllm'"):
        known_metric_names().of_versions({"vlm": "1"})
    with pytest.raises(InputError, match="the name of a label"):
        known_metric_names().with_labels(("a-b",))
