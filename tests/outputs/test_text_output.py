import os
from pathlib import Path
from threading import Thread

import pytest

from colocate.errors import OutputError
from colocate.outputs.text.whole_files import write_text


def test_a_file_is_written_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "plan.json"
    write_text(path, "old")
    write_text(path, "new é")
    assert path.read_bytes() == "new é".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_whole_if_the_new_one_cannot_be_finished(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    write_text(path, "old")

    def full_disk(self, data):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OutputError, match=r"plan.json: cannot be written: No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "text")
    reader.join(10)
    assert read == ["text"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["missing/plan.json", "."])
def test_where_nothing_can_be_written_it_is_said_so(tmp_path, name):
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / name, "text")
