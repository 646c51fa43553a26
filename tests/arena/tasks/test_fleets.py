"""The fleet tasks: their cases, the proofs of their optima, and the verdicts on answers."""

import json
from math import inf

import pytest
from numpy.random import RandomState

from colocate import InputError, Referee
from colocate.arena.case_verdict import Failure
from colocate.arena.inside.answer import FORMS
from colocate.arena.tasks.catalogue import TASKS, open_task
from colocate.arena.tasks.fleets.fleet import (
    FLEETS,
    HIDDEN,
    HIDDEN_CASES,
    PUBLIC_CASES,
    fleet_cases,
    open_contest,
)
from colocate.arena.tasks.fleets.headroom import cases_digest
from colocate.arena.tasks.fleets.planted import PRESSURE, FleetCase
from colocate.arena.tasks.fleets.records import read_records
from colocate.arena.tasks.fleets.solving import solved_case
from colocate.arena.tasks.start import start_program
from colocate.arena.walls.sandbox import Reply
from colocate.problem.problem import Problem
from colocate.problem.tolerance import RECORDED_AS_PROVEN
from colocate.problem.verify import verify
from colocate.problem.verify_bound import refuted
from tests.campaign import LONG, examples

DIGESTS = {
    "fleet-windows": "900ce0d5709ee184",
    "fleet-copies": "6a3584dccaf6ca75",
    "fleet-latency": "cd2eb5e57bf3ed71",
}
PLANTED = ("fleet-windows", "fleet-copies")


def cases(task):
    return fleet_cases(task, "public") | fleet_cases(task, HIDDEN)


def problem_of(made):
    return made if isinstance(made, Problem) else made.problem


def value_of(problem, placement):
    verdict = verify(problem, placement)
    assert verdict.valid, verdict.faults
    return verdict.ratio if problem.objective == "latency" else verdict.pressure


def started(task):
    program = {}
    exec(compile(start_program(task.replace("-", "_")), "start.py", "exec"), program)
    return program["place_models"]


def answered(task, problem):
    found = started(task)(*FLEETS[task].shown(problem))
    return {name: [gpus] if isinstance(gpus, str) else gpus for name, gpus in found.items()}


@pytest.mark.parametrize("task", FLEETS)
def test_contests_never_change(task):
    contest = open_contest(task)
    assert (len(contest.public), len(contest.hidden)) == (PUBLIC_CASES, HIDDEN_CASES)
    assert cases_digest(contest) == DIGESTS[task]


@pytest.mark.parametrize("task", FLEETS)
def test_records_are_confirmed_by_the_checker(task):
    records, made = read_records(task), cases(task)
    assert list(records) == list(made)
    few = list(made)[:6] if task == "fleet-latency" and not LONG else made
    for case in made:
        problem, record = problem_of(made[case]), records[case]
        assert record.digest == problem.digest
        assert value_of(problem, record.placement) == pytest.approx(record.value, rel=1e-12)
        assert record.certificate.bound <= record.value
        if case in few:
            assert refuted(problem, record.certificate) is None


@pytest.mark.parametrize("task", FLEETS)
def test_bounds_are_tight(task):
    records = read_records(task).values()
    gaps = [record.value / record.certificate.bound - 1 for record in records]
    proven = sum(gap <= RECORDED_AS_PROVEN for gap in gaps)
    assert max(gaps) <= 0.01
    assert proven == len(gaps) if task in PLANTED else proven >= 0.85 * len(gaps)


@pytest.mark.parametrize("task", PLANTED)
def test_planted_cases_are_optimal_for_any_seed(task):
    for seed in range(examples(500)):
        made = FLEETS[task].make(RandomState(50_000 + seed))
        assert value_of(made.problem, made.placement) == PRESSURE == made.value
        assert refuted(made.problem, made.certificate) is None
        higher = made.certificate.__class__(
            made.certificate.proof, PRESSURE * 1.000001, window=made.certificate.window
        )
        assert refuted(made.problem, higher)


@pytest.mark.parametrize("task", FLEETS)
def test_start_programs_answer_every_case(task):
    few = 3 if task == "fleet-latency" else 25
    for seed in range(few):
        problem = problem_of(FLEETS[task].make(RandomState(60_000 + seed)))
        assert value_of(problem, answered(task, problem)) < inf


@pytest.mark.parametrize("task", FLEETS)
def test_a_fresh_seed_makes_fresh_hidden_cases(task, monkeypatch):
    monkeypatch.setattr("colocate.arena.tasks.fleets.fleet.HIDDEN_CASES", 1)
    monkeypatch.setattr("colocate.arena.tasks.fleets.fleet.SOLVE_SECONDS", 1.0)
    usual, fresh = open_contest(task), open_contest(task, 77)
    assert fresh.public == usual.public
    assert fresh.hidden[0].digest not in {question.digest for question in usual.hidden}
    assert fresh.hidden[0].optimum < inf
    assert fresh.digest != usual.digest
    open_contest.cache_clear()


@pytest.mark.parametrize("task", FLEETS)
def test_the_seed_of_the_public_cases_hides_nothing(task):
    with pytest.raises(InputError, match="another one than that of the public cases"):
        open_contest(task, FLEETS[task].seed)


@pytest.mark.parametrize("task", FLEETS)
def test_programs_are_told_what_they_get(task):
    question = open_contest(task).public[0]
    gpus, models = question.inputs
    assert json.loads(json.dumps(question.as_data()))["arguments"] == [gpus, models]
    facts = open_task(task).facts
    for name in {*gpus[0], *models[0]}:
        assert f'"{name}"' in facts
    assert "place_models(gpus, models)" in facts
    assert "\\" not in facts
    assert "5 seconds" in facts
    assert not {"placement", "optimum", "bound"} & {*models[0], *gpus[0]}


def question_of(task):
    return open_contest(task).public[0]


def judged(task, answer):
    text = FORMS["places"](lambda: answer, {"arguments": []})
    return question_of(task).judged(Reply(text, 0, False, 0.1, 0.0), 1)


def good(task):
    question = question_of(task)
    record = read_records(task)[question.case]
    return {name: list(gpus) for name, gpus in record.placement.items()}


@pytest.mark.parametrize("task", FLEETS)
def test_the_best_known_answer_has_ratio_one(task):
    assert judged(task, good(task)).ratio == 1.0
    single = {name: gpus[0] if len(gpus) == 1 else gpus for name, gpus in good(task).items()}
    assert judged(task, single).ratio == 1.0


FAULTS = [
    (lambda a: None, Failure.NO_ANSWER, "it returned NoneType, must return a dict from the names"),
    (lambda a: [*a], Failure.NO_ANSWER, "it returned list"),
    (lambda a: {**a, "model-0": 3}, Failure.NO_ANSWER, "'model-0' on something else than names"),
    (lambda a: {**a, "model-0": [["gpu-0"]]}, Failure.NO_ANSWER, "on something else than names"),
    (lambda a: {**a, "model-0": {"gpu-0": 1}}, Failure.NO_ANSWER, "on something else than names"),
    (lambda a: {**a, "x": "gpu-0"}, Failure.UNKNOWN_MODEL, "there is no model 'x'"),
    (lambda a: {k: v for k, v in a.items() if k != "model-0"}, Failure.MISSING_MODEL, "'model-0'"),
    (lambda a: {}, Failure.MISSING_MODEL, "on no GPU"),
    (lambda a: {**a, "model-0": "gpu-99"}, Failure.UNKNOWN_GPU, "there is no GPU 'gpu-99'"),
    (lambda a: {**a, "model-0": ""}, Failure.UNKNOWN_GPU, "there is no GPU ''"),
    (lambda a: {**a, "model-0": []}, Failure.INVALID, "model 'model-0' is on"),
    (lambda a: {**a, "model-0": ["gpu-0"] * 500}, Failure.INVALID, "is on 500 GPUs"),
    (lambda a: dict.fromkeys(a, "gpu-0"), Failure.OVERFILLED, "gpu 'gpu-0'"),
]


@pytest.mark.parametrize(("change", "failure", "words"), FAULTS)
@pytest.mark.parametrize("task", FLEETS)
def test_wrong_answers_fail_with_a_reason(task, change, failure, words):
    verdict = judged(task, change(good(task)))
    assert (verdict.failure, verdict.value, verdict.ratio) == (failure, inf, 0.0)
    assert words in verdict.reason
    assert len(verdict.reason) < 1000


def test_copies_are_on_different_gpus():
    answer = good("fleet-copies")
    hot = next(name for name, gpus in answer.items() if len(gpus) > 1)
    verdict = judged("fleet-copies", {**answer, hot: [answer[hot][0]] * 2})
    assert (verdict.failure, verdict.ratio) == (Failure.INVALID, 0.0)
    assert "more than once" in verdict.reason


def test_least_caches_count():
    question = question_of("fleet-copies")
    crowded = {
        name: ["gpu-0"] if number % 2 else ["gpu-1"]
        for number, name in enumerate(good("fleet-copies"))
    }
    verdict = judged("fleet-copies", crowded)
    assert verdict.failure is Failure.OVERFILLED
    assert question.problem.has_least_cache


@pytest.mark.parametrize("task", FLEETS)
def test_the_referee_judges_the_start_program(task, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(start_program(task.replace("-", "_")), encoding="utf-8")
    few = open_contest(task)
    referee = Referee(suite=task, hidden=False)
    few = type(few)(few.suite, few.public[:2], few.hidden[:1], few.formula)
    verdict = referee.judge_source(path.read_text(encoding="utf-8"), few)
    assert verdict.correct
    for result, question in zip(verdict.public.results, few.public, strict=True):
        assert result.value == value_of(question.problem, answered(task, question.problem))
        assert 0.2 < result.ratio < 1.0


def test_all_fleets_are_tasks():
    assert set(FLEETS) <= set(TASKS)
    for task in FLEETS:
        opened = open_task(task)
        assert opened.entry_point in opened.start_program
        assert opened.limits.seconds == 5.0


def test_a_case_of_no_known_optimum_is_solved():
    problem = FLEETS["fleet-latency"].make(RandomState(3))
    found = solved_case(problem, 1.0)
    assert isinstance(found, FleetCase)
    assert value_of(problem, found.placement) == found.value >= found.certificate.bound > 0
