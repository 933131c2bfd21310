"""Metrics of one process: its counters, and gauges that are read from the database when asked."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, RestrictedRegistry

from watchkeeper import telemetry
from watchkeeper.actions.count_acts import count_open_intents
from watchkeeper.actions.show_reports import count_backoffs
from watchkeeper.actions.views import count_messages
from watchkeeper.store.database import Database

_log = logging.getLogger("watchkeeper.metrics")


class Measured(Collector):
    """Everything this process measures, as a registry or a collector of `prometheus_client`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def collect(self) -> Iterable[Metric]:
        self.refresh()
        return telemetry.REGISTRY.collect()

    def describe(self) -> Iterable[Metric]:
        """The names, without asking the database."""
        return telemetry.REGISTRY.collect()

    def restricted_registry(self, names: Iterable[str]) -> RestrictedRegistry:
        """The part that a scrape with `?name[]=` asks for."""
        self.refresh()
        return telemetry.REGISTRY.restricted_registry(names)

    def refresh(self) -> None:
        """Read the gauges. Without the database everything else is still told."""
        try:
            read_gauges(self._db)
        except Exception as error:
            _log.warning("gauges could not be read: %s: %s", type(error).__name__, error)


def read_gauges(db: Database) -> None:
    """Set the gauges of what waits: messages, reports that failed, intents."""
    telemetry.set_outbox(count_messages(db))
    telemetry.set_backoffs(count_backoffs(db))
    telemetry.set_open_intents(count_open_intents(db))
