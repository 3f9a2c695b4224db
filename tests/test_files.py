"""Files are written whole or not at all, and nothing else is touched."""

import os
import stat
import threading

import pytest

from mbndt.errors import OutputError
from mbndt.files import check_writable, write_whole


def test_a_file_is_made_or_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "a.txt"
    write_whole(path, "é")
    assert path.read_bytes() == "é".encode()
    path.chmod(0o600)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert found == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_cant_be_written_is_named_and_nothing_is_left(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("none/a", ".", "loop", "x" * 300):
        for act in (check_writable, lambda path: write_whole(path, "x")):
            if name == "x" * 300 and act is check_writable:
                continue  # the folder is fine; the name is told when it is used
            with pytest.raises(OutputError, match="can't be written"):
                act(tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == ["loop"]
