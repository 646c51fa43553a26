"""What the page about time windows says they bring is what was measured."""

import csv
import re
from pathlib import Path
from statistics import fmean, median

import pytest
from benchmarks.windows_gain import FOUND, WAYS

ROOT = Path(__file__).parents[2]
TRACE = "LMSYS by the minute"
PROVEN = 1.001
"""Ratios and bounds are stored with four digits."""


@pytest.fixture(scope="module")
def by_fleet():
    with FOUND.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        figures = {name: float(row[name]) for name in row if name not in ("fleet", "way")}
        found.setdefault(row["fleet"], {})[row["way"]] = figures
    return found


@pytest.fixture(scope="module")
def page():
    return re.sub(r"\s+", " ", (ROOT / "docs" / "windows.md").read_text(encoding="utf-8"))


def savings(by_fleet, way):
    """By what share the plan over windows has a lower worst ratio than another one."""
    return [1 - ways["windows"]["ratio"] / ways[way]["ratio"] for ways in by_fleet.values()]


def test_every_fleet_was_planned_in_every_way(by_fleet):
    assert len(by_fleet) == 7
    assert TRACE in by_fleet
    assert all(tuple(ways) == WAYS for ways in by_fleet.values())


def test_no_plan_by_means_or_peaks_is_below_the_bound(by_fleet):
    for ways in by_fleet.values():
        bound = ways["windows"]["bound"]
        assert all(figures["ratio"] * PROVEN >= bound for figures in ways.values())


def test_the_page_says_how_many_are_proven(by_fleet, page):
    gaps = [ways["windows"]["ratio"] / ways["windows"]["bound"] - 1 for ways in by_fleet.values()]
    proven = sum(gap <= PROVEN - 1 for gap in gaps)
    if proven == len(gaps):
        assert "proven to be the best there is, for all seven fleets" in page
    else:
        rest = f"proven to be the best there is for {proven} of the seven fleets, and within"
        others = "others" if len(gaps) - proven > 1 else "other one"
        assert f"{rest} {max(gaps):.0%} of it for the {others}" in page


def test_the_page_says_what_windows_save(by_fleet, page):
    mean, peak = (sorted(savings(by_fleet, way)) for way in ("mean", "peak"))
    said = (
        f"is {mean[0]:.0%} to {mean[-1]:.0%} lower than that of a plan by means (median "
        f"{median(mean):.0%}), and {peak[0]:.0%} to {peak[-1]:.0%} lower than that of a plan by "
        f"peaks (median {median(peak):.0%})"
    )
    assert said.replace("% to", " to") in page


def test_the_page_says_what_plans_by_means_promise(by_fleet, page):
    promised = sorted(ways["mean"]["promised"] for ways in by_fleet.values())
    times = sorted(ways["mean"]["ratio"] / ways["mean"]["promised"] for ways in by_fleet.values())
    assert f"promises a ratio of {promised[0]:.2f} to {promised[-1]:.2f}" in page
    assert f"it has {times[0]:.1f} to {times[-1]:.1f} times as much" in page


def test_the_page_says_how_many_requests_are_late(by_fleet, page):
    made = [ways for name, ways in by_fleet.items() if name != TRACE]
    over, mean, peak = (fmean(1 - ways[way]["in_time"] for ways in made) for way in WAYS)
    assert f"{over:.1%} of requests come too late, instead of {mean:.1%} and {peak:.1%}" in page
