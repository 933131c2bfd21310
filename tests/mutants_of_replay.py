"""Guards of replay, plans, bundles, why-not and shadows, each with the test that must notice."""

REPLAY, GATE, CHANGE = "core/replay.py", "core/replay_gate.py", "core/smallest_change.py"
APART = "core/replay_apart.py"
CORE, ACTIONS = "tests/core", "tests/actions"
FOLD = f"{CORE}/test_replay.py"

REPLAYS = [
    (
        GATE,
        "abs(fired_at - last_trigger_at) < rule.debounce_us",
        "abs(fired_at - last_trigger_at) <= rule.debounce_us",
        f"{FOLD}::test_a_threshold_is_passed_at_its_own_second",
    ),
    (
        GATE,
        "if since is not None and now < since + rule.cooldown_us:",
        "if since is not None and now <= since + rule.cooldown_us:",
        f"{FOLD}::test_a_threshold_is_passed_at_its_own_second",
    ),
    (
        GATE,
        "now < own_due + OVERDUE_US",
        "now < own_due",
        f"{FOLD}::test_the_rules_that_ruled_change_nothing",
    ),
    (
        APART,
        "if state.pending.get(trigger_type) == (due_at, deferral):",
        "if True:",
        f"{FOLD}::test_a_retry_that_was_lost_does_not_come_for_the_one_after_it",
    ),
    (
        REPLAY,
        "if pending.decision_id != event.retry_of:",
        "if False:",
        f"{FOLD}::test_what_another_type_waits_for_still_comes",
    ),
    (
        APART,
        "own.day_runs += 1",
        "own.day_runs += 0",
        f"{FOLD}::test_the_quick_gate_is_the_gate",
    ),
    (
        "core/replay_text.py",
        "cut, end = text.find(self._ruled), text.rfind(self._tiered)",
        """cut, end = text.find(',"policy"'), text.rfind(',"verdict":')""",
        f"{FOLD}::test_another_tier_is_seen_in_a_text",
    ),
    (
        "core/replay_keys.py",
        "if until is not None and now < until:",
        "if until is not None and now < until - 10**9:",
        f"{FOLD}::test_a_key_is_held_for_as_long_as_the_new_policy_says",
    ),
    (
        "actions/plan_policy.py",
        "return [one.result() for one in waiting]",
        "return [one.result() for one in reversed(waiting)]",
        f"{ACTIONS}/test_plan_policy.py::test_a_plan_says_the_same_with_any_number_of_processes"
        "[sqlite]",
    ),
    (
        "core/policy_change.py",
        "        elif not isinstance(before, Mapping):\n",
        "        else:\n",
        f"{CORE}/test_policy_meanings.py::test_a_change_is_laid_on_what_ruled_then",
    ),
    (
        "core/policy_parse.py",
        "then = overlay(_first(), said) if effective is None else _document(effective)",
        "then = overlay(_shipped(), said)",
        f"{CORE}/test_policy_meanings.py::test_a_stored_version_is_not_moved_by_what_ships",
    ),
    (
        CHANGE,
        'if section in ("tier", "tenant"):',
        "if False:",
        f"{CORE}/test_smallest_change.py",
    ),
    (
        CHANGE,
        "    if since > case.now:\n        return None",
        "    if since > case.now:\n        pass",
        f"{CORE}/test_smallest_change.py",
    ),
    (
        "core/bundle.py",
        'if sha256_hex(body) != found["hash"]:',
        "if False:",
        f"{ACTIONS}/test_bundles.py::test_a_changed_bundle_says_so[sqlite]",
    ),
    (
        "core/bundle.py",
        'if again != found["entry"]:',
        "if False:",
        f"{ACTIONS}/test_bundles.py::test_a_changed_bundle_that_was_hashed_again_says_so_too[sqlite]",
    ),
    (
        "actions/follow_shadows.py",
        "if held is None or held.shadow_id != shadow.shadow_id:",
        "if held is None:",
        f"{ACTIONS}/test_shadows.py::test_one_that_is_set_again_begins_again[sqlite]",
    ),
    (
        "actions/follow_shadows.py",
        "            fold.go_on(rested)",
        "            pass",
        f"{ACTIONS}/test_shadows.py::test_each_event_is_judged_once_wherever_it_is_cut[sqlite]",
    ),
]
