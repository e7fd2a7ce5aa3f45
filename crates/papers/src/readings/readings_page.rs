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
        let which = match reread.coherent.map(|way| &reread.ways[way]) {
            Some(way) => format!("`{}` ({})", way.name, way.is),
            None => "ours".to_owned(),
        };
        Some(format!(
            "The reading that fits best is {which}: {} of {} claims hold under it, {} of the {others} that chose it and \
             {} of the {held_out} that were held out.",
            fit.hold + fit.held_out,
            self.judged.len(),
            fit.hold,
            fit.held_out
        ))
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
            "verdicts that it turns",
        ];
        let fits = reread.fits(&self.judged);
        let number = |n: usize| Cell::new(n.to_string(), Emphasis::Number);
        let row = |name: &str, is: &str, fit: Fit, turned: String| {
            let name = Cell::new(name, Emphasis::Group);
            let counts = [fit.hold, fit.held_out, fit.open].map(number);
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
                 {} runs. Where it confirmed our verdict, it is the only evidence. Every third claim was held out, except those that chose a reading, so no \
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
    match &ranked[..] {
        [first, second, ..] if first.1.hold == second.1.hold && first.0 == "ours" => {
            let alike = ranked
                .iter()
                .filter(|(_, fit)| fit.hold == first.1.hold)
                .count()
                - 1;
            format!(
                "None fits better than {}; {alike} fit as well.",
                said(first)
            )
        }
        [first, second, ..] if [&first.0, &second.0].iter().any(|name| *name == "ours") => {
            format!("Best fits {}, then {}.", said(first), said(second))
        }
        [first, second, ..] => format!(
            "Best fits {}, then {}; {}.",
            said(first),
            said(second),
            ours.unwrap_or_default()
        ),
        _ => String::new(),
    }
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
                open: 0,
            });
            best(&reread, &fits, (8, 3))
        };
        assert_eq!(
            said([(5, 1), (6, 2), (4, 3)]),
            "Best fits `a=1` with 6 of 8 (2 of the 3 held out), then ours with 5 of 8 (1 of the 3 held out)."
        );
        assert_eq!(
            said([(6, 1), (6, 2), (4, 3)]),
            "None fits better than ours with 6 of 8 (1 of the 3 held out); 1 fit as well."
        );
        assert_eq!(
            said([(4, 1), (6, 2), (5, 3)]),
            "Best fits `a=1` with 6 of 8 (2 of the 3 held out), then `a=2` with 5 of 8 (3 of the 3 held out); \
             ours with 4 of 8 (1 of the 3 held out)."
        );
    }
}
