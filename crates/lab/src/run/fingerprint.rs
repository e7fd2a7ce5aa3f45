//! Fingerprints of runs: a hash of everything that a run depends on, so that finished runs need not be repeated.

use std::fmt;
use std::fmt::Write;
use std::sync::OnceLock;

use dupack_algorithms::catalog::{Home, StackSpec};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::build::Scenario;
use super::plan::{Job, Plan};
use super::{explain, program};
use crate::experiment::{Experiment, Seeds};
use crate::results::HarmRecord;
use crate::results::measure::STANDING;

/// Crates that determine a run and its measures, each with the hash of its sources. Runs of other code are never
/// reused. Even a changed comment counts as a change: this repeats runs, but no change is missed.
const ENGINE: [&str; 5] = [
    dupack_tcp::SOURCE_HASH,
    dupack_algorithms::SOURCE_HASH,
    dupack_algorithms::DERIVE_SOURCE_HASH,
    dupack_net::SOURCE_HASH,
    crate::SOURCE_HASH,
];

/// Hash of everything that a run depends on. Two runs with the same fingerprint are the same run.
///
/// The hash covers the experiment at the run's point (path, flows, endpoints, duration and dialect, but not the title,
/// the description, or the other stacks, points and seeds), the canonical names of the stack and of the stacks of other
/// flows, all effective parameters, the text of recorded traces, the seed, the version of this crate, and the sources
/// of endpoint, plug-ins, network and this crate.
///
/// If a stack of the run contains an external algorithm, the hash covers the description with which the algorithm was
/// registered ([`Home::Named`]). Without such a description it covers the whole executable, because nothing else
/// identifies the algorithm. A rebuilt program then repeats such runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Creates the fingerprint of a run that is not simulated. `text` contains everything that the run depends on.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self(xxh3_64(text.as_bytes()))
    }

    /// Returns the fingerprint as bytes, which are the same on every machine.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<Fingerprint> for String {
    fn from(print: Fingerprint) -> Self {
        print.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&text, 16).map(Self)
    }
}

/// Returns the name of the engine that performs the runs, as in journals: its version, and a hash of all its sources.
#[must_use]
pub fn engine() -> String {
    let sources = xxh3_64(ENGINE.join(" ").as_bytes());
    format!("{} {sources:016x}", env!("CARGO_PKG_VERSION"))
}

/// Hashes of everything that runs depend on except the seed, one per scenario. Each hash is computed on first use,
/// because its text is expensive to create compared to a short run.
#[derive(Clone, Debug)]
pub(super) struct Identities(Vec<OnceLock<u64>>);

impl Identities {
    /// Creates the hashes of this many scenarios.
    pub(super) fn new(scenarios: usize) -> Self {
        Self(vec![OnceLock::new(); scenarios])
    }

    /// Returns the fingerprint of the run with `seed` of the scenario at index `place`.
    pub(super) fn fingerprint(
        &self,
        place: usize,
        seed: u64,
        scenario: impl FnOnce() -> Scenario,
    ) -> Fingerprint {
        let hash = self.0[place].get_or_init(|| xxh3_64(identity(&scenario()).as_bytes()));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        bytes[8..].copy_from_slice(&seed.to_le_bytes());
        Fingerprint(xxh3_64(&bytes))
    }
}

/// Returns the text of everything that a run of `scenario` depends on except the seed.
fn identity(scenario: &Scenario) -> String {
    let mut bare = Experiment::clone(&scenario.experiment);
    bare.title.clear();
    bare.description.clear();
    bare.stacks = vec![scenario.stack.to_string()];
    bare.seeds = Seeds::Count(1);
    (bare.precision, bare.seeds_max) = (None, None);
    let mut text = format!(
        "{} {}\n{}",
        env!("CARGO_PKG_VERSION"),
        ENGINE.join(" "),
        toml::to_string(&bare).unwrap_or_default()
    );
    let mut line = |what: fmt::Arguments<'_>| {
        writeln!(text, "{what}").expect("writing to memory cannot fail");
    };
    for stack in &scenario.group_stacks {
        line(format_args!("{stack}"));
    }
    for p in explain::parameters(&bare, std::slice::from_ref(scenario), &[]) {
        line(format_args!("{} {} {}", p.owner, p.name, p.value));
    }
    for trace in traces(scenario) {
        line(format_args!("{trace}"));
    }
    let stacks = std::iter::once(&scenario.stack).chain(&scenario.group_stacks);
    let mut is_of_program = false;
    for entry in stacks.flat_map(StackSpec::strangers) {
        match &entry.home {
            Home::Named(sources) => line(format_args!("{} {} {sources}", entry.axis, entry.name)),
            Home::Here | Home::Elsewhere => is_of_program = true,
        }
    }
    if is_of_program {
        line(format_args!("program {:016x}", program::hash()));
    }
    text
}

/// Returns a line for each recorded trace of `scenario`: its file, the position of its start, and a hash of all its
/// times.
fn traces(scenario: &Scenario) -> impl Iterator<Item = String> {
    scenario.traces.iter().map(|(path, trace)| {
        let mut hash = Xxh3Default::new();
        for time in trace.times_ms() {
            hash.update(&time.to_le_bytes());
        }
        let (begin, times) = (trace.begin_ms(), hash.digest());
        format!("{} {begin} {times:016x}", path.display())
    })
}

impl Plan {
    /// Returns the fingerprint of all runs of the plan together, including the runs that measure harm. Plans with the
    /// same fingerprint have the same runs, made by the same engine. This fingerprint covers the same data as the
    /// [`Fingerprint`]s of the runs, but for the experiment as a whole, without title, description and claims.
    #[must_use]
    pub fn fingerprint_of_all(&self) -> Fingerprint {
        let mut bare = self.experiment().clone();
        bare.title.clear();
        bare.description.clear();
        bare.names.clear();
        bare.define.clear();
        bare.claims.clear();
        let mut lines = vec![engine(), bare.text()];
        lines.push(match &self.harm_record {
            HarmRecord::Measured => format!("beside {STANDING}"),
            _ => "no harm".to_owned(),
        });
        let (point, stack, seed) = (0, 0, 0);
        lines.extend(traces(&self.scenario(Job { point, stack, seed })));
        let mut scenarios =
            (0..self.stacks().len()).map(|stack| self.scenario(Job { point, stack, seed }));
        let is_ours = |scenario: Scenario| {
            std::iter::once(&scenario.stack)
                .chain(&scenario.group_stacks)
                .all(StackSpec::is_builtin)
        };
        if !scenarios.all(is_ours) {
            lines.push(format!("program {:016x}", program::hash()));
        }
        Fingerprint::of_text(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::{Catalog, Entry};
    use dupack_algorithms::differentiation::always::Always;

    use super::*;
    use crate::experiment::load::Source;
    use crate::run::Plan;

    fn plan(text: &str) -> Plan {
        plan_of(text, &Catalog::builtin())
    }

    fn plan_of(text: &str, catalog: &Catalog) -> Plan {
        let source = Source::new("test.toml", text);
        Plan::new(source.parse().unwrap(), &source, catalog).unwrap()
    }

    const BASE: &str = "stacks = [\"sack/reno\", \"le/reno\"]\nseeds = 2\n[path]\nrate = \"1Mbit/s\"\n[sweep]\n\"path.loss\" = [\"1%\", \"2%\"]\n";

    #[test]
    fn every_run_of_a_plan_has_its_own_fingerprint() {
        let plan = plan(BASE);
        let mut prints: Vec<_> = plan.jobs().iter().map(|j| plan.fingerprint(*j)).collect();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), 8);
    }

    #[test]
    fn it_depends_only_on_what_affects_the_run() {
        let of = |text: &str| {
            let plan = plan(text);
            let job = plan.jobs()[0];
            plan.fingerprint(job)
        };
        let base = of(BASE);
        let other = |from: &str, to: &str| of(&BASE.replace(from, to));
        // More seeds, stacks, points and a title do not affect the existing runs.
        assert_eq!(other("seeds = 2", "seeds = 5\ntitle = \"x\""), base);
        assert_eq!(other("\"le/reno\"", "\"fack/reno\""), base);
        assert_eq!(other("\"2%\"", "\"3%\", \"4%\""), base);
        assert_ne!(other("1Mbit/s", "2Mbit/s"), base);
        assert_ne!(other("\"1%\"", "\"1.5%\""), base);
        assert_ne!(other("\"sack/reno\"", "\"sack/westwood\""), base);
        assert_ne!(other("seeds = 2", "seeds = 2\ndialect = \"ns2\""), base);
    }

    #[test]
    fn the_fingerprint_of_all_runs_ignores_titles() {
        let of = |text: &str| plan(text).fingerprint_of_all();
        let base = of(BASE);
        let other = |from: &str, to: &str| of(&BASE.replace(from, to));
        assert_eq!(other("seeds = 2", "seeds = 2\ntitle = \"x\""), base);
        for (from, to) in [
            ("seeds = 2", "seeds = 3"),
            ("\"le/reno\"", "\"fack/reno\""),
            ("\"2%\"", "\"3%\""),
            ("1Mbit/s", "2Mbit/s"),
            ("seeds = 2", "seeds = 2\ndialect = \"ns2\""),
        ] {
            assert_ne!(other(from, to), base, "{to}");
        }
        let harm = plan(BASE).measuring_harm(&Catalog::builtin());
        assert_ne!(harm.fingerprint_of_all(), base);
    }

    #[test]
    fn it_covers_the_sources() {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = ["tcp", "algorithms", "derive", "net", "lab"];
        for (name, hash) in names.into_iter().zip(ENGINE) {
            let now = dupack_source_hash::of_folder(&crates.join(name).join("src"));
            assert_eq!(hash, format!("{:016x}", now.unwrap()), "{name}");
        }
        let plan = plan(BASE);
        let identity = identity(&plan.scenario(plan.jobs()[0]));
        assert!(ENGINE.iter().all(|hash| identity.contains(hash)));
    }

    #[test]
    fn it_covers_the_program_for_external_algorithms() {
        let mut catalog = Catalog::builtin();
        let theirs = Entry::differentiation("theirs", file!()).build(|(), _| Box::new(Always));
        catalog.register(theirs).unwrap();
        let text = "stacks = [\"sack/reno\", \"sack/reno/theirs/1\"]\nseeds = 1\n[path]\nrate = \"1Mbit/s\"\n";
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let line = format!("program {:016x}\n", xxh3_64(&program));
        let names_it = |text: &str| {
            let plan = plan_of(text, &catalog);
            let jobs = plan.jobs().into_iter();
            let named = jobs.map(|job| identity(&plan.scenario(job)).contains(&line));
            named.collect::<Vec<bool>>()
        };
        assert_eq!(names_it(text), [false, true]);
        // If an external stack competes with a built-in stack, the run also depends on the external code.
        let flows = "[[flows]]\nstack = \"sack/reno/theirs/1\"\n";
        assert_eq!(names_it(&format!("{text}{flows}")), [true, true]);
    }

    #[test]
    fn it_covers_the_description_of_external_algorithms() {
        let print = |sources: &'static str| {
            let mut catalog = Catalog::builtin();
            let theirs = Entry::differentiation("theirs", file!()).made_of(sources);
            let theirs = theirs.build(|(), _| Box::new(Always));
            catalog.register(theirs).unwrap();
            let text = "stacks = [\"sack/reno/theirs/1\"]\nseeds = 1\n[path]\nrate = \"1Mbit/s\"\n";
            let plan = plan_of(text, &catalog);
            let job = plan.jobs()[0];
            assert!(!identity(&plan.scenario(job)).contains("program "));
            plan.fingerprint(job)
        };
        assert_eq!(print("one"), print("one"));
        assert_ne!(print("one"), print("other"));
    }

    #[test]
    fn it_parses_as_it_is_printed() {
        let print = Fingerprint(0x0123_4567_89ab_cdef);
        let text = serde_json::to_string(&print).unwrap();
        assert_eq!(text, "\"0123456789abcdef\"");
        assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), print);
        assert!(serde_json::from_str::<Fingerprint>("\"x\"").is_err());
    }
}
