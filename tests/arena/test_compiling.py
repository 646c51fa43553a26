"""Programs that take long to compile."""

import socket
import time

from colocate import Referee
from colocate.arena.case_verdict import Failure
from colocate.arena.contest import Contest
from colocate.arena.inside import serve
from colocate.arena.walls.sandbox import Limits
from colocate.arena.walls.starter import memory_file
from tests.arena.tiny_contest import CONTEST, program, question, slow_to_compile


def test_compiling_has_a_limit_of_its_own_so_that_sandboxes_start(monkeypatch):
    monkeypatch.setattr(serve, "COMPILING", 0.3)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    options = {"seconds": 60, "rlimits": []}
    for source, compiles in ((slow_to_compile(), False), (program(), True)):
        with memory_file(source.encode()) as file:
            socket.send_fds(ours, [b"{}"], [file.fileno()])
        started = time.monotonic()
        assert (serve._program(theirs, options, []).code is not None) is compiles
        assert time.monotonic() - started < 3
    ours.close()
    theirs.close()


def test_a_program_that_is_slow_to_compile_times_out_in_its_cases():
    verdict = Referee(hidden=False, limits=Limits(seconds=0.5)).judge_source(
        slow_to_compile(), CONTEST
    )
    assert {result.failure for result in verdict.public.results} == {Failure.TIMEOUT}


def test_the_time_for_compiling_counts_whenever_a_sandbox_needs_it():
    with_a_thread = program("import threading\nthreading.Thread(target=len, args=((),)).start()")
    source = slow_to_compile(13).replace(program(), with_a_thread)
    contest = Contest("tiny", tuple(question(str(n), seed=n) for n in range(9)), ())
    limits = Limits(seconds=10, total_seconds=0.5)
    results = Referee(hidden=False, limits=limits).judge_source(source, contest).public.results
    assert results[0].seconds > 0.1
    assert results[0].valid
    assert not results[-1].ran
    assert results[-1].failure is Failure.TIMEOUT
