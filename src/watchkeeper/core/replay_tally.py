"""What a replay found for one tenant: flips, runs, and how long signals waited for theirs."""

from __future__ import annotations

from collections import Counter

from watchkeeper.core.replay import Data, Waiting
from watchkeeper.core.replay_gate import Answer
from watchkeeper.core.time import DAY, Instant, hour_of

SIGNAL = "SIGNAL_ARRIVED"
FORGOTTEN_AFTER_US = 2 * DAY
"""The retry of a deferral, here and in the record, come within this time or are not matched."""

HELD_MAX = 50_000

ADDED, SAVED, OTHER = "runs now", "runs no longer", "refused for another reason"
"""What a flip did."""

_DEFERS = frozenset({"COOLDOWN", "ACCOUNT_HOURLY_CAP", "TENANT_HOURLY_CAP"})
_NO_EVENTS = frozenset({"UNKNOWN_TRIGGER_TYPE", "DUPLICATE_IDEMPOTENCY_KEY"})


def label(code: str) -> str:
    """An answer as people read it: ALLOW, DEFER COOLDOWN, SKIP DEBOUNCED …"""
    if code == "ALLOW":
        return code
    return f"{'DEFER' if code in _DEFERS else 'SKIP'} {code}"


class Waits:
    """Signals since the account's last run, and what those that had one waited for it."""

    __slots__ = ("open", "open_sum", "ran", "waited_us")

    def __init__(self) -> None:
        self.open = 0
        self.open_sum = 0
        self.ran = 0
        self.waited_us = 0

    def run(self, at: int) -> None:
        """Its run has come, for all that are open."""
        self.ran += self.open
        self.waited_us += self.open * at - self.open_sum
        self.open = self.open_sum = 0


class AccountTally:
    """One account that has left its record, from the entry at which it did."""

    __slots__ = ("after", "before", "decision_id", "first_at", "flips", "runs", "seq")

    def __init__(self, seq: int, decision_id: str, first_at: int) -> None:
        self.seq = seq
        self.decision_id = decision_id
        self.first_at = first_at
        self.flips = 0
        self.runs = 0  # more than recorded, or fewer
        self.before = Waits()
        self.after = Waits()


class Tally:
    """Gathers what a replay tells. Grows with the accounts that differ, not with the events."""

    def __init__(self) -> None:
        self.events = 0
        self.flips = 0
        self.retimed = 0  # deferrals that stay deferrals, to another moment
        self.runs_before = 0
        self.runs_after = 0
        self.changes: Counter[tuple[str, str]] = Counter()
        self.hours: Counter[tuple[int, str]] = Counter()  # hour of the flip, and what it did
        self.accounts: dict[str, AccountTally] = {}
        self.dropped: list[
            str
        ] = []  # runs of the record that are none now; whoever asks empties it
        self._ran_before: dict[str, tuple[int, str]] = {}
        self._ran_after: dict[str, int] = {}
        self._retries: dict[tuple[str, bool], tuple[int, bool, str]] = {}
        self._forget_at = HELD_MAX

    def compared(self, seq: int, decision_id: str, data: Data, was: Answer, now: Answer) -> None:
        self.events += 1
        if was[0] == "ALLOW":
            self.runs_before += 1
        if now[0] == "ALLOW":
            self.runs_after += 1
        if was == now and not self.accounts:
            return
        account_id = data["event"]["account_id"]
        account = self.accounts.get(account_id)
        if account is None:
            if was == now:
                return
            account = self.accounts[account_id] = AccountTally(seq, decision_id, data["now"])
        self._differ(account, decision_id, data, was, now)

    def passed_over(self, decision_id: str, data: Data, was: Answer) -> None:
        self.events += 1
        event, at = data["event"], data["now"]
        self._match((event["retry_of"], event.get("moved", False)), at, True, was[0])
        if was[0] != "ALLOW":
            return
        account = self.accounts[event["account_id"]]
        self.runs_before += 1
        account.runs -= 1
        account.before.run(at)
        if self._ran_after.pop(event["retry_of"], None) is None:
            self._ran_before[event["retry_of"]] = (at, decision_id)
            self._forget(at)

    def retried(self, waiting: Waiting, answer: Answer) -> None:
        self._match((waiting.deferral, waiting.moved), waiting.due_at, False, answer[0])
        if answer[0] != "ALLOW":
            return
        account = self.accounts[waiting.account_id]
        self.runs_after += 1
        account.runs += 1
        account.after.run(waiting.due_at)
        if self._ran_before.pop(waiting.deferral, None) is None:
            self._ran_after[waiting.deferral] = waiting.due_at

    def finish(self) -> None:
        """Nothing more comes: what was not matched by now is not."""
        self.dropped += [decision_id for _, decision_id in self._ran_before.values()]
        self._ran_before, self._ran_after, self._retries = {}, {}, {}

    def _differ(
        self, account: AccountTally, decision_id: str, data: Data, was: Answer, now: Answer
    ) -> None:
        at, event, before, after = data["now"], data["event"], account.before, account.after
        if was != now:
            self._count(account, decision_id, at, was[0], now[0])
        if event["trigger_type"] == SIGNAL and "retry_of" not in event:
            if was[0] not in _NO_EVENTS:
                before.open += 1
                before.open_sum += at
            if now[0] not in _NO_EVENTS:
                after.open += 1
                after.open_sum += at
        if was[0] == "ALLOW" and before.open:
            before.run(at)
        if now[0] == "ALLOW" and after.open:
            after.run(at)

    def _count(self, account: AccountTally, decision_id: str, at: int, was: str, now: str) -> None:
        if was == now:
            self.retimed += 1
            return
        self._flip(at, was, now)
        account.flips += 1
        account.runs += (now == "ALLOW") - (was == "ALLOW")
        if was == "ALLOW":
            self.dropped.append(decision_id)

    def _flip(self, at: int, was: str, now: str) -> None:
        self.flips += 1
        self.changes[was, now] += 1
        what = ADDED if now == "ALLOW" else SAVED if was == "ALLOW" else OTHER
        self.hours[hour_of(Instant(at)), what] += 1

    def _match(self, of: tuple[str, bool], at: int, is_recorded: bool, code: str) -> None:
        """The same retry in the record and here: one that went otherwise is a flip."""
        other = self._retries.pop(of, None)
        if other is None or other[1] == is_recorded:
            self._retries[of] = (at, is_recorded, code)
            return
        was, now = (code, other[2]) if is_recorded else (other[2], code)
        if was != now:
            self._flip(at, was, now)

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
