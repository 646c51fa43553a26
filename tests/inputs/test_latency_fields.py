import json

import jsonschema
import pytest

from colocate import InputError, read_fleet
from colocate.inputs.fleet import fleet_of, objective_of, parse_fleet
from colocate.inputs.fleet_edit import with_fields
from colocate.inputs.known_requests import RequestGap, request_gaps
from colocate.inputs.spec import fleet_schema
from colocate.inputs.unit_notes import unit_notes

H100 = "gpus: [{name: a, kind: H100-80GB, count: 2}]"
HOMEMADE = "gpus: [{name: a, kind: home, memory_gb: 80}]"
TOKENS = "prompt_tokens: 1000, output_tokens: 51"


def fleet(fields, gpus=H100, head=""):
    model = f"{{name: m, size_gb: 16, rate: 2, slo: 5, {fields}}}"
    return parse_fleet(f"{head}\n{gpus}\nmodels:\n  - {model}\n")


def requests(fields, **others):
    return fleet(fields, **others).problem.models[0].requests


def refused(fields, **others):
    with pytest.raises(InputError) as error:
        fleet(fields, **others)
    return str(error.value)


def test_measured_times_in_the_units_of_the_law():
    stated = "{base_ms: 4, per_request_ms: 0.1, per_1k_context_ms: 0.2, prefill_base_ms: 3, "
    found = requests(f"{TOKENS}, steps: {stated} prefill_ms_per_1k_tokens: 40}}")
    engine = found.engine_on("H100-80GB")
    assert engine.step == pytest.approx(0.004)
    # A token looks back on 1,000 tokens and half of 51: 0.2 ms for each thousand.
    assert engine.step_per_request == pytest.approx((0.1 + 0.2 * 1.0255) / 1e3)
    assert engine.prefill == pytest.approx(0.043)
    assert (found.rate, found.output_tokens, found.decode_tokens) == (2, 51, 50)


@pytest.mark.parametrize("kind", ["H100-80GB", "h100", "nvidia h100 80gb hbm3"])
def test_a_kind_may_have_any_of_its_names(kind):
    found = requests(f"{TOKENS}, steps: {{{kind}: {{base_ms: 7}}, L4: {{base_ms: 30}}}}")
    assert found.engine_on("H100-80GB").step == pytest.approx(0.007)


def test_a_prefill_that_nobody_measured_is_estimated_where_the_kind_is_known():
    estimated = requests(TOKENS).engine_on("H100-80GB")
    measured = requests(f"{TOKENS}, steps: {{base_ms: 7}}").engine_on("H100-80GB")
    assert measured.prefill == estimated.prefill
    assert "no prefill_ms_per_1k_tokens on GPU kind 'home'" in refused(
        f"{TOKENS}, ttft_slo: 1, steps: {{base_ms: 7}}", gpus=HOMEMADE
    )


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("3", "steps=3, must be a section with base_ms and others"),
        ("{}", "steps['base_ms'] is missing, must be a finite number from 0 to 1000000"),
        ("{base_ms: 0}", "steps['base_ms']=0.0, must be more than 0, or per_request_ms must be"),
        ("{base_ms: -1}", "steps['base_ms']=-1, must be a finite number from 0 to 1000000"),
        ("{base_ms: 1e9}", "steps['base_ms']=1000000000.0, must be a finite number from 0 to"),
        ("{base_ms: .nan}", "steps['base_ms']=nan, must be a finite number from 0 to 1000000"),
        ("{base_ms: '4'}", "steps['base_ms']='4', must be a finite number from 0 to 1000000"),
        ("{base_ms: 4, base: 1}", "steps['base'] is not known, did you mean 'base_ms'?"),
        ("{H100: 4}", "steps['H100']=4, must be a section with base_ms and others"),
        ("{base: 7}", "must be a section with base_ms and others; did you mean 'base_ms'?"),
        ("{H100: {per_request_ms: 4}}", "steps['H100']['base_ms'] is missing, must be"),
        ("{H100: {base_ms: 0}}", "steps['H100']['base_ms']=0.0, must be more than 0"),
        ("{H1000: {base_ms: 4}}", "steps['H1000'] is no kind of GPU in the fleet or the catalogue"),
        ("{7: {base_ms: 4}}", "must be a section with base_ms and others, or a mapping from kinds"),
        ("{base_ms: 4, H100: {base_ms: 4}}", "steps['H100'] is not known, must be one of: base_ms"),
    ],
)
def test_bad_times_are_named_with_what_was_found_and_expected(steps, message):
    told = refused(f"{TOKENS}, steps: {steps}")
    assert "line 4: models[0] 'm': " in told
    assert message in told


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("percentile: 99", "percentile has no target to be about, give tpot_slo or ttft_slo"),
        ("percentile: 90, ttft_slo: 1", "percentile=90, must be 95 or 99"),
        ("ttft_slo: 1", "prompt_tokens is missing, give it, so that latency can be predicted"),
        ("ttft_slo: 1, prompt_tokens: 9", "output_tokens is missing, give it, so that latency"),
        ("tpot_slo: 0.1", "prompt_tokens is missing, give it, so that latency can be predicted"),
        (f"{TOKENS}, ttft_slo: 0", "ttft_slo=0, must be a finite number > 0"),
        (f"{TOKENS}, ttft_slo: .inf", "ttft_slo=inf, must be a finite number > 0"),
        (f"{TOKENS}, layers: 0", "layers=0, must be a whole number >= 1"),
    ],
)
def test_a_target_needs_what_it_is_predicted_from(fields, message):
    assert message in refused(fields)


@pytest.mark.parametrize(
    ("fields", "gpus", "message"),
    [
        ("", H100, "prompt_tokens is missing, give it, so that latency can be predicted"),
        (TOKENS, HOMEMADE, "steps has no times on GPU kind 'home', which the catalogue does not"),
        (TOKENS, "gpus: [{name: a, memory_gb: 80}]", "no times on GPUs without a kind"),
    ],
)
def test_the_latency_objective_needs_it_too(fields, gpus, message):
    told = refused(fields, gpus=gpus, head="objective: latency")
    assert message in told
    assert "calibrate" in told or "steps" not in told


def test_a_load_leaves_the_rate_unknown():
    text = f"objective: latency\n{H100}\nmodels: [{{name: m, size_gb: 9, load: 1, {TOKENS}}}]"
    with pytest.raises(InputError, match="rate is missing, give it and slo instead of load"):
        parse_fleet(text)
    without = parse_fleet(text.replace("objective: latency", ""))
    assert not without.problem.has_requests
    assert request_gaps(without.spec) == (RequestGap("rate", ("m",)),)


def test_the_sharing_and_the_objective_are_words_of_a_list():
    assert "sharing='alone', must be slices or mps" in refused(TOKENS, head="sharing: alone")
    assert "objective='speed', must be pressure or latency" in refused("", head="objective: speed")


def test_without_a_statement_the_driver_slices_time_and_latency_counts_where_it_is_known():
    plain = fleet(TOKENS)
    assert (plain.problem.sharing, plain.problem.objective) == ("slices", "latency")
    assert objective_of(plain.spec, {}) == "pressure"
    stated = fleet(TOKENS, head="sharing: mps\nobjective: pressure").problem
    assert (stated.sharing, stated.objective) == ("mps", "pressure")


def test_targets_bind_where_they_are_stated():
    none = requests(TOKENS)
    assert (none.tpot_slo, none.ttft_slo, none.binding) == (0.1, float("inf"), False)
    both = requests(f"{TOKENS}, tpot_slo: 0.04, ttft_slo: 1, percentile: 99")
    assert (both.tpot_slo, both.ttft_slo, both.percentile, both.binding) == (0.04, 1, 99, True)
    one = requests(f"{TOKENS}, ttft_slo: 1")
    assert (one.tpot_slo, one.ttft_slo, one.binding) == (float("inf"), 1, True)


def test_a_model_that_makes_no_tokens_has_no_time_for_each():
    encoder = requests("prompt_tokens: 300, output_tokens: 0, tpot_slo: 0.04")
    assert (encoder.tpot_slo, encoder.ttft_slo, encoder.binding) == (float("inf"), 2.0, False)
    stated = requests("prompt_tokens: 300, output_tokens: 1, ttft_slo: 0.5")
    assert (stated.tpot_slo, stated.ttft_slo, stated.binding) == (float("inf"), 0.5, True)


BY_TOKENS = """
load: tokens
gpus: [{name: a, kind: H100-80GB}]
models:
  - {name: m, size_gb: 16, tokens_per_second: 900, kv_bytes_per_token: 131072, tpot_slo: 0.1}
"""


def test_a_time_for_each_token_that_is_there_for_the_load_needs_no_tokens():
    found = parse_fleet(BY_TOKENS)
    assert not found.problem.has_requests
    assert [gap.field for gap in request_gaps(found.spec)] == ["prompt_tokens", "output_tokens"]
    with pytest.raises(InputError, match="prompt_tokens is missing"):
        parse_fleet(BY_TOKENS.replace("tpot_slo: 0.1", "tpot_slo: 0.1, percentile: 95"))
    known = parse_fleet(BY_TOKENS.replace("tpot_slo", f"{TOKENS}, tpot_slo"))
    assert known.problem.models[0].requests.rate == pytest.approx(900 / 1051)
    assert known.problem.limits_latency


def test_one_model_without_tokens_leaves_latency_unknown():
    text = f"{H100}\nmodels:\n  - {{name: x, size_gb: 9, rate: 1, slo: 1, {TOKENS}}}\n"
    text += "  - {name: y, size_gb: 9, rate: 1, slo: 1, prompt_tokens: 4}\n"
    found = parse_fleet(text)
    assert all(model.requests is None for model in found.problem.models)
    assert request_gaps(found.spec) == (RequestGap("output_tokens", ("y",)),)
    with pytest.raises(InputError) as error:
        parse_fleet(text.replace("output_tokens: 51", "output_tokens: 51, ttft_slo: 1"))
    assert "models[1] 'y': output_tokens is missing" in str(error.value)


def test_kinds_without_times_are_a_gap():
    found = fleet(TOKENS, gpus=HOMEMADE)
    assert request_gaps(found.spec) == (RequestGap("steps", ("m",), ("home",)),)
    assert request_gaps(fleet(TOKENS).spec) == ()


ALL_FIELDS = (
    f"{TOKENS}, tpot_slo: 0.04, ttft_slo: 1.5, percentile: 95, layers: 32, "
    "steps: {H100-80GB: {base_ms: 5, per_request_ms: 0.1, prefill_ms_per_1k_tokens: 30}}"
)


def test_a_plan_keeps_every_field():
    before = fleet(ALL_FIELDS, head="sharing: mps\nobjective: latency")
    kept = json.loads(json.dumps(before.as_dict()))
    assert kept["models"][0]["steps"]["H100-80GB"]["base_ms"] == 5
    after = fleet_of(kept)
    assert after.as_dict() == before.as_dict()
    assert after.spec == before.spec
    assert after.problem.digest == before.problem.digest


@pytest.mark.parametrize("block", [True, False])
def test_editing_a_file_keeps_the_fields_on_latency(tmp_path, block):
    text = f"{H100}\nmodels:\n  - {{name: m, size_gb: 16, rate: 2, slo: 5, {ALL_FIELDS}}}\n"
    if block:
        text = (
            f"{H100}\nmodels:\n  - name: m\n    size_gb: 16\n    rate: 2\n    slo: 5\n    steps:\n"
            "      base_ms: 5  # measured\n    prompt_tokens: 9\n    output_tokens: 9\n"
        )
    path = tmp_path / "fleet.yaml"
    path.write_text(with_fields(text, {0: {"size_gb": 17.5, "overhead_gb": 2.0}}))
    edited, before = read_fleet(path).models["m"], parse_fleet(text).models["m"]
    assert (edited.size_gb, edited.overhead_gb) == (17.5, 2.0)
    assert (edited.steps, edited.percentile) == (before.steps, before.percentile)
    assert not block or "# measured" in path.read_text()


@pytest.mark.parametrize(
    ("steps", "valid"),
    [
        ({"base_ms": 5}, True),
        ({"H100-80GB": {"base_ms": 5, "per_request_ms": 0.1}}, True),
        ({"base_ms": -5}, False),
        ({"H100-80GB": {"base": 5}}, False),
    ],
)
def test_the_published_schema_knows_both_forms_of_steps(steps, valid):
    model = {"name": "m", "steps": steps, "percentile": 99, "ttft_slo": 1, "layers": 3}
    data = {"gpus": [{}], "models": [model], "sharing": "mps", "objective": "latency"}
    assert jsonschema.Draft202012Validator(fleet_schema()).is_valid(data) == valid


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"tpot_slo": 40}, "tpot_slo: 40 is in seconds; if ms are meant, write 0.04"),
        ({"ttft_slo": 500}, "ttft_slo: 500 is in seconds; if ms are meant, write 0.5"),
        ({"steps": {"base_ms": 0.007}},
         "base_ms: 0.007 is in milliseconds; if seconds are meant, write 7"),
        ({"tpot_slo": 0.04, "output_tokens": 0}, "tpot_slo is not used, since no token comes after"
         " the first (output_tokens: 0); use ttft_slo"),
        ({"steps": {"h100-80gb": {"base_ms": 7}, "L4": {"base_ms": 20}}},
         "steps for 'L4' are not used, since the fleet has no such GPU"),
        ({"tpot_slo": 0.04, "ttft_slo": 30, "steps": {"base_ms": 0.7}}, None),
    ],
)  # fmt: skip
def test_units_that_are_hardly_meant_are_noted(fields, note):
    model = {"name": "m", "size_gb": 16, "rate": 1, "slo": 1, "prompt_tokens": 500,
             "output_tokens": 100, "kv_bytes_per_token": 1e5, **fields}  # fmt: skip
    fleet = fleet_of({"gpus": [{"kind": "H100-80GB"}], "models": [model]})
    assert unit_notes(fleet) == ({note: ["m"]} if note else {})


def test_fields_of_python_bring_those_of_the_file():
    model = {"name": "m", "size_gb": 16, "load": 1, "sleep_cost": 0}
    with pytest.raises(InputError, match="give may_sleep: true, and importance: 0"):
        fleet_of({"gpus": [{"memory_gb": 80}], "models": [model]})
