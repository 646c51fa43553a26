"""What is wrong with a file, as data: nobody has to read it out of a sentence."""

import gc
import json
import pickle

import pytest

from colocate import Gpu, InputError, Model, Problem, read_fleet
from colocate.errors import MOST_FAULTS
from colocate.fault import Fault, Nothing, Owner, Spot
from colocate.inputs.expectation import expected_of
from colocate.inputs.fleet import parse_fleet
from colocate.inputs.plan_file import read_plan
from colocate.inputs.spec import FleetSpec, GpuSpec, ModelSpec

FLEET = """
gpus:
  - {name: h100, memory_gb: 80, count: 2}
models:
  - name: llama
    size_gb: 16
    rate: 4
    slo: 8
  - name: qwen
    size_gb: 15
    load: 1
"""


def faults(text):
    with pytest.raises(InputError) as caught:
        parse_fleet(text)
    return caught.value.faults


def test_a_value_that_cannot_be_used_has_its_path_owner_and_line():
    (fault,) = faults(FLEET.replace("slo: 8", "slo: 0"))
    assert (fault.path, fault.owner, fault.line) == (
        ("models", 0, "slo"),
        Owner("model", "llama"),
        8,
    )
    assert (fault.value, fault.expected) == (0, "a finite number > 0")


def test_what_the_problem_refuses_has_a_line_as_well():
    (fault,) = faults(FLEET.replace("load: 1", "load: 1\n    only: [nowhere]"))
    assert (fault.path, fault.line) == (("models", 1, "only"), 12)
    assert fault.value is Nothing.GIVEN


def test_a_name_used_twice_is_told_at_the_second_place_with_the_first():
    (fault,) = faults(FLEET.replace("name: qwen", "name: llama"))
    assert (fault.path, fault.line, fault.twin) == (
        ("models", 1, "name"),
        9,
        Spot(("models", 0), 5),
    )
    assert str(fault) == (
        "line 9: models[1] 'llama': name='llama' is already that of models[0] (line 5), "
        "must be unique"
    )


def test_a_gpu_is_told_by_its_entry_and_not_by_its_number_among_all():
    text = FLEET.replace("models:", "  - {name: h100-1, memory_gb: 80}\nmodels:")
    (fault,) = faults(text)
    assert (fault.path, fault.line, fault.twin) == (
        ("gpus", 1, "name"),
        4,
        Spot(("gpus", 0), 3),
    )


def test_the_same_fault_is_told_where_there_is_no_file():
    with pytest.raises(InputError) as caught:
        Problem([Gpu("g", 80)], [Model("m", 1, load=1), Model("n", 1, load=1, only=["x"])])
    (fault,) = caught.value.faults
    assert (fault.path, fault.owner, fault.file, fault.line) == (
        ("models", 1, "only"),
        Owner("model", "n"),
        "",
        None,
    )
    assert caught.value.in_a_file


def test_a_fault_of_a_config_is_one_of_the_model_that_names_it(tmp_path):
    (tmp_path / "config.json").write_text("[]")
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET.replace("size_gb: 15", "config: config.json"))
    with pytest.raises(InputError) as caught:
        read_fleet(path)
    (fault,) = caught.value.faults
    assert (fault.file, fault.line, fault.path) == (str(path), 9, ("models", 1))
    assert fault.cause is not None
    assert (fault.cause.file, fault.cause.value) == (str(tmp_path / "config.json"), [])
    assert str(fault) == (
        f"{path}: line 9: models[1] 'qwen': {tmp_path}/config.json: found [], must be a mapping"
    )


def test_a_fault_of_the_fleet_in_a_plan_names_both(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"placement": {}, "fleet": {"gpus": [], "models": [3]}}))
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert str(caught.value).splitlines() == [
        f"{path}: fleet: gpus=[], must be a list with at least one GPU",
        f"{path}: fleet: models[0]: found 3, must be a mapping",
    ]


def test_all_faults_are_kept_and_some_are_printed():
    models = "\n".join(f"  - {{name: m{n}, size_gb: -1, load: 1}}" for n in range(25))
    text = f"gpus: [{{name: g, memory_gb: 80}}]\nmodels:\n{models}"
    with pytest.raises(InputError) as caught:
        parse_fleet(text)
    assert [fault.line for fault in caught.value.faults] == list(range(3, 28))
    lines = str(caught.value).splitlines()
    assert (len(lines), lines[-1]) == (MOST_FAULTS + 1, "and 15 more of the kind")


def test_errors_survive_copying():
    error = InputError(Fault("is missing", "a text", path=("gpus", 3, "name"), file="f.yaml"))
    copied = pickle.loads(pickle.dumps(error))
    assert copied.faults == error.faults
    assert str(copied) == "f.yaml: gpus[3]: name is missing, must be a text"


@pytest.mark.parametrize("section", [FleetSpec, GpuSpec, ModelSpec])
def test_every_field_says_what_it_must_hold(section):
    for name, field in section.model_fields.items():
        words = expected_of(section, field.alias or name)
        assert words == expected_of(section, name)
        assert words
        assert "Annotated" not in words


@pytest.mark.parametrize(
    ("section", "field", "words"),
    [
        (GpuSpec, "count", "a whole number from 1 to 20000"),
        (GpuSpec, "limits", "a mapping from names of resources to finite numbers >= 0"),
        (ModelSpec, "replicas", "a whole number >= 1, or auto"),
        (ModelSpec, "may_sleep", "true or false"),
        (
            ModelSpec,
            "uses",
            "a mapping from names of resources to finite numbers >= 0, "
            "or to mappings from kinds of GPU to finite numbers >= 0",
        ),
        (FleetSpec, "load", "requests or tokens"),
        (FleetSpec, "apart", "a list of lists of names of models"),
        (FleetSpec, "compute_limit", "a finite number > 0"),
    ],
)
def test_what_a_field_must_hold_is_read_off_its_type(section, field, words):
    assert expected_of(section, field) == words


@pytest.mark.parametrize(("written", "point"), [("1,5", "1.5"), ("-0,25", "-0.25")])
def test_a_decimal_comma_is_answered_with_a_point(written, point):
    (fault,) = faults(FLEET.replace("rate: 4", f"rate: {written}"))
    assert (fault.value, fault.advice) == (written, f"write {point}")
    expected = "must be a finite number >= 0, or a list with at least one finite number >= 0"
    assert str(fault).endswith(f"rate='{written}', {expected}; write {point}")


def test_a_decimal_comma_in_braces_is_noticed_too():
    text = "gpus: [{name: g, memory_gb: 80}]\nmodels: [{name: m, size_gb: 1, rate: 1,5, slo: 1}]"
    (fault,) = faults(text)
    assert fault.path[:2] == ("models", 0)
    assert "write decimals with a point (1.5)" in str(fault)


def test_an_alias_without_an_anchor_is_named_with_its_line():
    (fault,) = faults(FLEET.replace("load: 1", "load: *usual"))
    assert str(fault) == (
        "line 11: alias *usual is not defined, must be one whose anchor &usual stands before it"
    )
    (fault,) = faults("gpus: [*a, *b]\nmodels: []")
    assert fault.found == "alias *a is not defined"


def test_the_collector_is_as_it_was_after_reading():
    assert gc.isenabled()
    parse_fleet(FLEET)
    faults("gpus: []")
    assert gc.isenabled()
    gc.disable()
    try:
        parse_fleet(FLEET)
        assert not gc.isenabled()
    finally:
        gc.enable()
