"""Guards of the ledger's chain: where each stands, without it, and the test that must notice."""

ACTIONS, HTTP = "tests/actions", "tests/http"
VERIFY, KEEP = f"{ACTIONS}/test_verify_ledger.py", f"{ACTIONS}/test_keep_ledger.py"
SCHEDULES, EXPLAIN = f"{ACTIONS}/test_verify_schedules.py", f"{ACTIONS}/test_explain_act.py"
SIMULATE = f"{ACTIONS}/test_simulate.py"
STREAM = f"{HTTP}/test_stream.py"
ENDS = f"{ACTIONS}/test_verify_ends.py::test_it_is_found"
MIGRATION = "store/migrations/versions/0006_sqlite.sql"

TRUST = [
    (
        "actions/explain_decision.py",
        "    if own is not None:\n        return own\n",
        "",
        "tests/actions/test_named_switches.py",
    ),
    (
        "core/sinks.py",
        "    meant = nearest(topic)\n    if meant is None:\n        return None\n",
        "    return None\n",
        "tests/app/test_sinks.py",
    ),
    (
        "core/chain.py",
        '"reason":{_or_null(e.reason)},',
        '"reason":null,',
        f"{VERIFY}::test_an_edit_is_found_and_named[sqlite]",
    ),
    (
        "core/chain.py",
        "        if found.seq != seq:\n            break\n",
        "",
        f"{VERIFY}::test_a_gap_in_what_is_not_sealed_is_found_and_never_sealed[sqlite]",
    ),
    (
        "core/canonical.py",
        "keys = sorted(value, key=_code_units)",
        "keys = sorted(value)",
        "tests/core/test_canonical.py::test_keys_are_ordered_by_their_code_units",
    ),
    (
        "store/seals.py",
        'select ?, ?, ?, ?, ? where {_GOES_ON.format("?")}\n    on conflict',
        "select ?, ?, ?, ?, ? where ? = ? or true\n    on conflict",
        f"{KEEP}::test_a_sealer_that_slept_through_a_prune_does_not_begin_anew[sqlite]",
    ),
    (
        "actions/verify_ledger.py",
        "        elif there.hex() != known.hash:\n",
        "        elif not there:\n",
        f"{VERIFY}::test_a_rewritten_chain_is_found_by_a_checkpoint[sqlite]",
    ),
    (
        "actions/verify_ledger.py",
        "        if last < tail.counter:\n",
        "        if last < 0:\n",
        f"{VERIFY}::test_an_unsealed_tail_that_was_cut_is_found_by_the_counter[sqlite]",
    ),
    (
        "actions/verify_ledger.py",
        "        if seal.from_seq > expected or",
        "        if",
        f"{VERIFY}::test_lost_seals_are_found[sqlite]",
    ),
    (
        "actions/keep_ledger.py",
        "    if checkpoint.seq > exported:\n",
        "    if checkpoint.seq < 0:\n",
        f"{KEEP}::test_without_an_export_nothing_leaves[sqlite]",
    ),
    (
        "actions/keep_ledger.py",
        "        until = until if young is None else young - 1\n        if until <= before:\n",
        "        if until <= before:\n",
        f"{KEEP}::test_what_is_young_stays[sqlite]",
    ),
    (
        "actions/keep_ledger.py",
        "        if found.seq != place.seq + 1 or digest != expected:\n            break\n",
        "",
        f"{KEEP}::test_what_was_changed_is_not_exported[sqlite]",
    ),
    (
        MIGRATION,
        "    select 1 from ledger_prunes p where p.tenant_id = old.tenant_id and p.seq >= old.seq)",
        "    select 1)",
        f"{KEEP}::test_nothing_leaves_that_is_not_behind_the_recorded_place[sqlite]",
    ),
    (
        "store/questions.py",
        "where retry_of > {PRUNED_ID} and not exists (",
        "where not exists (",
        f"{KEEP}::test_what_is_old_and_exported_leaves_and_the_chain_goes_on[sqlite]",
    ),
    (
        "http/stream.py",
        "        return self.feed.news(self.places, self.tenant_id)\n",
        "        return self.feed.news(self.places, None)\n",
        f"{STREAM}::test_a_tenants_key_follows_its_tenant_only[sqlite]",
    ),
    (
        "http/stream.py",
        "                if self._is_due() and not await self._may_stay():\n"
        "                    return\n",
        "",
        f"{STREAM}::test_silence_has_a_sign_of_life_and_a_revoked_key_ends_it[sqlite]",
    ),
    (
        "actions/follow_ledger.py",
        "            if not kept or kept[0].seq > place + 1:\n                return None\n",
        "            if not kept:\n                return None\n",
        f"{STREAM}::test_a_follower_far_behind_catches_up_from_the_database[sqlite]",
    ),
    (
        "core/schedule_history.py",
        "        if at not in fired:\n",
        "        if at > group[0].at and at not in fired:\n",
        f"{SCHEDULES}::test_a_firing_that_was_lost_between_others_is_named[sqlite-fire_all]",
    ),
    (
        "core/schedule_history.py",
        "    if is_settled and is_known:\n",
        "    if is_settled and not is_known:\n",
        f"{SCHEDULES}::test_the_last_firing_that_was_lost_is_named[sqlite]",
    ),
    (
        "actions/explain_act.py",
        'data.get("tier"))',
        "None)",
        f"{EXPLAIN}::test_the_tier_of_that_day_is_remembered[sqlite]",
    ),
    (
        "actions/simulated.py",
        "            if reason in ECHOES:\n                continue\n",
        "",
        f"{SIMULATE}::test_an_echo_is_no_news",
    ),
    (
        "actions/arrivals.py",
        'if data and "retry_of" not in data["event"]:',
        "if data:",
        f"{SIMULATE}::test_the_record_played_under_its_own_policy_is_the_record[sqlite]",
    ),
    (
        "store/questions_ends.py",
        "when max(result) is null then max(ended_at) > (select after_at from given)",
        "when max(result) is null then max(ended_at) < 0",
        f"{ENDS}[sqlite-a_run_that_failed_in_silence-run_end_is_in_the_ledger]",
    ),
    (
        "store/questions_ends.py",
        "where c.place > coalesce(r.attempts_max, 1)",
        "where c.place > 1 + coalesce(r.attempts_max, 1)",
        f"{ENDS}[sqlite-one_attempt_more-attempts_stay_within_their_limit]",
    ),
    (
        "store/questions_ends.py",
        "where m.{_OWN} and m.marked_at > {_PRUNED_AT} and not exists (",
        "where m.{_OWN} and m.marked_at < 0 and not exists (",
        f"{ENDS}[sqlite-a_forged_marker-marker_has_its_entry]",
    ),
    (
        "actions/keep_ledger.py",
        "    count_ledger(db, tenant_id)\n",
        "",
        f"{KEEP}::test_what_is_old_and_exported_leaves_and_the_chain_goes_on",
    ),
    (
        "core/schedule_history.py",
        "yield from (gap._replace(is_notice=is_other) for gap in _differences(plan, group))",
        "yield from _differences(plan, group)",
        f"{SCHEDULES}::test_new_time_zone_data_are_a_notice_about_the_past[sqlite]",
    ),
    (
        "store/questions.py",
        "        where w.last_at > o.locked_until",
        "        where w.last_at < 0",
        f"{ACTIONS}/test_verify.py::test_what_is_broken_is_found[sqlite-a_lease_without_end]",
    ),
    (
        "store/questions.py",
        "group by 1 having count(*) > 1\n        union all",
        "group by 1 having count(*) > 2\n        union all",
        f"{ACTIONS}/test_verify.py::test_what_is_broken_is_found[sqlite-a_discard_told_twice]",
    ),
    (
        "store/questions.py",
        "join messages m on cast(m.id as text) = d.subject",
        "join messages m on cast(m.id as text) <> m.id",
        f"{ACTIONS}/test_verify.py::test_what_is_broken_is_found[sqlite-a_discard]",
    ),
    (
        "store/questions.py",
        "t.event_fate = 'discarded'",
        "t.event_fate = 'dead'",
        f"{ACTIONS}/test_usage_events.py"
        "::test_a_discard_that_only_its_turn_remembers_is_found[sqlite]",
    ),
]
