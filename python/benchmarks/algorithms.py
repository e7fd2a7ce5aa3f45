"""Benchmark of congestion controls in Python, in ACKs per second.

    python python/benchmarks/algorithms.py [--rounds 9] [--seconds 20] [--write docs/performance.md]

A sender uses a fast path without loss. Every segment is acknowledged, and the control is called for every ACK.
The benchmark measures the processor time of the whole run, including the simulator. Each round measures every
stack once, so that a temporary slowdown of the machine affects all stacks. Use a release build
(``maturin develop --release``) on an idle machine.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from pathlib import Path
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
    """Returns a constant window: the cost of a call alone."""

    name = "keeps_the_window"

    def on_ack(self, ack: Any, credit: Any, view: Any) -> Any:
        return 1e6


#: Measured stacks, and descriptions of their controls.
STACKS = {
    "newreno/reno": "in Rust",
    "newreno/keeps_the_window": "returns a number: the cost of a call",
    "newreno/five_lines": "five lines",
    "rack/reno": "in Rust",
    "rack/five_lines": "five lines",
}

#: Target for a control of five lines, in ACKs per second.
AIM = 1_000_000

HEADING = "## Algorithms in Python\n"


def measured(stack: str, seconds: float) -> tuple[int, float]:
    """Return the number of ACKs of a run, and its processor time in seconds."""
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
    # Without loss and delayed ACKs, every full segment has its own ACK.
    acks = run["goodput_mbit_s"] * 1e6 / 8 * seconds / 1460
    return round(acks), cost


def row(stack: str, ns: list[float], rust: list[float]) -> str:
    """Return the row of a stack, from its times per ACK in ns and those of Reno in Rust in the same rounds."""
    low, median, high = (f"{1e3 / value:.2f}" for value in (max(ns), statistics.median(ns), min(ns)))
    own, alone, aim, reached = "", "", "", ""
    if ns is not rust:
        share = statistics.median(mine - theirs for mine, theirs in zip(ns, rust, strict=True))
        own, alone = f"{share:.0f}", f"{1e3 / share:.2f} M" if share > 0 else "not measurable"
    if stack.endswith("/five_lines"):
        aim = f"≥ {AIM / 1e6:.0f} M"
        best = 1e9 / min(ns)
        reached = "yes" if 1e9 / statistics.median(ns) >= AIM else "only the best round" if best >= AIM else "no"
    return (
        f"| `{stack}` | {STACKS[stack]} | {low} / {median} / {high} M | {statistics.median(ns):.0f} | {own} | {alone} "
        f"| {aim} | {reached} |"
    )


def section(ns: dict[str, list[float]], words: str) -> str:
    """Return the section of the page."""
    lines = [
        HEADING,
        f"Written by `python python/benchmarks/algorithms.py {words}`. Each run uses one processor and a path of 1 Gbit/s without loss;",
        "every ACK goes through the control. ACKs/s is the rate of the whole run, including the simulator and the hash of its trace:",
        "minimum / median / maximum of the rounds. The control's share is the additional time of an ACK over `reno` in Rust with the same",
        "recovery, in the same round. ACKs/s of the control alone is the rate that this share would permit.",
        "",
        "| stack | control | ACKs/s | ns/ACK | share of the control (ns) | ACKs/s of the control alone | target | reached |",
        "| --- | --- | --: | --: | --: | --: | --- | --- |",
    ]
    for stack, own in ns.items():
        lines.append(row(stack, own, ns[stack.split("/")[0] + "/reno"]))
    lines += [
        "",
        f"- on {time.strftime('%Y-%m-%d', time.gmtime())}, {platform.python_implementation()} {platform.python_version()}, "
        f"{processor()}",
    ]
    return "\n".join(lines) + "\n"


def processor() -> str:
    """Return the name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def put(page: str, text: str) -> str:
    """Replace the section with the same heading in ``page`` by ``text``, or append ``text``."""
    before, heading, after = page.partition(HEADING)
    if not heading:
        return page.rstrip() + "\n\n" + text
    _, next_heading, rest = after.partition("\n## ")
    return before + text + next_heading + rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="number of rounds")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated time of a run, in seconds")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also write the section into this page")
    args = parser.parse_args()
    # Run each stack once, so that imports and other one-time work are not measured.
    for stack in STACKS:
        measured(stack, 0.5)
    ns: dict[str, list[float]] = {stack: [] for stack in STACKS}
    for round_ in range(1, args.rounds + 1):
        for stack, own in ns.items():
            acks, cost = measured(stack, args.seconds)
            own.append(cost / acks * 1e9)
            print(f"round {round_} of {args.rounds}: {stack}: {own[-1]:.0f} ns/ACK of {acks:,}", flush=True)
    words = f"--rounds {args.rounds} --seconds {args.seconds:g}"
    if args.write:
        words += f" --write {args.write}"
    text = section(ns, words)
    print("\n" + text)
    if args.write:
        args.write.write_text(put(args.write.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
