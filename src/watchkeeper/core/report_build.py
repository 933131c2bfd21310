"""From what was counted to the report: pure, so that equal facts give an equal report.

Only facts are put into words here. What a state of coverage means is a rule of this file; what
it means for anybody is not ours to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from watchkeeper.core.pulls import PullReason
from watchkeeper.core.report_facts import (
    SIGNAL,
    Delivered,
    Facts,
    Tally,
    bucket_hours,
    bucket_of,
    starts_at,
)
from watchkeeper.core.reports import (
    Collected,
    ConnectorCounts,
    Count,
    Coverage,
    CoverageState,
    Estimate,
    Forecast,
    Header,
    Line,
    NotEnough,
    Observations,
    Outlook,
    Report,
    Series,
    Window,
)
from watchkeeper.core.time import DAY, SECOND, Instant

CONNECTORS_MAX = 200
"""Connectors that are named; what is beyond is counted together."""
OTHERS = "(others)"
DUPLICATE = "DUPLICATE_IDEMPOTENCY_KEY"
NOT_ENOUGH = "not enough observation"
ESTIMATE = "estimate, not a count"
METHOD = (
    "linear: the count over the window, times the length of the horizon, divided by the length"
    " of the window, rounded down"
)

Sort = Callable[[Tally], bool]
_REFUSED_BY_ORDER = {PullReason.NO_BUDGET, PullReason.KILL_SWITCH}
_REFUSED_FOR_LACK = {PullReason.BUDGET_EXCEEDED, PullReason.CIRCUIT_OPEN}

HOW = {
    "entries": "entries of the ledger, of every kind",
    "last": "place of the newest entry of the ledger that was counted",
    "signals": "ledger entries of kind verdict that tell of a signal, repeats left out",
    "pulls": "ledger entries of kind pull.decided with the result SCHEDULED",
    "units": "sum of units over ledger entries of kind pull.decided with the result SCHEDULED",
    "brought": "sum of signals over ledger entries of kind pull.ended, repeats included",
    "answered": "ledger entries of kind pull.decided, by result and reason",
    "ended": "ledger entries of kind pull.ended, by result",
    "decisions": "ledger entries of kind verdict, by result and reason",
    "runs": "ledger entries of kind run.ended, by result",
    "plans": "ledger entries of the kind itself, about plans",
    "steps": "ledger entries of the kind itself, about steps",
    "turns": "ledger entries about turns, by kind and result",
    "credits": "sum of charged_micro over ledger entries of kind turn.settled",
    "delivered": "messages that stand as delivered in the outbox, and those removed since",
    "dead": "ledger entries of kind message.dead, by reason and topic",
    "observed": "length of the window",
    "needed": "policy value reports.forecast_min_hours, in seconds",
}


def build(facts: Facts) -> Report:
    return _Builder(facts).report()


def is_signal(one: Tally) -> bool:
    return one.kind == "verdict" and one.name == SIGNAL and one.reason != DUPLICATE


def is_scheduled(one: Tally) -> bool:
    return one.kind == "pull.decided" and one.result == "SCHEDULED"


def _is(kind: str, result: str | None = None) -> Sort:
    return lambda one: one.kind == kind and (result is None or one.result == result)


def _starts(prefix: str) -> Sort:
    return lambda one: one.kind.startswith(prefix)


class _Builder:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.window = facts.window

    def report(self) -> Report:
        collected = self.collected()
        observations = self.observations()
        return Report(
            header=self.header(),
            collected=collected,
            coverage=tuple(self.coverage(name, them) for name, them in self.by_connector()),
            observations=observations,
            forecast=self.outlook(),
            series=tuple(self.all_series()),
        )

    # -- counting ----------------------------------------------------------------------

    def count(self, value: int, how: str, unit: str = "entries") -> Count:
        return Count(value, HOW[how], self.window, unit)

    def entries(self, sort: Sort) -> int:
        return sum(one.entries for one in self.facts.tallies if sort(one))

    def amount(self, sort: Sort) -> int:
        return sum(one.amount for one in self.facts.tallies if sort(one))

    def lines(
        self, sort: Sort, key: Callable[[Tally], tuple[str, str | None, str | None]], how: str
    ) -> tuple[Line, ...]:
        """Counts by label, detail and name, in the order of those."""
        counts: dict[tuple[str, str, str], int] = defaultdict(int)
        for one in self.facts.tallies:
            if sort(one):
                label, detail, name = key(one)
                counts[label, detail or "", name or ""] += one.entries
        return tuple(
            Line(label, self.count(value, how), detail or None, name or None)
            for (label, detail, name), value in sorted(counts.items())
        )

    # -- the sections ------------------------------------------------------------------

    def header(self) -> Header:
        facts = self.facts
        return Header(
            report_id=facts.report_id,
            trigger=facts.trigger,
            tenant_id=facts.tenant_id,
            tenant_name=facts.tenant_name,
            installed_at=facts.installed_at,
            generated_at=facts.window.until,
            window=facts.window,
            window_from=facts.window_from,
            entries=self.count(self.entries(lambda _: True), "entries"),
            last_entry=self.count(facts.last_seq, "last", "place"),
            policy_version=facts.policy_version,
        )

    def collected(self) -> Collected:
        return Collected(
            signals=self.count(self.entries(is_signal), "signals", "signals"),
            pulls=self.count(self.entries(is_scheduled), "pulls", "pulls"),
            units=self.count(self.amount(is_scheduled), "units", "units"),
            connectors=tuple(self.connector(name, them) for name, them in self.by_connector()),
        )

    def by_connector(self) -> list[tuple[str, list[Tally]]]:
        """Every connector that is known or was pulled, in the order of its name."""
        found: dict[str, list[Tally]] = {name: [] for name in self.facts.connectors}
        for one in self.facts.tallies:
            if one.kind in ("pull.decided", "pull.ended"):
                found.setdefault(one.name, []).append(one)
        named = sorted(found.items())
        beyond = named[CONNECTORS_MAX:]
        if not beyond:
            return named
        return [*named[:CONNECTORS_MAX], (OTHERS, [one for _, them in beyond for one in them])]

    def connector(self, name: str, them: list[Tally]) -> ConnectorCounts:
        scheduled = [one for one in them if is_scheduled(one)]
        brought = [one for one in them if one.kind == "pull.ended"]
        return ConnectorCounts(
            connector_id=name,
            pulls=self.count(sum(one.entries for one in scheduled), "pulls", "pulls"),
            units=self.count(sum(one.amount for one in scheduled), "units", "units"),
            signals=self.count(sum(one.amount for one in brought), "brought", "signals"),
        )

    def coverage(self, name: str, them: list[Tally]) -> Coverage:
        state, reason = covered(them)
        answered: dict[tuple[str, str], int] = defaultdict(int)
        ended: dict[str, int] = defaultdict(int)
        for one in them:
            if one.kind == "pull.decided":
                answered[one.result, one.reason] += one.entries
            else:
                ended[one.result] += one.entries
        lines = [
            Line(result, self.count(n, "answered", "pulls"), why or None)
            for (result, why), n in sorted(answered.items())
        ]
        lines += [
            Line(result, self.count(n, "ended", "pulls")) for result, n in sorted(ended.items())
        ]
        return Coverage(name, state, reason, tuple(lines))

    def observations(self) -> Observations:
        turns = {"turn.reserved", "turn.refused", "turn.settled"}
        return Observations(
            decisions=self.lines(
                _is("verdict"), lambda one: (one.result, one.reason, None), "decisions"
            ),
            runs=self.lines(_is("run.ended"), lambda one: (one.result, None, None), "runs"),
            plans=self.lines(_starts("PLAN_"), lambda one: (one.kind, None, None), "plans"),
            steps=self.lines(_starts("STEP_"), lambda one: (one.kind, None, None), "steps"),
            turns=self.lines(
                lambda one: one.kind in turns, lambda one: (one.kind, one.result, None), "turns"
            ),
            credits_settled=self.count(
                self.amount(_is("turn.settled")), "credits", "micro-credits"
            ),
            events_delivered=tuple(
                Line("DELIVERED", self.count(one.messages, "delivered", "messages"), None, name)
                for name, one in sorted((_topic(d.namespace, d.topic), d) for d in self.delivered())
            ),
            events_dead=self.lines(
                _is("message.dead"), lambda one: (one.reason or "UNKNOWN", None, one.name), "dead"
            ),
        )

    def delivered(self) -> Iterable[Delivered]:
        return (one for one in self.facts.delivered if one.messages)

    def outlook(self) -> Outlook:
        window = self.window
        if window.length_us < max(self.facts.forecast_min_us, 1):
            return NotEnough(
                NOT_ENOUGH,
                self.count(window.length_us // SECOND, "observed", "seconds"),
                self.count(self.facts.forecast_min_us // SECOND, "needed", "seconds"),
            )
        horizon = Window(window.until, Instant(window.until + DAY))
        bases = {
            "signals": self.count(self.entries(is_signal), "signals", "signals"),
            "runs allowed": self.count(
                self.entries(_is("verdict", "ALLOW")), "decisions", "decisions"
            ),
            "pulls": self.count(self.entries(is_scheduled), "pulls", "pulls"),
            "units": self.count(self.amount(is_scheduled), "units", "units"),
            "credits settled": self.count(
                self.amount(_is("turn.settled")), "credits", "micro-credits"
            ),
        }
        estimates = [
            Estimate(of, basis.value * DAY // window.length_us, basis.unit, basis, horizon)
            for of, basis in bases.items()
        ]
        return Forecast(ESTIMATE, METHOD, tuple(estimates))

    # -- counts over time --------------------------------------------------------------

    def all_series(self) -> Iterator[Series]:
        yield self.series("signals", None, "signals", "signals", is_signal)
        yield self.series("pulls", None, "pulls", "pulls", is_scheduled)
        yield self.series("units", None, "units", "units", is_scheduled, of_amount=True)
        for result in ("ALLOW", "DEFER", "SKIP"):
            sort = _is("verdict", result)
            yield self.series("decisions", result, "decisions", "decisions", sort)
        yield self.series("runs ended", None, "runs", "runs", _is("run.ended"))
        yield self.series(
            "credits settled",
            None,
            "micro-credits",
            "credits",
            _is("turn.settled"),
            of_amount=True,
        )
        yield self.series("events dead", None, "messages", "dead", _is("message.dead"))

    def series(
        self,
        of: str,
        label: str | None,
        unit: str,
        how: str,
        sort: Sort,
        *,
        of_amount: bool = False,
    ) -> Series:
        width = bucket_hours(self.window)
        first, last = (bucket_of(at, width) for at in (self.window.since, self.window.until))
        values = [0] * (last - first + 1)
        for one in self.facts.tallies:
            if sort(one):
                values[one.bucket - first] += one.amount if of_amount else one.entries
        return Series(
            of=of,
            label=label,
            unit=unit,
            how=HOW[how],
            window=self.window,
            starts_at=starts_at(first, width),
            bucket_seconds=width * 3600,
            values=tuple(values),
        )


def covered(them: list[Tally]) -> tuple[CoverageState, str]:
    """Whether a connector could be looked through, and the reason, in words without numbers."""
    ended = {one.result for one in them if one.kind == "pull.ended"}
    refused = {one.reason for one in them if one.kind == "pull.decided" and one.reason}
    if "SUCCEEDED" in ended:
        if ended - {"SUCCEEDED"}:
            return CoverageState.PARTIAL, "pulls succeeded, and pulls failed"
        if refused & (_REFUSED_BY_ORDER | _REFUSED_FOR_LACK):
            return CoverageState.PARTIAL, "pulls succeeded, and pulls were refused"
        return CoverageState.AVAILABLE, "pulls succeeded, and none failed"
    if any(is_scheduled(one) for one in them):
        if ended:
            return CoverageState.MISSING, "pulls were made, and none succeeded"
        return CoverageState.MISSING, "pulls were scheduled, and none has ended"
    if refused and refused <= _REFUSED_BY_ORDER | {PullReason.DUPLICATE}:
        if PullReason.KILL_SWITCH in refused:
            return CoverageState.NOT_PERMITTED, "a kill switch was on"
        return CoverageState.NOT_PERMITTED, "the tenant has no pull budget"
    if refused:
        return CoverageState.MISSING, "pulls were asked for, and all were refused"
    return CoverageState.MISSING, "no pull was asked for"


def _topic(namespace: str, topic: str) -> str:
    return f"{namespace}/{topic}"
