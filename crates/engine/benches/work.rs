//! Performs one task and measures its time, for comparison with other simulators.
//!
//! `cargo run --release -p dupack-engine --example work -- WORK [ARGUMENT]` prints `packets=N seconds=S rss_kb=R`: the
//! number of data packets delivered in order, the wall-clock time from the experiment's text to the end of the run
//! (including setup, without the start of the process), and the maximum resident set. These are the tasks:
//!
//! | work | description |
//! | --- | --- |
//! | `one [RECOVERY]` | 1,000,000 packets of 1000 bytes, 10 Mbit/s, a delay of 2 ms, 1 % loss, delayed ACKs |
//! | `ten [SECONDS]` | 10 SACK flows, 100 Mbit/s, round-trip time of 44 ms, packets of 1500 bytes, drop-tail queue of 333 packets |
//! | `hundred` | 100 SACK flows, 100 Mbit/s, round-trip time of 40 ms, access links of 5 ms, 20 s |
//! | `thousand` | 1000 SACK flows, 1 Gbit/s, the same delays, 20 s |
//! | `huge [FLOWS]` | 100,000 SACK flows, 1 Mbit/s for each flow, round-trip time of 40 ms, one hop, 1 s |
//! | `idle [FLOWS]` | the same flows, of which almost none has started at the end, to measure their memory without a window |
//! | `sweep [THREADS]` | 1000 runs of 10 s of one flow with losses |
//! | `chain [SECONDS]` | five 802.11b hops, one NewReno flow with a window of 8 segments, 200 s |

mod works;

use dupack_engine::{Execute, Execution};
use dupack_lab::results::Measure;
use dupack_lab::run::Interrupt;

use works::{Result, chain, many, one, plan, run};

// This example measures wall-clock time.
#[allow(clippy::disallowed_methods)]
fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let work = arguments.next().unwrap_or_default();
    let argument = arguments.next();
    let number = |usual: u32| argument.as_deref().map_or(Ok(usual), str::parse);
    let started = std::time::Instant::now();
    let packets = match work.as_str() {
        "one" => single(&one(&stack(argument.as_deref().unwrap_or("newreno"))))?,
        "ten" => single(&ten(number(200)?))?,
        "hundred" => single(&many(100))?,
        "thousand" => single(&many(1000))?,
        "huge" => single(&huge(number(100_000)?, "0s", "500ms"))?,
        "idle" => single(&huge(number(100_000)?, "999ms", "1000000s"))?,
        "sweep" => sweep(number(2)? as usize)?,
        "chain" => single(&chain(5, number(200)?))?,
        _ => return Err(format!("no work is called `{work}`; see the top of this file").into()),
    };
    let seconds = started.elapsed().as_secs_f64();
    println!("packets={packets} seconds={seconds:.4} rss_kb={}", peak()?);
    Ok(())
}

/// Returns a stack with this recovery. Bulk Repeat needs a loss differentiation.
fn stack(recovery: &str) -> String {
    match recovery {
        "bulk-repeat" => "bulk-repeat/reno/spike/1".to_owned(),
        _ => format!("{recovery}/reno"),
    }
}

fn ten(seconds: u32) -> String {
    format!(
        r#"
        stacks = ["sack/reno"]
        duration = "{seconds}s"
        [path]
        rate = "100Mbit/s"
        delay = "20ms"
        buffer = "333pkt"
        [access]
        rate = "1Gbit/s"
        delay = "1ms"
        [[flows]]
        count = 10
        start_spread = "1s"
        "#
    )
}

fn huge(flows: u32, start: &str, spread: &str) -> String {
    format!(
        r#"
        stacks = ["sack/reno"]
        duration = "1s"
        [path]
        rate = "{flows}Mbit/s"
        delay = "20ms"
        buffer = "{}pkt"
        [[flows]]
        count = {flows}
        start = "{start}"
        start_spread = "{spread}"
        "#,
        flows * 4
    )
}

const SWEEP: &str = r#"
    stacks = ["sack/reno", "le/reno"]
    seeds = 100
    duration = "10s"
    [path]
    rate = "10Mbit/s"
    delay = "20ms"
    buffer = "50pkt"
    [sweep]
    "path.loss" = ["0%", "0.5%", "1%", "2%", "3%"]
"#;

/// Performs the only run of an experiment, and returns the number of packets.
fn single(text: &str) -> Result<u64> {
    let plan = plan(text)?;
    run(&plan.scenario(plan.jobs()[0]))
}

/// Performs a thousand runs on `threads` threads, as `dupack run` does. Returns the number of packets, which is
/// computed from the goodputs.
fn sweep(threads: usize) -> Result<u64> {
    let plan = plan(SWEEP)?;
    let execution = Execution {
        jobs: Some(threads),
    };
    let results = plan.execute(execution, &(), &Interrupt::new());
    let goodputs = results.runs.iter();
    let mbits: f64 = goodputs
        .filter_map(|run| run.values.get(Measure::Goodput))
        .map(|mbit_per_s| mbit_per_s * results.experiment.duration.as_seconds())
        .sum();
    Ok((mbits * 1e6 / 8.0 / 1448.0) as u64)
}

/// Returns the maximum resident set of this process so far, in kB (on Linux; 0 on other systems).
fn peak() -> Result<u64> {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return Ok(0);
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.unwrap_or("0").parse()?)
}
