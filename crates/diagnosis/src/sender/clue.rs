//! Evaluation of candidates: every observation is a clue with a score for each candidate.
//!
//! The score of a clue is the natural logarithm of a likelihood ratio: the likelihood of the observation with this
//! candidate, relative to a sender that is none of the candidates. Scores are added. The candidate with the highest
//! score is named if it leads both the next one and the hypothesis "none of them" by a margin; otherwise no candidate
//! is named. Because clues are not independent, the score of each one is bounded, and the margin is wide.

use core::fmt;

use super::report::{Candidate, Identification};

/// Required lead of the first candidate over the second: 20 to 1.
const MARGIN: f64 = 3.0;
/// Required lead of the first candidate over the hypothesis "none of them": 7 to 1.
const MARGIN_OVER_NONE: f64 = 2.0;
/// Minimum absolute score for a clue to be reported.
const TOLD: f64 = 0.5;

/// Score of one observation for one candidate.
#[derive(Clone, Debug)]
pub(super) struct Clue {
    worth: f64,
    sentence: String,
}

/// Clues of a candidate.
#[derive(Clone, Debug)]
pub(super) struct Weighing<N> {
    name: N,
    clues: Vec<Clue>,
    prior: f64,
    /// Score of the necessary properties: negative if the candidate lacks one of them.
    must: f64,
    seen: Enough,
}

/// Presence of the observations that identify a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enough {
    Seen,
    Lacking,
}

impl<N: Copy> Weighing<N> {
    /// Creates an evaluation without clues; `prior` is the logarithm of the candidate's prior probability.
    pub const fn new(name: N, prior: f64) -> Self {
        Self {
            name,
            clues: Vec::new(),
            prior,
            must: 0.0,
            seen: Enough::Seen,
        }
    }

    /// Adds a necessary property: if `worth` is negative, the candidate is not named, regardless of other clues.
    pub fn must(&mut self, worth: f64) {
        self.must = self.must.min(worth);
    }

    /// Records that the capture does not contain the observations that identify this candidate. Therefore, the
    /// candidate is not named, although it may be the nearest one.
    pub fn lacks(&mut self) {
        self.seen = Enough::Lacking;
    }

    pub fn clue(&mut self, worth: f64, sentence: impl Into<String>) {
        if worth != 0.0 && worth.is_finite() {
            self.clues.push(Clue {
                worth,
                sentence: sentence.into(),
            });
        }
    }

    fn candidate(mut self) -> Candidate<N> {
        self.clues
            .sort_by(|a, b| b.worth.abs().total_cmp(&a.worth.abs()));
        let score = self.prior + self.clues.iter().map(|c| c.worth).sum::<f64>();
        let told = |wanted: &dyn Fn(f64) -> bool| {
            let clues = self.clues.iter().filter(|c| wanted(c.worth));
            clues.map(|c| c.sentence.clone()).collect()
        };
        Candidate {
            name: self.name,
            score,
            evidence_for: told(&|worth| worth >= TOLD),
            evidence_against: told(&|worth| worth <= -TOLD),
        }
    }
}

/// `true` if a candidate with this score leads both the next candidate and the hypothesis "none of them".
pub(super) fn stands_out(score: f64, next: f64) -> bool {
    score >= MARGIN_OVER_NONE && score - next >= MARGIN
}

/// Returns the verdict. `nothing` is the reason given if there is no significant clue.
pub(super) fn decide<N: Copy + fmt::Display>(
    weighings: Vec<Weighing<N>>,
    nothing: impl Into<String>,
) -> Identification<N> {
    let is_told = weighings
        .iter()
        .any(|w| w.clues.iter().any(|c| c.worth.abs() >= TOLD));
    let mut weighed: Vec<_> = weighings
        .into_iter()
        .map(|w| ((w.must, w.seen), w.candidate()))
        .collect();
    weighed.sort_by(|a, b| b.1.score.total_cmp(&a.1.score));
    let fits = weighed.first().is_some_and(|((must, _), _)| *must >= 0.0);
    let enough = weighed
        .first()
        .map_or(Enough::Lacking, |((_, seen), _)| *seen);
    let nothing = nothing.into();
    let candidates: Vec<_> = weighed
        .into_iter()
        .map(|(_, candidate)| candidate)
        .collect();
    let (name, why) = match candidates.as_slice() {
        _ if !is_told => (None, nothing),
        [first, ..] if first.evidence_for.is_empty() && first.score < MARGIN_OVER_NONE => {
            (None, nothing)
        }
        [first, _, ..] if fits && enough == Enough::Lacking => {
            let why = format!("too little evidence; the nearest is {}", first.name);
            (None, why)
        }
        [first, second, ..] => judge(first, second, fits),
        _ => (None, nothing),
    };
    let nearest = candidates
        .first()
        .filter(|first| is_told && fits && first.score >= MARGIN_OVER_NONE)
        .map(|first| first.name);
    Identification {
        name,
        nearest,
        why,
        candidates,
    }
}

fn judge<N: Copy + fmt::Display>(
    first: &Candidate<N>,
    second: &Candidate<N>,
    fits: bool,
) -> (Option<N>, String) {
    let ahead = first.score - second.score;
    let reason = first.evidence_for.first();
    if first.score < MARGIN_OVER_NONE || !fits {
        let against = first.evidence_against.first();
        let because = against.map_or(String::new(), |a| format!(", although {a}"));
        let why = format!("nothing fits well; the nearest is {}{because}", first.name);
        return (None, why);
    }
    if ahead < MARGIN {
        let why = format!("{} and {} both fit", first.name, second.name);
        return (None, why);
    }
    let why = reason.map_or_else(
        || format!("the evidence against the others leaves {}", first.name),
        Clone::clone,
    );
    (Some(first.name), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::report::Control;

    fn weighing(name: Control, clues: &[(f64, &str)]) -> Weighing<Control> {
        let mut weighing = Weighing::new(name, 0.0);
        for &(worth, sentence) in clues {
            weighing.clue(worth, sentence);
        }
        weighing
    }

    #[test]
    fn evidence_for_and_against_a_candidate_is_separate_with_the_strongest_first() {
        let clues = [
            (0.6, "weak"),
            (-4.0, "hardly ever"),
            (0.4, "negligible"),
            (3.0, "nearly always"),
            (-0.5, "seldom"),
            (-0.4, "also negligible"),
            (f64::NAN, "nonsense"),
        ];
        let candidate = weighing(Control::Reno, &clues).candidate();
        assert_eq!(candidate.evidence_for, ["nearly always", "weak"]);
        assert_eq!(candidate.evidence_against, ["hardly ever", "seldom"]);
        assert!((candidate.score + 0.9).abs() < 1e-9, "{}", candidate.score);
    }

    #[test]
    fn an_outstanding_candidate_is_named_with_its_strongest_clue() {
        let verdict = decide(
            vec![
                weighing(Control::Cubic, &[(1.0, "a curve")]),
                weighing(Control::Reno, &[(2.0, "a line"), (3.0, "half")]),
            ],
            "nothing",
        );
        assert_eq!(verdict.name, Some(Control::Reno));
        assert_eq!(verdict.nearest, Some(Control::Reno));
        assert_eq!(verdict.why, "half");
        let order: Vec<Control> = verdict.candidates.iter().map(|one| one.name).collect();
        assert_eq!(order, [Control::Reno, Control::Cubic]);
    }

    #[test]
    fn two_equally_good_candidates_are_mentioned_and_neither_is_named() {
        let verdict = decide(
            vec![
                weighing(Control::Reno, &[(5.0, "half")]),
                weighing(Control::Cubic, &[(2.5, "a curve")]),
            ],
            "nothing",
        );
        assert_eq!(verdict.name, None);
        assert_eq!(verdict.nearest, Some(Control::Reno));
        assert_eq!(verdict.why, "reno and cubic both fit");
    }

    #[test]
    fn a_candidate_without_a_necessary_property_is_only_the_nearest() {
        let mut first = weighing(Control::Reno, &[(6.0, "half"), (-1.0, "it never grew")]);
        first.must(-0.1);
        first.must(1.0);
        let verdict = decide(
            vec![first, weighing(Control::Cubic, &[(0.6, "a curve")])],
            "nothing",
        );
        assert_eq!((verdict.name, verdict.nearest), (None, None));
        let why = "nothing fits well; the nearest is reno, although it never grew";
        assert_eq!(verdict.why, why);
    }

    #[test]
    fn a_candidate_with_too_little_evidence_is_not_named() {
        let mut first = weighing(Control::Bbr, &[(6.0, "paced")]);
        first.lacks();
        let others = weighing(Control::Reno, &[(0.6, "half")]);
        let verdict = decide(vec![others, first], "nothing");
        assert_eq!(verdict.name, None);
        assert_eq!(verdict.nearest, Some(Control::Bbr));
        assert_eq!(verdict.why, "too little evidence; the nearest is bbr");
    }

    #[test]
    fn without_clues_the_verdict_has_the_given_reason() {
        let of = |worth| {
            let clues = [(worth, "negligible")];
            let both = [Control::Reno, Control::Cubic].map(|name| weighing(name, &clues));
            decide(both.into(), "it lost nothing")
        };
        for verdict in [of(0.0), of(0.4), of(-3.0)] {
            assert_eq!((verdict.name, verdict.nearest), (None, None));
            assert_eq!(verdict.why, "it lost nothing");
        }
    }
}
