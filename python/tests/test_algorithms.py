"""Tests that algorithms in Python behave like those in Rust."""

from __future__ import annotations

import pickle
import threading
from enum import Enum
from typing import Any, ClassVar, Literal

import dupack
import own
import pytest
from dupack.algorithms import AckFacts, Credit, LossFacts, View
from reno import PortedReno

PATH = {"rate": "5Mbit/s", "delay": "20ms", "buffer": "30pkt"}


def catalog(*algorithms: type[Any]) -> dupack.Catalog:
    made = dupack.Catalog()
    for algorithm in algorithms:
        made.register(algorithm)
    return made


def run(stacks: list[str], *algorithms: type[Any], seeds: int = 3, **fields: Any) -> dupack.Results:
    fields = {"dialect": "rfc", "duration": "10s", "path": {**PATH, "loss": "2%"}, **fields}
    experiment = dupack.Experiment(stacks=stacks, seeds=seeds, catalog=catalog(*algorithms), **fields)
    return experiment.run(progress=False, harm=False)


def hashes(results: dupack.Results, stack: str) -> dict[tuple[int, int], int]:
    return {(r["point"], r["seed"]): r["trace_hash"] for r in results.runs.rows() if r["stack"] == stack}


def goodput(results: dupack.Results, stack: str) -> list[float]:
    return [r["goodput_mbit_s"] for r in results.runs.rows() if r["stack"] == stack]


# The port of Reno sends the same packets as Reno.


@pytest.mark.parametrize("recovery", ["newreno", "sack", "rack", "momentary", "le"])
def test_a_port_of_reno_has_the_trace_of_reno(recovery: str) -> None:
    ours, theirs = f"{recovery}/ported_reno", f"{recovery}/reno"
    results = run(
        [theirs, ours],
        PortedReno,
        seeds=4,
        sweep={"path.loss": ["0%", "0.5%", "3%", "10%"]},
    )
    assert not results.failures
    assert hashes(results, ours) == hashes(results, theirs)
    assert len(set(hashes(results, ours).values())) > 8


def test_the_port_follows_its_parameters() -> None:
    pairs = [("reno(limit=2)", "ported_reno(limit=2)"), ("reno(increase=3,decrease=0.7)", "ported_reno(increase=3,decrease=0.7)")]
    for theirs, ours in pairs:
        results = run([f"sack/{theirs}", f"sack/{ours}"], PortedReno, duration="20s")
        theirs, ours = results.stacks
        assert hashes(results, ours) == hashes(results, theirs)


def test_the_port_has_the_trace_of_reno_with_other_flows_and_responses() -> None:
    for stack in ("sack/{}/always/24", "sack/{}/veno/1", "sack/{}/none/0"):
        results = run(
            [stack.format("reno"), stack.format("ported_reno")],
            PortedReno,
            flows=[{"count": 2}, {"stack": "rack/cubic"}],
        )
        theirs, ours = results.stacks
        assert hashes(results, ours) == hashes(results, theirs)


# Algorithms of each kind.


def test_a_recovery_repairs_losses() -> None:
    results = run(["reno/reno", "holes/reno"], own.Holes, sweep={"path.loss": ["0%", "1%", "5%"]})
    assert not results.failures and results.missing == 0
    by_point = {(r["point"], r["stack"]): r for r in results.summary.rows() if r["measure"] == "goodput_mbit_s"}
    for point in range(3):
        assert by_point[point, "holes/reno"]["mean"] > 0.9 * by_point[point, "reno/reno"]["mean"]
    resent = [r["retransmissions"] for r in results.runs.rows() if r["stack"] == "holes/reno" and r["point"] == 2]
    assert min(resent) > 10


def test_a_recovery_delivers_every_byte() -> None:
    results = run(["holes(beyond=1)/reno"], own.Holes, flows=[{"bytes": "300kB"}], duration="120s", path={**PATH, "loss": "10%"})
    completed = [r["completion_s"] for r in results.runs.rows()]
    assert all(0 < time < 120 for time in completed)


def test_a_differentiation_and_a_response_decide() -> None:
    stacks = ["sack/reno", "sack/reno/coin(wireless=0)/stay", "sack/reno/coin(wireless=1)/stay", "sack/reno/coin/stay"]
    results = run(stacks, own.Coin, own.Stay, duration="20s")
    never, always = results.stacks[1], results.stacks[2]
    # A differentiation that never blames the link is equal to plain TCP. A differentiation that always blames the
    # link keeps the window.
    assert hashes(results, never) == hashes(results, "sack/reno")
    assert min(goodput(results, always)) > max(goodput(results, never))
    assert min(goodput(results, results.stacks[3])) > max(goodput(results, never))


def test_all_four_kinds_together_are_reproducible() -> None:
    stack = "holes/half/coin/stay"
    one, other = (run([stack], *own.ALL) for _ in range(2))
    assert not one.failures
    assert hashes(one, stack) == hashes(other, stack)


# Parameters.


def test_parameters_are_listed() -> None:
    ours = catalog(own.Half)
    (entry,) = ours.algorithms("half")
    assert (entry["axis"], entry["summary"]) == ("control", "Additive increase, half the window at a loss, no slow start")
    assert entry["citation"] == "a test" and entry["file"].endswith("own.py")
    increase, eager, wait = entry["parameters"]
    assert increase["default"] == {"rfc": "1", "linux": "2", "ns2": "1"}
    assert increase["takes"] == "a number from 0 to 100 (segments)" and increase["source"] == "RFC 5681"
    assert eager["takes"] == "`on` or `off`" and eager["default"]["rfc"] == "off"
    assert wait["default"]["rfc"] == "0s"
    assert "half" in ours and "increase = 1 (linux 2) segments" in str(ours)
    assert "half" not in dupack.Catalog()


def test_parameters_are_spelled_swept_and_explained() -> None:
    ours = catalog(own.Half)
    assert ours.canonical("sack/half(increase=1)") == "sack/half(increase=1)"  # The default in Linux is different.
    assert ours.canonical("sack/half(eager=off)") == "sack/half"
    stacks = [f"sack/half(increase={n})" for n in (1, 4)] + ["sack/half(wait=2500ms)", "sack/half(eager=on)"]
    experiment = dupack.Experiment(
        dialect="rfc", stacks=stacks, seeds=3, duration="20s", catalog=ours, path={**PATH, "loss": "1%"}
    )
    told = {(row["owner"], row["parameter"]): (row["value"], row["source"]) for row in experiment.parameters.rows()}
    values = [value for (owner, name), value in told.items() if name == "increase" and "half" in owner]
    assert values
    results = experiment.run(progress=False, harm=False)
    first, second, waits, eager = (sum(goodput(results, stack)) for stack in results.stacks)
    assert second > first > waits and eager > first


def test_a_dialect_has_its_own_defaults() -> None:
    results = run(["sack/half", "sack/half(increase=2)"], own.Half, dialect="linux", duration="5s")
    assert hashes(results, results.stacks[0]) == hashes(results, results.stacks[1])


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


class Chooses(own.Half):
    """Has parameters of every type."""

    name = "chooses"
    mode: Literal["one", "other"] = dupack.parameter("one", words={"one": "the first"})
    pace: Mode = dupack.parameter(Mode.SLOW, ns2=Mode.FAST)
    count: int = dupack.parameter(3, low=0, high=9)

    seen: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        type(self).seen = (self.mode, self.pace, self.count, self.eager, self.wait, self.increase, self.context.smss)


def test_values_arrive_with_their_types() -> None:
    run(["sack/chooses(mode=other,pace=fast,count=7,eager=on,wait=20ms,increase=2)"], Chooses, seeds=1, duration="1s")
    assert Chooses.seen == ("other", Mode.FAST, 7, True, 0.02, 2.0, Chooses.seen[-1])
    assert [type(value) for value in Chooses.seen] == [str, Mode, int, bool, float, float, int]
    run(["sack/chooses"], Chooses, seeds=1, duration="1s", dialect="ns2")
    assert Chooses.seen[:3] == ("one", Mode.FAST, 3)
    (entry,) = catalog(Chooses).algorithms("chooses")
    words = next(p["words"] for p in entry["parameters"] if p["name"] == "mode")
    assert words == {"one": "the first", "other": "other"}


def test_an_invalid_value_in_a_stack_raises_with_a_remedy() -> None:
    ours = catalog(own.Half)
    for text, part in [
        ("sack/half(increase=101)", "from 0 to 100"),
        ("sack/half(incraese=1)", "increase"),
        ("sack/half(eager=yes)", "`on` or `off`"),
        ("sack/half(wait=3)", "with its unit"),
        ("half/reno", "congestion control"),
    ]:
        with pytest.raises(dupack.StackError, match=part.replace("(", "\\(")):
            ours.canonical(text)


# Instances and facts.


class Counts(own.Half):
    """Counts its instances."""

    name = "counts"
    made: ClassVar[list[dupack.Context]] = []

    def __init__(self, *, increase: float, eager: bool, wait: float) -> None:
        self.increase, self.eager, self.wait = increase, eager, wait
        Counts.made.append(self.context)


def test_each_connection_has_its_own_instance_and_seed() -> None:
    Counts.made.clear()
    ours = catalog(Counts)
    experiment = dupack.Experiment(stacks=["sack/counts"], seeds=1, duration="1s", catalog=ours, path=PATH, flows=[{"count": 3}])
    Counts.made.clear()
    experiment.run(progress=False, harm=False)
    assert len(Counts.made) == 3
    assert len({context.seed for context in Counts.made}) == 3
    assert {context.smss for context in Counts.made} == {Counts.made[0].smss}


class Looks(own.Half):
    """Checks all facts of an ACK."""

    name = "looks"

    def __post_init__(self) -> None:
        self.last = -1.0
        self.una = 0
        self.delivered = 0

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
        board = view.scoreboard
        assert ack.now == ack.now_ns / 1e9 == view.now and ack.now >= self.last
        assert ack.una == board.una and ack.una - self.una == ack.acked_bytes
        assert (ack.kind is dupack.AckKind.ADVANCE) == (ack.kind == "advance") == (ack.acked_bytes > 0)
        assert sum(d.segment.len for d in ack.delivered) == ack.delivered_bytes
        assert {d.by.value for d in ack.delivered} <= {"cumulative", "sack"}
        assert (ack.dup_acks == 0) or ack.kind != "advance"
        assert board.flight_size == view.flight_size == board.nxt - board.una
        segments = list(board)
        assert len(segments) == len(board) == board.end - board.first
        assert sum(segment.len for _, segment in segments) == board.flight_size
        assert sum(segment.is_sacked for _, segment in segments) == board.sacked_segments
        for id, segment in segments[:3]:
            assert board.get(id).start == segment.start and board.id_at(segment.start) == id
            assert segment.sent_at <= ack.now and segment.sent_at_ns == round(segment.sent_at * 1e9)
            assert segment.reported == ("sacked" if segment.is_sacked else "missing")
        assert board.get(board.end) is None and next(board.iter_from(board.end), None) is None
        rtt = view.rtt
        if ack.rtt is not None:
            assert rtt.latest == ack.rtt == ack.rtt_ns / 1e9 and rtt.min <= ack.rtt
        assert rtt.rto > 0 and rtt.rto_ns == round(rtt.rto * 1e9)
        assert view.rto_at is None or view.rto_at_ns / 1e9 == view.rto_at
        assert ack.limited_by in ("congestion", "receive_window", "application", "pacing")
        assert ack.ecn_echo is False and ack.marked_packets is None
        assert ack.window_use.filled == (ack.window_use.flight_max is None)
        assert credit.acks in (0, 1) and credit.in_flight is None
        assert ack.prior_flight >= ack.prior_flight_unlimited >= 0 and ack.prior_in_flight is None
        assert ack.timestamp_echo is not None and ack.order_echo is None and ack.dsack is None
        assert view.new_len > 0
        self.last, self.una = ack.now, ack.una
        self.delivered += ack.delivered_bytes
        return super().on_ack(ack, credit, view)

    def reduction(self, loss: LossFacts) -> float:
        assert loss.rule.name and str(loss.rule) == loss.rule.meaning
        assert loss.segment.end > loss.segment.start and loss.truth is None
        assert loss.timeouts >= 0 and loss.hole >= 1
        assert loss.srtt is None or loss.srtt >= loss.rtt_min > 0
        assert loss.flight_within_window == min(loss.flight_size, loss.window.cwnd)
        return super().reduction(loss)


@pytest.mark.parametrize("recovery", ["newreno", "sack", "rack"])
def test_facts_agree_with_each_other(recovery: str) -> None:
    results = run([f"{recovery}/looks"], Looks, sweep={"path.loss": ["0%", "5%"]})
    assert [str(failure.traceback) for failure in results.failures] == []


class Keeps(own.Half):
    """Keeps facts, and reads them in a later call."""

    name = "keeps"
    what: Literal["ack", "credit", "view", "scoreboard", "iterator", "rtt_of_view"] = dupack.parameter("view")

    def __post_init__(self) -> None:
        self.kept: Any = None
        self.sizes: list[float] = []

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
        kept, window = self.kept, view.window
        if kept is not None and ack.now > 1:
            if self.what == "ack":
                kept.now  # noqa: B018
            elif self.what == "credit":
                kept.bytes  # noqa: B018
            elif self.what == "view":
                kept.window  # noqa: B018
            elif self.what == "rtt_of_view":
                kept.rtt  # noqa: B018
            elif self.what == "scoreboard":
                kept.una  # noqa: B018
            else:
                next(kept)
            raise AssertionError("the fact did not raise")
        if kept is None:
            board = view.scoreboard
            self.kept = {
                "ack": ack, "credit": credit, "view": view, "scoreboard": board,
                "iterator": iter(board), "rtt_of_view": view,
            }[self.what]
        # Windows may be kept.
        self.sizes.append(window.cwnd)
        return super().on_ack(ack, credit, view)


@pytest.mark.parametrize("what", ["ack", "credit", "view", "scoreboard", "iterator", "rtt_of_view"])
def test_a_fact_raises_after_its_call(what: str) -> None:
    with pytest.raises(dupack.errors.AlgorithmError) as caught:
        run([f"sack/keeps(what={what})"], Keeps, seeds=1)
    error = caught.value.failures[0].error
    assert isinstance(error, dupack.errors.AlgorithmError) and "its call has ended" in error.message
    assert "keep the numbers" in str(error.help)


def test_values_outlive_their_call() -> None:
    class Remembers(own.Half):
        name = "remembers"
        kept: ClassVar[list[Any]] = []

        def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
            segments = [segment for _, segment in view.scoreboard]
            Remembers.kept.append((view.window, view.rtt, segments, ack.delivered, view))
            return super().on_ack(ack, credit, view)

    run(["sack/remembers"], Remembers, seeds=1, duration="2s")
    assert len(Remembers.kept) > 100
    window, rtt, segments, delivered, view = Remembers.kept[-1]
    assert window.cwnd > 0 and rtt.srtt > 0 and segments[0].len > 0 and delivered[0].id > 0
    assert len({kept[0].cwnd for kept in Remembers.kept}) > 20
    assert repr(view) == "<View of a call that has ended>"


# Failures.


class Fails(own.Half):
    """Fails at a given time in some instances."""

    name = "fails"
    share: float = dupack.parameter(0.5, low=0.0, high=1.0, doc="share of instances that fail")
    at: float = dupack.seconds(2.0, doc="time of the failure")

    def __post_init__(self) -> None:
        self.dead = False
        self.doomed = (self.context.seed >> 11) / (1 << 53) < self.share

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
        assert not self.dead, "a method was called after the failure"
        if self.doomed and ack.now >= self.at:
            self.dead = True
            raise ZeroDivisionError("on purpose")
        return super().on_ack(ack, credit, view)


def test_a_failure_ends_its_run_and_no_other() -> None:
    results = run(["sack/reno", "sack/half", "sack/fails"], own.Half, Fails, seeds=12)
    whole = run(["sack/half"], own.Half, seeds=12)
    failed = {failure.seed for failure in results.failures}
    assert 0 < len(failed) < 12
    assert results.missing == len(failed) and results.planned == 36
    left = hashes(results, "sack/fails")
    expected = hashes(whole, "sack/half")
    assert left == {key: value for key, value in expected.items() if key[1] not in failed}
    assert hashes(results, "sack/half") == expected
    failure = results.failures[0]
    assert (failure.point, failure.stack, failure.place) == (0, "sack/fails", "Fails.on_ack")
    assert 2.0 <= failure.time < 2.1
    assert isinstance(failure.error, ZeroDivisionError) and 'raise ZeroDivisionError("on purpose")' in failure.traceback
    assert [f.seed for f in results.failures] == sorted(failed)
    (note,) = [note for note in results.notes if "an algorithm failed" in note]
    assert "ZeroDivisionError: on purpose" in note and f"seed {failure.seed}" in note
    again = pickle.loads(pickle.dumps(failure))
    assert (again.seed, again.traceback, type(again.error)) == (failure.seed, failure.traceback, ZeroDivisionError)


def test_an_exception_is_raised_if_every_run_fails() -> None:
    with pytest.raises(dupack.errors.AlgorithmError, match="every run failed.*sack/fails.*seed 1.*on purpose") as caught:
        run(["sack/fails(share=1)"], Fails)
    assert len(caught.value.failures) == 3
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_failures_with_precision_and_harm() -> None:
    ours = catalog(Fails)
    experiment = dupack.Experiment(
        stacks=["sack/reno", "sack/fails(share=0.3)"],
        seeds=3,
        precision="3%",
        seeds_max=10,
        duration="5s",
        catalog=ours,
        path={**PATH, "loss": "2%"},
    )
    results = experiment.run(progress=False)
    purposes = {failure.purpose for failure in results.failures}
    assert purposes <= {"comparison", "harm"} and results.failures
    rows = [(row["stack"], row["seed"]) for row in results.runs.rows()]
    assert len(rows) == len(set(rows)), "a seed ran twice"
    assert results.missing == sum(failure.purpose == "comparison" for failure in results.failures)


def test_failed_runs_can_be_resumed(tmp_path: Any) -> None:
    ours = catalog(Fails)
    experiment = dupack.Experiment(stacks=["sack/fails"], seeds=8, duration="4s", catalog=ours, path={**PATH, "loss": "2%"})
    out = tmp_path / "out"
    results = experiment.run(progress=False, harm=False, out=out)
    assert results.failures and (out / "report.html").exists()
    again = experiment.run(progress=False, harm=False, out=out, resume=True)
    assert [f.seed for f in again.failures] == [f.seed for f in results.failures]
    assert again.runs.rows() == results.runs.rows()


# Functions that use an algorithm.


def test_a_trace_equals_that_of_reno() -> None:
    ours = catalog(PortedReno, own.Holes)
    fields: dict[str, Any] = {"seeds": 1, "duration": "5s", "path": {**PATH, "loss": "2%"}, "catalog": ours}
    experiment = dupack.Experiment(stacks=["sack/reno", "sack/ported_reno", "holes/ported_reno"], **fields)
    theirs, ours_, own_ = (experiment.trace(stack) for stack in experiment.stacks)
    assert ours_.packets.rows() == theirs.packets.rows()
    reasons = {row["reason"] for row in own_.packets.rows(100_000)} if "reason" in own_.packets.columns else None
    assert reasons is None or any("segments beyond it were sacked" in str(reason) for reason in reasons)


def test_a_report_card_equals_that_of_reno() -> None:
    ours = catalog(PortedReno)
    how: dict[str, Any] = {"only": ["full-backoff"], "quick": True, "progress": False, "catalog": ours}
    cards = [dupack.evaluate(stack, **how)[0] for stack in ("sack/reno", "sack/ported_reno")]
    assert cards[0].verdicts == cards[1].verdicts
    assert [row["found"] for row in cards[0].rows] == [row["found"] for row in cards[1].rows]


def test_a_report_names_the_algorithm(tmp_path: Any) -> None:
    results = run(["sack/reno", "sack/half"], own.Half, seeds=2, duration="5s")
    results.write(tmp_path / "out")
    assert "half" in (tmp_path / "out" / "report.html").read_text()


def test_two_threads_run_experiments_concurrently() -> None:
    made: dict[int, dict[tuple[int, int], int]] = {}

    def work(n: int) -> None:
        made[n] = hashes(run(["holes/half"], *own.ALL, duration="5s"), "holes/half")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0] == made[1] == hashes(run(["holes/half"], *own.ALL, duration="5s"), "holes/half")


class Nested(own.Half):
    """Runs an experiment during a run."""

    name = "nested"

    def __post_init__(self) -> None:
        self.done = False

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
        if not self.done:
            self.done = True
            with pytest.raises(dupack.errors.AlgorithmError):
                run(["sack/fails(share=1,at=0s)"], Fails, seeds=1, duration="1s")
            assert not run(["sack/half"], own.Half, seeds=1, duration="1s").failures
        assert view.scoreboard.una == ack.una
        return super().on_ack(ack, credit, view)


def test_a_nested_run() -> None:
    results = run(["sack/half", "sack/nested"], own.Half, Nested, seeds=2, duration="3s")
    assert not results.failures
    assert hashes(results, "sack/nested") == hashes(results, "sack/half")


def test_ctrl_c_during_a_method() -> None:
    class Presses(own.Half):
        name = "presses"
        runs = 0

        def __post_init__(self) -> None:
            Presses.runs += 1

        def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
            if Presses.runs > 3 and ack.now > 2:
                raise KeyboardInterrupt
            return super().on_ack(ack, credit, view)

    ours = catalog(Presses)
    experiment = dupack.Experiment(stacks=["sack/presses"], seeds=6, duration="4s", catalog=ours, path=PATH)
    Presses.runs = 1
    with pytest.raises(dupack.Interrupted) as caught:
        experiment.run(progress=False, harm=False)
    results = caught.value.results
    assert results.planned == 6 and results.missing == 4 and not results.failures


# The catalog.


def test_the_decorator_registers_and_returns_the_class() -> None:
    @dupack.register
    class Registered(own.Half):
        """Registered by a decorator."""

        name = "registered_by_a_test"

    assert Registered in dupack.catalog.registered
    assert dupack.stacks("registered_by_a_test")[0]["summary"] == "Registered by a decorator"


def test_a_rerun_cell_replaces_its_class() -> None:
    def cell(factor: float) -> type[Any]:
        class Cell(own.Half):
            name = "cell"

            def reduction(self, loss: LossFacts) -> float:
                return loss.window.cwnd * factor

        return Cell

    ours = dupack.Catalog()
    made = []
    for factor in (0.5, 0.9):
        ours.register(cell(factor))
        made.append(dupack.Experiment(stacks=["sack/cell"], seeds=1, duration="10s", catalog=ours, path={**PATH, "loss": "1%"}))
    assert len(ours.registered) == 1
    first, second = (goodput(experiment.run(progress=False, harm=False), "sack/cell")[0] for experiment in made)
    assert second > first, "the first experiment must keep its class"


def test_a_catalog_can_be_pickled() -> None:
    ours = pickle.loads(pickle.dumps(catalog(own.Half, own.Holes)))
    assert ours.registered == [own.Half, own.Holes]
    assert ours.canonical("holes/half(increase=7)") == "holes/half(increase=7)"
    experiment = dupack.Experiment(stacks=["holes/half"], seeds=1, duration="2s", path=PATH, catalog=ours)
    again = pickle.loads(pickle.dumps(experiment))
    assert again.run(progress=False, harm=False).runs.rows() == experiment.run(progress=False, harm=False).runs.rows()
