//! `dupack compare`: comparison of stacks on a path.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, Dialect, Kernel, StackSpec};
use dupack_lab::experiment::load::Source;
use dupack_lab::experiment::{
    DEFAULT_STACKS, Direction, Experiment, FlowGroup, LinkOptions, Seeds, Starts,
};
use dupack_lab::path_file::PathFile;
use dupack_lab::run::Plan;
use dupack_lab::units::{ByteCount, Delay, Probability, Rate, Room};
use dupack_report::deploy::host::offered_by;
use miette::{Result, miette};

use crate::deliver::{carry_out, this_host};
use crate::flags::{Given, OutputArgs, StackList, dialect, whole, whole_path};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack compare
  dupack compare --rate 50Mbit/s --delay 40ms --buffer 200pkt --loss 0,0.1%,1%
  dupack compare --trace cellular.down --trace-up cellular.up --delay 30ms \\
                 --stacks sack/reno,le/westwood,rack/cubic
  dupack compare --path slow.toml                (from dupack diagnose --path)
  dupack compare --loss 1% --precision 2%
  dupack compare --rate 20Mbit/s --buffer 67pkt --loss 0,1% --prefer friendly
  dupack compare --deployable --loss 0,1%
  dupack compare --deployable --for kernel:6.1 --loss 0,1%
  dupack compare --delayed-ack 200ms \\
      --stacks 'newreno(full_ack=alg1)/reno,newreno(full_ack=alg2)/reno'

Completed runs are stored immediately in runs.jsonl of the folder, until all
runs are done. After an interruption or a crash, repeat the command with
--resume DIR.")]
pub struct CompareArgs {
    /// Path file, as written by `dupack diagnose --path`: its path, application and endpoints replace those of the
    /// options. --loss, --dialect and --duration, if given, override its own
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_WITH_A_PATH)]
    path: Option<PathBuf>,
    /// Rate of the bottleneck
    #[arg(
        long,
        default_value = "10Mbit/s",
        conflicts_with = "trace",
        allow_hyphen_values = true
    )]
    rate: Rate,
    /// One-way propagation delay from end to end
    #[arg(long, default_value = "20ms", allow_hyphen_values = true)]
    delay: Delay,
    /// Buffer of the bottleneck in packets, bytes or bandwidth-delay products [default: 1bdp, at least 10pkt]
    #[arg(long, value_name = "ROOM", allow_hyphen_values = true)]
    buffer: Option<Room>,
    /// Loss probabilities of data packets, compared one after the other
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0%,0.5%,1%,2%,5%",
        allow_hyphen_values = true
    )]
    loss: Vec<Probability>,
    /// Loss probability of ACKs
    #[arg(
        long,
        value_name = "PROBABILITY",
        default_value = "0%",
        allow_hyphen_values = true
    )]
    ack_loss: Probability,
    /// Recorded delivery opportunities in Mahimahi's format, instead of a rate. Every seed draws a starting point in
    /// the recording and uses as much of it as --duration
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Recorded delivery opportunities for ACKs, with the same starting point [default: the recording for data]
    #[arg(long, value_name = "FILE")]
    trace_up: Option<PathBuf>,
    /// Delayed ACKs with this timeout [default: every segment is acknowledged]
    #[arg(long, value_name = "DELAY")]
    delayed_ack: Option<Delay>,
    /// Stacks to compare, recovery/control[/lda/response]; the first one is the baseline
    #[arg(
        long,
        default_value = default_stacks(),
        default_value_if("deployable", "true", None)
    )]
    stacks: Option<StackList>,
    /// Compare only stacks that this host's kernel has (or that of --for): those of --stacks, or all available ones
    #[arg(long)]
    deployable: bool,
    /// Rules that the endpoints follow where TCPs differ
    #[arg(long, value_parser = dialect(), default_value_t)]
    dialect: Dialect,
    /// Seeds per stack and point. A seed determines the losses, and with several flows their start times within the
    /// first second. All stacks have the same seeds
    #[arg(long, default_value_t = 10, value_parser = whole::<u32>(1, 100_000))]
    seeds: u32,
    /// Add seeds until every mean goodput has this precision: half its 95 % confidence interval, as a share of the
    /// mean, for every stack at every point
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    precision: Option<Probability>,
    /// Maximum number of seeds for --precision [default: 200]
    #[arg(long, value_name = "N", requires = "precision", value_parser = whole::<u32>(1, 100_000))]
    seeds_max: Option<u32>,
    /// Simulated time of each run
    #[arg(long, default_value = "60s", allow_hyphen_values = true)]
    duration: Delay,
    /// Flows of the same stack that share the bottleneck
    #[arg(long, default_value_t = 1, value_parser = whole::<u32>(1, 100_000))]
    flows: u32,
    /// Payload bytes of a full segment [default: the dialect's]
    #[arg(long, value_name = "BYTES")]
    segment: Option<ByteCount>,
    #[command(flatten)]
    output: OutputArgs,
    /// Maximum time that a sender's host takes to process an ACK. The time is random, so that flows do not run in
    /// lockstep [default: the transmission time of a packet at the bottleneck if several flows share it]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    processing_jitter: Option<Delay>,
}

/// Returns [`DEFAULT_STACKS`] in the format of `--stacks`: separated by commas.
fn default_stacks() -> &'static str {
    static JOINED: LazyLock<String> = LazyLock::new(|| DEFAULT_STACKS.join(","));
    &JOINED
}

/// Options whose values come from the path file if there is one.
const NOT_WITH_A_PATH: [&str; 8] = [
    "rate",
    "delay",
    "buffer",
    "trace",
    "trace_up",
    "ack_loss",
    "delayed_ack",
    "segment",
];

pub fn run(args: &CompareArgs, given: &Given, catalog: &Catalog) -> Result<ExitCode> {
    let mut experiment = experiment(args, stacks(args, catalog)?);
    if let Some(file) = &args.path {
        let file = PathFile::read(file, catalog)?;
        on_path(&file, &mut experiment, args, given);
    }
    let source = Source::of_flags(&experiment);
    let plan = Plan::new(experiment, &source, catalog)?;
    let plan = given.mark(plan, &DEFAULTS).not_given("starts", "built in");
    carry_out(plan, &source, "compare", &args.output, catalog)
}

/// Flags that always have a value, and the keys of the experiment that they set.
const DEFAULTS: [(&str, &[&str]); 6] = [
    ("rate", &["path.rate"]),
    ("delay", &["path.delay"]),
    ("loss", &["path.loss", "sweep.path.loss"]),
    ("dialect", &["dialect"]),
    ("seeds", &["seeds"]),
    ("duration", &["duration"]),
];

/// Applies a path file to `experiment`, except for options on the command line.
fn on_path(file: &PathFile, experiment: &mut Experiment, args: &CompareArgs, given: &Given) {
    file.apply(experiment);
    if given.has("dialect") {
        experiment.dialect = args.dialect;
    }
    if given.has("duration") {
        experiment.duration = args.duration;
    }
    experiment.sweep.clear();
    if given.has("loss") {
        experiment.set_path(file.path.clone(), &args.loss);
    }
}

/// Returns the stacks to compare.
fn stacks(args: &CompareArgs, catalog: &Catalog) -> Result<Vec<String>> {
    let given = args.stacks.as_ref().map(|list| list.0.clone());
    if !args.deployable {
        return Ok(given.unwrap_or_default());
    }
    let host = this_host();
    let Some(kernel) = args.output.show.kernel.as_ref().or(host.as_ref()) else {
        return Err(miette!(
            help = "name a kernel, for example --for kernel:6.1",
            "the congestion controls of this host's kernel are unknown"
        ));
    };
    let Some(given) = given else {
        let (all, _) = offered_by(kernel, catalog.deployable());
        let (marked, all): (Vec<_>, Vec<_>) =
            (all.iter()).partition(|stack| stack.needs(args.dialect).exact_echo);
        if let Some(left_out) = list(&marked) {
            say!(
                "left out: {left_out}: without ECN it is Reno, and RFC 8257 is not for the Internet; name it in --stacks to \
                 compare it"
            );
        }
        return Ok(all.iter().map(ToString::to_string).collect());
    };
    let (kept, left_out) = deployable(&given, kernel, catalog);
    if kept.is_empty() {
        return Err(miette!(
            help = "`dupack stacks STACK` lists the missing parts of a stack; without --stacks, --deployable compares all \
                    stacks that the kernel has",
            "{} has none of these stacks:\n{}",
            kernel.name(),
            left_out.join("\n")
        ));
    }
    for stack in left_out {
        say!("left out: {stack}");
    }
    Ok(kept)
}

/// Returns the names of stacks as text for a sentence, or `None` if there are no stacks.
fn list(stacks: &[&StackSpec]) -> Option<String> {
    let names: Vec<String> = stacks.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Returns the stacks that `kernel` offers, and the others with the reason. Text that is not a stack is kept, so that
/// reading the experiment gives the error.
fn deployable(stacks: &[String], kernel: &Kernel, catalog: &Catalog) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for text in stacks {
        let Ok(spec) = StackSpec::parse(text, catalog) else {
            kept.push(text.clone());
            continue;
        };
        let (_, missing) = offered_by(kernel, vec![spec]);
        match missing.into_iter().next() {
            None => kept.push(text.clone()),
            Some((_, why)) => left_out.push(format!("{text}: {why}")),
        }
    }
    (kept, left_out)
}

/// Returns the experiment that the flags describe. It is stored with the results, so that `dupack run` can repeat it.
fn experiment(args: &CompareArgs, stacks: Vec<String>) -> Experiment {
    let mut experiment = Experiment::new(stacks);
    experiment.title = "Which sender should this path have?".to_owned();
    experiment.dialect = args.dialect;
    experiment.seeds = Seeds::Count(args.seeds);
    experiment.precision = args.precision;
    experiment.seeds_max = args.seeds_max;
    experiment.duration = args.duration;
    experiment.starts = Some(Starts::Drawn);
    experiment.processing_jitter = args.processing_jitter;
    let mut path = LinkOptions {
        rate: args.trace.is_none().then_some(args.rate),
        trace: args.trace.as_deref().map(whole_path),
        delay: args.delay,
        buffer: args.buffer,
        ..LinkOptions::default()
    };
    if args.ack_loss.as_fraction() > 0.0 || args.trace_up.is_some() {
        path.reverse = Some(Direction {
            trace: args.trace_up.as_deref().map(whole_path),
            loss: args.ack_loss,
            ..Direction::default()
        });
    }
    experiment.set_path(path, &args.loss);
    experiment.receiver.delayed_ack = args.delayed_ack;
    experiment.sender.segment = args.segment;
    if args.flows > 1 {
        experiment.flows.push(FlowGroup {
            count: args.flows,
            ..FlowGroup::default()
        });
    }
    experiment
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Deployment;

    use super::*;
    use crate::{Cli, Command};
    use clap::Parser;

    fn compare(flags: &str) -> CompareArgs {
        let words = format!("dupack compare {flags}");
        match Cli::parse_from(words.split_whitespace()).command {
            Command::Compare(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn deployable_alone_compares_all_stacks_of_the_kernel() {
        let catalog = Catalog::builtin();
        let args = compare("--deployable --for kernel:6.1");
        assert_eq!(args.dialect, Dialect::Linux);
        let stacks = stacks(&args, &catalog).unwrap();
        assert!(stacks.contains(&"rack/cubic".to_owned()), "{stacks:?}");
        for text in &stacks {
            let stack = StackSpec::parse(text, &catalog).unwrap();
            assert!(Deployment::of(&stack).is_possible(), "{text}");
        }
        // Nothing on this path marks packets, so DCTCP must be named explicitly.
        assert!(!stacks.iter().any(|stack| stack.contains("dctcp")));
        let named = compare("--deployable --for kernel:6.1 --stacks rack/dctcp");
        assert_eq!(super::stacks(&named, &catalog).unwrap(), ["rack/dctcp"]);
        // An old kernel has fewer stacks.
        let old = compare("--deployable --for kernel:2.6.17");
        let old = super::stacks(&old, &catalog).unwrap();
        assert!(
            !old.contains(&"rack/veno".to_owned()) && old.len() < stacks.len(),
            "{old:?}"
        );
        // Explicit options are kept.
        assert_eq!(compare("--deployable --dialect rfc").dialect, Dialect::Rfc);
        let args = compare("");
        assert_eq!(args.dialect, Dialect::Linux);
        assert!(args.stacks.unwrap().0.contains(&"le/westwood".to_owned()));
    }

    #[test]
    fn deployable_leaves_out_stacks_that_the_kernel_does_not_have() {
        let catalog = Catalog::builtin();
        let args =
            compare("--deployable --for kernel:6.1 --stacks le/reno,rack/cubic,rack/bbr,nonsense");
        // Text that is not a stack is kept, so that the error can name it.
        assert_eq!(stacks(&args, &catalog).unwrap(), ["rack/cubic", "nonsense"]);
        let args = compare("--deployable --for kernel:6.1 --stacks le/reno,rack/bbr");
        let error = stacks(&args, &catalog).unwrap_err().to_string();
        for wanted in [
            "Linux 6.1 has none of these",
            "le/reno: ",
            "rack/bbr: ",
            "version 1",
        ] {
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
        let args = compare("--stacks le/reno");
        assert_eq!(stacks(&args, &catalog).unwrap(), ["le/reno"]);
    }

    /// Splits a command on one line into words, as a shell does.
    #[cfg(target_os = "linux")]
    fn words(command: &str) -> Vec<String> {
        let parts = command.split('\'').enumerate();
        let words = parts.flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_suggested_check_is_valid_for_the_testbed() {
        use dupack_report::deploy::wire::WireCheck;
        let catalog = Catalog::builtin();
        let senders = ["rack(tlp=off)/cubic", "le/westwood", "kernel:cubic"].map(str::to_owned);
        for flags in [
            "",
            "--rate 50Mbit/s --delay 40ms --buffer 200pkt --loss 0,0.1%,1%",
            "--rate 1.5Gbit/s --delay 0.5ms --buffer 64kB --loss 2% --dialect ns2",
            "--trace cellular.down --trace-up cellular.up --delay 30ms",
            "--flows 4 --delayed-ack 40ms --segment 1200B --ack-loss 1%",
        ] {
            let args = compare(flags);
            let experiment = experiment(&args, stacks(&args, &catalog).unwrap());
            let check = WireCheck::of(&experiment, &senders).unwrap();
            let command = check.command();
            let parsed = Cli::try_parse_from(words(&command));
            let Ok(Command::Testbed(testbed)) = parsed.map(|cli| cli.command) else {
                panic!("{command}");
            };
            // The flags have the same meaning in both commands.
            let theirs = format!("{testbed:?}");
            let mut ours = vec![
                format!("delay: {:?}", args.delay),
                format!("buffer: {:?}", args.buffer),
                format!("loss: LossList({:?})", args.loss),
                format!("dialect: {:?}", args.dialect),
                format!("senders: {:?}", StackList(senders.to_vec())),
            ];
            match experiment.path.unwrap().trace {
                Some(file) => ours.push(format!("trace: Some({file:?})")),
                None => ours.push(format!("rate: {:?}", args.rate)),
            }
            for flag in ours {
                assert!(theirs.contains(&flag), "{flag}: {command}");
            }
        }
    }

    /// Every command on the page in docs/, and in the text about each stack, is valid.
    #[cfg(target_os = "linux")]
    #[test]
    fn commands_in_the_docs_are_valid() {
        let page = include_str!("../../../docs/deploy.md");
        let in_lines = page.lines().filter(|line| line.starts_with("dupack "));
        let in_text = page.split('`').skip(1).step_by(2);
        let in_text = in_text.filter(|code| code.starts_with("dupack ") && !code.contains("STACK"));
        let catalog = Catalog::builtin();
        let told = catalog.deployable();
        let told: Vec<String> = told
            .iter()
            .map(|stack| dupack_report::deploy::text(stack, &catalog, None))
            .collect();
        let told = told.iter().flat_map(|text| text.lines().map(str::trim));
        let told = told.filter(|line| line.starts_with("dupack "));
        let mut count = 0;
        for command in in_lines.chain(in_text).chain(told) {
            let parsed = Cli::try_parse_from(words(command));
            assert!(parsed.is_ok(), "{command}: {:?}", parsed.err());
            count += 1;
        }
        assert!(count > 6, "{count}");
    }
}
