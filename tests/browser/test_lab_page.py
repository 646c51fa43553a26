"""The page of a lab in a real browser; `make test-browser` insists on there being one."""

import pytest

from colocate.lab.watch import html_page
from tests.browser.browser import WIDTHS
from tests.lab.made_labs import HOSTILE, lab_that_says, large_lab


@pytest.mark.parametrize("lab", ["large", "hostile"])
def test_the_page_fits_and_runs_nothing(browser, lab, tmp_path):
    path = tmp_path / "lab.db"
    with large_lab(path) if lab == "large" else lab_that_says(HOSTILE, path) as archive:
        page = html_page(archive)
    found = browser.measured(page)
    assert [frame["width"] for frame in found] == list(WIDTHS)
    for frame in found:
        assert frame["closed"] <= frame["width"]
        assert frame["opened"] <= frame["width"]
        assert frame["title"].startswith("Lab on ")
        assert frame["plots"] == 1
        assert frame["letters"] >= 11
