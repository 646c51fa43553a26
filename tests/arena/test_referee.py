import json
import time
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis.strategies import text
from numpy import int64

from colocate import InputError, UnknownNameError, place
from colocate.arena.asking import MOST_TIMEOUTS
from colocate.arena.best_known import read_best_known
from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.contest import Contest
from colocate.arena.inside.flat_text import ERROR, EXIT, RETURNED, field, lines, table, text_of
from colocate.arena.referee import Referee
from colocate.arena.repeats import Repeats
from colocate.arena.tally import Tally
from colocate.arena.tasks.catalogue import open_task
from colocate.arena.tasks.hidden_cases import HIDDEN_CASES, hidden_suite
from colocate.arena.tasks.placement import open_contest
from colocate.arena.verdict import Verdict
from colocate.arena.walls.enclosure import Enclosure
from colocate.arena.walls.sandbox import LONGEST_ANSWER, Limits, Reply
from tests.arena.tiny_contest import (
    APART,
    CONTEST,
    INITIAL,
    behind_each_wall,
    behind_walls_that_keep_secrets,
    needs_landlock,
    program,
    question,
)

LIMITS = Limits(seconds=5, memory_mb=512)
GOOD = ((0, "model_0"), (1, "model_1"))


def reply(text=b"", code=0, late=False, cpu=0.0, overfull=False):
    return Reply(text, code, late, 0.1, cpu, overfull)


def placed(*rows):
    """Return a reply with a placement: rows of a GPU and names."""
    return reply(table((str(gpu), *names) for gpu, *names in rows))


def said(kind, *texts):
    return reply(lines(kind, *texts))


def judge(source, enclosure=None, contest=CONTEST, workers=1, limits=LIMITS):
    referee = Referee(limits=limits, enclosure=enclosure, workers=workers)
    return referee.judge_source(source, contest)


def outcomes(verdict):
    results = verdict.public.results + verdict.hidden.results
    return [(result.case, result.value, result.failure, result.reason) for result in results]


@pytest.mark.parametrize(
    ("placement", "pressure", "ratio"),
    [
        (GOOD, 3 / 60, 1.0),
        ([(1, "model_0"), (0, "model_1")], 3 / 60, 1.0),
        ([(1, "model_1", "model_0")], 6 / 40, 1 / 3),
        ([*GOOD, (2,), ("=nan",)], 3 / 60, 1.0),
        ([(0, "model_0"), (0, "model_1")], 6 / 40, 1 / 3),
    ],
)
def test_the_pressure_is_computed_from_names(placement, pressure, ratio):
    verdict = question().judged(placed(*placement), 1)
    assert verdict.valid
    assert (verdict.value, verdict.ratio) == pytest.approx((pressure, ratio))


FAILED = [
    (placed(*GOOD, (2, "model_0")), "unknown GPU: there is no GPU 2, they are 0 to 1"),
    (placed((-1, "model_0"), (0, "model_1")), "unknown GPU: there is no GPU -1"),
    (placed(("='0'", "model_0")), "unknown GPU: there is no GPU '0'"),
    (placed(("=0", "model_0", "model_1")), "unknown GPU: there is no GPU 0, they are 0 to 1"),
    (placed(("", "model_0", "model_1")), "unknown GPU: there is no GPU"),
    (placed(("\u0660", "model_0", "model_1")), "unknown GPU: there is no GPU"),
    (placed(("9" * 5000, "model_0", "model_1")), "unknown GPU: there is no GPU 9999"),
    (placed((0, "model_0", "x", "model_1")), "unknown model: there is no model 'x'"),
    (placed((0, "model_0", "")), "unknown model: there is no model ''"),
    (placed((0, "model_0", "x\t\\n\n\ud800")), "unknown model: there is no model 'x"),
    (placed((0, "model_0")), "missing model: 'model_1' of 2 on no GPU"),
    (placed(), "missing model: 'model_0' and 'model_1' of 2"),
    (placed(*GOOD, (0, "model_1")), "repeated model: 'model_1' placed more than once"),
    (placed((0, "model_0", "model_0", "model_1")), "repeated model: 'model_0'"),
    (said(RETURNED, "list"), "no answer: it returned list, must return a dict of GPUs to models"),
    (said(RETURNED), "no answer: it returned , must return a dict of GPUs to models"),
    (said(ERROR), "crash: an error without a word"),
    (said(ERROR, "1", "E", "\n\x1b[31mred\ud800\nmore"), r"crash: \x1b[31mred\ud800"),
    (said(ERROR, "1", "E", "one", "two", "three"), "crash: one"),
    (said(EXIT, "1", "3"), "exit: it ended itself, saying 3"),
    (reply(b"[]"), "no answer: what came back is no answer"),
    (reply(b'{"placement": []}'), "no answer: what came back is no answer"),
    (reply(b"answer"), "missing model"),
    (reply(b"answer "), "no answer: what came back is no answer"),
    (reply(b"answer\n\xff\xfe\x00\tmodel_0"), "unknown GPU: there is no GPU"),
    (reply(b"answer\n0\tmodel_0\t\xed\xa0\x80"), "unknown model: there is no model"),
    (reply(b"[" * 50_000), "no answer: what came back is no answer"),
    (reply(b"9" * 50_000), "no answer: what came back is no answer"),
    (reply(b" " * (LONGEST_ANSWER + 1), None), "no answer: what came back is longer than"),
    (reply(b"", 0), "exit: it ended itself with code 0 instead of an answer"),
    (reply(b"", 7), "exit: it ended itself with code 7 instead of an answer"),
    (reply(placed(*GOOD).text, -11), "crash: killed by SIGSEGV"),
    (reply(placed(*GOOD).text, 1), "exit: it ended itself with code 1"),
    (reply(b"", -40), "crash: killed by signal 40"),
    (reply(b"", -9), "crash: killed by SIGKILL"),
    (reply(b"", None), "crash: it took its sandbox down"),
    (reply(b"", -9, overfull=True), "crash: it put more into its folder than it may"),
    (reply(placed(*GOOD).text, -9, late=True), "timeout: no answer within 2 s"),
    (reply(b"", -24, cpu=3.0), "timeout: more than 2 s of processor time"),
    (reply(b"", -9, cpu=4.0), "timeout: more than 2 s of processor time"),
]


@pytest.mark.parametrize(("what", "reason"), FAILED, ids=[reason for _, reason in FAILED])
def test_a_failed_case_has_a_reason_and_an_infinite_pressure(what, reason):
    verdict = question().judged(what, 2)
    assert verdict.reason.startswith(reason)
    assert verdict.reason.startswith(verdict.failure.value)
    assert (verdict.valid, verdict.value, verdict.ratio) == (False, inf, 0.0)


def test_no_text_of_a_program_is_long_or_obeyed_by_a_terminal():
    assert len(question().judged(said(EXIT, "1", "x" * 10_000), 1).reason) <= 300
    odd = said(ERROR, "1", "E" * 9000, "E", "\x1b]0;title\x07\n" + "\u202e" * 9000)
    verdict = question().judged(odd, 1)
    assert len(verdict.traceback) <= 6 * 4000
    assert len(verdict.error) <= 100
    assert verdict.traceback.isascii()
    assert "\x1b" not in verdict.traceback


def test_a_traceback_keeps_its_lines():
    trace = 'Traceback:\n  File "main.py"\n  x = "\\n"\nE: no'
    verdict = question().judged(said(ERROR, "0", "E", "E: no", trace), 1)
    assert verdict.traceback == trace
    assert (verdict.called, verdict.error) == (False, "E")


def test_memory_and_bound():
    three = question(models=3, size=30)
    everywhere = placed((0, "model_0", "model_1", "model_2"))
    verdict = three.judged(everywhere, 1)
    assert verdict.reason == "memory overfilled: gpu 'gpu-0' holds 90 GB of 80 GB"
    full = question(size=40).judged(placed((0, "model_0", "model_1")), 1)
    assert full.reason == "not finite: a GPU with load has no memory left"
    low = question(bound=0.06).judged(placed(*GOOD), 1)
    assert low.reason == "below the proven bound: 0.05 is less than 0.06"
    assert question(bound=0.05 * (1 + 1e-12)).judged(placed(*GOOD), 1).valid


def test_many_unknown_names_are_counted():
    names = [f"x{number}" for number in range(9000)]
    verdict = question(models=2).judged(placed((0, *names)), 1)
    assert verdict.reason == "unknown model: there is no model 'x0', 'x1', 'x2' and 8997 more"


MANY = 65_000
HOSTILE_TEXTS = {
    "lists": b"[" + b"[]," * 2_700_000 + b"[]]",
    "depth": b"[" * 8_000_000,
    "long name": b"answer\n0\t" + b"x" * 8_000_000,
    "rows": b"answer" + b"\n" * MANY,
    "fields": b"answer\n" + b"\t" * MANY,
    "names": b"answer\n0" + b"\tx" * (MANY // 2),
    "different names": b"answer\n0\t" + b"\t".join(b"%x" % n for n in range(MANY // 6)),
    "gpus": b"answer" + b"\n7\tx" * (MANY // 4),
    "digits": b"answer\n" + b"9" * MANY,
    "escapes": b"answer\n0\t" + b"\\" * MANY,
    "escaped ends": b"answer\n0\t" + b"\\n" * (MANY // 2),
    "no letters": b"answer\n0\t" + b"\xff" * MANY,
    "surrogates": b"answer\n0\t" + b"\xed\xa0\x80" * (MANY // 3),
    "lines of an error": b"error" + b"\n" * MANY,
    "escapes of an error": b"error\n1\nE\n" + b"\\n" * (MANY // 2) + b"\n" + b"\\\\" * MANY,
    "an end": b"exit\n1\n" + b"\xff" * MANY,
    "a type": b"returned\n" + b"\\t" * (MANY // 2),
}


@pytest.mark.parametrize("how", HOSTILE_TEXTS)
def test_no_answer_holds_up_the_referee(how):
    started = time.process_time()
    verdict = question(models=2).judged(reply(HOSTILE_TEXTS[how]), 1)
    assert time.process_time() - started < 0.3
    assert not verdict.valid
    assert len(verdict.reason) <= 300
    assert len(verdict.traceback) <= 6 * 4000


def test_what_a_program_says_is_never_parsed_in_this_process(monkeypatch):
    for parser in ("json.loads", "json.load", "marshal.loads", "pickle.loads", "builtins.eval"):
        monkeypatch.setattr(parser, lambda *_, **__: pytest.fail("something was parsed"))
    for said_by_it in (placed(*GOOD).text, *HOSTILE_TEXTS.values()):
        question().judged(reply(said_by_it), 1)


@given(text())
def test_every_text_survives_as_a_field(words):
    written = field(words)
    assert not set(written) & set(b"\n\t")
    assert text_of(written) == words.encode("utf-8", "backslashreplace").decode()


def test_the_figures_of_a_tally():
    best, worse = CaseVerdict("a", 0.05, 0.05), CaseVerdict("b", 0.15, 0.05)
    failed = question("c").failed(Failure.EXIT, "gone")
    both = Tally((best, worse))
    assert both.score == pytest.approx(1 / 0.1 + 1)
    assert both.ratio == pytest.approx((1 + 1 / 3) / 2)
    assert (both.optimal, both.worst.case, both.valid_cases) == (False, "b", 2)
    third = Tally((best, worse, failed))
    assert third.score == pytest.approx(2 / 3)
    assert third.ratio == pytest.approx((1 + 1 / 3) / 3)
    assert (third.worst.case, third.failures) == ("c", (failed,))
    assert Tally((CaseVerdict("idle", 0.0, 0.0),)).as_dict()["score"] is None


def test_a_verdict_survives_being_written_down():
    failed = question("c").failed(Failure.CRASH, "E: no", "main.py, line 1")
    public = Tally((CaseVerdict("a", 0.05, 0.04, 0.5, 0.25), failed))
    verdict = Verdict("tiny", public, Tally((failed,)), ("landlock", "seccomp"), 3, False)
    data = json.loads(json.dumps(verdict.as_dict(), allow_nan=False))
    assert Verdict.from_dict(data) == verdict
    assert (data["score"], data["valid_cases"], data["cases"]) == (0.5, 1, 2)
    assert data["failures"] == [{"case": "c", "reason": "crash: E: no"}]
    assert data["ratio"] == pytest.approx(0.4)
    assert (data["hidden"]["ratio"], verdict.fitness) == (0.0, 0.0)


HONEST = {
    "plain": program(),
    "copies": program("import copy; models = copy.deepcopy(models)"),
    "names": program("models = [model.model_name for model in models]"),
    "numpy keys": program("import numpy", "{numpy.int64(0): models[:1], numpy.float64(1): "
                          "models[1:]}"),
    "other keys": program("from fractions import Fraction", "{False: models[:1], "
                          "Fraction(2, 2): models[1:]}"),
    "complex keys": program("", "{0j: models[:1], 1 + 0j: models[1:]}"),
    "tuples": program("", f"{{g: tuple(group) for g, group in {APART}.items()}}"),
    "generators": program("", f"{{g: iter(group) for g, group in {APART}.items()}}"),
    "sets": program("", f"{{g: {{m.model_name for m in group}} for g, group in {APART}.items()}}"),
    "subclass": program("from collections import defaultdict", f"defaultdict(list, {APART})"),
    "mapping": program("from types import MappingProxyType", f"MappingProxyType({APART})"),
    "more keys": program("", f"{APART} | {{9: [], 'x': ()}}"),
    "changed models": program("answer = " + APART + "\nfor m in models: m.cur_gpu_id = 7\n"
                              "models.clear()", "answer"),
    "prints and writes": program("import sys\nprint('x' * 10**6); sys.stderr.write('y')\n"
                                 "open('log', 'w').write('z')"),
    "threads": program("from concurrent.futures import ThreadPoolExecutor\n"
                       "with ThreadPoolExecutor(4) as pool: list(pool.map(str, range(9)))"),
    "of its own class": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Placed:\n"
        "    model_name: str\n" + program("models = [Placed(m.model_name) for m in models]")
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", HONEST)
def test_honest_programs_are_not_punished(how):
    verdict = judge(HONEST[how])
    assert [result.reason for result in (*verdict.public.results, *verdict.hidden.results)] == [
        ""
    ] * 3
    assert verdict.score == pytest.approx(1 / 0.05 + 1)
    assert (verdict.ratio, verdict.fitness, verdict.steady) == (1.0, 1.0, True)


def test_fewer_keys_are_enough():
    assert judge(program("", "{0: models}")).score == pytest.approx(1 / 0.15 + 1)


HOSTILE = {
    "no function": ("x = 1", Failure.CRASH),
    "no program": ("def compute(", Failure.CRASH),
    "exit on import": ("raise SystemExit", Failure.EXIT),
    "sys.exit": (program("import sys; sys.exit(0)"), Failure.EXIT),
    "exit with an object": (program("raise SystemExit(type('E', (), {'__repr__': 0})())"),
                            Failure.EXIT),
    "os._exit": (program("import os; os._exit(0)"), Failure.EXIT),
    "None": (program("", "None"), Failure.NO_ANSWER),
    "list": (program("", "[models]"), Failure.NO_ANSWER),
    "infinite": (program("from itertools import count", "{0: (str(n) * 10**6 for n in count())}"),
                 Failure.CRASH),
    "huge key": (program("", "{10**5000: models}"), Failure.UNKNOWN_GPU),
    "nan": (program("", "{float('nan'): models}"), Failure.UNKNOWN_GPU),
    "text key": (program("", "{'0': models}"), Failure.UNKNOWN_GPU),
    "nested": (program("", "{0: [models]}"), Failure.NO_ANSWER),
    "models in a set": (program("", f"{{g: set(group) for g, group in {APART}.items()}}"),
                        Failure.CRASH),
    "models as keys": (program("seen = {model: 0 for model in models}"), Failure.CRASH),
    "renamed": (program("models[0].model_name = 'x'", "{0: models}"), Failure.UNKNOWN_MODEL),
    "swapped": (program("models[0].model_name = models[1].model_name"), Failure.MISSING_MODEL),
    "twice": (program("", "{0: models, 1: models[:1]}"), Failure.REPEATED_MODEL),
    "smaller": (program("models[0].model_size = 0", "{0: models[:1]}"), Failure.MISSING_MODEL),
    "hidden in items": (
        "class Odd(dict):\n    def items(self): return [(0, [])]\n"
        + program("", f"Odd({APART})"), Failure.MISSING_MODEL,
    ),
    "deep": (program("import sys; sys.setrecursionlimit(10**5)\ndef f(x): return f([x])\nf(0)"),
             Failure.CRASH),
    "memory": (program("held = [[]]\nwhile True: held += [bytes(10**7)]"), Failure.CRASH),
    "corruption": (program("import ctypes; ctypes.memset(id(models), 255, 64)"), Failure.CRASH),
    "real-time signal": (program("""
        import ctypes, signal, time
        class Event(ctypes.Structure):
            _fields_ = [("value", ctypes.c_long), ("signal", ctypes.c_int),
                        ("kind", ctypes.c_int), ("rest", ctypes.c_char * 48)]
        libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
        libc.timer_create(0, ctypes.byref(Event(0, 40, 0)), ctypes.byref(timer))
        libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, 0, 10**7), None)
        time.sleep(4)
    """), Failure.CRASH),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_programs_fail_every_case_and_the_referee_stands(how):
    source, failure = HOSTILE[how]
    verdict = judge(source, limits=Limits(seconds=5, memory_mb=80))
    assert [result[2] for result in outcomes(verdict)] == [failure] * 3, outcomes(verdict)
    assert (verdict.score, verdict.ratio, verdict.fitness) == (0.0, 0.0, 0.0)


LEFT_BEHIND = """
import atexit, builtins, gc, json, os, random, signal, sys, threading, weakref
import numpy
def compute_model_placement(gpu_num, models):
    if os.path.exists("mark") or hasattr(builtins, "mark") or hasattr(numpy, "mark"):
        return {}
    builtins.mark = numpy.mark = True
    open("mark", "w").close()
    json.dumps = json.loads = print
    random.Random.random = lambda self: 0
    os.environ["MARK"] = "1"
    sys.modules.clear()
    gc.callbacks.append(lambda *_: os._exit(3))
    atexit.register(os._exit, 4)
    weakref.finalize(models[0], os._exit, 5)
    signal.setitimer(signal.ITIMER_REAL, 30)
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    ANSWER
"""


@behind_walls_that_keep_secrets
def test_what_a_case_patches_is_gone_in_the_next(enclosure):
    forged = placed(*GOOD).text
    answer = f"[os.write(n, {forged}) for n in range(3, 64) if n == PIPE()]; os._exit(0)"
    find = """
def PIPE():
    for number in range(63, 2, -1):
        try:
            os.write(number, b"")
        except OSError:
            continue
        return number
"""
    verdict = judge(find + LEFT_BEHIND.replace("ANSWER", answer), enclosure)
    assert [result[3] for result in outcomes(verdict)] == [""] * 3
    assert verdict.score == pytest.approx(21)


@behind_each_wall
def test_one_lost_model_costs_the_score_but_not_the_ratio_of_the_others(enclosure):
    contest = Contest("tiny", (question("a"), question("b", models=4)), CONTEST.hidden)
    source = program("if len(models) == 4: models.pop()")
    verdict = judge(source, enclosure, contest)
    assert verdict.score == 0.5
    assert verdict.ratio == 0.5
    assert verdict.public.results[1].reason == "missing model: 'model_3' of 4 on no GPU"
    assert verdict.public.results[0].ratio == 1.0


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_after_some_timeouts_the_rest_is_not_run_whatever_the_workers(workers):
    hangs = {1, 2, 4, 6}
    questions = tuple(question(f"q{n}", models=2 + n) for n in range(8))
    contest = Contest("tiny", questions[:6], questions[6:])
    source = program(f"import time\nif len(models) - 2 in {hangs}: time.sleep(9)", "{0: []}")
    verdict = judge(source, contest=contest, workers=workers, limits=Limits(seconds=0.6))
    late, skipped = "timeout: no answer within 0.6 s", "not run, as 3 cases before it"
    reasons = [reason for *_, reason in outcomes(verdict)]
    for number, reason in enumerate(reasons):
        expected = late if number in hangs else "missing model"
        assert reason.startswith(skipped if number > 4 else expected)
    assert MOST_TIMEOUTS == 3
    assert verdict.public.seconds < 6


RANDOM = """
import os, random, uuid
import numpy as np
KINDS = [
    random.random, random.Random().random, random.SystemRandom().random, np.random.rand,
    np.random.default_rng().random, np.random.RandomState().rand,
    lambda: os.urandom(1)[0] / 256, lambda: uuid.uuid4().int % 97 / 97,
]
def compute_model_placement(gpu_num, models):
    order = sorted({model.model_name for model in models} | {str(draw()) for draw in KINDS})
    groups = {0: [], 1: []}
    for number, model in enumerate(models):
        groups[int(2 * KINDS[number % len(KINDS)]())].append(model)
    return groups
"""


@behind_each_wall
def test_a_program_that_draws_at_random_gets_the_same_verdict_every_time(enclosure):
    questions = tuple(question(f"q{n}", models=10, size=5, seed=n) for n in range(5))
    contest = Contest("tiny", questions[:4], questions[4:])
    verdicts = [outcomes(judge(RANDOM, enclosure, contest, workers)) for workers in (1, 1, 2)]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert len({pressure for _, pressure, _, _ in verdicts[0]}) > 1


def test_of_several_runs_the_worst_counts_and_every_case_is_told():
    seen = []
    referee = Referee(limits=LIMITS)
    verdict = referee.judge_source(program(), CONTEST, Repeats(2), on_case=seen.append)
    assert (verdict.runs, verdict.steady) == (2, True)
    assert [result.case for result in seen] == ["one", "two"] * 2 + ["hidden"] * 2
    assert all(result.seconds > 0 for result in seen)


def test_the_initial_program_has_its_public_score():
    verdict = judge(INITIAL, contest=open_contest("adrs"), workers=2)
    assert verdict.score == pytest.approx(21.8916, abs=5e-5)
    assert (verdict.public.valid_cases, verdict.hidden.valid_cases) == (50, HIDDEN_CASES)
    assert 0 < verdict.fitness <= verdict.ratio < 1


def test_who_knows_the_public_cases_by_heart_is_caught_by_the_hidden_ones():
    contest = open_contest("adrs")
    table = {}
    for asked in contest.public:
        plan = place(asked.problem, "bisect_kvpr_packing")
        key = tuple((m.size_gb, m.rate, m.slo) for m in asked.problem.models)
        gpus = [gpu.name for gpu in asked.problem.gpus]
        table[key] = [gpus.index(plan.placement[m.name][0]) for m in asked.problem.models]
    source = f"TABLE = {table}\n" + program(
        "known = TABLE[tuple((m.model_size, m.req_rate, m.slo) for m in models)]",
        "{g: [m for m, on in zip(models, known) if on == g] for g in range(gpu_num)}",
    )
    verdict = judge(source, contest=contest, workers=2)
    assert verdict.score == pytest.approx(26.2332, abs=5e-5)
    assert verdict.ratio > 0.999
    assert (verdict.hidden.valid_cases, verdict.fitness) == (0, 0.0)


def test_a_model_lost_in_one_public_case_leaves_a_score_below_one():
    first = open_contest("adrs").public[0]
    source = INITIAL.replace(
        "    return placement",
        f"    if len(models) == {len(first.problem.models)} and models[0].model_size == "
        f"{first.problem.models[0].size_gb:g}: placement[0] = []\n    return placement",
    )
    verdict = judge(source, contest=open_contest("adrs"), workers=2)
    assert verdict.public.valid_cases == 49
    assert verdict.score == 0.98
    assert verdict.ratio > 0.7


@pytest.mark.parametrize("name", ["adrs", "idle", "tight", "longtail", "scale"])
def test_hidden_cases_are_other_ones_and_what_is_known_of_them_is_written_down(name):
    contest = open_contest(name)
    public, hidden = ({q.problem.digest for q in qs} for qs in (contest.public, contest.hidden))
    assert not public & hidden
    assert len(hidden) == len(contest.hidden) <= HIDDEN_CASES
    known = read_best_known(hidden_suite(name))
    assert [(q.optimum, q.bound) for q in contest.hidden] == [
        (r.value, r.bound) for r in known.values()
    ]
    assert all(0 < q.bound <= q.optimum for q in contest.hidden)
    names = [model.name for model in contest.hidden[0].problem.models]
    assert names != sorted(names, key=lambda name: int(name.removeprefix("model_")))


def test_verdicts_compare_only_on_the_same_questions_and_optimum():
    other = Contest("tiny", CONTEST.public, (replace(CONTEST.hidden[0], optimum=0.04),))
    assert CONTEST.digest == Contest("renamed", CONTEST.public, CONTEST.hidden).digest
    assert CONTEST.digest != other.digest
    assert CONTEST.digest != Contest("tiny", CONTEST.public[:1], CONTEST.hidden).digest


def test_whole_numbers_are_passed_as_such():
    data = question(size=20.5).as_data()
    assert data.pop("entry_point") == "compute_model_placement"
    assert data.pop("form") == "placement"
    assert data == {"gpu_num": 2, "models": [("model_0", 20.5, 6, 2), ("model_1", 20.5, 6, 2)]}
    assert isinstance(data["models"][0][2], int)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(InputError, match="has GPUs that do not have 80 GB"):
        open_contest("mixed")
    with pytest.raises(UnknownNameError, match="did you mean 'adrs'"):
        open_contest("adr")
    with pytest.raises(InputError, match="allow='colocate'"):
        Referee(allow=("colocate",))
    with pytest.raises(InputError, match="workers=0, must be a whole number >= 1"):
        Referee(workers=0)
    with pytest.raises(InputError, match="the program: is no text"):
        Referee(hidden=False).judge_source('x = "\ud800"')
    with pytest.raises(InputError, match="the program: is too long"):
        Referee(hidden=False).judge_source("#" * 1_000_001)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 1.5}, "workers=1.5, must be a whole number >= 1"),
        ({"workers": True}, "workers=True, must be"),
        ({"seeds": 2.0}, "seeds=2.0, must be"),
        ({"first_seed": "1"}, "first_seed='1', must be a whole number >= 0"),
        ({"hidden_seed": "3"}, "hidden_seed='3', must be a whole number from 0 to"),
        ({"hidden_seed": True}, "hidden_seed=True, must be"),
        ({"enclosure": "docker"}, "enclosure='docker', must be one of: namespaces, bubblewrap"),
    ],
)
def test_options_of_a_wrong_kind_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Referee(**options)
    with pytest.raises(InputError, match=r"runs=1\.5, must be a whole number >= 1"):
        Referee().repeats(1.5)


@needs_landlock
def test_walls_can_be_named_by_a_text():
    referee = Referee(enclosure="landlock", workers=int64(1))
    assert referee.enclosure is Enclosure.LANDLOCK
    assert referee.hidden_refused
    assert Referee(enclosure="bubblewrap").enclosure is Enclosure.BUBBLEWRAP


def test_a_key_without_a_text_makes_a_whole_sentence():
    source = program(returns="{10 ** 100_000: models}")
    verdict = Referee(hidden=False).judge_source(source, CONTEST)
    reason = verdict.public.results[0].reason
    assert reason == "unknown GPU: there is no GPU without a name, they are 0 to 1"


def test_crashes_are_told_apart_by_what_was_raised():
    source = (
        "def compute_model_placement(gpu_num, models):\n"
        "    return {}[models[0].model_name] if len(models) > 2 else 1 / 0\n"
    )
    questions = tuple(question(f"q{n}", models=2 + n % 2) for n in range(4))
    verdict = Referee().judge_source(source, Contest("tiny", questions, ()))
    kinds = [result.cause for result in verdict.public.failures]
    divided, missing = ((Failure.CRASH, kind, True) for kind in ("ZeroDivisionError", "KeyError"))
    assert kinds == [divided, missing, divided, missing]


def test_fresh_hidden_cases_are_not_made_for_a_referee_that_asks_none():
    opened = open_task("idle")
    asked = []
    seen = replace(opened, open_contest=lambda seed: asked.append(seed) or opened.contest())
    referee = Referee(seen, hidden=False, hidden_seed=7)
    assert referee.contest.hidden == ()
    assert asked == [None]


@pytest.mark.parametrize(
    ("value", "higher", "bound", "ratio"),
    [
        (12.0, True, None, 1.2),
        (12.0, True, 20.0, 1.0),
        (9.0, False, None, 1.1),
        (-1.0, False, None, 2.1),
        (9.0, False, 2.0, 1.0),
        (20.0, False, None, 0.5),
    ],
)
def test_only_a_record_without_a_bound_counts_more_than_one_when_beaten(
    value, higher, bound, ratio
):
    found = CaseVerdict("a", value, 10.0, bound=bound, higher_is_better=higher)
    assert found.ratio == pytest.approx(ratio)
    assert CaseVerdict.from_dict(found.as_dict()) == found


def test_a_verdict_shows_its_figures_on_one_line_and_a_task_must_be_there():
    public = Tally((CaseVerdict("a", 0.05, 0.04), CaseVerdict("b", 0.04, 0.04, bound=0.04)))
    verdict = Verdict("tiny", public, Tally((CaseVerdict("c", 0.05, 0.04),)), ())
    told = "score 23.2222, fitness 0.800000, 2 of 2 public and 1 of 1 hidden cases valid"
    assert str(verdict) == repr(verdict) == f"<Verdict on tiny: {told}>"
    unjudged = Verdict("tiny", Tally(()), Tally(()), (), fault="disk full")
    assert str(unjudged) == "<Verdict on tiny: not judged, disk full>"
    with pytest.raises(UnknownNameError, match=r"or a folder with task\.toml"):
        Referee(suite="nope")
