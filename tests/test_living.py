"""The page on living fleets says what was measured."""

from benchmarks.living_conditions import conditions
from docs.draw_living import (
    SHOWN,
    figure_of,
    rows_of_other_requests,
    stored_rows,
    table_of,
    table_of_other_requests,
)

from tests.test_docs import ROOT


def test_the_page_has_the_stored_table():
    page = (ROOT / "docs" / "living.md").read_text(encoding="utf-8")
    assert table_of(stored_rows()) in page


def test_all_twenty_conditions_were_measured_and_no_move_was_undone():
    rows = stored_rows()
    assert [row["condition"] for row in rows] == [each.name for each in conditions()]
    assert len(rows) == 20
    assert all(row["undone"] == "0" for row in rows)


def test_watch_keeps_98_percent_of_the_best_plan_everywhere_and_the_page_says_so():
    page = (ROOT / "docs" / "living.md").read_text(encoding="utf-8")
    shares = {row["condition"]: float(row["over_static"]) for row in stored_rows()}
    assert min(shares.values()) >= 0.98
    assert "On all 20 conditions `watch` keeps at least 98%" in page
    hardest = min(shares, key=lambda name: shares[name])
    assert f"{hardest.capitalize()} is the hardest, at {100 * shares[hardest]:.1f}%" in page


def test_the_page_has_what_was_measured_with_other_requests():
    page = (ROOT / "docs" / "living.md").read_text(encoding="utf-8")
    others = rows_of_other_requests()
    assert others
    assert table_of_other_requests(others) in page


def test_the_legend_of_the_picture_shows_each_mark_beside_its_name():
    (axes,) = figure_of(stored_rows()).axes
    names = {text.get_text(): text for text in axes.texts}
    marks = {mark.get_offsets()[0][0]: mark for mark in axes.collections[-len(SHOWN) :]}
    assert list(names) == [told for told, _, _ in SHOWN.values()]
    for text, place in zip(names.values(), sorted(marks), strict=True):
        assert place < text.get_position()[0] < place + 0.03
