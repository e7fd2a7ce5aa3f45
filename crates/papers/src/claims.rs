//! What a paper claims, as data, and what is made of it.

use serde::Deserialize;

/// A paper's `claims.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The paper's title.
    pub title: String,
    /// Authors, place and year.
    pub citation: String,
    /// What it is about and what is rerun, in a few sentences.
    pub lead: String,
    /// The systems that it speaks of, and where they are here.
    #[serde(default, rename = "system")]
    pub systems: Vec<System>,
    /// Its claims, in the order in which they are shown.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A system that a paper speaks of, and where it is here: a stack, an experiment, or both.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name in the paper.
    pub name: String,
    /// Where the paper describes it.
    pub section: String,
    /// The stack that it is, as `dupack compare --stacks` takes it.
    #[serde(default)]
    pub stack: Option<String>,
    /// The experiment of this paper that it is, by its file's name without the ending.
    #[serde(default)]
    pub experiment: Option<String>,
    /// What else a reader should know, such as a dialect's part in it.
    #[serde(default)]
    pub note: String,
}

impl System {
    /// Where it is here, in words.
    #[must_use]
    pub fn place(&self) -> String {
        let stack = self.stack.iter().cloned();
        let experiment = self.experiment.iter().map(|e| format!("{e}.toml"));
        let parts: Vec<String> = stack.chain(experiment).collect();
        parts.join(" in ")
    }
}

/// Something that a paper says and a run can confirm or refute.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name, unique within the paper.
    pub id: String,
    /// Where the paper says it.
    pub section: String,
    /// What it says, in our words.
    pub statement: String,
    /// The number or the order that it gives.
    pub paper: String,
    /// How it is judged, written down before the run.
    pub rule: String,
    /// Why it does not hold, as far as we know: shown only if it does not.
    #[serde(default)]
    pub explanation: String,
}

/// What has become of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By its rule it holds.
    Holds,
    /// By its rule it does not.
    DoesNotHold,
    /// The runs do not decide it, or are missing.
    CannotBeTold,
}

impl Verdict {
    /// `Holds` or `DoesNotHold`.
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::DoesNotHold
        }
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeTold => "cannot be told",
        }
    }
}

/// A verdict with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// Our numbers, with their intervals where there are any.
    pub found: String,
}

impl Finding {
    /// A finding.
    #[must_use]
    pub fn new(verdict: Verdict, found: impl Into<String>) -> Self {
        Self {
            verdict,
            found: found.into(),
        }
    }
}

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// What was found.
    pub finding: Finding,
}

impl Judged {
    /// What was found, and why it does not hold if it does not.
    #[must_use]
    pub fn found(&self) -> String {
        match self.explanation() {
            Some(why) => format!("{}\nWhy: {why}", self.finding.found),
            None => self.finding.found.clone(),
        }
    }

    /// Why it does not hold, if it does not and somebody knows.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        let known = !self.claim.explanation.is_empty();
        (self.finding.verdict == Verdict::DoesNotHold && known)
            .then_some(self.claim.explanation.trim())
    }
}
