"""`secrets`: the keys that stored secrets are encrypted with."""

from __future__ import annotations

import typer

from watchkeeper.cli.options import AsJson, Db
from watchkeeper.cli.output import say, say_facts, say_json
from watchkeeper.cli.place import opened

app = typer.Typer(help="Encrypt the secrets of sinks, and change the key.", no_args_is_help=True)


@app.command("new-key")
def new_key(as_json: AsJson = False) -> None:
    """Print a new key for WATCHKEEPER_SECRETS_KEY. It is stored nowhere."""
    from watchkeeper.store.keyring import new_key

    key = new_key()
    if as_json:
        say_json({"key": key})
    else:
        say(key)


@app.command()
def status(db: Db = None, as_json: AsJson = False) -> None:
    """Count stored secrets by the key that they need. Exit code 1 if a key is missing."""
    from watchkeeper.actions.rotate_secrets import show_secrets

    with opened(db) as database:
        shown = show_secrets(database)
    found = {
        "keys": shown.key_ids,
        "plain_text": shown.plain,
        "encrypted": shown.by_key,
        "missing_keys": shown.missing,
    }
    if as_json:
        say_json(found)
    else:
        say_facts(
            {
                "keys here": ", ".join(shown.key_ids) or "none",
                "in plain text": shown.plain,
                **{f"encrypted with {key}": count for key, count in shown.by_key.items()},
                "missing keys": ", ".join(shown.missing) or "none",
            }
        )
    if shown.missing:
        raise typer.Exit(1)


@app.command()
def rotate(db: Db = None, as_json: AsJson = False) -> None:
    """Encrypt every stored secret with the first key of WATCHKEEPER_SECRETS_KEY.

    Give the new key to all processes first, before the old one: NEW,OLD. Exit code 1 if a
    secret cannot be read.
    """
    from watchkeeper.actions.rotate_secrets import rotate_secrets

    with opened(db) as database:
        done = rotate_secrets(database)
    if as_json:
        say_json({"changed": done.changed, "unreadable": done.unreadable})
    else:
        say(f"{done.changed} sinks are encrypted with the newest key.")
        for told in done.unreadable:
            say(told)
    if done.unreadable:
        raise typer.Exit(1)
