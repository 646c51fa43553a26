"""The study: a small one from end to end, its statistics, and its page against the stored data."""

import csv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.study import DATA, study
from benchmarks.study_fleets import RANDOM_FLEETS, random_fleet
from benchmarks.study_placements import (
    all_placements,
    canonical,
    figures_of,
    greedy_with_shards,
    random_placements,
)
from benchmarks.study_results import (
    FIGURES,
    StoredFleet,
    interval,
    kendall,
    right_pairs,
    spearman,
    stored_fleets,
)
from benchmarks.study_tables import TITLES, sections_of, tables_of

from colocate import read_fleet, verify
from colocate.solver.targets import without_targets

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "study.md"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    study(folder, map(random_fleet, (0, 2)), most=9)
    return folder


def test_a_small_study_runs_from_end_to_end(small):
    found = stored_fleets(small)
    assert [fleet.name for fleet in found] == ["random-000", "random-002"]
    for fleet in found:
        assert len(fleet.names) == 9
        assert {"greedy", "pressure plan", "latency plan"} <= {
            n for all_ in fleet.names for n in all_
        }
        assert (
            fleet.figures["pressure"].min()
            == fleet.figures["pressure"][fleet.number_of("pressure plan")]
        )
        assert fleet.outcomes["goodput"].max() <= 1.1 * float(fleet.facts["offered"])
    assert "Regrets" in tables_of(small)


def test_a_study_goes_on_where_it_stopped(small):
    before = {path: path.read_bytes() for path in small.iterdir()}
    study(small, map(random_fleet, (0, 2)), most=9)
    assert before == {path: path.read_bytes() for path in small.iterdir()}


def test_a_fleet_is_the_same_every_time_and_all_of_its_placements_fit():
    fleet = random_fleet(1)
    assert fleet.problem == random_fleet(1).problem
    listed = all_placements(fleet.problem)
    assert len(set(listed)) == len(listed) >= 8
    assert all(verify(fleet.problem, placement).valid for placement in listed)
    drawn = random_placements(fleet.problem, 50, np.random.default_rng(0))
    assert {canonical(fleet.problem, placement) for placement in drawn} <= set(listed)


def test_pressure_is_that_of_the_checker_with_shards_too():
    problem = without_targets(read_fleet(ROOT / "examples" / "chatlmsys.yaml").problem)
    placement = greedy_with_shards(problem)
    verdict = verify(problem, placement)
    assert verdict.valid
    highest = max(verdict.pressures.values())
    assert figures_of(problem, {}, placement).pressure == pytest.approx(highest)


def test_rank_correlations_of_known_orders():
    figure, outcome = np.array([1.0, 2.0, 3.0, np.inf]), np.array([9.0, 8.0, 7.0, 1.0])
    assert spearman(figure, outcome) == kendall(figure, outcome) == pytest.approx(1.0)
    assert spearman(figure, -outcome) == kendall(figure, -outcome) == pytest.approx(-1.0)
    assert spearman(np.array([1.0, 3.0, 2.0, 4.0]), outcome) == pytest.approx(0.8)
    assert kendall(np.array([1.0, 3.0, 2.0, 4.0]), outcome) == pytest.approx(2.0 / 3.0)
    assert np.isnan(spearman(np.ones(4), outcome))


def _known(goodput, ratio):
    figures = {name: np.array(ratio, float) for name in FIGURES}
    outcomes = {"goodput": np.array(goodput, float)}
    names = tuple((f"p{number}",) for number in range(len(ratio)))
    return StoredFleet("f", "short", "slices", 1.0, {}, names, figures, outcomes, np.zeros(2))


def test_regret_is_what_the_choice_loses_and_ties_count_as_their_mean():
    fleet = _known([[10] * 6, [8] * 6, [5] * 6], [2.0, 1.0, 3.0])
    assert fleet.regret(fleet.best_by("ratio")) == pytest.approx(0.2)
    tied = _known([[10] * 6, [8] * 6, [5] * 6], [np.inf, np.inf, np.inf])
    assert tied.regret(tied.best_by("ratio")) == pytest.approx(7.0 / 30.0)
    assert right_pairs(fleet, "ratio", "goodput") == (2.0, 3)
    assert right_pairs(tied, "ratio", "goodput") == (1.5, 3)


def test_luck_is_no_regret():
    lucky = _known([[10, 8] * 3, [8, 10] * 3], [1.0, 1.0])
    assert lucky.regret([0]) == pytest.approx(-1.0 / 8.0)


def test_an_interval_holds_the_mean():
    mean, low, high = interval([0.0, 1.0] * 50)
    assert low < mean == 0.5 < high


def test_the_stored_study_is_whole():
    with (DATA / "study_fleets.csv").open(encoding="utf-8") as file:
        names = [row["fleet"] for row in csv.DictReader(file)]
    assert len(set(names)) == len(names)
    assert sum(name.startswith("random-") for name in names) == RANDOM_FLEETS >= 200
    assert sum(name.startswith(("chatlmsys", "prism24")) for name in names) == 10 + 36


@pytest.mark.parametrize("title", TITLES)
def test_the_tables_of_the_page_are_those_of_the_stored_data(title):
    assert sections_of(DATA)[title] in PAGE.read_text(encoding="utf-8")
