"""Archives of version 1: a refusal was one sentence in them. They open, show and go on as before.

`tests/data/lab_version_1.sql` was written by that version, and so was the page beside it.
"""

import sqlite3
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from colocate.errors import ArchiveError
from colocate.lab.archive import Archive
from colocate.lab.archive_upgrade import VERSION
from colocate.lab.archive_version_1 import PHRASES, read_refusal
from colocate.lab.patches.refusal import Refusal, RefusalCode
from colocate.lab.watch import program_page, status_page
from tests.lab.made_labs import REFUSALS, attempt, make_lab, program

DATA = Path(__file__).parents[1] / "data"
REWORDED = {
    "Valid, but above the optimum": "Valid, but short of the optimum",
    "case        pressure": "case value",
    "openai:m at http://n.n.n.n:n/vn": "no answer came",
    "program n is the same, but for its comments": (
        "another program is the same, but for its comments"
    ),
}
"""What version 1 called otherwise: values of cases, and two causes in its table of refusals."""


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "lab.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((DATA / "lab_version_1.sql").read_text(encoding="utf-8"))
    connection.close()
    return path


def pages(archive):
    screen = Console(file=StringIO(), width=100, highlight=False)
    screen.print(*status_page(archive), *program_page(archive, 4), sep="\n")
    return sorted(" ".join(line.split()).strip("─ ") for line in screen.file.getvalue().split("\n"))


def expected():
    text = (DATA / "lab_version_1.txt").read_text(encoding="utf-8")
    for before, now in REWORDED.items():
        text = text.replace(before, now)
    return sorted(" ".join(line.split()).strip("─ ") for line in text.split("\n"))


def test_it_shows_as_before_and_reading_changes_nothing(old):
    before = old.read_bytes()
    with Archive.open(old) as archive:
        assert archive.setting("version") == 1
        assert pages(archive) == expected()
    assert old.read_bytes() == before


def test_its_refusals_have_codes(old):
    with Archive.open(old) as archive:
        by_number = {4: [], 5: [], 6: []}
        for each in archive.attempts():
            by_number.setdefault(each.number, []).append(each.refusal)
    assert by_number[4] == [*REFUSALS, None]
    (silence,) = by_number[5]
    assert silence.code is RefusalCode.NO_ANSWER
    assert str(silence).endswith("tried once; raise the timeout")
    assert by_number[6] == [
        Refusal(RefusalCode.UNKNOWN, "a reason that no version knows", "do otherwise")
    ]


def test_the_first_writer_upgrades_it(old):
    with Archive.open(old) as archive:
        before = archive.programs(), archive.attempts(), archive.reviews()
    with Archive.open(old, writing=True) as archive:
        assert archive.setting("version") == VERSION
        archive.add_attempts([attempt(7, refusal=REFUSALS[0])])
    with Archive.open(old) as archive:
        *kept, new = archive.attempts()
        assert (archive.programs(), kept, archive.reviews()) == before
        assert new.refusal == REFUSALS[0]


def test_version_2_did_not_say_which_costs_are_estimates(tmp_path):
    path = tmp_path / "lab.db"
    with make_lab(path, [program(0, 0.5)], [attempt(1, refusal=REFUSALS[0])]) as archive:
        before = archive.attempts()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE attempts DROP COLUMN estimated")
        connection.execute("UPDATE settings SET value = '2' WHERE name = 'version'")
    connection.close()
    with Archive.open(path) as archive:
        assert archive.attempts() == before
    with Archive.open(path, writing=True) as archive:
        assert archive.setting("version") == VERSION
        assert archive.attempts() == before
        guessed = replace(before[0], answer=replace(before[0].answer, estimated=True))
        archive.add_attempts([guessed])
        assert archive.attempts() == [guessed]


def test_an_upgrade_that_fails_leaves_the_archive_as_it_was(old, monkeypatch):
    def fail(self, attempts):
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(Archive, "_insert_attempts", fail)
    with pytest.raises(ArchiveError, match="disk full"):
        Archive.open(old, writing=True)
    monkeypatch.undo()
    with Archive.open(old) as archive:
        assert archive.setting("version") == 1
        assert pages(archive) == expected()


def test_another_version_is_refused(old):
    with sqlite3.connect(old) as connection:
        connection.execute("UPDATE settings SET value = '5' WHERE name = 'version'")
    connection.close()
    with pytest.raises(ArchiveError, match="version 5, must be 1 to 4; open it with the version"):
        Archive.open(old)


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_sentence_is_read_as_it_was_written(refusal):
    assert read_refusal(str(refusal), came=True) == refusal
    assert read_refusal("", came=True) is None


def test_every_code_of_that_version_is_read():
    since = {RefusalCode.NO_ANSWER, RefusalCode.NOT_WRITABLE, RefusalCode.UNKNOWN}
    since |= {RefusalCode.FILTERED, RefusalCode.MODEL_REFUSED, RefusalCode.NO_TEXT}
    since |= {RefusalCode.TOOL_CALL, RefusalCode.ONLY_A_SEED}
    assert set(PHRASES.values()) == set(RefusalCode) - since


def test_a_code_of_a_later_version_is_unknown(tmp_path):
    with make_lab(tmp_path / "lab.db", [program(0, 0.5)], [attempt(1, refusal=REFUSALS[0])]):
        pass
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("UPDATE attempts SET code = 'of-tomorrow'")
    connection.close()
    with Archive.open(tmp_path / "lab.db") as archive:
        (only,) = archive.attempts()
    assert only.refusal == replace(REFUSALS[0], code=RefusalCode.UNKNOWN)
