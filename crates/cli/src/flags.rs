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
use dupack_report::table::Legend;
use miette::{Report, miette};

/// The flags that somebody wrote, by their identifiers: others have their defaults.
#[derive(Debug, Default)]
pub struct Given(HashSet<String>);

impl Given {
    /// Those of the command that `matches` chose.
    pub fn of(matches: &ArgMatches) -> Self {
        let Some((_, chosen)) = matches.subcommand() else {
            return Self::default();
        };
        let written = |id: &&Id| chosen.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let ids = chosen.ids().filter(written);
        Self(ids.map(ToString::to_string).collect())
    }

    /// Whether somebody wrote `flag`, by its identifier.
    pub fn has(&self, flag: &str) -> bool {
        self.0.contains(flag)
    }

    /// `plan`, whose parameters do not say of a default that it was given: for each flag the keys that
    /// it sets in an experiment file.
    pub fn mark(&self, mut plan: Plan, flags: &[(&str, &[&str])]) -> Plan {
        let defaults = flags.iter().filter(|(flag, _)| !self.0.contains(*flag));
        for key in defaults.flat_map(|(_, keys)| *keys) {
            plan = plan.not_given(key, "default");
        }
        plan
    }
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

/// Which comparisons are corrected for one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FamilyArg {
    /// Those at a point: 5 % is the chance of a false difference at each point
    #[default]
    Point,
    /// Those at all points: 5 % is the chance of a false difference in the whole sweep
    Sweep,
}

impl FamilyArg {
    /// Has the verdicts on `results` be corrected so.
    pub fn apply(self, results: &mut Results) {
        if self == Self::Sweep {
            results.correct_over_sweep();
        }
    }
}

/// Reads a dialect: which rules the endpoints follow where TCPs differ.
pub fn dialect() -> impl TypedValueParser<Value = Dialect> {
    let names =
        Dialect::ALL.map(|dialect| PossibleValue::new(dialect.name()).help(dialect.meaning()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Dialect>())
}

/// Reads what counts most to the reader.
pub fn prefer() -> impl TypedValueParser<Value = Prefer> {
    let meaning = |prefer| match prefer {
        Prefer::Goodput => "The most goodput",
        Prefer::Delay => "The shortest queue: the 95th percentile of its delay",
        _ => "The least harm to a standing flow's goodput",
    };
    let names = Prefer::ALL.map(|prefer| PossibleValue::new(prefer.name()).help(meaning(prefer)));
    PossibleValuesParser::new(names).map(|name| {
        let named = Prefer::ALL.into_iter().find(|prefer| prefer.name() == name);
        named.expect("only these names are possible")
    })
}

/// What every command that runs something has in common.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Folder for CSV, figures and report; must be empty or new [default: dupack-out/NAME, numbered if taken]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Go on with the folder of the same command that was interrupted: its finished runs are not done
    /// again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "explain"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub show: ShowArgs,
    /// Print every effective parameter, defaults included, and where it comes from, and run nothing
    #[arg(long)]
    pub explain: bool,
    /// Follow every flow over time with every seed, at the point in the middle of the sweep: flows_over_time.csv.
    /// It takes as long as the runs of that point
    #[arg(long)]
    pub flows_over_time: bool,
    /// Do not measure harm to a standing flow, which takes about as long as all else
    #[arg(long)]
    pub no_harm: bool,
    /// Runs at a time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
}

/// What every command that has results has in common.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// What counts most: orders the answer, and gives one where too many stacks have their merits
    #[arg(long, value_name = "WHAT", value_parser = prefer())]
    pub prefer: Option<Prefer>,
    /// Which comparisons are corrected for one another (Holm): those at each point, or of the whole sweep
    #[arg(long, value_enum, value_name = "FAMILY", default_value_t)]
    pub correct_over: FamilyArg,
    /// The kernel whose senders are offered, as kernel:6.1 [default: this host's]
    #[arg(long = "for", value_name = "KERNEL")]
    pub kernel: Option<Kernel>,
    /// Explain the marks below the table: by which measures and limits stacks get them
    #[arg(long)]
    pub legend: bool,
}

impl ShowArgs {
    /// Whether marks are explained.
    pub const fn legend(&self) -> Legend {
        legend(self.legend)
    }
}

/// Whether marks are explained, as a flag says it.
pub const fn legend(asked: bool) -> Legend {
    match asked {
        true => Legend::Whole,
        false => Legend::Named,
    }
}

/// An error if what is preferred is not measured.
pub fn check_preference(prefer: Option<Prefer>, harm: &HarmRecord) -> Result<(), Report> {
    if prefer != Some(Prefer::Friendly) {
        return Ok(());
    }
    let (why, help) = match harm {
        HarmRecord::Measured => return Ok(()),
        HarmRecord::NotAsked => (
            "harm is not measured here".to_owned(),
            "leave out --no-harm, or take --prefer goodput or --prefer delay",
        ),
        HarmRecord::Senseless { why } => (why.clone(), "take --prefer goodput or --prefer delay"),
    };
    Err(miette!(
        help = help,
        "--prefer friendly goes by the harm to a standing flow: {why}"
    ))
}

/// More threads than this help on no machine.
const MOST_JOBS: usize = 1024;

/// A number of runs at a time on the command line.
pub fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(jobs) if (1..=MOST_JOBS).contains(&jobs) => Ok(jobs),
        _ => Err(format!("write a number of runs, 1 to {MOST_JOBS}")),
    }
}

/// Reads a whole number from `least` to `most`.
pub fn whole<T>(least: u64, most: u64) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = text.trim().parse::<u64>().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| match most {
            u64::MAX => format!("write a whole number, {least} or more"),
            most => format!("write a whole number from {least} to {most}"),
        })
    }
}

/// Losses in bursts on the command line: the probabilities that a burst begins and that it ends.
pub fn burst(text: &str) -> Result<BurstLoss, String> {
    let Some((enter, leave)) = text.split_once(',') else {
        return Err(format!(
            "`{text}` is one probability: write two, that a burst begins and that it ends, as 0.5%,30%"
        ));
    };
    let share = |text: &str| text.parse().map_err(|e| format!("{e}"));
    let (enter, leave): (Probability, Probability) = (share(enter.trim())?, share(leave.trim())?);
    if enter.as_fraction() > 0.0 && leave.as_fraction() == 0.0 {
        return Err("a burst that never ends loses all that follows: write 0.5%,30%".to_owned());
    }
    Ok(BurstLoss {
        enter,
        leave,
        good: Probability::default(),
        bad: Probability::new(1.0).expect("it lies between 0 and 1"),
    })
}

/// A time in which something can happen.
#[cfg(target_os = "linux")]
pub fn lasting(text: &str) -> Result<Delay, String> {
    let delay: Delay = text.parse().map_err(|e| format!("{e}"))?;
    if delay == Delay::default() {
        return Err("in no time nothing happens: write 5ms, for example".to_owned());
    }
    Ok(delay)
}

/// `path` from the root on, so that a stored experiment can be run from anywhere.
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
            return Err("there is an empty stack between two commas".to_owned());
        }
        Ok(Self(stacks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_says_which_are() {
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
            let wanted = "write a whole number from 1 to 100000";
            assert_eq!(seeds(text).unwrap_err(), wanted, "{text}");
        }
        let seed = whole::<u64>(0, u64::MAX);
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(seed("x").unwrap_err(), "write a whole number, 0 or more");
    }

    #[test]
    fn friendliness_is_preferred_only_where_harm_is_measured() {
        let friendly = Some(Prefer::Friendly);
        assert!(check_preference(friendly, &HarmRecord::Measured).is_ok());
        assert!(check_preference(Some(Prefer::Delay), &HarmRecord::NotAsked).is_ok());
        let error = check_preference(friendly, &HarmRecord::NotAsked).unwrap_err();
        assert!(
            error
                .help()
                .unwrap()
                .to_string()
                .contains("leave out --no-harm")
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
