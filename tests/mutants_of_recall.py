"""Guards of what is not read, not asked or not waited for: without each, and who must notice."""

RECALL = "tests/actions/test_recall.py"
KEPT = "tests/moves/test_recall.py"
SPARED = "tests/actions/test_spared_asks.py"
MOVED = "tests/store/test_moved_rows.py"
TOGETHER = "tests/store/test_together.py"

RECALLED = [
    (
        "store/outbox_settle.py",
        "ACK_TRIES = 2\n",
        "ACK_TRIES = 1\n",
        f"{MOVED}::test_an_ack_that_waited_for_a_renewal_is_done",
    ),
    (
        "store/outbox_settle.py",
        "and (o.locked_by = at.locked_by) is true and at.locked_by = v.k",
        "",
        f"{MOVED}::test_an_ack_that_waited_for_another_claim_is_refused",
    ),
    (
        "store/plan_ends.py",
        "acked |= outbox_settle.ack(tx, missing)",
        "acked |= outbox_settle.acked_before(tx, missing)",
        f"{MOVED}::test_an_outcome_that_waited_for_a_renewal_is_written",
    ),
    (
        "store/plan_ends.py",
        "where p.xmin = f.r and i.state = 'EXECUTING'",
        "where i.state = 'EXECUTING'",
        f"{RECALL}::test_a_later_step_is_skipped[postgresql]",
    ),
    (
        "store/plan_ends.py",
        "where p.xmin = f.r and i.state = 'EXECUTING'",
        "where p.xmin = f.r",
        f"{RECALL}::test_its_outcome_is_reported_by_hand",
    ),
    (
        "store/plan_ends.py",
        " and not i.is_late and",
        "  and",
        f"{RECALL}::test_the_step_itself_is_skipped",
    ),
    (
        "store/plan_ends.py",
        " and i.message_id = f.m",
        "",
        f"{RECALL}::test_what_a_plan_is_known_by",
    ),
    (
        "store/plan_ends.py",
        "(select count(*) from m) = e.m and",
        "",
        f"{RECALL}::test_somebody_else_holds_the_message[guessed]",
    ),
    (
        "store/plan_ends.py",
        "and (select count(*) {_UNCHANGED}) = e.m",
        "and (select count(*) {_UNCHANGED}) >= 0",
        f"{RECALL}::test_paused[guessed-True]",
    ),
    (
        "store/plan_ends.py",
        "and c.version = e.v and",
        "and",
        f"{RECALL}::test_another_policy[guessed]",
    ),
    (
        "store/plan_ends.py",
        "and coalesce(c.risks::jsonb, '{{}}') = e.r",
        "",
        f"{RECALL}::test_another_risk[guessed]",
    ),
    (
        "store/plan_ends.py",
        "and coalesce(c.switches::jsonb, '{{}}') = e.s and",
        "and",
        f"{RECALL}::test_a_kill_switch[guessed-acme]",
    ),
    (
        "store/plan_ends.py",
        "and coalesce(c.used, 0) = e.u and",
        "and",
        f"{RECALL}::test_the_autonomy_of_the_day_is_used_up[guessed]",
    ),
    (
        "moves/recall.py",
        "case = self._cases.pop(id, None)",
        "case = self._cases.get(id)",
        f"{KEPT}::test_it_is_taken_once",
    ),
    (
        "moves/recall.py",
        "self._guesses.pop(tenant_id, None)",
        "self._guesses.get(tenant_id, None)",
        f"{KEPT}::test_a_guess_is_taken_once_and_its_time_goes_on",
    ),
    (
        "moves/recall.py",
        "at - guess.at > GUESSED_SECONDS_MAX",
        "False",
        f"{KEPT}::test_what_was_found_long_ago_is_no_guess",
    ),
    (
        "moves/recall.py",
        "while len(self._cases) > KEPT_MAX:",
        "while False:",
        f"{KEPT}::test_the_oldest_make_room",
    ),
    (
        "actions/dispatcher.py",
        "if self._heard != self.db.heard_count or until <= now:",
        "if until <= now:",
        f"{SPARED}::test_what_is_heard_of_is_asked_for_at_once[sqlite]",
    ),
    (
        "actions/dispatcher.py",
        "if self._heard != self.db.heard_count or until <= now:",
        "if self._heard != self.db.heard_count:",
        f"{SPARED}::test_while_nothing_is_heard_it_is_asked_twice_a_second[sqlite]",
    ),
    (
        "actions/dispatcher.py",
        "        until = until if due_at is None else min(until, due_at)\n",
        "",
        f"{SPARED}::test_a_timer_that_is_due_is_asked_for[sqlite]",
    ),
    (
        "actions/dispatcher.py",
        "        self._found = found\n",
        "        self._found, self._heard = found, self.db.heard_count\n",
        f"{SPARED}::test_what_is_heard_of_while_the_database_answers[sqlite]",
    ),
    (
        "actions/dispatcher.py",
        "if has_begun and not (plain or own) and",
        "if has_begun and",
        f"{SPARED}::test_what_only_needs_an_ack_gets_it[sqlite]",
    ),
    (
        "store/news.py",
        "            self.heard_count += 1\n",
        "            pass\n",
        f"{SPARED}::test_what_is_heard_of_from_elsewhere_too[sqlite]",
    ),
    (
        "store/transaction.py",
        "{last} where {done}",
        "{last}",
        f"{TOGETHER}::test_an_attempt_is_born_behind_the_end_of_the_one_before_it",
    ),
    (
        "store/transaction.py",
        "        self._gathered = gathered\n        self._is_behind = False\n",
        "        self._gathered = gathered\n",
        f"{TOGETHER}::test_one_block_after_another",
    ),
    (
        "store/migrations/versions/0008_postgresql.sql",
        "    if idle is not null then\n",
        "    if false then\n",
        "tests/store/test_plan_rules.py::"
        "test_nothing_is_born_as_carried_out_for_a_plan_that_is_not_active",
    ),
    (
        "store/migrations/versions/0008_postgresql.sql",
        "before update of tenant_id, intent_id, plan_id, step_id, attempt,",
        "before update of tenant_id, intent_id, plan_id, attempt,",
        "tests/store/test_plan_rules.py::test_terms_stay_whatever_else_a_statement_changes",
    ),
    (
        "store/timers.py",
        "and o.ctid = at.ctid and at.status = 'pending'\n"
        "                and (o.status = at.status) is true",
        "and o.ctid = at.ctid",
        "tests/actions/test_plan_cycle.py::"
        "test_a_cycle_that_somebody_has_is_left_to_him_and_no_longer_meant[postgresql]",
    ),
    (
        "store/timers.py",
        "        tx.run(self._drop, (tx.tenant_id,))\n        tx.run(self._set,",
        "        tx.run(self._set,",
        "tests/actions/test_plan_cycle.py::"
        "test_one_message_waits_for_the_next_cycle_however_often_it_was_planned[sqlite]",
    ),
    (
        "store/database.py",
        "with contextlib.suppress(Exception):  # what was committed stays so",
        "if True:  # what was committed stays so",
        f"{TOGETHER}::test_what_is_done_meanwhile_may_fail_and_nothing_is_undone",
    ),
]
