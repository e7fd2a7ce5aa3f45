//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dupack_lab::experiment::DropRule;
use dupack_lab::units::{Buffer, ByteCount, Delay, Probability, Rate};

/// TCP loss recovery, from paper to packets: which sender should this path have, and what would
/// it gain?
#[derive(Debug, Parser)]
#[command(name = "dupack", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare stacks on a path: goodput, retransmissions, timeouts, queueing delay
    Compare(Box<CompareArgs>),
    /// Run an experiment file
    Run(RunArgs),
    /// Follow one flow packet by packet: time–sequence figure, pcapng, CSV
    Trace(TraceArgs),
    /// Rerun a paper's experiments and judge its claims
    Papers(PapersArgs),
    /// Send standard input to a TCP server, and print what comes back
    #[cfg(target_os = "linux")]
    Send(SendArgs),
    /// Accept a TCP connection, and print what comes
    #[cfg(target_os = "linux")]
    Receive(ReceiveArgs),
    /// Compare senders on real packets, over an emulated path to this machine's kernel
    #[cfg(target_os = "linux")]
    Testbed(Box<TestbedArgs>),
    /// List the algorithms that stacks are made of
    Stacks(StacksArgs),
    /// Print the JSON Schema of experiment files
    Schema,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for reading
    #[default]
    Table,
    /// A line per stack, point and measure
    Csv,
    /// Everything, in one object
    Json,
}

/// Which rules the endpoints follow where TCPs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// As the RFCs in force recommend
    #[default]
    Rfc,
    /// As Linux does
    Linux,
    /// As ns-2.35 does, whose results the papers report
    Ns2,
}

/// What every command that runs something has in common.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Folder for CSV, figures and report; must be empty or new [default: dupack-out/NAME, numbered if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Print every effective parameter, defaults included, and where it comes from
    #[arg(long)]
    pub explain: bool,
    /// Runs at a time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
}

/// More threads than this help on no machine.
const MOST_JOBS: usize = 1024;

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs) if (1..=MOST_JOBS).contains(&jobs) => Ok(jobs),
        _ => Err(format!("write a number of runs, 1 to {MOST_JOBS}")),
    }
}

/// A loss probability on the command line, where a bare number would be a guess.
fn percent(text: &str) -> Result<Probability, String> {
    let probability: Probability = text.parse().map_err(|e| format!("{e}"))?;
    if probability.as_fraction() > 0.0 && !text.contains('%') {
        let number = text.trim();
        return Err(format!(
            "`{number}` could be a share or a percentage: write {probability} or {number}%"
        ));
    }
    Ok(probability)
}

/// A time in which something can happen.
#[cfg(target_os = "linux")]
fn lasting(text: &str) -> Result<Delay, String> {
    let delay: Delay = text.parse().map_err(|e| format!("{e}"))?;
    if delay == Delay::default() {
        return Err("in no time nothing happens: write 5ms, for example".to_owned());
    }
    Ok(delay)
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack compare
  dupack compare --rate 50Mbit/s --delay 40ms --buffer 200pkt --loss 0,0.1%,1%
  dupack compare --trace cellular.down --delay 30ms \\
                 --stacks sack/reno,le/westwood,rack/cubic
  dupack compare --delayed-ack 200ms \\
      --stacks 'newreno(full_ack=alg1)/reno,newreno(full_ack=alg2)/reno'")]
pub struct CompareArgs {
    /// Rate of the bottleneck
    #[arg(
        long,
        default_value = "10Mbit/s",
        conflicts_with = "trace",
        allow_hyphen_values = true
    )]
    pub rate: Rate,
    /// One-way propagation delay
    #[arg(long, default_value = "20ms", allow_hyphen_values = true)]
    pub delay: Delay,
    /// Buffer of the bottleneck, in packets or bytes
    #[arg(long, default_value = "50pkt", allow_hyphen_values = true)]
    pub buffer: Buffer,
    /// Loss probabilities of data packets, compared one after the other
    #[arg(long, value_delimiter = ',', default_value = "0%,0.5%,1%,2%,5%", value_parser = percent, allow_hyphen_values = true)]
    pub loss: Vec<Probability>,
    /// Loss probability of ACKs
    #[arg(long, value_name = "PROBABILITY", default_value = "0%", value_parser = percent, allow_hyphen_values = true)]
    pub ack_loss: Probability,
    /// Recorded delivery opportunities in Mahimahi's format, instead of a rate
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Delayed ACKs with this timeout [default: every segment is acknowledged]
    #[arg(long, value_name = "DELAY")]
    pub delayed_ack: Option<Delay>,
    /// Stacks to compare, recovery/control[/lda/response]; the first is the measure of the others
    #[arg(
        long,
        default_value = "newreno/reno,sack/reno,fack/reno,momentary/reno,le/reno,le/westwood,rack/cubic"
    )]
    pub stacks: StackList,
    /// Which rules the endpoints follow where TCPs differ
    #[arg(long, value_enum, default_value_t)]
    pub dialect: Dialect,
    /// Seeds per stack and point
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub seeds: u32,
    /// Simulated time of a run
    #[arg(long, default_value = "60s", allow_hyphen_values = true)]
    pub duration: Delay,
    /// Flows of the same stack that share the bottleneck
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub flows: u32,
    /// Payload bytes of a full segment [default: the dialect's]
    #[arg(long, value_name = "BYTES")]
    pub segment: Option<ByteCount>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A list of stacks, split at commas outside parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackList(pub Vec<String>);

impl std::str::FromStr for StackList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut stacks = vec![String::new()];
        let mut depth = 0_u32;
        for c in text.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    stacks.push(String::new());
                    continue;
                }
                _ => {}
            }
            stacks.last_mut().expect("there is at least one").push(c);
        }
        let stacks: Vec<String> = stacks.iter().map(|s| s.trim().to_owned()).collect();
        if stacks.iter().any(String::is_empty) {
            return Err("there is an empty stack between two commas".to_owned());
        }
        Ok(Self(stacks))
    }
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The experiment file
    pub file: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack trace momentary/reno --drop 24-30
  dupack trace le/reno --drop 10-20 --drop 12#2 --drop 'ack 5' --until 3s
  dupack trace sack/reno --loss 2% --seed 7 --from 1s --until 2s

Without further options this is the setting of the Momentary paper's figure 3.")]
pub struct TraceArgs {
    /// The stack to follow
    pub stack: String,
    /// Losses by list: 24, 24-30, 26#2 (second transmission), '5 of 40-71' (at random), 'ack 3', 1.5s..2s; may be repeated
    #[arg(long, value_delimiter = ',')]
    pub drop: Vec<DropRule>,
    /// Loss probability of data packets, beside the list
    #[arg(long, default_value = "0%", value_parser = percent, allow_hyphen_values = true)]
    pub loss: Probability,
    /// Rate of the bottleneck
    #[arg(long, default_value = "1Mbit/s", allow_hyphen_values = true)]
    pub rate: Rate,
    /// One-way propagation delay
    #[arg(long, default_value = "98ms", allow_hyphen_values = true)]
    pub delay: Delay,
    /// Buffer of the bottleneck
    #[arg(long, default_value = "1000pkt", allow_hyphen_values = true)]
    pub buffer: Buffer,
    /// Initial congestion window; with one packet, packet 0 takes the place that ns-2 gives the
    /// SYN, and packets have the numbers of the papers' figures
    #[arg(long, value_name = "WINDOW", default_value = "1pkt")]
    pub initial_window: Buffer,
    /// Initial slow start threshold
    #[arg(long, value_name = "WINDOW", default_value = "10pkt")]
    pub initial_ssthresh: Buffer,
    /// Delayed ACKs with this timeout [default: every segment is acknowledged]
    #[arg(long, value_name = "DELAY")]
    pub delayed_ack: Option<Delay>,
    /// Which rules the endpoints follow where TCPs differ
    #[arg(long, value_enum, default_value = "ns2")]
    pub dialect: Dialect,
    /// Payload bytes of a full segment
    #[arg(long, value_name = "BYTES", default_value = "1000B")]
    pub segment: ByteCount,
    /// Seed of the random losses
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Simulated time of the run
    #[arg(long, default_value = "10s", allow_hyphen_values = true)]
    pub duration: Delay,
    /// Beginning of the figure [default: just before the first loss]
    #[arg(long, value_name = "TIME")]
    pub from: Option<Delay>,
    /// End of the figure [default: when the losses are repaired and a little more]
    #[arg(long, value_name = "TIME")]
    pub until: Option<Delay>,
    /// Folder for the files; must be empty or new [default: dupack-out/trace, numbered if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print every effective parameter, defaults included
    #[arg(long)]
    pub explain: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack papers --list             # what is here
  dupack papers --list momentary   # its experiments, and where its systems are
  dupack papers momentary --quick
  dupack papers --out all          # every paper, one report
  dupack papers --resume all       # go on after an interruption

Finished runs are kept at once in PAPER/EXPERIMENT/runs.jsonl and are not done
again, as long as experiment, stack, seed and version are the same.")]
pub struct PapersArgs {
    /// Which paper [default: all that are here]
    pub key: Option<String>,
    /// Fewer seeds and shorter runs: a look, not a verdict
    #[arg(long)]
    pub quick: bool,
    /// List the papers, or one paper's experiments and systems, and run nothing
    #[arg(long, conflicts_with_all = ["quick", "out", "resume", "jobs"])]
    pub list: bool,
    /// Folder for report, figures and CSV; must be empty or new [default: dupack-out/papers, numbered if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with a folder that was begun, with the papers and at the extent that it was begun with
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Runs at a time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
#[command(after_help = "\
The endpoint is a host of its own, .2 of the subnet on a TUN device; this
machine's kernel is .1 there. Servers of this machine are reached at .1, which
exists only while the endpoint does: they listen at every address. Beyond .1
the kernel must forward, and translate addresses where the network does not
know the subnet. It takes root or CAP_NET_ADMIN.

Examples:
  nc -l 5001 > copy                  # in another terminal, first
  dupack send 10.97.0.1:5001 < FILE

  dupack send --stack le/westwood '[fd97::1]:80' < REQUEST

Exit codes:
  0    the connection came to its end, with every byte
  1    it did not
  2    wrong flags, or no device
  130  interrupted")]
pub struct SendArgs {
    /// The server, as address:port or name:port
    #[arg(value_name = "HOST:PORT")]
    pub server: crate::endpoint::Server,
    #[command(flatten)]
    pub endpoint: EndpointArgs,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
#[command(after_help = "\
The endpoint is a host of its own, .2 of the subnet on a TUN device; this
machine's kernel is .1 there. It takes root or CAP_NET_ADMIN.

Example:
  dupack receive 5001 > copy
  nc -N 10.97.0.2 5001 < FILE        # in another terminal, then

Exit codes:
  0    the connection came to its end, with every byte
  1    it did not
  2    wrong flags, or no device
  130  interrupted")]
pub struct ReceiveArgs {
    /// Where to accept one connection
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    #[command(flatten)]
    pub endpoint: EndpointArgs,
}

/// An endpoint of ours on real packets.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, Args)]
pub struct EndpointArgs {
    /// Recovery and congestion control
    #[arg(long, default_value = "rack/cubic")]
    pub stack: String,
    /// Whose rules the endpoint follows
    #[arg(long, value_enum, default_value_t = Dialect::Linux)]
    pub dialect: Dialect,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "dupack0")]
    pub tun: String,
    /// IPv4 network of the device, 24 bits long
    #[arg(long, value_name = "ADDRESS", default_value = "10.97.0.0", value_parser = crate::endpoint::subnet)]
    pub subnet: std::net::Ipv4Addr,
    /// IPv6 network of the device, 64 bits long
    #[arg(long, value_name = "ADDRESS", default_value = "fd97::", value_parser = crate::endpoint::subnet6)]
    pub subnet6: std::net::Ipv6Addr,
    /// Asks a peer that is silent for this long whether it is still there; the connection fails when
    /// nine probes, as far apart but at most 75 s, go unanswered [default: never]
    #[arg(long, value_name = "DELAY", value_parser = lasting)]
    pub keep_alive: Option<Delay>,
    /// Longest packet, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    pub mtu: u16,
    /// Packets one by one, with checksums, as if the kernel had no offload
    #[arg(long)]
    pub plain: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
#[command(after_help = "\
Every transfer has two network namespaces of its own, which vanish with it;
every byte is checked by its hash. It takes root, or a system that lets ordinary
users make user namespaces, and a machine with nothing else to do: a run during
which packets left too late, or were lost beside the path's links, is marked and
worth nothing.

Examples:
  dupack testbed
  dupack testbed --loss 0,1,2,5,10% --bytes 20MB \\
                 --senders le/westwood,sack/reno,kernel:cubic,kernel:bbr
  dupack testbed --senders sack/reno,rack/cubic,kernel:reno --simulate
  dupack testbed --trace cellular.down --reorder 1% --reorder-delay 10ms
  dupack testbed --senders sack/reno,kernel:cubic --loss 1% --bytes 2MB \\
                 --repeat 1 --pcap captures

Exit codes:
  0    all runs were done, and at least one of them can be trusted
  2    wrong flags, or a run failed; the table and the report have the others
  3    all runs were done, and every one is marked: there is no answer
  130  interrupted; the table and the report have what was done")]
pub struct TestbedArgs {
    /// Rate of the path, both ways
    #[arg(
        long,
        default_value = "10Mbit/s",
        conflicts_with = "trace",
        allow_hyphen_values = true
    )]
    pub rate: Rate,
    /// Recorded delivery opportunities in Mahimahi's format, instead of a rate, both ways
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// One-way propagation delay, both ways
    #[arg(long, default_value = "10ms", allow_hyphen_values = true)]
    pub delay: Delay,
    /// Buffer of the path, in packets or bytes, both ways
    #[arg(long, default_value = "50pkt", allow_hyphen_values = true)]
    pub buffer: Buffer,
    /// Loss probabilities of packets towards the receiver, compared one after the other
    #[arg(long, default_value = "0,1,2,5,10%", allow_hyphen_values = true)]
    pub loss: LossList,
    /// Probability that a packet towards the receiver is held back at the end of the path, where
    /// others overtake it
    #[arg(long, value_name = "PROBABILITY", value_parser = percent, allow_hyphen_values = true)]
    pub reorder: Option<Probability>,
    /// For how long such a packet is held back
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "reorder", value_parser = lasting, allow_hyphen_values = true)]
    pub reorder_delay: Delay,
    /// Senders: stacks, recovery/control[/lda/response], and kernel:NAME for the kernel's under that congestion control;
    /// the first is the measure of the others
    #[arg(
        long,
        default_value = "le/westwood,sack/reno,rack/cubic,kernel:cubic,kernel:reno"
    )]
    pub senders: StackList,
    /// Which rules the stacks follow where TCPs differ
    #[arg(long, value_enum, default_value_t = Dialect::Linux)]
    pub dialect: Dialect,
    /// How much every sender transfers in a run
    #[arg(long, default_value = "20MB", allow_hyphen_values = true)]
    pub bytes: ByteCount,
    /// Runs per sender and point; the repetition is the seed of the path's losses
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: u32,
    /// When a run is cut off
    #[arg(long, value_name = "TIME", default_value = "10min")]
    pub time_limit: Delay,
    /// How late 1 % of a run's packets may leave the path before the run is worth nothing
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub tolerance: Delay,
    /// Run the same stacks on the same path in the simulator too, and print both side by side
    #[arg(long)]
    pub simulate: bool,
    /// Over which IP
    #[arg(long, value_enum, default_value_t)]
    pub family: Family,
    /// The receiver's largest window, in packets or bytes, on real packets and simulated [default: the kernel's, which
    /// grows; in the simulator it never limits]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub receive_window: Option<Buffer>,
    /// Whether the receiving kernel holds back ACKs of segments out of order
    #[arg(long, value_enum, default_value_t)]
    pub sack_compression: SackCompression,
    /// Folder for captures, empty or new: SENDER_LOSS_REPETITION.sender.pcapng has every packet that enters or leaves
    /// the path at the sender's end, and .receiver.pcapng at the receiver's; what is only in the file of the end where
    /// it entered was lost on the way
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// How much of each packet the captures keep
    #[arg(long, value_enum, default_value_t, requires = "pcap")]
    pub snap: Snap,
    /// Folder for CSV, figures and report; must be empty or new [default: dupack-out/testbed, numbered if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Over which IP packets go.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Family {
    /// IPv4
    #[default]
    Ipv4,
    /// IPv6
    Ipv6,
}

/// Whether ACKs of segments out of order are held back.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SackCompression {
    /// As Linux does since 4.18: for 5 % of a round trip and 1 ms at most
    #[default]
    Kernel,
    /// Not: each is acknowledged at once, as the RFCs and the simulator have it
    Off,
}

/// How much of a packet a capture keeps.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Snap {
    /// All of it, so that readers can check TCP's checksum
    #[default]
    Whole,
    /// Its headers and what follows, 128 bytes in all
    Headers,
}

/// A list of loss probabilities; a percent sign at its end stands for all before it.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq)]
pub struct LossList(pub Vec<Probability>);

#[cfg(target_os = "linux")]
impl std::str::FromStr for LossList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let in_percent = text.trim_end().ends_with('%');
        let one = |item: &str| match item.trim() {
            item if in_percent && !item.contains('%') => percent(&format!("{item}%")),
            item => percent(item),
        };
        text.split(',').map(one).collect::<Result<_, _>>().map(Self)
    }
}

#[derive(Debug, Args)]
pub struct StacksArgs {
    /// Only the algorithm of this name
    pub name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// Lines that are broken by hand fit a terminal of the usual width: a narrower one breaks them
    /// again, in the middle of what was one line.
    #[test]
    fn help_is_at_most_80_columns_wide() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            for line in help.unwrap_or_default().lines() {
                let name = command.get_name();
                assert!(line.chars().count() <= 80, "{name}: {line}");
            }
        }
    }

    #[test]
    fn commas_inside_parameters_do_not_split_stacks() {
        let list: StackList = "newreno(full_ack=alg2,variant=impatient)/reno, sack/reno"
            .parse()
            .unwrap();
        assert_eq!(list.0.len(), 2);
        assert!("sack/reno,,le/reno".parse::<StackList>().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_percent_sign_at_the_end_stands_for_the_whole_list() {
        let list = |text: &str| text.parse::<LossList>();
        assert_eq!(list("0,1,0.5,10%"), list("0%,1%,0.5%,10%"));
        assert_eq!(list("0").unwrap().0.len(), 1);
        for guess in ["0,1", "1%,2", "1,,2%", ""] {
            assert!(list(guess).is_err(), "{guess}");
        }
    }
}
