"""Tests of invalid algorithms: invalid classes, and invalid return values of methods."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

import dupack
import own
import pytest
from dupack import Next, Outcome, Window
from dupack.algorithms import AckFacts, View
from dupack.errors import AlgorithmError

# Invalid classes.


def _lacks_a_method() -> type[Any]:
    class Lacks(dupack.CongestionControl):
        name = "lacks"

        def on_ack(self, ack, credit, view):
            return 1.0

        def on_timeout(self, loss):
            return 1.0, 1.0

    return Lacks


def _half(**more: Any) -> type[Any]:
    """Return `Half` with other attributes."""
    return type("Wrong", (own.Half,), {"name": "wrong", "__module__": __name__, **more})


def _with(annotation: Any, default: Any, **more: Any) -> type[Any]:
    """Return `Half` with an additional parameter `n`."""
    return _half(__annotations__={"n": annotation}, n=dupack.parameter(default, **more))


class Colour(Enum):
    RED = "red"


def _raises_in_post_init() -> type[Any]:
    def post_init(self: Any) -> None:
        raise RuntimeError("no power")

    return _half(__post_init__=post_init)


CLASSES: dict[str, tuple[Callable[[], Any], str]] = {
    "not a class": (lambda: own.Half(), "expected a class, found a Half"),
    "none of the four": (lambda: int, "expected a subclass of one of dupack.Recovery"),
    "a base class itself": (lambda: dupack.Recovery, "expected a subclass"),
    "two kinds": (
        lambda: type("Both", (own.Half, own.Stay), {"name": "both", "__module__": __name__}),
        "expected a subclass of one of",
    ),
    "no name": (lambda: _half(name=""), "the class has no name"),
    "a name that is not text": (lambda: _half(name=3), "name: expected text, found a int"),
    "a name that is taken": (lambda: _half(name="reno"), "the name `reno` is taken by `reno`"),
    "a name with a slash": (lambda: _half(name="a/b"), "cannot be written in a stack"),
    "an alias that is taken": (lambda: _half(aliases=("cubic",)), "`cubic` is taken"),
    "aliases that are not a tuple": (lambda: _half(aliases="one"), "aliases: expected a tuple of texts"),
    "an unknown need": (lambda: _half(needs=("sacks",)), "needs: unknown need 'sacks'"),
    "a missing method": (_lacks_a_method, "the class lacks the method reduction"),
    "a number for a method": (lambda: _half(reduction=0.5), "reduction is not a method"),
    "too few arguments": (lambda: _half(reduction=lambda self: 1.0), r"def reduction\(self, loss\)"),
    "too many arguments": (lambda: _half(on_timeout=lambda self, loss, more: 1.0), "cannot be called"),
    "a method that is never called": (lambda: _half(on_acks=lambda self: None), "did you mean on_ack?"),
    "a method of another kind": (lambda: _half(on_rto=lambda self: None), "has no method on_rto"),
    "a misspelled method": (lambda: _half(pacing_rates=lambda self: None), "did you mean pacing_rate?"),
    "no bounds": (lambda: _with(float, 1.0), "the parameter n: a number needs bounds"),
    "a default out of bounds": (lambda: _with(float, 1.0, low=2.0, high=3.0), "default 1.0 is not a float from 2.0 to 3.0"),
    "a default of another dialect": (lambda: _with(float, 1.0, linux=9.0, low=0.0, high=3.0), "default 9.0"),
    "a default of another type": (lambda: _with(float, "1", low=0.0, high=3.0), "default '1' is not a float"),
    "a bool for a number": (lambda: _with(int, True, low=0, high=3), "default True is not an int"),
    "reversed bounds": (lambda: _with(float, 1.0, low=2.0, high=1.0), "low=2.0 and high=1.0"),
    "bounds that are not finite": (lambda: _with(float, 1.0, low=0.0, high=float("inf")), "expected finite numbers"),
    "negative whole numbers": (lambda: _with(int, 1, low=-1, high=3), "use a float for negative numbers"),
    "an unsupported type": (lambda: _with(tuple, (), low=0, high=1), "unsupported type"),
    "an unknown word": (lambda: _with(Literal["a", "b"], "c"), "default 'c' is not one of 'a', 'b'"),
    "a literal of numbers": (lambda: _with(Literal[1, 2], 1), "expected a Literal of texts"),
    "a word with a comma": (lambda: _with(Literal["a,b"], "a,b"), "cannot be written in a stack"),
    "an enum's default": (lambda: _with(Colour, "red"), "default 'red' is not one of"),
    "a meaning of an unknown word": (lambda: _with(Literal["a"], "a", words={"b": "?"}), "words: unknown word 'b'"),
    "a negative time": (
        lambda: _half(__annotations__={"n": float}, n=dupack.seconds(-1.0)),
        "default -1.0 is not a duration in seconds",
    ),
    "a time that is not a float": (
        lambda: _half(__annotations__={"n": int}, n=dupack.seconds(1.0)),
        "a duration is a float",
    ),
    "a field without a default": (
        lambda: type("Wrong", (own.Half,), {"name": "wrong", "__module__": __name__, "__annotations__": {"n": int}}),
        "the field n has no default",
    ),
    "a constructor that fails": (_raises_in_post_init, "cannot make an instance.*RuntimeError: no power"),
    "a constructor without parameters": (lambda: _half(__init__=lambda self: None), "cannot make an instance"),
}


@pytest.mark.parametrize("case", CLASSES)
def test_an_invalid_class_is_not_registered(case: str) -> None:
    make, part = CLASSES[case]
    catalog = dupack.Catalog()
    before = len(catalog.algorithms())
    with pytest.raises(AlgorithmError, match=part):
        catalog.register(make())
    assert len(catalog.algorithms()) == before and not catalog.registered


# Invalid return values.


def _control(method: str, answer: Any, **more: Any) -> type[Any]:
    """Return `Half` with a method that returns `answer`."""
    return _half(**{method: lambda self, *told: answer}, **more)


def _recovery(method: str, answer: Callable[..., Any], **more: Any) -> type[Any]:
    """Return `Holes` with a method that returns the result of `answer`."""
    body = {"name": "wrong", "__module__": __name__, method: lambda self, *told: answer(*told), **more}
    return type("Wrong", (own.Holes,), body)


def _other(base: type[Any], method: str, answer: Any) -> type[Any]:
    body = {"name": "wrong", "__module__": __name__, method: lambda self, *told: answer}
    return type("Wrong", (base,), body)


CONTROL, RECOVERY, JUDGE, RESPOND = "sack/wrong", "wrong/reno", "sack/reno/wrong/1", "sack/reno/always/wrong"

ANSWERS: dict[str, tuple[str, Callable[[], type[Any]], str]] = {
    "no window": (CONTROL, lambda: _control("on_ack", None), r"Wrong.on_ack returned None.*a window.*is a `return` missing"),
    "a window that is NaN": (CONTROL, lambda: _control("on_ack", float("nan")), r"on_ack returned nan \(a float\)"),
    "an infinite window": (CONTROL, lambda: _control("on_ack", float("inf")), r"on_ack returned inf"),
    "a threshold that is NaN": (CONTROL, lambda: _control("on_ack", Window(1e4, float("nan"))), "ssthresh that is not NaN"),
    "text for a window": (CONTROL, lambda: _control("on_ack", "wide"), r"on_ack returned 'wide' \(a str\)"),
    "a bool for a window": (CONTROL, lambda: _control("on_ack", True), r"on_ack returned True \(a bool\)"),
    "three numbers": (CONTROL, lambda: _control("reduction", (1.0, 2.0, 3.0)), r"reduction returned \(1.0, 2.0, 3.0\)"),
    "a number after a timeout": (CONTROL, lambda: _control("on_timeout", 1.0), r"on_timeout returned 1.0 .*a dupack.Window"),
    "an opening": (CONTROL, lambda: _control("opening", 1.0), "opening returned 1.0"),
    "a governance": (CONTROL, lambda: _control("governance", "king"), "one of dupack.Governance: \"window\" or \"model\", found \"king\""),
    "marks": (CONTROL, lambda: _control("marks", 1), "one of dupack.MarkAnswer"),
    "a pacing": (CONTROL, lambda: _control("pacing", "fast"), "pacing returned 'fast'.*dupack.Pacing.OFF"),
    "a pace of zero": (CONTROL, lambda: _control("pacing", dupack.WindowPacing(slow_start=0.0)), "factors above 0"),
    "a negative rate": (CONTROL, lambda: _control("pacing_rate", -1.0, pacing=lambda self: dupack.Pacing.RATE), "pacing_rate returned -1.0"),
    "undo rules": (CONTROL, lambda: _control("undo", "linux"), "undo returned 'linux'.*dupack.UndoRules"),
    "an undo rule": (CONTROL, lambda: _control("undo", dupack.UndoRules(frto="yes")), "one of dupack.FrtoRule"),
    "a shortening": (CONTROL, lambda: _control("rto_shortening", dupack.RtoShortening(2.0, 0.0)), "a factor from 0 to 1"),
    "a constructor that fails with some seeds": (
        CONTROL,
        lambda: _half(__post_init__=lambda self: 1 // self.context.seed and None if self.context.seed == 0 else 1 // 0),
        "ZeroDivisionError",
    ),
    "no outcome": (RECOVERY, lambda: _recovery("on_ack", lambda ack, view: None), "on_ack returned None.*a dupack.Outcome"),
    "a growth": (RECOVERY, lambda: _recovery("on_ack", lambda ack, view: Outcome(growth="much")), "one of dupack.Growth"),
    "a limit that is NaN": (RECOVERY, lambda: _recovery("on_ack", lambda ack, view: Outcome(limit=float("nan"))), "limit: expected a number"),
    "a loss of a segment that is not outstanding": (
        RECOVERY,
        lambda: _recovery("on_ack", lambda ack, view: Outcome(loss=dupack.LossEvent(view.scoreboard.end, own.BEYOND))),
        r"on_ack returned .*the loss of an outstanding segment: (ids are \d+ to \d+|there are none)",
    ),
    "a next segment that is not outstanding": (
        RECOVERY,
        lambda: _recovery("next", lambda view: Next.retransmit(10**9, own.BEYOND)),
        "next returned .*an outstanding segment",
    ),
    "no next": (RECOVERY, lambda: _recovery("next", lambda view: None), "next returned None.*dupack.Next.NOTHING"),
    "a next without a reason": (RECOVERY, lambda: _recovery("next", lambda view: Next.retransmit(0, "lost")), "expected a dupack.SendReason"),
    "a fraction in flight": (RECOVERY, lambda: _recovery("in_flight", lambda view: 0.5), r"in_flight returned 0.5 \(a float\).*whole number of bytes"),
    "a negative number in flight": (RECOVERY, lambda: _recovery("in_flight", lambda view: -1), "in_flight returned -1"),
    "an allowance": (RECOVERY, lambda: _recovery("allowance", lambda view: "all"), "allowance returned 'all'"),
    "text for a timer": (RECOVERY, lambda: _recovery("timer", lambda: "soon"), "timer returned 'soon'.*a time in seconds"),
    "a timer that is NaN": (RECOVERY, lambda: _recovery("timer", lambda: float("nan")), "timer returned nan"),
    "a timer in the past": (RECOVERY, lambda: _recovery("timer", lambda: 0.0), "timer: the timer has expired 10000 times in a row"),
    "an endless loop of transmissions": (
        RECOVERY,
        lambda: _recovery("next", lambda view: Next.new() if view.scoreboard.is_empty else Next.retransmit(view.scoreboard.first, own.BEYOND, "immediate")),
        "next: it sends the same segment repeatedly",
    ),
    "a timeout rule": (RECOVERY, lambda: _recovery("timeout_rule", lambda: "maybe"), "timeout_rule returned 'maybe'"),
    "no treatment of the timer": (RECOVERY, lambda: _recovery("on_sent", lambda sent, view: None), "on_sent returned None.*dupack.RtoTimer"),
    "no cause": (JUDGE, lambda: _other(own.Coin, "judge", "weather"), "judge returned 'weather'.*dupack.LossCause.CONGESTION"),
    "no answer of a response": (RESPOND, lambda: _other(own.Stay, "respond", None), "respond returned None"),
    "a growth that is NaN": (RESPOND, lambda: _other(own.Stay, "growth", float("nan")), "growth returned nan"),
}


def _run(stack: str, algorithm: type[Any]) -> dupack.Results:
    catalog = dupack.Catalog()
    catalog.register(algorithm)
    experiment = dupack.Experiment(
        stacks=["sack/reno", stack],
        seeds=2,
        duration="20s",
        catalog=catalog,
        path={"rate": "5Mbit/s", "delay": "20ms", "buffer": "30pkt", "loss": "10%"},
    )
    return experiment.run(progress=False, harm=False)


@pytest.mark.parametrize("case", ANSWERS)
def test_an_invalid_answer_ends_the_run_with_an_explanation(case: str) -> None:
    stack, make, part = ANSWERS[case]
    try:
        results = _run(stack, make())
    except AlgorithmError as error:
        # Methods that are called at the start fail before the first run.
        text = f"{error.message} {error.help} {error.__cause__}"
    else:
        assert results.missing == 2 and len(results.failures) == 2
        assert {row["stack"] for row in results.runs.rows()} == {"sack/reno"}
        text = f"{results.failures[0]} {results.failures[0].traceback}"
        assert results.failures[0].place.startswith("Wrong")
    assert re.search(part, text.replace("\n", " ")), text


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Outcome(growth="frozenn"), "one of dupack.Growth"),
        (lambda: Outcome(restore="much"), "restore|str"),
        (lambda: Outcome(loss=3), "LossEvent"),
        (lambda: dupack.LossRule("two words", "x"), "a name of one word"),
        (lambda: dupack.LossEvent(-1, own.BEYOND), "negative|convert"),
        (lambda: Next.new(clearance="now"), "one of dupack.Clearance"),
        (lambda: Window("wide"), "real number|str"),
    ],
)
def test_an_invalid_answer_raises_when_it_is_made(make: Callable[[], Any], part: str) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError), match=part):
        make()


def test_an_exception_that_cannot_be_pickled_is_still_described() -> None:
    class Odd(Exception):
        def __init__(self, one: int, other: int) -> None:
            super().__init__()

        def __reduce__(self) -> Any:
            raise TypeError("it cannot be pickled")

    class Raises(own.Half):
        name = "raises"

        def on_ack(self, ack: AckFacts, credit: Any, view: View) -> float:
            raise Odd(1, 2)

    catalog = dupack.Catalog()
    catalog.register(Raises)
    experiment = dupack.Experiment(stacks=["sack/raises", "sack/reno"], seeds=1, duration="1s", catalog=catalog, path={"rate": "1Mbit/s"})
    (failure,) = experiment.run(progress=False, harm=False).failures
    again = pickle.loads(pickle.dumps(failure))
    assert isinstance(again.error, AlgorithmError) and "Odd" in again.error.message
    assert again.traceback == failure.traceback


def test_an_answer_whose_repr_raises_is_described_by_its_type() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    results = _run(CONTROL, _control("on_ack", Shy()))
    assert "returned a Shy" in str(results.failures[0])


def test_a_system_exit_is_not_swallowed() -> None:
    def leave(self: Any, *told: Any) -> float:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        _run(CONTROL, _half(on_ack=leave))
