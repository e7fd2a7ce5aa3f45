//! Outcome of rerunning a paper under its readings.

use dupack_lab::results::sheet::to_sheet;

use super::Readings;
use crate::claims::{Claim, Judged, Verdict};

/// Verdicts of a paper under all of its readings.
#[derive(Clone, Debug)]
pub struct Reread {
    /// The readings.
    pub readings: Readings,
    /// Outcomes of all readings except ours, in the order of [`Readings::ways`].
    pub ways: Vec<WayOutcome>,
    /// Index in `ways` of the best reading ([`Fit`]). `None` if this is ours.
    pub coherent: Option<usize>,
    /// Number of runs that are missing because of an interrupt.
    pub missing: usize,
    /// Number of runs in addition to the runs of our reading at full scale.
    pub runs: usize,
}

/// Verdicts under one reading.
#[derive(Clone, Debug)]
pub struct WayOutcome {
    /// Name of the reading: `reading=alternative`, joined by `+`.
    pub name: String,
    /// Description.
    pub is: String,
    /// Description with the points that it settles.
    pub words: String,
    /// Names of the experiments that the reading changes.
    pub experiments: Vec<&'static str>,
    /// Outcome of each claim, in order.
    pub seen: Vec<Seen>,
}

/// Outcome of a claim under one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Verdict.
    pub verdict: Verdict,
    /// Scale of the runs behind the verdict.
    pub scale: Scale,
    /// Numbers that were found.
    pub found: String,
}

/// Scale of the runs behind a verdict under another reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The runs of our reading: this reading changes no experiment for which the claim asks.
    Untouched,
    /// Runs at quick scale.
    Quick,
    /// Runs at the scale of our reading.
    Full,
    /// No runs that decide: a quick look does not decide, and the file excludes the reading from runs at full scale.
    Untested,
}

impl Scale {
    /// Describes the scale in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Untouched => "the same runs",
            Self::Quick => "quick",
            Self::Full => "full",
            Self::Untested => "not tested",
        }
    }
}

/// A reading that changes the verdict on a claim: the claim is decided, and its verdict is not the same as under ours.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'r> {
    /// The reading.
    pub way: &'r WayOutcome,
    /// Outcome of the claim under this reading.
    pub seen: &'r Seen,
}

/// Fit of a reading: the number of claims that hold under it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Number of claims that hold, among the claims that were not held out.
    pub hold: usize,
    /// Number of claims that hold, among the claims that were held out.
    pub held_out: usize,
    /// Number of claims that cannot be told, among all claims.
    pub open: usize,
    /// Number of claims that were not tested under the reading, among all claims.
    pub untested: usize,
}

/// Numbers of readings that change an experiment of a claim, ours included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub all: usize,
    /// Readings under which the claim holds.
    pub hold: usize,
    /// Readings under which the claim cannot be told.
    pub open: usize,
    /// Readings that were not tested at full scale, although a quick look does not decide.
    pub untested: usize,
}

impl Count {
    const fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Holds => self.hold += 1,
            Verdict::CannotBeTold => self.open += 1,
            Verdict::DoesNotHold => {}
        }
    }
}

impl WayOutcome {
    /// Returns the verdict on the given claim, or `None` if the claim was not tested under this reading. `ours` is its
    /// verdict under our reading, which also counts if the claim cannot be told in a quick look.
    fn verdict(&self, claim: usize, ours: Verdict) -> Option<Verdict> {
        match self.seen.get(claim) {
            Some(seen) if seen.scale == Scale::Untested => None,
            Some(seen) if seen.scale == Scale::Full || seen.verdict != Verdict::CannotBeTold => {
                Some(seen.verdict)
            }
            _ => Some(ours),
        }
    }

    fn fit(&self, judged: &[Judged]) -> Fit {
        Fit::of(judged, |claim, ours| self.verdict(claim, ours))
    }
}

impl Fit {
    /// Counts the verdicts that `verdict` returns for each claim, given its index and its verdict under our reading.
    fn of(judged: &[Judged], verdict: impl Fn(usize, Verdict) -> Option<Verdict>) -> Self {
        let mut fit = Self::default();
        for (claim, judged) in judged.iter().enumerate() {
            match (
                verdict(claim, judged.finding.verdict),
                judged.claim.held_out,
            ) {
                (Some(Verdict::Holds), false) => fit.hold += 1,
                (Some(Verdict::Holds), true) => fit.held_out += 1,
                (Some(Verdict::CannotBeTold), _) => fit.open += 1,
                (Some(Verdict::DoesNotHold), _) => {}
                (None, _) => fit.untested += 1,
            }
        }
        fit
    }
}

impl Reread {
    /// Returns the readings under which the given claim is decided, with another verdict than `ours`.
    pub fn turns(&self, claim: usize, ours: Verdict) -> impl Iterator<Item = Turn<'_>> {
        let all = self.ways.iter().filter_map(move |way| {
            let seen = way.seen.get(claim)?;
            Some(Turn { way, seen })
        });
        let told = |verdict| verdict != Verdict::CannotBeTold;
        all.filter(move |turn| told(turn.seen.verdict) && turn.seen.verdict != ours)
    }

    /// Counts the readings that change an experiment of the given claim, and ours.
    #[must_use]
    pub fn count(&self, claim: usize, ours: Verdict) -> Count {
        let mut count = Count {
            all: 1,
            ..Count::default()
        };
        count.add(ours);
        for seen in self.ways.iter().filter_map(|way| way.seen.get(claim)) {
            match seen.scale {
                Scale::Untouched => continue,
                Scale::Untested => count.untested += 1,
                Scale::Quick | Scale::Full => count.add(seen.verdict),
            }
            count.all += 1;
        }
        count
    }

    /// Summarizes the outcome of a claim under the readings, as a sentence.
    #[must_use]
    pub fn sentence(&self, claim: usize, ours: Verdict) -> String {
        let count = self.count(claim, ours);
        if count.all == 1 {
            return "no reading that was tried changes its experiments".to_owned();
        }
        let mut out = format!("holds under {} of {} readings", count.hold, count.all);
        if count.open > 0 {
            out += &format!(", cannot be told under {}", count.open);
        }
        if count.untested > 0 {
            out += &format!(", not tested under {}", count.untested);
        }
        let turns: Vec<String> = self
            .turns(claim, ours)
            .map(|turn| {
                let quick = match turn.seen.scale {
                    Scale::Quick => ", in a quick look",
                    _ => "",
                };
                let verdict = turn.seen.verdict.name();
                format!("{} ({}; {verdict}{quick})", turn.way.words, turn.way.name)
            })
            .collect();
        let undecided = count.open + count.untested;
        match (turns.is_empty(), ours) {
            (false, _) => out += &format!("; turned by {}", turns.join(", ")),
            (true, Verdict::DoesNotHold) if undecided == 0 => {
                out += "; no reading that was tried turns it";
            }
            (true, Verdict::DoesNotHold) if 3 * undecided <= count.all => {
                out += "; none of the readings that are decided turns it";
            }
            (true, Verdict::DoesNotHold) => {
                out +=
                    "; more than a third of the readings are not decided, so a reading may turn it";
            }
            (true, _) => {}
        }
        out
    }

    /// Returns the fit of each reading, ours first. `judged` contains the verdicts under ours.
    #[must_use]
    pub fn fits(&self, judged: &[Judged]) -> Vec<Fit> {
        let ours = Fit::of(judged, |_, ours| Some(ours));
        let ways = self.ways.iter().map(|way| way.fit(judged));
        std::iter::once(ours).chain(ways).collect()
    }

    /// Returns the fit of the best reading. `judged` contains the verdicts under ours.
    #[must_use]
    pub fn coherent_fit(&self, judged: &[Judged]) -> Fit {
        match self.coherent {
            Some(way) => self.ways[way].fit(judged),
            None => Fit::of(judged, |_, ours| Some(ours)),
        }
    }

    /// Returns the index of the reading under which most claims hold, among the claims that were not held out. In a
    /// tie, ours is chosen if it is among the best, and otherwise the first reading.
    pub(super) fn best(&self, judged: &[Judged]) -> Option<usize> {
        let fits = self.fits(judged);
        let most = fits.iter().map(|fit| fit.hold).max()?;
        fits.iter().position(|fit| fit.hold == most)?.checked_sub(1)
    }

    /// Writes a CSV row for every claim that another reading affects: claim, way, scale, verdict, numbers.
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
            words: format!("the words of {name}"),
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
            "holds under 1 of 4 readings, cannot be told under 1; turned by the words of a=1 (a=1; holds)"
        );
        assert_eq!(
            reread.sentence(0, Holds),
            "holds under 2 of 4 readings, cannot be told under 1; turned by the words of a=2 (a=2; does not hold, \
             in a quick look)"
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
            "holds under 0 of 2 readings; no reading that was tried turns it"
        );
        let said = |untested: usize| {
            let mut all = vec![("a=1", Verdict::DoesNotHold, Scale::Full); 3];
            all.extend(vec![
                ("a=2", Verdict::CannotBeTold, Scale::Untested);
                untested
            ]);
            reread(&all).sentence(0, Verdict::DoesNotHold)
        };
        assert_eq!(
            said(2),
            "holds under 0 of 6 readings, not tested under 2; none of the readings that are decided turns it"
        );
        assert_eq!(
            said(3),
            "holds under 0 of 7 readings, not tested under 3; more than a third of the readings are not decided, so a \
             reading may turn it"
        );
        let none = reread(&[("a=1", Verdict::Holds, Scale::Untouched)]);
        assert_eq!(
            none.sentence(0, Verdict::Holds),
            "no reading that was tried changes its experiments"
        );
    }
}
