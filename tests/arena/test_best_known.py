from dataclasses import replace
from math import inf

import pytest

from colocate import Gpu, InputError, Model, Problem, Suite, load_suite, place
from colocate.arena.best_known import Record, read_best_known, write_best_known
from colocate.arena.suites import SUITES, Case

SUITE = load_suite("adrs")


def record(case, value, bound, who, lost=0.0, lost_bound=0.0):
    return Record(case.name, case.problem.digest, value, bound, who, lost, lost_bound)


def test_a_record_only_ever_improves(tmp_path):
    path = tmp_path / "adrs.csv"
    first, second = SUITE.cases[:2]
    write_best_known(SUITE, {first.name: record(first, 0.5, 0.1, "a")}, path)
    write_best_known(SUITE, {first.name: record(first, 0.6, 0.2, "b")}, path)
    write_best_known(SUITE, {second.name: record(second, 0.7, 0.3, "c")}, path)
    write_best_known(SUITE, {first.name: record(first, 0.4, 0.05, "d")}, path)
    write_best_known(SUITE, {first.name: record(first, 0.4 * (1 - 1e-15), 0.05, "e")}, path)
    known = read_best_known(SUITE, path)
    assert known[first.name] == record(first, 0.4, 0.2, "d")
    assert known[second.name] == record(second, 0.7, 0.3, "c")
    assert [p.name for p in tmp_path.iterdir()] == ["adrs.csv"]


def test_who_loses_less_is_better_at_any_pressure_and_keeps_its_own_bound():
    case = SUITE.cases[0]
    old = record(case, 0.5, 0.4, "a", 10.0, 7.0)
    assert old.improved(record(case, 0.9, 0.8, "b", 9.0, 6.0)) == record(
        case, 0.9, 0.8, "b", 9.0, 7.0
    )
    assert old.improved(record(case, 0.1, 0.1, "b", 11.0, 8.0)) == replace(old, lost_bound=8.0)
    assert old.improved(record(case, 0.45, 0.3, "b", 10.0)) == record(
        case, 0.45, 0.3, "b", 10.0, 7.0
    )
    assert old.improved(record(case, 0.6, 0.45, "b", 10.0)) == old


def test_losses_are_kept_where_models_may_sleep_and_only_there(tmp_path):
    path = tmp_path / "sleepy.csv"
    models = [Model(f"m{n}", 50, load=1.0, sleep_cost=2.0) for n in range(2)]
    case = Case("sleepy-00", Problem([Gpu("g", 80)], models))
    suite = Suite("sleepy", "", (case,))
    known = {case.name: record(case, 1 / 30, 1 / 30, "a", 2.0, 1.5)}
    write_best_known(suite, known, path)
    assert read_best_known(suite, path) == known
    assert path.read_text().startswith("case,digest,value,bound,who,lost,lost_bound\n")
    write_best_known(SUITE, {}, path := tmp_path / "adrs.csv")
    assert path.read_text() == "case,digest,value,bound,who\n"


def test_a_record_of_another_case_is_refused(tmp_path):
    path = tmp_path / "adrs.csv"
    case = SUITE.cases[0]
    write_best_known(SUITE, {case.name: record(case, 0.5, 0.1, "a")}, path)
    path.write_text(path.read_text().replace(case.problem.digest, "0" * 16))
    with pytest.raises(InputError, match="it is the record of another case"):
        read_best_known(SUITE, path)


def test_no_file_means_nothing_known(tmp_path):
    assert read_best_known(SUITE, tmp_path / "none.csv") == {}


@pytest.mark.parametrize("name", SUITES)
def test_the_files_shipped_know_every_case_and_are_consistent(name):
    suite = load_suite(name)
    known = read_best_known(suite)
    assert list(known) == [case.name for case in suite.cases]
    for row in known.values():
        assert 0 < row.bound <= row.value < inf
        assert 0 <= row.lost_bound <= row.lost
        assert row.who


def test_adrs_is_known_and_proven_to_the_last_case():
    known = read_best_known(SUITE).values()
    assert 1 + len(known) / sum(row.value for row in known) == pytest.approx(26.255972, abs=5e-7)
    assert all(row.bound >= row.value * (1 - 1e-8) for row in known)


def test_no_strategy_is_below_a_proven_bound():
    for name in ("idle", "tight", "mixed"):
        suite = load_suite(name)
        known = read_best_known(suite)
        for case in suite.cases[::3]:
            plan = place(case.problem, "five_recommendations", seed=7)
            assert plan.pressure >= known[case.name].bound
