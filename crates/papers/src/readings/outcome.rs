//! What has become of a paper's verdicts under its readings.

use super::Readings;
use crate::claims::{Claim, Judged, Verdict};

/// What has become of a paper's verdicts under its readings.
#[derive(Clone, Debug)]
pub struct Reread {
    /// The readings.
    pub readings: Readings,
    /// Every way to read the paper but ours, in the order of [`Readings::ways`].
    pub ways: Vec<WayOutcome>,
    /// Runs that are missing because it was interrupted.
    pub missing: usize,
    /// Runs that were made beside those of our reading at the paper's scale.
    pub runs: usize,
}

/// What has become of the verdicts under one way to read a paper.
#[derive(Clone, Debug)]
pub struct WayOutcome {
    /// `reading=alternative`, with `+` between several.
    pub name: String,
    /// What it is, in words.
    pub is: String,
    /// The experiments that it makes others.
    pub experiments: Vec<&'static str>,
    /// Of each claim, in their order.
    pub seen: Vec<Seen>,
}

/// A claim under one way to read a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What has become of it.
    pub verdict: Verdict,
    /// What that rests on.
    pub scale: Scale,
    /// The numbers that were found.
    pub found: String,
}

/// On what a verdict under another reading rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// On our reading: no experiment that the claim asks about is another.
    Untouched,
    /// On runs at quick scale.
    Quick,
    /// On runs at the scale of our reading.
    Full,
}

impl Scale {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Untouched => "the same runs",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// A way that gives a claim another verdict than ours, or one where ours is none.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'r> {
    /// The way.
    pub way: &'r WayOutcome,
    /// The claim under it.
    pub seen: &'r Seen,
}

impl Reread {
    /// The ways that give the claim at this place another verdict than `ours`.
    pub fn turns(&self, claim: usize, ours: Verdict) -> impl Iterator<Item = Turn<'_>> {
        let all = self.ways.iter().filter_map(move |way| {
            let seen = way.seen.get(claim)?;
            Some(Turn { way, seen })
        });
        let told = |verdict| verdict != Verdict::CannotBeTold;
        all.filter(move |turn| told(turn.seen.verdict) && turn.seen.verdict != ours)
    }

    /// Under how many of all ways, ours among them, the claim at this place holds, and under how
    /// many it cannot be told.
    #[must_use]
    pub fn count(&self, claim: usize, ours: Verdict) -> (usize, usize) {
        let others = self.ways.iter().filter_map(|way| way.seen.get(claim));
        let all = others.map(|seen| seen.verdict).chain([ours]);
        let verdicts: Vec<Verdict> = all.collect();
        let with = |wanted| verdicts.iter().filter(|v| **v == wanted).count();
        (with(Verdict::Holds), with(Verdict::CannotBeTold))
    }

    /// What the readings say of a claim, in a sentence.
    #[must_use]
    pub fn sentence(&self, claim: usize, ours: Verdict) -> String {
        let (holds, open) = self.count(claim, ours);
        let mut out = format!("holds under {holds} of {} readings", self.ways.len() + 1);
        if open > 0 {
            out += &format!(", cannot be told under {open}");
        }
        let turns: Vec<String> = self
            .turns(claim, ours)
            .map(|turn| {
                let quick = match turn.seen.scale {
                    Scale::Quick => ", at quick scale",
                    _ => "",
                };
                format!("{} ({}{quick})", turn.way.name, turn.seen.verdict.name())
            })
            .collect();
        match (turns.is_empty(), ours) {
            (false, _) => out += &format!("; turned by {}", turns.join(", ")),
            (true, Verdict::DoesNotHold) if open > 0 => {
                out += "; none that the runs tell turns it";
            }
            (true, Verdict::DoesNotHold) => out += "; none that was tried turns it",
            (true, _) => {}
        }
        out
    }

    /// How many of `judged` hold under each way, ours first: of those that were not held out, and of
    /// those that were.
    #[must_use]
    pub fn fits(&self, judged: &[Judged]) -> Vec<(usize, usize)> {
        let count = |verdict: &dyn Fn(usize) -> Option<Verdict>, held_out: bool| {
            let own = judged.iter().enumerate();
            let own = own.filter(|(_, judged)| judged.claim.held_out == held_out);
            own.filter(|(n, _)| verdict(*n) == Some(Verdict::Holds))
                .count()
        };
        let ours = |n: usize| judged.get(n).map(|judged| judged.finding.verdict);
        let mut out = vec![(count(&ours, false), count(&ours, true))];
        out.extend(self.ways.iter().map(|way| {
            let here = |n: usize| way.seen.get(n).map(|seen| seen.verdict);
            (count(&here, false), count(&here, true))
        }));
        out
    }

    /// A row for every claim that another reading touches: claim, way, scale, verdict, numbers.
    #[must_use]
    pub fn csv(&self, claims: &[Claim]) -> Vec<u8> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let mut put = |row: [&str; 5]| out.write_record(row).expect("memory does not fail");
        put(["claim", "reading", "scale", "verdict", "found"]);
        for way in &self.ways {
            let touched = way.seen.iter().zip(claims);
            for (seen, claim) in touched.filter(|(seen, _)| seen.scale != Scale::Untouched) {
                let (scale, verdict) = (seen.scale.name(), seen.verdict.name());
                put([&claim.id, &way.name, scale, verdict, &seen.found]);
            }
        }
        out.into_inner().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(verdict: Verdict, scale: Scale) -> Seen {
        Seen {
            verdict,
            scale,
            found: String::new(),
        }
    }

    fn reread(of: &[(&str, Verdict, Scale)]) -> Reread {
        let ways = of.iter().map(|&(name, verdict, scale)| WayOutcome {
            name: name.to_owned(),
            is: String::new(),
            experiments: Vec::new(),
            seen: vec![seen(verdict, scale)],
        });
        Reread {
            readings: Readings::default(),
            ways: ways.collect(),
            missing: 0,
            runs: 0,
        }
    }

    #[test]
    fn a_reading_turns_a_verdict_if_it_has_another_and_is_told() {
        use Verdict::{CannotBeTold, DoesNotHold, Holds};
        let reread = reread(&[
            ("a=1", Holds, Scale::Full),
            ("a=2", DoesNotHold, Scale::Quick),
            ("b=1", CannotBeTold, Scale::Quick),
        ]);
        let turned = |ours| {
            let turns = reread.turns(0, ours).map(|turn| turn.way.name.as_str());
            turns.collect::<Vec<_>>()
        };
        assert_eq!(turned(DoesNotHold), ["a=1"]);
        assert_eq!(turned(Holds), ["a=2"]);
        assert_eq!(turned(CannotBeTold), ["a=1", "a=2"]);
        assert_eq!(
            reread.sentence(0, DoesNotHold),
            "holds under 1 of 4 readings, cannot be told under 1; turned by a=1 (holds)"
        );
        assert_eq!(
            reread.sentence(0, Holds),
            "holds under 2 of 4 readings, cannot be told under 1; turned by a=2 (does not hold, at quick scale)"
        );
    }

    #[test]
    fn what_no_reading_turns_says_so() {
        let reread = reread(&[("a=1", Verdict::DoesNotHold, Scale::Untouched)]);
        let said = reread.sentence(0, Verdict::DoesNotHold);
        assert!(said.ends_with("none that was tried turns it"), "{said}");
    }
}
