"""Reports as they are kept: the document that was checked, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.report_json import from_json
from watchkeeper.core.reports import MANUAL, Report
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Row, Tx

FORGOTTEN_MAX = 1_000

_FACTS = "report_id, trigger_name, window_since_at, generated_at, last_seq"
_ADD = same(
    f"insert into reports (tenant_id, {_FACTS}, document) values (%s, %s, %s, %s, %s, %s, %s)"
)
_GET = same("select document from reports where tenant_id = %s and report_id = %s")
_PAGE = same(
    f"select {_FACTS} from reports where tenant_id = %s and report_id < %s"
    " order by report_id desc limit %s"
)
_FORGET = same(
    "delete from reports where tenant_id = %s and report_id in ("
    " select report_id from reports where tenant_id = %s and trigger_name = %s"
    f" and generated_at < %s order by generated_at limit {FORGOTTEN_MAX})"
)
LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """A report, as far as a list tells of it."""

    report_id: str
    trigger: str
    window_since: Instant
    generated_at: Instant
    last_seq: int


def add(tx: Tx, report: Report, document: str) -> None:
    header = report.header
    tx.run(
        _ADD,
        (
            tx.tenant_id,
            header.report_id,
            header.trigger,
            header.window.since,
            header.window.until,
            header.last_entry.value,
            document,
        ),
    )


def get_text(tx: Tx, report_id: str) -> str | None:
    """The document as it was stored."""
    rows = tx.rows(_GET, (tx.tenant_id, report_id))
    return str(rows[0][0]) if rows else None


def get(tx: Tx, report_id: str) -> Report | None:
    text = get_text(tx, report_id)
    return None if text is None else from_json(text)


def page(tx: Tx, before: str, limit: int) -> list[ReportFacts]:
    """The newest first: ids begin with the time they were made."""
    rows = tx.rows(_PAGE, (tx.tenant_id, before or LAST_ID, limit))
    return [_facts(row) for row in rows]


def forget(tx: Tx, before: Instant) -> int:
    """Remove some old reports that were asked for; how many. Those of milestones stay."""
    return tx.changed(_FORGET, (tx.tenant_id, tx.tenant_id, MANUAL, before))


def _facts(row: Row) -> ReportFacts:
    report_id, trigger, since, generated_at, last_seq = row
    return ReportFacts(
        str(report_id), trigger, Instant(since), Instant(generated_at), int(last_seq)
    )
