//! Reruns of papers under their readings: all readings at quick scale, then, at full scale, the readings that change a
//! verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::outcome::{Reread, Scale, Seen, WayOutcome};
use super::{Readings, Way};
use crate::campaign::{Campaign, Conduct, run_campaigns};
use crate::claims::{Judged, Verdict};
use crate::evidence::{Evidence, ExperimentResults};
use crate::{Extent, Paper, Reproduction, find};
use dupack_claims::Cell;
use dupack_engine::JournalError;
use dupack_lab::experiment::load::ExperimentError;

/// Reruns every claim of `reproductions` under the readings of their papers.
///
/// All readings are run at quick scale first. If `reproductions` are at full scale, some claims are then run at full
/// scale: claims that a quick look does not decide, claims whose quick verdict differs from our full-scale verdict, and
/// claims for which a quick look at our own reading contradicts our full-scale verdict. Readings that the file excludes
/// from runs at full scale are not tested there. Finally, the best reading is run completely at full scale. This is
/// repeated until the best reading is one that was run in this way.
///
/// # Errors
/// If a journal cannot be read or created.
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

/// Context in which a paper is reread.
struct Around<'a> {
    paper: &'static Paper,
    reproduction: &'a Reproduction,
    conduct: &'a Conduct<'a>,
}

/// Number of readings that are run together at quick scale. They keep all processors busy, and their packets fit into
/// memory.
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
                    words: way.words(),
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
            self.confirm(others, &at_first, &mut reread)?;
            self.complete(others, &mut reread)?;
        }
        reread.coherent = reread.best(&self.reproduction.judged);
        Ok(reread)
    }

    /// Runs our reading at quick scale. Returns the results and the number of runs.
    fn quick_of_ours(&self) -> Result<(Evidence, usize), JournalError> {
        let ours = self.paper.plan(Extent::Quick).expect(CHECKED);
        let ours = ours.in_folder(self.folder(Extent::Quick, &Way::default()));
        let runs = ours.runs();
        let came = run_campaigns(&[ours], self.conduct)?;
        let own = came.into_iter().next().map(|(own, _)| own);
        Ok((own.unwrap_or_default(), runs))
    }

    /// For every reading, runs the experiments that differ from ours at quick scale. Returns the results and the number
    /// of runs.
    fn quick(&self, ways: &[Way<'_>]) -> Result<(Vec<Evidence>, usize), JournalError> {
        let ours = self.paper.plan(Extent::Quick).expect(CHECKED);
        let others = ways.iter().map(|way| {
            let campaign = self.paper.plan_as(Extent::Quick, way).expect(CHECKED);
            campaign
                .beyond(&ours, |_| true)
                .in_folder(self.folder(Extent::Quick, way))
                .with_runs_of(self.related(Extent::Quick, way))
        });
        let all: Vec<Campaign> = others.collect();
        let runs = all.iter().map(Campaign::runs).sum();
        let came = run_campaigns(&all, self.conduct)?;
        Ok((came.into_iter().map(|(own, _)| own).collect(), runs))
    }

    fn folder(&self, extent: Extent, way: &Way<'_>) -> PathBuf {
        match way.is_ours() {
            true => self.folder_of(extent, "ours"),
            false => self.folder_of(extent, &way.name()),
        }
    }

    fn folder_of(&self, extent: Extent, way: &str) -> PathBuf {
        let base = PathBuf::from(self.paper.key).join("readings");
        base.join(extent.name()).join(way)
    }

    /// Returns the folders of the readings with which `way` may have runs in common: ours, and the parts of a pair. At
    /// full scale, our runs are those of the paper.
    fn related(&self, extent: Extent, way: &Way<'_>) -> Vec<PathBuf> {
        let ours = match extent {
            Extent::Quick => self.folder(extent, &Way::default()),
            Extent::Full => PathBuf::from(self.paper.key),
        };
        let parts = way.parts().map(|part| self.folder_of(extent, &part));
        parts.chain([ours]).collect()
    }

    /// Judges every claim by the experiments that a reading changes, and by our experiments for all others.
    fn judge(&self, way: &Way<'_>, ours: &Evidence, own: &Evidence) -> Vec<Judged> {
        let part = |name: &str| own.parts.iter().find(|part| part.name == name);
        let parts = ours
            .parts
            .iter()
            .map(|of_ours| part(of_ours.name).unwrap_or(of_ours));
        let parts: Vec<&ExperimentResults> = parts.collect();
        self.paper.judge_as(way, &parts).expect(CHECKED)
    }

    /// Returns the outcome of every claim under a reading, by its runs at quick scale.
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
                // Our reading has the same verdict at both scales, and this reading agrees, so no verdict changes.
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

    /// Runs claims at full scale where a quick look does not decide, where it turns a verdict, where a quick look at our
    /// reading contradicts our full-scale verdict, and for readings that the file marks as full.
    fn confirm(
        &self,
        ways: &[Way<'_>],
        at_first: &[Judged],
        reread: &mut Reread,
    ) -> Result<(), JournalError> {
        let told = |verdict| verdict != Verdict::CannotBeTold;
        // The readings are run one by one, because a reading has many packets at full scale.
        for (n, way) in ways.iter().enumerate() {
            let full = self.reproduction.judged.iter().zip(at_first);
            let seen = reread.ways[n].seen.iter().zip(full).enumerate();
            let chosen = seen.filter(|(_, (seen, (full, quick)))| {
                let (full, quick) = (full.finding.verdict, quick.finding.verdict);
                let misled = told(quick) && told(full) && quick != full;
                let unclear = !told(seen.verdict) || seen.verdict != full || misled;
                seen.scale == Scale::Quick && (unclear || way.full() == Some(true))
            });
            let claims: Vec<usize> = chosen.map(|(claim, _)| claim).collect();
            if way.full() != Some(false) {
                self.in_full((n, way), &claims, reread)?;
                continue;
            }
            let (whole, smaller): (Vec<usize>, Vec<usize>) =
                self.by_quick_look(way, &claims).expect(CHECKED);
            self.in_full((n, way), &whole, reread)?;
            for claim in smaller {
                let seen = &mut reread.ways[n].seen[claim];
                seen.verdict = Verdict::CannotBeTold;
                seen.scale = Scale::Untested;
            }
        }
        Ok(())
    }

    /// Divides `claims` into those whose experiments have the same runs in a quick look as at full scale, and the others.
    fn by_quick_look(
        &self,
        way: &Way<'_>,
        claims: &[usize],
    ) -> Result<(Vec<usize>, Vec<usize>), ExperimentError> {
        let quick = self.paper.plan_as(Extent::Quick, way)?;
        let full = self.paper.plan_as(Extent::Full, way)?;
        let mut parts = (Vec::new(), Vec::new());
        for &claim in claims {
            let cells = self.paper.cells_of(way, claim, &full)?;
            let is_whole = cells.keys().all(|name| full.is_alike(&quick, name));
            match is_whole {
                true => parts.0.push(claim),
                false => parts.1.push(claim),
            }
        }
        Ok(parts)
    }

    /// Runs the best reading completely at full scale, until the best reading is one that was run in this way.
    fn complete(&self, ways: &[Way<'_>], reread: &mut Reread) -> Result<(), JournalError> {
        let mut done: Vec<usize> = Vec::new();
        while let Some(best) = reread.best(&self.reproduction.judged)
            && !done.contains(&best)
        {
            let quick = reread.ways[best].seen.iter().enumerate();
            let quick = quick.filter(|(_, seen)| seen.scale == Scale::Quick);
            let claims: Vec<usize> = quick.map(|(claim, _)| claim).collect();
            self.in_full((best, &ways[best]), &claims, reread)?;
            done.push(best);
        }
        Ok(())
    }

    /// Runs the cells for which `claims` ask at full scale under the given reading, and judges the claims by these runs.
    fn in_full(
        &self,
        (n, way): (usize, &Way<'_>),
        claims: &[usize],
        reread: &mut Reread,
    ) -> Result<(), JournalError> {
        let ours = self.paper.plan(Extent::Full).expect(CHECKED);
        let campaign = self.paper.plan_as(Extent::Full, way).expect(CHECKED);
        let mut cells: BTreeMap<String, BTreeSet<Cell>> = BTreeMap::new();
        for &claim in claims {
            let own = self.paper.cells_of(way, claim, &campaign);
            for (name, own) in own.expect(CHECKED) {
                cells.entry(name).or_default().extend(own);
            }
        }
        let wanted =
            |name: &str, cell: Cell| cells.get(name).is_some_and(|own| own.contains(&cell));
        let campaign = campaign
            .beyond(&ours, |name| cells.contains_key(name))
            .cells(wanted)
            .in_folder(self.folder(Extent::Full, way))
            .with_runs_of(self.related(Extent::Full, way));
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
