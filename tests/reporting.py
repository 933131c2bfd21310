"""Reports made up for tests: tallies of every kind, and the report that is built of them."""

from typing import Any

from watchkeeper.core.report_build import build
from watchkeeper.core.report_facts import Delivered, Facts, Tally
from watchkeeper.core.reports import Report, Window
from watchkeeper.core.time import HOUR, Instant, hour_of

SINCE = Instant(1_893_456_000_000_000)  # 2030-01-01
UNTIL = Instant(SINCE + 12 * HOUR)
REPORT_ID = "01a1e249-b8d3-7af7-98f5-c23c6c8f7820"

HOURS = hour_of(SINCE)

TALLIES = (
    Tally(HOURS, "tenant.created", "", "", "", 1, 0),
    Tally(HOURS, "verdict", "ALLOW", "", "signal", 5, 0),
    Tally(HOURS + 1, "verdict", "DEFER", "COOLDOWN", "signal", 7, 0),
    Tally(HOURS + 1, "verdict", "SKIP", "DUPLICATE_IDEMPOTENCY_KEY", "signal", 2, 0),
    Tally(HOURS + 2, "verdict", "ALLOW", "", "", 3, 0),
    Tally(HOURS + 2, "run.ended", "SUCCEEDED", "", "", 8, 0),
    Tally(HOURS + 3, "pull.decided", "SCHEDULED", "", "crm", 4, 12),
    Tally(HOURS + 3, "pull.decided", "REFUSED", "RATE_LIMIT", "crm", 1, 0),
    Tally(HOURS + 4, "pull.ended", "SUCCEEDED", "", "crm", 3, 9),
    Tally(HOURS + 4, "pull.ended", "FAILED", "", "crm", 1, 0),
    Tally(HOURS + 5, "pull.decided", "REFUSED", "NO_BUDGET", "mail", 2, 0),
    Tally(HOURS + 6, "turn.reserved", "", "", "", 2, 0),
    Tally(HOURS + 6, "turn.settled", "completed", "", "", 2, 2_500_000),
    Tally(HOURS + 7, "message.dead", "", "REJECTED", "orders.placed", 1, 0),
    Tally(HOURS + 8, "PLAN_CREATED", "", "", "", 2, 0),
    Tally(HOURS + 8, "STEP_COMPLETED", "", "", "", 6, 0),
)


def facts(**changes: Any) -> Facts:
    given: dict[str, Any] = {
        "report_id": REPORT_ID,
        "trigger": "AUTO_12H",
        "tenant_id": "acme",
        "tenant_name": "The best score in 2030",
        "installed_at": SINCE,
        "window": Window(SINCE, UNTIL),
        "window_from": "the installation",
        "last_seq": 48,
        "policy_version": 0,
        "forecast_min_us": 6 * HOUR,
        "connectors": ("crm", "mail", "worst of all"),
        "tallies": TALLIES,
        "delivered": (Delivered("watchkeeper", "orders.placed", 11),),
    }
    return Facts(**{**given, **changes})


def example(**changes: Any) -> Report:
    """A report with something in every section."""
    return build(facts(**changes))
