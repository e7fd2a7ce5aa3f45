"""How many ACKs a second go through a congestion control in Python.

    python python/benchmarks/algorithms.py [--rounds 9] [--seconds 20] [--write docs/performance.md]

A sender on a fast path without loss: every segment is acknowledged, and every ACK goes through the control.
What is counted is the processor time of the whole run, the simulator's share included. In each round every
stack is measured once, so that a machine that is slow for a while is slow for all of them. Measure with a
release build on a quiet machine: ``maturin develop --release``.
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
    """Says nothing but the window: what a call alone costs."""

    name = "keeps_the_window"

    def on_ack(self, ack: Any, credit: Any, view: Any) -> Any:
        return 1e6


#: What is measured, and what it is.
STACKS = {
    "newreno/reno": "in Rust",
    "newreno/keeps_the_window": "returns a number: the cost of a call",
    "newreno/five_lines": "five lines",
    "rack/reno": "in Rust",
    "rack/five_lines": "five lines",
}

#: What a control of five lines is to reach, in ACKs a second.
AIM = 1_000_000

HEADING = "## Algorithms in Python\n"


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


def row(stack: str, ns: list[float], rust: list[float]) -> str:
    """The line of a stack: nanoseconds per ACK, round by round, and those of Reno in Rust in the same rounds."""
    low, median, high = (f"{1e3 / value:.2f}" for value in (max(ns), statistics.median(ns), min(ns)))
    own, alone, aim, reached = "", "", "", ""
    if ns is not rust:
        share = statistics.median(mine - theirs for mine, theirs in zip(ns, rust, strict=True))
        own, alone = f"{share:.0f}", f"{1e3 / share:.2f} M" if share > 0 else "no cost seen"
    if stack.endswith("/five_lines"):
        aim = f"≥ {AIM / 1e6:.0f} M"
        best = 1e9 / min(ns)
        reached = "yes" if 1e9 / statistics.median(ns) >= AIM else "only the best round" if best >= AIM else "no"
    return (
        f"| `{stack}` | {STACKS[stack]} | {low} / {median} / {high} M | {statistics.median(ns):.0f} | {own} | {alone} "
        f"| {aim} | {reached} |"
    )


def section(ns: dict[str, list[float]], words: str) -> str:
    """What the page says."""
    lines = [
        HEADING,
        f"`python python/benchmarks/algorithms.py {words}` generated this section. A run over 1 Gbit/s without loss passes every ACK",
        "through the control, on one processor. ACKs per second cover the whole run, including the simulator and the trace hash: minimum /",
        "median / maximum of the rounds. The control's share is the cost of an ACK beyond that of `reno` in Rust with the same recovery in the",
        "same round; the number before the target is the rate that this share alone would allow.",
        "",
        "| stack | control | ACKs/s | ns/ACK | control's share, ns | ACKs/s of the control alone | target | reached |",
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
    """What Linux says of it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def put(page: str, text: str) -> str:
    """``page`` with ``text`` in place of the section of the same heading, or at its end."""
    before, heading, after = page.partition(HEADING)
    if not heading:
        return page.rstrip() + "\n\n" + text
    _, next_heading, rest = after.partition("\n## ")
    return before + text + next_heading + rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated seconds of a run")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the section into this page, too")
    args = parser.parse_args()
    # What is imported and built once is no part of it.
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
