//! What has become of a paper's verdicts under its readings.

use dupack_lab::results::sheet::to_sheet;

use super::Readings;
use crate::claims::{Claim, Judged, Verdict};

/// What has become of a paper's verdicts under its readings.
#[derive(Clone, Debug)]
pub struct Reread {
    /// The readings.
    pub readings: Readings,
    /// Every way to read the paper but ours, in the order of [`Readings::ways`].
    pub ways: Vec<WayOutcome>,
    /// The one that fits best, by its place in `ways`; `None` if that is ours.
    pub coherent: Option<usize>,
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

/// How the claims fare under a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// How many hold of those that were not held out.
    pub hold: usize,
    /// How many hold of those that were.
    pub held_out: usize,
    /// How many of all cannot be told.
    pub open: usize,
}

impl WayOutcome {
    /// What becomes of the claim at this place, of which our reading says `ours`: what a quick look
    /// cannot tell, this way does not turn.
    fn verdict(&self, claim: usize, ours: Verdict) -> Verdict {
        match self.seen.get(claim) {
            Some(seen) if seen.scale == Scale::Full || seen.verdict != Verdict::CannotBeTold => {
                seen.verdict
            }
            _ => ours,
        }
    }

    fn fit(&self, judged: &[Judged]) -> Fit {
        Fit::of(judged, |claim, ours| self.verdict(claim, ours))
    }
}

impl Fit {
    /// Of what `verdict` makes of each claim, from its place and what our reading says of it.
    fn of(judged: &[Judged], verdict: impl Fn(usize, Verdict) -> Verdict) -> Self {
        let mut fit = Self::default();
        for (claim, judged) in judged.iter().enumerate() {
            match (
                verdict(claim, judged.finding.verdict),
                judged.claim.held_out,
            ) {
                (Verdict::Holds, false) => fit.hold += 1,
                (Verdict::Holds, true) => fit.held_out += 1,
                (Verdict::CannotBeTold, _) => fit.open += 1,
                (Verdict::DoesNotHold, _) => {}
            }
        }
        fit
    }
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

    /// Of the ways that make another experiment of what the claim at this place asks about, ours
    /// among them: how many there are, under how many it holds, and under how many it cannot be told.
    #[must_use]
    pub fn count(&self, claim: usize, ours: Verdict) -> (usize, usize, usize) {
        let others = self.ways.iter().filter_map(|way| way.seen.get(claim));
        let others = others.filter(|seen| seen.scale != Scale::Untouched);
        let all = others.map(|seen| seen.verdict).chain([ours]);
        let verdicts: Vec<Verdict> = all.collect();
        let with = |wanted| verdicts.iter().filter(|v| **v == wanted).count();
        let (holds, open) = (with(Verdict::Holds), with(Verdict::CannotBeTold));
        (verdicts.len(), holds, open)
    }

    /// What the readings say of a claim, in a sentence.
    #[must_use]
    pub fn sentence(&self, claim: usize, ours: Verdict) -> String {
        let (all, holds, open) = self.count(claim, ours);
        if all == 1 {
            return "none that was tried changes its experiments".to_owned();
        }
        let mut out = format!("holds under {holds} of {all} readings");
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

    /// How `judged`, which is by our reading, fares under each way, ours first.
    #[must_use]
    pub fn fits(&self, judged: &[Judged]) -> Vec<Fit> {
        let ours = Fit::of(judged, |_, ours| ours);
        let ways = self.ways.iter().map(|way| way.fit(judged));
        std::iter::once(ours).chain(ways).collect()
    }

    /// How `judged`, which is by our reading, fares under the reading that fits best.
    #[must_use]
    pub fn coherent_fit(&self, judged: &[Judged]) -> Fit {
        match self.coherent {
            Some(way) => self.ways[way].fit(judged),
            None => Fit::of(judged, |_, ours| ours),
        }
    }

    /// The way under which most claims hold of those that were not held out, by its place; of equals
    /// the first, and ours before all.
    pub(super) fn best(&self, judged: &[Judged]) -> Option<usize> {
        let fits = self.fits(judged);
        let most = fits.iter().map(|fit| fit.hold).max()?;
        fits.iter().position(|fit| fit.hold == most)?.checked_sub(1)
    }

    /// A row for every claim that another reading touches: claim, way, scale, verdict, numbers.
    #[must_use]
    pub fn csv(&self, claims: &[Claim]) -> Vec<u8> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let mut put = |row: [&str; 5]| {
            let row = row.map(to_sheet);
            let cells = row.iter().map(|cell| cell.as_bytes());
            out.write_record(cells).expect("memory does not fail");
        };
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
            coherent: None,
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
    fn what_no_reading_turns_says_so_and_what_none_touches_too() {
        let one = reread(&[
            ("a=1", Verdict::DoesNotHold, Scale::Full),
            ("a=2", Verdict::DoesNotHold, Scale::Untouched),
        ]);
        assert_eq!(
            one.sentence(0, Verdict::DoesNotHold),
            "holds under 0 of 2 readings; none that was tried turns it"
        );
        let none = reread(&[("a=1", Verdict::Holds, Scale::Untouched)]);
        assert_eq!(
            none.sentence(0, Verdict::Holds),
            "none that was tried changes its experiments"
        );
    }
}
