"""How many ACKs a second go through a congestion control in Python.

    python python/benchmarks/algorithms.py [--repeat 9] [--seconds 20]

A sender on a fast path without loss: every segment is acknowledged, and every ACK goes through the control.
What is counted is the processor time of the whole run, the simulator's share included, as the median of
several runs; the same with Reno in Rust stands beside it. Measure with a release build on a quiet machine:
``maturin develop --release``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import dupack


@dupack.register
class FiveLines(dupack.CongestionControl):
    """Additive increase, half the window at a loss."""

    name = "five_lines"
    increase: float = dupack.parameter(1.0, low=0.0, high=100.0, unit="segments")

    def on_ack(self, ack: Any, credit: Any, view: Any) -> float:
        cwnd = view.window.cwnd
        return cwnd + self.increase * self.context.smss * credit.bytes / cwnd

    def reduction(self, loss: Any) -> float:
        return max(loss.window.cwnd / 2, 2.0 * self.context.smss)

    def on_timeout(self, loss: Any) -> tuple[float, float]:
        return self.context.smss, self.reduction(loss)


@dupack.register
class Keeps(FiveLines):
    """Says nothing but the window: what a call alone costs."""

    name = "keeps_the_window"

    def on_ack(self, ack: Any, credit: Any, view: Any) -> Any:
        return 1e6


STACKS = ("rack/reno", "rack/keeps_the_window", "rack/five_lines")


def measured(stack: str, seconds: float) -> tuple[int, float]:
    """How many ACKs a run has, and what it costs in seconds of processor time."""
    experiment = dupack.Experiment(
        stacks=[stack],
        seeds=1,
        duration=f"{seconds}s",
        path={"rate": "1Gbit/s", "delay": "5ms", "buffer": "2000pkt"},
    )
    begin = time.process_time()
    results = experiment.run(harm=False, progress=False, jobs=1)
    cost = time.process_time() - begin
    (run,) = results.runs.rows()
    # Without loss or delayed ACKs every full segment is acknowledged by an ACK of its own.
    acks = run["goodput_mbit_s"] * 1e6 / 8 * seconds / 1460
    return round(acks), cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9, help="how often each is measured")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated seconds of a run")
    args = parser.parse_args()
    # What is imported and built once is no part of it.
    for stack in STACKS:
        measured(stack, 0.5)
    print(f"{'stack':24} {'ACKs':>10} {'ACKs/s':>12} {'least':>12} {'most':>12} {'ns/ACK':>8}")
    for stack in STACKS:
        rates: list[float] = []
        acks = 0
        for _ in range(args.repeat):
            acks, cost = measured(stack, args.seconds)
            rates.append(acks / cost)
        median = statistics.median(rates)
        print(f"{stack:24} {acks:10,} {median:12,.0f} {min(rates):12,.0f} {max(rates):12,.0f} {1e9 / median:8.0f}")


if __name__ == "__main__":
    main()
