"""Guards of Idempotency-Keys: where each stands, without it, and the test that must notice."""

REPEATS = "tests/http/test_repeats.py"
KEYS = "tests/http/test_idempotency_keys.py"
DESCRIBED = "tests/http/test_description.py"
ALLOWED = "test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes"
CUT = f"{REPEATS}::test_an_error_after_a_commit_does_not_free_the_key"

REPEATED = [
    (
        "actions/plans.py",
        "                take(tx, once)\n",
        "",
        f"{CUT}[sqlite-POST /v1/plans]",
    ),
    (
        "actions/answer_once.py",
        "            take(tx, once, note)\n",
        "",
        f"{CUT}[sqlite-POST /v1/kill-switches]",
    ),
    (
        "actions/admit.py",
        "            take(tx, once, [one.decision_id for one in asked])\n",
        "",
        f"{CUT}[sqlite-POST /v1/signals]",
    ),
    (
        "actions/generate_report.py",
        "            take(tx, once, ask.report_id)\n",
        "",
        f"{CUT}[sqlite-POST /v1/reports]",
    ),
    (
        "actions/request_pull.py",
        "            take(tx, once)\n",
        "",
        f"{REPEATS}::test_a_pull_is_not_asked_for_again_an_hour_later[sqlite]",
    ),
    (
        "actions/keep_desk.py",
        "            if done == 0:\n",
        "            if False:\n",
        f"{REPEATS}::test_a_redrive_that_was_cut_off_says_how_far_it_came[sqlite]",
    ),
    (
        "actions/advance_clock.py",
        ", until=Instant(at + KEPT_US)",
        "",
        f"{REPEATS}::test_a_clock_that_was_stopped_goes_on_to_the_same_moment[sqlite]",
    ),
    (
        "actions/advance_clock.py",
        " or has_writers or ran)",
        " or ran)",
        "tests/http/test_clock.py::test_the_clock_waits_for_claims_that_are_not_committed",
    ),
    (
        "actions/create_api_key.py",
        "        if done.note != key_id:\n",
        "        if True:\n",
        f"{REPEATS}::test_a_key_whose_commit_was_lost_is_shown_with_its_secret",
    ),
    (
        "actions/answer_once.py",
        "if first is None or first.fingerprint != once.name.fingerprint:",
        "if first is None:",
        f"{REPEATS}::test_a_key_that_is_taken_is_refused_for_another_request[sqlite]",
    ),
    (
        "actions/answer_once.py",
        "if reply is not None and reply.fingerprint != name.fingerprint:",
        "if False:",
        f"{KEYS}::test_another_request_under_the_key_is_refused[sqlite]",
    ),
    (
        "store/http_replies.py",
        '    " or (http_replies.status is null and http_replies.deed is null) returning key"\n',
        '    " returning key"\n',
        f"{KEYS}::test_a_key_that_an_older_server_held_is_free[sqlite]",
    ),
    (
        "http/problems.py",
        'error.headers = {"Allow": _methods_of(request)}',
        "pass",
        f"{DESCRIBED}::{ALLOWED}",
    ),
    (
        "http/openapi.py",
        'operation["responses"]["422"] = INVALID',
        "pass",
        f"{DESCRIBED}::test_every_reference_resolves_and_every_schema_is_used",
    ),
    (
        "core/redaction.py",
        "(?!(?<=: )(?-i:{_WORDS}))",
        "",
        "tests/core/test_redaction.py::test_our_own_words_about_a_field_are_left",
    ),
    (
        "core/redaction.py",
        "(?<=: )",
        "",
        "tests/core/test_redaction.py::test_what_is_taken_and_what_is_left",
    ),
]
