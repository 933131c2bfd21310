"""How the product is set up, called and closed. Only this file and `carrier` know the product."""

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.events import DEBOUNCE_SECONDS, HELD_TRIGGER, PLAIN_TRIGGER, Event
from bench.turns_by_hand import Work
from watchkeeper import inputs
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.deliver_messages import exchange
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.actions.generate_report import count_ledger, generate_report
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.actions.set_pull_budget import set_pull_budget
from watchkeeper.actions.sweep_heat import sweep_slice
from watchkeeper.actions.tick_pulls import tick_pulls
from watchkeeper.actions.turns import Turns
from watchkeeper.core.ids import SYSTEM, DecisionId, TenantId
from watchkeeper.core.policy import Policy, delivery_for
from watchkeeper.core.policy_parse import parse_policy
from watchkeeper.core.pulls import Budget
from watchkeeper.core.quota import Asked as AskedTurn
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.core.turns import Ending, TurnState, Usage
from watchkeeper.handlers.registry import Registry
from watchkeeper.ids import new_id
from watchkeeper.moves import heat
from watchkeeper.moves.admission import Asked
from watchkeeper.store import migrations, outbox, policies, sweeps
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import Database, open_database
from watchkeeper.store.json import encode
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox import NAMESPACE, NewMessage
from watchkeeper.store.statement import same
from watchkeeper.workers import Workers

TENANT = TenantId("t1")
TOPIC = "bench.noop"

POLICY = f"""
[triggers.{PLAIN_TRIGGER}]
debounce_seconds = {DEBOUNCE_SECONDS}
cooldown_seconds = 0
max_per_account_per_hour = 1000000
max_per_tenant_per_hour = 1000000000

[triggers.{HELD_TRIGGER}]
debounce_seconds = 0
cooldown_seconds = 0
max_per_tenant_per_hour = 0

[delivery.topics."{TOPIC}"]
concurrency = 1000
"""

COPY_ACCOUNTS = "copy accounts (tenant_id, account_id, created_at, updated_at) from stdin"
INSERT_ACCOUNT = (
    "insert into accounts (tenant_id, account_id, created_at, updated_at) values (?, ?, ?, ?)"
)
# Ids as the product makes them, of the last six days: the time in milliseconds, then anything.
_ID = """(lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 510000000 + i * 50), 12, '0')
    || '7' || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid"""
_AT = "(extract(epoch from now()) * 1000000)::bigint - 1000000"
FILL_HISTORY = f"""insert into outbox_delivered (tenant_id, id, namespace, topic, payload, attempts,
        generation, next_attempt_at, created_at, done_at)
    select '{TENANT}', {_ID}, '{NAMESPACE}', '{TOPIC}', %(payload)s::json, 1, 0, {_AT}, {_AT}, {_AT}
    from generate_series(%(start)s::bigint, %(end)s::bigint) i"""
FILL_BACKLOG = f"""insert into outbox (tenant_id, id, namespace, topic, payload, next_attempt_at,
        is_due, created_at, updated_at)
    select '{TENANT}', {_ID}, '{NAMESPACE}', '{TOPIC}', %(payload)s::json, {_AT}, true, {_AT}, {_AT}
    from generate_series(%(start)s::bigint, %(end)s::bigint) i"""

FILL_ACCOUNTS = f"""insert into accounts (tenant_id, account_id, created_at, updated_at)
    select '{TENANT}', 'acct-' || lpad(i::text, 9, '0'), 0, 0
    from generate_series(1, %(count)s) i on conflict do nothing"""
FILL_HEATS = f"""insert into heats (tenant_id, account_id, posture, recent, tier, entered_at,
        below_warm_at, below_hot_at, computed_at, changes_at, heat_micro, posture_micro,
        recency_micro, volume_micro, policy_version, version, updated_at)
    select '{TENANT}', 'acct-' || lpad(i::text, 9, '0'), 'OK', '[]', 0, {_AT}, {_AT}, {_AT}, {_AT},
        {2**62}, 120000, 300000, 0, 0, 1, 1, {_AT} from generate_series(1, %(count)s) i"""
# A signal of an hour ago: recency falls a step, and the next change is hours away.
WARM_HEATS = f"""update heats set recent = '[' || {_AT} - 3600000000 || ']',
        computed_at = {_AT} - 3600000000, changes_at = {_AT}, version = version + 1
    where right(account_id, 9)::int %% %(one_in)s = 0"""
AS_TENANT = f"""select set_config('role', 'watchkeeper_app', false),
    set_config('app.tenant_id', '{TENANT}', false)"""
FETCH_HEATS = """select account_id, posture, recent, tier, entered_at, below_warm_at, below_hot_at,
        computed_at, changes_at, heat_micro, posture_micro, recency_micro, volume_micro,
        policy_version, version
    from heats where tenant_id = %s and account_id > %s order by account_id limit %s"""
FILL_PULLS = f"""insert into next_pulls (tenant_id, account_id, connector_id, tier, slot_at, due_at,
        overdue_at, pulled_at)
    select '{TENANT}', 'acct-' || lpad(i::text, 9, '0'), 'crm', i %% 3, {_AT} + i, {_AT} + i,
        {_AT} + 360000000000, null from generate_series(1, %(count)s) i"""

# A day of a busy tenant: mostly verdicts, some runs, pulls, turns; one statement for a part of it.
FILL_LEDGER = f"""insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject,
        policy_version, trigger_type, result, reason, data)
    select '{TENANT}', i, gen_random_uuid(), {_AT} - 86400000000 + i * 86400000000 / %(count)s,
        'decide', (array['verdict', 'run.ended', 'pull.decided', 'pull.ended', 'turn.settled'])[k],
        'acct-' || i %% 10000, 1, case when k = 1 then 'SIGNAL_ARRIVED' end,
        (array['ALLOW', 'SUCCEEDED', 'SCHEDULED', 'SUCCEEDED', 'completed'])[k],
        case when k = 1 and i %% 3 = 0 then 'COOLDOWN' end,
        (case when k < 3 then '{{"engine":1,"event":{{"account_id":"acct-' || i
            || '","idempotency_key":"key-' || i || '","signal_id":"signal-' || i
            || '"}},"now":1893456000000000,"policy":{{"hash":"'
            || repeat('0', 64) || '","version":1}},"verdict":{{"result":"ALLOW"}}}}'
        else '{{"connector_id":"crm-' || i %% 5 || '","units":3,"signals":2,"charged_micro":1500}}'
        end)::json
    from (select i, case when i %% 100 < 70 then 1 else 2 + i %% 4 end as k
        from generate_series(%(start)s::bigint, %(end)s) i) x"""
# The same questions asked of the entries themselves, as somebody would without counts.
SCAN_LEDGER = f"""select at / 3600000000, kind, result, reason,
        case when kind like 'pull.%%' then data ->> 'connector_id' end, count(*),
        sum(case when kind = 'turn.settled' then (data ->> 'charged_micro')::bigint
            when kind = 'pull.decided' then (data ->> 'units')::bigint end)
    from ledger where tenant_id = '{TENANT}' group by 1, 2, 3, 4, 5"""
LEDGER_INDEXES = ("ledger_subject", "ledger_correlation")

MIX = "select result, count(*) from ledger where kind = 'verdict' group by 1"


def migrate(url: str, login: str | None) -> None:
    migrations.migrate(url, grant_to=login)


def prepare(url: str) -> None:
    """A migrated database gets its tenant and the policy of the benchmark."""
    db = open_database(url)
    try:
        create_tenant(db, TENANT)
        with db.begin(SYSTEM) as tx:
            policy = parse_policy(POLICY, version=1)
            policies.add(tx, policy, author="bench", reason="the benchmark's triggers")
    finally:
        db.close()


class Looker:
    """The parts of the product that look: the sweep and the tick of one tenant."""

    def __init__(self, url: str, per_tick: int = 100) -> None:
        self.db: Database = open_database(url)
        with self.db.begin(SYSTEM) as tx:
            text = f"{POLICY}\n[pulls]\nper_tick_max = {per_tick}\n"
            version = policies.current_version(tx) + 1
            policy = parse_policy(text, version=version)
            policies.add(tx, policy, author="bench", reason="how much a tick takes")
        register_connector(self.db, Connector("crm", has_cadence=True))
        set_pull_budget(self.db, TENANT, Budget(10**12, {}), by="bench")
        with self.db.begin(TENANT) as tx:
            tx.run(same("update heats set policy_version = %s"), (version,))

    def sweep(self, size: int) -> Iterator[None]:
        """One whole round as its messages would have it, a slice with each step."""
        with self.db.begin(TENANT) as tx:
            heat.start_sweeping(tx, tx.now)
            begun = sweeps.get(tx)
        assert begun is not None
        now = begun
        while now.round_at == begun.round_at:
            payload = encode({"after": now.after_account, "round_at": now.round_at})
            sweep_slice(self.db, TENANT, payload, size)
            with self.db.read(TENANT) as tx:
                found = sweeps.get(tx)
            assert found is not None
            now = found
            yield

    def tick_for(self, seconds: float) -> float:
        """Pulls scheduled a second."""
        count, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            done = tick_pulls(self.db, TENANT)
            assert done, "there was nothing left to pull"
            count += len(done)
        return count / (time.perf_counter() - started)

    def close(self) -> None:
        self.db.close()


class Reporter:
    """The part of the product that counts a tenant's ledger and makes reports of it."""

    def __init__(self, url: str, entries: int) -> None:
        self.db: Database = open_database(url)
        with self.db.begin(TENANT) as tx:
            tx.run(
                same("update tenants set ledger_seq = %s where tenant_id = %s"), (entries, TENANT)
            )

    def install(self, minutes_later: int) -> None:
        """The tenant was installed with its first entry, or so much later."""
        with self.db.begin(TENANT) as tx:
            tx.run(
                same(
                    "update tenants set installed_at = %s + (select min(at) from ledger"
                    " where tenant_id = %s and seq < 1000) where tenant_id = %s"
                ),
                (minutes_later * 60_000_000, TENANT, TENANT),
            )

    def count(self) -> None:
        count_ledger(self.db, TENANT)

    def report(self) -> int:
        """How many entries it was counted in."""
        made = generate_report(self.db, TENANT, hears=lambda _tenant: False)
        assert made is not None
        return made.header.entries.value

    def close(self) -> None:
        self.db.close()


class Product:
    """The product on one database, as a process that embeds it would hold it."""

    def __init__(self, url: str) -> None:
        # On SQLite both sides use the write-ahead log; the product's own choice would be the
        # rollback journal with versions of SQLite in which the log is not safe.
        self.db: Database = open_database(url, journal="wal")
        self.admission = Admission(self.db)
        self.turns = Turns(self.db)

    @functools.cached_property
    def policy(self) -> Policy:
        with self.db.read(TENANT) as tx:
            return self.db.policies.current(tx)

    def admit(self, requests: Sequence[Mapping[str, object]]) -> None:
        """What every door does with a batch: check it, and admit it."""
        fire_triggers(self.admission, TENANT, inputs.parse_triggers(requests))

    def admit_alone(self, requests: Sequence[Mapping[str, object]]) -> None:
        """The same in a transaction that no other caller shares."""
        events = inputs.parse_triggers(requests)
        self.admission.admit_alone(TENANT, [Asked(DecisionId(new_id()), one) for one in events])

    def settle(self, works: Sequence[Work]) -> None:
        """Reserve and finalize: one turn as a caller does, several in a transaction each way."""
        if len(works) == 1:
            [work] = works
            self.turns.reserve(TENANT, _asked(work))
            usage = Usage(work.used_input, work.used_output)
            how = TurnState.COMPLETED
            self.turns.finalize(TENANT, work.turn_id, how, started=True, usage=usage)
            return
        self.turns.reserve_many(TENANT, [_asked(work) for work in works])
        self.turns.finalize_many(TENANT, [_ending(work) for work in works])

    def enqueue(self, payloads: Sequence[str]) -> None:
        """One transaction with a message for each payload."""
        with self.db.begin(TENANT) as tx:
            outbox.enqueue(tx, [NewMessage(TOPIC, payload) for payload in payloads])

    def claim(self, count: int) -> list[Message]:
        """What one step of a worker claims that has nothing to ack."""
        rule = delivery_for(self.policy, TOPIC)
        return exchange(self.db, [], [queue_for(NAMESPACE, TOPIC, rule, count)]).claimed

    def ack(self, messages: Sequence[Message]) -> None:
        assert exchange(self.db, messages, []).are_acked

    def enqueue_timed(self, payload: str) -> float:
        """One message; the moment just before its COMMIT was sent."""
        with self.db.begin(TENANT) as tx:
            outbox.enqueue(tx, [NewMessage(TOPIC, payload)])
            return time.monotonic()

    def workers(self, handler: Callable[[Message], object]) -> Workers:
        """One worker process's loops, delivering the benchmark's topic; not started yet."""
        policy = self.policy
        registry = Registry(lambda topic: delivery_for(policy, topic))
        registry.handle(TOPIC, handler)
        return Workers(self.db, registry)

    def seal(self) -> int:
        """What a worker does once a second."""
        return seal_ledger(self.db)

    def seal_rate(self) -> float:
        """Entries a second, with nothing else to do."""
        started = time.perf_counter()
        count = seal_ledger(self.db)
        return count / (time.perf_counter() - started)

    def close(self) -> None:
        self.db.close()


def as_requests(events: Sequence[Event]) -> list[dict[str, object]]:
    """Events as they arrive at a door, decoded from JSON."""
    return [
        {
            "account_id": event.account,
            "trigger_type": event.kind,
            "idempotency_key": event.key,
            "scheduled_at": to_iso(Instant(event.at)),
        }
        for event in events
    ]


def _asked(work: Work) -> AskedTurn:
    return AskedTurn(
        turn_id=work.turn_id,
        request_id=work.request_id,
        model="standard",
        estimated_input_tokens=work.estimated_input,
        max_output_tokens=work.max_output,
        user_id=work.user_id,
    )


def _ending(work: Work) -> Ending:
    usage = Usage(work.used_input, work.used_output)
    return Ending(work.turn_id, TurnState.COMPLETED, True, usage, "bench", new_id())
