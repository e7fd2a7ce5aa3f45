//! Test cases with their names, `dialect:stack#seed`, and the list of cases of a run.

use std::fmt;
use std::str::FromStr;

use dupack_algorithms::catalog::{Catalog, Dialect, StackSpec};
use dupack_net::random::Stream;

use super::parameters;

/// One transfer to test.
#[derive(Clone, Debug)]
pub struct Case {
    pub dialect: Dialect,
    pub stack: StackSpec,
    /// Seed that determines everything except the stack and the dialect.
    pub seed: u64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}#{}", self.dialect.name(), self.stack, self.seed)
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid case `{text}`: expected `dialect:stack#seed`");
        let (dialect, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (stack, seed) = rest.rsplit_once('#').ok_or_else(wrong)?;
        Ok(Self {
            dialect: Dialect::ALL
                .into_iter()
                .find(|d| d.name() == dialect)
                .ok_or_else(wrong)?,
            stack: StackSpec::parse(stack, &Catalog::builtin())
                .map_err(|error| error.to_string())?,
            seed: seed.parse().map_err(|_| wrong())?,
        })
    }
}

/// Returns the cases of the run with base seed `seed`: every pair of catalog entries in turn, in alternating dialects,
/// and alternately with the default parameters and with other parameters. In each round over the stacks, dialects and
/// parameters are shifted relative to the previous round.
pub fn draw(seed: u64, count: u64) -> Vec<Case> {
    let catalog = Catalog::builtin();
    let stacks: Vec<StackSpec> = catalog.stacks_by_pairs().collect();
    let mut stream = Stream::derive(seed, "hostile cases");
    let turns = (0..count).zip(stacks.iter().cycle());
    turns
        .map(|(number, stack)| {
            let number = number as usize;
            let turn = number % stacks.len() + number / stacks.len();
            let dialect = Dialect::ALL[turn % Dialect::ALL.len()];
            let vary = (turn / Dialect::ALL.len()) % 2 == 1;
            Case {
                dialect,
                stack: if vary {
                    parameters::vary(stack, &catalog, &mut stream)
                } else {
                    stack.clone()
                },
                // The seed is short enough to type.
                seed: stream.below(1 << 32),
            }
        })
        .collect()
}
