from dataclasses import replace

import pytest

from colocate import STRATEGIES, Gpu, Model, Problem, Status, Suite, load_suite, score_strategy
from colocate.arena.strategies.strategy_score import CaseResult, Score, score_strategies
from colocate.arena.suites import Case


def result(case, pressure, best_known=0.1, status=Status.FEASIBLE):
    return CaseResult(case, status, pressure, best_known, 0.5, "")


def test_the_public_score_by_hand():
    score = Score("s", "x", 0, (result("a", 0.1), result("b", 0.3)))
    assert score.score == pytest.approx(1 / 0.2 + 1)
    assert score.ratio == pytest.approx((1 + 1 / 3) / 2)
    assert score.worst.case == "b"
    assert score.seconds == 1.0
    assert score.valid_cases == 2


def test_a_failed_case_stays_in_and_costs_the_score():
    failed = result("b", float("inf"), status=Status.UNKNOWN)
    score = Score("s", "x", 0, (result("a", 0.1), failed))
    assert score.score == 0.5
    assert score.ratio == 0.5
    assert score.worst.case == "b"
    assert score.as_dict()["results"][1]["pressure"] is None


def test_zero_pressure_everywhere_is_perfect():
    score = Score("s", "x", 0, (result("a", 0.0, 0.0),))
    assert score.ratio == 1.0
    assert score.as_dict()["score"] is None


def test_without_best_known_values_there_is_no_ratio():
    score = Score("s", "x", 0, (result("a", 0.1, None),))
    assert score.ratio is None


def test_an_infeasible_case_is_failed_and_counted():
    good = Problem([Gpu("g", 80)], [Model("m", 20, 6, 10)])
    bad = Problem([Gpu("g", 80)], [Model("m", 90, 6, 10)])
    suite = Suite("made up", "", (Case("good", good), Case("bad", bad)))
    seen = []
    score = score_strategy(suite, "initial_program", on_case=seen.append)
    assert [r.case for r in seen] == ["good", "bad"]
    assert score.valid_cases == 1
    assert score.score == 0.5
    assert score.results[0].pressure == 0.6 / 60
    assert "must be at most 80" in score.results[1].reason


def test_a_strategy_of_ones_own_has_its_name_in_the_score():
    suite = replace(load_suite("adrs"), cases=load_suite("adrs").cases[:2])
    mine = replace(STRATEGIES["bisect_kvpr_packing"], name="mine")
    assert score_strategy(suite, mine).strategy == "mine"


def test_the_number_of_workers_changes_no_score():
    suite = replace(load_suite("adrs"), cases=load_suite("adrs").cases[:4])
    rows = [STRATEGIES[name] for name in ("initial_program", "binary_bfd_sa", "ils_ruin_recreate")]
    seen = []
    alone = score_strategies(suite, rows, seed=3)
    together = score_strategies(suite, rows, 3, 2, seen.append)
    assert [s.strategy for s in together] == [row.name for row in rows]
    assert [s.score for s in together] == [s.score for s in alone]
    assert sum(seen) == 12
