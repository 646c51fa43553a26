"""Random campaigns: `make test` runs the first part of each, `make test-long` all of it."""

import os

import pytest
from hypothesis import settings

LONG = os.environ.get("COLOCATE_LONG") == "1"
"""Whether campaigns run in full; `make test-long` sets it."""
PART, FEWEST = 10, 10
"""`make test` runs a tenth of the examples, and ten at least."""


def examples(number):
    """Return how many of so many random examples to try."""
    return number if LONG else max(number // PART, min(number, FEWEST))


def campaign(number):
    """Let a property be tried on so many random examples in `make test-long`, on fewer here."""

    def marked(test):
        return pytest.mark.campaign(settings(max_examples=examples(number))(test))

    return marked


def batches(number, first):
    """Return batches of seeds: `make test` runs the first ones, `make test-long` the others."""
    return [n if n < first else pytest.param(n, marks=pytest.mark.long) for n in range(number)]
