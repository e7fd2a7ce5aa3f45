//! Builds `validation/peers/ns3/wifi-chain.cc` against ns-3.37, runs this program on the scenarios in the same folder,
//! and writes the results. With `--table`, prints a table of the means of recorded results instead.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use dupack_build::root;

/// Arguments of `cargo measure peers-ns3`.
#[derive(Args)]
pub struct Ns3Args {
    /// Run only scenarios whose id contains this text.
    #[arg(long, default_value = "")]
    only: String,
    /// Output file. The default is a file that does not replace the committed results.
    #[arg(long, default_value = "target/ns3-results.csv")]
    out: PathBuf,
    /// Run no scenario, but print the means of the results in this file as a Markdown table.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

const HEADER: &str = "id,seed,goodput_bps,mac_failures,mac_drops,relay_drops,tcp_retransmissions,\
                      events,wall_s,cpu_s";

/// The options of `wifi-chain`, in the order of the columns of `scenarios.csv` between the id and
/// the number of seeds.
const OPTIONS: [&str; 7] = [
    "traffic", "hops", "stations", "window", "rts", "far", "duration",
];

const MODULES: [&str; 4] = [
    "ns3-wifi",
    "ns3-internet",
    "ns3-applications",
    "ns3-point-to-point",
];

/// Two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom.
const T95: [f64; 9] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
];

pub fn run(args: &Ns3Args) -> Result<(), String> {
    let root = root();
    if let Some(file) = &args.table {
        print!("{}", table(&read(&root.join(file))?)?);
        return Ok(());
    }
    let runs = runs(
        &read(&root.join("validation/peers/ns3/scenarios.csv"))?,
        &args.only,
    )?;
    let program = build(root, "wifi-chain")?;
    let out = root.join(&args.out);
    let mut text = format!("{HEADER}\n");
    for (index, run) in runs.iter().enumerate() {
        text.push_str(&one(&program, run)?);
        text.push('\n');
        // The file is written after every run, so that an interrupted measurement keeps its results.
        fs::write(&out, &text).map_err(|e| format!("cannot write {}: {e}", out.display()))?;
        eprint!("\r{} of {} runs", index + 1, runs.len());
    }
    eprintln!();
    eprintln!("written to {}", args.out.display());
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// Compiles `validation/peers/ns3/NAME.cc` into `target/`, and returns the path of the program.
pub fn build(root: &Path, name: &str) -> Result<PathBuf, String> {
    const WANTED: &str = "apt-get install g++ pkg-config libns3-dev libgsl-dev";
    let flags = Command::new("pkg-config")
        .args(["--cflags", "--libs"])
        .args(MODULES)
        .output()
        .map_err(|e| format!("cannot start pkg-config: {e}: {WANTED}"))?;
    if !flags.status.success() {
        return Err(format!("ns-3 is not installed: {WANTED}"));
    }
    let directory = root.join("target");
    fs::create_dir_all(&directory).map_err(|e| format!("cannot make target/: {e}"))?;
    let program = directory.join(format!("ns3-{name}"));
    let source = format!("validation/peers/ns3/{name}.cc");
    let status = Command::new("g++")
        .args(["-std=c++17", "-O2", "-Wall", "-Wextra", "-o"])
        .arg(&program)
        .arg(root.join(&source))
        // The package description of Debian names the directory `/usr;`, which does not exist.
        .args(
            String::from_utf8_lossy(&flags.stdout)
                .split_whitespace()
                .filter(|f| !f.contains(';')),
        )
        .status()
        .map_err(|e| format!("cannot start g++: {e}: {WANTED}"))?;
    if status.success() {
        Ok(program)
    } else {
        Err(format!("{source} does not compile"))
    }
}

/// A run: its scenario and seed, which the line of output contains, and its arguments.
struct Run {
    id: String,
    seed: u32,
    arguments: Vec<String>,
}

fn runs(scenarios: &str, only: &str) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    for line in scenarios.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [id, values @ .., seeds] = fields.as_slice() else {
            continue;
        };
        if values.len() != OPTIONS.len() {
            return Err(format!("`{line}`: expected {} columns", OPTIONS.len() + 2));
        }
        let seeds: u32 = seeds
            .parse()
            .map_err(|_| format!("invalid number of seeds `{seeds}`"))?;
        if !id.contains(only) {
            continue;
        }
        for seed in 1..=seeds {
            let mut arguments = vec![format!("--id={id}"), format!("--seed={seed}")];
            let pairs = OPTIONS.iter().zip(values);
            arguments.extend(pairs.map(|(option, value)| format!("--{option}={value}")));
            runs.push(Run {
                id: (*id).to_owned(),
                seed,
                arguments,
            });
        }
    }
    Ok(runs)
}

/// Runs ns-3 once, and returns the line of output. If the run crashes, the line has no numbers.
fn one(program: &Path, run: &Run) -> Result<String, String> {
    let output = Command::new(program)
        .args(&run.arguments)
        .output()
        .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
    let columns = HEADER.split(',').count();
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && line.split(',').count() == columns {
        return Ok(line);
    }
    if output.status.code().is_none() {
        return Ok(format!(
            "{},{}{}",
            run.id,
            run.seed,
            ",".repeat(columns - 2)
        ));
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "wifi-chain {} failed: {why}{line}",
        run.arguments.join(" ")
    ))
}

/// Results of one scenario. A crashed run only increases `crashes`.
#[derive(Default)]
struct Scenario {
    goodput_mbps: Vec<f64>,
    failures: Vec<f64>,
    mac_drops: Vec<f64>,
    relay_drops: Vec<f64>,
    tcp_retransmissions: Vec<f64>,
    cpu_s: Vec<f64>,
    crashes: usize,
}

fn table(results: &str) -> Result<String, String> {
    let mut order = Vec::new();
    let mut scenarios: BTreeMap<&str, Scenario> = BTreeMap::new();
    for line in results.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [
            id,
            _,
            goodput,
            failures,
            mac_drops,
            relay_drops,
            tcp,
            _,
            _,
            cpu,
        ] = fields.as_slice()
        else {
            return Err(format!(
                "`{line}`: expected {} columns",
                HEADER.split(',').count()
            ));
        };
        if !scenarios.contains_key(id) {
            order.push(*id);
        }
        let scenario = scenarios.entry(id).or_default();
        if goodput.is_empty() {
            scenario.crashes += 1;
            continue;
        }
        scenario.goodput_mbps.push(number(goodput)? / 1e6);
        scenario.failures.push(number(failures)?);
        scenario.mac_drops.push(number(mac_drops)?);
        scenario.relay_drops.push(number(relay_drops)?);
        scenario.tcp_retransmissions.push(number(tcp)?);
        scenario.cpu_s.push(number(cpu)?);
    }
    let mut text =
        "| scenario | runs | crashed | goodput, Mbit/s | unanswered frames | given up | \
                    queue drops at relays | TCP retransmissions | CPU time, s |\n\
                    | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for id in order {
        text.push_str(&row(id, &scenarios[id]));
    }
    Ok(text)
}

fn row(id: &str, scenario: &Scenario) -> String {
    let runs = scenario.goodput_mbps.len();
    let spread = half_width(&scenario.goodput_mbps);
    format!(
        "| `{id}` | {runs} | {} | {} | {:.0} | {:.1} | {:.0} | {:.1} | {:.1} |\n",
        scenario.crashes,
        match spread {
            Some(half) => format!("{:.4} ± {half:.4}", mean(&scenario.goodput_mbps)),
            None if runs == 1 => format!("{:.4}", mean(&scenario.goodput_mbps)),
            None => "—".to_owned(),
        },
        mean(&scenario.failures),
        mean(&scenario.mac_drops),
        mean(&scenario.relay_drops),
        mean(&scenario.tcp_retransmissions),
        mean(&scenario.cpu_s),
    )
}

fn number(field: &str) -> Result<f64, String> {
    field
        .parse()
        .map_err(|_| format!("invalid number `{field}`"))
}

/// Returns the mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns half the width of the 95 % confidence interval of the mean, if there are 2 to 10 runs.
pub fn half_width(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1)?;
    let t = T95.get(freedom.checked_sub(1)?)?;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some(t * (squares / freedom as f64 / values.len() as f64).sqrt())
}
