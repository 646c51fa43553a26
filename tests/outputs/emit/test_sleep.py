import json

import pytest
import yaml

from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Engine, Target
from tests.outputs.emit.plans import plan_of, texts

VLLM, SGLANG = ["--enable-sleep-mode"], ["--enable-memory-saver", "--enable-weights-cpu-backup"]


def plan(*models, kind="H100"):
    """Return a plan with models on one GPU; those without load sleep."""
    made = [{"name": f"m{n}", "size_gb": 9, "load": 1, **model} for n, model in enumerate(models)]
    text = json.dumps({"gpus": [{"name": "g", "kind": kind}], "models": made})
    return plan_of(text, {model["name"]: ["g"] if model["load"] else [] for model in made})


def words(target, found, settings=None):
    text = emit(target, *found, settings).files[0].text
    lines = text.splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


@pytest.mark.parametrize("target", [Target.VLLM, Target.SGLANG])
def test_models_that_may_sleep_are_started_so_that_they_can(target):
    flags = VLLM if target is Target.VLLM else SGLANG
    found = words(target, plan({"may_sleep": True}, {}))
    assert [found.count(flag) for flag in flags] == [1] * len(flags)
    assert ("VLLM_SERVER_DEV_MODE=1" in found) == (target is Target.VLLM)
    assert not set(flags) & set(words(target, plan({})))


def test_what_the_user_gave_is_not_given_twice():
    found = words(Target.VLLM, plan({"may_sleep": True, "args": VLLM}))
    assert found.count("--enable-sleep-mode") == 1


@pytest.mark.parametrize("target", [Target.COMPOSE, Target.KUBERNETES])
def test_containers_can_sleep_too(target):
    text = emit(target, *plan({"may_sleep": True})).files[0].text
    assert "- --enable-sleep-mode" in text
    assert "VLLM_SERVER_DEV_MODE" in text


def test_ray_keeps_all_awake():
    emission = emit(Target.RAY, *plan({"may_sleep": True}))
    assert "sleep" not in emission.files[0].text
    assert not any("sleep" in note for note in texts(emission))


def test_who_may_put_an_engine_to_sleep_is_said():
    emission = emit(Target.VLLM, *plan({"may_sleep": True}, {}))
    (note,) = [note for note in texts(emission) if "put them to sleep" in note]
    assert "the engines of 'm0' can" in note
    local = emit(Target.VLLM, *plan({"may_sleep": True}), EmitSettings(host="127.0.0.1"))
    assert not any("put them to sleep" in note for note in texts(local))


def test_who_can_make_room_for_a_sleeper_is_said():
    asleep = {"load": 0, "may_sleep": True}
    text = emit(Target.VLLM, *plan({"may_sleep": True}, {}, asleep)).files[0].text
    assert "These can make room for it: m0. POST /sleep?level=1 to an engine frees" in text
    text = emit(Target.VLLM, *plan({}, asleep)).files[0].text
    assert "No engine of this plan can make room by sleeping" in text


def test_sglang_cannot_sleep_on_amd():
    found = plan({"may_sleep": True}, kind="MI300X")
    assert "--enable-memory-saver" not in words(Target.SGLANG, found)
    assert any("cannot sleep on GPUs of AMD" in n for n in texts(emit(Target.SGLANG, *found)))
    assert "--enable-sleep-mode" in words(Target.VLLM, found)


def kvcached(found, engine=Engine.VLLM):
    (file,) = emit(Target.KVCACHED, *found, EmitSettings(engine=engine)).files
    return yaml.safe_load(file.text), file.text


def test_kvcached_puts_idle_models_to_sleep_where_all_may():
    config, text = kvcached(plan({"may_sleep": True}, {"may_sleep": True}))
    assert config["sleep_manager"]["auto_sleep_enabled"] is True
    assert config["sleep_manager"]["min_sleep_duration"] == 0
    assert "All models here may sleep, so each does after 300 s" in text
    engine = config["instances"][0]
    assert "VLLM_SERVER_DEV_MODE=1" in engine["engine_env"]
    assert "--enable-sleep-mode" in engine["engine_args"]


def test_kvcached_cannot_choose_among_models():
    config, text = kvcached(plan({"may_sleep": True}, {}))
    assert config["sleep_manager"]["auto_sleep_enabled"] is False
    assert "May sleep: m0. POST /action/sleep/MODEL" in text
    config, text = kvcached(plan({}))
    assert config["sleep_manager"]["auto_sleep_enabled"] is False
    assert "May sleep" not in text


def test_kvcached_waits_for_the_largest_that_others_wait_for():
    assert kvcached(plan({"size_gb": 30}, {}))[0]["launch_delay_seconds"] == 60 + 30 / 0.2
    assert kvcached(plan({"size_gb": 30}))[0]["launch_delay_seconds"] == 60
    fast = EmitSettings(load_gb_per_second=3)
    (file,) = emit(Target.KVCACHED, *plan({"size_gb": 30}, {}), fast).files
    assert yaml.safe_load(file.text)["launch_delay_seconds"] == 70


def test_kvcached_says_that_it_needs_tmux_and_that_its_router_is_open():
    emission = emit(Target.KVCACHED, *plan({}), EmitSettings(host="127.0.0.1"))
    assert any("needs tmux" in note for note in texts(emission))
    assert "needs tmux" in emission.files[0].text
    assert "listens on all addresses of the machine, whatever --host says" in emission.files[0].text
