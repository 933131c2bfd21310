"""Guards, each taken away by one line, and the test that must notice.

`python -m tests.mutants` runs them all, or those whose number or file is named; it exits with 1
when one survives. Each runs in a copy of the checkout, so that the source is never touched.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.mutants_of_databases import DATABASES
from tests.mutants_of_handlers import HANDLERS
from tests.mutants_of_opening import OPENED
from tests.mutants_of_operating_pages import OPERATING_PAGES
from tests.mutants_of_overload import OVERLOADS
from tests.mutants_of_overview import OVERVIEW
from tests.mutants_of_pages import PAGES
from tests.mutants_of_plan_doors import PLAN_DOORS
from tests.mutants_of_plans import PLANS
from tests.mutants_of_pull_doors import PULL_DOORS
from tests.mutants_of_pulls import PULLS
from tests.mutants_of_recall import RECALLED
from tests.mutants_of_repeats import REPEATED
from tests.mutants_of_replay import REPLAYS
from tests.mutants_of_reports import REPORTING
from tests.mutants_of_searches import SEARCHES
from tests.mutants_of_tenants import TENANTS
from tests.mutants_of_trust import TRUST
from tests.mutants_of_turns import TURNS

ROOT = Path(__file__).parents[1]
CORE, MOVES, ACTIONS = "tests/core", "tests/moves/test_admission.py", "tests/actions"
LIMITS = "tests/handlers/test_endpoint_limits.py"
CUT = "tests/handlers/test_cut_sends.py"
SINKS, NEWS = f"{ACTIONS}/test_sinks.py", f"{ACTIONS}/test_outside_topics.py"
OUTSIDE = "actions/deliver_outside.py"
TIMEOUT_SECONDS = 180


@dataclass(frozen=True)
class Mutant:
    file: str
    old: str
    new: str
    test: str

    def apply(self, root: Path) -> None:
        path = root / "src" / "watchkeeper" / self.file
        source = path.read_text()
        assert source.count(self.old) == 1, f"{self.file}: not there once: {self.old}"
        path.write_text(source.replace(self.old, self.new))


GATE, PASS = "core/admission.py", "core/earliest_pass.py"
MUTANTS = [
    Mutant(
        GATE,
        "abs(case.fired_at - last) >= case.rule.debounce_us",
        "abs(case.fired_at - last) > case.rule.debounce_us",
        f"{CORE}/test_admission.py::test_debounce",
    ),
    Mutant(
        GATE,
        "scheduled_at is None else min(scheduled_at, self.now)",
        "scheduled_at is None else scheduled_at",
        f"{CORE}/test_admission.py::test_debounce",
    ),
    Mutant(
        GATE,
        "case.now >= since + case.rule.cooldown_us",
        "case.now > since + case.rule.cooldown_us",
        f"{CORE}/test_admission.py::test_cooldown",
    ),
    Mutant(
        GATE,
        "slots = self.state.slots(self.now, but=self.event.trigger_type)",
        "slots = []",
        f"{CORE}/test_admission.py::test_cooldown",
    ),
    Mutant(
        "core/run_state.py",
        "return now < self.due_at + OVERDUE_US",
        "return True",
        f"{CORE}/test_admission.py::test_coalescing",
    ),
    Mutant(
        GATE,
        "return hour if hour > self.trigger.hour else self.trigger.hour",
        "return hour",
        f"{CORE}/test_admission.py::test_account_cap",
    ),
    Mutant(
        GATE,
        "return day if day > self.tenant.day else self.tenant.day",
        "return day",
        f"{CORE}/test_admission.py::test_run_budget",
    ),
    Mutant(
        GATE,
        "if not case.event.moved and (",
        "if (",
        f"{CORE}/test_admission.py::test_the_retry_of_a_deferral",
    ),
    Mutant(
        GATE,
        "return reserved is not None and case.now >= since + reserved",
        "return False",
        f"{CORE}/test_admission.py::test_the_retry_of_a_deferral",
    ),
    Mutant(
        "core/replay_apart.py",
        "            slot_cooldown_us=0,\n",
        "",
        f"{CORE}/test_replay.py",
    ),
    Mutant(
        "core/envelope.py",
        "        slot_cooldown_us=None if cooldown is None else cooldown * SECOND,\n",
        "",
        "tests/app/test_gate_page.py::test_the_product_answers_as_the_page_says[sqlite]",
    ),
    Mutant(
        "store/signals.py",
        'values (?, ?, ?, ?, ?, ?, ?, ?, ?)",',
        "select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 where not exists"
        ' (select 1 from signals where tenant_id = ?1 and signal_id = ?2)",',
        "tests/app/test_repeated_signals.py::test_one_id_for_two_accounts_is_two_signals",
    ),
    Mutant(
        PASS,
        "        if binding is None:\n            return Passing(at)\n",
        "        return Passing(at)\n",
        f"{CORE}/test_earliest_pass.py",
    ),
    Mutant(
        PASS,
        "at = _let_retries_pass(case, state, tenant, switches or {})",
        "at = Instant(ceil_second(case.now) + SECOND)",
        f"{CORE}/test_earliest_pass.py",
    ),
    Mutant(
        PASS,
        "    state, tenant = case.state.copy(), case.tenant.copy()",
        "    state, tenant = case.state, case.tenant",
        f"{CORE}/test_earliest_pass.py::test_asking_changes_nothing",
    ),
    Mutant(
        GATE,
        "until = ceil_second(ran_at + cooldown)",
        "until = ceil_second((case.busy_until or ran_at) + cooldown)",
        f"{CORE}/test_admission_properties.py::test_three_rituals_at_one_instant_all_run",
    ),
    Mutant(
        GATE,
        "if slot - cooldown // 2 < until < slot + cooldown:",
        "if False:",
        f"{CORE}/test_admission_properties.py::test_after_an_outage_each_retry_finds_a_slot",
    ),
    Mutant(
        GATE,
        "    if verdict.duplicate is not None:\n        return  #",
        "    if False:\n        return  #",
        f"{CORE}/test_admission.py",
    ),
    Mutant(
        "moves/admission.py",
        "holder.fingerprint != one.fingerprint",
        "False",
        f"{MOVES}::test_a_repeat_within_one_batch_is_a_repeat[sqlite]",
    ),
    Mutant(
        "moves/admission.py",
        "if one.event.trigger_type in rules.triggers and key not in wanted:",
        "if key not in wanted:",
        f"{MOVES}::test_an_unknown_type_consumes_nothing[sqlite]",
    ),
    Mutant(
        "moves/admission.py",
        "        raise PolicyMoved\n",
        "",
        f"{MOVES}::test_a_policy_takes_effect_at_once_in_every_process[sqlite]",
    ),
    Mutant(
        "moves/admission.py",
        "verdict.duplicate is None and verdict is not UNKNOWN",
        "True",
        f"{MOVES}::test_an_unknown_type_consumes_nothing[sqlite]",
    ),
    Mutant(
        "moves/admission.py",
        "    if not tx.recovering:\n        return {}\n",
        "    return {}\n",
        f"{MOVES}::test_a_retry_delivered_twice_is_decided_once[sqlite]",
    ),
    Mutant(
        "store/admission.py",
        "json_each(?3)) and expires_at > ?4",
        "json_each(?3)) and ?4 > 0",
        f"{MOVES}::test_a_key_is_free_again_after_its_time[sqlite]",
    ),
    Mutant(
        "store/admission.py",
        "key = w.k and expires_at > p.now limit 1",
        "key = w.k limit 1",
        f"{MOVES}::test_a_key_is_free_again_after_its_time[postgresql]",
    ),
    Mutant(
        "store/tenants.py",
        'where tenant_id = %s for no key update""",',
        'where tenant_id = %s""",',
        f"{ACTIONS}/test_races.py::test_now_is_read_after_the_lock_is_held",
    ),
    Mutant(
        "actions/admit.py",
        "seen_before, unknown = True, error",
        "unknown = error",
        f"{ACTIONS}/test_lost_commit.py",
    ),
    Mutant(
        "actions/change_account.py",
        "if tx.recovering and (done :=",
        "if False and (done :=",
        f"{ACTIONS}/test_lost_commit.py",
    ),
    Mutant(
        "actions/admit_messages.py",
        "DecisionId(turned(message.id))",
        "DecisionId(message.id)",
        f"{MOVES}::test_the_retry_runs_and_carries_what_came_meanwhile[sqlite]",
    ),
    Mutant(
        "actions/fire_schedules.py",
        'if schedule is None or schedule.generation != part["generation"]:',
        "if schedule is None:",
        f"{ACTIONS}/test_schedules.py::test_a_replaced_schedule_asks_no_more_accounts[sqlite]",
    ),
    Mutant(
        "actions/fire_schedules.py",
        "book.exact(tx)",
        "book.guess(tx)",
        f"{ACTIONS}/test_schedules.py::test_the_spread_is_the_policys_unless_the_schedule_says[sqlite]",
    ),
    Mutant(
        "store/news.py",
        "with contextlib.suppress(Exception):  # it is committed",
        "if True:  # it is committed",
        "tests/moves/test_all_or_nothing.py::test_nobody_is_told_that_a_committed_deed_failed[sqlite]",
    ),
    Mutant(
        "store/questions.py",
        "where at < previous_at + cooldown",
        "where at < previous_at",
        f"{ACTIONS}/test_verify.py::test_what_is_broken_is_found[sqlite-a_second_run]",
    ),
    Mutant(
        "store/questions.py",
        'and {_WHOLE.format(start=f"t.day * {DAY}")}',
        "",
        f"{ACTIONS}/test_verify.py::test_only_the_newest_entries_are_looked_at[sqlite]",
    ),
    Mutant(
        "store/outbox_upkeep.py",
        "turns.note_swept(session, tenant_id, [row[1:] for row in old])",
        "pass",
        f"{ACTIONS}/test_usage_events.py"
        "::test_a_turn_tells_of_its_event_from_pending_to_after_retention[sqlite]",
    ),
    Mutant(
        "store/questions_settle.py",
        "where running > 1 or completed > 1 + redrives",
        "where running > 1",
        f"{ACTIONS}/test_reconcile.py"
        "::test_a_contradiction_is_found[sqlite-a_run_that_was_charged_twice]",
    ),
    Mutant(
        "handlers/endpoint_limits.py",
        "if not self.room(key, most):",
        "if False:",
        f"{LIMITS}::test_an_endpoint_has_its_own_few",
    ),
    Mutant(
        "handlers/endpoint_limits.py",
        "(1 if key in self._troubled else most)",
        "most",
        f"{LIMITS}::test_one_in_trouble_is_sent_one_at_a_time_until_something_gets_through",
    ),
    Mutant(
        "store/database.py",
        "return sqlite.is_busy(error.__cause__ or error)",
        "return False",
        "tests/store/test_busy_sqlite.py::test_a_transaction_that_found_the_file_taken_runs_again",
    ),
    Mutant(
        OUTSIDE,
        "return min(free, sum(self.limits.room(k, most) for k in set(map(key_of, places))))",
        "return free",
        f"{LIMITS}::test_no_more_is_claimed_than_endpoints_have_room[sqlite]",
    ),
    Mutant(
        OUTSIDE,
        "if self._may_be_cut(departure.topic.name):",
        "if True:",
        f"{LIMITS}::test_a_stop_leaves_what_may_be_sent_only_once_to_its_lease[sqlite]",
    ),
    Mutant(
        OUTSIDE,
        "if own.cancelling() and",
        "if False and",
        f"{CUT}::test_a_cut_send_is_told_as_abandoned_however_early_it_ends[sqlite]",
    ),
    Mutant(
        OUTSIDE,
        "if own.cancelling() and",
        "if self._is_stopping and",
        f"{CUT}::test_an_answer_that_comes_during_the_stop_is_told_as_it_was[sqlite]",
    ),
    Mutant(
        OUTSIDE,
        "if self._is_stopping:  # `_cancel` may have looked already, and nobody would cut this",
        "if False:",
        f"{CUT}::test_what_has_not_begun_when_sends_are_cut_is_never_sent[sqlite]",
    ),
    Mutant(
        "workers.py",
        "left += JOIN_SECONDS_MAX",
        "left += 0",
        f"{CUT}::test_a_cut_send_comes_back_after_a_grace_that_was_too_short[sqlite]",
    ),
    Mutant(
        OUTSIDE,
        "LEASE_SHARE = 0.8",
        "LEASE_SHARE = 80.0",
        f"{LIMITS}::test_an_attempt_ends_before_its_lease[sqlite]",
    ),
    Mutant(
        "workers.py",
        "if time.monotonic() >= give_up_at:",
        "if False:",
        f"{LIMITS}::test_a_stop_gives_back_what_has_no_answer_within_the_grace[sqlite]",
    ),
    Mutant(
        "actions/dispatcher.py",
        "        if claimed:\n            self._look_again()\n",
        "",
        f"{LIMITS}::test_a_sink_that_is_set_during_a_claim_gets_what_was_claimed[sqlite]",
    ),
    Mutant(
        "store/sinks.py",
        "found.get(tenant_id) or found.get(SYSTEM)",
        "found.get(SYSTEM) or found.get(tenant_id)",
        f"{SINKS}::test_a_tenants_sink_comes_first_then_the_one_for_all_then_the_handler[sqlite]",
    ),
    Mutant(
        "store/sinks.py",
        "self._read_at = at if changes == self._changes else None",
        "self._read_at = at",
        f"{SINKS}::test_a_change_during_a_reading_is_not_missed[sqlite]",
    ),
    Mutant(
        "store/sinks.py",
        "if now < self.old_secret_until_at else",
        "if True else",
        f"{SINKS}::test_an_old_secret_signs_beside_the_new_one_for_a_day[sqlite]",
    ),
    Mutant(
        "store/outbox_park.py",
        "attempts = max(attempts - 1, 0)",
        "attempts = attempts",
        f"{SINKS}::test_what_nobody_takes_waits_visibly_and_spends_nothing[sqlite]",
    ),
    Mutant(
        "actions/set_sink.py",
        "if self.is_tenant and topic == USAGE_SNAPSHOT:",
        "if False:",
        f"{SINKS}::test_what_a_tenant_costs_is_not_for_it_to_redirect[sqlite]",
    ),
    Mutant(
        "actions/set_sink.py",
        "            if old is not None:\n                terms.check(old.topic)\n",
        "",
        f"{SINKS}::test_what_a_tenant_costs_is_not_for_it_to_redirect[sqlite]",
    ),
    Mutant(
        "core/sinks.py",
        'parts.netloc.rpartition("@")[2]',
        "parts.netloc",
        f"{SINKS}::test_the_ledger_tells_every_change_and_no_secret[sqlite]",
    ),
    Mutant(
        "actions/outside_topics.py",
        "if (one.namespace, one.topic) != (NAMESPACE, envelope.MESSAGE_DEAD)",
        "if True",
        f"{NEWS}::test_news_that_died_makes_no_news[sqlite]",
    ),
    Mutant(
        "actions/outside_topics.py",
        "if not is_heard(book, registry, tx.tenant_id, envelope.MESSAGE_DEAD):",
        "if False:",
        f"{NEWS}::test_a_death_is_told_where_somebody_listens[sqlite-nobody-False]",
    ),
    Mutant(
        "actions/outside_topics.py",
        "if isinstance(told, NotCalled):",
        "if False:",
        f"{NEWS}::test_a_kill_switch_is_seen_right_before_a_run_is_sent[sqlite-alone]",
    ),
    Mutant(
        "actions/admit.py",
        " or self.hears_deferred(tenant_id)",
        "",
        f"{NEWS}::test_a_deferral_is_told_where_somebody_listens[sqlite-all-True]",
    ),
]
OTHERS = (*TURNS, *PULL_DOORS, *PULLS, *PLANS, *PLAN_DOORS, *REPORTING, *TRUST, *REPLAYS)
OTHERS += (*DATABASES, *PAGES, *SEARCHES, *OPERATING_PAGES, *OVERVIEW, *RECALLED)
OTHERS += (*TENANTS, *REPEATED)
OTHERS += (*OPENED, *HANDLERS)
MUTANTS += [Mutant(*one) for one in OTHERS]
MUTANTS += [Mutant(*one) for one in OVERLOADS]


def survives(mutant: Mutant) -> bool:
    """Whether its test still passes without the guard."""
    with tempfile.TemporaryDirectory(prefix="wkmutant-") as folder:
        root = Path(folder)
        for part in ("src", "tests"):
            shutil.copytree(
                ROOT / part,
                root / part,
                ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"),
            )
        shutil.copy(ROOT / "pyproject.toml", root)
        mutant.apply(root)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:randomly"]
        command += ["-p", "no:cacheprovider", mutant.test]
        done = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
        assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
        return done.returncode == 0


def main(wanted: list[str]) -> int:
    alive = 0
    for number, mutant in enumerate(MUTANTS):
        if wanted and str(number) not in wanted and mutant.file not in wanted:
            continue
        survived = survives(mutant)
        alive += survived
        fate = "SURVIVES" if survived else "dies"
        sys.stdout.write(f"{number:3} {fate:9} {mutant.file}: {mutant.old.strip()}\n")
        sys.stdout.flush()
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
