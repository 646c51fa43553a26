"""The page of an observation in a real browser; `make test-browser` insists on there being one."""

import pytest

from colocate.inputs.observation.together import correlations
from colocate.outputs.observation.page import observation_page
from tests.browser.browser import WIDTHS
from tests.inputs.observation.test_demand_changes import observation
from tests.outputs.made_plans import HOSTILE


def page(*names):
    rates = {name: [1.0 + (n // 30 + place) % 3 for n in range(240)]
             for place, name in enumerate(names)}  # fmt: skip
    found = observation(begin=1.7e9, **rates)
    return observation_page(found, correlations(found), None, "colocate observe trace.csv")


@pytest.mark.parametrize("names", [("chat", "code"), HOSTILE])
def test_the_page_fits_and_can_be_read(browser, names):
    for frame, width in zip(browser.measured(page(*names)), WIDTHS, strict=True):
        assert frame["width"] == width
        assert frame["opened"] <= width
        assert frame["plots"] == 1
        assert frame["letters"] >= 11
        assert "requests a second" in frame["title"]


def test_nothing_is_asked_of_the_network(browser):
    assert browser.requests(page(*HOSTILE)) == []
