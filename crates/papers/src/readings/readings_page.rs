//! Tables and texts about a paper's readings.

use std::cmp::Reverse;

use super::outcome::{Fit, Reread};
use crate::Reproduction;
use crate::claims::{Judged, Verdict};
use dupack_report::page::{Cell, Emphasis};

/// A table of the readings, or of the claims under the readings.
pub(crate) struct Shown {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Reproduction {
    /// Returns the tables of the readings and of their outcomes. The list is empty if the paper was not reread.
    pub(crate) fn reread_tables(&self) -> Vec<Shown> {
        match &self.readings {
            Some(reread) => vec![self.fits(reread), readings(reread)],
            None => Vec::new(),
        }
    }

    /// Describes how many claims hold under the best reading. Returns `None` if the paper was not reread.
    pub(crate) fn coherent_said(&self) -> Option<String> {
        let reread = self.readings.as_ref()?;
        let fit = reread.coherent_fit(&self.judged);
        let held_out = |judged: &&Judged| judged.claim.held_out;
        let held_out = self.judged.iter().filter(held_out).count();
        let others = self.judged.len() - held_out;
        let fits = reread.fits(&self.judged);
        let alike = fits.iter().filter(|own| own.hold == fit.hold).count() - 1;
        let alike = match alike {
            0 => String::new(),
            1 => " (another reading fits as well by these)".to_owned(),
            n => format!(" ({n} other readings fit as well by these)"),
        };
        let all = self.judged.len();
        let counts = format!(
            "{} of {all} claims hold, {} of the {others} that chose it and {} of the {held_out} that were held out",
            fit.hold + fit.held_out,
            fit.hold,
            fit.held_out
        );
        Some(match reread.coherent.map(|way| &reread.ways[way]) {
            Some(way) => {
                let ours = fits.first().map_or(0, |ours| ours.hold + ours.held_out);
                format!(
                    "By the claims that were not held out, the reading that fits best is `{}` ({}){alike}: under it {counts}. \
                     Under ours {ours} of {all} hold.",
                    way.name, way.is
                )
            }
            None => format!(
                "By the claims that were not held out, no reading fits better than ours{alike}: {counts}."
            ),
        })
    }

    /// Returns the table of all readings: the number of claims that hold, and the verdicts that each reading changes.
    fn fits(&self, reread: &Reread) -> Shown {
        let held_out = self
            .judged
            .iter()
            .filter(|judged| judged.claim.held_out)
            .count();
        let others = self.judged.len() - held_out;
        let header = [
            "reading",
            "what it is",
            &format!("hold, of {others}"),
            &format!("held out, of {held_out}"),
            "cannot be told",
            "not tested",
            "verdicts that it turns",
        ];
        let fits = reread.fits(&self.judged);
        let number = |n: usize| Cell::new(n.to_string(), Emphasis::Number);
        let row = |name: &str, is: &str, fit: Fit, turned: String| {
            let name = Cell::new(name, Emphasis::Group);
            let counts = [fit.hold, fit.held_out, fit.open, fit.untested].map(number);
            let mut row = vec![name, is.into()];
            row.extend(counts);
            row.push(turned.into());
            row
        };
        let mut rows = Vec::new();
        rows.extend(fits.first().map(|&fit| row("ours", "", fit, String::new())));
        for (n, (way, &fit)) in reread.ways.iter().zip(fits.iter().skip(1)).enumerate() {
            rows.push(row(&way.name, &way.is, fit, self.turned(reread, n)));
        }
        Shown {
            caption: format!(
                "Number of claims that hold under each reading. Every reading had a quick look, with fewer seeds and shorter \
                 runs. Where the quick look did not decide, or turned a verdict, the runs were repeated with the seeds of ours: \
                 {} runs. Readings that no explanation names and that would take hours are exceptions: their claims are not tested where \
                 the quick look is smaller than our runs and did not confirm our verdict. Where the quick look confirmed our verdict, it is the only evidence. Every third claim was held out, except those that chose a reading, so no \
                 claim that was held out chose a reading. All verdicts were known when the claims were held out. {}",
                reread.runs,
                best(reread, &fits, (others, held_out)),
            ),
            header: header.map(str::to_owned).to_vec(),
            rows,
        }
    }

    /// Lists the claims whose verdicts the given reading changes, with their new verdicts.
    fn turned(&self, reread: &Reread, way: usize) -> String {
        let turned = self.judged.iter().enumerate().filter_map(|(n, judged)| {
            let ours = judged.finding.verdict;
            let own = &reread.ways[way].name;
            let turn = reread.turns(n, ours).find(|turn| turn.way.name == *own)?;
            let mark = match turn.seen.verdict {
                Verdict::Holds => "✓",
                Verdict::DoesNotHold => "✗",
                Verdict::CannotBeTold => "?",
            };
            Some(format!("{mark} {}", judged.claim.id))
        });
        turned.collect::<Vec<_>>().join(", ")
    }
}

/// Names the best reading by the claims that were not held out, and the next best reading. For both, the claims that
/// were held out are also counted. In a tie, ours is the best.
fn best(reread: &Reread, fits: &[Fit], (others, held_out): (usize, usize)) -> String {
    let names = reread.ways.iter().map(|way| format!("`{}`", way.name));
    let names = std::iter::once("ours".to_owned()).chain(names);
    let mut ranked: Vec<(String, Fit)> = names.zip(fits.iter().copied()).collect();
    ranked.sort_by_key(|(_, fit)| Reverse(fit.hold));
    let said = |(name, fit): &(String, Fit)| {
        let Fit {
            hold,
            held_out: out,
            ..
        } = fit;
        format!("{name} with {hold} of {others} ({out} of the {held_out} held out)")
    };
    let ours = ranked.iter().find(|(name, _)| name == "ours").map(said);
    let Some(first) = ranked.first() else {
        return String::new();
    };
    let alike = ranked
        .iter()
        .filter(|(_, fit)| fit.hold == first.1.hold)
        .count()
        - 1;
    let as_well = match alike {
        0 => String::new(),
        1 => "; 1 fits as well".to_owned(),
        n => format!("; {n} fit as well"),
    };
    let untested = fits.iter().filter(|fit| fit.untested > 0).count();
    let untested = match untested {
        0 => String::new(),
        1 => " One reading was not tested on all claims.".to_owned(),
        n => format!(" {n} readings were not tested on all claims."),
    };
    if first.0 == "ours" && alike > 0 {
        return format!("None fits better than {}{as_well}.{untested}", said(first));
    }
    let next = ranked.iter().find(|(_, fit)| fit.hold < first.1.hold);
    let next = next.map_or_else(String::new, |next| format!(", then {}", said(next)));
    let is_said = first.0 == "ours" || next.starts_with(", then ours ");
    let ours = match ours {
        Some(ours) if !is_said => format!("; {ours}"),
        _ => String::new(),
    };
    format!("Best fits {}{as_well}{next}{ours}.{untested}", said(first))
}

fn readings(reread: &Reread) -> Shown {
    let header = ["what is open", "where", "ours", "why", "alternatives"];
    let rows = reread.readings.open.iter().map(|reading| {
        let alternatives = reading.alternatives.iter();
        let alternatives = alternatives.map(|a| format!("{}={}: {}", reading.key, a.key, a.is));
        vec![
            reading.open.clone().into(),
            reading.section.clone().into(),
            reading.ours.clone().into(),
            reading.why.clone().into(),
            alternatives.collect::<Vec<_>>().join("; ").into(),
        ]
    });
    Shown {
        caption: "Points that the text leaves open, and the alternatives that were tried."
            .to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{Readings, WayOutcome};

    #[test]
    fn the_reading_that_fits_best_is_named_with_the_next() {
        let way = |name: &str| WayOutcome {
            name: name.to_owned(),
            is: String::new(),
            words: String::new(),
            experiments: Vec::new(),
            seen: Vec::new(),
        };
        let reread = Reread {
            readings: Readings::default(),
            ways: vec![way("a=1"), way("a=2")],
            coherent: None,
            missing: 0,
            runs: 0,
        };
        let said = |counts: [(usize, usize); 3]| {
            let fits = counts.map(|(hold, held_out)| Fit {
                hold,
                held_out,
                ..Fit::default()
            });
            best(&reread, &fits, (8, 3))
        };
        assert_eq!(
            said([(5, 1), (6, 2), (4, 3)]),
            "Best fits `a=1` with 6 of 8 (2 of the 3 held out), then ours with 5 of 8 (1 of the 3 held out)."
        );
        assert_eq!(
            said([(6, 1), (6, 2), (4, 3)]),
            "None fits better than ours with 6 of 8 (1 of the 3 held out); 1 fits as well."
        );
        assert_eq!(
            said([(4, 1), (6, 2), (5, 3)]),
            "Best fits `a=1` with 6 of 8 (2 of the 3 held out), then `a=2` with 5 of 8 (3 of the 3 held out); \
             ours with 4 of 8 (1 of the 3 held out)."
        );
        assert_eq!(
            said([(4, 1), (6, 2), (6, 3)]),
            "Best fits `a=1` with 6 of 8 (2 of the 3 held out); 1 fits as well, then ours with 4 of 8 (1 of the 3 held \
             out)."
        );
    }

    #[test]
    fn claims_that_were_not_tested_do_not_count_as_ours() {
        let mut reread = Reread {
            readings: Readings::default(),
            ways: Vec::new(),
            coherent: None,
            missing: 0,
            runs: 0,
        };
        let fits = [(6, 0), (4, 2)].map(|(hold, untested)| Fit {
            hold,
            untested,
            ..Fit::default()
        });
        reread.ways.push(WayOutcome {
            name: "a=1".to_owned(),
            is: String::new(),
            words: String::new(),
            experiments: Vec::new(),
            seen: Vec::new(),
        });
        assert_eq!(
            best(&reread, &fits, (8, 0)),
            "Best fits ours with 6 of 8 (0 of the 0 held out), then `a=1` with 4 of 8 (0 of the 0 held out). One reading \
             was not tested on all claims."
        );
    }
}
