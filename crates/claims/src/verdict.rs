//! The verdict on a claim, with three values, and the findings behind it.

use dupack_lab::experiment::Claim;

/// Verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rule is true.
    Holds,
    /// The rule is false.
    DoesNotHold,
    /// The runs do not decide the rule, or are missing.
    CannotBeTold,
}

impl Verdict {
    /// Returns `Holds` if `holds` is true, otherwise `DoesNotHold`.
    #[must_use]
    pub const fn of(holds: bool) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::DoesNotHold
        }
    }

    /// Returns the verdict in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotBeTold => "cannot be told",
        }
    }

    /// Conjunction: `DoesNotHold` takes precedence, then `CannotBeTold`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::DoesNotHold, _) | (_, Self::DoesNotHold) => Self::DoesNotHold,
            (Self::CannotBeTold, _) | (_, Self::CannotBeTold) => Self::CannotBeTold,
            _ => Self::Holds,
        }
    }

    /// Disjunction: `Holds` takes precedence, then `CannotBeTold`.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Holds, _) | (_, Self::Holds) => Self::Holds,
            (Self::CannotBeTold, _) | (_, Self::CannotBeTold) => Self::CannotBeTold,
            _ => Self::DoesNotHold,
        }
    }

    /// Negation: `CannotBeTold` does not change.
    #[must_use]
    pub const fn contrary(self) -> Self {
        match self {
            Self::Holds => Self::DoesNotHold,
            Self::DoesNotHold => Self::Holds,
            Self::CannotBeTold => Self::CannotBeTold,
        }
    }
}

/// A verdict and the numbers behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The verdict.
    pub verdict: Verdict,
    /// The numbers found, with their intervals if they have any.
    pub found: String,
}

impl Finding {
    /// Creates a finding.
    #[must_use]
    pub fn new(verdict: Verdict, found: impl Into<String>) -> Self {
        Self {
            verdict,
            found: found.into(),
        }
    }

    /// Returns the final finding. `found` is the finding that the available runs support. While runs are missing, the
    /// claim is undecided.
    #[must_use]
    pub fn settled(found: Option<Self>, missing: usize) -> Self {
        let open = |found: &str| Self::new(Verdict::CannotBeTold, found);
        match (found, missing) {
            (None, 0) => open("the runs do not show its quantities"),
            (None, _) => open("runs that the rule needs are missing"),
            (Some(finding), 0) => finding,
            // The rule was written for all runs. With fewer runs, it may falsely seem to refute the claim.
            (Some(finding), _) => open(&format!("so far: {}", finding.found)),
        }
    }
}

/// A claim and its finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The claim.
    pub claim: Claim,
    /// The finding.
    pub finding: Finding,
}

impl Judged {
    /// Returns the numbers found, followed by the explanation if the claim does not hold.
    #[must_use]
    pub fn found(&self) -> String {
        match self.explanation() {
            Some(why) => format!("{}\nWhy: {why}", self.finding.found),
            None => self.finding.found.clone(),
        }
    }

    /// Returns the explanation of a claim that does not hold, if the file has one.
    #[must_use]
    pub fn explanation(&self) -> Option<&str> {
        let known = !self.claim.explanation.is_empty();
        (self.finding.verdict == Verdict::DoesNotHold && known)
            .then_some(self.claim.explanation.trim())
    }
}
