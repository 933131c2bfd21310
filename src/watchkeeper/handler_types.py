"""The functions that a program brings: what each is called with, and what it may return.

Each may be sync or async. A type checker refuses a handler that takes or returns anything else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from watchkeeper.act_results import Action, Asked, Outcome, Proposal
from watchkeeper.results import Decision, Pull, PullResult, Run
from watchkeeper.store.leases import Message

Found: TypeAlias = PullResult | Iterable[Mapping[str, Any]] | None
Suggestion: TypeAlias = Proposal | Mapping[str, Any]

DecisionHandler: TypeAlias = Callable[[Run], Decision | Awaitable[Decision | None] | None]
ConnectorHandler: TypeAlias = Callable[[Pull], Found | Awaitable[Found]]
ActionHandler: TypeAlias = Callable[[Action], Outcome | Awaitable[Outcome]]
ProposerHandler: TypeAlias = Callable[[Asked], Suggestion | Awaitable[Suggestion]]
ObjectiveHandler: TypeAlias = Callable[[Mapping[str, Any]], bool]
UsageHandler: TypeAlias = Callable[[dict[str, Any]], object]
TopicHandler: TypeAlias = Callable[[Message], object]

DecisionT = TypeVar("DecisionT", bound=DecisionHandler)
ConnectorT = TypeVar("ConnectorT", bound=ConnectorHandler)
ActionT = TypeVar("ActionT", bound=ActionHandler)
ProposerT = TypeVar("ProposerT", bound=ProposerHandler)
ObjectiveT = TypeVar("ObjectiveT", bound=ObjectiveHandler)
UsageT = TypeVar("UsageT", bound=UsageHandler)
TopicT = TypeVar("TopicT", bound=TopicHandler)
