"""Ways for a program to carry what a case has seen to later ones, or to fill the machine."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from errno import EOPNOTSUPP
from pathlib import Path
from textwrap import indent

import pytest
from numpy.random import RandomState

from colocate import Referee
from colocate.arena.asking import Halt
from colocate.arena.contest import Contest
from colocate.arena.repeats import Repeats
from colocate.arena.tasks.fleets.latency import latency_problem
from colocate.arena.tasks.fleets.solving import solved_case
from colocate.arena.walls.enclosure import Enclosure
from colocate.arena.walls.sandbox import Limits, Sandbox
from colocate.arena.walls.starter import LANDLOCK_LEAKS, best_enclosure, leak_of
from colocate.errors import SandboxError
from tests.arena.test_sandbox import QUESTION, descendants, told
from tests.arena.tiny_contest import (
    CONTEST,
    NAMESPACES,
    answered,
    behind_each_wall,
    behind_walls_that_keep_secrets,
    needs_landlock,
    program,
    question,
)

LIMITS = Limits(seconds=5, memory_mb=512)
BITS = 4
ACCESS_TIMES = f"""
import os
import notes
places = [os.path.join(os.path.dirname(notes.__file__), f"bit{{n}}.txt") for n in range({BITS})]
told = sum(1 << n for n, place in enumerate(places) if os.stat(place).st_atime > 10)
if len(models) > 2:
    for n, place in enumerate(places):
        if len(models) >> n & 1:
            open(place).read()
elif told:
    raise RuntimeError(f"a hidden case has {{told}} models")
"""
"""Reads a library file for every bit of a number; the access times of the files tell it later."""
HOLDS = """
import mmap, os
held, files, maps = 0, [], []
try:
    for n in range(1000):
        file = os.open(f"f{n}", os.O_CREAT | os.O_RDWR)
        os.unlink(f"f{n}")
        os.posix_fallocate(file, 0, 16 * 1024 * 1024)
        held += 16
        if n < 20:
            maps.append(mmap.mmap(file, 16 * 1024 * 1024))
            os.close(file)
        else:
            files.append(file)
except (OSError, ValueError) as error:
    seen["ended by"] = type(error).__name__
seen["held"] = held
"""
"""Keeps files that have no name: open, or mapped into memory."""


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A package whose files have old access times, and a way to tell whether they are."""
    package = tmp_path / "notes"
    package.mkdir()
    for name in ("__init__.py", *(f"bit{n}.txt" for n in range(BITS))):
        (package / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    def reset():
        for n in range(BITS):
            (package / f"bit{n}.txt").write_text("note")
            os.utime(package / f"bit{n}.txt", (1, 2))

    reset()
    return reset


def with_hidden(models):
    return Contest("tiny", CONTEST.public, (question("hidden", models=models, size=5),))


@behind_walls_that_keep_secrets
def test_access_times_carry_nothing_from_hidden_cases_to_later_runs(enclosure, notes):
    referee = Referee(limits=LIMITS, allow=("notes",), enclosure=enclosure)
    for models in (5, 9):
        verdict = referee.judge_source(program(ACCESS_TIMES), with_hidden(models), Repeats(2))
        assert "hidden case" not in json.dumps(verdict.as_dict())
        assert (verdict.correct, verdict.hidden.cases) == (True, 1), verdict.feedback


@needs_landlock
def test_the_same_program_leaks_behind_landlock_alone_so_hidden_cases_are_refused(notes):
    with Sandbox(program(ACCESS_TIMES), LIMITS, ("notes",), Enclosure.LANDLOCK) as sandbox:
        sandbox.ask(question(models=5, size=5).as_data())
        answer = answered(sandbox.ask(QUESTION))
    if os.statvfs(".").f_flag & os.ST_NOATIME:
        pytest.skip("left out: access times are not kept here")
    assert answer["error"] == "RuntimeError: a hidden case has 5 models"
    notes()
    referee = Referee(limits=LIMITS, allow=("notes",), enclosure=Enclosure.LANDLOCK)
    verdict = referee.judge_source(program(ACCESS_TIMES), with_hidden(5), Repeats(2))
    assert verdict.hidden.cases == 0
    assert verdict.hidden_refused == LANDLOCK_LEAKS
    assert f"no hidden cases were asked: {LANDLOCK_LEAKS}" in verdict.feedback
    assert type(verdict).from_dict(verdict.as_dict()) == verdict
    assert "hidden case has" not in json.dumps(verdict.as_dict())


@needs_landlock
def test_a_referee_without_walls_for_hidden_cases_has_another_contest():
    whole, walled = Referee("adrs"), Referee("adrs", enclosure=Enclosure.LANDLOCK)
    assert not whole.hidden_refused
    assert whole.contest.digest != walled.contest.digest
    assert walled.contest.hidden == ()
    public = Referee("adrs", hidden=False, enclosure=Enclosure.LANDLOCK)
    assert public.hidden_refused == ""
    assert public.contest.digest == walled.contest.digest


def test_hidden_cases_are_refused_on_processors_without_a_filter(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert "riscv64" in leak_of(Enclosure.BUBBLEWRAP)
    assert "riscv64" in leak_of(Enclosure.NAMESPACES)


@behind_walls_that_keep_secrets
def test_files_without_a_name_count_too(enclosure):
    seen = told(HOLDS, enclosure, Limits(seconds=5, folder_mb=64))
    assert seen == {"ended by": "OSError", "held": 48} or seen["held"] <= 64


@needs_landlock
def test_behind_landlock_alone_no_file_can_be_held():
    assert told(HOLDS, Enclosure.LANDLOCK) == {"ended by": "PermissionError", "held": 0}


NUMBERS = """
import os, threading
for _ in range(50):
    thread = threading.Thread(target=len, args=((),))
    thread.start(); thread.join()
seen["own"] = os.getpid(), os.getppid()
seen["processes"] = [n for n in range(2, 100_000) if os.path.exists(f"/proc/{n}")]
seen["thread"] = threading.get_native_id()
seen["root"] = os.statvfs("/").f_files
"""


@behind_walls_that_keep_secrets
def test_numbers_of_processes_and_threads_begin_anew_in_every_sandbox(enclosure):
    first, second = told(NUMBERS, enclosure), told(NUMBERS, enclosure)
    assert first == second
    assert first["processes"] == []
    assert first["own"][0] < 20


COUNTS_ON = {
    "threads": """
for _ in range(7 * len(models)):
    thread = threading.Thread(target=len, args=((),))
    thread.start(); thread.join()
""",
    "files without a name": """
for _ in range(7 * len(models)):
    try:
        os.close(os.open(".", os.O_TMPFILE | os.O_RDWR))
    except OSError as error:
        seen["error"] = error.errno
""",
    "temporary files": """
for _ in range(7 * len(models)):
    with tempfile.TemporaryFile() as file:
        file.write(b"four")
""",
}
SEEN = """
import os, tempfile, threading
seen = {"process": os.getpid(), "thread": threading.get_native_id()}
"""
FIRST_FILE = """
with open("file", "w") as file:
    seen["file"] = os.fstat(file.fileno()).st_ino
"""


@behind_walls_that_keep_secrets
@pytest.mark.parametrize("how", COUNTS_ON)
def test_no_case_sees_what_another_has_counted_on(enclosure, how):
    last = "if len(models) == 1:" + indent(FIRST_FILE, "    ")
    source = program(SEEN + COUNTS_ON[how] + last, "{0: map(repr, seen.items())}")
    found = []
    for many in (2, 9):
        with Sandbox(source, LIMITS, enclosure=enclosure) as sandbox:
            sandbox.ask(question(models=many, size=5).as_data())
            ((_, *pairs),) = answered(sandbox.ask(question(models=1).as_data()))
        found.append(dict(map(eval, pairs)))
    assert found[0] == found[1]
    assert found[0]["process"] < 20
    assert how != "files without a name" or found[0]["error"] == EOPNOTSUPP


@behind_walls_that_keep_secrets
def test_a_program_with_threads_is_judged_as_any_other(enclosure):
    source = program(f"{SEEN}{COUNTS_ON['threads']}")
    verdict = Referee(limits=LIMITS, enclosure=enclosure).judge_source(source, CONTEST)
    assert (verdict.correct, verdict.fitness) == (True, 1.0), verdict.feedback


KEPT = """
import importlib, threading
seen["main thread"] = threading.main_thread().native_id
for name in ("numpy", "sys", "multiprocessing.process", "multiprocessing.util", "tempfile", "uuid"):
    importlib.import_module(name)
import gc, os
large = range(50, 4_200_000)
seen["kept"] = [
    (key, value) for found in gc.get_objects() if type(found) is dict
    for key, value in found.items()
    if type(value) is int and value in large and "pid" in str(key)
]
"""


@behind_walls_that_keep_secrets
def test_modules_keep_no_number_that_a_process_has_outside(enclosure):
    source = program(f"seen = {{}}\n{KEPT}", "{0: map(repr, seen.items())}")
    found = []
    for hash_seed in (101, 102):  # each has a process of its own that loads modules
        subprocess.run("for n in 1 2 3 4 5 6 7 8; do true & done; wait", shell=True, check=True)
        with Sandbox(source, LIMITS, (), enclosure, hash_seed) as sandbox:
            ((_, *pairs),) = answered(sandbox.ask(QUESTION))
        found.append(dict(map(eval, pairs)))
    assert found[0] == found[1]
    assert found[0]["main thread"] < 20
    assert found[0]["kept"] == []


@behind_walls_that_keep_secrets
def test_nothing_that_can_be_seen_changes_by_being_looked_at(enclosure):
    body = """
import os
def stamps():
    found = {}
    for top in ("/usr/lib", "/dev", os.path.dirname(os.__file__), "/colocate/packages"):
        for folder, _, names in os.walk(top):
            for name in [".", *names][:3]:
                status = os.lstat(os.path.join(folder, name))
                found[folder, name] = status.st_atime_ns, status.st_ctime_ns, status.st_nlink
            if len(found) > 3000:
                break
    return found
before = stamps()
for folder, name in list(before):
    try:
        open(os.path.join(folder, name), "rb").read(1)
        os.readlink(os.path.join(folder, name))
    except OSError:
        pass
seen["changed"] = [place for place, stamp in stamps().items() if before.get(place) != stamp]
seen["many"] = len(before) > 300
"""
    assert told(body, enclosure) == {"changed": [], "many": True}


@behind_walls_that_keep_secrets
@pytest.mark.parametrize("workers", [1, 2])
def test_hidden_cases_come_after_all_public_ones_and_in_other_sandboxes(
    enclosure, workers, monkeypatch
):
    started, asked = [], []
    fresh, ask = Sandbox._start, Sandbox.ask

    def start(self):
        started.append(self)
        return fresh(self)

    def record(self, question, *seed):
        asked.append((self, question["gpu_num"], len(question["models"])))
        return ask(self, question, *seed)

    monkeypatch.setattr(Sandbox, "_start", start)
    monkeypatch.setattr(Sandbox, "ask", record)
    hidden = tuple(question(f"h{n}", models=3, size=5) for n in range(4))
    contest = Contest("tiny", tuple(question(f"p{n}") for n in range(4)), hidden)
    order = []
    referee = Referee(limits=LIMITS, enclosure=enclosure, workers=workers)
    referee.judge_source(program(), contest, on_case=lambda result: order.append(result.case[0]))
    assert order == ["p"] * 4 + ["h"] * 4
    of_public = {id(sandbox) for sandbox, _, models in asked if models == 2}
    of_hidden = {id(sandbox) for sandbox, _, models in asked if models == 3}
    assert not of_public & of_hidden
    assert len(started) == len(of_public) + len(of_hidden)


def test_no_more_sandboxes_are_made_than_there_are_cases(monkeypatch):
    made = []
    usual = Sandbox.__init__
    monkeypatch.setattr(
        Sandbox, "__init__", lambda self, *told: made.append(self) or usual(self, *told)
    )
    assert Referee(limits=LIMITS, workers=100_000).judge_source(program(), CONTEST).correct
    assert len(made) == len(CONTEST.questions)


def test_a_program_that_fails_before_it_is_called_is_not_run_again():
    questions = tuple(question(f"q{n}", seed=n) for n in range(8))
    contest = Contest("tiny", questions[:6], questions[6:])
    asked = Referee(limits=LIMITS).judge_source("import no_such_package", contest)
    reasons = [r.reason for r in (*asked.public.results, *asked.hidden.results)]
    whole = "crash: ModuleNotFoundError: No module named 'no_such_package'"
    skipped = "not run, as 3 cases failed before the function was called"
    assert reasons == [whole] * 3 + [skipped] * 5
    assert asked.fitness == 0.0
    by_case = program("if len(models) == 2: 1 / 0")
    mixed = Contest("tiny", (*questions[:4], question("more", models=3, size=5)), questions[6:])
    verdict = Referee(limits=LIMITS).judge_source(by_case, mixed)
    assert [result.valid for result in verdict.public.results] == [False] * 4 + [True]


def test_hidden_cases_do_not_run_if_every_public_one_failed():
    verdict = Referee(limits=LIMITS).judge_source(program("if len(models) == 2: 1 / 0"), CONTEST)
    assert verdict.hidden.results[0].reason == "not run, as every public case failed"
    assert verdict.fitness == 0.0


@pytest.mark.parametrize("workers", [1, 2])
def test_all_cases_together_have_a_limit(workers):
    limits = replace(LIMITS, total_seconds=0.9)
    questions = tuple(question(f"q{n}") for n in range(12))
    contest = Contest("tiny", questions[:9], questions[9:])
    source = program("import time; time.sleep(0.3)")
    referee = Referee(limits=limits, workers=workers)
    verdict = referee.judge_source(source, contest)
    skipped = "not run, as the cases before it took the 0.9 s that all may take"
    reasons = [result.reason for result in verdict.public.results]
    assert reasons[0] == ""
    assert reasons[3:] == [skipped] * 6
    assert verdict.hidden.results[0].reason == skipped


def test_a_run_can_be_ended_from_another_thread():
    halt = Halt()
    threading.Timer(0.5, halt.end).start()
    started = time.monotonic()
    referee = Referee(limits=Limits(seconds=30), workers=2)
    with pytest.raises(SandboxError, match="the run was ended"):
        referee.judge_source(program("import time; time.sleep(29)"), CONTEST, halt=halt)
    assert time.monotonic() - started < 5


JUDGE = """
import sys
from colocate import Limits, Referee
from colocate.arena.walls.enclosure import Enclosure
referee = Referee(limits=Limits(seconds=60), enclosure=Enclosure(sys.argv[2]), workers=2)
referee.judge(sys.argv[1])
"""


@behind_each_wall
def test_a_referee_that_is_killed_leaves_no_process_and_no_file(enclosure, tmp_path):
    path = tmp_path / "sleeps.py"
    path.write_text(program("import time; time.sleep(59)"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    killed = subprocess.Popen([sys.executable, "-c", JUDGE, path, enclosure], env=environment)
    until = time.monotonic() + 20
    running = set()
    while time.monotonic() < until and len(running) < 6:
        running = descendants(killed.pid)
        time.sleep(0.05)
    time.sleep(0.3)
    running |= descendants(killed.pid)
    killed.kill()
    killed.wait()
    until = time.monotonic() + 5
    while any(descendants(pid) for pid in running) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(descendants(pid) for pid in running)
    assert os.listdir(temporary) == []


def seconds_in_the_queue(process):
    """Return how long a process has waited for a free processor; it may have ended."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9


def interrupted(asked):
    """Interrupt a process; return the seconds until it ended, on a machine of its own."""
    queued, started = seconds_in_the_queue(asked.pid), time.monotonic()
    asked.send_signal(signal.SIGINT)
    while not os.waitid(os.P_PID, asked.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        assert time.monotonic() - started < 30
        time.sleep(0.01)
    seconds = time.monotonic() - started
    return seconds - (seconds_in_the_queue(asked.pid) - queued)


def scoring(*arguments):
    command = [Path(sys.executable).with_name("colocate"), "score", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("body", ["import time; time.sleep(59)", "while True: pass"])
@pytest.mark.parametrize("programs", [0, 3], ids=["a program", "a folder"])
def test_an_interrupted_referee_ends_within_a_second(body, programs, tmp_path):
    for number in range(programs or 1):
        (tmp_path / f"p{number}.py").write_text(program(f"{body}\nx = {number}"))
    path = tmp_path if programs else tmp_path / "p0.py"
    asked = scoring(path, "--time-limit", "60", "--workers", "2")
    until = time.monotonic() + 20
    while time.monotonic() < until and len(descendants(asked.pid)) < 6:
        time.sleep(0.05)
    time.sleep(0.3)
    assert interrupted(asked) < 1
    output, notes = asked.communicate()
    assert asked.returncode == 130
    told = "0 of 3 programs were judged" if programs else "0 cases were judged; that is no verdict"
    assert f"interrupted: {told}" in notes
    assert output.strip() == ""


def test_who_is_interrupted_while_fresh_cases_are_solved_ends_as_well(tmp_path):
    path = tmp_path / "idle.py"
    path.write_text("def place_models(gpus, models): return {}")
    solved_case(latency_problem(RandomState(1)), 0.1)  # nobody compiles later
    asked = scoring(path, "--task", "fleet-latency", "--hidden-seed", "5")
    line = asked.stderr.readline()
    assert line == "solving 12 fresh hidden cases first, to know what can be reached\n"
    time.sleep(1)
    assert interrupted(asked) < 3  # the solver ends what it is at
    output, notes = asked.communicate()
    assert (asked.returncode, output, notes) == (130, "", "interrupted: no case was judged\n")


@pytest.mark.parametrize("enclosure", [NAMESPACES])
def test_the_best_walls_need_nothing_installed(enclosure):
    assert best_enclosure() is enclosure


def test_a_run_that_is_over_takes_no_process_from_another():
    class Scorer:
        halts = 0

        def halt(self):
            self.halts += 1

    shared, halt = Scorer(), Halt()
    runs = [[shared], [shared]]
    for run in runs:
        halt.watch(run)
    halt.forget(runs[0])
    halt.end()
    assert shared.halts == 1
