"""Guards of the dashboard: where each stands, without it, and the test that must notice."""

PAGES_TESTS = "tests/http/pages"
SESSION, SECURITY = f"{PAGES_TESTS}/test_session.py", f"{PAGES_TESTS}/test_page_security.py"
LIVE, POLICY = f"{PAGES_TESTS}/test_live.py", f"{PAGES_TESTS}/test_policy.py"

PAGES = [
    (
        "http/form.py",
        "    if not compare_digest(given, expected.encode()):\n",
        "    if False:\n",
        f"{SECURITY}::test_a_form_that_is_not_ours_changes_nothing",
    ),
    (
        "http/form.py",
        'is_ours = site in ("same-origin", "none")',
        "is_ours = True",
        f"{SECURITY}::test_nobody_is_logged_in_by_another_site",
    ),
    (
        "http/form.py",
        'is_ours = origin is None or _host_of(origin) == request.headers.get("host", "").lower()',
        "is_ours = True",
        f"{SECURITY}::test_nobody_is_logged_out_by_another_site",
    ),
    (
        "http/form.py",
        'and not path.startswith(("//", "/\\\\"))',
        'and not path.startswith("//")',
        f"{SESSION}::test_after_the_login_one_stays_here",
    ),
    (
        "http/session.py",
        "        if expires <= time.time():\n",
        "        if False:\n",
        f"{SESSION}::test_a_session_ends_by_wall_time_whatever_the_virtual_clock_shows[sqlite]",
    ),
    (
        "http/session.py",
        'if not hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode()):',
        "if False:",
        f"{SESSION}::test_whatever_was_changed_in_a_cookie_it_is_refused[sqlite]",
    ),
    (
        "http/session.py",
        "if name == DEV and self._dev is not None:",
        "if name == DEV:",
        f"{SESSION}::test_elsewhere_nobody_is_in_without_a_key[sqlite]",
    ),
    (
        "http/keys.py",
        'hmac.digest(self._admin or b"-", own, "sha256")',
        "own",
        f"{SESSION}::test_a_copy_of_the_database_opens_no_session[sqlite]",
    ),
    (
        "http/page.py",
        "named is not None and _is_loopback(peer) and not is_passed_on",
        "named is not None and not is_passed_on",
        f"{SESSION}::test_in_development_nobody_else_is",
    ),
    (
        "http/page.py",
        "named is not None and _is_loopback(peer) and not is_passed_on",
        "_is_loopback(peer) and not is_passed_on",
        f"{SESSION}::test_in_development_nobody_else_is",
    ),
    (
        "http/page.py",
        "    return (caller.role, caller.tenant_id, chosen, address(request))\n",
        "    return (caller.role, caller.tenant_id, address(request))\n",
        f"{SECURITY}::test_a_rendering_is_shared_by_tenant",
    ),
    (
        "http/page.py",
        "    return (caller.role, caller.tenant_id, chosen, address(request))\n",
        "    return (caller.tenant_id, chosen, address(request))\n",
        f"{SECURITY}::test_a_shared_rendering_is_never_somebody_elses",
    ),
    (
        "http/glances.py",
        ".replace(kept.csrf.encode(), csrf.encode())",
        "",
        f"{SECURITY}::test_a_shared_rendering_is_never_somebody_elses",
    ),
    (
        "http/page.py",
        "                self.need.check(session.caller)\n",
        "",
        f"{SECURITY}::test_each_role_does_what_is_its_own",
    ),
    (
        "http/pages/login.py",
        "    if seconds:\n",
        "    if False:\n",
        f"{SESSION}::test_wrong_keys_are_slowed_down_by_address[sqlite]",
    ),
    (
        "http/pages/live.py",
        "return found is not None and found.caller == self._page.caller",
        "return True",
        f"{LIVE}::test_a_revoked_key_ends_it[sqlite]",
    ),
    (
        "actions/apply_policy.py",
        "if against is not None and current.version != against:",
        "if False:",
        f"{POLICY}::test_a_comparison_that_is_old_puts_nothing_in_force[sqlite]",
    ),
    (
        "actions/plan_policy.py",
        "if entries_max is not None and entries > entries_max:",
        "if False:",
        f"{POLICY}::test_a_plan_is_bounded[sqlite]",
    ),
    (
        "http/pages/policy.py",
        "    if not _may_look(page):\n",
        "    if False:\n",
        f"{POLICY}::test_a_tenant_sees_what_rules_it_and_no_more[sqlite]",
    ),
    (
        "http/pages/policy.py",
        "None if _may_look(page) else page.tenant",
        "None",
        f"{POLICY}::test_a_tenant_sees_what_rules_it_and_no_more[sqlite]",
    ),
    (
        "core/replay_tally.py",
        "return ADDED if self.runs > 0 else SAVED if self.runs < 0 else OTHER",
        "return OTHER",
        "tests/actions/test_plan_policy.py::test_flips_are_told_by_their_hour[sqlite]",
    ),
]
