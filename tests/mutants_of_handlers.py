"""Guards around handlers, each taken away by one line: see tests/mutants.py."""

HOSTILE = "tests/app/test_hostile_handlers.py"
LOST = "tests/actions/test_ends_lost_commit.py"

HANDLERS = [
    (
        "actions/hand_in_signals.py",
        "return asked._replace(decision_id=DecisionId(turned(message.id)))",
        "return asked",
        "tests/app/test_handed_in_signals.py::test_a_second_delivery_is_no_second_verdict",
    ),
    (
        "handlers/attempts.py",
        "delivery.Retry(text_of(error) or NO_REASON, seconds_of(error.after))",
        "delivery.Retry(text_of(error) or NO_REASON, error.after)",
        f"{HOSTILE}::test_whatever_a_handler_does_its_message_ends[sqlite-topic-sync]",
    ),
    (
        "failures.py",
        "        return cut(str(value), length_max)\n    except BaseException:",
        "        return cut(str(value), length_max)\n    except ZeroDivisionError:",
        f"{HOSTILE}::test_whatever_a_handler_does_its_message_ends[sqlite-topic-sync]",
    ),
    (
        "handlers/loop_thread.py",
        "while not self._is_ending:",
        "if not self._is_ending:",
        f"{HOSTILE}::test_whatever_is_done_to_the_event_loop_others_run_on_it[sqlite-topic]",
    ),
    (
        "actions/dispatcher.py",
        "self._retired.append(crew)",
        "pass",
        f"{HOSTILE}::test_a_handler_that_is_replaced_ends_what_it_has_begun[sqlite]",
    ),
    (
        "moves/lose_messages.py",
        "if message.id in ends.now]",
        "if message.id in ends.held]",
        f"{LOST}::test_a_death_is_recorded_and_told_once",
    ),
    (
        "actions/run_decisions.py",
        "if one.message.id in ends.now]",
        "if one.message.id in ends.held]",
        f"{LOST}::test_the_plans_and_the_usage_of_a_run_are_written_once",
    ),
    (
        "actions/apply_policy.py",
        "    tx.after_commit.append(partial(book.keep, policy))\n",
        "",
        "tests/actions/test_delivery_rules.py::test_the_process_that_applies_a_rule_follows_it",
    ),
]
