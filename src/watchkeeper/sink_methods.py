"""The part of the door for Python programs that is about sinks."""

from __future__ import annotations

import logging

from watchkeeper import inputs
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.rotate_secrets import Rotated, rotate_secrets
from watchkeeper.actions.set_sink import NewSink, SinkSet, Terms, remove_sink, set_sink
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.sinks import SinkKind
from watchkeeper.handlers.registry import Registry
from watchkeeper.input_types import SinkKindName
from watchkeeper.store.database import Database

AUTHOR = "python"

_log = logging.getLogger("watchkeeper.sinks")


class SinkMethods:
    """What `App` can do with sinks."""

    db: Database
    admission: Admission
    registry: Registry
    usage_namespace: str

    def sink(
        self,
        name: str,
        *,
        topic: str,
        url: str,
        kind: SinkKindName = "webhook",
        secret: str | None = None,
        tenant_id: str | None = None,
        namespace: str | None = None,
    ) -> SinkSet:
        """Deliver a topic to a URL, for one tenant or for all, instead of to a handler.

        A secret that was not given is made, and is in this answer only. `warning` names the topic
        of Watchkeeper that a mistyped one is near to; topics of your own are taken.
        """
        given = {
            "tenant_id": tenant_id,
            "topic": topic,
            "url": url,
            "kind": kind,
            "secret": secret,
            "namespace": namespace,
        }
        new = inputs.parse(inputs.SinkIn, given)
        owner = SYSTEM if new.tenant_id is None else TenantId(new.tenant_id)
        called = inputs.parse_sink_name(name)
        asked = NewSink(new.topic, new.url, SinkKind(new.kind), new.namespace, new.secret)
        done = set_sink(self.db, owner, called, asked, self._terms(), makes_tenant=True)
        if done.warning is not None:
            _log.warning("sink %s: %s", name, done.warning)
        return done

    def remove_sink(self, name: str, *, tenant_id: str | None = None) -> None:
        """Remove a sink. Its messages go to another sink or handler of the topic, or wait."""
        owner = SYSTEM if tenant_id is None else TenantId(inputs.parse_tenant_id(tenant_id))
        remove_sink(self.db, owner, inputs.parse_sink_name(name), self._terms())

    def rotate_secrets(self) -> Rotated:
        """Encrypt every stored secret with the newest key of `secrets_key`."""
        return rotate_secrets(self.db)

    def _terms(self) -> Terms:
        return Terms(AUTHOR, self.registry.reach, self.usage_namespace)
