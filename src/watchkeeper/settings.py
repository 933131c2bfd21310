"""Settings: one file, environment variables with one prefix, flags; the later ones win.

Every value remembers where it came from, so that `config show` can say it. A secret is
never shown, nor is a wrong value repeated in a message.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, PrivateAttr, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from watchkeeper.errors import Invalid, Problem

PREFIX = "WATCHKEEPER_"
CONFIG = "WATCHKEEPER_CONFIG"
FILE = Path("watchkeeper.toml")
FILE_BYTES_MAX = 64 * 1024
ADMIN_KEY_LENGTH_MIN = 32
SECRETS_KEY_LENGTH_MIN = 49  # a prefix, and 32 bytes in base64

Origin: TypeAlias = Literal["default", "file", "env", "flag"]
Port = Annotated[int, Field(ge=0, le=65_535)]

_PASSWORD = re.compile(r"(?<=://)([^/@:]*):.*@")
_QUERY_PASSWORD = re.compile(r"(?i)(password=)[^&]*")


class Settings(BaseSettings):
    """What is in force. Made by `load_settings`; the defaults suit one machine."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=PREFIX)

    database_url: str = Field(
        "sqlite:///watchkeeper.db",
        description="URL of the database: sqlite:///FILE or postgresql://…",
    )
    migrate_url: str | None = Field(
        None,
        description="URL of the database with its owner, for migrations. Default: database_url.",
    )
    admin_key: SecretStr | None = Field(
        None,
        min_length=ADMIN_KEY_LENGTH_MIN,
        description="API key for all tenants, of 32 characters or more.",
    )
    secrets_key: SecretStr | None = Field(
        None,
        min_length=SECRETS_KEY_LENGTH_MIN,
        description="Keys that stored secrets are encrypted with, separated by commas, the newest"
        " first; `watchkeeper secrets new-key` makes one.",
    )
    host: str = Field("127.0.0.1", min_length=1, description="The address to listen on.")
    port: Port = Field(8484, description="The port to listen on.")
    metrics_port: Port | None = Field(
        None,
        description="Serve /metrics here: a server instead of on its main port, a worker instead"
        " of on the first free port from 9484 to 9499.",
    )
    pool_size: int = Field(16, ge=1, le=1000, description="Connections to PostgreSQL.")
    sqlite_journal: Literal["auto", "wal", "rollback"] = Field(
        "auto", description="Journal mode of SQLite; auto uses WAL where it is safe."
    )
    threads_max: int = Field(32, ge=1, le=1000, description="Threads that handle requests.")
    requests_max: int = Field(
        128,
        ge=1,
        le=100_000,
        description="Requests under way at once, half of them of one tenant; more get 429.",
    )
    anonymous_max: int = Field(
        32,
        ge=1,
        le=100_000,
        description="Requests under way at once that carry no key, such as logins.",
    )
    followers_max: int = Field(
        256,
        ge=1,
        le=100_000,
        description="Followers of the ledger at once, half of them of one tenant; more get 429.",
    )
    connections_max: int = Field(
        1024,
        ge=1,
        le=100_000,
        description="Connections open at once, as far as the process may open files.",
    )
    head_seconds_max: float = Field(
        10,
        gt=0,
        le=600,
        description="Seconds that a client may take to send the head of a request.",
    )
    idle_seconds_max: float = Field(
        15,
        gt=0,
        le=3600,
        description="Seconds that a connection is kept open between two requests.",
    )
    body_bytes_max: int = Field(
        256 * 1024, ge=1024, le=64 * 1024 * 1024, description="The largest body of a request."
    )
    batch_bytes_max: int = Field(
        4 * 1024 * 1024,
        ge=1024,
        le=64 * 1024 * 1024,
        description="The largest body of a batch of signals or triggers.",
    )
    events_per_call_max: int = Field(
        1000, ge=1, le=1000, description="Signals or triggers in one call."
    )
    body_seconds_max: float = Field(
        10,
        gt=0,
        le=600,
        description="Seconds that a client may take to send the body of a request.",
    )
    grace_seconds: float = Field(
        10,
        ge=0,
        le=3600,
        description="Seconds that a stop waits for handlers and requests under way.",
    )
    usage_namespace: str = Field(
        "mini-chat",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$",
        description="The namespace of usage events in the outbox.",
    )
    webhooks_private: bool = Field(
        False,
        description="Sinks may be at private addresses, on any port and without encryption.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level of log lines that are written."
    )
    log_format: Literal["json", "console"] = Field(
        "json", description="`json`: one JSON object a line; `console`: text for people."
    )

    _origins: dict[str, Origin] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load_settings` hands over: it has merged the places and knows them."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from ((shown.name, shown.value) for shown in self.sources())

    def sources(self) -> list[Shown]:
        """Each setting with its value, fit to be shown, and where that came from."""
        return [
            Shown(name, _shown(getattr(self, name)), self._origins.get(name, "default"))
            for name in type(self).model_fields
        ]


@dataclass(frozen=True, slots=True)
class Shown:
    name: str
    value: str | int | float | None
    source: Origin


def load_settings(
    flags: Mapping[str, Any] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Read file, environment and flags. A flag that is None was not given."""
    env = os.environ if environ is None else environ
    places: list[tuple[Origin, Mapping[str, Any]]] = [
        ("file", _from_file(env)),
        ("env", _from_environment(env)),
        ("flag", {name: value for name, value in (flags or {}).items() if value is not None}),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for origin, found in places:
        values.update(found)
        origins.update(dict.fromkeys(found, origin))
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _invalid(error, origins) from None
    settings._origins.update(origins)
    return settings


def redacted_url(url: str) -> str:
    """A database URL without its password."""
    return _QUERY_PASSWORD.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url))


def _from_environment(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: env[PREFIX + name.upper()]
        for name in Settings.model_fields
        if env.get(PREFIX + name.upper())
    }


def _from_file(env: Mapping[str, str]) -> dict[str, Any]:
    named = env.get(CONFIG)
    path = Path(named) if named else FILE
    if not named and not path.is_file():
        return {}
    try:
        raw = path.read_bytes()
        if len(raw) > FILE_BYTES_MAX:
            raise Invalid.at(str(path), f"is larger than {FILE_BYTES_MAX // 1024} KiB")
        return tomllib.loads(raw.decode())
    except OSError as error:
        raise Invalid.at(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Invalid.at(str(path), f"is not TOML: {error}") from None


def _invalid(error: ValidationError, origins: Mapping[str, Origin]) -> Invalid:
    problems = []
    for found in error.errors(include_url=False, include_input=False):
        name = ".".join(str(part) for part in found["loc"])
        origin = origins.get(str(found["loc"][0]), "default")
        problems.append(Problem(_named(name, origin), _message(found["type"], found["msg"])))
    return Invalid("the settings are not valid: " + "; ".join(map(str, problems)), problems)


def _named(name: str, origin: Origin) -> str:
    """A setting as it is written where it came from."""
    match origin:
        case "env":
            return PREFIX + name.upper()
        case "flag":
            return "--" + name.replace("_", "-")
        case _:
            return name


def _message(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "is not a known setting"
    if kind == "too_short":
        return f"must have {ADMIN_KEY_LENGTH_MIN} characters or more"
    return message[:1].lower() + message[1:]


def _shown(value: object) -> str | int | float | None:
    match value:
        case SecretStr():
            return "***"
        case str():
            return redacted_url(value) if "://" in value else value
        case int() | float() | None:
            return value
        case _:
            return str(value)
