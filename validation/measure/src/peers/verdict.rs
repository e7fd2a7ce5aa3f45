//! Comparison of dupack's result in a row with the target.

use super::rows::{Entry, FLOWS, Goal, Row};
use super::sample::{Sample, Store};
use super::spread::{Spread, short};
use super::tools::Simulator;

/// The last cells of a row.
pub struct GoalResult {
    /// dupack's result, if it was measured.
    pub ours: Option<String>,
    pub aim: String,
    /// `None` if there are not enough samples.
    pub reached: Option<Reached>,
}

/// Degree to which a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    No,
    /// The best round reaches the target, but the median does not.
    AtBest,
    Yes,
}

impl Reached {
    fn by(best: bool, median: bool) -> Self {
        match (best, median) {
            (_, true) => Self::Yes,
            (true, false) => Self::AtBest,
            (false, false) => Self::No,
        }
    }
}

impl GoalResult {
    /// Compares the best round of a build of dupack with the target, because other load on a shared machine can only
    /// increase the time. The median is shown next to the best round.
    pub fn of(row: &Row, build: Simulator, store: &Store) -> Self {
        let measured = Measured { row, build, store };
        let aim = aim(row.goal);
        match measured.against(row.goal) {
            Some((ours, reached)) => Self {
                ours: Some(ours),
                aim,
                reached,
            },
            None => Self {
                ours: None,
                aim,
                reached: None,
            },
        }
    }
}

fn aim(goal: Goal) -> String {
    match goal {
        Goal::Seconds(most) => format!("≤ {most:.2} s"),
        Goal::SecondsAndMemory(most, mb) => format!("≤ {most:.1} s, ≤ {mb:.0} MB"),
        Goal::PacketsPerSecond(least) => format!("≥ {:.0} M packets/s", least / 1e6),
        Goal::TimesTheFastest(least) => format!("≥ {least:.0} × as fast as the faster peer"),
        Goal::SpeedUp(least) => format!("≥ {least} × one thread"),
        Goal::BytesPerFlow(most) => format!("runs, ≤ {most:.0} bytes per flow without its window"),
    }
}

/// A row with its samples.
struct Measured<'a> {
    row: &'a Row,
    build: Simulator,
    store: &'a Store,
}

impl Measured<'_> {
    fn against(&self, goal: Goal) -> Option<(String, Option<Reached>)> {
        match goal {
            Goal::Seconds(most) => {
                let time = self.slowest()?;
                let words = match of_build(self.row, self.build).count() {
                    1 => "",
                    _ => " at most",
                };
                let text = format!("{}{words}", seconds(&time));
                let medians = self.times().map(|time| time.median);
                let by_median = medians.fold(0.0, f64::max) <= most;
                Some((text, Some(Reached::by(time.least <= most, by_median))))
            }
            Goal::SecondsAndMemory(most, most_mb) => {
                let (time, mb) = (self.slowest()?, self.memory_bytes(self.first()?)? / 1e6);
                let fits = |seconds| seconds <= most && mb <= most_mb;
                let reached = Reached::by(fits(time.least), fits(time.median));
                Some((format!("{}, {mb:.0} MB", seconds(&time)), Some(reached)))
            }
            Goal::PacketsPerSecond(least) => {
                let rate = |s: &Sample| Some(s.packets as f64 / s.seconds);
                let Spread {
                    median: median_rate,
                    most,
                    ..
                } = self.spread(self.first()?, rate)?;
                let (median, most_m) = (median_rate / 1e6, most / 1e6);
                let text = format!("{most_m:.1} M packets/s (median {median:.1})");
                Some((text, Some(Reached::by(most >= least, median_rate >= least))))
            }
            Goal::TimesTheFastest(least) => {
                let ratios = self
                    .row
                    .entries
                    .iter()
                    .filter_map(|e| ratio(self.row, e, self.build, self.store));
                let ratio = ratios.map(|r| r.median).reduce(f64::min)?;
                let text = format!("{}: × {}", seconds(&self.slowest()?), short(ratio));
                let reached = ratio >= least;
                Some((text, Some(Reached::by(reached, reached))))
            }
            Goal::SpeedUp(least) => {
                let ours: Vec<_> = of_build(self.row, self.build).collect();
                let [one, two, apart] = ours.try_into().ok()?;
                let gain = |entry: &Entry| {
                    let work = entry.at_once as f64;
                    let of = |a: &Sample, b: &Sample| work * a.seconds / b.seconds;
                    Some(Spread::of(paired(self.row, one, entry, self.store, of))?.median)
                };
                let (gain, limit) = (gain(two)?, gain(apart)?);
                let time = short(self.seconds(two)?);
                let text = format!(
                    "{gain:.2} ×: {time} s on 2 cores; two single-threaded processes at once: {limit:.2} ×"
                );
                let reached = gain >= least;
                Some((text, Some(Reached::by(reached, reached))))
            }
            Goal::BytesPerFlow(most) => {
                let ours: Vec<_> = of_build(self.row, self.build).collect();
                let [many, few, idle_many, idle_few] = ours.try_into().ok()?;
                let per_flow = |many, few| {
                    let more = self.memory_bytes(many)? - self.memory_bytes(few)?;
                    Some(more / f64::from(FLOWS[0] - FLOWS[1]))
                };
                let bytes = per_flow(idle_many, idle_few)?;
                let with_window = per_flow(many, few)?;
                let time = short(self.seconds(many)?);
                Some((
                    format!("{time} s, {bytes:.0} bytes, {with_window:.0} with the window"),
                    Some(Reached::by(bytes <= most, bytes <= most)),
                ))
            }
        }
    }

    fn first(&self) -> Option<&Entry> {
        of_build(self.row, self.build).next()
    }

    fn spread(&self, entry: &Entry, of: fn(&Sample) -> Option<f64>) -> Option<Spread> {
        let samples = self.store.finished(self.row.id, entry);
        Spread::of(samples.iter().filter_map(|s| of(s)))
    }

    fn median(&self, entry: &Entry, of: fn(&Sample) -> Option<f64>) -> Option<f64> {
        Some(self.spread(entry, of)?.median)
    }

    fn seconds(&self, entry: &Entry) -> Option<f64> {
        self.median(entry, |sample| Some(sample.seconds))
    }

    /// Returns the times of all entries of the build.
    fn times(&self) -> impl Iterator<Item = Spread> {
        let entries = of_build(self.row, self.build);
        entries.filter_map(|entry| self.spread(entry, |sample| Some(sample.seconds)))
    }

    /// Returns the times of the entry of the build whose best round is slowest.
    fn slowest(&self) -> Option<Spread> {
        let times = self.times();
        times.reduce(|a, b| if a.least < b.least { b } else { a })
    }

    fn memory_bytes(&self, entry: &Entry) -> Option<f64> {
        self.median(entry, |sample| Some(sample.rss_kb? as f64 * 1024.0))
    }
}

/// Formats the best round and the median.
fn seconds(time: &Spread) -> String {
    format!("{} s (median {})", short(time.least), short(time.median))
}

/// Returns the entries of a build of dupack in a row.
pub fn of_build(row: &Row, build: Simulator) -> impl Iterator<Item = &Entry> {
    let entries = row.entries.iter();
    entries.filter(move |entry| entry.simulator == build)
}

/// Returns the number of data packets that the first entry of dupack delivers.
pub fn delivered(row: &Row, store: &Store) -> Option<f64> {
    let samples = store.finished(row.id, of_build(row, Simulator::Dupack).next()?);
    Some(Spread::of(samples.iter().map(|s| s.packets as f64))?.median)
}

/// Returns the ratio of two times per packet in the same round: the time of a peer, and the time of the first entry of
/// a build of dupack.
pub fn ratio(row: &Row, entry: &Entry, build: Simulator, store: &Store) -> Option<Spread> {
    if matches!(entry.simulator, Simulator::Dupack | Simulator::Optimised) {
        return None;
    }
    let ours = of_build(row, build).next()?;
    let per_packet = |s: &Sample| s.seconds / s.packets as f64;
    let of = |a: &Sample, b: &Sample| per_packet(a) / per_packet(b);
    Spread::of(paired(row, entry, ours, store, of))
}

/// Applies `of` to the samples of two entries, for each round in which both entries finished.
fn paired(
    row: &Row,
    one: &Entry,
    two: &Entry,
    store: &Store,
    of: impl Fn(&Sample, &Sample) -> f64,
) -> Vec<f64> {
    let (ones, twos) = (store.finished(row.id, one), store.finished(row.id, two));
    let pair = |a: &&Sample| {
        let b = twos.iter().find(|b| b.round == a.round)?;
        Some(of(a, b))
    };
    ones.iter().filter_map(pair).collect()
}
