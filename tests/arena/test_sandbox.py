import json
import os
import platform
import signal
import stat
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from errno import ENOSYS, EPERM
from pathlib import Path
from textwrap import indent

import pytest

import colocate
from colocate.arena.inside import kernel_calls, seccomp
from colocate.arena.walls.enclosure import Enclosure, find_packages
from colocate.arena.walls.sandbox import LONGEST_ANSWER, Limits, Sandbox
from colocate.arena.walls.starter import best_enclosure
from colocate.errors import InputError, SandboxError
from tests.arena.tiny_contest import (
    answered,
    behind_each_wall,
    behind_walls_that_keep_secrets,
    needs_landlock,
    program,
    question,
    stands,
)

QUESTION = question().as_data()
LIMITS = Limits(seconds=5, memory_mb=512)


@pytest.fixture(autouse=True)
def temporary_files(tmp_path, monkeypatch):
    """Let every temporary file be in a folder that must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert os.listdir(folder) == []


def ask(source, enclosure, limits=LIMITS, allow=()):
    with Sandbox(source, limits, allow, enclosure) as sandbox:
        return sandbox.ask(QUESTION)


def told(body, enclosure, limits=LIMITS, allow=()):
    """Return what a program has in `seen` after running a body, told as the names of models."""
    reply = ask(program(f"seen = {{}}\n{body}", "{0: map(repr, seen.items())}"), enclosure, limits,
                allow)  # fmt: skip
    ((_, *pairs),) = answered(reply)
    return dict(map(eval, pairs))


def descendants(process):
    parents = {}
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(entry)] = int(fields[1])
    found = [process]
    for parent in found:
        found += [child for child, its in parents.items() if its == parent]
    return set(found) & set(parents)


def files_open():
    return len(os.listdir("/proc/self/fd"))


@behind_each_wall
def test_a_question_goes_in_and_plain_data_comes_out(enclosure):
    with Sandbox(program(), LIMITS, enclosure=enclosure) as sandbox:
        for _ in range(2):
            reply = sandbox.ask(QUESTION)
            assert answered(reply) == [["0", "model_0"], ["1", "model_1"]]
            assert (reply.code, reply.late, reply.overfull) == (0, False, False)
            assert 0 < reply.cpu_seconds < 5
            assert 0 < reply.seconds < 5
        first = {"bubblewrap": ("bubblewrap", "namespaces"), "namespaces": ("namespaces",)}
        common = ("landlock", "seccomp", "rlimits", "process group")
        assert sandbox.walls == (*first.get(enclosure, ()), *common)


LOOK = """
import os
for path in {paths}:
    try:
        seen[path] = len(os.listdir(path)) if os.path.isdir(path) else len(open(path).read())
    except OSError as error:
        seen[path] = type(error).__name__
"""


@behind_each_wall
def test_files_of_the_machine_cannot_be_read(enclosure, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("optimum")
    ours = Path(colocate.__file__).parent
    paths = [
        *(secret, tmp_path, ours, ours / "arena" / "best_known" / "adrs.csv"),
        *(Path(json.__file__).parents[1] / "site-packages", Path(pytest.__file__)),
        *("/etc/passwd", "/proc/self/maps", "/proc/1/environ", "/proc", "/home", "/dev/shm"),
        *("/usr/lib/python3/dist-packages", "/lib/python3/dist-packages", "/tmp", "/sys"),
    ]
    seen = told(LOOK.format(paths=[str(path) for path in paths]), enclosure)
    refused = {"PermissionError", "FileNotFoundError"}
    empty = {path for path, what in seen.items() if what == 0}  # what bubblewrap hides
    assert {path: what for path, what in seen.items() if what not in refused} == dict.fromkeys(
        empty, 0
    )
    assert str(secret) not in empty
    assert len(seen) == len(paths)


@behind_each_wall
def test_the_standard_library_and_numpy_are_there_and_more_only_when_allowed(enclosure):
    body = """
import importlib, os, tempfile
for name in ("numpy", "sqlite3", "colocate", "yaml", "pip", "referee", "sandbox"):
    try:
        seen[name] = bool(importlib.import_module(name))
    except ImportError:
        seen[name] = False
import numpy, asyncio
seen["dot"] = int(numpy.ones((50, 50)).dot(numpy.ones((50, 50))).sum())
asyncio.run(asyncio.sleep(0))
seen["environment"] = sorted(os.environ)
try:
    with tempfile.TemporaryFile() as file:
        seen["temporary"] = file.write(b"four")
except OSError:
    seen["temporary"] = "refused"
"""
    temporary = "refused" if enclosure == "landlock" else 4
    there = {"numpy": True, "sqlite3": True, "dot": 125_000, "temporary": temporary}
    seen = told(body, enclosure)
    assert set(seen.pop("environment")) <= {
        *("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "LC_CTYPE", "PWD"),
        *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "LD_BIND_NOW"),
    }
    absent = dict.fromkeys(["colocate", "yaml", "pip", "referee", "sandbox"], False)
    assert seen == there | absent
    seen = told(body, enclosure, allow=("yaml", "json"))
    seen.pop("environment")
    assert seen == there | absent | {"yaml": True}


REFUSED = r"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
import os, resource, socket, subprocess, threading
server = os.getppid()

def call(name, number, *arguments):
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *passed)
    seen[name] = errno.errorcode[ctypes.get_errno()] if result < 0 else "done"

def attempt(name, action):
    try:
        action()
        seen[name] = "done"
    except (OSError, ValueError) as error:
        seen[name] = type(error).__name__

attempt("kill the server", lambda: os.kill(server, 9))
attempt("stop the server", lambda: os.kill(server, 19))
attempt("kill all", lambda: os.kill(-1, 9))
attempt("fork", os.fork)
attempt("run", lambda: subprocess.run(["/bin/true"]))
attempt("leave the group", lambda: os.setpgid(0, 0))
attempt("new session", os.setsid)
attempt("tcp", socket.socket)
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("more files", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (999, 999)))
attempt("more memory", lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))
attempt("limits of others", lambda: resource.prlimit(server, resource.RLIMIT_NOFILE, (1, 1)))
attempt("priority", lambda: os.nice(-1))
import time
attempt("time of the server", lambda: time.clock_gettime(~server << 3 | 2))
attempt("time of the first", lambda: time.clock_gettime(~1 << 3 | 2))
attempt("change a library", lambda: open(os.__file__, "a"))
attempt("change ours", lambda: open("/colocate/code/inside/serve.py", "a"))
attempt("remove a library", lambda: os.remove(os.__file__))
attempt("link a library", lambda: os.link(os.__file__, "library.py"))
attempt("shared memory", lambda: open("/dev/shm/colocate", "w"))
attempt("the root", lambda: open("/colocate-was-here", "w"))
attempt("remove the folder", lambda: os.rmdir(os.getcwd()))
attempt("mode", lambda: os.chmod(os.__file__, 0o777))
attempt("mode of the folder", lambda: os.chmod(".", 0))
attempt("mode of a device", lambda: os.chmod("/dev/null", 0o600))
attempt("times", lambda: os.utime(os.__file__, (1, 1)))
attempt("owner", lambda: os.chown(os.__file__, 0, 0))
attempt("attributes", lambda: os.setxattr(".", "user.left", b"behind"))
attempt("truncate", lambda: os.truncate(os.__file__, 0))
attempt("open to cut", lambda: os.open(os.__file__, os.O_RDONLY | os.O_TRUNC))
attempt("device", lambda: os.mknod("disk", 0o60600, os.makedev(8, 0)))
attempt("memory file", lambda: os.memfd_create("x"))
attempt("pipe", os.pipe)
reader = PIPE
import fcntl
attempt("signal by a pipe", lambda: fcntl.fcntl(reader, 8, server))
attempt("choose the signal", lambda: fcntl.fcntl(reader, 10, 9))
attempt("lock", lambda: fcntl.flock(open(os.__file__), fcntl.LOCK_EX))
attempt("owner of a pipe", lambda: fcntl.ioctl(reader, 0x8901, b"1234"))
if os.uname().machine == "x86_64":
    for name, number, *arguments in (
        ("ptrace", 101, 16, server, 0, 0), ("read memory", 310, server, 0, 0, 0, 0, 0),
        ("shmget", 29, 1, 4096, 0o1666), ("shmat", 30, 0, 0, 0), ("shmctl", 31, 0, 0, 0),
        ("msgget", 68, 1, 0o1666), ("semget", 64, 1, 1, 0o1666), ("mq_open", 240, b"x", 66, 384, 0),
        ("keyctl", 250, 0, -3), ("unshare", 272, 0x10000000), ("prctl", 157, 1, 0, 0, 0, 0),
        ("bpf", 321, 0, 0, 0), ("io_uring", 425, 1, 0), ("pidfd_open", 434, server, 0),
        ("clone3", 435, 0, 0), ("fchmodat2", 452, -100, b".", 0, 0), ("x32", 0x40000039),
        ("process", 56, 17, 0, 0, 0, 0), ("tgkill", 234, server, server, 9),
        ("what is in memory", 27, 0, 0, 0), ("read if in memory", 327, 0, 0, 0, 0, 0, 8),
        ("forget a file", 221, 0, 0, 0, 4), ("messages of the kernel", 103, 10, 0, 0),
        ("requests", 206, 1, 0), ("pair", 53, 1, 1, 0, 0),
        ("sleep by the server", 230, ~server << 3 | 2, 0, 0, 0),
        ("timer by the server", 222, ~server << 3 | 2, 0, 0),
    ):
        call(name, number, *arguments)
thread = threading.Thread(target=seen.__setitem__, args=("thread", "done"))
thread.start(); thread.join()
seen["own time"] = time.process_time() + time.thread_time() > 0 and "done"
"""


@behind_each_wall
def test_what_reaches_others_is_refused(enclosure):
    seen = told(FIND_PIPE + REFUSED.replace("PIPE", "pipe"), enclosure)
    assert seen.pop("thread") == seen.pop("own time") == "done"
    assert {what: how for what, how in seen.items() if how == "done"} == {}
    assert len(seen) > 40
    if os.uname().machine == "x86_64":
        known = ("what is in memory", "forget a file", "messages of the kernel", "requests", "pair")
        clocks = ("sleep by the server", "timer by the server")
        assert {seen[name] for name in (*known, *clocks)} == {"EPERM"}


@behind_each_wall
def test_nothing_is_open_but_the_pipe_for_the_answer(enclosure):
    body = """
import os, stat
for number in range(64):
    try:
        status = os.fstat(number)
    except OSError:
        continue
    kind = "null" if status.st_rdev == os.makedev(1, 3) else stat.filemode(status.st_mode)[0]
    seen[number] = kind
"""
    seen = told(body, enclosure)
    assert [seen.pop(standard) for standard in range(3)] == ["null"] * 3
    assert list(seen.values()) == ["p", "p"]  # for the answer, and with the seed


LEAVE = {
    "file": "open('left', 'w').write('behind')",
    "odd name": "os.mkdir(b'\\xff\\xfe'); open(b'\\xff\\xfe/\\xf0', 'w').close()",
    "links": "os.mkdir('d'); os.symlink({victim!r}, 'd/l'); os.symlink({folder!r}, 'l')",
    "depth": "for _ in range(100): os.mkdir('d'); os.chdir('d')",
    "closed": "os.mkdir('closed', 0)",
    "came and went": "open('left', 'w').close(); os.remove('left')",
}


@behind_walls_that_keep_secrets
@pytest.mark.parametrize("what", LEAVE)
def test_no_case_finds_what_another_left(enclosure, what, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    victim.chmod(0o640)
    leave = LEAVE[what].format(victim=str(victim), folder=str(tmp_path))
    source = program(f"import os\nfound = os.listdir('.')\n{leave}", "{0: [str(len(found))]}")
    with Sandbox(source, LIMITS, enclosure=enclosure) as sandbox:
        for _ in range(2):
            reply = sandbox.ask(QUESTION)
            assert answered(reply) == [["0", "0"]]
    assert victim.read_text() == "untouched"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o640


@behind_each_wall
@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("held = bytearray(900_000_000)", "MemoryError"),
        ("held = [open('/dev/null') for _ in range(99)]", "Too many open files"),
    ],
)
def test_memory_files_and_what_is_open_are_limited(enclosure, body, ending):
    answer = answered(ask(program(body), enclosure))
    assert ending in answer["error"]
    assert "main.py" in answer["traceback"]


@behind_walls_that_keep_secrets
def test_a_file_is_limited(enclosure):
    body = "open('x', 'wb').write(bytes(20_000_000))"
    assert "File too large" in answered(ask(program(body), enclosure))["error"]


@needs_landlock
def test_behind_landlock_alone_nothing_can_be_written():
    body = "open('x', 'wb').write(b'y')"
    answer = answered(ask(program(body), Enclosure.LANDLOCK))
    assert answer["kind"] == "PermissionError"


@behind_walls_that_keep_secrets
@pytest.mark.parametrize(
    "body",
    [
        "import time, os\nfor n in range(99):\n    open(str(n), 'wb').write(bytes(4_000_000))\n",
        "import os\nfor n in range(99999): os.close(os.open(str(n), os.O_CREAT))",
    ],
    ids=["bytes", "entries"],
)
def test_a_folder_cannot_be_filled(enclosure, body):
    reply = ask(program(body), enclosure)
    assert reply.overfull or b"No space left" in reply.text


@behind_each_wall
def test_processor_time_is_limited_and_counted_over_all_threads(enclosure):
    body = (
        "import time\nstarted = time.process_time()\nwhile time.process_time() < started + 0.2: 0"
    )
    assert 0.2 <= ask(program(body), enclosure).cpu_seconds < 2
    body = "import resource\nseen['limit'] = resource.getrlimit(resource.RLIMIT_CPU)"
    assert told(body, enclosure) == {"limit": (6, 7)}


HANGS = {
    "sleeps": "import time; time.sleep(99)",
    "burns": "while True: pass",
    "ignores signals": (
        "import signal\nfor number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass"
    ),
    "answers and stays": (
        "import os, time\nos.write(pipe, b'{}'); os.closerange(3, 64); time.sleep(99)"
    ),
}
FIND_PIPE = """
import os
def is_writable(number):
    try:
        return os.write(number, b"") == 0
    except OSError:
        return False
pipe = max(number for number in range(3, 64) if is_writable(number))
"""


@behind_each_wall
@pytest.mark.parametrize("how", HANGS)
def test_the_deadline_ends_a_case_and_the_next_one_is_fresh(enclosure, how):
    body = f"{FIND_PIPE}if gpu_num == 2:\n{indent(HANGS[how], '    ')}"
    with Sandbox(program(body), Limits(seconds=0.4), enclosure=enclosure) as sandbox:
        reply = sandbox.ask(QUESTION)
        assert reply.late
        assert reply.code == -signal.SIGKILL
        assert 0.4 <= reply.seconds < 2.4
        assert b"answer" in sandbox.ask(QUESTION | {"gpu_num": 1}).text


@behind_each_wall
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("import os; os._exit(0)", 0),
        ("import os; os._exit(7)", 7),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("import os; os.abort()", -signal.SIGSEGV),
        ("import os; os.closerange(0, 64)", 0),
        ("import os; os.write = None; os._exit = lambda *_: None", 1),
        ("import signal, time; signal.setitimer(0, 0.1); time.sleep(3)", -signal.SIGALRM),
    ],
)
def test_how_a_process_ends_is_told_whatever_it_patches(enclosure, body, code):
    with Sandbox(program(f"if gpu_num == 2:\n    {body}"), LIMITS, enclosure=enclosure) as sandbox:
        reply = sandbox.ask(QUESTION)
        assert (reply.text, reply.code, reply.late) == (b"", code, False)
        assert b"answer" in sandbox.ask(QUESTION | {"gpu_num": 1}).text


@behind_each_wall
def test_an_answer_without_end_is_cut_off(enclosure):
    body = FIND_PIPE + "while gpu_num == 2: os.write(pipe, bytes(65536))"
    with Sandbox(program(body), LIMITS, enclosure=enclosure) as sandbox:
        reply = sandbox.ask(QUESTION)
        assert LONGEST_ANSWER < len(reply.text) < 2 * LONGEST_ANSWER
        assert (reply.code, reply.late) == (None, False)
        assert b"answer" in sandbox.ask(QUESTION | {"gpu_num": 1}).text


@behind_each_wall
@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("raise ValueError('x' * 10**7)", "ValueError: xxx"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("class Odd(Exception):\n    def __str__(self): raise self\nraise Odd", "Odd"),
        ("import sys\nsys.settrace(lambda *_: 1 / 0)\nlen([])\n(lambda: 0)()", "ZeroDivision"),
    ],
)
def test_errors_are_told_in_few_words(enclosure, raised, told):
    answer = answered(ask(program(raised), enclosure))
    assert answer["error"].startswith(told)
    assert answer.pop("called") is True
    assert max(len(words) for words in answer.values()) < 5000


@behind_each_wall
def test_all_processes_end_with_the_one_that_serves(enclosure):
    source = program("import time\nif gpu_num == 2: time.sleep(99)")
    with Sandbox(source, Limits(seconds=20), enclosure=enclosure) as sandbox:
        replies = []
        asking = threading.Thread(target=lambda: replies.append(sandbox.ask(QUESTION)))
        asking.start()
        until = time.monotonic() + 10
        wanted = {"bubblewrap": 4, "namespaces": 3, "landlock": 2}[enclosure]
        while time.monotonic() < until:
            process = sandbox._process
            running = descendants(process.pid) if process else set()
            if len(running) >= wanted:
                break
            time.sleep(0.05)
        time.sleep(0.2)  # for the last one to enter its walls
        os.kill(process.pid, signal.SIGKILL)
        asking.join(10)
        assert (replies[0].text, replies[0].code) == (b"", None)
        while any(descendants(pid) for pid in running) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(descendants(pid) for pid in running)
        assert b"answer" in sandbox.ask(QUESTION | {"gpu_num": 1}).text


@behind_each_wall
def test_a_sandbox_that_ended_between_two_cases_is_replaced(enclosure):
    with Sandbox(program(), LIMITS, enclosure=enclosure) as sandbox:
        assert sandbox.ask(QUESTION).code == 0
        os.kill(sandbox._process.pid, signal.SIGKILL)
        assert sandbox._process.wait(5)
        assert b"answer" in sandbox.ask(QUESTION).text


@behind_each_wall
def test_nothing_stays_open_in_the_parent(enclosure):
    ask(program(), enclosure)  # the process that starts sandboxes stays
    before, processes = files_open(), descendants(os.getpid())
    for body in ("", "import os; os._exit(1)", "import os; os.mkdir('x')", "while True: pass"):
        ask(program(body), enclosure, Limits(seconds=0.3))
    assert files_open() == before
    until = time.monotonic() + 5
    while not descendants(os.getpid()) <= processes and time.monotonic() < until:
        time.sleep(0.02)
    assert descendants(os.getpid()) <= processes


@behind_each_wall
def test_a_sandbox_that_cannot_start_says_why(enclosure, monkeypatch):
    before = files_open()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxError, match=r"did not start: .*/nowhere/python"):
        ask(program(), enclosure)
    assert files_open() == before


@behind_each_wall
def test_no_program_runs_if_its_walls_cannot_be_raised(enclosure, monkeypatch):
    broken = asdict(LIMITS) | {"open_files": "?"}
    monkeypatch.setattr("colocate.arena.walls.sandbox.asdict", lambda _: broken)
    with pytest.raises(SandboxError, match="a case could not be enclosed: it ended with 0"):
        ask(program(), enclosure)


def test_no_program_runs_where_it_could_read_any_file(monkeypatch):
    ready = b'{"walls": ["seccomp"], "compiling": 0}'
    monkeypatch.setattr("colocate.arena.walls.sandbox.heard", lambda _: ready)
    with pytest.raises(SandboxError, match="nothing here can hide other files"):
        ask(program(), Enclosure.LANDLOCK)


def test_without_namespaces_there_is_bubblewrap_and_without_that_landlock(monkeypatch):
    def forbidden(*_):
        raise OSError("Operation not permitted")

    monkeypatch.setattr("colocate.arena.walls.starter.starter", forbidden)
    best_enclosure.cache_clear()
    if stands(Enclosure.BUBBLEWRAP):
        assert best_enclosure() is Enclosure.BUBBLEWRAP
    monkeypatch.setenv("PATH", "/nowhere")
    best_enclosure.cache_clear()
    assert best_enclosure() is Enclosure.LANDLOCK
    best_enclosure.cache_clear()
    with pytest.raises(SandboxError, match="bwrap is not installed"):
        ask(program(), Enclosure.BUBBLEWRAP)


@pytest.mark.parametrize(
    "name", ["no_such_package", "colocate", "colocate.arena", "", "../numpy", "src"]
)
def test_only_packages_without_colocate_can_be_allowed(name, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    with pytest.raises(InputError, match=f"allow='{name}', must be a"):
        find_packages([name])


@behind_each_wall
def test_an_allowed_package_brings_what_it_needs(enclosure):
    body = """
import numba

@numba.njit
def total(n):
    found = 0
    for number in range(n):
        found += number
    return found

seen["total"] = total(101)
for name in ("rich", "colocate", "pytest"):
    try:
        __import__(name)
    except ImportError:
        seen[name] = "absent"
"""
    absent = dict.fromkeys(("rich", "colocate", "pytest"), "absent")
    limits = Limits(seconds=60, memory_mb=4096)
    assert told(body, enclosure, limits, allow=("numba",)) == {"total": 5050, **absent}


@pytest.mark.parametrize(("threads", "way"), [(1, "plainly"), (2, "as Python does")])
def test_a_process_forks_plainly_only_if_no_other_thread_can_hold_a_lock(threads, way, monkeypatch):
    used = []
    monkeypatch.setattr(kernel_calls, "_FORK", lambda: used.append("plainly") or 7)
    monkeypatch.setattr(os, "fork", lambda: used.append("as Python does") or 7)
    monkeypatch.setattr(sys, "_current_frames", lambda: dict.fromkeys(range(threads)))
    assert kernel_calls.fork() == 7
    assert used == [way]


def test_needed_packages_are_found_by_metadata_and_extras_are_not_needed(tmp_path, monkeypatch):
    def install(name, *requires, module):
        facts = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        facts.mkdir()
        lines = [f"Requires-Dist: {text}" for text in requires]
        (facts / "METADATA").write_text("\n".join([f"Name: {name}", "Version: 1.0", *lines, ""]))
        (facts / "RECORD").write_text(f"{module},,\n{facts.name}/METADATA,,\n")
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).write_text("")

    install("py-first", "second-one>=1,<2", "fifth; extra == 'all'", module="first/__init__.py")
    install("second-one", "third (>=1)", "absent; sys_platform == 'x'", module="second/__init__.py")
    install("third", "py_first", "numpy", module="third.py")
    install("fifth", module="fifth.py")
    install("spoiled", "colocate", module="spoiled.py")
    monkeypatch.syspath_prepend(tmp_path)
    found = find_packages(["first"])
    assert list(found)[:3] == ["first", "second", "third.py"]
    assert found["third.py"] == tmp_path / "third.py"
    assert {"numpy"} <= set(found)
    assert "fifth.py" not in found
    assert "colocate" not in find_packages(["spoiled"])


@pytest.mark.parametrize("bad", [{"seconds": 0}, {"memory_mb": -1}, {"seconds": float("inf")}])
def test_limits_are_positive_and_finite(bad):
    with pytest.raises(InputError, match="must be a finite number > 0"):
        Limits(**bad)


CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in {numbers}.items():
    seen[name] = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6), ctypes.get_errno()
"""


@behind_each_wall
def test_every_call_of_the_list_is_refused_in_a_case(enclosure):
    column, _ = seccomp.ARCHITECTURES[platform.machine()]
    numbers = {name: both[column] for name, both in seccomp.REFUSED.items()}
    refused = {name: number for name, number in numbers.items() if number is not None}
    absent = {name: both[column] for name, both in seccomp.UNKNOWN.items()}
    absent |= seccomp.NEW_TO_MAKE_A_CASE | {"clone3": 435, "io_uring_setup": 425}
    seen = told(CALLS.format(numbers=refused | absent), enclosure)
    assert seen == dict.fromkeys(refused, (-1, EPERM)) | dict.fromkeys(absent, (-1, ENOSYS))


@behind_each_wall
def test_no_case_learns_the_number_of_a_mount(enclosure):
    numbers = {"statx": (332, 291), "name_to_handle_at": (303, 264)}
    column, _ = seccomp.ARCHITECTURES[platform.machine()]
    asked = {name: both[column] for name, both in numbers.items()}
    assert told(CALLS.format(numbers=asked), enclosure) == dict.fromkeys(asked, (-1, ENOSYS))


FILES = """
import os, pathlib, shutil, tempfile
import numpy
place = pathlib.Path("folder")
place.mkdir()
(place / "text").write_text("four")
status = os.stat(place / "text")
seen["stat"] = status.st_size, status.st_nlink, os.fstat(0).st_rdev == os.makedev(1, 3)
seen["times"] = status.st_mtime_ns > 10**18, os.path.getmtime(place) > 1e9
seen["list"] = os.listdir("."), [entry.is_dir() for entry in os.scandir(".")]
seen["link"] = os.symlink("folder", "link"), os.lstat("link").st_size, place.samefile("link")
with tempfile.TemporaryFile() as file, tempfile.NamedTemporaryFile() as named:
    seen["temporary"] = file.write(b"four"), os.path.getsize(named.name)
numpy.save(place / "array", numpy.arange(3))
seen["numpy"] = numpy.load(place / "array.npy", mmap_mode="r").tolist()
shutil.copyfile(place / "text", "copy")
shutil.rmtree(place)
seen["left"] = sorted(os.listdir(".")), shutil.disk_usage(".").total > 0
"""


@behind_walls_that_keep_secrets
def test_programs_can_use_files_as_usual(enclosure):
    assert told(FILES, enclosure) == {
        "stat": (4, 1, True),
        "times": (True, True),
        "list": (["folder"], [True]),
        "link": (None, 6, True),
        "temporary": (4, 0),
        "numpy": [0, 1, 2],
        "left": (["copy", "link"], True),
    }


MODELS = """
import copy, dataclasses
first, second = models[0], copy.copy(models[0])
second.model_size += 1
try:
    hash(first)
except TypeError as error:
    seen["hash"] = str(error)
seen["text"] = repr(first)
seen["equal"] = first == copy.copy(first), first == second, first == 1
seen["fields"] = [(field.name, field.type.__name__) for field in dataclasses.fields(first)]
seen["dict"] = dataclasses.asdict(first), vars(first)
seen["replaced"] = dataclasses.replace(first, model_size=21) == second
seen["is one"] = dataclasses.is_dataclass(first)
Kind = type(first)
match first:
    case Kind(name, size):
        seen["matched"] = name, size
"""


def test_models_are_dataclasses_as_those_of_the_public_benchmark():
    seen = told(MODELS, None)
    figures = {"model_name": "model_0", "model_size": 20, "req_rate": 6, "slo": 2, "cur_gpu_id": 0}
    kinds = ["str", "float", "float", "float", "int"]
    assert seen == {
        "hash": "unhashable type: 'Model'",
        "text": f"Model({', '.join(f'{name}={value!r}' for name, value in figures.items())})",
        "equal": (True, False, False),
        "fields": list(zip(figures, kinds, strict=True)),
        "dict": (figures, figures),
        "replaced": True,
        "is one": True,
        "matched": ("model_0", 20),
    }


NUMPY_LOADED = 'import enum; seen["loaded"] = "num" + "py" in vars(enum)["s" + "ys"].modules'


def test_a_program_that_does_not_name_a_package_does_not_carry_it():
    assert told(f"import numpy; {NUMPY_LOADED}", None) == {"loaded": True}
    assert told(NUMPY_LOADED, None) == {"loaded": False}
    assert told(f"import numpy; {NUMPY_LOADED}", None) == {"loaded": True}


def test_a_sandbox_that_was_ended_starts_no_more(monkeypatch):
    sandbox = Sandbox(program(), LIMITS)
    monkeypatch.setattr(sandbox, "_start", lambda: pytest.fail("it starts"))
    sandbox.halt()
    with pytest.raises(SandboxError, match="the run was ended"):
        sandbox.ask(QUESTION)
