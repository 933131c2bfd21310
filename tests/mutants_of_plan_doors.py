"""Guards at the doors of acting: where each stands, without it, and the test that must notice."""

PLANS = "tests/http/test_plans.py"
AUDIT = "tests/actions/test_verify_act.py"

PLAN_DOORS = [
    (
        "moves/plans.py",
        "    accounts.ensure(desk.tx, plan.account_id)\n    plans.insert",
        "    plans.insert",
        f"{PLANS}::test_a_plan_is_written_as_a_draft_and_shown[sqlite]",
    ),
    (
        "moves/plans.py",
        "correlation_id=new.correlation_id or before.correlation_id",
        "correlation_id=new.correlation_id",
        f"{PLANS}::test_only_a_draft_can_be_written_anew[sqlite]",
    ),
    (
        "http/views_act.py",
        '"counted": not found.is_late',
        '"counted": True',
        f"{PLANS}::test_an_outcome_counts_once_and_a_late_one_changes_nothing[sqlite]",
    ),
    (
        "http/plans.py",
        "    if before and not is_identifier(before):\n",
        "    if False:\n",
        f"{PLANS}::test_lists_come_in_pages[sqlite-plans]",
    ),
    (
        "http/intents.py",
        "None if plan_id is None else plan_id.lower()",
        "plan_id",
        f"{PLANS}::test_lists_are_filtered[sqlite]",
    ),
    (
        "plan_methods.py",
        "    except BaseException as error:\n        if type(error) is Keyb",
        "    except ValueError as error:\n        if type(error) is Keyb",
        f"{PLANS}::test_a_proposal_is_a_draft_without_what_is_not_allowed[sqlite]",
    ),
    (
        "core/plan_choices.py",
        "if plan.status is PlanStatus.ACTIVE and intent is not None:",
        "if intent is not None:",
        f"{PLANS}::test_why_says_what_is_waited_for_and_what_to_do[sqlite]",
    ),
    (
        "actions/plans.py",
        "tx.after_commit.append(lambda: count_acts(desk.entries, desk.approvals))",
        "count_acts(desk.entries, desk.approvals)",
        f"{PLANS}::test_what_became_of_plans_is_counted[sqlite]",
    ),
    (
        "store/questions_act.py",
        "or (m.before is not null and w.before is null",
        "or (m.before is not null and w.before is null and 1 = 0",
        f"{AUDIT}::test_it_is_found[sqlite-completed_twice-plan_went_allowed_ways]",
    ),
    (
        "store/questions_act.py",
        "and a.intent_id is null and i.created_at",
        "and a.intent_id is null and 1 = 0 and i.created_at",
        f"{AUDIT}::test_it_is_found[sqlite-carried_out_unasked-nothing_is_done_unasked]",
    ),
]
