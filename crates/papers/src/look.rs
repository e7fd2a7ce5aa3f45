//! One claim, rerun in seconds under every reading of its paper, with as many seeds as the time permits.

use std::path::PathBuf;
use std::time::Duration;

use dupack_claims::Cell;
use dupack_engine::{Conduct as Runs, JournalError};
use dupack_lab::experiment::load::ExperimentError;
use dupack_report::table::Plain;
use miette::Diagnostic;
use thiserror::Error;

use super::campaign::{Campaign, Conduct, run_campaigns};
use super::claims::{Claim, Finding, Judged};
use super::readings::Way;
use super::{Evidence, Extent, Paper};

/// Number of packets per second that a processor simulates, for the choice of the seeds. The estimate is low.
const PACKETS_PER_SECOND: f64 = 600_000.0;

/// Minimum number of seeds for intervals that mean something.
const SEEDS_MIN: usize = 5;

/// Outcome of a claim under our reading and under every reading that changes its runs.
#[derive(Clone, Debug)]
pub struct Look {
    /// The claim.
    pub claim: Claim,
    /// Scale of the runs.
    pub extent: Extent,
    /// Finding under our reading.
    pub ours: Finding,
    /// Readings that change the runs of the claim, with their findings.
    pub others: Vec<Looked>,
    /// Number of runs that were made.
    pub runs: usize,
    /// Maximum number of seeds of a cell that were run, and number that the files have.
    pub seeds: (usize, usize),
    /// Number of runs that are missing because of an interrupt.
    pub missing: usize,
}

/// Finding under another reading.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Name of the reading: `reading=alternative`, joined by `+`.
    pub name: String,
    /// Description.
    pub is: String,
    /// Finding.
    pub finding: Finding,
}

/// Error: a claim cannot be rerun.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum LookError {
    /// The paper has no claim of this name.
    #[error("the paper `{paper}` has no claim `{id}`")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// Key of the paper.
        paper: &'static str,
        /// The name.
        id: String,
        /// Names of claims that exist.
        help: String,
    },
    /// An experiment cannot be run.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A journal cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Journal(#[from] JournalError),
}

/// The runs of the claim under one reading.
struct Prepared<'w, 'r> {
    way: &'w Way<'r>,
    campaign: Campaign,
    /// Number of packets of all runs, with all seeds.
    packets: f64,
}

/// Reruns the claim `id` of `paper` under all readings within about `budget` of wall-clock time.
///
/// # Errors
/// If there is no such claim.
pub fn look(
    paper: &'static Paper,
    id: &str,
    budget: Duration,
    runs: Runs<'_>,
) -> Result<Look, LookError> {
    let book = paper.book();
    let index = book.claims.iter().position(|claim| claim.id == id);
    let index = index.ok_or_else(|| unknown(paper, id))?;
    let readings = paper.readings();
    let ways = readings.ways().expect("the tests check the readings");
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = runs.execution.jobs.unwrap_or(workers) as f64;
    let affordable = budget.as_secs_f64() * workers * PACKETS_PER_SECOND;
    let mut extent = Extent::Full;
    let mut prepared = prepare(paper, index, extent, &ways)?;
    let mut share = share(&prepared, affordable);
    if share < 1.0 && share * (seeds_of(&prepared) as f64) < SEEDS_MIN as f64 {
        extent = Extent::Quick;
        prepared = prepare(paper, index, extent, &ways)?;
        share = self::share(&prepared, affordable);
    }
    let all = seeds_of(&prepared);
    let mut most = 0;
    for own in &mut prepared {
        most = most.max(own.campaign.thin(share, SEEDS_MIN));
    }
    let campaigns: Vec<Campaign> = prepared
        .iter_mut()
        .map(|own| std::mem::replace(&mut own.campaign, Campaign::nothing(paper)))
        .collect();
    let conduct = Conduct {
        runs,
        journals: None,
    };
    let planned: usize = campaigns.iter().map(Campaign::runs).sum();
    let came = run_campaigns(&campaigns, &conduct)?;
    let made: usize = came.iter().map(|(own, _)| own.runs()).sum();
    let evidence: Vec<Evidence> = came.into_iter().map(|(own, _)| own).collect();
    let findings = prepared.iter().zip(&evidence).map(|(own, of_way)| {
        let part = |name: &str| of_way.parts.iter().find(|part| part.name == name);
        let ours = evidence.first().map_or(&[][..], |ours| &ours.parts[..]);
        let parts = ours.iter().map(|ours| part(ours.name).unwrap_or(ours));
        let parts: Vec<_> = parts.collect();
        Ok(paper.judge_one(own.way, index, &parts)?)
    });
    let mut findings = findings
        .collect::<Result<Vec<Finding>, LookError>>()?
        .into_iter();
    let ours = findings.next().expect("our reading is the first");
    let others = prepared.iter().skip(1).zip(findings);
    Ok(Look {
        claim: book.claims[index].clone(),
        extent,
        ours,
        others: others
            .map(|(own, finding)| Looked {
                name: own.way.name(),
                is: own.way.words(),
                finding,
            })
            .collect(),
        runs: made,
        seeds: (most, all),
        missing: planned - made,
    })
}

fn unknown(paper: &'static Paper, id: &str) -> LookError {
    let claims = paper.book().claims;
    let mut near: Vec<(usize, &str)> = claims
        .iter()
        .map(|claim| {
            (
                strsim::damerau_levenshtein(id, &claim.id),
                claim.id.as_str(),
            )
        })
        .collect();
    near.sort_unstable();
    let help = match near.first() {
        Some((distance, known)) if *distance <= 1 + known.len() / 3 => {
            format!(
                "did you mean `{known}`? `dupack papers --list {}` lists all claims",
                paper.key
            )
        }
        _ => format!("`dupack papers --list {}` lists all claims", paper.key),
    };
    LookError::Unknown {
        paper: paper.key,
        id: id.to_owned(),
        help,
    }
}

/// Plans the cells for which the claim asks: under our reading, and those that differ under each other reading.
/// Readings that change none of them are left out.
fn prepare<'w, 'r>(
    paper: &'static Paper,
    index: usize,
    extent: Extent,
    ways: &'w [Way<'r>],
) -> Result<Vec<Prepared<'w, 'r>>, ExperimentError> {
    let base = paper.plan(extent)?;
    let mut out = Vec::new();
    for way in ways {
        let campaign = paper.plan_as(extent, way)?;
        let cells = paper.cells_of(way, index, &campaign)?;
        let campaign = match way.is_ours() {
            true => campaign,
            false => campaign.beyond(&base, |name| cells.contains_key(name)),
        };
        let wanted =
            |name: &str, cell: Cell| cells.get(name).is_some_and(|own| own.contains(&cell));
        let campaign = campaign.cells(wanted);
        if way.is_ours() || campaign.runs() > 0 {
            let packets = campaign.all_packets() as f64;
            let campaign = campaign.in_folder(PathBuf::from(way.name()));
            out.push(Prepared {
                way,
                campaign,
                packets,
            });
        }
    }
    Ok(out)
}

/// Returns the share of the seeds that fits into a number of packets, at most 1.
fn share(prepared: &[Prepared<'_, '_>], affordable: f64) -> f64 {
    let packets: f64 = prepared.iter().map(|own| own.packets).sum();
    (affordable / packets.max(1.0)).min(1.0)
}

/// Returns the maximum number of seeds of an experiment.
fn seeds_of(prepared: &[Prepared<'_, '_>]) -> usize {
    let seeds = prepared.iter().map(|own| own.campaign.seeds());
    seeds.max().unwrap_or(0)
}

impl Look {
    /// Formats the outcome for the terminal.
    #[must_use]
    pub fn text(&self, width: Option<u16>) -> String {
        let claim = &self.claim;
        let wrap =
            |text: &str| textwrap::fill(text, usize::from(width.unwrap_or(100).clamp(40, 100)));
        let mut lines = vec![wrap(&format!(
            "{} (section {})",
            claim.statement, claim.section
        ))];
        if !claim.paper.is_empty() {
            lines.push(wrap(&format!("Paper: {}", claim.paper)));
        }
        lines.push(wrap(&format!("Rule: {}", claim.rule)));
        if !claim.fitted.is_empty() {
            lines.push(wrap(&format!("Input: {}", claim.fitted)));
        }
        let (some, all) = self.seeds;
        let scale = match self.extent {
            Extent::Quick => ", shorter than at full scale",
            Extent::Full => "",
        };
        lines.push(String::new());
        lines.push(wrap(&format!(
            "{} ({} runs, {some} of {all} seeds{scale})",
            verdict(&self.ours),
            self.runs
        )));
        let judged = Judged {
            claim: claim.clone(),
            finding: self.ours.clone(),
        };
        if let Some(why) = judged.explanation() {
            lines.push(wrap(&format!("Why: {why}")));
        }
        let mut out = format!("{}\n", lines.join("\n"));
        if self.others.is_empty() {
            out += "\nNo reading that was tried changes its runs.\n";
            return out;
        }
        let mut table = Plain::new(
            &["under another reading", "verdict", "found"],
            usize::MAX,
            width,
        );
        for own in &self.others {
            table.add([
                format!("{} ({})", own.is, own.name),
                own.finding.verdict.name().to_owned(),
                own.finding.found.clone(),
            ]);
        }
        out += &format!("\n{}\n", table.text());
        out
    }
}

fn verdict(finding: &Finding) -> String {
    let name = finding.verdict.name();
    let name = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
    match finding.found.is_empty() {
        true => name,
        false => format!("{name}: {}", finding.found),
    }
}
