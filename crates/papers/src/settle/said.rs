//! Texts about claims that were judged again, and about claims that stay open.

use std::collections::BTreeMap;

use super::{Anew, TIMES, Why};
use crate::Reproduction;
use crate::campaign::Fixed;

/// Returns the paragraph for the page, or `None` if no claim was judged again and none is open.
pub(crate) fn said(reproductions: &[Reproduction]) -> Option<String> {
    let settled = || reproductions.iter().map(|r| &r.settled);
    let anew: Vec<&Anew> = settled().flat_map(|own| own.claims.values()).collect();
    let open: Vec<Why> = settled()
        .flat_map(|own| own.open.values().copied())
        .collect();
    let mut said = Vec::new();
    if let Some(looks) = anew.iter().map(|anew| anew.looks + 1).max() {
        let runs: usize = settled().map(|own| own.runs).sum();
        said.push(format!(
            "{} that the seeds of the files could not decide {} judged again with more seeds for the runs that decide {}: {} \
             ({runs} more runs). The entry of each claim says so. At 95 % confidence each look errs in at most 1 case in 20, \
             so {looks} looks, the most that a claim had, err in at most {looks} cases in 20.",
            claims(anew.len()),
            if anew.len() == 1 { "was" } else { "were" },
            if anew.len() == 1 { "it" } else { "them" },
            by_times(&anew),
        ));
    }
    if !open.is_empty() {
        said.push(format!("{} open: {}.", stay(open.len()), by_reason(&open)));
    }
    (!said.is_empty()).then(|| said.join(" "))
}

/// Returns the note that follows the numbers of a claim that was judged again or is open.
pub(super) fn beside(anew: Option<&Anew>, why: Option<&Why>) -> String {
    let anew = anew.map(|anew| {
        format!(
            "with {} times the seeds for the runs that decide it",
            anew.times
        )
    });
    let said: Vec<String> = anew.into_iter().chain(why.map(|why| why.said())).collect();
    match said.is_empty() {
        true => String::new(),
        false => format!(" ({})", said.join("; ")),
    }
}

impl Why {
    /// Describes the reason in words.
    fn said(self) -> String {
        match self {
            Self::Needs(times) => format!(
                "by the spread of the runs, a decision needs about {times} times the seeds, more than a claim gets"
            ),
            Self::Beyond(times) => {
                let further = match TIMES.last() {
                    Some(most) if times < *most => "; more seeds were not examined",
                    _ => ": the value lies at the bound of the rule",
                };
                format!(
                    "by the spread of the runs, even {times} times the seeds would not decide{further}"
                )
            }
            Self::Fixed(Fixed::Listed) => {
                "the seeds are listed, so there can be no more runs".to_owned()
            }
            Self::Fixed(Fixed::Packets) => {
                "the runs are kept packet by packet, so there are no more of them".to_owned()
            }
        }
    }
}

fn claims(n: usize) -> String {
    match n {
        1 => "1 claim".to_owned(),
        n => format!("{n} claims"),
    }
}

fn stay(n: usize) -> String {
    match n {
        1 => "1 stays".to_owned(),
        n => format!("{n} stay"),
    }
}

/// Formats counts: `12 with 4 times the seeds, 5 with 16 times`.
fn by_times(anew: &[&Anew]) -> String {
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for anew in anew {
        *count.entry(anew.times).or_default() += 1;
    }
    let each = count
        .iter()
        .enumerate()
        .map(|(n, (times, claims))| match n {
            0 => format!("{claims} with {times} times the seeds"),
            _ => format!("{claims} with {times} times"),
        });
    each.collect::<Vec<_>>().join(", ")
}

fn by_reason(open: &[Why]) -> String {
    let mut count: BTreeMap<Why, usize> = BTreeMap::new();
    for &why in open {
        *count.entry(why).or_default() += 1;
    }
    let each = count
        .iter()
        .map(|(why, claims)| format!("{claims} ({})", why.said()));
    each.collect::<Vec<_>>().join(", ")
}
