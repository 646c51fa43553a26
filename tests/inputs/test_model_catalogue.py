"""Every model of the catalogue sizes to its published count, without guesses."""

import json
from collections import Counter

import pytest

from colocate.errors import InputError
from colocate.inputs.huggingface import model_size
from colocate.inputs.model_catalogue import (
    catalogue,
    close_names,
    find_model,
    model_catalogue,
    model_sources,
)

MODELS = list(model_catalogue().values())
NO_GUESSES = {
    "the config says float32; engines mostly serve such a model in 16 bits: ask for bf16",
    "state_bytes has the keys and values of the longest input that the decoder looks at",
}
"""Notes that tell a fact, not something assumed."""


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_sizes_to_its_published_count(model):
    size = model_size(model.config)
    rounded = model.parameters % 1_000_000 == 0
    assert size.parameters == pytest.approx(model.parameters, rel=0.01 if rounded else 1e-4)
    assert set(size.notes) <= NO_GUESSES
    assert size.active_parameters <= size.parameters
    assert size.weight_bytes > 0


def test_the_catalogue_has_the_models_that_people_serve():
    assert len(MODELS) >= 100
    assert len({model.config["model_type"] for model in MODELS}) >= 40
    families = Counter(model.config["model_type"] for model in MODELS)
    assert min(families[name] for name in ("llama", "qwen2", "qwen3", "mistral", "bert")) > 5
    for name in ("Qwen2.5-7B-Instruct", "Llama-3.3-70B-Instruct", "DeepSeek-R1", "gpt-oss-20b",
                 "bge-m3", "whisper-large-v3", "Qwen3-30B-A3B-FP8"):  # fmt: skip
        assert find_model(name), name


def test_every_entry_says_where_it_is_from():
    sources = model_sources()
    assert all(model.shape_from in sources and model.count_from in sources for model in MODELS)
    used = {model.shape_from for model in MODELS} | {model.count_from for model in MODELS}
    assert used == set(sources)


def test_no_name_stands_twice_and_like_points_back():
    rows = json.loads(catalogue.FILE.read_text(encoding="utf-8"))["models"]
    names = [row["name"] for row in rows]
    assert len({name.lower() for name in names}) == len(names) == len(MODELS)
    for place, row in enumerate(rows):
        assert row.get("like", names[0]) in names[: place + 1]
        assert row["name"].count("/") == 1


def test_an_entry_like_another_has_its_own_fields_in_place_of_the_others():
    plain, packed = find_model("Qwen2.5-7B-Instruct"), find_model("Qwen2.5-7B-Instruct-AWQ")
    assert packed.parameters == plain.parameters
    assert "quantization_config" not in plain.config
    assert {**packed.config, "quantization_config": None} == {
        **plain.config,
        "quantization_config": None,
    }


def test_a_name_is_found_in_any_case_with_or_without_its_organisation():
    for name in ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct", "QWEN/QWEN2.5-7B-INSTRUCT"):
        assert find_model(name).name == "Qwen/Qwen2.5-7B-Instruct"
    for name in ("", "Qwen", "Qwen/", "/Qwen2.5-7B-Instruct", "other/Qwen2.5-7B-Instruct"):
        assert find_model(name) is None


def test_a_name_of_several_models_is_refused(monkeypatch):
    one, other = find_model("gpt2"), find_model("bge-m3")
    monkeypatch.setattr(catalogue, "_by_name", lambda: {"both": (one, other)})
    with pytest.raises(
        InputError, match="config='both' is the name of several models, give one of: BAA"
    ):
        find_model("both")


def test_close_names_are_those_of_the_same_model_first():
    assert close_names("Qwen2.5-7B-Instrct")[0] == "Qwen/Qwen2.5-7B-Instruct"
    assert close_names("THUDM/glm-4-9b-chat")[0] == "zai-org/glm-4-9b-chat"
    assert close_names("zzz") == []
