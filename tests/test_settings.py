"""Settings come from a file, the environment and flags, and each knows where it came from."""

from pathlib import Path

import pytest

from watchkeeper.errors import Invalid
from watchkeeper.settings import PREFIX, Settings, load_settings, redacted_url

pytestmark = pytest.mark.req("U-22")

KEY = "canary-" + "k" * 32


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(settings: Settings) -> dict[str, tuple]:
    return {one.name: (one.value, one.source) for one in settings.sources()}


def test_the_defaults_suit_one_machine() -> None:
    settings = load_settings(environ={})
    assert settings.database_url == "sqlite:///watchkeeper.db"
    assert (settings.host, settings.port) == ("127.0.0.1", 8484)
    assert {source for _, source in shown(settings).values()} == {"default"}


def test_later_places_win_and_each_value_says_where_it_came_from(elsewhere: Path) -> None:
    (elsewhere / "watchkeeper.toml").write_text('port = 1\nhost = "h"\npool_size = 3\n')
    environ = {f"{PREFIX}PORT": "2", f"{PREFIX}HOST": "e", f"{PREFIX}LOG_LEVEL": ""}
    settings = load_settings({"port": 3, "host": None}, environ=environ)
    found = shown(settings)
    assert found["port"] == (3, "flag")
    assert found["host"] == ("e", "env")
    assert found["pool_size"] == (3, "file")
    assert found["log_level"] == ("info", "default")
    assert set(found) == set(Settings.model_fields)


def test_the_file_may_be_named(elsewhere: Path) -> None:
    named = elsewhere / "other.toml"
    named.write_text("port = 7\n")
    (elsewhere / "watchkeeper.toml").write_text("port = 8\n")
    assert load_settings(environ={"WATCHKEEPER_CONFIG": str(named)}).port == 7


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_has_words_and_a_variable(name: str) -> None:
    assert Settings.model_fields[name].description
    wrong = {"admin_key": "short", "database_url": "", "migrate_url": "", "host": ""}
    value = wrong.get(name, "\0nonsense")
    if value == "":
        return  # an empty variable counts as none
    with pytest.raises(Invalid) as refused:
        load_settings(environ={f"{PREFIX}{name.upper()}": value})
    assert refused.value.problems[0].place == f"{PREFIX}{name.upper()}"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("prt = 1\n", "prt"),
        ('port = "x"\n', "port"),
        ("port = 70000\n", "port"),
        ("port = \n", "watchkeeper.toml"),
        ("body_bytes_max = 1\n", "body_bytes_max"),
        ('log_level = "loud"\n', "log_level"),
    ],
)
def test_a_mistake_in_the_file_is_named(elsewhere: Path, text: str, place: str) -> None:
    (elsewhere / "watchkeeper.toml").write_text(text)
    with pytest.raises(Invalid) as refused:
        load_settings(environ={})
    assert [problem.place for problem in refused.value.problems] == [place]


def test_a_file_that_is_not_there_is_a_mistake_only_when_named() -> None:
    load_settings(environ={})
    with pytest.raises(Invalid, match=r"nowhere\.toml"):
        load_settings(environ={"WATCHKEEPER_CONFIG": "nowhere.toml"})


def test_a_flag_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(Invalid, match="--prt"):
        load_settings({"prt": 1}, environ={})


@pytest.mark.req("O-23")
def test_secrets_are_never_shown(elsewhere: Path) -> None:
    url = "postgresql://user:canary-p%40ss@host/db?password=canary-too"
    settings = load_settings({"admin_key": KEY, "database_url": url}, environ={})
    for text in (repr(settings), str(settings), str(settings.sources())):
        assert "canary" not in text
    with pytest.raises(Invalid) as refused:
        load_settings({"admin_key": "canary-short"}, environ={})
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p@ss:w@h:5/d?x=1", "postgresql://u:***@h:5/d?x=1"),
        ("postgresql://h/d?user=u&password=p&x=1", "postgresql://h/d?user=u&password=***&x=1"),
        ("sqlite:////tmp/a:b@c.db", "sqlite:////tmp/a:b@c.db"),
        ("sqlite:///x.db", "sqlite:///x.db"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert redacted_url(url) == shown
