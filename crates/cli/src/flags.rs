//! Arguments that several commands share.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Id, ValueEnum};
use dupack_algorithms::catalog::{Dialect, Kernel};
use dupack_lab::experiment::BurstLoss;
use dupack_lab::results::{HarmRecord, Prefer, Results};
use dupack_lab::run::Plan;
use dupack_lab::units::{Delay, Probability};
use dupack_report::parameters::Scope;
use dupack_report::table::Legend;
use miette::{Report, miette};

/// Identifiers of the flags on the command line. Other flags have their defaults.
#[derive(Debug, Default)]
pub struct Given(HashSet<String>);

impl Given {
    /// Returns the flags of the subcommand in `matches`.
    pub fn of(matches: &ArgMatches) -> Self {
        let Some((_, chosen)) = matches.subcommand() else {
            return Self::default();
        };
        let written = |id: &&Id| chosen.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let ids = chosen.ids().filter(written);
        Self(ids.map(ToString::to_string).collect())
    }

    /// Returns `true` if `flag` is on the command line, by its identifier.
    pub fn has(&self, flag: &str) -> bool {
        self.0.contains(flag)
    }

    /// Returns `plan` with defaults marked as such among the parameters. `flags` contains the keys of the experiment
    /// file that each flag sets.
    pub fn mark(&self, mut plan: Plan, flags: &[(&str, &[&str])]) -> Plan {
        let defaults = flags.iter().filter(|(flag, _)| !self.0.contains(*flag));
        for key in defaults.flat_map(|(_, keys)| *keys) {
            plan = plan.not_given(key, "default");
        }
        plan
    }
}

/// Output format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Table for the terminal
    #[default]
    Table,
    /// One line per stack, point and measure
    Csv,
    /// One object with everything
    Json,
}

/// Family of comparisons for the correction of significance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FamilyArg {
    /// All comparisons at a point: the probability of a false difference is 5 % at each point
    #[default]
    Point,
    /// All comparisons at all points: the probability of a false difference is 5 % in the whole sweep
    Sweep,
}

impl FamilyArg {
    /// Corrects the significance of the differences in `results` for this family.
    pub fn apply(self, results: &mut Results) {
        if self == Self::Sweep {
            results.correct_over_sweep();
        }
    }
}

/// Parses a dialect: the rules that the endpoints follow where TCPs differ.
pub fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let names =
        Dialect::ALL.map(|dialect| PossibleValue::new(dialect.name()).help(dialect.meaning()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Dialect>())
}

/// Parses the main criterion of `--prefer`.
pub fn prefer() -> impl TypedValueParser<Value = Prefer> {
    let meaning = |prefer| match prefer {
        Prefer::Goodput => "Highest goodput",
        Prefer::Delay => "Lowest queueing delay (95th percentile)",
        _ => "Least harm to the goodput of a competing flow",
    };
    let names = Prefer::ALL.map(|prefer| PossibleValue::new(prefer.name()).help(meaning(prefer)));
    PossibleValuesParser::new(names).map(|name| {
        let named = Prefer::ALL.into_iter().find(|prefer| prefer.name() == name);
        named.expect("only these names are possible")
    })
}

/// Arguments of every command that runs something.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Folder for CSV, figures and report; must be empty or new [default: dupack-out/NAME, numbered if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the same command in the folder of its interrupted run; completed runs are not repeated
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "explain"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
    /// Print the effective parameters with their sources, and run nothing
    #[arg(long)]
    pub explain: bool,
    /// With --explain, print all parameters, including those that are rarely changed
    #[arg(long, requires = "explain")]
    pub all: bool,
    /// Record the goodput of every flow over time with every seed, at the middle point of the sweep, in
    /// flows_over_time.csv. This takes as long as the runs of that point
    #[arg(long)]
    pub flows_over_time: bool,
    /// Do not measure the harm to a competing flow, which takes about as long as everything else
    #[arg(long)]
    pub no_harm: bool,
    /// Concurrent runs [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
}

/// Arguments of every command with results.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Main criterion: it orders the answer, and decides if too many stacks are undominated
    #[arg(long, value_name = "WHAT", value_parser = prefer())]
    pub prefer: Option<Prefer>,
    /// Family of comparisons for Holm's correction: those at each point, or those of the whole sweep
    #[arg(long, value_enum, value_name = "FAMILY", default_value_t)]
    pub correct_over: FamilyArg,
    /// Kernel whose senders are offered, such as kernel:6.1 [default: this host's]
    #[arg(long = "for", value_name = "KERNEL")]
    pub kernel: Option<Kernel>,
    /// Explain the marks below the table, with their measures and thresholds
    #[arg(long)]
    pub legend: bool,
}

impl ShowArgs {
    /// Returns the explanation of the marks.
    pub const fn legend(&self) -> Legend {
        legend(self.legend)
    }
}

/// Returns the detail of the explanation of the marks for the value of `--legend`.
pub const fn legend(asked: bool) -> Legend {
    match asked {
        true => Legend::Whole,
        false => Legend::Named,
    }
}

/// Returns the parameters to list for the value of `--all`.
pub const fn scope(all: bool) -> Scope {
    match all {
        true => Scope::All,
        false => Scope::Basic,
    }
}

/// Returns an error if the preferred measure is not available.
pub fn check_preference(prefer: Option<Prefer>, harm: &HarmRecord) -> Result<(), Report> {
    if prefer != Some(Prefer::Friendly) {
        return Ok(());
    }
    let (why, help) = match harm {
        HarmRecord::Measured => return Ok(()),
        HarmRecord::NotAsked => (
            "harm is not measured here".to_owned(),
            "remove --no-harm, or use --prefer goodput or --prefer delay",
        ),
        HarmRecord::Senseless { why } => (why.clone(), "use --prefer goodput or --prefer delay"),
    };
    Err(miette!(
        help = help,
        "--prefer friendly needs the harm to a competing flow: {why}"
    ))
}

/// Maximum number of threads. More threads do not help on any machine.
const MOST_JOBS: usize = 1024;

/// Parses a number of concurrent runs.
pub fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs) if (1..=MOST_JOBS).contains(&jobs) => Ok(jobs),
        _ => Err(format!("expected a number of runs from 1 to {MOST_JOBS}")),
    }
}

/// Parses an integer from `least` to `most`.
pub fn whole<T>(least: u64, most: u64) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = text.trim().parse::<u64>().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match most {
            u64::MAX => format!("expected a whole number of at least {least}"),
            most => format!("expected a whole number from {least} to {most}"),
        })
    }
}

/// Parses the parameters of burst losses: the probability that a burst begins and the probability that it ends.
pub fn burst(text: &str) -> Result<BurstLoss, String> {
    let Some((enter, leave)) = text.split_once(',') else {
        return Err(format!(
            "`{text}` is one probability: expected two, that a burst begins and that it ends, such as 0.5%,30%"
        ));
    };
    let share = |text: &str| text.parse().map_err(|e| format!("{e}"));
    let (enter, leave): (Probability, Probability) = (share(enter.trim())?, share(leave.trim())?);
    if enter.as_fraction() > 0.0 && leave.as_fraction() == 0.0 {
        return Err("a burst that never ends loses everything after it: expected two nonzero probabilities, such as 0.5%,30%".to_owned());
    }
    Ok(BurstLoss {
        enter,
        leave,
        good: Probability::default(),
        bad: Probability::new(1.0).expect("it lies between 0 and 1"),
    })
}

/// Parses a nonzero time.
#[cfg(target_os = "linux")]
pub fn lasting(text: &str) -> Result<Delay, String> {
    let delay: Delay = text.parse().map_err(|e| format!("{e}"))?;
    if delay == Delay::default() {
        return Err("expected a nonzero time, such as 5ms".to_owned());
    }
    Ok(delay)
}

/// Returns the absolute path, so that a stored experiment can be run from any folder.
pub fn whole_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
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
            return Err("a stack between two commas is empty".to_owned());
        }
        Ok(Self(stacks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_numbers_have_errors_with_the_valid_range() {
        let seeds = whole::<u32>(1, 100_000);
        assert_eq!(seeds("10"), Ok(10));
        for text in [
            "abc",
            "0",
            "1.5",
            "",
            "-1",
            "100001",
            "99999999999999999999999",
        ] {
            let wanted = "expected a whole number from 1 to 100000";
            assert_eq!(seeds(text).unwrap_err(), wanted, "{text}");
        }
        let seed = whole::<u64>(0, u64::MAX);
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(
            seed("x").unwrap_err(),
            "expected a whole number of at least 0"
        );
    }

    #[test]
    fn friendliness_needs_harm() {
        let friendly = Some(Prefer::Friendly);
        assert!(check_preference(friendly, &HarmRecord::Measured).is_ok());
        assert!(check_preference(Some(Prefer::Delay), &HarmRecord::NotAsked).is_ok());
        let error = check_preference(friendly, &HarmRecord::NotAsked).unwrap_err();
        assert!(
            error
                .help()
                .unwrap()
                .to_string()
                .contains("remove --no-harm")
        );
        let why = "the flows are too short".to_owned();
        let error = check_preference(friendly, &HarmRecord::Senseless { why }).unwrap_err();
        assert!(error.to_string().contains("too short"), "{error}");
        let help = error.help().unwrap().to_string();
        assert!(!help.contains("--no-harm"), "{help}");
    }

    #[test]
    fn commas_inside_parameters_do_not_split_stacks() {
        let list: StackList = "newreno(full_ack=alg2,variant=impatient)/reno, sack/reno"
            .parse()
            .unwrap();
        assert_eq!(list.0.len(), 2);
        assert!("sack/reno,,le/reno".parse::<StackList>().is_err());
    }
}
