"""Callers who wait at the same moment are served together, and none waits for ever."""

import threading

from watchkeeper.actions.combine import EVENTS_MAX, Combiner

SECONDS_MAX = 60.0


class Desk:
    """A deed that can be held up, and remembers what it was asked together."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int], bool]] = []
        self.busy = threading.Event()
        self.may_go_on = threading.Event()
        self.combiner: Combiner[int, int] = Combiner(self.deed)

    def deed(self, name: str, asked: list[int], again: bool) -> list[int]:
        self.batches.append((name, asked, again))
        self.busy.set()
        assert self.may_go_on.wait(SECONDS_MAX)
        if -1 in asked:
            raise ValueError("minus one")
        return [one * 2 for one in asked]


def together(desk: Desk, first: list[int], others: list[list[int]]) -> dict[int, object]:
    """`first` is at work while all the others come; then everybody goes on."""
    answers: dict[int, object] = {}

    def ask(number: int, asked: list[int]) -> None:
        try:
            answers[number] = desk.combiner.submit("t", asked)
        except ValueError as error:
            answers[number] = str(error)

    leader = threading.Thread(target=ask, args=(0, first))
    leader.start()
    assert desk.busy.wait(SECONDS_MAX)
    threads = [threading.Thread(target=ask, args=(n, asked)) for n, asked in enumerate(others, 1)]
    for n, thread in enumerate(threads, 1):
        thread.start()
        while len(desk.combiner._lines["t"]) < n:  # stands in line
            pass
    desk.may_go_on.set()
    for thread in (leader, *threads):
        thread.join(SECONDS_MAX)
        assert not thread.is_alive()
    assert desk.combiner._lines == {}, "nobody is left to lead an empty line"
    return answers


def test_those_who_came_meanwhile_share_the_next_one() -> None:
    desk = Desk()
    answers = together(desk, [1], [[2], [3, 4], [5]])
    assert answers == {0: [2], 1: [4], 2: [6, 8], 3: [10]}
    assert desk.batches == [("t", [1], False), ("t", [2, 3, 4, 5], False)]


def test_one_wrong_request_is_refused_alone() -> None:
    desk = Desk()
    answers = together(desk, [1], [[2], [-1], [3]])
    assert answers == {0: [2], 1: [4], 2: "minus one", 3: [6]}
    assert desk.batches[2:] == [("t", [2], True), ("t", [-1], True), ("t", [3], True)]


def test_what_does_not_fit_is_led_by_the_next_in_line() -> None:
    desk = Desk()
    large = list(range(EVENTS_MAX))
    answers = together(desk, [1], [[2], large, [3]])
    assert answers[2] == [one * 2 for one in large]
    assert [len(asked) for _, asked, _ in desk.batches] == [1, 1, EVENTS_MAX, 1]


def test_a_leader_who_fails_alone_still_hands_over() -> None:
    desk = Desk()
    assert together(desk, [-1], [[2], [3]]) == {0: "minus one", 1: [4], 2: [6]}


def test_tenants_do_not_wait_for_each_other() -> None:
    desk = Desk()
    leader = threading.Thread(target=desk.combiner.submit, args=("t", [1]))
    leader.start()
    assert desk.busy.wait(SECONDS_MAX)
    other = threading.Thread(target=desk.combiner.submit, args=("u", [2]))
    other.start()
    while len(desk.batches) < 2:
        pass
    desk.may_go_on.set()
    leader.join(SECONDS_MAX)
    other.join(SECONDS_MAX)
    assert sorted(desk.batches) == [("t", [1], False), ("u", [2], False)]
