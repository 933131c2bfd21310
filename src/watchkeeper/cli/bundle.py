"""`bundle`: a decision as one file, and deciding it again anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from watchkeeper.cli.options import AsJson, Db, OwnerTenant
from watchkeeper.cli.output import say_facts, say_json
from watchkeeper.cli.place import as_id, opened

FILE_BYTES_MAX = 16 * 1024 * 1024

app = typer.Typer(help="Export a decision, and replay it elsewhere.", no_args_is_help=True)


@app.command()
def export(
    decision_id: Annotated[str, typer.Argument(metavar="DECISION", help="The id of a decision.")],
    tenant: OwnerTenant = None,
    db: Db = None,
) -> None:
    """Export a decision and all its inputs as one JSON document."""
    from watchkeeper.actions.export_bundle import export_bundle
    from watchkeeper.actions.locate_tenant import Thing, locate_tenant

    name = as_id(decision_id, "decision")
    with opened(db) as database:
        owner = locate_tenant(database, Thing.DECISION, name, tenant)
        say_json(export_bundle(database, owner, name))


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle file; - for stdin.")],
    as_json: AsJson = False,
) -> None:
    """Replay a bundle without a database. Exit code 1 if the verdict differs."""
    from watchkeeper.actions.export_bundle import replay_bundle
    from watchkeeper.cli.endings import FOUND

    found = replay_bundle(_read(file))
    verdict = found.verdict
    facts = {
        "decision_id": found.decision_id,
        "tenant_id": found.tenant_id,
        "same": found.is_same,
        "result": None if verdict is None else verdict.result.value,
        "reason": None if verdict is None or verdict.reason is None else verdict.reason.value,
        "problem": found.problem,
    }
    if as_json:
        say_json(facts)
    else:
        say_facts(facts)
    if not found.is_same:
        raise typer.Exit(FOUND)


def _read(file: Path) -> object:
    import sys

    import orjson

    from watchkeeper.errors import Invalid

    try:
        raw = sys.stdin.buffer.read(FILE_BYTES_MAX) if str(file) == "-" else file.read_bytes()
        return orjson.loads(raw)
    except OSError as error:
        raise Invalid.at(str(file), f"cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError:
        raise Invalid.at(str(file), "is not JSON") from None
