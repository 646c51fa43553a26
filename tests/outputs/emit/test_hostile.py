"""Names that would like to be commands, options or variables."""

import json
import os
import re
import shlex
import subprocess

import kubernetes_validate
import pytest
import yaml

from colocate.errors import InputError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Engine, Share, Target
from tests.outputs.emit.fake_engines import ENGINE, Machine
from tests.outputs.emit.plans import plan_of
from tests.outputs.emit.test_golden import KUBERNETES, SHELLCHECK

NAMES = [
    "$(touch x)",
    "'; touch x; '",
    '"; touch x; "',
    "`touch x`",
    "a b\\",
    "org/name",
    "{{.}}",
    "${HOME}",
    "$HOME",
    "$(HF_TOKEN)",
    "$$(HF_TOKEN)",
    "%s %n",
    "# no comment",
    "a: b",
    "- item",
    "!!python/object/apply:os.system ['touch x']",
    "&& touch x",
    "> x",
    "*",
    "a~b",
    "name\u2028touch x",
    "модель \N{ROCKET}",
    "true",
    "0x1f",
    "-rf",
    "--port=1",
    "=",
    "x" * 300,
    "vllm",
    "kubernetes",
]
HOSTILE_ARGS = ["--chat-template=$(touch x)", "--note='; touch x; '", "--tag=${HOME}"]
GPUS = [{"name": f"g {number}; `touch x`", "memory_gb": 80} for number in range(15)]


def hostile_plan(names=NAMES):
    """Return a plan in which names are hostile, and sources too where they can be."""
    models = [
        {
            "name": name,
            "size_gb": 1,
            "load": 1,
            "args": HOSTILE_ARGS if number == 0 else [],
            **({"source": "plain"} if name.startswith("-") else {}),
        }
        for number, name in enumerate(names)
    ]
    models.append({"name": "$(touch asleep)", "size_gb": 1, "load": 1, "may_sleep": True})
    where = {name: [GPUS[place % len(GPUS)]["name"]] for place, name in enumerate(names)}
    text = json.dumps({"gpus": GPUS, "models": models})
    return plan_of(text, {**where, "$(touch asleep)": []})


def sources(names=NAMES):
    return {name: "plain" if name.startswith("-") else name for name in names}


def documents(target, settings=None):
    (file,) = emit(target, *hostile_plan(), settings).files
    return list(yaml.safe_load_all(file.text))


def served(arguments):
    """Return the model that an engine loads and the name that it serves it under."""
    names = [a.partition("=")[2] for a in arguments if a.startswith("--served-model-name=")]
    assert len(names) == 1
    assert next(a for a in arguments if a.startswith("--port=")) != "--port=1"
    return arguments[0].removeprefix("--model-path="), names[0]


@pytest.mark.parametrize("target", [Target.VLLM, Target.SGLANG])
def test_scripts_run_nothing_but_engines(target, tmp_path):
    (file,) = emit(target, *hostile_plan()).files
    machine = Machine(tmp_path)
    machine.run_until_all_answer(file.text)
    skipped = 1 if target is Target.VLLM else 2
    told = [served(engine["argv"][skipped:]) for engine in machine.told().values()]
    assert told == [(source, name) for name, source in sources().items()]
    assert machine.told()[8000]["argv"][skipped + 1 : skipped + 4] == HOSTILE_ARGS
    assert [path.name for path in machine.work.iterdir()] == ["logs"]
    logs = [path.name for path in (machine.work / "logs").iterdir()]
    assert len(logs) == len(NAMES)
    assert all(re.fullmatch(r"[a-z][-a-z0-9]*\.log", name) for name in logs)


@pytest.mark.parametrize("target", [Target.VLLM, Target.SGLANG])
def test_hostile_scripts_pass_shellcheck(target, tmp_path):
    (file,) = emit(target, *hostile_plan()).files
    path = tmp_path / "serve.sh"
    path.write_text(file.text, encoding="utf-8")
    subprocess.run(["bash", "-n", path], check=True)
    subprocess.run([SHELLCHECK, path], check=True, env={"LANG": "C.UTF-8"})


@pytest.mark.parametrize("engine", Engine)
def test_compose_sees_no_variable(engine):
    (project,) = documents(Target.COMPOSE, EmitSettings(engine=engine))
    found = []
    for name, service in project["services"].items():
        assert re.fullmatch(r"[a-z][-a-z0-9]*", name)
        found.append(served([_interpolated(word) for word in service["command"]]))
    assert found == [(source, name) for name, source in sources().items()]


def _interpolated(text):
    """Do what compose does with a text: two dollars are one, anything else must not be there."""
    assert "$" not in text.replace("$$", "")
    return text.replace("$$", "$")


@pytest.mark.parametrize("share", [Share.DRA, Share.ENV, Share.POD])
def test_kubernetes_sees_no_variable_and_takes_every_name(share):
    manifests = documents(Target.KUBERNETES, EmitSettings(share=share))
    for manifest in manifests:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", manifest["metadata"]["name"])
        assert (manifest["kind"], manifest["metadata"]["name"]) != ("Service", "kubernetes")
    keys = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
    assert len(set(keys)) == len(keys)
    deployments = [manifest for manifest in manifests if manifest["kind"] == "Deployment"]
    pods = [deployment["spec"]["template"]["spec"] for deployment in deployments]
    containers = [container for pod in pods for container in pod["containers"]]
    found = [served([_expanded(a) for a in container["args"]]) for container in containers]
    assert sorted(found) == sorted((source, name) for name, source in sources().items())
    for container in containers:
        assert [_expanded(word) for word in container["command"]] == container["command"]
    names = [deployment["metadata"]["annotations"]["colocate/model"] for deployment in deployments]
    if share is not Share.POD:
        assert names == NAMES


def _expanded(text):
    """Do what the kubelet does: two dollars are one, and one before a bracket is a variable."""

    def replaced(match):
        assert match[0] == "$$", f"{text} has a variable"
        return "$"

    return re.sub(r"\$\$|\$\([^)]*\)", replaced, text)


def test_ray_has_every_name_as_it_is():
    names = [name for name in NAMES if name != NAMES[0]]
    (file,) = emit(Target.RAY, *hostile_plan(names)).files
    application = yaml.safe_load(file.text)["applications"][0]
    loaded = [config["model_loading_config"] for config in application["args"]["llm_configs"]]
    assert {each["model_id"]: each["model_source"] for each in loaded} == sources(names)


@pytest.mark.parametrize("engine", Engine)
def test_the_controller_of_kvcached_runs_nothing_but_engines(engine, tmp_path):
    (config,) = documents(Target.KVCACHED, EmitSettings(engine=engine))
    python = tmp_path / "python"
    python.write_text(re.sub(r"time.sleep.*", "", ENGINE), encoding="utf-8")
    python.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    for instance in config["instances"]:
        flag = "--model" if engine is Engine.VLLM else "--model-path"
        # What the controller does: split, join, and paste the name between single quotes.
        arguments = [word for item in instance["engine_args"] for word in shlex.split(item)]
        line = shlex.join([str(python), flag, instance["model"], *arguments])
        exports = "".join(
            f"export {key}={shlex.quote(value)}; "
            for key, _, value in (
                entry.partition("=") for entry in instance["engine_env"] + instance["kvcached_env"]
            )
        )
        text = f"echo 'Starting {instance['name']}...'; {exports}{line}"
        variables = {"PATH": os.environ["PATH"], "RECORDS": str(tmp_path), "LANG": "C.UTF-8"}
        subprocess.run(["bash", "-c", text], check=True, cwd=work, env=variables, timeout=30)
    told = [json.loads(path.read_text("utf-8")) for path in sorted(tmp_path.glob("*.json"))]
    assert [engine["argv"][1] for engine in told] == list(sources().values())
    assert told[0]["argv"][2:5] == HOSTILE_ARGS
    assert not list(work.iterdir())


def test_a_source_that_would_be_an_option_is_refused():
    text = json.dumps({"gpus": GPUS, "models": [{"name": "--evil", "size_gb": 1, "load": 1}]})
    plan = plan_of(text, {"--evil": [GPUS[0]["name"]]})
    for target in Target:
        with pytest.raises(InputError, match="begins with a dash"):
            emit(target, *plan)


@pytest.mark.parametrize("field", [{"source": "a\nb"}, {"args": ["a\0b"]}])
def test_control_characters_are_refused(field):
    model = {"name": "m", "size_gb": 1, "load": 1, **field}
    plan = plan_of(json.dumps({"gpus": GPUS, "models": [model]}), {"m": [GPUS[0]["name"]]})
    with pytest.raises(InputError, match="must be without control characters"):
        emit(Target.VLLM, *plan)


def test_what_the_plan_decides_is_not_for_arguments():
    model = {"name": "m", "size_gb": 1, "load": 1, "args": ["--gpu_memory_utilization=0.9"]}
    plan = plan_of(json.dumps({"gpus": GPUS, "models": [model]}), {"m": [GPUS[0]["name"]]})
    with pytest.raises(InputError, match="args has --gpu-memory-utilization, which is decided by"):
        emit(Target.VLLM, *plan)
