import os
import shutil

import pytest

from tests.browser.browser import Browser

NAME = os.environ.get("CHROMIUM", "chromium")


@pytest.fixture
def browser(capsys, tmp_path):
    path = shutil.which(NAME)
    if not path:
        reason = f"no browser {NAME!r}: no page was looked at; set CHROMIUM"
        with capsys.disabled():
            print(f"\nskipped: {reason}")
        pytest.skip(reason)
    return Browser(path, tmp_path)
