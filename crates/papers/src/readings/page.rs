//! What a page shows of a paper's readings.

use std::cmp::Reverse;

use super::outcome::Reread;
use crate::Reproduction;
use crate::claims::Verdict;
use dupack_report::page::{Cell, Emphasis};

/// A table of the readings of a paper, or of what became of the claims under them.
pub(crate) struct Shown {
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Reproduction {
    /// What the readings are, and what became of the claims under them; nothing if it was not reread.
    pub(crate) fn reread_tables(&self) -> Vec<Shown> {
        match &self.readings {
            Some(reread) => vec![self.fits(reread), readings(reread)],
            None => Vec::new(),
        }
    }

    /// How many claims hold under every way to read the paper, and what it turns.
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
            "verdicts that it turns",
        ];
        let fits = reread.fits(&self.judged);
        let number = |n: usize| Cell::new(n.to_string(), Emphasis::Number);
        let row = |name: &str, is: &str, (fit, out): (usize, usize), turned: String| {
            let name = Cell::new(name, Emphasis::Group);
            vec![name, is.into(), number(fit), number(out), turned.into()]
        };
        let mut rows = Vec::new();
        rows.extend(fits.first().map(|&fit| row("ours", "", fit, String::new())));
        for (n, (way, &fit)) in reread.ways.iter().zip(fits.iter().skip(1)).enumerate() {
            rows.push(row(&way.name, &way.is, fit, self.turned(reread, n)));
        }
        Shown {
            caption: format!(
                "Claims that hold under each reading. Every third claim was held out: a reading was chosen by the other \
                 {others}. All verdicts were known when that was done. A reading is run at quick scale, and where it \
                 turns a verdict, at the scale of ours; {} runs. {}{}",
                reread.runs,
                best(reread, &fits, (others, held_out)),
                match reread.readings.chosen.trim() {
                    "" => String::new(),
                    chosen => format!(" {chosen}"),
                }
            ),
            header: header.map(str::to_owned).to_vec(),
            rows,
        }
    }

    /// The claims that the way at this place turns, with what becomes of them.
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

/// Which reading fits best by the claims that were not held out, which comes next, and how both fare with
/// the others; of equals ours comes first.
fn best(reread: &Reread, fits: &[(usize, usize)], (others, held_out): (usize, usize)) -> String {
    let names = reread.ways.iter().map(|way| format!("`{}`", way.name));
    let names = std::iter::once("ours".to_owned()).chain(names);
    let mut ranked: Vec<(String, (usize, usize))> = names.zip(fits.iter().copied()).collect();
    ranked.sort_by_key(|(_, (fit, _))| Reverse(*fit));
    let said = |(name, (fit, out)): &(String, (usize, usize))| {
        format!("{name} with {fit} of {others} ({out} of the {held_out} held out)")
    };
    match &ranked[..] {
        [first, second, ..] if first.1.0 == second.1.0 => {
            let alike = ranked.iter().filter(|(_, fit)| fit.0 == first.1.0).count() - 1;
            format!("None fits better than {}; {alike} fit as well.", said(first))
        }
        [first, second, ..] => format!("Best fits {}, then {}.", said(first), said(second)),
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
        caption: "What the text leaves open, and what was tried.".to_owned(),
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
            experiments: Vec::new(),
            seen: Vec::new(),
        };
        let reread = Reread {
            readings: Readings::default(),
            ways: vec![way("a=1"), way("a=2")],
            missing: 0,
            runs: 0,
        };
        assert_eq!(
            best(&reread, &[(5, 1), (6, 2), (4, 3)], (8, 3)),
            "Best fits `a=1` with 6 of 8 (2 of the 3 held out), then ours with 5 of 8 (1 of the 3 held out)."
        );
        assert_eq!(
            best(&reread, &[(6, 1), (6, 2), (4, 3)], (8, 3)),
            "None fits better than ours with 6 of 8 (1 of the 3 held out); 1 fit as well."
        );
    }
}
