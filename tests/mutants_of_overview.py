"""Guards of the overview and its numbers: where each stands, without it, and who must notice."""

LOOK, PEOPLE = "tests/actions/test_overview.py", "tests/actions/test_population.py"
PAGE = "tests/http/pages/test_overview.py"
BUDGETS = "tests/http/pages/test_budgets.py"
PROJECTION, SAMPLING = "tests/core/test_projection.py", "tests/core/test_sampling.py"
STREAM = "tests/http/test_stream.py"

OVERVIEW = [
    (
        "core/projection.py",
        "elapsed < PACE_MIN_US or now >= until",
        "now >= until",
        f"{PROJECTION}::test_where_it_leads",
    ),
    (
        "core/projection.py",
        "    return Projection(at_end, max(reached, now))\n",
        "    return Projection(at_end, reached)\n",
        f"{PROJECTION}::test_where_it_leads",
    ),
    (
        "core/sampling.py",
        "start, end = max(one.begins_at, since), max(following, since)",
        "start, end = one.begins_at, following",
        f"{SAMPLING}::test_a_stretch_that_begins_before_the_window_counts_from_its_beginning",
    ),
    (
        "store/tally_series.py",
        "_at(tx, until) if until < end else None",
        "None",
        f"{LOOK}::test_entries_beyond_the_bound_are_left_out_and_it_is_said_since_when[sqlite]",
    ),
    (
        "store/outbox_backlog.py",
        "    \" where sort = 'unhandled' or next_attempt_at <= %s group by 1, 2, 3\"\n",
        "    \" where sort = 'unhandled' or %s > 0 group by 1, 2, 3\"\n",
        f"{PAGE}::test_a_timer_that_no_worker_noticed_is_late_too[sqlite]",
    ),
    (
        "store/outbox_backlog.py",
        "is_capped = is_capped or counted >= most",
        "is_capped = False",
        f"{LOOK}::test_a_long_backlog_is_counted_up_to_a_bound_and_its_oldest_is_seen[sqlite]",
    ),
    (
        "actions/population.py",
        "begins = not is_fresh and tx.tenant_id not in self._counting",
        "begins = not is_fresh",
        f"{PEOPLE}::test_beyond_it_the_least_is_told_and_counting_begins_once[sqlite]",
    ),
    (
        "actions/population.py",
        "                self._counting.discard(tenant_id)\n",
        "                pass\n",
        f"{PEOPLE}::test_a_count_that_fails_is_tried_again_by_who_looks_next[sqlite]",
    ),
    (
        "actions/overview.py",
        "        if first <= one.bucket <= last:\n",
        "        if one.bucket <= last:\n",
        f"{LOOK}::test_what_is_old_and_not_counted_yet_is_not_in_the_window[sqlite]",
    ),
    (
        "actions/overview.py",
        "    return found[0][0] if found and not was_pruned else None\n",
        "    return None\n",
        f"{PAGE}::test_an_entry_that_was_changed_after_it_was_sealed_is_told[sqlite]",
    ),
    (
        "actions/show_budgets.py",
        "        if day is not None and day > today:\n",
        "        if False:\n",
        f"{BUDGETS}::test_a_day_that_cannot_be_is_named",
    ),
    (
        "actions/follow_ledger.py",
        "            take = self._take_in if read & {None, tenant_id} else self._take_head\n",
        "            take = self._take_in\n",
        f"{STREAM}::test_who_wants_to_know_that_it_grew_reads_no_entry[sqlite]",
    ),
]
