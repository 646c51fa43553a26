import pytest

from colocate import InputError
from colocate.inputs.demand import Tokens, demand_of, load_of, tokens_of
from colocate.inputs.fleet import parse_fleet
from colocate.inputs.spec import ModelSpec


def model(**fields):
    return ModelSpec(name="m", size_gb=1.0, **fields)


def test_load_by_requests_is_rate_over_slo():
    assert load_of(model(rate=9.0, slo=6.0), "requests") == 1.5
    assert load_of(model(rate=0.0, slo=6.0), "requests") == 0.0


def test_load_by_tokens_is_in_gb_each_second_over_the_seconds_of_a_token():
    told = model(tokens_per_second=1000.0, kv_bytes_per_token=131_072.0, tpot_slo=0.05)
    # 1,000 x 131,072 bytes = 0.131072 GB each second, over 0.05 s
    assert load_of(told, "tokens") == pytest.approx(2.62144)
    by_request = model(
        rate=4.0, prompt_tokens=200.0, output_tokens=50.0, kv_bytes_per_token=131_072.0,
        tpot_slo=0.05,
    )  # fmt: skip
    assert load_of(by_request, "tokens") == pytest.approx(2.62144)


def test_both_forms_are_given_by_the_load_itself():
    assert load_of(model(load=0.5), "requests") == 0.5
    assert load_of(model(load=[0.5, 0.25]), "tokens") == [0.5, 0.25]


@pytest.mark.parametrize(
    ("form", "fields", "sentence"),
    [
        ("requests", {"slo": 6.0}, "rate is missing, give rate and slo, or load"),
        ("requests", {"rate": 6.0}, "slo is missing, give rate and slo, or load"),
        ("requests", {"rate": 1.0, "slo": 1.0, "tokens_per_second": 1.0}, "give rate and slo"),
        ("requests", {"load": 1.0, "rate": 1.0}, "has load itself and rate, give one of them"),
        ("tokens", {"load": 1.0, "tokens_per_second": 1.0}, "give one of them"),
        ("tokens", {"rate": 1.0, "slo": 1.0}, "slo does not go with load: tokens; give tpot_slo"),
        ("tokens", {"rate": 1.0, "tokens_per_second": 1.0}, "has tokens_per_second and rate"),
        ("tokens", {"rate": 1.0}, "tokens_per_second is missing, give tokens_per_second, or rate"),
        ("tokens", {"tokens_per_second": 1.0}, "kv_bytes_per_token is missing, give it, or a conf"),
        (
            "tokens",
            {"tokens_per_second": 1.0, "kv_bytes_per_token": 1.0},
            "tpot_slo is missing, give seconds per token",
        ),
    ],
)
def test_what_is_missing_or_said_twice_is_told(form, fields, sentence):
    with pytest.raises(InputError, match=sentence):
        load_of(model(**fields), form)


def test_tokens_of_requests():
    told = model(rate=2.0, slo=1.0, prompt_tokens=100.0, output_tokens=60.0)
    # an output token looks back on the prompt and on half of the output
    assert tokens_of(told) == Tokens(prompt=200.0, output=120.0, context=130.0)


def test_tokens_are_split_as_those_of_a_request_are():
    told = model(tokens_per_second=400.0, prompt_tokens=300.0, output_tokens=100.0)
    assert tokens_of(told) == Tokens(prompt=300.0, output=100.0, context=350.0)
    nothing = model(tokens_per_second=400.0, prompt_tokens=0.0, output_tokens=0.0)
    assert tokens_of(nothing) == Tokens(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"rate": 1.0, "slo": 1.0},
        {"rate": 1.0, "slo": 1.0, "prompt_tokens": 5.0},
        {"rate": 1.0, "slo": 1.0, "output_tokens": 5.0},
        {"load": 1.0, "prompt_tokens": 5.0, "output_tokens": 5.0},
    ],
)
def test_without_all_of_it_the_tokens_are_not_known(fields):
    assert tokens_of(model(**fields)) is None


def test_what_is_lost_with_a_model_asleep_is_in_the_form_of_the_load():
    assert demand_of(model(rate=3.0, slo=9.0)) == 3.0
    assert demand_of(model(rate=3.0, slo=9.0, prompt_tokens=5.0, output_tokens=5.0)) == 3.0
    assert demand_of(model(tokens_per_second=70.0)) == 70.0
    assert demand_of(model(rate=7.0, prompt_tokens=6.0, output_tokens=4.0)) == 70.0
    assert demand_of(model(load=0.5)) == 0.5
    assert demand_of(model(load=[0.5, 0.75])) == 0.75


def test_the_forms_are_never_mixed_in_one_file():
    text = """
load: tokens
gpus: [{name: g, memory_gb: 80}]
models:
  - {name: a, size_gb: 3, tokens_per_second: 10, kv_bytes_per_token: 100000, tpot_slo: 0.1}
  - {name: b, size_gb: 3, rate: 1, slo: 5}
"""
    with pytest.raises(InputError, match=r"line 6: models\[1\] 'b': slo does not go with"):
        parse_fleet(text)
