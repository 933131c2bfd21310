"""A sink is set, removed or looked at. Its secret is shown once, to whoever had it made.

Every change is in the ledger, without the secret and without what a URL may hide. What
waited because nobody took it is due as soon as a sink does.
"""

from __future__ import annotations

import hmac
import logging
from dataclasses import dataclass, field, replace

from watchkeeper.actions.first_use import begun
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.sinks import (
    ROTATION_US,
    Reach,
    SinkKind,
    is_private_ok,
    namespace_for,
    refusal,
    shown_url,
    warning,
)
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import NAMESPACE as USAGE_NAMESPACE
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from watchkeeper.handlers.address_guard import check_url
from watchkeeper.handlers.secrets import check_secret, make_secret
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox_park, sinks, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.keyring import MARK, SETTING, Keyring, key_id_of, locked
from watchkeeper.store.sinks import SINKS_MAX, Sink
from watchkeeper.store.transaction import Tx

FREED_ROUNDS_MAX = 1_000

_log = logging.getLogger("watchkeeper.sinks")


@dataclass(frozen=True, slots=True)
class NewSink:
    """What a person says of a sink. Without a namespace it is the topic's usual one."""

    topic: str
    url: str = field(repr=False)
    kind: SinkKind = SinkKind.WEBHOOK
    namespace: str | None = None
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SinkSet:
    """A sink as it stands now, and its secret if it was made just now."""

    sink: Sink
    secret: str | None = field(default=None, repr=False)
    warning: str | None = None  # the topic is near to one of ours, and none of ours


@dataclass(frozen=True, slots=True)
class Terms:
    """On whose behalf a sink is changed, and what is allowed here."""

    by: str
    reach: Reach = Reach.PUBLIC
    usage_namespace: str = USAGE_NAMESPACE
    is_tenant: bool = False  # a tenant itself: what it costs is not for it to redirect

    def check(self, topic: str) -> None:
        if self.is_tenant and topic == USAGE_SNAPSHOT:
            raise Forbidden(f"only a key for all tenants may redirect {USAGE_SNAPSHOT}")


def set_sink(
    db: Database,
    tenant_id: TenantId,
    name: str,
    new: NewSink,
    terms: Terms,
    *,
    makes_tenant: bool = False,
) -> SinkSet:
    """Put it in force. One that was there keeps its secret, or lets it sign on for a day.

    Raises Conflict where a secret that is kept cannot be decrypted here, and where a secret would
    be stored in plain text beside encrypted ones.
    """
    terms.check(new.topic)
    namespace = _checked(new, terms)
    fresh = _secret(new)
    needed = None if db.keyring.key_ids else _key_in_use(db)
    if not db.keyring.key_ids and needed is None and fresh:
        _log.warning("the secret of sink %s is stored in plain text: set %s", name, SETTING)

    def deed() -> SinkSet:
        with begun(db, tenant_id, makes_tenant=makes_tenant) as tx:
            if tenant_id == SYSTEM:
                tenants.create(tx, name=None, tier=None, installed_at=None)
            tenant = tenants.lock(tx)
            old = sinks.get(tx, name)
            if old is not None:
                terms.check(old.topic)
            _refuse_second(tx, namespace, new.topic, name)
            known = None if old is None else _opened(db.keyring, old, new)
            secret, old_secret, until_at = _secrets(tx.now, known, new, fresh)
            if secret and needed is not None:
                raise _plain_beside(needed)
            sink = Sink(
                tenant_id=tenant_id,
                name=name,
                namespace=namespace,
                topic=new.topic,
                kind=new.kind,
                url=new.url,
                secret=secret,
                old_secret=old_secret,
                old_secret_until_at=until_at,
                set_by=terms.by,
                created_at=tx.now if old is None else old.created_at,
                updated_at=tx.now,
            )
            sinks.put(tx, sealed(db.keyring, sink))
            ledger.append_and_save(tx, tenant, [_entry(tx, sink, Kind.SINK_SET, terms.by)])
            is_made = new.secret is None and new.kind is SinkKind.WEBHOOK and secret is fresh
            return SinkSet(sink, fresh if is_made else None, warning(new.topic))

    done = db.retrying(deed)
    db.sinks.forget()
    _free(db, done.sink)
    return done


def remove_sink(db: Database, tenant_id: TenantId, name: str, terms: Terms) -> None:
    """From here on its messages go wherever else there is for them."""

    def deed() -> None:
        with db.begin(tenant_id) as tx:
            if sinks.get(tx, name) is None:
                raise _missing(name)
            tenant = tenants.lock(tx)
            old = sinks.get(tx, name)
            if old is None:  # somebody else was faster
                raise _missing(name)
            terms.check(old.topic)
            sinks.delete(tx, name)
            ledger.append_and_save(tx, tenant, [_entry(tx, old, Kind.SINK_REMOVED, terms.by)])

    db.retrying(deed)
    db.sinks.forget()
    db.tell()


def show_sink(db: Database, tenant_id: TenantId, name: str) -> Sink:
    with db.read(tenant_id) as tx:
        found = sinks.get(tx, name)
    if found is None:
        raise _missing(name)
    return found


def list_sinks(
    db: Database, tenant_id: TenantId | None, after: tuple[str, str], limit: int
) -> list[Sink]:
    """A tenant's sinks; without one everybody's, those for all tenants among them."""
    if tenant_id is None:
        with db.read_system() as read:
            return sinks.page_of_all(read, after, limit)
    with db.read(tenant_id) as tx:
        return sinks.page(tx, after[1], limit)


def owner_of_sink(db: Database, name: str) -> TenantId:
    """Whose sink of this name is meant if nobody says so: the one for all, else the only one."""
    with db.read_system() as tx:
        owners = sinks.owners(tx, name)
    if SYSTEM in owners:
        return SYSTEM
    if not owners:
        raise _missing(name)
    if len(owners) > 1:
        raise Invalid.at("tenant_id", "is required: several tenants have a sink of this name")
    return owners[0]


def _checked(new: NewSink, terms: Terms) -> str:
    """The namespace of the topic, once everything about it may be."""
    namespace = namespace_for(new.topic, new.namespace, terms.usage_namespace)
    why = refusal(namespace, new.topic)
    if why is not None:
        raise Invalid.at("topic", why)
    private_ok = is_private_ok(terms.reach, new.url)
    check_url(new.url, kind=new.kind.value, allow_http=False, private_ok=private_ok)
    return namespace


def _secret(new: NewSink) -> str:
    """The secret that was given, or a new one. A NATS server knows of none by itself."""
    if new.secret is not None and new.secret.startswith(MARK):
        raise Invalid.at("secret", f"must not begin with {MARK}")
    if new.kind is SinkKind.NATS:
        return new.secret or ""
    return make_secret() if new.secret is None else check_secret(new.secret)


def _secrets(
    now: Instant, old: Sink | None, new: NewSink, fresh: str
) -> tuple[str, str | None, Instant | None]:
    """The secret that signs, the one that signs beside it, and until when."""
    if old is None or old.kind is not new.kind:
        return fresh, None, None
    if new.secret is None or hmac.compare_digest(old.secret.encode(), fresh.encode()):
        if old.old_secret_until_at is not None and now < old.old_secret_until_at:
            return old.secret, old.old_secret, old.old_secret_until_at
        return old.secret, None, None
    return fresh, old.secret, Instant(now + ROTATION_US)


def sealed(keyring: Keyring, sink: Sink) -> Sink:
    """The sink as it is stored."""
    old = sink.old_secret
    return replace(
        sink,
        secret=keyring.seal(sink.secret, sink.owner),
        old_secret=None if old is None else keyring.seal(old, sink.owner),
    )


def opened(keyring: Keyring, sink: Sink) -> Sink:
    """The sink with its secrets decrypted."""
    old = sink.old_secret
    return replace(
        sink,
        secret=keyring.open(sink.secret, sink.owner),
        old_secret=None if old is None else keyring.open(old, sink.owner),
    )


def _opened(keyring: Keyring, sink: Sink, new: NewSink) -> Sink | None:
    """The sink with its secrets decrypted; None where they are lost and a given one follows."""
    try:
        return opened(keyring, sink)
    except Unavailable as error:
        if new.secret is None:
            told = f"{error}. Give a secret, or set {SETTING} to the keys of the other processes"
            raise Conflict(told, name=sink.name) from None
        _log.warning("%s", error)
        return None


def _key_in_use(db: Database) -> str | None:
    """A key that stored secrets are encrypted with, if there is one."""
    with db.read_system() as tx:
        stored = sinks.encrypted(tx)
    return None if stored is None else key_id_of(stored)


def _plain_beside(key_id: str) -> Conflict:
    return Conflict(
        f"{SETTING} is not set here, and stored secrets are encrypted with key {key_id}: set it,"
        " so that this secret is not stored in plain text"
    )


def _refuse_second(tx: Tx, namespace: str, topic: str, name: str) -> None:
    other = sinks.of_topic(tx, namespace, topic)
    if other is not None and other.name != name:
        raise Conflict(f"the topic {topic} has a sink already: {other.name}", name=other.name)
    if other is None and sinks.count(tx) >= SINKS_MAX:
        raise Conflict(f"there are {SINKS_MAX} sinks already: remove one first")


def _free(db: Database, sink: Sink) -> None:
    """Make due what waited for it. The sink is set: if this fails, a minute does it."""
    whose = None if sink.tenant_id == SYSTEM else sink.tenant_id
    try:
        for _ in range(FREED_ROUNDS_MAX):
            with db.begin_system() if whose is None else db.begin(whose) as tx:
                tx.has_news = True  # workers elsewhere read the sinks again
                freed = outbox_park.free(tx, whose, sink.namespace, sink.topic, locked(sink.owner))
            if freed < outbox_park.FREED_MAX:
                return
    except Exception:
        _log.exception("what waited for the sink %s will go out within a minute", sink.name)


def _entry(tx: Tx, sink: Sink, kind: Kind, by: str) -> Entry:
    data = {
        "by": by,
        "kind": sink.kind,
        "namespace": sink.namespace,
        "old_secret_until_at": sink.old_secret_until_at,
        "topic": sink.topic,
        "url": shown_url(sink.url),
    }
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.SETTLE,
        kind=kind,
        subject=sink.name,
        data=dumps(data),
    )


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no sink {name}", name=name)
