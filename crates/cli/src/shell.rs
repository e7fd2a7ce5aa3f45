//! `dupack shell`: runs any program behind an emulated path.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::Catalog;
use dupack_engine::folder::{IfPresent, OutputFolder};
use dupack_lab::experiment::{Direction as Reverse, LinkOptions, QueueKind, TokenBucketOptions};
use dupack_lab::path_file::PathFile;
use dupack_lab::units::{ByteCount, Delay, Probability, Rate, Room};
use dupack_shell::{
    CaptureFiles, Direction, EmulatedPath, FAILED, Forward, ShellConfig, Snap, join, prepare,
};
use dupack_tcp::time::Duration;
use miette::{IntoDiagnostic, Report, Result, miette};

use crate::flags::{lasting, whole_path};

#[derive(Debug, Args)]
#[command(after_help = "\
The command runs at one end of the path, in its own network namespace. Its only
neighbour is the far end, at the address $DUPACK_SERVER, also called `server`.
--server starts a program at the far end. With --forward HOST:PORT, the far end
relays connections to a host outside. When the command ends for any reason, the
path and every process that the command has started are gone.

Requires root, or a system that allows unprivileged user namespaces.

Examples:
  dupack shell --path lte.toml --server 'iperf3 -s -1' -- iperf3 -c server -R
  dupack shell --rate 8Mbit/s --delay 300ms --forward example.com:443 -- \\
      curl -o /dev/null https://example.com/
  dupack shell --trace cellular.down --trace-up cellular.up --delay 30ms \\
      --server 'python3 -m http.server' -- curl -O http://server:8000/file
  dupack shell --rate 20Mbit/s --queue fq_codel --senders kernel:bbr \\
      --server 'iperf3 -s' --pcap captures -- iperf3 -c server
  dupack shell --path lte.toml --name lab      # your shell behind the path …
  dupack shell --join lab -- curl http://server:8000/   # … joined by others

Exit codes:
  that of the command; 128 plus the signal's number if a signal ended it
  125  invalid flags, or dupack itself failed
  126  the command cannot be run
  127  the command does not exist")]
pub struct ShellArgs {
    /// File with the path: written by `dupack diagnose --path`, or an experiment file with a single [path]. The forward
    /// direction leads to the command. Other flags override parts of the path
    #[arg(long, value_name = "FILE")]
    path: Option<PathBuf>,
    /// Rate, in both directions [default: 10Mbit/s]
    #[arg(long, conflicts_with = "trace", allow_hyphen_values = true)]
    rate: Option<Rate>,
    /// Recorded delivery opportunities to the command in Mahimahi's format, instead of a rate
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Recorded delivery opportunities from the command [default: as to the command]
    #[arg(long, value_name = "FILE")]
    trace_up: Option<PathBuf>,
    /// One-way propagation delay, in both directions [default: 20ms]
    #[arg(long, allow_hyphen_values = true)]
    delay: Option<Delay>,
    /// Loss probability of packets to the command
    #[arg(long, value_name = "PROBABILITY", allow_hyphen_values = true)]
    loss: Option<Probability>,
    /// Buffer in packets, bytes or bandwidth-delay products, in both directions [default: 1bdp, at least 10pkt]
    #[arg(long, allow_hyphen_values = true)]
    buffer: Option<Room>,
    /// Queue discipline, in both directions
    #[arg(long, value_enum, conflicts_with = "policer")]
    queue: Option<QueueArg>,
    /// Rate of a policer in front of the path to the command; it drops packets above the rate
    #[arg(
        long,
        value_name = "RATE",
        requires = "burst",
        allow_hyphen_values = true
    )]
    policer: Option<Rate>,
    /// Burst that the policer allows
    #[arg(
        long,
        value_name = "SIZE",
        requires = "policer",
        allow_hyphen_values = true
    )]
    burst: Option<ByteCount>,
    /// Reverse the path: its forward direction, with losses and policer, leads from the command
    #[arg(long)]
    upload: bool,
    /// Seed of all random numbers of the path
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Congestion control of the connections at both ends, as kernel:NAME [default: the kernel's]
    #[arg(long, value_name = "SENDER", value_parser = control)]
    senders: Option<String>,
    /// Command for `sh` at the far end; the main command starts once it listens. Its output goes to standard error
    #[arg(long, value_name = "COMMAND")]
    server: Option<OsString>,
    /// Make the far end represent HOST at PORT: it relays TCP connections to the real host outside. May be repeated
    #[arg(long, value_name = "HOST:PORT")]
    forward: Vec<Forward>,
    /// Folder for captures, empty or new: client.pcapng has the packets that enter or leave the path at the command's
    /// end, server.pcapng those at the far end
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Name under which other commands can join while the command runs
    #[arg(long)]
    name: Option<String>,
    /// Run the command in the running shell of this name and share its path
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "path", "rate", "trace", "trace_up", "delay", "loss", "buffer", "queue", "policer", "burst", "upload", "seed",
        "senders", "server", "forward", "pcap", "name", "tolerance",
    ])]
    join: Option<String>,
    /// Lateness that at most 1 % of packets may exceed; otherwise, the report says that the path was not on time
    #[arg(long, value_name = "TIME", default_value = "300us", value_parser = lasting)]
    tolerance: Delay,
    /// The command and its arguments [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Queue disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum QueueArg {
    /// Drop arriving packets when the queue is full
    Droptail,
    /// Drop at the head once packets have waited too long (RFC 8289)
    Codel,
    /// CoDel with a separate queue for each flow (RFC 8290)
    #[value(name = "fq_codel")]
    FqCodel,
    /// Drop early and at random, depending on the queueing delay (RFC 8033)
    Pie,
    /// Drop depending on the queueing delay, with a separate queue for L4S (RFC 9332)
    Dualpi2,
    /// COBALT with a separate queue for each flow, similar to CAKE
    Cake,
}

impl QueueArg {
    const fn kind(self) -> QueueKind {
        match self {
            Self::Droptail => QueueKind::DropTail,
            Self::Codel => QueueKind::CoDel,
            Self::FqCodel => QueueKind::FqCoDel,
            Self::Pie => QueueKind::Pie,
            Self::Dualpi2 => QueueKind::DualPi2,
            Self::Cake => QueueKind::Cake,
        }
    }
}

/// Parses a congestion control of the kernel.
fn control(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("kernel:").unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty() && name.len() < 16 && name.chars().all(plain) {
        return Ok(name.to_owned());
    }
    Err("programs use the kernel's TCP: write, for example, kernel:bbr or kernel:cubic (`dupack testbed` has other senders)".to_owned())
}

/// Default rate in bits per second, as in `dupack compare`. The delay has the same default as there, too.
const RATE: u64 = 10_000_000;
const DELAY_NS: u64 = 20_000_000;

pub fn run(args: &ShellArgs, catalog: &Catalog) -> ExitCode {
    let done = match &args.join {
        Some(name) => join(name, &command(args)).into_diagnostic(),
        None => emulate(args, catalog),
    };
    ExitCode::from(done.unwrap_or_else(|report| {
        say(&format!("{report:?}\n"));
        FAILED
    }))
}

fn emulate(args: &ShellArgs, catalog: &Catalog) -> Result<u8> {
    // `prepare` must be called first, while the process has a single thread.
    let privileges = prepare().into_diagnostic()?;
    let mut config = ShellConfig::new(path(args, catalog)?, command(args));
    if args.upload {
        config.direction = Direction::Up;
    }
    config.server.clone_from(&args.server);
    config.forwards.clone_from(&args.forward);
    config.control.clone_from(&args.senders);
    config.name.clone_from(&args.name);
    config.tolerance = Duration::from_nanos(args.tolerance.as_nanos());
    let folder = args.pcap.as_deref();
    let folder = folder.map(|path| OutputFolder::create_for("--pcap", path, IfPresent::Refuse));
    let folder = folder.transpose()?;
    config.captures = folder.as_ref().map(|folder| captures(folder.path()));
    match dupack_shell::run(&config, privileges) {
        Ok((code, report)) => {
            say(&format!("\n{report}"));
            Ok(code)
        }
        Err(error) => {
            folder.into_iter().for_each(OutputFolder::abandon);
            let code = error.exit_code();
            say(&format!("{:?}\n", Report::from(error)));
            Ok(code)
        }
    }
}

/// Writes to standard error. Errors are ignored because the exit code belongs to the command.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn captures(folder: &Path) -> CaptureFiles {
    CaptureFiles {
        near: folder.join("client.pcapng"),
        far: folder.join("server.pcapng"),
        snap: Snap::Full,
    }
}

/// Returns the command, or the user's shell if there is no command.
fn command(args: &ShellArgs) -> Vec<OsString> {
    if !args.command.is_empty() {
        return args.command.clone();
    }
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    vec![shell.unwrap_or_else(|| OsString::from("/bin/sh"))]
}

/// Returns the path in the file, changed by the flags. Without a file, the flags define the path.
fn path(args: &ShellArgs, catalog: &Catalog) -> Result<EmulatedPath> {
    let file = args.path.as_deref();
    let file = file.map(|file| PathFile::read(file, catalog)).transpose()?;
    let options = options(args, file.as_ref().map(|file| &file.path))?;
    Ok(match &file {
        // If the flags change nothing, errors point to the lines of the file.
        Some(file) if file.path == options => EmulatedPath::of_file(file, args.seed, catalog)?,
        _ => EmulatedPath::of_options(options, args.seed, catalog)?,
    })
}

fn options(args: &ShellArgs, file: Option<&LinkOptions>) -> Result<LinkOptions> {
    let mut path = file.cloned().unwrap_or_else(|| LinkOptions {
        rate: Some(Rate::from_bits_per_second(RATE)),
        delay: Delay::from_nanos(DELAY_NS),
        ..LinkOptions::default()
    });
    let mut back = path.reverse.take().unwrap_or_default();
    if args.rate.is_some() || args.trace.is_some() {
        path.rate = args.rate;
        path.trace = args.trace.as_deref().map(whole_path);
        (back.rate, back.trace) = (None, None);
    }
    if let Some(trace) = &args.trace_up {
        (back.rate, back.trace) = (None, Some(whole_path(trace)));
    }
    if let Some(delay) = args.delay {
        path.delay = delay;
        back.delay = None;
    }
    path.loss = args.loss.unwrap_or(path.loss);
    if args.buffer.is_some() {
        path.buffer = args.buffer;
        back.buffer = None;
    }
    if let Some(queue) = args.queue {
        if path.token_bucket.is_some() || back.token_bucket.is_some() {
            return Err(miette!(
                help = "omit --queue, or the token bucket in the file",
                "the file has a token bucket, which is itself a queue"
            ));
        }
        (path.queue, back.queue) = (queue.kind(), queue.kind());
    }
    if let Some((rate, burst)) = args.policer.zip(args.burst) {
        path.queue = QueueKind::Policer;
        path.token_bucket = Some(TokenBucketOptions { rate, burst });
    }
    path.reverse = (back != Reverse::default()).then_some(back);
    Ok(path)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, Command};

    fn shell(flags: &str) -> ShellArgs {
        let words = format!("dupack shell {flags}");
        match Cli::parse_from(words.split_whitespace()).command {
            Command::Shell(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_change_the_path_of_a_file_in_both_directions() {
        let file = LinkOptions {
            trace: Some(PathBuf::from("/down")),
            reverse: Some(Reverse {
                trace: Some(PathBuf::from("/up")),
                delay: Some(Delay::from_nanos(1)),
                ..Reverse::default()
            }),
            ..LinkOptions::default()
        };
        let same = options(&shell("-- ls"), Some(&file)).unwrap();
        assert_eq!(same, file);
        let args = shell("--rate 3Mbit/s --delay 7ms --loss 2% --queue codel -- ls");
        let changed = options(&args, Some(&file)).unwrap();
        assert_eq!(
            (changed.trace, changed.rate.map(|r| r.as_bits_per_second())),
            (None, Some(3_000_000))
        );
        assert_eq!(changed.delay.to_string(), "7ms");
        let back = changed.reverse.unwrap();
        assert_eq!(
            (back.trace, back.delay, back.queue),
            (None, None, QueueKind::CoDel)
        );
        let args = shell("--trace down --trace-up up -- ls");
        let recorded = options(&args, None).unwrap();
        assert!(recorded.rate.is_none() && recorded.trace.unwrap().is_absolute());
        assert!(recorded.reverse.unwrap().trace.unwrap().ends_with("up"));
    }

    #[test]
    fn only_kernel_senders_are_accepted() {
        assert_eq!(control("kernel:bbr").as_deref(), Ok("bbr"));
        for text in [
            "bbr",
            "rack/cubic",
            "kernel:",
            "kernel:a b",
            "kernel:0123456789abcdef",
        ] {
            assert!(control(text).unwrap_err().contains("kernel:bbr"), "{text}");
        }
    }

    #[test]
    fn words_after_the_dashes_belong_to_the_command() {
        let args = shell("--delay 5ms -- curl --rate 3 -- x");
        assert_eq!(command(&args), ["curl", "--rate", "3", "--", "x"]);
        assert!(args.rate.is_none());
    }
}
