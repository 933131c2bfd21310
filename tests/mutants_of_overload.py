"""Guards against overload: where each stands, without it, and the test that must notice."""

HTTP = "tests/http"
OVERLOAD, CONNECTIONS = f"{HTTP}/test_overload.py", f"{HTTP}/test_connections.py"
HEADS = f"{HTTP}/test_strict_heads.py"

OVERLOADS = [
    (
        "core/shares.py",
        "if held >= free:",
        "if held > self.total:",
        f"{OVERLOAD}::test_one_tenant_cannot_take_all_the_places[sqlite]",
    ),
    (
        "http/gate.py",
        'credential is None or scope["path"] in READ_UNKNOWN',
        "credential is None",
        f"{OVERLOAD}::test_slow_logins_take_no_place_of_the_api",
    ),
    (
        "http/gate.py",
        "            self._gate.remember(self._credential, party)\n",
        "            pass\n",
        f"{OVERLOAD}::test_a_tenant_is_refused_before_its_key_is_looked_up",
    ),
    (
        "http/edge.py",
        "self._bounds if self._ticket.is_identified else _smaller(self._bounds, ANONYMOUS)",
        "self._bounds",
        f"{OVERLOAD}::test_the_body_of_an_unknown_sender_is_small",
    ),
    (
        "http/edge.py",
        "            except ClientDisconnect:\n                answered.is_client_gone = True\n",
        "",
        f"{OVERLOAD}::test_a_client_that_hangs_up_in_its_body_is_not_an_error",
    ),
    (
        "http/page_errors.py",
        "            except ClientDisconnect:\n                raise\n",
        "",
        f"{OVERLOAD}::test_a_client_that_hangs_up_in_its_body_is_not_an_error",
    ),
    (
        "http/refusals.py",
        "            await asyncio.sleep(wait)\n",
        "            pass\n",
        f"{OVERLOAD}::test_many_refusals_wait_for_their_turn",
    ),
    (
        "http/refusals.py",
        "            connection.refuse()\n",
        "            pass\n",
        f"{CONNECTIONS}::test_a_tenant_that_floods_connections_makes_room_for_another",
    ),
    (
        "actions/follow_ledger.py",
        "match self._places.take(follower.party):",
        "match self._places.take(str(id(follower))):",
        f"{OVERLOAD}::test_one_tenant_cannot_take_all_the_streams[sqlite]",
    ),
    (
        "http/connections.py",
        "if len(self._open) >= self.most and not self._make_room():",
        "if len(self._open) >= self.most:",
        f"{CONNECTIONS}::test_the_one_that_waits_longest_makes_room",
    ),
    (
        "http/connections.py",
        "(wait is not None and wait.is_idle == is_idle)",
        "False",
        f"{CONNECTIONS}::test_a_head_that_drips_has_no_more_time_than_another",
    ),
    (
        "http/strict_head.py",
        "if before - len(self) != sum(len(line) + 2 for line in lines) + 2:",
        "if False:",
        HEADS,
    ),
    (
        "http/strict_head.py",
        "        if lengths:\n",
        "        if False:\n",
        HEADS,
    ),
    (
        "http/protocol.py",
        "return cycle.response_complete and not cycle.more_body",
        "return cycle.response_complete",
        f"{HEADS}::test_garbage_after_an_answer_closes_the_line_without_another",
    ),
]
