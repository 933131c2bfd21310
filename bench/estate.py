"""A large tenant for the pages: a million accounts, ten million entries, a hundred thousand due.

One account lives through everything with the product itself: signals, verdicts of each kind, a run,
pulls, turns, another tier, a plan. Its entries are then copied for all others by statements over
sets, so that every page finds what the product would have written. The ledger is counted and sealed
as workers would have done by then.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing

import psycopg

from bench import carrier, places, product
from bench.events import HELD_TRIGGER, PLAIN_TRIGGER
from bench.product import TENANT
from bench.settings import Settings
from tests.postgres import LOGIN, Server
from watchkeeper import inputs
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.dispatch import drain
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.request_pull import request_pull
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.actions.set_pull_budget import set_pull_budget
from watchkeeper.actions.topics import register_decision, register_own
from watchkeeper.actions.turns import Turns
from watchkeeper.core.heat import Depth
from watchkeeper.core.ids import SYSTEM, AccountId
from watchkeeper.core.plans import Step
from watchkeeper.core.policy import delivery_for
from watchkeeper.core.policy_parse import parse_policy
from watchkeeper.core.pulls import Budget
from watchkeeper.core.quota import Asked
from watchkeeper.core.turns import TurnState, Usage
from watchkeeper.handlers.registry import Registry
from watchkeeper.moves.plans import NewPlan
from watchkeeper.results import Decision
from watchkeeper.store import policies
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import Database, open_database

FIRST = "acct-000000001"
DAYS = 7
FILLED_AT_ONCE = 250_000
PENDING_SHARE = 100  # one message is due for so many entries
DEAD = 1_000
PLANS = 5_000
PULLS = 100_000
RUNS = 100_000

_POLICY = f"{product.POLICY}\n{carrier.PLAN_POLICY}".replace(
    '\n[delivery.topics."action.requested"]\nconcurrency = 1000\n', "\n"
)
_AT = f"%(now)s - {DAYS * 86_400}000000 + i * {DAYS * 86_400}000000 / %(count)s"
_ID = """(lpad(to_hex(({at}) / 1000), 12, '0') || '7' || substr(md5(i::text), 1, 3) || '8'
    || substr(md5(i::text), 4, 15))::uuid"""
_ACCOUNT = "'acct-' || lpad((1 + i * 7919 %% %(accounts)s)::text, 9, '0')"

TEMPLATE = """create unlogged table bench_template as select (row_number() over (order by seq)) - 1
    as k, stage, kind, subject, policy_version, trigger_type, result, reason, data::text as data
    from ledger where tenant_id = 't1' and kind <> 'tenant.created'"""
FILL_LEDGER = f"""insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject,
        policy_version, trigger_type, result, reason, data)
    select '{TENANT}', i, {_ID.format(at=_AT)}, {_AT}, t.stage, t.kind,
        case t.subject when '{FIRST}' then {_ACCOUNT} else t.subject end, t.policy_version,
        t.trigger_type, t.result, t.reason, replace(t.data, '{FIRST}', {_ACCOUNT})::json
    from generate_series(%(start)s::bigint, %(end)s) i
    join bench_template t on t.k = i %% %(kinds)s"""
FILL_HEATS = f"""insert into heats (tenant_id, account_id, posture, recent, tier, entered_at,
        below_warm_at, below_hot_at, computed_at, changes_at, heat_micro, posture_micro,
        recency_micro, volume_micro, policy_version, version, updated_at)
    select '{TENANT}', 'acct-' || lpad(i::text, 9, '0'), 'OK', '[]',
        case when i %% 50 = 0 then 2 when i %% 8 = 0 then 1 else 0 end, %(now)s, %(now)s, %(now)s,
        %(now)s, {2**62}, 120000, 300000, 0, 0, 2, 1, %(now)s
    from generate_series(1, %(count)s) i on conflict do nothing"""
KILL_SOME = f"""update outbox set status = 'dead', attempts = 12, done_at = created_at,
        dead_reason = 'MAX_ATTEMPTS', last_error = 'no answer'
    where seq in (select seq from outbox where topic = '{product.TOPIC}' limit {DEAD})"""
FILL_PULLS = f"""insert into pulls (tenant_id, pull_job_id, message_id, account_id, connector_id,
        depth, units, origin, state, scheduled_at, started_at, ended_at, signals, expires_at)
    select '{TENANT}', 'pull:' || i, gen_random_uuid(), {_ACCOUNT}, 'crm-' || i %% 5, 0, 1,
        'cadence', 'SUCCEEDED', {_AT}, {_AT}, {_AT} + 1000, 2, {_AT} + 86400000000
    from generate_series(1, %(count)s) i"""
FILL_RUNS = f"""insert into runs (tenant_id, decision_id, account_id, trigger_type, state,
        started_at, ended_at)
    select tenant_id, entry_id, subject, trigger_type, 'SUCCEEDED', at, at from ledger
    where tenant_id = '{TENANT}' and kind = 'verdict' and result = 'ALLOW'
    order by seq desc limit {RUNS} on conflict do nothing"""
INDEXES = """select indexname, indexdef from pg_indexes where tablename = 'ledger'
    and indexname in ('ledger_subject', 'ledger_correlation')"""


def build(server: Server, settings: Settings) -> str:
    """The name of a database that holds the estate."""
    name = server.create()
    product.migrate(server.owner_url(name), LOGIN)
    product.prepare(server.tcp_url(name))
    with closing(open_database(server.tcp_url(name))) as db:
        _live(db)
    settings.tell("estate: one account has lived")
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        _fill_ledger(conn, settings)
        _fill_accounts(conn, settings)
        _copy_plans(conn)
    pending = settings.entries // PENDING_SHARE
    places.fill_backlog(server, name, pending + DEAD, '{"n":1}')
    places.fill_history(server, name, pending * 10, '{"n":1}')
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        conn.execute(KILL_SOME)
        conn.execute("vacuum analyze")
    settings.tell("estate: all tables are filled")
    with closing(open_database(server.tcp_url(name))) as db:
        count_ledger(db, TENANT)
        settings.tell("estate: the ledger is counted")
        seal_ledger(db)
    server.admin("checkpoint")
    settings.tell("estate: the ledger is sealed")
    return name


def _live(db: Database) -> None:
    """One account goes through all that the product has."""
    with db.begin(SYSTEM) as tx:
        policy = parse_policy(_POLICY, version=2)
        policies.add(tx, policy, author="bench", reason="plans too")
    admission = Admission(db)
    account = AccountId(FIRST)
    register_connector(db, Connector("crm", milli_per_second=1000, has_cadence=True))
    for number in range(5):
        register_connector(db, Connector(f"crm-{number}", deep_units=3))
    set_pull_budget(db, TENANT, Budget(1000, {"crm": 500}), by="bench")
    ingest_signals(admission, TENANT, [NewSignal(account, "email.received")])
    ingest_signals(admission, TENANT, [NewSignal(account, "email.received")] * 2)
    fire_triggers(admission, TENANT, inputs.parse_triggers(list(_asked())))
    registry = Registry(lambda topic: delivery_for(db.policies.latest(), topic))
    register_own(registry, admission, "bench")
    register_decision(registry, lambda _run: Decision(note="done"))
    drain(db, registry)
    for depth in Depth:
        request_pull(db, TENANT, account, "crm-1", depth)
    turns = Turns(db)
    turns.reserve(TENANT, Asked("turn-1", "request-1", "standard", 1000, 1000))
    usage = Usage(900, 800)
    turns.finalize(TENANT, "turn-1", TurnState.COMPLETED, started=True, usage=usage)
    steps = tuple(Step(f"s{n}", "NOOP", n, n) for n in range(5))
    Plans(db).create(TENANT, NewPlan(account, "BENCH", steps), by="bench")


def _asked() -> Iterator[dict[str, object]]:
    for number in range(6):
        kind = HELD_TRIGGER if number == 5 else PLAIN_TRIGGER
        yield {"account_id": FIRST, "trigger_type": kind, "idempotency_key": f"key-{number}"}


def _fill_ledger(conn: psycopg.Connection, settings: Settings) -> None:
    count = settings.entries
    conn.execute(TEMPLATE)
    [(kinds, start)] = conn.execute(
        "select (select count(*) from bench_template), (select max(seq) from ledger where"
        " tenant_id = 't1')"
    ).fetchall()
    indexes: Sequence[tuple[str, str]] = conn.execute(INDEXES).fetchall()
    for index, _ in indexes:  # filled at once, afterwards
        conn.execute(f"drop index {index}".encode())
    given = {"count": count, "kinds": kinds, "accounts": settings.accounts, "now": _now(conn)}
    for first in range(start + 1, count + 1, FILLED_AT_ONCE):
        last = min(first + FILLED_AT_ONCE - 1, count)
        conn.execute(FILL_LEDGER, {**given, "start": first, "end": last})
    conn.execute("drop table bench_template")
    conn.execute("set maintenance_work_mem = '256MB'")
    for _, definition in indexes:
        conn.execute(definition.encode())
    conn.execute("update tenants set ledger_seq = %s where tenant_id = %s", (count, TENANT))
    settings.tell("estate: the ledger is filled")


def _fill_accounts(conn: psycopg.Connection, settings: Settings) -> None:
    now, accounts = _now(conn), settings.accounts
    conn.execute(product.FILL_ACCOUNTS, {"count": accounts})
    conn.execute(FILL_HEATS, {"count": accounts, "now": now})
    given = {"count": PULLS, "accounts": accounts, "now": now}
    conn.execute(FILL_PULLS, given)
    conn.execute(FILL_RUNS)
    settings.tell("estate: the accounts are there")


def _copy_plans(conn: psycopg.Connection) -> None:
    """Drafts like the first, each of another account, with the same steps."""
    for table, own in (("plans", ("tenant_id", "plan_id", "account_id")), ("plan_steps", ())):
        found = conn.execute(
            "select column_name from information_schema.columns where table_name = %s"
            " order by ordinal_position",
            (table,),
        ).fetchall()
        names = [row[0] for row in found if row[0] not in own]
        identity = "md5('plan' || i)::uuid"
        if table == "plans":
            columns = ", ".join([*own, *names])
            values = ", ".join(["tenant_id", identity, "'acct-' || lpad(i::text, 9, '0')", *names])
        else:
            columns = ", ".join(names)
            values = ", ".join(identity if name == "plan_id" else name for name in names)
        conn.execute(
            f"insert into {table} ({columns}) select {values} from {table},"
            f" generate_series(1, {PLANS}) i".encode()
        )


def _now(conn: psycopg.Connection) -> int:
    [(now,)] = conn.execute("select (extract(epoch from now()) * 1000000)::bigint").fetchall()
    return int(now)
