"""What a replay found for one tenant: flips, runs, and how long signals waited for theirs."""

from __future__ import annotations

from collections import Counter

from watchkeeper.core.replay_gate import ALLOWED, Answer
from watchkeeper.core.replay_observer import Data, Waiting
from watchkeeper.core.time import DAY, HOUR

SIGNAL = "SIGNAL_ARRIVED"
FORGOTTEN_AFTER_US = 2 * DAY
"""The retry of a deferral, here and in the record, come within this time or are not matched."""

HELD_MAX = 50_000

ADDED, SAVED, OTHER = "runs now", "runs no longer", "refused for another reason"
"""What a flip did to runs."""

_DEFERS = frozenset({"COOLDOWN", "ACCOUNT_HOURLY_CAP", "TENANT_HOURLY_CAP"})
_NO_EVENTS = frozenset({"UNKNOWN_TRIGGER_TYPE", "DUPLICATE_IDEMPOTENCY_KEY"})


def label(code: str) -> str:
    """An answer as people read it: ALLOW, DEFER COOLDOWN, SKIP DEBOUNCED …"""
    if code == "ALLOW":
        return code
    return f"{'DEFER' if code in _DEFERS else 'SKIP'} {code}"


class Waits:
    """What those of an account's signals that had a run waited for it."""

    __slots__ = ("heard", "heard_sum", "ran", "waited_us")

    def __init__(self) -> None:
        self.heard = 0  # of its signals up to its last run, and the sum of their moments
        self.heard_sum = 0
        self.ran = 0
        self.waited_us = 0

    def run(self, heard: int, heard_sum: int, at: int) -> None:
        """A run has come, for all signals since the last."""
        count = heard - self.heard
        if count:
            self.ran += count
            self.waited_us += count * at - (heard_sum - self.heard_sum)
            self.heard, self.heard_sum = heard, heard_sum


class AccountTally:
    """One account that has left its record, from the entry at which it did."""

    __slots__ = (
        "after",
        "before",
        "decision_id",
        "first_at",
        "flips",
        "heard",
        "heard_sum",
        "runs",
        "seq",
    )

    def __init__(self, seq: int, decision_id: str, first_at: int) -> None:
        self.seq = seq
        self.decision_id = decision_id
        self.first_at = first_at
        self.flips = 0
        self.runs = 0  # more than recorded, or fewer
        self.heard = 0  # its signals, and the sum of their moments
        self.heard_sum = 0
        self.before = Waits()
        self.after = Waits()

    def missed(self, change: Change, at: int) -> None:
        """A signal that was no event: before, or after, or both times."""
        for waits, is_heard in ((self.before, change.was_heard), (self.after, change.heard)):
            if not is_heard:
                waits.heard += 1
                waits.heard_sum += at


class Change:
    """What a verdict was and what it would be: how often, and all that follows from the two."""

    __slots__ = (
        "count",
        "heard",
        "hours",
        "is_flip",
        "is_heard",
        "ran",
        "runs",
        "was_heard",
        "was_ran",
    )

    def __init__(self, was: str, now: str) -> None:
        self.count = 0
        self.hours: dict[int, int] = {}  # of flips
        self.is_flip = was != now
        self.was_ran, self.ran = was == "ALLOW", now == "ALLOW"
        self.runs = self.ran - self.was_ran
        self.was_heard, self.heard = was not in _NO_EVENTS, now not in _NO_EVENTS
        self.is_heard = self.was_heard and self.heard

    def turned(self, at: int) -> None:
        """A flip at this moment."""
        hour = at // HOUR
        self.hours[hour] = self.hours.get(hour, 0) + 1

    @property
    def what(self) -> str:
        return ADDED if self.runs > 0 else SAVED if self.runs < 0 else OTHER


class Tally:
    """Gathers what a replay tells. Grows with the accounts that differ, not with the events.

    Most of it is one number for each pair of verdicts; the sums are made of these at the end.
    """

    def __init__(self) -> None:
        self.retimed = 0  # deferrals that stay deferrals, to another moment
        self.accounts: dict[str, AccountTally] = {}
        self.dropped: list[str] = []  # runs of the record that are none now; whoever asks empties
        self._agreed = (0, 0)
        self._pairs: dict[tuple[str, str], Change] = {}
        self._turned: dict[tuple[str, str], Change] = {}  # retries that went otherwise
        self._passed = 0  # recorded retries that were passed over, and
        self._passed_runs = 0  # those of them that ran
        self._retried_runs = 0
        self._ran_before: dict[str, tuple[int, str]] = {}
        self._ran_after: dict[str, int] = {}
        self._retries: dict[tuple[str, bool], tuple[int, bool, str]] = {}
        self._forget_at = HELD_MAX

    @property
    def events(self) -> int:
        return self._agreed[0] + self._passed + sum(c.count for c in self._pairs.values())

    @property
    def changes(self) -> dict[tuple[str, str], int]:
        """Verdicts that would have been others: what they were and would be, and how many."""
        found = Counter({pair: c.count for pair, c in self._pairs.items() if c.is_flip})
        found.update({pair: c.count for pair, c in self._turned.items()})
        return dict(found)

    @property
    def hours(self) -> dict[tuple[int, str], int]:
        """The same by the hour of the flip, and what it did to runs."""
        found: Counter[tuple[int, str]] = Counter()
        for change in (*self._pairs.values(), *self._turned.values()):
            found.update({(hour, change.what): count for hour, count in change.hours.items()})
        return dict(found)

    @property
    def flips(self) -> int:
        return sum(self.changes.values())

    @property
    def runs_before(self) -> int:
        ran = sum(c.count for c in self._pairs.values() if c.was_ran)
        return self._agreed[1] + self._passed_runs + ran

    @property
    def runs_after(self) -> int:
        ran = sum(c.count for c in self._pairs.values() if c.ran)
        return self._agreed[1] + self._retried_runs + ran

    def compared(
        self, seq: int, decision_id: str, at: int, event: Data, was: Answer, now: Answer
    ) -> None:
        pair = was[0], now[0]
        change = self._pairs.get(pair)
        if change is None:
            change = self._pairs[pair] = Change(*pair)
        change.count += 1
        account = self.accounts.get(event["account_id"])
        if account is None:
            account = AccountTally(seq, decision_id, at)
            self.accounts[event["account_id"]] = account
        if change.is_flip:
            change.turned(at)
            account.flips += 1
            if change.runs:
                self._other_run(account, change.runs, decision_id)
        elif was is not now and was != now:
            self.retimed += 1
        if event["trigger_type"] == SIGNAL and "retry_of" not in event:
            account.heard += 1
            account.heard_sum += at
            if not change.is_heard:
                account.missed(change, at)
        if change.was_ran:
            account.before.run(account.heard, account.heard_sum, at)
        if change.ran:
            account.after.run(account.heard, account.heard_sum, at)

    def _other_run(self, account: AccountTally, runs: int, decision_id: str) -> None:
        account.runs += runs
        if runs < 0:
            self.dropped.append(decision_id)

    def passed_over(self, decision_id: str, at: int, event: Data, was: Answer) -> None:
        deferral = event["retry_of"]
        self._passed += 1
        self._match((deferral, "moved" in event), at, True, was[0])
        if was is not ALLOWED:
            return
        self._passed_runs += 1
        account = self.accounts[event["account_id"]]
        account.runs -= 1
        account.before.run(account.heard, account.heard_sum, at)
        if self._ran_after.pop(deferral, None) is None:
            self._ran_before[deferral] = (at, decision_id)
            self._forget(at)

    def retried(self, waiting: Waiting, answer: Answer) -> None:
        due_at, _, account_id, _, deferral, moved, _ = waiting
        self._match((deferral, moved), due_at, False, answer[0])
        if answer is not ALLOWED:
            return
        self._retried_runs += 1
        account = self.accounts[account_id]
        account.runs += 1
        account.after.run(account.heard, account.heard_sum, due_at)
        if self._ran_before.pop(deferral, None) is None:
            self._ran_after[deferral] = due_at

    def finish(self, agreed: int, agreed_runs: int) -> None:
        """Nothing more comes: what was not matched by now is not. The others agreed."""
        self._agreed = (agreed, agreed_runs)
        self.dropped += [decision_id for _, decision_id in self._ran_before.values()]
        self._ran_before, self._ran_after, self._retries = {}, {}, {}

    def _match(self, of: tuple[str, bool], at: int, is_recorded: bool, code: str) -> None:
        """The same retry in the record and here: one that went otherwise is a flip."""
        other = self._retries.pop(of, None)
        if other is None or other[1] is is_recorded:
            self._retries[of] = (at, is_recorded, code)
        elif other[2] != code:
            pair = (code, other[2]) if is_recorded else (other[2], code)
            change = self._turned.setdefault(pair, Change(*pair))
            change.count += 1
            change.turned(at)

    def _forget(self, at: int) -> None:
        """What is this old is matched by nothing any more. Looked for now and then."""
        if len(self._ran_before) + len(self._ran_after) + len(self._retries) < self._forget_at:
            return
        old = at - FORGOTTEN_AFTER_US
        gone = [one for seen_at, one in self._ran_before.values() if seen_at <= old]
        self.dropped += gone
        self._ran_before = {of: one for of, one in self._ran_before.items() if one[0] > old}
        self._ran_after = {of: seen_at for of, seen_at in self._ran_after.items() if seen_at > old}
        self._retries = {of: one for of, one in self._retries.items() if one[0] > old}
        kept = len(self._ran_before) + len(self._ran_after) + len(self._retries)
        self._forget_at = max(HELD_MAX, 2 * kept)
