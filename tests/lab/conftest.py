import pytest

from tests.lab.made_labs import HOSTILE, lab_that_says, large_lab, tiny_lab


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    with large_lab(tmp_path_factory.mktemp("large") / "lab.db") as archive:
        yield archive


@pytest.fixture
def tiny(tmp_path):
    with tiny_lab(tmp_path / "lab.db") as archive:
        yield archive


@pytest.fixture
def hostile(tmp_path):
    with lab_that_says(HOSTILE, tmp_path / "lab.db") as archive:
        yield archive
