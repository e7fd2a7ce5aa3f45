//! Files that are made from all blocks: the page, and the files with one row for each point of a comparison.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::results::verdict::{Mark, comparisons_head, rules_among, verdicts_head};
use dupack_lab::results::{Results, store};
use dupack_lab::run::Plan;

use super::digest::Digests;
use super::parts::BlockRecord;
use super::stream_page;
use super::{StreamError, Streaming, tidy};
use crate::files::Files;
use crate::table::{self, Colour, Ink, Legend, Plain};
use dupack_engine::folder::{OutputFolder, Replacement};

/// Summary of a streamed experiment after all files are written.
#[derive(Debug)]
pub struct Finished {
    /// Folder of the experiment.
    pub folder: OutputFolder,
    /// Number of runs, excluding runs that measure harm.
    pub runs: usize,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    standings: Vec<Standing>,
    points: usize,
    /// Number of points without an answer, for each reason.
    without_answer: Vec<(usize, &'static str)>,
    rules: Vec<String>,
}

/// Number of points at which a stack has each mark.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) stack: String,
    /// Number of points at which the stack is the first of the stacks with a ★.
    pub(super) first: usize,
    /// Number of points at which the stack has each mark, in the order of [`MARKS`].
    pub(super) counts: [usize; MARKS.len()],
}

/// The marks that are counted.
pub(super) const MARKS: [Mark; 4] = [Mark::Star, Mark::Open, Mark::Tied, Mark::Warned];

/// Files that are combined from all blocks and have one row for each point of a comparison.
struct Together<'f> {
    summary: Replacement<'f>,
    verdicts: Replacement<'f>,
    comparisons: Replacement<'f>,
    /// The file `traces.csv`, if links follow recorded traces.
    traces: Option<Replacement<'f>>,
}

impl Streaming {
    /// Combines the files of all blocks and draws the page. All runs must be done. `catalog` contains the stacks.
    ///
    /// # Errors
    ///
    /// Returns an error if a block is missing or damaged, or if the folder is not writable.
    pub fn finish(self, plan: &Plan, catalog: &Catalog) -> Result<Finished, StreamError> {
        let mut digests = Digests::none_of(&self.bare, &self.thin);
        let mut together = self.begin()?;
        let (mut runs, mut parts) = (0, Vec::new());
        for block in &self.blocks {
            let kept = self.kept(block)?;
            runs += kept.runs;
            together.put(&kept)?;
            parts.extend(kept.files.into_iter().map(|(name, _)| name));
            kept.digests
                .into_iter()
                .for_each(|digest| digests.take(digest));
        }
        together.complete()?;
        let missed = plan.shortfall_of(digests.missed.iter().cloned());
        let warnings = self.bare.warnings.iter().cloned().chain(missed).collect();
        let finished = Finished {
            folder: OutputFolder::reopen(self.path()),
            runs,
            warnings,
            standings: standings(&self.bare, &digests),
            points: digests.first.len(),
            without_answer: digests.without_answer(),
            rules: rules_among(&self.bare, digests.several_flows),
        };
        let mut files = Files::new();
        files.add("parameters.csv", || store::parameters_csv(&self.bare));
        stream_page::add(&mut files, (&self, &digests, &finished), &parts, catalog)?;
        files.write(&finished.folder)?;
        finished.folder.sync()?;
        let identity = self.store.identity().clone().finished();
        self.store.mark(&identity)?;
        tidy(self.path());
        Ok(finished)
    }

    fn begin(&self) -> Result<Together<'_>, StreamError> {
        let begin = |name: &str, head: Vec<u8>| -> Result<Replacement<'_>, StreamError> {
            let mut file = self.store.folder().begin(name)?;
            file.put(&head)?;
            Ok(file)
        };
        let places = &self.places;
        let traced = !self.bare.recorded.is_empty();
        let traces = traced.then(|| begin("traces.csv", store::traces_head(places)));
        Ok(Together {
            summary: begin("summary.csv", store::summary_head(places))?,
            verdicts: begin("verdicts.csv", verdicts_head(places))?,
            comparisons: begin("comparisons.csv", comparisons_head(places))?,
            traces: traces.transpose()?,
        })
    }
}

impl Together<'_> {
    fn put(&mut self, kept: &BlockRecord) -> Result<(), StreamError> {
        self.summary.put(kept.texts.summary.as_bytes())?;
        self.verdicts.put(kept.texts.verdicts.as_bytes())?;
        self.comparisons.put(kept.texts.comparisons.as_bytes())?;
        if let Some(traces) = &mut self.traces {
            traces.put(kept.texts.traces.as_bytes())?;
        }
        Ok(())
    }

    fn complete(self) -> Result<(), StreamError> {
        self.summary.complete()?;
        self.verdicts.complete()?;
        self.comparisons.complete()?;
        Ok(self.traces.map_or(Ok(()), Replacement::complete)?)
    }
}

fn standings(bare: &Results, digests: &Digests<'_>) -> Vec<Standing> {
    let stacks = bare.stacks.iter().enumerate();
    let standing = |(stack, name): (usize, &String)| Standing {
        stack: name.clone(),
        first: { digests.first.iter() }
            .filter(|first| **first == Some(stack))
            .count(),
        counts: MARKS.map(|mark| digests.count(stack, mark)),
    };
    stacks.map(standing).collect()
}

impl Finished {
    pub(super) fn standings(&self) -> &[Standing] {
        &self.standings
    }

    pub(super) fn rules(&self) -> &[String] {
        &self.rules
    }

    /// Returns one sentence for each reason why points have no answer. Each sentence contains the number of these
    /// points.
    pub(super) fn without_answer(&self) -> Vec<String> {
        let of = |(count, why): &(usize, &str)| match self.points {
            1 => format!("There is no answer: {why}."),
            points => format!("There is no answer at {count} of {points} points: {why}."),
        };
        self.without_answer.iter().map(of).collect()
    }

    /// Returns the text for the terminal, with the number of points at which each stack has each mark.
    #[must_use]
    pub fn text(&self, legend: Legend, colour: Colour, width: Option<u16>) -> String {
        let points = self.points;
        let mut text = format!(
            "{} runs at {points} point(s). Number of points at which each stack is best or has a mark:\n",
            self.runs
        );
        let head = ["stack", "first", "★", "☆", "≈", "!"];
        let mut table = Plain::new(&head, 1, width);
        for standing in &self.standings {
            let counts = [standing.first].into_iter().chain(standing.counts);
            let row = std::iter::once(standing.stack.clone()).chain(counts.map(|n| n.to_string()));
            match standing.first {
                0 => table.add(row),
                _ => table.add_marked(Ink::Green, colour, row),
            }
        }
        text += &table.text();
        text.push('\n');
        let said = self.without_answer();
        for line in &said {
            text.push('\n');
            text += &table::paragraph(line, width);
        }
        text + &legend.text(&self.rules, width)
    }
}
