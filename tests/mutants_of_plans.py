"""Guards of plans: where each stands, without it, and the test that must notice."""

CORE, ACTIONS, STORE = "tests/core", "tests/actions", "tests/store"
STEPS = f"{ACTIONS}/test_plan_steps.py"
CYCLE = f"{ACTIONS}/test_plan_cycle.py"
OUTCOMES = f"{ACTIONS}/test_plan_outcomes.py"
RACES = f"{ACTIONS}/test_plan_races.py"

PLANS = [
    (
        "core/plans.py",
        "    if now >= expires_at:\n",
        "    if now > expires_at:\n",
        f"{CORE}/test_plans.py::test_when_a_plan_is_over",
    ),
    (
        "core/plans.py",
        "    if not left or any(step.status in _IN_FLIGHT for step in left):\n",
        "    if not left:\n",
        f"{CORE}/test_plans.py::test_nothing_later_starts_before_and_never_two_at_once",
    ),
    (
        "core/plans.py",
        "step.attempts - step.spared >= attempts_max",
        "step.attempts - step.spared > attempts_max",
        f"{CORE}/test_plans.py::test_what_comes_next",
    ),
    (
        "core/plan_types.py",
        "order_of(steps[name]) > order_of(step)",
        "False",
        f"{CORE}/test_plan_types.py::test_a_plan_may_not_be_of_these",
    ),
    (
        "core/plan_types.py",
        "kind.needs_person and not of.approved_by_person",
        "False",
        f"{CORE}/test_plan_types.py::test_each_reason_alone",
    ),
    (
        "core/approvals.py",
        "used_today >= most",
        "used_today > most",
        f"{CORE}/test_approvals.py::test_every_mode_risk_and_budget",
    ),
    (
        "moves/plan_desk.py",
        "            if case.is_moved:\n                self._passed.append(before)\n",
        "",
        f"{OUTCOMES}::test_an_outcome_while_paused_is_recorded_and_completion_follows_resume[sqlite]",
    ),
    (
        "moves/plan_desk.py",
        "return self.context.used_today + self._auto",
        "return self.context.used_today",
        f"{STEPS}::test_the_autonomy_of_a_day_is_used_up_exactly[sqlite]",
    ),
    (
        "moves/plan_desk.py",
        "            plans.wake(tx, self._freed)\n",
        "            pass\n",
        f"{CYCLE}::test_whatever_ends_the_active_one_wakes_the_next",
    ),
    (
        "moves/plans.py",
        "        if case.plan.status is PlanStatus.ACTIVE\n    }\n",
        "        if False\n    }\n",
        f"{CYCLE}::test_also_when_both_come_in_one_cycle_with_others_between[sqlite]",
    ),
    (
        "moves/plans.py",
        "            active[_pair(case)] = case.plan.plan_id\n",
        "            pass\n",
        f"{CYCLE}::test_of_two_of_an_account_one_is_active_and_the_other_follows[sqlite]",
    ),
    (
        "moves/plans.py",
        "desk.request(case, waiting._replace(deadline_at=deadline, message_id=None))",
        "desk.request(case, waiting._replace(message_id=None))",
        f"{STEPS}::test_an_attempt_that_waited_through_a_long_pause_is_begun_after_it[sqlite]",
    ),
    (
        "moves/plans.py",
        "waiting._replace(deadline_at=deadline, message_id=None))",
        "waiting._replace(deadline_at=deadline))",
        f"{STEPS}::test_paused_and_resumed_before_its_message_comes_it_is_called_once[sqlite]",
    ),
    (
        "moves/plans.py",
        "    if other is not None:\n        raise Conflict(\n",
        "    if False:\n        raise Conflict(\n",
        f"{CYCLE}::test_who_was_paused_cannot_resume_while_another_is_active[sqlite]",
    ),
    (
        "moves/steps.py",
        "    is_late = intent.is_late or intent.ended_at is not None\n",
        "    is_late = intent.ended_at is not None\n",
        f"{OUTCOMES}::test_after_the_plan_went_on_without_it",
    ),
    (
        "moves/steps.py",
        "case.plan.status is not PlanStatus.PAUSED or intent.state is IntentState.EXECUTING",
        "True",
        f"{STEPS}::test_while_paused_nobody_is_late_with_an_answer[sqlite]",
    ),
    (
        "moves/steps.py",
        "            desk.spend_autonomy()\n",
        "",
        f"{STEPS}::test_the_autonomy_of_a_day_is_used_up_exactly[sqlite]",
    ),
    (
        "actions/run_actions.py",
        "intent.is_late or intent.message_id != message.id:",
        "intent.is_late:",
        f"{STEPS}::test_paused_and_resumed_before_its_message_comes_it_is_called_once[sqlite]",
    ),
    (
        "actions/run_actions.py",
        "alive = [m for m in those if m.id in ours]",
        "alive = list(those)",
        f"{RACES}::test_one_that_was_paused_beyond_its_lease_in_every_order[sqlite]",
    ),
    (
        "actions/run_actions.py",
        "intent.ended_at is not None or intent.message_id != one.id:",
        "intent.ended_at is not None:",
        f"{STEPS}::test_the_loss_of_a_message_that_no_longer_asks_changes_nothing[sqlite]",
    ),
    (
        "actions/run_actions.py",
        "        elif is_suspect and has_suspect:\n",
        "        elif False:\n",
        f"{STEPS}::test_of_those_that_fell_silent_one_is_tried_at_a_time[sqlite]",
    ),
    (
        "actions/write_outcomes.py",
        "if steps.is_told(intent, ending):",
        "if False:",
        f"{ACTIONS}/test_plans_lost_commit.py::test_the_end_of_an_action",
    ),
    (
        "actions/plans.py",
        "if answers and ledger.by_ids(tx, [mark]):",
        "if False:",
        f"{ACTIONS}/test_plans_lost_commit.py::test_a_plan_is_made_once",
    ),
    (
        "actions/plans.py",
        "            if min(case.plan.expires_at, intent.deadline_at) <= desk.now:\n",
        "            if False:\n",
        f"{STEPS}::test_what_nobody_answers_is_rejected_at_its_deadline[sqlite]",
    ),
    (
        "moves/plan_desk.py",
        " == planned_at or at != self.context.cycle_at:\n",
        " > 0:\n",
        f"{CYCLE}::test_a_cycle_out_of_turn_leaves_one_planned[sqlite]",
    ),
    (
        "actions/run_cycle.py",
        "        left -= deed(desk, cases)\n",
        "        left -= max(deed(desk, cases), len(cases))\n",
        f"{CYCLE}::test_plans_with_nothing_to_do_take_nobodys_place[sqlite]",
    ),
    (
        "store/intents.py",
        "and p.plan_id = intents.plan_id and p.status = 'ACTIVE' and p.expires_at > ?3)",
        "and p.plan_id = intents.plan_id and p.status = 'ACTIVE')",
        f"{STEPS}::test_nothing_is_begun_for_a_plan_that_is_not_active[sqlite]",
    ),
    (
        "store/plans.py",
        " and due_at <= %s order by due_at limit %s",
        " and due_at <= %s order by due_at desc limit %s",
        f"{CYCLE}::test_who_has_waited_longest_comes_first_though_others_keep_coming[sqlite]",
    ),
    (
        "store/plans.py",
        "and step_id >= v.k and step_id <= v.k order by plan_id, step_id limit 1) at",
        "and step_id = v.k) at",
        f"{STORE}/test_plan_plans.py",
    ),
    (
        "store/migrations/versions/0004_sqlite.sql",
        "        or old.status = 'PAUSED' and new.status in ('ACTIVE', 'ABORTED', 'EXPIRED'))\n",
        "        or old.status = 'PAUSED')\n",
        f"{STORE}/test_plan_rules.py::test_a_plan_goes_the_ways_of_its_table_and_no_other[sqlite]",
    ),
    (
        "store/migrations/versions/0004_sqlite.sql",
        "        or new.attempts > old.attempts + 1\n",
        "",
        f"{STORE}/test_plan_rules.py::test_attempts_neither_go_back_nor_skip[sqlite]",
    ),
]
