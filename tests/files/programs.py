"""The programs that read emitted files in earnest; a machine may not have all of them."""

import os
import shutil

import pytest

PLACES = f"{os.environ.get('PATH', os.defpath)}:/usr/lib/systemd:/lib/systemd"


def needs(program, package):
    """Leave tests out, aloud, where a program is not installed."""
    reason = f"left out: {program} is not installed (apt-get install {package})"
    return pytest.mark.skipif(not shutil.which(program, path=PLACES), reason=reason)


def write(folder, files):
    """Write emitted files to a folder that any user may read."""
    folder.mkdir(parents=True)
    for file in files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return folder
