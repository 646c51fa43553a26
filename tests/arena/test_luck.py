"""Programs that use chance: how often they are judged, and what their luck was worth."""

import json
import time
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from colocate import InputError, Referee, Verdict
from colocate.arena.case_verdict import CaseVerdict, Failure
from colocate.arena.contest import Contest
from colocate.arena.leaderboard import program_table, verdict_page
from colocate.arena.luck import Chance, Luck, SeedResult, luck_sentence
from colocate.arena.programs import Entry, judge_all
from colocate.arena.repeats import FIRST_LOOK, CasePart, Repeats, Run, repeated
from colocate.arena.source.set_order import may_see_order
from colocate.arena.tally import Formula
from colocate.arena.walls.sandbox import Limits
from colocate.outputs.text.console import show
from tests.arena.tiny_contest import CONTEST, program, question

LIMITS = Limits(seconds=5)
QUESTIONS = tuple(question(f"q{number}", seed=number) for number in range(6))
SIX = Contest("tiny", QUESTIONS[:4], QUESTIONS[4:])
BOTH = "{gpu_num - 1: models} if unlucky else {0: models[:1], 1: models[1:]}"
"""The best placement, or a valid one with a ratio of a third."""


def drawing(line):
    return program(f"{line}\nunlucky = drawn < 0.5", BOTH)


UNSEEDED = drawing("import random\ndrawn = random.random()")
SEEDED = drawing("import random\ndrawn = random.Random(7).random()")
NUMPY = drawing("import numpy as np\ndrawn = np.random.default_rng(7).random()")
ORDERED = drawing("drawn = list({'a', 'b', 'c', 'd'}).index('a') / 4")
OWN = drawing("drawn = (1103515245 * len(models) + 12345) % 2**31 / 2**31")
RARELY = drawing("import random\ndrawn = random.random() if models[0].model_size == 21 else 1")


def judge(source, contest=SIX, **options):
    return Referee(limits=LIMITS, **options).judge_source(source, contest)


class Script:
    """Runs from a table: the values and seeds taken of each case, one row a seed."""

    def __init__(self, *rows, drew=(False, False), public=2):
        self.rows, self.drew, self.public, self.asked = rows, drew, public, []

    def __call__(self, wanted):
        hidden = wanted.part is CasePart.HIDDEN
        part = slice(self.public, None) if hidden else slice(self.public)
        values, drew = self.rows[wanted.seed][part], self.drew[part]
        if values:
            self.asked.append((wanted.part, wanted.seed, sorted(wanted.kept)))
        results = [
            wanted.kept.get(place, case(value, taken))
            for place, (value, taken) in enumerate(zip(values, drew, strict=True))
        ]
        answers = (b"" if n in wanted.kept else b"%f" % value for n, value in enumerate(values))
        return Run(tuple(results), tuple(answers))


def case(value, drew):
    failure = Failure.CRASH if value == inf else None
    return CaseVerdict("case", value, 1.0, drew=drew, failure=failure)


def judged(script, repeats=None, may_see_order=False):
    trials = repeated(script, repeats or Repeats(), may_see_order)
    return trials.verdict("script", Formula.PRESSURE, "")


def public(*asked):
    return [(CasePart.PUBLIC, seed, kept) for seed, kept in asked]


def test_a_program_without_chance_runs_once():
    script = Script((1.0, 2.0))
    verdict = judged(script)
    assert script.asked == public((0, []))
    assert (verdict.runs, verdict.steady, verdict.luck.chance) == (1, True, Chance.NONE)


def test_only_cases_with_chance_are_run_again_and_the_worst_run_counts():
    script = Script((1.0, 1.0), (9.0, 4.0), (9.0, 2.0), drew=(False, True))
    verdict = judged(script, Repeats(seeds=3))
    assert script.asked == public((0, []), (1, [0]), (2, [0]))
    assert [result.value for result in verdict.public.results] == [1.0, 4.0]
    assert [trial.score for trial in verdict.luck.trials] == pytest.approx([2, 1.4, 1 + 2 / 3])
    luck = verdict.luck
    assert (luck.best, luck.lowest) == pytest.approx((2.0, verdict.score))
    assert luck.mean == pytest.approx((2 + 1.4 + 5 / 3) / 3)
    assert luck.spread == pytest.approx(0.6)
    assert (verdict.runs, verdict.steady, luck.chance) == (3, False, Chance.SEED)


def test_who_may_see_the_order_of_sets_is_compared_once_and_run_again_if_that_mattered():
    same = Script((1.0, 2.0), (1.0, 2.0))
    verdict = judged(same, may_see_order=True)
    assert same.asked == public((0, []), (1, []))
    assert (verdict.runs, verdict.luck.chance) == (2, Chance.NONE)
    other = Script(*[(1.0, 2.0), (1.0, 3.0)] * 3)
    verdict = judged(other, may_see_order=True)
    assert other.asked == public(*((seed, []) for seed in range(6)))
    assert (verdict.runs, verdict.luck.chance) == (6, Chance.OTHER)


def test_the_best_runs_three_times_and_further_if_that_mattered():
    best = Repeats().of_the_best
    steady, clock = Script(*[(1.0, 2.0)] * 3), Script(*[(1.0, 2.0), (1.0, 2.0), (2.0, 2.0)] * 2)
    assert judged(steady, best).runs == 3
    verdict = judged(clock, best)
    assert (verdict.runs, verdict.luck.chance) == (6, Chance.OTHER)
    assert best.enough_for(verdict)
    assert not best.enough_for(replace(verdict, runs=5))
    assert not best.enough_for(judged(Script((1.0, 2.0)), FIRST_LOOK, may_see_order=True))


def test_the_worst_public_run_does_not_depend_on_hidden_cases():
    rows = [(1.0, 9.0), (3.0, 1.0), (2.0, 1.0)]
    verdict = judged(Script(*rows, drew=(True, True), public=1), Repeats(seeds=3))
    assert [result.value for result in verdict.public.results] == [3.0]
    assert [result.value for result in verdict.hidden.results] == [9.0]
    assert verdict.fitness == min(trial.fitness for trial in verdict.luck.trials)
    told = verdict.public_only
    assert "hidden" not in told.feedback
    assert {trial.fitness for trial in told.luck.trials} == {1, 1 / 3, 1 / 2}
    assert json.dumps(told.luck.as_dict()).count('"hidden_ratio": null') == 3


HIDDEN_ROWS = {
    "draws in hidden cases alone": ([(1.0, 1.0), (9.0, 2.0), (9.0, 3.0)], (False, True), False),
    "draws in public cases alone": ([(1.0, 1.0), (2.0, 9.0), (3.0, 9.0)], (True, False), False),
    "draws in both": ([(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], (True, True), False),
    "differs in hidden cases": ([(1.0, 1.0), (1.0, 2.0), (9.0, 3.0)], (False, False), True),
    "differs in public cases": ([(1.0, 1.0), (2.0, 1.0), (3.0, 3.0)], (False, False), True),
    "a public case fails": ([(1.0, 1.0), (inf, 2.0), (9.0, 9.0)], (True, True), False),
    "a hidden case fails": ([(1.0, 1.0), (2.0, inf), (3.0, 3.0)], (True, True), False),
}


@pytest.mark.parametrize("how", HIDDEN_ROWS)
def test_all_public_cases_come_before_any_hidden_one(how):
    rows, drew, sees = HIDDEN_ROWS[how]
    script = Script(*rows, drew=drew, public=1)
    verdict = judged(script, Repeats(seeds=3), sees)
    parts = [part for part, *_ in script.asked]
    assert parts == sorted(parts, reverse=True)
    assert parts.count(CasePart.HIDDEN) >= 1
    alone = judged(Script(*[row[:1] for row in rows], drew=drew[:1], public=1),
                   Repeats(seeds=3), sees)  # fmt: skip
    assert repr(verdict.public_only) == repr(alone.public_only)
    assert verdict.runs == len(verdict.luck.trials) == (2 if how == "a public case fails" else 3)


def test_hidden_cases_count_with_the_worst_seed_even_if_only_they_draw():
    rows, drew, _ = HIDDEN_ROWS["draws in hidden cases alone"]
    verdict = judged(Script(*rows, drew=drew, public=1), Repeats(seeds=3))
    assert (verdict.public.ratio, verdict.hidden.ratio) == (1.0, pytest.approx(1 / 3))
    assert (verdict.luck.chance, verdict.luck.public_chance) == (Chance.SEED, Chance.NONE)
    assert verdict.public_only.feedback.count("chance") == 0


@pytest.mark.parametrize(
    ("source", "chance"),
    [
        (program(), Chance.NONE),
        (OWN, Chance.NONE),
        (UNSEEDED, Chance.SEED),
        (SEEDED, Chance.SEED),
        (NUMPY, Chance.SEED),
        (ORDERED, Chance.OTHER),
    ],
    ids=["steady", "own arithmetic", "unseeded", "constant", "numpy", "order of sets"],
)
def test_luck_is_found_and_measured(source, chance):
    verdict = judge(source)
    assert verdict.luck.chance is chance
    assert verdict.correct
    if chance is Chance.NONE:
        assert verdict.runs == 1
        assert luck_sentence(verdict.luck) == ""
        return
    assert [trial.seed for trial in verdict.luck.trials] == list(range(6))
    assert verdict.luck.lowest == pytest.approx(verdict.score)
    assert verdict.luck.lowest < verdict.luck.mean < verdict.luck.best
    assert "under 6 seeds" in verdict.feedback
    assert judge(source, workers=2).luck == verdict.luck
    fresh = judge(source, first_seed=6)
    assert [trial.seed for trial in fresh.luck.trials] == list(range(6, 12))
    assert [t.score for t in fresh.luck.trials] != [t.score for t in verdict.luck.trials]


def test_a_changed_constant_is_worth_nothing_on_average():
    lucky = [
        source
        for source in (SEEDED.replace("7", str(seed)) for seed in range(12))
        if judge(source, seeds=1).fitness == 1
    ]
    assert len(lucky) >= 3  # under the seed 0, a constant decides
    assert all(judge(source, CONTEST).fitness < 1 for source in lucky)


def test_a_case_that_takes_no_seed_is_not_run_again():
    odd = question("odd", size=21, seed=8, bound=None)
    seen = []
    contest = Contest("tiny", (*QUESTIONS[:3], odd), ())
    verdict = Referee(limits=LIMITS).judge_source(RARELY, contest, on_case=seen.append)
    assert [result.case for result in seen] == ["q0", "q1", "q2", "odd"] + ["odd"] * 5
    assert verdict.luck.chance is Chance.SEED
    assert [result.drew for result in verdict.public.results] == [False, False, False, True]


def test_hidden_cases_are_asked_when_all_seeds_of_the_public_ones_are_over():
    seen = []
    Referee(limits=LIMITS).judge_source(UNSEEDED, SIX, on_case=seen.append)
    assert [result.case for result in seen] == ["q0", "q1", "q2", "q3"] * 6 + ["q4", "q5"] * 6


def test_who_fails_gets_no_more_seeds():
    failing = program("import random\ngone = random.random()", "{0: models[1:]}")
    verdict = judge(failing)
    assert (verdict.runs, verdict.luck.chance, verdict.correct) == (1, Chance.SEED, False)


def test_a_lucky_program_falls_behind_a_steady_one():
    steady = program("", "{0: models[:1], 1: models[1:]} if len(models) else {}")
    entries = judge_all([("lucky", SEEDED), ("steady", steady)], SIX, Referee(limits=LIMITS), 1)
    assert [entry.name for entry in entries] == ["steady", "lucky"]
    assert [entry.verdict.runs for entry in entries] == [3, 6]


def test_the_spread_is_in_tables_and_json(capsys):
    verdict = judge(UNSEEDED)
    show(program_table([Entry("drawn", UNSEEDED, verdict)], 200), *verdict_page(verdict, 200))
    shown = capsys.readouterr().out
    assert f"{verdict.luck.mean:.4f}" in shown
    assert f"{verdict.luck.best:.4f}" in shown
    assert "the worst counts, by its ratio" in shown
    trial = min(verdict.luck.trials, key=lambda trial: trial.ratio)
    assert verdict.score == trial.score
    data = json.loads(json.dumps(verdict.as_dict(), allow_nan=False))
    assert data["luck"]["chance"] == "seed"
    assert len(data["luck"]["trials"]) == 6
    assert Verdict.from_dict(data) == verdict
    older = {name: value for name, value in data.items() if name != "luck"}
    assert Verdict.from_dict(older).luck == Luck(Chance.UNKNOWN)
    steady = judge(program())
    show(program_table([Entry("steady", "", steady)], 200), *verdict_page(steady, 200))
    assert "mean" not in capsys.readouterr().out


def test_a_trial_without_hidden_cases_goes_to_json_and_back():
    trial = judge(UNSEEDED, replace(SIX, hidden=())).luck.trials[0]
    data = json.loads(json.dumps(trial.as_dict(), allow_nan=False))
    assert data["hidden_ratio"] is None
    assert repr(SeedResult.from_dict(data)) == repr(trial)


def test_numbers_of_runs_and_seeds_are_checked():
    for options, found in (
        ({"seeds": 0}, "seeds=0"),
        ({"first_seed": -1}, "first_seed=-1"),
        ({"first_seed": 2**31 - 5}, "first_seed=2147483643, must be so small that no seed is"),
        ({"hidden_seed": 2**31}, "hidden_seed=2147483648, must be a whole number from 0 to"),
        ({"hidden_seed": -1}, "hidden_seed=-1"),
    ):
        with pytest.raises(InputError, match=found):
            Referee(**options)
    assert Referee(first_seed=2**31 - 6, hidden_seed=2**31 - 1)
    with pytest.raises(InputError, match="runs=0"):
        Repeats(0)


@pytest.mark.parametrize(
    ("body", "sees"),
    [
        ("x = sorted(models, key=lambda m: m.slo)", False),
        ("import random, math, numpy as np; from collections import defaultdict", False),
        ("d = {}\nfor k, v in d.items(): pass\nm = max(d.keys(), default=0)", False),
        ("x = getattr(models[0], 'slo', 1)", False),
        ("d = {}\nif 1 in d.keys(): pass", False),
        ("x = set(models)", True),
        ("x = {1, 2}", True),
        ("x = {m.slo for m in models}", True),
        ("d = {}\nx = d.keys() - {}.keys()", True),
        ("d = {}\nf = d.keys\nx = f()", True),
        ("match {}:\n    case object(keys=k): x = k() | k()", True),
        ("match [models]:\n    case [object(__class__=c)]: pass", True),
        ("match models:\n    case object(req_rate=r) | [r, *_]: pass", False),
        ("import typing\nx = typing.get_type_hints(place)", True),
        ("from functools import singledispatch", True),
        ("import copy\nx = list(copy._copy_dispatch)", True),
        ("x = hash('a')", True),
        ("x = getattr(models, '__class__')", True),
        ("x = getattr(models, name)", True),
        ("x = models.__class__", True),
        ("import os", True),
        ("import dataclasses\nx = dataclasses.builtins.set(models)", True),
        ("import random\nx = random._os.getrandom(8)", True),
        ("import random\nx = random._random.Random()", True),
        ("from random import _os as o", True),
        ("from enum import sys", True),
        ("import numpy as np\nx = np.fromfile('/dev/urandom', count=1)", True),
        ("import numpy as np\nx = np.linalg.norm(np.random.rand(3))", False),
        ("from collections.abc import Sequence\nx = models[0].load", False),
        ("from operator import attrgetter", True),
        ("x = eval('{1}')", True),
        ("def broken(:", True),
    ],
)
def test_who_may_see_the_order_of_sets(body, sees):
    assert may_see_order(program(body)) is sees


@pytest.mark.parametrize(("module", "sees"), [("operator", True), ("numpy", True), ("math", False)])
def test_all_names_of_a_module_at_once_may_have_ways_among_them(module, sees):
    assert may_see_order(f"from {module} import *\n{program()}") is sees


def test_what_does_not_run_when_imported_is_left_out():
    main = "\nif __name__ == '__main__':\n    import sys\n    print(set())\n"
    assert not may_see_order(program() + main)
    assert may_see_order(program() + main + "else:\n    x = set()\n")
    assert may_see_order("__name__ = '__main__'\n" + program() + main)


@pytest.mark.parametrize(
    "binding",
    [
        "__name__ = '__main__'",
        "match '__main__':\n    case __name__: pass",
        "match ['__main__']:\n    case [*__name__]: pass",
        "match {1: '__main__'}:\n    case {**__name__}: pass",
        "import math as __name__",
        "from math import pi as __name__",
        "def __name__(): pass",
        "class __name__: pass",
        "try: 1 / 0\nexcept Exception as __name__: pass",
        "(__name__ := '__main__')",
        "for __name__ in ['__main__']: pass",
        "def f():\n    global __name__\nf()",
    ],
)
def test_what_is_under_the_usual_condition_may_run_if_the_program_binds_the_name(binding):
    main = "\nif __name__ == '__main__':\n    from posix import urandom\n"
    assert may_see_order(f"{binding}\n{program()}{main}")
    assert not may_see_order(f"{program()}{main}{main}")


def test_no_text_ends_the_reading_of_programs():
    long_sum = f"{program()}if {'+'.join(['1'] * 1000)}: pass\n"
    assert not may_see_order(long_sum)
    assert may_see_order(f"{program()}if {'-' * 90_000}1: pass\n")
    verdict = Referee(hidden=False, seeds=1).judge_source(long_sum, CONTEST)
    assert verdict.correct, verdict.feedback


def test_a_program_too_long_to_be_read_in_a_second_is_run_twice():
    started = time.monotonic()
    assert may_see_order(program() + "x = 1;" * 160_000)
    assert time.monotonic() - started < 0.1


def test_every_whole_run_has_addresses_of_its_own():
    if Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "0":
        pytest.skip("left out: addresses are the same everywhere on this machine")
    told = []
    source = program("raise ValueError(id(compute_model_placement) >> 12)")
    Referee(hidden=False).judge_source(
        source, CONTEST, Repeats(3), lambda result: told.append((result.case, result.reason))
    )
    addresses = [reason for case, reason in told if case == "one"]
    assert len(addresses) == 3
    assert len(set(addresses)) == 3
    once = Repeats(first_seed=4)
    assert [once.layout_of(seed) for seed in (4, 9)] == [0, 0]
    assert [once.of_the_best.layout_of(seed) for seed in (4, 5, 6, 9)] == [0, 1, 2, 2]
