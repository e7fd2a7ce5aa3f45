//! What has become of a claim: a verdict in three values, and what it rests on.

use dupack_lab::experiment::Claim;

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

    /// Both: what does not hold decides, then what cannot be told.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::DoesNotHold, _) | (_, Self::DoesNotHold) => Self::DoesNotHold,
            (Self::CannotBeTold, _) | (_, Self::CannotBeTold) => Self::CannotBeTold,
            _ => Self::Holds,
        }
    }

    /// One of both: what holds decides, then what cannot be told.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Holds, _) | (_, Self::Holds) => Self::Holds,
            (Self::CannotBeTold, _) | (_, Self::CannotBeTold) => Self::CannotBeTold,
            _ => Self::DoesNotHold,
        }
    }

    /// The contrary.
    #[must_use]
    pub const fn contrary(self) -> Self {
        match self {
            Self::Holds => Self::DoesNotHold,
            Self::DoesNotHold => Self::Holds,
            Self::CannotBeTold => Self::CannotBeTold,
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

    /// What is said of a claim in the end, of which `found` was found by the runs that there are:
    /// nothing is settled while runs are missing.
    #[must_use]
    pub fn settled(found: Option<Self>, missing: usize) -> Self {
        let open = |found: &str| Self::new(Verdict::CannotBeTold, found);
        match (found, missing) {
            (None, 0) => open("the runs do not show what it is about"),
            (None, _) => open("runs that it needs are missing"),
            (Some(finding), 0) => finding,
            // The rule was made for all runs: fewer might seem to refute a claim.
            (Some(finding), _) => open(&format!("so far: {}", finding.found)),
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
