"""Units of systemd, read by the rules of its manual; `make test-files` has systemd read them."""

import re
from collections import defaultdict

import pytest

from colocate.errors import InputError
from colocate.outputs.emit.catalogue import emit
from colocate.outputs.emit.settings import EmitSettings, Engine, Sharing, Target
from tests.outputs.emit.plans import realistic_plan
from tests.outputs.emit.test_hostile import HOSTILE_ARGS, hostile_plan, served, sources

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


def units(plan=None, **settings):
    files = emit(Target.SYSTEMD, *(plan or realistic_plan()), EmitSettings(**settings)).files
    return {file.name: read(file.text) for file in files}


def read(text):
    """Return the settings of a unit: all values by section and name."""
    found, section = defaultdict(list), ""
    for line in text.split("\n"):
        assert not line.endswith("\\") or line.startswith("#"), "it would continue on the next line"
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals, line
            found[f"{section}.{name}"].append(value)
    return found


def words(line):
    """Split a command as systemd does: quotes and escapes, %% is %, $$ is $, no other of these."""
    found = []
    for quoted, bare in WORD.findall(line):
        word = bare or re.sub(r"\\(.)", lambda match: ESCAPED[match[1]], quoted)
        assert "%" not in word.replace("%%", "")
        assert "$" not in word.replace("$$", "")
        found.append(word.replace("%%", "%").replace("$$", "$"))
    return found


def test_engines_wait_for_their_neighbours_and_depend_on_none():
    found = units()
    assert found["colocate-embedder.service"]["Unit.After"] == [
        "network-online.target colocate-llama-3-1-8b-3.service"
    ]
    for unit in found.values():
        assert "Unit.Requires" not in unit, "one engine restarts without the others"
    (wanted,) = found["colocate-beta.target"]["Unit.Wants"]
    assert wanted.split() == [
        "colocate-llama-3-1-8b-3.service",
        "colocate-embedder.service",
        "colocate-canary.service",
    ]


def test_a_unit_has_started_once_its_engine_answers():
    unit = units(load_gb_per_second=0.1)["colocate-llama-3-1-70b.service"]
    assert unit["Service.TimeoutStartSec"] == [str(600 + 1420)]
    (ask,) = unit["Service.ExecStartPost"]
    assert words(ask)[-1] == "http://127.0.0.1:8000/health"
    assert '"CUDA_VISIBLE_DEVICES=1,0"' in unit["Service.Environment"]


@pytest.mark.parametrize("engine", Engine)
def test_systemd_sees_no_variable_and_no_specifier(engine):
    found = units(hostile_plan(), engine=engine)
    told = []
    for name, unit in found.items():
        assert re.fullmatch(r"colocate(-[a-z0-9]+)*\.(service|target)", name)
        for line in unit["Service.ExecStart"]:
            command = words(line)
            begin = command.index("serve" if engine is Engine.VLLM else "sglang.launch_server")
            told.append(command[begin + 1 :])
    assert [served(command) for command in told] == [(s, name) for name, s in sources().items()]
    assert told[0][1:4] == HOSTILE_ARGS


def test_engines_that_share_a_gpu_have_a_daemon_of_mps():
    found = units(sharing=Sharing.MPS)
    unit = found["colocate-embedder.service"]
    assert unit["Unit.BindsTo"] == ["colocate-mps-beta.gpu-1.service"]
    assert "colocate-mps-beta.gpu-1.service" in unit["Unit.After"][0].split()
    pipes = "CUDA_MPS_PIPE_DIRECTORY=/run/colocate-mps/gpu-1"
    assert f'"{pipes}"' in unit["Service.Environment"]
    daemon = found["colocate-mps-beta.gpu-1.service"]
    assert pipes in daemon["Service.Environment"]
    assert daemon["Service.RuntimeDirectory"] == ["colocate-mps/gpu-1"]
    assert daemon["Service.User"] == unit["Service.User"], "MPS serves one user"
    wide = found["colocate-llama-3-1-70b.service"]["Service.Environment"]
    assert '"CUDA_MPS_PIPE_DIRECTORY=/run/colocate-mps/gpu-0"' in wide
    alone = found["colocate-canary.service"]
    assert alone == units()["colocate-canary.service"], "it needs no MPS"


def test_when_an_engine_under_mps_fails_a_unit_restarts_all_of_its_gpus():
    found = units(sharing=Sharing.MPS)
    for name in ("colocate-llama-3-1-70b.service", "colocate-llama-3-1-8b-2.service"):
        assert found[name]["Unit.OnFailure"] == ["colocate-together-alpha.gpu-0.service"]
        assert "Service.Restart" not in found[name], "it would restart alone"
        assert "Unit.StartLimitBurst" not in found[name], "the unit that restarts it has a limit"
    unit = found["colocate-together-alpha.gpu-0.service"]
    (restart,) = unit["Service.ExecStart"]
    assert words(restart)[2:] == [
        "restart",
        "colocate-mps-alpha.gpu-0.service",
        "colocate-llama-3-1-70b.service",
        "colocate-llama-3-1-8b-2.service",
    ]
    assert unit["Unit.StartLimitBurst"] == ["5"]
    (condition,) = unit["Service.ExecCondition"]
    assert words(condition)[-1] == "colocate-alpha.target"


def test_engines_under_mps_find_cores_of_their_own():
    found = units(sharing=Sharing.MPS)
    (line,) = found["colocate-embedder.service"]["Service.ExecStart"]
    assert "taskset --cpu-list" in words(line)[3]
    assert words(line)[4:9] == ["embedder", "2", "2", "4", "vllm"]


def test_engines_may_be_in_a_virtual_environment():
    variables = units(venv="/opt/v")["colocate-canary.service"]["Service.Environment"]
    assert any(value.startswith('"PATH=/opt/v/bin:') for value in variables)
    with pytest.raises(InputError, match="must be an absolute path for systemd"):
        units(venv="here/venv")
