"""Reno in Python, a port of ``crates/algorithms/src/congestion/{reno,aimd}.rs`` in the dialect ``rfc``.

Like the original with default parameters, it counts bytes, validates the window as ``limited``, and neither paces
nor undoes reductions.
"""

from __future__ import annotations

import dupack
from dupack import LimitedBy, LossCause, Window
from dupack.algorithms import AckFacts, Credit, LossFacts, View


class PortedReno(dupack.CongestionControl):
    """AIMD: one more segment per round trip, half the window at a loss."""

    name = "ported_reno"
    citation = "RFC 5681"
    limit: int = dupack.parameter(
        1, low=1, high=65_535, unit="segments", source="RFC 5681 §3.1", doc="segments that one ACK may add in slow start"
    )
    increase: float = dupack.parameter(
        1.0, low=0.0, high=1000.0, unit="segments", source="RFC 5681 §3.1", doc="additive increase per round trip"
    )
    decrease: float = dupack.parameter(
        0.5, low=0.0, high=1.0, source="RFC 5681 eq. 4", doc="factor on the window at a loss"
    )
    min_ssthresh: int = dupack.parameter(
        2, low=1, high=65_535, unit="segments", source="RFC 5681 eq. 4", doc="least slow start threshold after a loss"
    )

    def __post_init__(self) -> None:
        self.acked = 0.0
        self.after_timeout = False
        self.timed_out: int | None = None
        self._measure(self.context.smss)

    def _measure(self, smss: int) -> None:
        self.smss = float(smss)
        self.limits = (self.limit * self.smss, self.smss)
        self.slope = self.increase * self.smss
        self.least = self.min_ssthresh * self.smss

    def on_ack(self, ack: AckFacts, credit: Credit, view: View) -> Window:
        window = view.window
        if ack.limited_by is not LimitedBy.CONGESTION:
            return window
        if not window.in_slow_start:
            return self._avoidance(window, credit.bytes)
        room = window.ssthresh - window.cwnd
        step = min(float(credit.bytes), self.limits[self.after_timeout])
        crosses = step > room
        grown = window.replace(cwnd=window.cwnd + (room if crosses else step))
        if grown.cwnd >= grown.ssthresh:
            self.after_timeout = False
        rest = max(0, credit.bytes - int(room)) if crosses else 0
        return self._avoidance(grown, rest) if rest > 0 else grown

    def _avoidance(self, window: Window, count: int) -> Window:
        self.acked += count
        if self.acked < window.cwnd:
            return window
        self.acked -= window.cwnd
        return window.replace(cwnd=window.cwnd + self.slope)

    def reduction(self, loss: LossFacts) -> Window:
        ssthresh = max(self.decrease * loss.flight_within_window, self.least)
        return Window(ssthresh, ssthresh)

    def on_loss(self, loss: LossFacts, cause: LossCause, chosen: Window) -> None:
        own = self.reduction(loss)
        if cause is LossCause.CONGESTION or (
            self._alike(chosen.cwnd, own.cwnd) and self._alike(chosen.ssthresh, own.ssthresh)
        ):
            self.acked = 0.0

    def _alike(self, chosen: float, own: float) -> bool:
        return chosen == own or 0.0 <= own - chosen < self.smss

    def on_timeout(self, loss: LossFacts) -> Window:
        self.acked = 0.0
        self.after_timeout = True
        if self.timed_out == loss.segment.start:
            ssthresh = loss.window.ssthresh
        else:
            ssthresh = max(self.decrease * loss.flight_within_window, self.least)
        self.timed_out = loss.segment.start
        return Window(self.smss, ssthresh)

    def on_segment_size(self, before: int, now: int) -> None:
        self._measure(now)
