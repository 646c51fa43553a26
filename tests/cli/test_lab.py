import os
import signal
import socket
import subprocess
import sys
from time import monotonic, sleep

import pytest

from colocate.lab.archive import Archive
from tests.cli.test_commands import run


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A lab of two generations, in the folder `lab` of a folder of its own."""
    folder = tmp_path_factory.mktemp("lab")
    done = run("lab", "init", "--proposals", "2", "--review", "2", "--seed", "3", cwd=folder)
    assert (done.returncode, done.stdout) == (
        0,
        "lab: the first program has score 21.8916 on adrs\n",
    )
    done = run("lab", "run", "--generations", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert first.split()[:6] == ["generation", "0", "program", "0", "score", "21.8916"]
    assert last.startswith("the budget of 2 generations is spent (")
    return folder


def test_it_is_watched_in_the_terminal_and_on_a_page(lab):
    status = run("lab", "status", cwd=lab)
    assert status.returncode == 0
    assert "adrs" in status.stdout
    best = run("lab", "show", cwd=lab)
    assert best.returncode == 0
    assert "ratio" in best.stdout
    start = run("lab", "show", "0", "--source", cwd=lab)
    assert start.stdout.count("def compute_model_placement(") == 1
    review = run("lab", "show", "--review", cwd=lab)
    assert review.stdout.startswith("# Review after ")
    assert "\n## 3. Recommendations\n" in review.stdout
    page = run("lab", "show", "--html", "lab.html", cwd=lab)
    assert page.stdout == "wrote lab.html\n"
    text = (lab / "lab.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "# Review after " in text


def test_a_wording_of_the_review_is_held_to_its_figures(lab):
    review = run("lab", "show", "--review", cwd=lab)
    assert "21.8916" in review.stdout
    (lab / "true.txt").write_text("It began at a score of 21.8916.\n")
    (lab / "false.txt").write_text("It began at a score of 27.5.\n")
    told = run("lab", "show", "--review", "--wording", "true.txt", cwd=lab)
    assert told.stdout.strip() == "It began at a score of 21.8916."
    invented = run("lab", "show", "--review", "--wording", "false.txt", cwd=lab)
    assert invented.returncode == 1
    assert "27.5, which the archive does not" in invented.stderr


def test_it_repeats_itself_from_its_record(lab):
    with Archive.open(lab / "lab" / "lab.db") as archive:
        count = len(archive.programs())
    done = run("lab", "replay", cwd=lab)
    assert done.stdout == f"repeats itself exactly: {count} programs with their verdicts\n"


def test_its_programs_can_be_judged_as_those_of_any_run(lab):
    done = run("lab", "export", "programs", cwd=lab)
    assert done.returncode == 0
    assert (lab / "programs" / "best.py").exists()
    written = len(list((lab / "programs").glob("gen_*")))
    told = f"wrote {written} programs to programs, and the best also to programs/best.py\n"
    assert done.stdout == told
    judged = run("score", "programs/gen_0/main.py", cwd=lab)
    assert "21.8916" in judged.stdout
    again = run("lab", "export", "programs", cwd=lab)
    assert (again.returncode, again.stderr) == (
        3,
        "programs: is not empty, must be a new folder\n",
    )
    onto_a_file = run("lab", "export", "programs/best.py", cwd=lab)
    assert (onto_a_file.returncode, onto_a_file.stderr) == (
        3,
        "programs/best.py: is not empty, must be a new folder\n",
    )


def test_a_run_killed_in_the_middle_goes_on(tmp_path):
    command = [sys.executable, "-m", "colocate", "lab", "run", "--generations", "2"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        until = monotonic() + 60
        while not _programs(tmp_path) > 1 and monotonic() < until:
            sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    before = _programs(tmp_path)
    assert before > 1
    done = run("lab", "run", "--generations", "2", cwd=tmp_path)
    assert done.returncode == 0
    assert _programs(tmp_path) >= before
    assert run("lab", "replay", cwd=tmp_path).returncode == 0


def _programs(folder):
    path = folder / "lab" / "lab.db"
    if not path.exists():
        return 0
    with Archive.open(path) as archive:
        return len(archive.programs())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["status"], 1, "lab/lab.db: does not exist; make a lab with `colocate lab init`\n"),
        (["run", "--proposer", "oracle"], 2, "proposer='oracle', must be composer or openai\n"),
        (["run", "--proposer", "openai"], 2, "proposer='openai' needs --base-url"),
        (["init", "--suite", "none"], 2, "task='none' is not known"),
        (["init", "--suite", "mixed"], 2, "suite='mixed' has GPUs that do not have 80 GB"),
        (["init", "--start", "gone.py"], 3, "gone.py: no such file"),
        (["init", "--allow", "colocate"], 2, "allow='colocate'"),
    ],
)
def test_wrong_input_gets_a_sentence(tmp_path, arguments, code, message):
    done = run("lab", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.startswith(message)


def test_the_task_is_chosen_when_a_lab_is_made(tmp_path):
    done = run("lab", "run", "--task", "tight", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "make one with `colocate lab init --task tight`" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_lab_is_made_once_and_an_unknown_program_is_said_to_be_one(lab):
    again = run("lab", "init", cwd=lab)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    missing = run("lab", "show", "999", cwd=lab)
    assert missing.returncode == 2
    assert "program=999 is not known" in missing.stderr


def test_a_lab_keeps_its_seed(lab):
    other = run("lab", "run", "--seed", "4", "--generations", "0", cwd=lab)
    assert (other.returncode, other.stderr) == (
        2,
        "seed=4, must be 3, which lab was made with; or take another folder with --lab\n",
    )
    assert run("lab", "run", "--seed", "3", "--generations", "0", cwd=lab).returncode == 0


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (
            "def f(:\n",
            "the start program does not compile: invalid syntax at its line 1, 'def f(:'",
        ),
        ("# EVOLVE-BLOCK-END\n", "the start program has the markers line 1 '# EVOLVE-BLOCK-END'"),
        ("x = 1\n", "the start program defines no function compute_model_placement"),
    ],
)
def test_a_start_that_is_no_program_is_refused(tmp_path, source, fault):
    (tmp_path / "bad.py").write_text(source)
    done = run("lab", "init", "--start", "bad.py", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith(f"bad.py: {fault}")
    assert "Traceback" not in done.stderr


def test_a_start_that_fails_everywhere_is_refused(tmp_path):
    (tmp_path / "bad.py").write_text(
        "def compute_model_placement(gpu_num, models):\n    return {}\n"
    )
    done = run("lab", "init", "--start", "bad.py", cwd=tmp_path)
    assert done.returncode == 3
    assert "bad.py: the start program fails on every case: missing model" in done.stderr
    assert not (tmp_path / "lab").exists()


def test_a_dead_server_ends_the_run_with_a_sentence(tmp_path):
    arguments = ["--proposer", "openai", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"]
    done = run("lab", "run", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert "openai:m at http://127.0.0.1:9/v1: no connection" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_does_not_wait_for_a_server_that_is_silent(lab):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        options = ["--generations", "9", "--proposer", "openai", "--base-url", url, "--model", "m"]
        running = subprocess.Popen(
            [sys.executable, "-m", "colocate", "lab", "run", *options],
            cwd=lab,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            connection, _ = server.accept()
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
        connection.close()
    assert running.returncode == 130
    assert "interrupted; all answers so far are kept" in said
    assert run("lab", "status", cwd=lab).returncode == 0
