"""Guards of connections and database errors: where each stands, without it, and what notices."""

ERRORS = "tests/store/test_database_errors.py"
CALLS = "tests/app/test_every_call.py"
BOUNDED = "tests/actions/test_bounded_reads.py"
TURNSTILE = "tests/store/test_turnstile.py"
GREEDY = f"{TURNSTILE}::test_a_refused_reader_goes_before_the_writer_that_begins_again"
POISON = f"{ERRORS}::test_an_error_before_the_begin_leaves_no_poisoned_connection"

DATABASES = [
    (
        "store/database.py",
        "            elif not postgres.is_undone(driver):\n",
        "            elif False:\n",
        POISON,
    ),
    (
        "store/database.py",
        "            self.pause(attempt)\n",
        "",
        f"{ERRORS}::test_a_conflict_is_tried_again_after_a_pause",
    ),
    (
        "store/database.py",
        "        if self._is_closed:\n            raise Closed",
        "        return",
        f"{CALLS}::test_an_app_in_memory_says_so_too",
    ),
    (
        "store/database.py",
        "            raise ours from error",
        "            raise",
        f"{CALLS}::test_a_database_that_fails_is_unavailable_at_every_method",
    ),
    (
        "store/postgres.py",
        'event.listen(engine, "checkout", _check_alive)',
        "pass",
        f"{ERRORS}::test_connections_of_before_a_cut_are_replaced_before_anything_is_sent",
    ),
    (
        "store/postgres.py",
        "            pipeline.__exit__(None, None, None)\n        raise",
        "            pipeline.__exit__(ValueError, ValueError(), None)\n        raise",
        f"{ERRORS}::test_a_batch_whose_statement_fails_is_not_logged_by_the_driver",
    ),
    (
        "store/postgres.py",
        "    if isinstance(original, psycopg.errors.PipelineAborted):\n        return False",
        "    if False:\n        return False",
        f"{ERRORS}::test_a_commit_that_was_skipped_is_not_unknown",
    ),
    (
        "actions/verify.py",
        "SLICE_ACCOUNTS = 1_000",
        "SLICE_ACCOUNTS = 1_000_000_000",
        f"{BOUNDED}::test_no_read_transaction_is_long",
    ),
    (
        "store/questions_preamble.py",
        "cast(value ->> 'version' as integer) as version, cast(value ->> 'tier' as text) as tier,",
        "value ->> 'version' as version, value ->> 'tier' as tier,",
        f"{BOUNDED}::test_no_read_transaction_is_long",
    ),
    (
        "store/questions.py",
        "at < previous_at + (select max(ttl) from rules) and ",
        "",
        f"{BOUNDED}::test_no_read_transaction_is_long",
    ),
    (
        "actions/scan_ledger.py",
        "SCANNED = 5_000",
        "SCANNED = 5_000_000",
        f"{BOUNDED}::test_no_other_reader_is_long",
    ),
    (
        "actions/verify_ledger.py",
        "ENTRIES_PAGE = 1_000",
        "ENTRIES_PAGE = 1_000_000",
        f"{BOUNDED}::test_no_other_reader_is_long",
    ),
    (
        "store/tallies.py",
        "SLICE = 5_000",
        "SLICE = 1_000_000",
        f"{BOUNDED}::test_no_other_reader_is_long",
    ),
    (
        "store/clock.py",
        """insert into clock ("only", now_at)""",
        "insert into clock (only, now_at)",
        "tests/app/test_options.py",
    ),
    (
        "store/database.py",
        "        with self.turnstile.passed():\n",
        "        if True:\n",
        GREEDY,
    ),
    (
        "store/sqlite.py",
        "    with turnstile.held():\n",
        "    if True:\n",
        GREEDY,
    ),
    (
        "store/sqlite.py",
        'driver.execute("PRAGMA busy_timeout = 0")  # it waits',
        'driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")  # it waits',
        f"{TURNSTILE}::test_a_reader_looks_once_before_it_holds_the_turnstile",
    ),
    (
        "store/sqlite.py",
        "url.database if is_refusing else None",
        "url.database",
        f"{TURNSTILE}::test_write_ahead_logs_need_none",
    ),
    (
        "store/turnstile.py",
        "LOOKS_MAX = 1_000\n",
        "LOOKS_MAX = 100_000\n",
        f"{TURNSTILE}::test_a_writer_goes_on_when_a_reader_holds_it_for_too_long",
    ),
    (
        "store/turnstile.py",
        "self._locked(fcntl.LOCK_SH, makes=False)",
        "self._locked(fcntl.LOCK_EX, makes=False)",
        f"{TURNSTILE}::test_a_writer_waits_until_the_last_one_lets_go",
    ),
    (
        "store/turnstile.py",
        "self._locked(fcntl.LOCK_EX, fcntl.LOCK_SH, makes=True)",
        "self._locked(fcntl.LOCK_SH, makes=True)",
        f"{TURNSTILE}::test_a_refused_writer_goes_before_the_writer_that_begins_again",
    ),
    (
        "store/turnstile.py",
        "os.stat(self._database).st_mode & _PERMISSIONS",
        "_PERMISSIONS",
        f"{TURNSTILE}::test_those_may_open_it_who_may_open_the_database",
    ),
]
