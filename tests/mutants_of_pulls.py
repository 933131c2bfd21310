"""Guards of heat and pulls: where each stands, without it, and the test that must notice."""

CORE, ACTIONS, MOVES = "tests/core", "tests/actions", "tests/moves"
TICKS, SWEEP = f"{ACTIONS}/test_pull_ticks.py", f"{ACTIONS}/test_sweep_heat.py"
PULL, RUN, RACE = (f"{ACTIONS}/test_{n}.py" for n in ("pulls", "run_pulls", "pull_races"))

PLANS = "tests/store/test_pull_plans.py"

BREAKERS = f"{ACTIONS}/test_pull_breakers.py"

PULLS = [
    (
        "moves/pull_gates.py",
        "stop = limits.resting(gate, self._tx.now)",
        "stop = None",
        f"{BREAKERS}::test_a_hold_stops_pulls_that_are_queued_already",
    ),
    (
        "actions/run_pulls.py",
        '    starts.begin(detail["connector_id"])\n',
        "",
        f"{BREAKERS}::test_an_open_breaker_lets_one_queued_pull_try",
    ),
    (
        "store/pulls.py",
        "expires_at <= %s and ended_at is not null",
        "expires_at <= %s",
        f"{ACTIONS}/test_forget_pulls.py::test_one_that_has_not_ended_stays_however_old_it_is",
    ),
    (
        "moves/heat.py",
        "if one.moves or one.is_ruled_anew}",
        "if one.moves}",
        f"{SWEEP}::test_a_shorter_cadence_holds_from_the_next_sweep_on[sqlite]",
    ),
    (
        "store/postgres.py",
        "_BATCH_APP_SQL = _BATCH_SQL + _IN_ORDER",
        "_BATCH_APP_SQL = _BATCH_SQL",
        f"{PLANS}::test_a_tick_finds_ids_by_their_key[measured-postgresql]",
    ),
    (
        "store/slices.py",
        'f"= any (array({_CADENCED}))"',
        'f"in ({_CADENCED})"',
        f"{PLANS}::test_a_slice_reads_its_own_accounts[unmeasured-postgresql]",
    ),
    (
        "store/heats.py",
        "h.account_id = v.account_id and h.version = v.version\n",
        "h.account_id = v.account_id\n",
        f"{SWEEP}::test_a_signal_that_was_faster_stays",
    ),
    (
        "core/heat.py",
        "waited_from = max(below, state.entered_at)",
        "waited_from = below",
        f"{CORE}/test_heat.py::test_counted_from_entering_when_it_had_fallen_before",
    ),
    (
        "core/heat.py",
        "    elif below_hot_at is None:\n",
        "    else:\n",
        f"{CORE}/test_heat_history.py::test_a_look_every_so_often_changes_nothing",
    ),
    (
        "core/heat.py",
        "    at = min(next_change(state, rules), max(now, state.computed_at))\n",
        "    at = max(now, state.computed_at)\n",
        f"{CORE}/test_heat_history.py::test_a_look_every_so_often_changes_nothing",
    ),
    (
        "core/heat.py",
        "min(at, now) for at in signals",
        "at for at in signals",
        f"{CORE}/test_heat.py::test_news_from_the_future_is_of_now",
    ),
    (
        "core/limits.py",
        "granted = max(0, min(wanted, room))",
        "granted = max(0, min(wanted, room + 1))",
        f"{CORE}/test_limits.py::test_never_above_rate_and_burst_in_any_window",
    ),
    (
        "core/pulls.py",
        "or total.units + units > budget.total",
        "or total.units >= budget.total",
        f"{CORE}/test_pulls.py::test_what_a_budget_says",
    ),
    (
        "moves/pull_gates.py",
        "limits.by_clock(gate, now) for name, gate",
        "gate for name, gate",
        f"{PULL}::test_a_clock_that_steps_back_neither_admits_nor_locks_out",
    ),
    (
        "actions/tick_pulls.py",
        "{name: _taken_of(rooms[name], tx.now) for name in pulled}",
        "{name: most for name in pulled}",
        f"{TICKS}::test_behind_a_rate_as_many_are_taken_as_may_pass[sqlite]",
    ),
    (
        "core/limits.py",
        "max(one.retry_at for one in found if one.count == count)",
        "min(one.retry_at for one in found if one.count == count)",
        f"{CORE}/test_gates.py::test_how_many_may_pass",
    ),
    (
        "moves/pulls.py",
        "        if job.pull_job_id in self.found.taken:\n",
        "        if job.pull_job_id is None:\n",
        f"{PULL}::test_the_same_by_hand_within_an_hour_is_one[sqlite]",
    ),
    (
        "moves/pulls.py",
        "refused = self._killed(job) or self.gates.refuse(name)",
        "refused = self.gates.refuse(name)",
        f"{PULL}::test_a_kill_switch_stops_pulls",
    ),
    (
        "store/connectors.py",
        "order by connector_id for no key update)",
        "order by connector_id)",
        f"{RACE}::test_slots_are_never_more_than_the_limit[postgresql]",
    ),
    (
        "actions/sweep_heat.py",
        "    if not sweeps.move(tx, before, after):\n        return 0\n",
        "    sweeps.move(tx, before, after)\n",
        f"{SWEEP}::test_a_message_that_comes_twice_does_nothing[sqlite]",
    ),
    (
        "actions/sweep_heat.py",
        "        heat.mend_tick(tx)\n",
        "        pass\n",
        f"{SWEEP}::test_a_tick_that_was_lost_is_mended[sqlite]",
    ),
    (
        "actions/tick_pulls.py",
        "if planned_at is not None and TICKS.at(tx) != planned_at:",
        "if planned_at is None:",
        f"{TICKS}::test_a_tick_that_somebody_has_is_left_to_him_and_no_longer_meant[sqlite]",
    ),
    (
        "actions/tick_pulls.py",
        "return pull._replace(due_at=next_day(key, now))",
        "at = next_day(key, now)\n"
        "            return pull._replace(due_at=at, slot_at=at, overdue_at=at + cadence_us)",
        f"{TICKS}::test_what_was_refused_for_longer_than_its_cadence_goes_first[sqlite]",
    ),
    (
        "store/next_pulls.py",
        "    if pull.overdue_at <= now:\n",
        "    if not pull.due_at:\n",
        f"{TICKS}::test_the_hottest_and_longest_waiting_first_and_overdue_before_all[sqlite]",
    ),
    (
        "moves/admission.py",
        "heats.postures(tx, sorted(unknown)) if unknown else {}",
        "{}",
        f"{MOVES}/test_heat.py::test_an_account_that_had_its_posture_before_there_was_heat[sqlite]",
    ),
    (
        "moves/heat.py",
        "if signal.account_id in eager and signal.may_pull",
        "if signal.account_id in eager",
        f"{RUN}::test_what_a_pull_on_a_signal_brings_pulls_no_further[sqlite]",
    ),
    (
        "actions/run_pulls.py",
        "    connectors.free_slot(tx, name, message_id)\n",
        "",
        f"{RUN}::test_the_slot_is_free_when_it_is_over",
    ),
    (
        "actions/run_pulls.py",
        "if connectors.slots(tx, [name]).get(name, 0) >= most:",
        "if not most:",
        f"{RUN}::test_who_waited_for_longer_than_its_slot_waits_for_another[sqlite]",
    ),
    (
        "actions/run_pulls.py",
        "breaker=breaker if is_failure else None",
        "breaker=None",
        f"{ACTIONS}/test_pull_breakers.py::test_who_dies_counts_as_a_failure[sqlite]",
    ),
    (
        "handlers/renew_leases.py",
        "connectors.keep_slots(tx, [m.id for m, _ in pulls], longest)",
        "pass",
        f"{RUN}::test_a_pull_that_takes_long_keeps_its_slot[sqlite]",
    ),
]
