//! Results with their verdicts. Each verdict and comparison is computed once, even if several outputs present it.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::OnceLock;

use super::summary::SummaryRow;
use super::{Comparison, Contest, Measure, Results};

/// Complete results, with the verdict and the comparisons at each point. Each of these is computed on first use.
///
/// ```
/// # use dupack_lab::results::{Answered, Results};
/// fn first_answer(results: &Results) -> String {
///     let answered = Answered::of(results);
///     answered.verdict(0).answer.key().to_owned()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Answered<'r> {
    results: Cow<'r, Results>,
    points: Vec<Point>,
}

/// Answers at a point that have been computed so far.
#[derive(Clone, Debug, Default)]
struct Point {
    verdict: OnceLock<Contest>,
    goodput: OnceLock<Comparison>,
    summary: OnceLock<Vec<SummaryRow>>,
}

impl<'r> Answered<'r> {
    /// Wraps borrowed `results`.
    #[must_use]
    pub fn of(results: &'r Results) -> Self {
        Self::new(Cow::Borrowed(results))
    }

    fn new(results: Cow<'r, Results>) -> Self {
        Self {
            points: results.points.iter().map(|_| Point::default()).collect(),
            results,
        }
    }

    /// Returns the verdict on all stacks at `point`.
    ///
    /// # Panics
    /// If there is no such point.
    #[must_use]
    pub fn verdict(&self, point: usize) -> &Contest {
        let known = &self.points[point].verdict;
        known.get_or_init(|| Contest::of(&self.results, point))
    }

    /// Returns the stacks at `point` compared by goodput.
    ///
    /// # Panics
    /// If there is no such point.
    #[must_use]
    pub fn goodput(&self, point: usize) -> &Comparison {
        let known = &self.points[point].goodput;
        known.get_or_init(|| Comparison::of(&self.results, point, Measure::Goodput))
    }

    /// Returns the rows of the summary at `point`.
    ///
    /// # Panics
    /// If there is no such point.
    #[must_use]
    pub fn summary_rows(&self, point: usize) -> &[SummaryRow] {
        let known = &self.points[point].summary;
        known.get_or_init(|| SummaryRow::of(&self.results, point))
    }
}

impl Answered<'static> {
    /// Wraps `results` and owns them.
    #[must_use]
    pub fn owning(results: Results) -> Self {
        Self::new(Cow::Owned(results))
    }

    /// Returns the results.
    #[must_use]
    pub fn into_results(self) -> Results {
        self.results.into_owned()
    }
}

impl Deref for Answered<'_> {
    type Target = Results;

    fn deref(&self) -> &Results {
        &self.results
    }
}
