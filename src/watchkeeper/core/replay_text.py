"""Replay from the texts of the ledger: no more of one is decoded than is asked for.

The text of an entry is canonical: compact, its keys in order. Of an account that has left
its record only the event, its moment and the verdict are of interest. These stand at
both ends; what is between them (policy, state, tenant) is most of the text. A comma and
a name in plain quotes cannot stand within a value: there the quotes would be escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.core.admission import ENGINE
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.replay import TenantReplay
from watchkeeper.core.replay_gate import Answer, recorded_answer
from watchkeeper.core.replay_observer import Data, Observer

_BEGIN = f'{{"engine":{ENGINE},"event":{{"account_id":"'
_NAME = len(_BEGIN)
_VERDICT = ',"verdict":'


class TextReplay(TenantReplay):
    """One tenant's events, as the texts that were recorded."""

    def __init__(
        self,
        rules_of: Callable[[int, str, str | None], tuple[TenantRules, TenantRules]],
        switched: Callable[[int, str], str | None],
        observer: Observer,
        *,
        loads: Callable[[str], Any],
    ) -> None:
        super().__init__(rules_of, switched, observer)
        self._loads = loads
        self._ruled = ""  # how the policy that ruled is written, and
        self._tiered = ""  # how the tier is, with what follows
        self._known: dict[str, Answer] = {}  # by how a verdict is written

    def feed_text(self, seq: int, decision_id: str, text: str) -> None:
        """The next entry of the tenant's ledger that is a verdict."""
        left = self.left
        if left and text[_NAME : text.find('"', _NAME)] in left and text.startswith(_BEGIN):
            cut, end = text.find(self._ruled), text.rfind(self._tiered)
            if cut > 0 and end > 0 and self._feed_short(seq, decision_id, text, cut, end):
                return
        data = self._loads(text)
        self.feed(seq, decision_id, data)
        if data["policy"] is self._policy:  # another ruled, from this entry on
            self._read_rule(text)

    def _feed_short(self, seq: int, decision_id: str, text: str, cut: int, end: int) -> bool:
        """Judge by both ends of the text; whether that was enough."""
        data: Data = self._loads(text[:cut] + "}")
        event = data["event"]
        state, trigger_type = self.left.get(event["account_id"]), event["trigger_type"]
        if state is None or self._early or trigger_type not in state.triggers:
            return False
        if trigger_type not in self._hours_met:
            return False
        now = data["now"]
        if self.waiting and self.waiting[0][0] <= now:
            self.let_pass(now)
        self.now = now
        said = text[end:]
        was = self._known.get(said) or self._read_verdict(said)
        if "retry_of" in event:
            self._observer.passed_over(decision_id, now, event, was)
        else:
            answer = self._apart(seq, decision_id, data, event, trigger_type, now, was, state)
            self._observer.compared(seq, decision_id, now, event, was, answer)
        return True

    def _read_verdict(self, said: str) -> Answer:
        raw = self._loads(said[said.index(_VERDICT) + len(_VERDICT) : -1])
        answer = recorded_answer(raw)
        if answer[1] is None and "duplicate_of" not in raw:  # of those there are not many
            self._known[said] = answer
        return answer

    def _read_rule(self, text: str) -> None:
        cut, end = text.find(',"policy":{'), text.rfind(_VERDICT)
        self._ruled = text[cut : text.index("}", cut) + 1]
        self._tiered = text[text.rindex(',"tier":', 0, end) : end + len(_VERDICT)]
        self._known = {}
