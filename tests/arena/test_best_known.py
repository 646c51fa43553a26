import pytest

from colocate import InputError, load_suite, place
from colocate.arena.best_known import Record, read_best_known, write_best_known
from colocate.arena.suites import SUITES

SUITE = load_suite("adrs")


def record(case, value, bound, who):
    return Record(case.name, case.problem.digest, value, bound, who)


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
        assert 0 < row.bound <= row.value
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
