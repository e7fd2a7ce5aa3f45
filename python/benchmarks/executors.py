"""Benchmark of runs in other processes.

    python python/benchmarks/executors.py            # 100,000 runs of 1 s at 1 Mbit/s, in a pool and in threads
    python python/benchmarks/executors.py --costs    # cost of a run by the number of its packets
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

import dupack
from dupack import _native


def sweep(seeds: int) -> dupack.Experiment:
    """Create an experiment of short runs, with 100 runs per seed."""
    return dupack.Experiment(
        stacks=["sack/reno", "rack/cubic"],
        path={"rate": "1Mbit/s", "delay": "10ms", "buffer": "20pkt"},
        sweep={"path.loss": [f"{n / 10}%" for n in range(50)]},
        seeds=seeds,
        duration="1s",
    )


def run(experiment: dupack.Experiment, executor: Executor | None) -> tuple[float, float, dupack.Results]:
    """Return the elapsed time, the processor time of this process (both in seconds), and the results."""
    begin, cpu = time.perf_counter(), time.process_time()
    results = experiment.run(executor=executor, harm=False, progress=False)
    return time.perf_counter() - begin, time.process_time() - cpu, results


def whole(runs: int, workers: int) -> None:
    experiment = sweep(max(1, runs // 100))
    print(f"{experiment.runs} runs of 1 s at 1 Mbit/s, {workers} workers, {os.cpu_count()} processors")
    own, _, ours = run(experiment, None)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        # Start the workers before the measurement.
        run(sweep(1), pool)
        theirs, cpu, results = run(experiment, pool)
    assert results._native.csv() == ours._native.csv()
    print(f"threads of this process: {own:.1f} s")
    print(f"a pool of processes:     {theirs:.1f} s, {theirs / own:.2f} times as long")
    print(f"  CPU of this process:   {cpu:.1f} s, {cpu / experiment.runs * 1e6:.0f} µs per run")
    transfer(experiment)


def transfer(experiment: dupack.Experiment) -> None:
    """Print the size of a run in transit, and the cost of entering it, from a batch of 1000 runs."""
    plan = experiment._checked(harm=False)
    ledger, _ = plan.ledger(1)
    batch = ledger.order(10**9, 1000, 1)
    assert batch is not None
    _, order, runs, _ = batch
    parcel, _, _ = plan.perform(order)
    begin = time.perf_counter()
    ledger.enter(parcel)
    seconds = time.perf_counter() - begin
    print(f"transfer of a run: {len(order) / runs:.0f} bytes to the worker, {len(parcel) / runs:.0f} bytes back")
    print(f"entering a run:    {seconds / runs * 1e6:.1f} µs")


def costs() -> None:
    """Print the time per run and per packet, for several approximate numbers of packets."""
    print("packets    µs/run    ns/packet")
    for rate in (1, 10, 100):
        for duration in (1, 10):
            experiment = dupack.Experiment(
                stacks=["sack/reno", "rack/cubic"],
                path={"rate": f"{rate}Mbit/s", "delay": "10ms", "buffer": "100pkt"},
                seeds=50,
                duration=f"{duration}s",
            )
            plan = experiment._checked(harm=False)
            spent: list[float] = []
            for _ in range(5):
                ledger, _ = plan.ledger(1)
                batch: Any = ledger.order(10**12, 10**6, 1)
                _, order, runs, _ = batch
                begin = time.process_time()
                plan.perform(order)
                spent.append((time.process_time() - begin) / runs)
            packets = rate * 1e6 * duration / 8000
            seconds = statistics.median(spent)
            print(f"{packets:7.0f} {seconds * 1e6:9.0f} {seconds / packets * 1e9:12.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--costs", action="store_true")
    args = parser.parse_args()
    print(f"dupack {_native.engine()}")
    if args.costs:
        costs()
    else:
        whole(args.runs, args.workers)


if __name__ == "__main__":
    main()
