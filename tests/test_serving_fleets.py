"""Whatever is a plan starts and serves: all targets write it, engines have their least cache."""

import json
import re

import pytest

from colocate import solve
from colocate.errors import InputError
from colocate.inputs.fleet import parse_fleet
from colocate.outputs.emit.catalogue import TARGETS, emit
from colocate.outputs.emit.settings import EmitSettings, Memory, Target
from tests.campaign import batches
from tests.serving_fleets import (
    ENTRIES,
    PLAIN_FAMILIES,
    bytes_of_a_request,
    longest_request,
    random_fleet,
)

BATCHES, BATCH = 50, 20
"""A thousand random fleets."""


def planned(seed):
    """Return a random fleet and its plan; None where the file itself is refused."""
    text = json.dumps(random_fleet(seed))
    try:
        fleet = parse_fleet(text)
    except InputError:
        return None
    return fleet, solve(fleet.problem, time_limit=1.0, gap=0.2)


@pytest.mark.parametrize("batch", batches(BATCHES, 4))
def test_whatever_is_a_plan_every_target_writes(batch):
    plans = 0
    for seed in range(BATCH * batch, BATCH * (batch + 1)):
        found = planned(seed)
        if found is None or not found[1].placement:
            continue
        plans += 1
        fleet, plan = found
        awake = any(plan.placement.values())
        for target in TARGETS if awake else ():
            assert emit(target, plan, fleet).files, (seed, target)
        elastic = EmitSettings(memory=Memory.KVCACHED)
        assert not awake or emit(Target.VLLM, plan, fleet, elastic).files
        for file in emit(Target.VLLM, plan, fleet).files if awake else ():
            check_caches(seed, file.text)
    assert plans > BATCH / 4


def check_caches(seed, script):
    """Check from configs and a script alone that engines can hold their requests; count them."""
    stated = {model["name"]: model for model in random_fleet(seed)["models"]}
    engines = 0
    for command in re.findall(r"vllm serve .*?(?:\n(?! {2})|\Z)", script, re.S):
        options = dict(re.findall(r"--([\w-]+)=(\S+)", command))
        if "port" not in options:
            continue  # how to start a model that is asleep, by hand
        model = stated[options["served-model-name"].strip("'")]
        config = ENTRIES[model["config"]].config
        if config["model_type"] not in PLAIN_FAMILIES or config.get("sliding_window"):
            continue
        shards = int(options.get("tensor-parallel-size", 1))
        assert shards == model.get("shards", 1)
        tokens = longest_request(model, config)
        needed = bytes_of_a_request(config, tokens, shards) * model.get("min_concurrency", 1)
        assert int(options["kv-cache-memory-bytes"]) >= needed, (seed, model["name"])
        engines += 1
    return engines


def test_the_check_reads_scripts_and_can_fail():
    for seed in range(BATCH):
        fleet, plan = planned(seed) or (None, None)
        if plan is None or not any(plan.placement.values()):
            continue
        script = emit(Target.VLLM, plan, fleet).files[0].text
        if check_caches(seed, script):
            small = re.sub(r"kv-cache-memory-bytes=\d+", "kv-cache-memory-bytes=9", script)
            with pytest.raises(AssertionError):
                check_caches(seed, small)
            return
    pytest.fail("no script with an engine of a plain family")
