"""Steps on other machines: their files are named by absolute paths, and must be there."""

import re
from pathlib import Path

import pytest

from colocate.errors import InputError, OutputError
from colocate.outputs.emit.settings import Target
from colocate.outputs.replan.commands import refuse_begun, steps_files
from colocate.replan.steps.safe_steps import safe_steps
from colocate.replan.transition import change_between
from tests.outputs.made_plans import fleet_from, plan_of
from tests.outputs.replan.written_steps import LOAD_FIRST, write_steps

REMOTE = (Target.VLLM, Target.SGLANG, Target.COMPOSE, Target.SYSTEMD, Target.KVCACHED)


@pytest.fixture(params=REMOTE, ids=lambda target: target.value)
def written(request, tmp_path):
    return write_steps(request.param, tmp_path / "steps", tmp_path / "fake", LOAD_FIRST, node="n1")


def test_a_script_reaches_another_machine(written):
    done = written.run()
    assert done.returncode == 0, done.stderr
    assert written.running == {launch.name for launch in written.after}
    written.check()
    sent = [line for line in written.lines("calls") if line.startswith("ssh n1 ")]
    assert sent
    relative = re.compile(r" (?!/|http:)[\w.-]+/[\w.-]+")
    assert not [line for line in sent if relative.search(line)]


def test_a_machine_without_the_files_is_told_before_any_step(written):
    old = written.world
    broken = written.run(MISSING="n1")
    assert broken.returncode == 1
    assert re.match(r"cannot find /\S+ on n1: copy it there", broken.stderr)
    assert "step" not in broken.stdout
    assert written.world == old


def test_a_wrong_folder_of_old_files_is_told_before_any_step(written):
    broken = written.run(OLD="elsewhere", ENGINES="elsewhere")
    assert broken.returncode == 1
    assert f"cannot find {Path.cwd()}/elsewhere/" in broken.stderr
    assert written.running == {"a", "b"}


def test_logs_of_another_folder_are_told_before_any_step(tmp_path):
    written = write_steps(Target.VLLM, tmp_path / "steps", tmp_path / "fake", LOAD_FIRST)
    broken = written.run(LOGS=tmp_path / "logs")
    assert broken.returncode == 1
    assert f"cannot find {tmp_path}/logs/b.pid" in broken.stderr
    assert written.running == {"a", "b"}
    assert written.run(FAIL="gateway close").returncode == 1
    (written.logs / "b.pid").rename(written.logs / "b.kept")  # checked at the first start only
    again = written.run()
    assert "cannot find" not in again.stderr


def test_steps_that_have_begun_are_not_written_over(tmp_path):
    refuse_begun(tmp_path / "new")
    (tmp_path / "steps.done").write_text("0\n")
    with pytest.raises(OutputError, match=r"have begun \(steps.done\); give another folder"):
        refuse_begun(tmp_path)


@pytest.mark.parametrize("numbered", [False, True])
def test_a_gpu_that_counts_as_another_device_since_one_left_the_file_is_refused(numbered):
    gpus = [{"name": f"g{n}", "memory_gb": 80} for n in range(3)]
    models = [{"name": name, "size_gb": 20.0, "load": 1} for name in "ab"]
    left = [dict(gpus[0]), dict(gpus[2])]
    if numbered:
        left[1]["devices"] = [2]
    old, new = fleet_from(gpus, models), fleet_from(left, models)
    before, after = {"a": ["g0"], "b": ["g0"]}, {"a": ["g0"], "b": ["g2"]}
    steps = safe_steps(change_between((old.problem, before), (new.problem, after), "elastic"))
    plans = (plan_of(old, before), old), (plan_of(new, after), new)
    if numbered:
        assert steps_files(Target.VLLM, steps, *plans).files
        return
    told = "gpu 'g2': is device 1 of its machine now, and was device 2 of its machine"
    with pytest.raises(InputError, match=told):
        steps_files(Target.VLLM, steps, *plans)
