"""Guards of the pages that act: where each stands, without it, and the test that must notice."""

PAGES = "tests/http/pages"

OPERATING_PAGES = [
    (
        "http/form.py",
        'path.startswith("/") and not path.startswith(("//", "/\\\\")) and path.isprintable()',
        'path.startswith("/") and path.isprintable()',
        f"{PAGES}/test_plans.py::test_afterwards_only_a_page_of_ours_is_shown",
    ),
    (
        "actions/deeds.py",
        "if self.needs_reason and not order.reason:",
        "if False:",
        f"{PAGES}/test_plans.py::test_a_step_is_skipped_for_a_reason_only[sqlite]",
    ),
    (
        "store/plan_board.py",
        "shown = [found[plan_id] for plan_id in wanted]",
        "shown = list(found.values())[:1]",
        f"{PAGES}/test_plans.py::test_long_lists_come_in_pages_and_counts_stop_honestly[sqlite]",
    ),
    (
        "store/outbox_look.py",
        "if floor is None or one.id >= floor]",
        "]",
        f"{PAGES}/test_outbox.py::test_every_message_is_on_one_page_whatever_is_looked_through",
    ),
    (
        "store/outbox_look.py",
        " and done_at <= %s and (done_at < %s or id < %s)",
        " and done_at <= %s and (done_at < %s or id <> %s)",
        f"{PAGES}/test_outbox.py::test_every_message_is_on_one_page_whatever_is_looked_through",
    ),
    (
        "http/pages/outbox.py",
        'force = page.form.get("force") == "yes"',
        "force = True",
        f"{PAGES}/test_outbox.py::test_a_delivered_one_is_sent_again_only_where_the_form_says_so",
    ),
    (
        "store/kill_effects.py",
        "one == kind and at >= since for one",
        "one == kind for one",
        f"{PAGES}/test_kill_switches.py::test_only_what_was_refused_since_counts",
    ),
    (
        "store/kill_effects.py",
        "int(count) + _since(tail.refused, kind, since)",
        "int(count)",
        f"{PAGES}/test_kill_switches.py::test_only_what_was_refused_since_counts",
    ),
    (
        "http/pages/kill_switches.py",
        'is_own = scope != "all" and form.get("whose") != EVERYBODY',
        'is_own = scope != "all"',
        f"{PAGES}/test_kill_switches.py::test_a_key_for_all_tenants_stops_one_or_all[sqlite]",
    ),
    (
        "http/pages/clock.py",
        "    if not page.server.dev:\n",
        "    if False:\n",
        f"{PAGES}/test_clock.py::test_there_is_no_time_travel_but_in_development[sqlite]",
    ),
    (
        "http/pages/clock.py",
        "@needs(Access.ADMINISTER, all_tenants=True)",
        "@needs(Access.ADMINISTER)",
        f"{PAGES}/test_clock.py::test_only_an_admin_of_all_tenants_moves_time",
    ),
    (
        "http/pages/clock.py",
        "for one in next_due(page.server.db) if own in (None, one.tenant_id)]",
        "for one in next_due(page.server.db)]",
        f"{PAGES}/test_clock.py::test_a_tenants_key_sees_its_own_only[sqlite]",
    ),
]
