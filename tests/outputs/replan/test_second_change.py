"""A change after another one knows the engines by the names that the first one gave them."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from colocate.cli.main import app
from colocate.errors import InputError, OutputError
from colocate.outputs.emit.engines.running_engines import read_engines
from colocate.outputs.emit.settings import RunningEngine, Target
from colocate.outputs.replan.commands import USUAL_NAMES, steps_files
from colocate.outputs.replan.step_writers import WRITERS
from tests.outputs.replan.written_steps import LOAD_FIRST, way, write_steps

EXAMPLES = Path(__file__).parents[3] / "examples"
AGAIN = (LOAD_FIRST[1], {"a": ["g0"], "b": ["g2"]})


@pytest.mark.parametrize("target", list(WRITERS), ids=lambda target: target.value)
def test_two_changes_in_a_row_end_where_the_plan_says(target, tmp_path):
    first = write_steps(target, tmp_path / "one", tmp_path / "fake", LOAD_FIRST)
    assert first.run().returncode == 0
    assert first.running == {"a", "b-2"}
    running = read_engines(tmp_path / "one" / "new", target)
    second = write_steps(
        target, tmp_path / "two", tmp_path / "fake", AGAIN, running, tmp_path / "one" / "new"
    )
    assert USUAL_NAMES not in (tmp_path / "two" / "steps.txt").read_text()
    assert {la.name for la in second.before} == {"a", "b-2"}
    done = second.run()
    assert done.returncode == 0, done.stderr
    assert second.running == {launch.name for launch in second.after} == {"a", "b"}
    assert not second.lines("faults")


def test_without_them_the_list_says_which_names_it_takes(tmp_path):
    found = steps_files(Target.COMPOSE, *way(LOAD_FIRST))
    assert USUAL_NAMES in found.files[1].text
    assert found.notes == (USUAL_NAMES,)


@pytest.mark.parametrize(
    ("running", "told"),
    [
        ([("a", "g0", "a", 8000)], "--running lacks b on g0, which the plan that runs has"),
        (
            [("a", "g0", "a", 8000), ("b", "g0", "b", 8001), ("c", "g1", "c", 8002)],
            "--running has c on g1, and the plan that runs has not",
        ),
    ],
)
def test_engines_of_another_plan_are_refused(running, told):
    engines = [RunningEngine(model, (gpu,), name, port) for model, gpu, name, port in running]
    with pytest.raises(InputError, match=told):
        steps_files(Target.COMPOSE, *way(LOAD_FIRST), engines)


ENGINE = {"model": "a", "gpus": ["g0"], "name": "a", "port": 8000}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"engines": [ENGINE]}, "target is missing"),
        ({"target": "vllm", "engines": [ENGINE]}, "target='vllm', must be 'compose'"),
        ({"target": "compose"}, "has no list of engines"),
        ([], "has no list of engines"),
        ({"target": "compose", "engines": [1]}, "an engine with model, gpus, name, port"),
        (
            {"target": "compose", "engines": [{**ENGINE, "name": "a; reboot"}]},
            "['name']='a; reboot'",
        ),
        ({"target": "compose", "engines": [{**ENGINE, "model": 1}]}, "['model']=1"),
        ({"target": "compose", "engines": [{**ENGINE, "gpus": "g0"}]}, "['gpus']='g0'"),
        ({"target": "compose", "engines": [{**ENGINE, "port": 0}]}, "['port']=0"),
        ({"target": "compose", "engines": [ENGINE, ENGINE]}, "['name']='a'"),
        (
            {"target": "compose", "engines": [ENGINE, {**ENGINE, "gpus": ["g1"], "name": "b"}]},
            "['port']=8000, must be that of no other engine",
        ),
        (
            {"target": "compose", "engines": [ENGINE, {**ENGINE, "port": 8001, "name": "b"}]},
            "['gpus']=['g0'], must be that of no other engine",
        ),
    ],
)
def test_files_that_name_engines_wrongly_are_refused(tmp_path, data, told):
    (tmp_path / "engines.json").write_text(json.dumps(data))
    with pytest.raises(InputError) as error:
        read_engines(tmp_path, Target.COMPOSE)
    assert told in str(error.value)
    assert "engines.json" in str(error.value)


def test_a_file_that_is_no_json_or_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"engines\.json: cannot be read"):
        read_engines(tmp_path, Target.COMPOSE)
    (tmp_path / "engines.json").write_text("{")
    with pytest.raises(InputError, match="is no JSON"):
        read_engines(tmp_path, Target.COMPOSE)


def test_the_command_reads_what_an_earlier_one_wrote(tmp_path):
    plan, evening = tmp_path / "plan.json", tmp_path / "evening.json"

    def colocate(*arguments):
        return CliRunner().invoke(app, [*map(str, arguments)])

    assert colocate("plan", EXAMPLES / "morning.yaml", "--save", plan).exit_code == 0
    common = ("--budget", "20GB", "--time-limit", "0.2", "--to", "compose")
    first = ("replan", EXAMPLES / "evening.yaml", "--from", plan, "--save", evening, *common)
    said = colocate(*first, "--steps", tmp_path / "one")
    assert USUAL_NAMES in said.stderr
    second = ("replan", EXAMPLES / "morning.yaml", "--from", evening, *common)
    running = ("--running", tmp_path / "one")
    said = colocate(*second, "--steps", tmp_path / "two", *running)
    assert said.exit_code == 0, said.output
    assert USUAL_NAMES not in said.stderr
    known = json.loads((tmp_path / "one" / "new" / "engines.json").read_text())["engines"]
    script = (tmp_path / "two" / "steps.sh").read_text()
    drained = re.findall(r"closed '' (\S+) http://\S+:(\d+)$", script, re.MULTILINE)
    assert drained
    assert {*drained} <= {(each["model"], str(each["port"])) for each in known}
    refused = colocate(*first, "--steps", tmp_path / "three", *running)
    assert isinstance(refused.exception, InputError)
    (tmp_path / "two" / "steps.done").write_text("0\n")
    refused = colocate(*second, "--steps", tmp_path / "two", *running)
    assert isinstance(refused.exception, OutputError)
