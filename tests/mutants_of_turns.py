"""Guards of turns and quota: where each stands, without it, and the test that must notice."""

CORE, ACTIONS, STORE = "tests/core", "tests/actions", "tests/store"

SECRETS = "tests/app/test_secrets.py"

TURNS = [
    (
        "store/keyring.py",
        "AESGCM(key).encrypt(nonce, secret.encode(), owner.encode())",
        'AESGCM(key).encrypt(nonce, secret.encode(), b"")',
        f"{SECRETS}::test_every_changed_byte_is_noticed",
    ),
    (
        "actions/set_sink.py",
        "sinks.put(tx, sealed(db.keyring, sink))",
        "sinks.put(tx, sink)",
        f"{SECRETS}::test_what_is_stored_is_not_the_secret_and_messages_are_signed_with_it[sqlite]",
    ),
    (
        "actions/set_sink.py",
        "        if new.secret is None:\n            told",
        "        if False:\n            told",
        f"{SECRETS}::test_a_secret_that_cannot_be_decrypted_is_not_replaced_unasked",
    ),
    (
        "actions/set_sink.py",
        "if secret and needed is not None:",
        "if False:",
        f"{SECRETS}::test_no_secret_is_stored_in_plain_text_beside_encrypted_ones[sqlite]",
    ),
    (
        "actions/deliver_outside.py",
        "if db.sinks.may_warn(sink.owner):",
        "if False:",
        f"{SECRETS}::test_messages_wait_while_the_key_is_missing_and_a_new_secret_sends_them",
    ),
    (
        "core/quota.py",
        "used + needed > limit",
        "used + needed >= limit",
        f"{CORE}/test_quota.py::test_the_first_model_that_fits_everywhere",
    ),
    (
        "core/quota.py",
        "return -(-tokens * multiplier_micro // MICRO)",
        "return tokens * multiplier_micro // MICRO",
        f"{CORE}/test_quota.py::test_a_kind_of_token_is_rounded_up",
    ),
    (
        "core/turns.py",
        "computed, min(computed, most)",
        "computed, computed",
        f"{CORE}/test_turns.py::test_never_more_than_reserve_and_tolerance",
    ),
    (
        "core/turns.py",
        "(not ending.is_timeout or turn.deadline_at < now)",
        "True",
        f"{ACTIONS}/test_turn_races.py::test_progress_between_the_watchdogs_look_and_its_deed[sqlite]",
    ),
    (
        "moves/settlement.py",
        "Level(reserved + reserve_micro, spent)",
        "Level(reserved, spent)",
        f"{ACTIONS}/test_turns.py::test_each_of_a_batch_sees_what_those_before_it_took[sqlite]",
    ),
    (
        "moves/settlement.py",
        "held[ending.turn_id] = after",
        "pass",
        f"{ACTIONS}/test_turns.py::test_one_turn_ended_twice_in_one_transaction[sqlite]",
    ),
    (
        "moves/settlement.py",
        "return turn.finalize_id == ending.finalize_id",
        "return False",
        f"{ACTIONS}/test_turns_lost_commit.py::test_an_end_is_the_callers_own",
    ),
    (
        "store/tenants.py",
        "where tenant_id = %s for no key update)",
        "where tenant_id = %s)",
        f"{ACTIONS}/test_turn_races.py::test_a_reserve_that_waited_is_judged_by_what_it_finds",
    ),
    (
        "store/turns.py",
        "o.status = 'processing' and o.locked_until > c.at",
        "o.status = 'none'",
        f"{ACTIONS}/test_meter_runs.py::test_the_watchdog_leaves_a_run_under_a_living_lease_alone",
    ),
    (
        "store/turns.py",
        "        send_lock(tx, [turn_id])  # before",
        "        pass  # before",
        f"{ACTIONS}/test_turn_races.py::test_a_progress_waits_for_another_and_is_one_too",
    ),
    (
        "store/turns.py",
        "select {_COLUMNS} from turns where {_BY_TURN} for no key update) t",
        "select {_COLUMNS} from turns where {_BY_TURN}) t",
        f"{ACTIONS}/test_turn_races.py::test_an_end_waits_for_a_progress_under_way",
    ),
    (
        "actions/meter_runs.py",
        "        if turn.is_running:\n            return Reserved(turn, is_new=False)\n",
        "        pass\n",
        f"{ACTIONS}/test_meter_runs.py::test_a_run_has_one_turn_at_a_time[sqlite]",
    ),
    (
        "store/quotas.py",
        "values (?1, ?2, ?3, ?4, ?5, max(?6, 0),",
        "values (?1, ?2, ?3, ?4, ?5, ?6,",
        f"{ACTIONS}/test_turns.py::test_a_missing_bucket_is_made_when_a_turn_ends[sqlite]",
    ),
    (
        "store/quotas.py",
        "reserved_micro = greatest(q.reserved_micro + v.r, 0)",
        "reserved_micro = q.reserved_micro + v.r",
        f"{ACTIONS}/test_turns.py::test_a_bucket_that_forgot_its_reserve_does_not_stop_an_end",
    ),
    (
        "store/outbox.py",
        "    _refuse_usage(fresh)\n",
        "",
        f"{STORE}/test_usage_keys.py::test_nobody_but_its_end_tells_of_a_turn[sqlite]",
    ),
    (
        "store/enqueue_on.py",
        "            _doom(engine, driver)\n",
        "            pass\n",
        f"{STORE}/test_usage_keys.py::test_on_a_connection_of_theirs",
    ),
    (
        "store/migrations/versions/0002_sqlite.sql",
        "select raise(abort, 'a turn would be settled without its usage event')",
        "select 1",
        f"{STORE}/test_turn_rules.py::test_no_end_without_its_event[sqlite]",
    ),
    (
        "store/migrations/versions/0002_postgresql.sql",
        "'/', 2) and t.event_id = new.id\n",
        "'/', 2)\n",
        f"{STORE}/test_usage_keys.py::test_not_even_by_a_statement_of_ones_own",
    ),
    (
        "actions/watch_turns.py",
        "        if len(endings) > 1:\n",
        "        if False:\n",
        "tests/moves/test_turns_all_or_nothing.py"
        "::test_one_turn_that_cannot_end_keeps_no_other_from_it[sqlite]",
    ),
    (
        "actions/report_outcome.py",
        "0 if message is None else message.generation",
        "0",
        f"{ACTIONS}/test_report_outcome.py::test_a_run_that_was_redriven_is_another_turn",
    ),
    (
        "actions/count_turns.py",
        "case Reserved(turn=turn, is_new=True):",
        "case Reserved(turn=turn):",
        "tests/http/test_turns.py::test_what_is_reserved_charged_and_refused_is_counted",
    ),
    (
        "http/turns.py",
        "place is None or int(place[1]) > INTEGER_MAX",
        "place is None",
        "tests/http/test_turns.py::test_a_cursor_that_was_made_up_is_refused",
    ),
    (
        "store/turns.py",
        "order by tenant_id limit 2",
        "order by tenant_id limit 1",
        "tests/http/test_turns.py::test_a_key_for_all_tenants_need_not_name_the_turns_own",
    ),
]
