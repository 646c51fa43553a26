import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def python():
    """The Python of the environment with the frameworks."""
    given = os.environ.get("FRAMEWORKS_PYTHON")
    assert given, "run these tests with `make test-frameworks`"
    return Path(given)
