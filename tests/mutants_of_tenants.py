"""Guards of tenant tiers and of --app: each without it, and the test that must notice."""

TIERS = "tests/actions/test_tenant_tiers.py"
WAITS = f"{TIERS}::test_a_policy_waits_for_whoever_gives_out_its_tier"

TENANTS = [
    (
        "actions/create_tenant.py",
        "hold_tier(db, tx, tier)",
        "pass",
        f"{TIERS}::test_where_the_policy_has_no_tiers_that_is_said",
    ),
    (
        "actions/change_tenant.py",
        "hold_tier(db, tx, tier)",
        "pass",
        f"{TIERS}::test_where_the_policy_has_no_tiers_that_is_said",
    ),
    (
        "actions/apply_policy.py",
        "refuse_dropped(tx, current, checked)",
        "pass",
        f"{TIERS}::test_a_policy_keeps_the_tiers_that_tenants_have",
    ),
    ("actions/tenant_tiers.py", "tenants.hold_tiers(tx)", "pass", WAITS),
    ("actions/tenant_tiers.py", "tenants.close_tiers(tx)", "pass", WAITS),
    (
        "tenant_methods.py",
        "        return tenant_of(change_tenant(",
        "        from watchkeeper.actions.create_tenant import create_tenant\n\n"
        "        create_tenant(self._db, tenant)\n        return tenant_of(change_tenant(",
        "tests/app/test_tenants.py::test_a_refused_call_makes_no_tenant",
    ),
    (
        "cli/policy.py",
        "    if refused is not None:\n        raise typer.Exit(FOUND)\n",
        "",
        "tests/cli/test_orders.py"
        "::test_a_policy_that_apply_refuses_is_found_by_check_and_told_by_plan[sqlite]",
    ),
    (
        "cli/load_app.py",
        "if value.is_closed:",
        "if False:",
        "tests/cli/test_load_app.py::test_an_app_that_is_closed_is_named_as_that",
    ),
    (
        "cli/load_app.py",
        "if _is_own(place.filename)",
        "",
        "tests/cli/test_load_app.py"
        "::test_an_error_at_import_is_told_with_the_lines_of_the_users_own_code",
    ),
]
