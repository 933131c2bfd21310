"""Pulls as numbers: what was scheduled and refused, and the units it cost."""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper import telemetry
from watchkeeper.moves.pulls import Scheduled


def count_pulls(answers: Sequence[Scheduled]) -> None:
    """Count what a transaction decided; refusals cost nothing."""
    for one in answers:
        job = one.job
        tier = "" if job.tier is None else job.tier.name
        connector = telemetry.connector_label(job.connector_id)
        result = "SCHEDULED" if one.is_scheduled else "REFUSED"
        telemetry.PULLS.labels(connector, job.depth.name, tier, result, one.reason or "").inc()
        if one.is_scheduled:
            telemetry.PULL_UNITS.labels(connector, job.depth.name, tier).inc(one.units)
