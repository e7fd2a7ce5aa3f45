"""Algorithms in Python for the tests, one of each kind."""

from __future__ import annotations

import random

import dupack
from dupack import Clearance, Growth, LossCause, LossEvent, LossRule, Next, Outcome, RtoTimer, Window
from dupack.algorithms import AckFacts, Credit, LossFacts, Sent, View

BEYOND = LossRule("beyond", "segments beyond it were sacked")  # The README shows the same recovery.


class Holes(dupack.Recovery):
    """A hole is lost when a few segments beyond it are sacked."""

    name = "holes"
    needs = ("sack",)
    beyond: int = dupack.parameter(3, low=1, high=100, unit="segments", source="RFC 5681", doc="sacked segments after which a hole is lost")

    def __post_init__(self) -> None:
        self.lost: dict[int, int] = {}
        self.judged = self.recover = 0

    def on_ack(self, ack: AckFacts, view: View) -> Outcome:
        board, loss = view.scoreboard, None
        for delivered in ack.delivered:
            self.lost.pop(delivered.id, None)
        for id, segment in board.iter_from(self.judged):
            if segment.end + self.beyond * self.context.smss > board.forward_ack:
                break
            self.judged = id + 1
            if not segment.is_sacked:
                self.lost[id] = segment.len
                if loss is None and ack.una >= self.recover:
                    loss = LossEvent(id, BEYOND)
        if loss is not None:
            self.recover = board.nxt
        growth = Growth.ACKED if ack.una >= self.recover else Growth.FROZEN
        return Outcome(loss=loss, growth=growth, rto=RtoTimer.RESTART if ack.acked_bytes else RtoTimer.KEEP)

    def on_sent(self, sent: Sent, view: View) -> RtoTimer:
        self.lost.pop(sent.id, None)
        return RtoTimer.KEEP

    def on_rto(self, view: View) -> None:
        self.lost = {id: segment.len for id, segment in view.scoreboard if not segment.is_sacked}
        self.judged, self.recover = view.scoreboard.end, view.scoreboard.nxt

    def in_flight(self, view: View) -> int:
        return view.flight_size - view.scoreboard.sacked_bytes - sum(self.lost.values())

    def next(self, view: View) -> Next:
        for id in self.lost:
            return Next.retransmit(id, BEYOND, Clearance.WINDOW)
        return Next.new()


class Half(dupack.CongestionControl):
    """Additive increase, half the window at a loss, no slow start."""

    name = "half"
    citation = "a test"
    increase: float = dupack.parameter(1.0, linux=2.0, low=0.0, high=100.0, unit="segments", source="RFC 5681")
    eager: bool = dupack.parameter(False, doc="double the increase")
    wait: float = dupack.seconds(0.0, source="a test", doc="time without growth at the start")

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> float:
        cwnd = view.window.cwnd
        if ack.now < self.wait:
            return cwnd
        increase = self.increase * (2 if self.eager else 1)
        return cwnd + increase * self.context.smss * credit.bytes / cwnd

    def reduction(self, loss: LossFacts) -> float:
        return max(loss.window.cwnd / 2, 2.0 * self.context.smss)

    def on_timeout(self, loss: LossFacts) -> Window:
        return Window(self.context.smss, self.reduction(loss))


class Coin(dupack.Differentiation):
    """A random cause."""

    name = "coin"
    wireless: float = dupack.parameter(0.5, low=0.0, high=1.0, doc="probability of judging a loss as the link's")

    def __post_init__(self) -> None:
        self.random = random.Random(self.context.seed)

    def judge(self, loss: LossFacts) -> LossCause:
        return LossCause.WIRELESS if self.random.random() < self.wireless else LossCause.CONGESTION


class Stay(dupack.Response):
    """The window stays as it is."""

    name = "stay"

    def respond(self, loss: LossFacts, congestion: Window) -> Window:
        return loss.window


ALL = (Holes, Half, Coin, Stay)
