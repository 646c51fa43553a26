"""The page on living fleets says what was measured."""

from benchmarks.living_conditions import conditions
from docs.draw_living import stored_rows, table_of

from tests.test_docs import ROOT


def test_the_page_has_the_stored_table():
    page = (ROOT / "docs" / "living.md").read_text(encoding="utf-8")
    assert table_of(stored_rows()) in page


def test_all_twenty_conditions_were_measured_and_no_move_was_undone():
    rows = stored_rows()
    assert [row["condition"] for row in rows] == [each.name for each in conditions()]
    assert len(rows) == 20
    assert all(row["undone"] == "0" for row in rows)
    assert [row["condition"] for row in rows if float(row["over_static"]) < 0.98] == []
