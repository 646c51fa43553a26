"""The page of a replan in a real browser; `make test-browser` insists on there being one."""

from colocate.outputs.replan.page import replan_page
from colocate.replan.choice import MoveTerms, choose
from colocate.replan.replan import replan
from tests.browser.browser import WIDTHS
from tests.replan.test_choice import FLEET, OLD


def test_the_page_fits_and_its_picture_can_be_read(browser):
    choice = choose(replan(FLEET, OLD, time_limit=0.3), FLEET, MoveTerms("elastic"))
    for frame, width in zip(browser.measured(replan_page(choice)), WIDTHS, strict=True):
        assert frame["width"] == width
        assert frame["opened"] <= width
        assert frame["plots"] == 1
        assert frame["letters"] >= 11
