"""What `config` of a fleet file may say: a path, or a name that is looked up, without a network."""

import json
import os
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colocate.errors import InputError
from colocate.inputs.fleet import fleet_of, read_fleet
from colocate.inputs.huggingface import ConfigLookup, ModelConfig, model_files, model_size
from colocate.inputs.huggingface.hub_cache import hub_cache_of
from colocate.inputs.huggingface.model_files import Origin
from colocate.inputs.text_file import LARGEST_FILE
from tests.inputs.hub_folders import REVISION, cached
from tests.inputs.tiny_model import TINY, write

NAME = "Qwen/Qwen2.5-7B-Instruct"


def fleet_with(lookup=None, **fields):
    data = {
        "gpus": [{"name": "g", "memory_gb": 80}],
        "models": [{"name": "m", "load": 1, **fields}],
    }
    return fleet_of(data, lookup or ConfigLookup())


def test_a_name_of_the_catalogue_needs_no_file():
    model = fleet_with(config="qwen2.5-7b-instruct").models["m"]
    assert model.size_gb == pytest.approx(15.23, abs=0.01)
    assert model.kv_bytes_per_token == 57_344
    assert (model.source, model.config) == (NAME, None)


def test_what_engines_load_may_be_another_model_than_the_one_it_is_sized_by():
    assert fleet_with(config=NAME, source="/models/mine").models["m"].source == "/models/mine"


def test_a_path_comes_before_a_name(tmp_path):
    (tmp_path / "Qwen2.5-7B-Instruct").mkdir()
    write(tmp_path / "Qwen2.5-7B-Instruct")
    found = ConfigLookup(tmp_path).find("Qwen2.5-7B-Instruct")
    assert (found.origin, found.hub_name, found.values) == (Origin.FILE, None, TINY)
    assert (
        fleet_with(ConfigLookup(tmp_path), config="Qwen2.5-7B-Instruct").models["m"].source is None
    )
    file = ConfigLookup(tmp_path).find("Qwen2.5-7B-Instruct/config.json")
    assert file.values == TINY


def test_the_catalogue_comes_before_the_cache(tmp_path):
    cached(tmp_path, NAME)
    assert ConfigLookup(cache=tmp_path).find(NAME).origin is Origin.CATALOGUE


@pytest.mark.parametrize("name", ["org/tiny", "tiny", "ORG/Tiny"])
def test_a_model_in_the_cache_is_found_by_its_name(tmp_path, name):
    cached(tmp_path, "org/tiny", index={"metadata": {"total_size": 4000}})
    lookup = ConfigLookup(cache=tmp_path)
    found = lookup.find(name)
    assert (found.origin, found.hub_name, found.values) == (Origin.CACHE, "org/tiny", TINY)
    assert found.size().weight_bytes == 4000
    assert fleet_with(lookup, config=name).models["m"].source == "org/tiny"
    with pytest.raises(InputError, match="is neither a path nor a model known here"):
        ConfigLookup().find(name)


def test_a_name_of_several_models_in_the_cache_is_refused(tmp_path):
    cached(tmp_path, "one/tiny")
    cached(tmp_path, "two/tiny")
    lookup = ConfigLookup(cache=tmp_path)
    with pytest.raises(InputError, match="several models, give one of: one/tiny, two/tiny"):
        lookup.find("tiny")
    assert lookup.find("two/tiny").hub_name == "two/tiny"


def test_refs_main_says_which_revision_counts(tmp_path):
    other = "f" * 40
    cached(tmp_path, "org/tiny", {**TINY, "vocab_size": 99}, revision=other, main=None)
    lookup = ConfigLookup(cache=tmp_path)
    assert lookup.find("tiny").values["vocab_size"] == 99
    cached(tmp_path, "org/tiny")
    assert lookup.find("tiny").values == TINY
    (tmp_path / "models--org--tiny" / "refs" / "main").write_text(f"{other}\n")
    assert lookup.find("tiny").values["vocab_size"] == 99


@pytest.mark.parametrize("main", ["..", "../../x", "", "\0", "é", "x" * 5000, "gone"])
def test_a_wrong_reference_leads_nowhere(tmp_path, main):
    cached(tmp_path, "org/tiny")
    cached(tmp_path, "org/tiny", revision="f" * 40, main=main)
    with pytest.raises(InputError, match="is neither a path nor a model known here"):
        ConfigLookup(cache=tmp_path).find("tiny")


def test_links_in_a_circle_and_pipes_count_as_not_there(tmp_path):
    snapshot = tmp_path / "models--org--loop" / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to("config.json")
    (tmp_path / "models--org--ring").symlink_to("models--org--ring")
    pipe = tmp_path / "models--org--pipe" / "snapshots" / REVISION
    pipe.mkdir(parents=True)
    os.mkfifo(pipe / "config.json")
    (tmp_path / "models--org--pipe" / "refs").mkdir()
    os.mkfifo(tmp_path / "models--org--pipe" / "refs" / "main")
    for name in ("loop", "ring", "pipe"):
        with pytest.raises(InputError, match="is neither a path nor a model known here"):
            ConfigLookup(cache=tmp_path).find(name)


@pytest.mark.parametrize("text", ["{", "[]", "\x00", "9" * 5000])
def test_a_config_in_the_cache_that_is_none_names_its_file(tmp_path, text):
    snapshot = cached(tmp_path, "org/tiny")
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").write_text(text)
    with pytest.raises(InputError, match=rf"models--org--tiny.*{REVISION}/config\.json: "):
        ConfigLookup(cache=tmp_path).find("tiny")


def test_a_config_in_the_cache_that_is_too_large_is_not_read(tmp_path):
    snapshot = cached(tmp_path, "org/tiny")
    (snapshot / "config.json").unlink()
    with (snapshot / "config.json").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(InputError, match="is too large"):
        ConfigLookup(cache=tmp_path).find("org/tiny")


def test_a_path_that_cannot_be_read_is_told_as_a_path(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for text in ("./gone", "a/b/c", "gone.json", "loop", "x" * 5000, "a\0b", "-/../..x"):
        with pytest.raises(InputError, match=r"cannot be read|has no config\.json|embedded null"):
            ConfigLookup(tmp_path).find(text)


def test_a_wrong_name_gets_the_closest_ones():
    with pytest.raises(InputError) as error:
        ConfigLookup().find("Qwen2.5-7B-Instrct")
    assert str(error.value).startswith(
        "config='Qwen2.5-7B-Instrct' is neither a path nor a model known here, "
        "did you mean 'Qwen/Qwen2.5-7B-Instruct' or "
    )
    with pytest.raises(InputError, match="`colocate models` lists those known here"):
        ConfigLookup().find("zzz")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HF_HUB_CACHE": "/c", "HF_HOME": "/h"}, "/c"),
        ({"HUGGINGFACE_HUB_CACHE": "/o"}, "/o"),
        ({"HF_HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/h/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HF_HUB_CACHE": ""}, "~/.cache/huggingface/hub"),
        ({}, "~/.cache/huggingface/hub"),
    ],
)
def test_the_cache_is_where_hugging_face_tools_keep_it(environment, expected):
    assert str(hub_cache_of(environment)) == os.path.expanduser(expected)


def test_a_fleet_file_finds_what_the_environment_points_to(tmp_path, monkeypatch):
    cached(tmp_path / "hub", "org/tiny")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    path = tmp_path / "fleet.json"
    data = {
        "gpus": [{"name": "g", "memory_gb": 80}],
        "models": [{"name": "m", "load": 1, "config": "org/tiny"}],
    }
    path.write_text(json.dumps(data))
    assert read_fleet(path).models["m"].source == "org/tiny"


def test_a_plan_keeps_what_was_found():
    fleet = fleet_with(config="Qwen3-30B-A3B-FP8")
    model = fleet_of(fleet.as_dict()).models["m"]
    assert model == fleet.models["m"]
    assert (model.source, model.dtype, model.quantised_on_disk) == (
        "Qwen/Qwen3-30B-A3B-FP8",
        "fp8",
        True,
    )


@given(st.one_of(st.text(), st.from_regex(r"[\w./~-]{1,40}", fullmatch=True)))
def test_any_text_is_found_or_refused(tmp_path_factory, text):
    empty = tmp_path_factory.getbasetemp()
    with suppress(InputError):
        found = ConfigLookup(empty / "none", empty / "no cache").find(text)
        assert found.origin is Origin.CATALOGUE


def test_a_model_that_is_named_often_is_found_and_counted_once(monkeypatch):
    asked, counted = [], []
    monkeypatch.setattr(
        ConfigLookup,
        "find",
        lambda self, text: asked.append(text) or ModelConfig(TINY, Origin.FILE, text),
    )
    monkeypatch.setattr(
        model_files, "model_size", lambda *a: counted.append(a[1:]) or model_size(*a)
    )
    models = [{"name": f"m{n}", "config": "tiny", "load": 1} for n in range(300)]
    models += [{"name": "f", "config": "tiny", "dtype": "fp8", "load": 1}]
    fleet_of({"gpus": [{"name": "g", "memory_gb": 80}], "models": models})
    assert asked == ["tiny"]
    assert counted == [(None, None), ("fp8", None)]
