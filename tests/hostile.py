"""Handlers that misbehave: a table of what one may raise or return, for tests of every kind.

`BEHAVIOURS` maps a name to a function without arguments. Called inside of a handler, it raises, or
returns what the handler is to return; each call makes new objects. `RAISED` raise, `RETURNED`
return what no handler should, and `ANSWERS` holds, by kind of handler ("decision", "connector",
"action", "proposer"), answers of the right class with hostile parts. `of_kind(kind)` is all that
fits a kind. `ASYNC` are coroutine functions: they misbehave on the event loop.

None of them blocks for ever, and none ends the process: whoever calls one gets its end.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from watchkeeper import Decision, Outcome, Proposal, PullResult
from watchkeeper.handlers.results import Reject, Retry

Behaviour = Callable[[], Any]

BIG = 3_000_000
"""Characters: more than anything keeps of a text."""


class Mute(Exception):
    """Its text cannot be had, in any way."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Exiting(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)

    __repr__ = __str__


class Endless(Exception):
    """Its text is long, and what is noted to it has no end."""

    def __init__(self) -> None:
        super().__init__()
        self.__notes__ = itertools.repeat("and more")

    def __str__(self) -> str:
        return "x" * BIG


class Posing(Exception):
    """It says that it is a Retry, and has nothing of one."""

    __class__ = property(lambda _self: Retry)


class Naming(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("no name")


class Nameless(Exception, metaclass=Naming):
    pass


class Hard:
    """Every question that is asked of it raises."""

    def _no(self, *_: object) -> Any:
        raise RuntimeError("ask somebody else")

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __str__ = __repr__ = _no
    __int__ = __float__ = __getitem__ = __contains__ = __fspath__ = __index__ = _no


class Exit(Hard):
    def _no(self, *_: object) -> Any:
        raise SystemExit(4)

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __str__ = __repr__ = _no


class Dying:
    def __del__(self) -> None:
        raise RuntimeError("not even this")


class Liar:
    """It says that it is whatever is asked for, and has nothing of it."""

    def __init__(self, kind: type) -> None:
        self.__dict__["kind"] = kind

    @property
    def __class__(self) -> Any:
        return self.__dict__["kind"]


class Text(str):
    """A string whose methods lie and raise."""

    def _no(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no text")

    __str__ = __len__ = __iter__ = __eq__ = __hash__ = __getitem__ = __format__ = _no
    encode = replace = strip = translate = startswith = _no


class Count(int):
    def _no(self, *_: object) -> Any:
        raise RuntimeError("no number")

    __str__ = __eq__ = __hash__ = __add__ = __mul__ = __gt__ = __lt__ = __ge__ = __le__ = _no
    __index__ = __int__ = __float__ = __bool__ = _no


class Dict(dict):
    def _no(self, *_: object) -> Any:
        raise SystemExit(5)

    items = keys = values = get = __iter__ = __len__ = __getitem__ = __contains__ = _no


class Bottomless(Mapping):
    """A mapping of which there is always more."""

    def __getitem__(self, key: object) -> Any:
        return Bottomless()

    def __iter__(self) -> Iterator[str]:
        return (f"k{n}" for n in itertools.count())

    def __len__(self) -> int:
        return 3


def _raising(make: Callable[[], BaseException]) -> Behaviour:
    def behave() -> Any:
        raise make()

    return behave


def _returning(make: Callable[[], Any]) -> Behaviour:
    return make


def _recursive() -> list[Any]:
    ring: list[Any] = []
    ring.append({"ring": ring})
    return ring


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


def _chained() -> BaseException:
    error = ValueError("the first")
    for n in range(2_000):
        error, error.__cause__ = ValueError(n), error
    error.__context__ = error
    return error


def _in_circles() -> BaseException:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    return one


def _group() -> BaseException:
    return BaseExceptionGroup("many", [Mute(), SystemExit(1), ExceptionGroup("in", [Endless()])])


def _retry_without_init() -> BaseException:
    return type("Bare", (Retry,), {"__init__": lambda _self: None})()


def _retry_changed(after: object) -> Callable[[], BaseException]:
    def make() -> BaseException:
        retry = Retry("later")
        retry.after = after
        return retry

    return make


def _retry(after: Any) -> Any:
    raise Retry("later", after=after)


AFTERS: dict[str, Any] = {
    "a timedelta": timedelta(seconds=5),
    "a huge timedelta": timedelta.max,
    "a datetime": datetime(2030, 1, 1, tzinfo=UTC),
    "bytes": b"5",
    "a list": [5],
    "nan": float("nan"),
    "inf": float("inf"),
    "a negative number": -5,
    "a huge number": 10**400,
    "a huge float": 1e308,
    "a bool": True,
    "a text": "soon",
    "a text of digits": "9" * 5000,
    "an object": Hard(),
    "a hostile number": Count(5),
    "a hostile text": Text("5"),
    "a complex number": 5j,
}
"""What somebody may write behind `Retry(after=…)`."""

RAISED: dict[str, Behaviour] = {
    "raises": _raising(lambda: ValueError("no")),
    "raises without words": _raising(Mute),
    "raises with SystemExit for words": _raising(Exiting),
    "raises with words without end": _raising(Endless),
    "raises what says it is a Retry": _raising(Posing),
    "raises what has no name": _raising(Nameless),
    "raises NUL and a lone surrogate": _raising(lambda: ValueError("a\x00b\ud800c")),
    "raises with a hostile argument": _raising(lambda: ValueError(Hard(), Exit(), Text("x"))),
    "raises SystemExit": _raising(lambda: SystemExit(1)),
    "raises KeyboardInterrupt": _raising(KeyboardInterrupt),
    "raises GeneratorExit": _raising(GeneratorExit),
    "raises CancelledError": _raising(asyncio.CancelledError),
    "raises StopIteration": _raising(lambda: StopIteration(7)),
    "raises StopAsyncIteration": _raising(StopAsyncIteration),
    "raises MemoryError": _raising(MemoryError),
    "raises RecursionError": _raising(lambda: RecursionError("deep")),
    "raises a long chain": _raising(_chained),
    "raises in circles": _raising(_in_circles),
    "raises a group": _raising(_group),
    "raises a Retry without its making": _raising(_retry_without_init),
    "raises a Retry that was changed": _raising(_retry_changed(Hard())),
    "rejects without words": _raising(lambda: Reject(Mute())),
    "rejects": _raising(lambda: Reject("never")),
    **{f"raises Retry after {name}": partial(_retry, after) for name, after in AFTERS.items()},
}


RETURNED: dict[str, Behaviour] = {
    "returns an object that answers nothing": _returning(Hard),
    "returns an object that exits": _returning(Exit),
    "returns an object that dies badly": _returning(Dying),
    "returns a mapping without end": _returning(Bottomless),
    "returns a generator without end": _returning(itertools.count),
    "returns a hostile dict": _returning(lambda: Dict(a=1)),
    "returns a hostile text": _returning(lambda: Text("x")),
    "returns a ring": _returning(_recursive),
    "returns an exception": _returning(Mute),
    "returns what says it is a Decision": _returning(lambda: Liar(Decision)),
    "returns what says it is an Outcome": _returning(lambda: Liar(Outcome)),
    "returns what says it is a PullResult": _returning(lambda: Liar(PullResult)),
}

_PLAN = {"plan_type": "RENEWAL_DEFENSE", "steps": [{"action_type": "REQUEST_RENEWAL_MEETING"}]}
_SIGNAL = {"type": "mail"}
PARTS: dict[str, Callable[[], Any]] = {
    "an object": Hard,
    "an object that exits": Exit,
    "a ring": _recursive,
    "depth": _deep,
    "a mapping without end": Bottomless,
    "a hostile dict": lambda: Dict(a=1),
    "a hostile text": lambda: Text("x"),
    "a hostile number": lambda: Count(1),
    "a long text": lambda: "x" * BIG,
    "NUL and a lone surrogate": lambda: "a\x00b\ud800c",
    "a generator without end": lambda: itertools.count(),
    "nan": lambda: float("nan"),
    "a set": lambda: {1},
    "bytes": lambda: b"x",
}
"""Hostile values that may stand inside of an answer."""


def _answers(make: Callable[[Any], Any]) -> dict[str, Behaviour]:
    return {f"answers with {name}": lambda part=part: make(part()) for name, part in PARTS.items()}


ANSWERS: dict[str, dict[str, Behaviour]] = {
    "decision": {
        **{f"note: {k}": v for k, v in _answers(lambda part: Decision(note=part)).items()},
        **{f"usage: {k}": v for k, v in _answers(lambda part: Decision(usage=part)).items()},
        **{f"plans: {k}": v for k, v in _answers(lambda part: Decision(plans=part)).items()},
        **{
            f"a plan: {k}": v
            for k, v in _answers(
                lambda part: Decision(plans=[{**_PLAN, "facts": part}, part])
            ).items()
        },
        **{
            f"tokens: {k}": v
            for k, v in _answers(
                lambda part: Decision(usage={"input_tokens": part, "output_tokens": 1})
            ).items()
        },
        "plans without end": lambda: Decision(plans=itertools.repeat(_PLAN)),
    },
    "connector": {
        **{f"signals: {k}": v for k, v in _answers(lambda part: PullResult(part)).items()},
        **{
            f"a signal: {k}": v
            for k, v in _answers(lambda part: [{**_SIGNAL, "data": {"x": part}}, part]).items()
        },
        "signals without end": lambda: PullResult(itertools.repeat(_SIGNAL)),
    },
    "action": {
        **{f"detail: {k}": v for k, v in _answers(lambda part: Outcome(True, part)).items()},
        **{f"succeeded: {k}": v for k, v in _answers(lambda part: Outcome(part)).items()},
    },
    "proposer": {
        **{f"steps: {k}": v for k, v in _answers(lambda part: Proposal(part)).items()},
        **{f"facts: {k}": v for k, v in _answers(lambda part: Proposal([], facts=part)).items()},
        "steps without end": lambda: Proposal(itertools.repeat({"action_type": "A"})),
    },
}

BEHAVIOURS: dict[str, Behaviour] = {**RAISED, **RETURNED}


def of_kind(kind: str) -> dict[str, Behaviour]:
    """All that a handler of a kind may do."""
    return {**BEHAVIOURS, **ANSWERS.get(kind, {})}


async def _exit_in_a_task() -> None:
    async def exit() -> None:
        raise SystemExit(6)

    asyncio.get_running_loop().create_task(exit())
    await asyncio.sleep(0)


async def _stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)


async def _cancel_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def _cancel_itself_and_wait() -> None:
    await _cancel_itself()
    await asyncio.sleep(60)


async def _leave_a_task() -> None:
    asyncio.get_running_loop().create_task(asyncio.sleep(3600), name="left behind")


async def _block_for_a_moment() -> None:
    time.sleep(0.05)


ASYNC: dict[str, Callable[[], Awaitable[Any]]] = {
    "exits in a task of its own": _exit_in_a_task,
    "stops the loop": _stop_the_loop,
    "cancels itself": _cancel_itself,
    "cancels itself and waits": _cancel_itself_and_wait,
    "leaves a task behind": _leave_a_task,
    "blocks for a moment": _block_for_a_moment,
}
