"""The report on a plan in a real browser; `make test-browser` insists on there being one."""

import pytest

from colocate.outputs.report import compare, report_page
from tests.browser.browser import WIDTHS
from tests.outputs.made_plans import HOSTILE, large, latencies, named, small

FLEETS = {
    "small": small,
    "large": large,
    "latencies": latencies,
    "hostile": lambda: named(HOSTILE),
}


def report(fleet, plan):
    return report_page(plan, fleet, compare(plan), "colocate plan fleet.yaml")


@pytest.mark.parametrize("name", FLEETS)
def test_the_report_fits_and_runs_nothing(browser, name):
    found = browser.measured(report(*FLEETS[name]()), [".name", ".track", ".pressure"])
    assert [frame["width"] for frame in found] == list(WIDTHS)
    for frame in found:
        assert frame["opened"] <= frame["width"]
        assert frame["title"].startswith("Peak pressure ")
        assert frame["plots"] == (1 if name == "small" else 0)
        assert frame["letters"] is None or frame["letters"] >= 11
        columns = (frame["edges"][column] for column in (".name", ".track", ".pressure"))
        for boxes in zip(*columns, strict=True):
            assert not any(overlap(a, b) for a in boxes for b in boxes if a is not b)


def test_bars_are_to_scale_and_parts_end_where_their_bar_ends(browser):
    for frame in browser.measured(report(*small()), [".track", ".bar", ".bar > span"]):
        tracks, bars = frame["edges"][".track"], frame["edges"][".bar"]
        lengths = [right - left for left, right, *_ in bars]
        track = tracks[0][1] - tracks[0][0]
        assert lengths == pytest.approx([track, track, track / 2], abs=1)
        ends = sorted({round(right) for _, right, *_ in frame["edges"][".bar > span"]})
        assert max(ends) <= round(max(right for _, right, *_ in bars)) + 1


def test_nothing_is_asked_of_the_network(browser):
    assert browser.requests(report(*named(HOSTILE))) == []


def test_what_is_asked_of_the_network_would_be_noticed(browser):
    asked = browser.requests('<!DOCTYPE html><img src="http://asked.example/picture">')
    assert any("http://asked.example/picture" in line for line in asked)


def overlap(a, b):
    """Whether two boxes share more than an edge."""
    across = min(a[1], b[1]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[2], b[2])
    return across > 1 and down > 1
