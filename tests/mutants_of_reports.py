"""Guards of reports and milestones: where each stands, without it, and the test that notices."""

CORE, ACTIONS = "tests/core", "tests/actions"
RULE, DOCUMENT = f"{CORE}/test_milestones.py", f"{CORE}/test_reports.py"
TICKS, REPORTS = f"{ACTIONS}/test_milestones.py", f"{ACTIONS}/test_reports.py"

REPORTING = [
    (
        "core/milestones.py",
        "milestone.after_us <= age_us and (end_us is None or age_us < end_us)",
        "milestone.after_us <= age_us and (end_us is None or age_us <= end_us)",
        f"{RULE}::test_what_is_due",
    ),
    (
        "core/milestones.py",
        "Instant(max(until, state.backoff_until_at or 0))",
        "Instant(until)",
        f"{RULE}::test_a_clock_that_steps_back_never_shortens_a_backoff",
    ),
    (
        "core/milestones.py",
        "FIRST_BACKOFF_US if failures == 1 else BACKOFF_US",
        "FIRST_BACKOFF_US",
        f"{RULE}::test_half_an_hour_then_two_hours_for_every_further_failure",
    ),
    (
        "core/report_build.py",
        " and one.reason != DUPLICATE",
        "",
        f"{DOCUMENT}::test_the_sections_say_what_was_counted",
    ),
    (
        "core/report_check.py",
        "    found = _JUDGEMENT.search(text)\n",
        "    found = None\n",
        f"{DOCUMENT}::test_judgements_and_bare_numbers_are_refused_wherever_we_write",
    ),
    (
        "core/report_check.py",
        "        if count.window != report.header.window:\n",
        "        if False:\n",
        f"{DOCUMENT}::test_what_is_not_whole_or_does_not_add_up_is_refused",
    ),
    (
        "moves/reporting.py",
        "    refuse_unfit(report)\n    return Drawn",
        "    return Drawn",
        f"{REPORTS}::test_a_report_that_its_check_refuses_is_not_stored_not_even_in_part",
    ),
    (
        "actions/tick_milestones.py",
        "if planned_at is not None and milestones.tick_at(tx) != planned_at:",
        "if False:",
        f"{TICKS}::test_a_tick_that_comes_twice_does_nothing",
    ),
    (
        "store/tallies.py",
        "    hours = [row[0] for row in cut] + [-1, -1]\n",
        "    cut = []\n    hours = [-1, -1]\n",
        f"{REPORTS}::test_what_lies_before_the_installation_is_not_counted",
    ),
    (
        "store/outbox_upkeep.py",
        "        tallies.count_swept(session, tenant_id, old)\n",
        "",
        f"{REPORTS}::test_messages_that_retention_removed_were_delivered_all_the_same",
    ),
]
