//! Diagnosed senders, compared with the truth.

use std::collections::BTreeMap;

use dupack_diagnosis::sender::{Control, SenderReport};

use crate::limits::lot::{Drawn, Work};

/// Diagnosed property of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Control,
    Recovery,
}

impl Axis {
    pub const BOTH: [Self; 2] = [Self::Control, Self::Recovery];

    pub const fn truth(self, drawn: &Drawn) -> &'static str {
        match self {
            Self::Control => drawn.control,
            Self::Recovery => drawn.recovery,
        }
    }
}

/// Returns the diagnosed name, or `unknown`.
pub fn name_of(axis: Axis, report: &SenderReport) -> &'static str {
    let name = match axis {
        Axis::Recovery => report.recovery.name.map(|r| r.name()),
        Axis::Control => report.control.name.map(Control::name),
    };
    name.unwrap_or("unknown")
}

/// Returns `true` if the diagnosis `said` names the true algorithm, or a family that contains the true algorithm.
pub fn is_right(truth: &str, said: &str) -> bool {
    let halves = ["reno", "vegas", "veno", "westwood", "westwood-linux"];
    said == truth
        || (said == Control::Halving.name() && halves.contains(&truth))
        || (said == Control::BbrOfSomeVersion.name() && truth == "bbr")
}

/// Counts of right, unknown and wrong diagnoses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub right: u32,
    pub unknown: u32,
    pub wrong: u32,
}

impl Count {
    fn add(&mut self, truth: &str, said: &str) {
        if is_right(truth, said) {
            self.right += 1;
        } else if said == "unknown" {
            self.unknown += 1;
        } else {
            self.wrong += 1;
        }
    }

    const fn all(self) -> u32 {
        self.right + self.unknown + self.wrong
    }

    fn line(self) -> String {
        let percent = |n: u32| 100.0 * f64::from(n) / f64::from(self.all().max(1));
        format!(
            "{} transfers: right {} ({:.1} %), unknown {} ({:.1} %), wrong {} ({:.1} %)",
            self.all(),
            self.right,
            percent(self.right),
            self.unknown,
            percent(self.unknown),
            self.wrong,
            percent(self.wrong)
        )
    }
}

/// Results for one diagnosed property.
#[derive(Default)]
pub struct Table {
    pairs: BTreeMap<(&'static str, &'static str), u32>,
    works: BTreeMap<Work, Count>,
    pub total: Count,
}

impl Table {
    pub fn add(&mut self, work: Work, truth: &'static str, said: &'static str) {
        *self.pairs.entry((truth, said)).or_default() += 1;
        self.works.entry(work).or_default().add(truth, said);
        self.total.add(truth, said);
    }

    pub fn print(&self, what: &str) {
        println!("\n{what}: truth and diagnosis");
        let mut truths: Vec<_> = self.pairs.keys().map(|k| k.0).collect();
        truths.dedup();
        for truth in truths {
            let of = self.pairs.iter().filter(|(k, _)| k.0 == truth);
            let said: Vec<_> = of.map(|(k, n)| format!("{} {n}", k.1)).collect();
            println!("  {truth:12} {}", said.join(", "));
        }
        for (work, count) in &self.works {
            println!("  {:12} {}", format!("{work:?}"), count.line());
        }
        println!("  {}", self.total.line());
    }
}
