"""The part of the door for Python programs where they bring their own code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from pydantic import TypeAdapter

from watchkeeper import inputs, perceive_inputs
from watchkeeper.act_inputs import Name, decided_plans
from watchkeeper.actions.act_topics import register_actions
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.meter_runs import Metering
from watchkeeper.actions.perceive_topics import register_pulls
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.register_action import register_action
from watchkeeper.actions.run_decisions import Suggested
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.actions.topics import register_decision, register_usage_sink
from watchkeeper.core.approvals import Risk
from watchkeeper.errors import Invalid
from watchkeeper.handler_types import (
    ActionHandler,
    ActionT,
    ConnectorHandler,
    ConnectorT,
    DecisionT,
    ObjectiveT,
    ProposerHandler,
    ProposerT,
    TopicT,
    UsageT,
)
from watchkeeper.handlers.registry import OWN, Registry
from watchkeeper.input_types import RiskName
from watchkeeper.pull_signals import signals_of
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import Database
from watchkeeper.store.outbox import NAMESPACE

_ACTION: TypeAdapter[str] = TypeAdapter(Name)


class HandlerMethods:
    """How `App` is given handlers. What was brought can be brought to another app as well."""

    db: Database
    registry: Registry
    admission: Admission
    carrier: Plans
    usage_namespace: str

    def __init__(self) -> None:
        self.brought: list[Callable[[HandlerMethods], object]] = []
        self.actions: dict[str, ActionHandler] = {}
        self.proposers: dict[str, ProposerHandler] = {}
        self.connectors: dict[str, ConnectorHandler] = {}

    @overload
    def decision(self, handler: DecisionT) -> DecisionT: ...

    @overload
    def decision(
        self, *, model: str, estimated_input_tokens: int, max_output_tokens: int
    ) -> Callable[[DecisionT], DecisionT]: ...

    def decision(
        self,
        handler: DecisionT | None = None,
        *,
        model: str | None = None,
        estimated_input_tokens: int = 0,
        max_output_tokens: int = 0,
    ) -> Any:
        """Register the function, sync or async, that is called once for each ALLOW.

        With a model each run is metered as a turn: quota is reserved before the handler is
        called, and settled by the usage that it reports.
        """
        tokens = (
            inputs.parse_value(inputs.TOKENS, estimated_input_tokens, "estimated_input_tokens"),
            inputs.parse_value(inputs.TOKENS, max_output_tokens, "max_output_tokens"),
        )

        def register(handler: DecisionT) -> DecisionT:
            def bring(app: HandlerMethods) -> None:
                metering = Metering(model, *tokens, app.usage_namespace)
                suggested = Suggested(app.carrier, decided_plans)
                register_decision(app.registry, handler, metering, suggested)

            self._bring(bring)
            return handler

        return register if handler is None else register(handler)

    def connector(
        self,
        connector_id: str,
        *,
        rate_per_second: float | None = None,
        burst: int = 1,
        max_concurrency: int | None = None,
        shallow_units: int = 1,
        deep_units: int = 3,
        cadence: bool = True,
    ) -> Callable[[ConnectorT], ConnectorT]:
        """Register the function, sync or async, that pulls an account from another system.

        Every account is pulled with it by the cadence of its tier, unless `cadence` is False.
        Limits are those of the first registration, until somebody sets others.
        """
        name = perceive_inputs.parse_connector_id(connector_id)
        given = {
            "rate_per_second": rate_per_second,
            "burst": burst,
            "max_concurrency": max_concurrency,
            "depth_units": {"SHALLOW": shallow_units, "DEEP": deep_units},
        }
        limits = inputs.parse(perceive_inputs.ConnectorIn, given)
        milli = perceive_inputs.milli_of(limits.rate_per_second)
        units = (shallow_units, deep_units)
        known = Connector(name, milli, burst, max_concurrency, *units, cadence)

        def register(handler: ConnectorT) -> ConnectorT:
            def bring(app: HandlerMethods) -> None:
                register_connector(app.db, known)
                app.connectors[name] = handler
                register_pulls(app.registry, app.admission, app.connectors, signals_of)

            self._bring(bring)
            return handler

        return register

    def action(self, action_type: str, *, risk: RiskName = "high") -> Callable[[ActionT], ActionT]:
        """Register the function, sync or async, that carries out actions of a type.

        It is called once for each attempt, and answers with an Outcome; whatever it raises is a
        failure. An action of low risk may go without an approval, where the tenant lets it.
        """
        name = inputs.parse_value(_ACTION, action_type, "action_type")
        if risk.upper() not in Risk.__members__:
            raise Invalid.at("risk", "must be low, medium or high")

        def register(handler: ActionT) -> ActionT:
            def bring(app: HandlerMethods) -> None:
                register_action(app.db, name, Risk[risk.upper()])
                app.actions[name] = handler
                register_actions(app.registry, app.carrier, app.actions)

            self._bring(bring)
            return handler

        return register

    def proposer(self, plan_type: str | None = None) -> Callable[[ProposerT], ProposerT]:
        """Register the function, sync or async, that proposes plans, of one type or of any.

        This is the place for an LLM. What it suggests becomes a draft, and is never carried out
        before somebody approves it.
        """

        def register(handler: ProposerT) -> ProposerT:
            def bring(app: HandlerMethods) -> None:
                app.proposers[plan_type or ""] = handler

            self._bring(bring)
            return handler

        return register

    def objective(self, plan_type: str) -> Callable[[ObjectiveT], ObjectiveT]:
        """Register a predicate over a plan's facts: whether its objective is met.

        It is asked inside a transaction: it must be quick, and look at nothing but the facts.
        """

        def register(predicate: ObjectiveT) -> ObjectiveT:
            def bring(app: HandlerMethods) -> None:
                app.carrier.objectives[plan_type] = predicate

            self._bring(bring)
            return predicate

        return register

    def usage_sink(self, handler: UsageT) -> UsageT:
        """Register the function, sync or async, that brings each usage event to billing.

        An event is delivered until the function has returned once: apply it by its key.
        """
        self._bring(lambda app: register_usage_sink(app.registry, handler, app.usage_namespace))
        return handler

    def on(self, topic: str, *, namespace: str = NAMESPACE) -> Callable[[TopicT], TopicT]:
        """Register the function that delivers messages of a topic of yours."""

        def register(handler: TopicT) -> TopicT:
            self._bring(lambda app: app.registry.handle(topic, handler, namespace=namespace))
            return handler

        return register

    def handler_names(self) -> list[str]:
        """Registered handlers, as the log names them: `decision`, `connector crm`, `topic x`."""
        names = [f"connector {name}" for name in self.connectors]
        names += [f"action {name}" for name in self.actions]
        names += [f"proposer {name}".strip() for name in self.proposers]
        for topic in self.registry:
            if topic.kind not in (OWN, "connector", "action"):
                names.append(f"topic {topic.name}" if topic.kind == "topic" else topic.kind)
        return sorted(names)

    def _bring(self, bring: Callable[[HandlerMethods], object]) -> None:
        self.db.check_open()
        bring(self)
        self.brought.append(bring)
