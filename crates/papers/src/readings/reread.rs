//! Rerunning papers under their readings: all at quick scale, and what turns a verdict there once
//! more at the scale of the paper.

use std::path::PathBuf;

use super::outcome::{Reread, Scale, Seen, WayOutcome};
use super::{Readings, Way};
use crate::campaign::{Campaign, Conduct, run_campaigns};
use crate::claims::{Judged, Verdict};
use crate::evidence::{Evidence, Part};
use crate::{Extent, Paper, Reproduction, find};
use dupack_engine::JournalError;

/// Reruns every claim of `reproductions` under the readings of their papers.
///
/// All ways are run at quick scale. Where one says there of a claim what ours does not say at full
/// scale, or a quick look at ours says the contrary, the experiments that the claim asks about are run
/// at full scale, too, if `reproductions` are at full scale. At last the way that fits best is run at
/// full scale as a whole, until the one that fits best is one that was.
///
/// # Errors
/// If a journal can be neither read nor begun.
pub fn reread(
    reproductions: &mut [Reproduction],
    conduct: &Conduct<'_>,
) -> Result<(), JournalError> {
    for reproduction in reproductions {
        let Ok(paper) = find(reproduction.key) else {
            continue;
        };
        let readings = paper.readings();
        if !readings.open.is_empty() {
            let around = Around {
                paper,
                reproduction,
                conduct,
            };
            reproduction.readings = Some(around.reread(readings)?);
        }
    }
    Ok(())
}

/// What a paper is reread beside.
struct Around<'a> {
    paper: &'static Paper,
    reproduction: &'a Reproduction,
    conduct: &'a Conduct<'a>,
}

/// So many ways are run together at quick scale: enough that no processor waits for long, and few
/// enough that their packets fit into memory.
const AT_A_TIME: usize = 4;

const CHECKED: &str = "the tests hold every way to read a paper against its experiments";

impl Around<'_> {
    fn reread(&self, readings: Readings) -> Result<Reread, JournalError> {
        let ways = readings.ways().expect(CHECKED);
        let others = &ways[1..];
        let asked = self.paper.asked().expect(CHECKED);
        let (ours, mut runs) = self.quick_of_ours()?;
        let mut missing = ours.missing();
        let at_first = self.judge(&Way::default(), &ours, &Evidence::default());
        let mut outcomes: Vec<WayOutcome> = Vec::new();
        for ways in others.chunks(AT_A_TIME) {
            let (came, made) = self.quick(ways)?;
            runs += made;
            for (way, own) in ways.iter().zip(came) {
                missing += own.missing();
                let judged = self.judge(way, &ours, &own);
                outcomes.push(WayOutcome {
                    name: way.name(),
                    is: way.is(),
                    experiments: own.parts.iter().map(|part| part.name).collect(),
                    seen: self.at_quick_scale(&asked, &own, &at_first, &judged),
                });
            }
        }
        let mut reread = Reread {
            ways: outcomes,
            coherent: None,
            missing,
            runs,
            readings: readings.clone(),
        };
        if self.reproduction.extent == Extent::Full && !self.conduct.runs.interrupt.is_asked() {
            self.confirm(others, &asked, &at_first, &mut reread)?;
            self.complete(others, &asked, &mut reread)?;
        }
        reread.coherent = reread.best(&self.reproduction.judged);
        Ok(reread)
    }

    /// Ours at quick scale, and how many runs that were.
    fn quick_of_ours(&self) -> Result<(Evidence, usize), JournalError> {
        let ours = self.paper.plan(Extent::Quick).expect(CHECKED);
        let ours = ours.in_folder(self.folder(Extent::Quick, &Way::default()));
        let runs = ours.runs();
        let came = run_campaigns(&[ours], self.conduct)?;
        let own = came.into_iter().next().map(|(own, _)| own);
        Ok((own.unwrap_or_default(), runs))
    }

    /// The experiments of every way that are not ours, at quick scale; and how many runs that were.
    fn quick(&self, ways: &[Way<'_>]) -> Result<(Vec<Evidence>, usize), JournalError> {
        let ours = self.paper.plan(Extent::Quick).expect(CHECKED);
        let others = ways.iter().map(|way| {
            let campaign = self.paper.plan_as(Extent::Quick, way).expect(CHECKED);
            campaign
                .beyond(&ours, |_| true)
                .in_folder(self.folder(Extent::Quick, way))
        });
        let all: Vec<Campaign> = others.collect();
        let runs = all.iter().map(Campaign::runs).sum();
        let came = run_campaigns(&all, self.conduct)?;
        Ok((came.into_iter().map(|(own, _)| own).collect(), runs))
    }

    fn folder(&self, extent: Extent, way: &Way<'_>) -> PathBuf {
        let name = match way.is_ours() {
            true => "ours".to_owned(),
            false => way.name(),
        };
        let base = PathBuf::from(self.paper.key).join("readings");
        base.join(extent.name()).join(name)
    }

    /// A verdict for every claim by the experiments of a way, and where it has none of its own, by
    /// ours.
    fn judge(&self, way: &Way<'_>, ours: &Evidence, own: &Evidence) -> Vec<Judged> {
        let part = |name: &str| own.parts.iter().find(|part| part.name == name);
        let parts = ours
            .parts
            .iter()
            .map(|of_ours| part(of_ours.name).unwrap_or(of_ours));
        let parts: Vec<&Part> = parts.collect();
        self.paper.judge_as(way, &parts).expect(CHECKED)
    }

    /// What a way says of every claim, by what it says at quick scale.
    fn at_quick_scale(
        &self,
        asked: &[Vec<String>],
        own: &Evidence,
        ours: &[Judged],
        judged: &[Judged],
    ) -> Vec<Seen> {
        let all = self
            .reproduction
            .judged
            .iter()
            .zip(asked)
            .zip(ours.iter().zip(judged));
        let seen = all.map(|((full, asked), (ours, here))| {
            let touched = own
                .parts
                .iter()
                .any(|part| asked.iter().any(|name| name == part.name));
            let (full, found) = (full.finding.verdict, here.finding.found.clone());
            let (ours, here) = (ours.finding.verdict, here.finding.verdict);
            let (verdict, scale) = match touched {
                false => (full, Scale::Untouched),
                // What ours says as well at this scale, and at its own, this way does not turn.
                true if here == ours && ours == full => (full, Scale::Quick),
                true => (here, Scale::Quick),
            };
            Seen {
                verdict,
                scale,
                found,
            }
        });
        seen.collect()
    }

    /// Runs at full scale what seems to turn a verdict, and every way where a quick look at ours says
    /// the contrary of what ours says in full.
    fn confirm(
        &self,
        ways: &[Way<'_>],
        asked: &[Vec<String>],
        at_first: &[Judged],
        reread: &mut Reread,
    ) -> Result<(), JournalError> {
        let turned = |outcome: &WayOutcome| {
            let full = self.reproduction.judged.iter().zip(at_first);
            let all = outcome.seen.iter().zip(full).enumerate();
            let turned = all.filter(|(_, (seen, (full, quick)))| {
                let (full, quick) = (full.finding.verdict, quick.finding.verdict);
                let told = |verdict| verdict != Verdict::CannotBeTold;
                let misled = told(quick) && told(full) && quick != full;
                let turns = told(seen.verdict) && seen.verdict != full;
                seen.scale == Scale::Quick && (turns || misled)
            });
            turned.map(|(claim, _)| claim).collect::<Vec<usize>>()
        };
        let turned: Vec<Vec<usize>> = reread.ways.iter().map(turned).collect();
        // One by one, as at full scale a way has many packets.
        for (n, claims) in turned.iter().enumerate() {
            self.in_full((n, &ways[n]), claims, asked, reread)?;
        }
        Ok(())
    }

    /// Runs at full scale all of the way that fits best, until the one that does was run so.
    fn complete(
        &self,
        ways: &[Way<'_>],
        asked: &[Vec<String>],
        reread: &mut Reread,
    ) -> Result<(), JournalError> {
        let mut done: Vec<usize> = Vec::new();
        while let Some(best) = reread.best(&self.reproduction.judged)
            && !done.contains(&best)
        {
            let quick = reread.ways[best].seen.iter().enumerate();
            let quick = quick.filter(|(_, seen)| seen.scale == Scale::Quick);
            let claims: Vec<usize> = quick.map(|(claim, _)| claim).collect();
            self.in_full((best, &ways[best]), &claims, asked, reread)?;
            done.push(best);
        }
        Ok(())
    }

    /// Runs at full scale what `claims` ask about under a way, given with its place, and judges them by
    /// it.
    fn in_full(
        &self,
        (n, way): (usize, &Way<'_>),
        claims: &[usize],
        asked: &[Vec<String>],
        reread: &mut Reread,
    ) -> Result<(), JournalError> {
        let ours = self.paper.plan(Extent::Full).expect(CHECKED);
        let asked = |name: &str| {
            claims
                .iter()
                .any(|&claim| asked[claim].iter().any(|a| a == name))
        };
        let campaign = self.paper.plan_as(Extent::Full, way).expect(CHECKED);
        let campaign = campaign
            .beyond(&ours, asked)
            .in_folder(self.folder(Extent::Full, way));
        reread.runs += campaign.runs();
        let came = run_campaigns(&[campaign], self.conduct)?;
        let own = came.into_iter().next().map(|(own, _)| own);
        let own = own.unwrap_or_default();
        reread.missing += own.missing();
        if own.parts.is_empty() || own.missing() > 0 {
            return Ok(());
        }
        let judged = self.judge(way, &self.reproduction.evidence, &own);
        for &claim in claims {
            reread.ways[n].seen[claim] = Seen {
                verdict: judged[claim].finding.verdict,
                scale: Scale::Full,
                found: judged[claim].finding.found.clone(),
            };
        }
        Ok(())
    }
}
