"""Guards at the doors of looking: where each stands, without it, and the test that must notice."""

HTTP = "tests/http"

PULL_DOORS = [
    (
        "actions/show_heat.py",
        "rule.advance(stored[0].state, rules.heat, now)",
        "stored[0].state",
        f"{HTTP}/test_heat.py::test_what_is_shown_is_what_holds_now_though_nobody_swept[sqlite]",
    ),
    (
        "actions/show_heat.py",
        "[one for one in some if one.heat.heat_tier == tier.name]",
        "some",
        f"{HTTP}/test_heat.py::test_accounts_of_a_tier_are_those_that_are_in_it_now[sqlite]",
    ),
    (
        "actions/show_heat.py",
        "        after = names[-1]\n",
        "        break\n",
        f"{HTTP}/test_heat.py::test_a_page_of_a_tier_looks_past_those_that_have_left_it[sqlite]",
    ),
    (
        "store/heats.py",
        "(tier = %s or (tier > %s and changes_at <= %s)",
        "(tier = %s or (tier > %s and changes_at > %s)",
        f"{HTTP}/test_heat.py::test_accounts_of_a_tier_are_those_that_are_in_it_now[sqlite]",
    ),
    (
        "core/pulls.py",
        "self.connectors.get(connector_id, self.connectors.get(EVERY))",
        "self.connectors.get(connector_id)",
        f"{HTTP}/test_budgets.py::test_one_number_is_a_cap_for_each_connector[sqlite]",
    ),
    (
        "actions/request_pull.py",
        "tx.after_commit.append(partial(count_pulls, answers))",
        "count_pulls(answers)",
        f"{HTTP}/test_pulls.py::test_what_was_rolled_back_is_not_counted[sqlite]",
    ),
    (
        "telemetry.py",
        "len(seen) >= NAMES_MAX",
        "False",
        f"{HTTP}/test_pulls.py::test_names_of_connectors_are_counted_up_to_a_bound",
    ),
    (
        "http/connectors.py",
        "@needs(Access.ADMINISTER, all_tenants=True)",
        "@needs(Access.ADMINISTER)",
        f"{HTTP}/test_connectors.py::test_only_an_admin_of_all_tenants_sets_limits[sqlite]",
    ),
    (
        "http/app.py",
        "    register_perceive(registry, db)\n",
        "",
        f"{HTTP}/test_pulls.py::test_a_server_without_workers_ends_the_pull_it_discards[sqlite]",
    ),
]
