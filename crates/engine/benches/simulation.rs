//! Benchmark of the simulator: simulated work per wall-clock second, on one thread.
//!
//! Run it with `cargo xtask bench` or `cargo bench -p dupack-engine`. To compare two versions, measure both in the same
//! session and compute the ratio. `docs/performance.md` has the times of other simulators for the same work.

mod works;

use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// Path of draft-nishida-newreno-modification: 10 Mbit/s, a delay of 2 ms, 1 % loss, delayed ACKs, and 1,000,000
/// packets of 1000 bytes. The same run in ns-2: `time ns validation/peers/ns2/run.tcl -recovery newreno -delay 0.002
/// -loss 0.01 -buffer 50 -delack 0.2 -packets 1000000`.
#[divan::bench(sample_count = 10, sample_size = 1, args = [
    "newreno/reno", "sack(pipe=rfc6675)/reno", "fack/reno", "momentary/reno", "le/reno", "rack/reno", "rack/cubic", "le/westwood",
])]
fn million_packets(bencher: Bencher<'_, '_>, stack: &str) {
    measure(bencher, &works::one(stack));
}

/// Several SACK flows.
#[divan::bench(sample_count = 5, sample_size = 1, args = [10, 100, 1000])]
fn many_flows(bencher: Bencher<'_, '_>, flows: u32) {
    measure(bencher, &works::many(flows));
}

/// One flow over several radio hops, for 200 s.
#[divan::bench(sample_count = 10, sample_size = 1, args = [1, 5])]
fn radio_chain(bencher: Bencher<'_, '_>, hops: u32) {
    measure(bencher, &works::chain(hops, 200));
}

/// Builds and runs the experiment, and reports the number of data packets delivered per second.
fn measure(bencher: Bencher<'_, '_>, text: &str) {
    let plan = works::plan(text).expect("the benchmark's experiment is possible");
    let scenario = plan.scenario(plan.jobs()[0]);
    let run = || works::run(&scenario).expect("it was built before");
    let packets = run();
    bencher.counter(ItemsCount::new(packets)).bench(run);
}
