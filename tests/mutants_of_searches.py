"""Guards of what pages look for: where each stands, without it, and the test that must notice."""

TIMELINE = "tests/actions/test_show_timeline.py"
LEDGER = "tests/actions/test_search_ledger.py"
ACCOUNTS = "tests/actions/test_search_accounts.py"
PAGES = "tests/http/pages"
NASTY = "test_whatever_a_name_holds_its_page_is_reached_and_it_is_text"

SEARCHES = [
    (
        "actions/show_timeline.py",
        "own = [one for one in own if one.entry.kind in OWN]",
        "own = list(own)",
        f"{TIMELINE}::test_a_name_that_is_also_a_schedules_is_not_mixed_up[sqlite]",
    ),
    (
        "actions/show_timeline.py",
        "own[READ - LED_BY].seq if len(own) == READ else 0",
        "0",
        f"{TIMELINE}::test_no_more_is_read_than_is_allowed_and_nothing_of_its_own_is_lost[sqlite]",
    ),
    (
        "actions/show_timeline.py",
        "told = [one for one in own if one.seq >= floor]",
        "told = list(own)",
        f"{TIMELINE}::test_no_more_is_read_than_is_allowed_and_nothing_of_its_own_is_lost[sqlite]",
    ),
    (
        "actions/search_ledger.py",
        " or before > tallies.place(tx)",
        "",
        f"{LEDGER}::test_entries_that_were_not_counted_yet_are_not_jumped_over[sqlite]",
    ),
    (
        "actions/search_ledger.py",
        "return tallies.newest_place(tx, before, kind, alike)",
        "return before",
        f"{LEDGER}::test_what_is_rare_and_long_ago_is_found_at_once_where_it_was_counted[sqlite]",
    ),
    (
        "actions/search_accounts.py",
        "if name.startswith(prefix)]",
        "]",
        f"{ACCOUNTS}::test_a_prefix_is_taken_literally",
    ),
    (
        "store/heats.py",
        "            if other >= tier\n        )",
        "            if other == tier\n        )",
        f"{ACCOUNTS}::test_tiers_are_those_of_now",
    ),
    (
        "http/links.py",
        "quote(account_id, safe='')",
        "quote(account_id)",
        f"{PAGES}/test_accounts.py::{NASTY}[sqlite-a/../b]",
    ),
    (
        "http/pages/ledger.py",
        "@needs(Access.OPERATE)",
        "@needs(Access.READ)",
        f"{PAGES}/test_ledger.py::test_a_viewer_sees_no_button_and_has_none[sqlite]",
    ),
    (
        "http/page.py",
        'request.scope["raw_path"].partition(b"?")[0].decode("latin-1")',
        "request.url.path",
        f"{PAGES}/test_accounts.py::"
        "test_whoever_has_to_log_in_first_comes_back_to_the_same_name[sqlite]",
    ),
]
