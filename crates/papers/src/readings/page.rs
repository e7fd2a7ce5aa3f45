//! What a page shows of a paper's readings.

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
                 turns a verdict, at the scale of ours; {} runs.",
                reread.runs
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
