"""A policy with five weights, as an environment's agent and as a congestion control.

Every 20 ms the pace is multiplied by 1 + α·a, or divided by 1 − α·a if a < 0, where a is between −1 and 1:

    a = w · (1, latency_ratio − 1, latency_gradient, send_ratio − 1, loss_ratio)

The first four are a constant and Aurora's features (Jay et al., ICML 2019); the last is the share of retransmissions in all
retransmitted and delivered data. ``docs/environments.md`` defines each of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dupack
import numpy as np

STEP_S = 0.02
ALPHA = 0.25
FIRST_MBIT_S, LEAST_MBIT_S, MOST_MBIT_S = 1.0, 0.05, 200.0
FEATURES = ["latency_ratio", "latency_gradient", "send_ratio", "loss_ratio"]
# Larger values are clipped to these.
LARGE = np.array([5.0, 1.0, 5.0, 1.0])

#: Settings of the environment.
SETTINGS: dict[str, Any] = {
    "preset": None,
    "observation": {"features": FEATURES, "history": 1},
    "action": {
        "kind": "rate_factor",
        "alpha": ALPHA,
        "bound": 1.0,
        "low": f"{LEAST_MBIT_S}Mbit/s",
        "high": f"{MOST_MBIT_S}Mbit/s",
        "first": f"{FIRST_MBIT_S}Mbit/s",
    },
    # Delivery rate relative to the largest so far, times a factor for a short queue; losses do not count.
    "reward": {"kind": "power", "loss": 0.0, "margin": 1.25},
    "interval": f"{STEP_S * 1000:g}ms",
}


def inputs(observations: np.ndarray) -> np.ndarray:
    """Returns the inputs of the policy for observations in rows."""
    shifted = np.asarray(observations, np.float64) - np.array([1.0, 0.0, 1.0, 0.0])
    bounded = np.clip(shifted, -LARGE, LARGE)
    return np.concatenate([np.ones((*bounded.shape[:-1], 1)), bounded], axis=-1)


def actions(observations: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the actions of the policy, one for each row."""
    return np.clip((inputs(observations) * weights).sum(axis=-1), -1.0, 1.0).astype(np.float32)


def stored() -> list[float]:
    """Returns the weights that ``train.py`` has found."""
    found: list[float] = json.loads((Path(__file__).parent / "weights.json").read_text())["weights"]
    return found


class Learned(dupack.CongestionControl):
    """A pace that a trained policy of five numbers sets every 20 ms."""

    name = "learned"
    citation = "examples/training"
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self.own = np.array(self.weights or stored())
        self.rate = FIRST_MBIT_S * 1e6 / 8
        self.next = 0.0
        self.begin = 0.0
        self.rtt = self.rtt_mean_least = 0.0
        self.forget()

    def forget(self) -> None:
        """Begins a step."""
        self.sent = self.again = self.delivered = 0
        self.samples: list[tuple[float, float]] = []

    def governance(self) -> dupack.algorithms.Governance:
        return dupack.algorithms.Governance.MODEL

    def pacing(self) -> dupack.algorithms.Pacing:
        return dupack.algorithms.Pacing.RATE

    def pacing_rate(self) -> float:
        return self.rate

    def on_sent(self, sent: Any, departure: Any, view: Any) -> None:
        self.sent += sent.segment.len
        if sent.segment.transmissions > 1:
            self.again += sent.segment.len

    def on_ack(self, ack: Any, credit: Any, view: Any) -> float:
        if ack.now >= self.next:
            self.act()
            self.next = (ack.now // STEP_S + 1) * STEP_S
            self.begin = ack.now
        self.delivered += ack.delivered_bytes
        if ack.rtt is not None:
            self.samples.append((ack.now - self.begin, ack.rtt))
        # The pace alone governs: the window is so wide that it never holds.
        return 1e12

    def act(self) -> None:
        """Ends a step: the pace becomes another."""
        slope = 0.0
        if self.samples:
            at, rtt = np.array(self.samples).T
            self.rtt = float(rtt.mean())
            least = self.rtt_mean_least
            self.rtt_mean_least = self.rtt if least == 0.0 else min(least, self.rtt)
            if np.ptp(at) > 0:
                slope = float(np.polyfit(at, rtt, 1)[0])
        ratio = self.rtt / self.rtt_mean_least if self.rtt_mean_least else 1.0
        send_ratio = self.sent / self.delivered if self.delivered else 1.0
        lost = self.again / (self.again + self.delivered) if self.again + self.delivered else 0.0
        (action,) = actions(np.array([[ratio, slope, send_ratio, lost]]), self.own)
        factor = 1 + ALPHA * action if action >= 0 else 1 / (1 - ALPHA * action)
        self.rate = float(np.clip(self.rate * factor, LEAST_MBIT_S * 1e6 / 8, MOST_MBIT_S * 1e6 / 8))
        self.forget()

    def reduction(self, loss: Any) -> float:
        return 1e12

    def on_timeout(self, loss: Any) -> tuple[float, float]:
        return 1e12, 1e12
