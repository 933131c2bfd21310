"""Guards of opening and upgrading a database: each, without it, and the test that must notice."""

MIGRATING, UPGRADES = "tests/store/test_migrating.py", "tests/store/test_upgrades.py"
HOT, OPENING = "tests/store/test_hot_journal.py", "tests/cli/test_opening.py"
REPLACING = "tests/store/test_replacing.py"
NEVER = "store/migrations/versions/0011_sqlite.sql"
RUNNER = "store/migrations/__init__.py"

OPENED = [
    (
        RUNNER,
        '                driver.execute("BEGIN IMMEDIATE")\n',
        "                driver.isolation_level = None\n",
        f"{MIGRATING}::test_an_upgrade_that_is_killed_leaves_the_former_schema_and_its_rows",
    ),
    (
        RUNNER,
        'execution_options(isolation_level="READ COMMITTED")',
        "execution_options()",
        f"{UPGRADES}::test_an_app_upgrades_in_one_transaction",
    ),
    (
        RUNNER,
        "        _refuse_differences(conn)\n",
        "",
        f"{UPGRADES}::test_a_database_of_an_edited_schema_is_refused_and_left_alone",
    ),
    (
        RUNNER,
        "before is not None and before > HEAD",
        "False",
        f"{UPGRADES}::test_a_database_of_a_newer_release_is_refused[sqlite]",
    ),
    (
        RUNNER,
        "        if version_of(db) == HEAD:\n            return\n",
        "        version_of(db)\n",
        f"{MIGRATING}::test_a_migrated_database_is_opened_without_the_write_lock",
    ),
    (
        RUNNER,
        "logger.setLevel(max(level, logging.WARNING))",
        "logger.setLevel(level)",
        f"{MIGRATING}::test_a_fresh_process_hears_nothing_of_alembic",
    ),
    (
        RUNNER,
        " and _place(make_url(migrate_url)) == _place(url)",
        "",
        f"{OPENING}::test_an_app_migrates_as_the_owner_of_its_own_database_only",
    ),
    (
        RUNNER,
        "            if not _is_absent(error):\n                raise\n",
        "",
        f"{HOT}::test_a_version_that_cannot_be_read_is_not_a_missing_one",
    ),
    (
        "store/migrations/grants.py",
        '" with inherit false, set true" if has_options else ""',
        '""',
        f"{OPENING}::test_the_login_sees_nothing_before_it_takes_its_role",
    ),
    (
        "store/sqlite.py",
        "        if not needs_recovery(error):\n",
        "        if error:\n",
        f"{HOT}::test_a_living_process_reads_and_writes_on[rollback]",
    ),
    (
        NEVER,
        "t.tenant_id = new.tenant_id and t.entry_id = new.entry_id)",
        "false)",
        f"{REPLACING}::test_no_row_that_is_final_is_replaced_by_a_key",
    ),
    (
        NEVER,
        "new.rowid > 0 and exists (select 1 from milestones t where t.rowid = new.rowid)",
        "false",
        f"{REPLACING}::test_no_row_that_is_final_is_replaced_by_its_rowid",
    ),
    (
        NEVER,
        "before update of rowid, _rowid_, oid on turns",
        "before update of rowid on turns",
        f"{REPLACING}::test_no_row_moves_to_the_rowid_of_another[oid]",
    ),
    (
        NEVER,
        "when new.status = 'ACTIVE' and old.status <> 'ACTIVE' and exists",
        "when false and exists",
        f"{REPLACING}::test_an_active_plan_and_an_open_intent_stay",
    ),
]
