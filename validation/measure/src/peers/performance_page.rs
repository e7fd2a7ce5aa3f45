//! The page docs/performance.md: one table in the order of the targets, followed by all measurements.

use super::machine::Machine;
use super::rows::{Entry, Goal, Portion, Row};
use super::sample::{Ending, SECONDS_MAX, Sample, Store};
use super::spread::{Spread, short};
use super::tools::{Simulator, Tools};
use super::verdict::{GoalResult, Reached, delivered, of_build, ratio};

/// Contents of the page.
pub struct Page<'a> {
    pub rows: &'a [Row],
    pub store: &'a Store,
    pub tools: &'a Tools,
    pub machine: &'a Machine,
    /// Output of `window_cost`.
    pub window_cost: &'a str,
    pub command: &'a str,
}

const INTRODUCTION: &str = "\
# Performance

Times of dupack, ns-2, ns-3 and htsim for the same work, on one machine, in turn. `cargo measure peers`
generates this page; [how an event travels](how-an-event-travels.md) explains where dupack spends its time.

`dupack` is the build of `cargo build --release`, and `optimised` the build of `cargo measure optimise`: the same source, which the
compiler optimises with a profile of this work (the rows themselves, some of them shortened; other work benefits as far as it is
similar). A target is reached if either build reaches it. The table says if only the second build does, or only the best round
and not the median.

A time is that of a whole process, from its start to its end, in one thread unless the row says otherwise. The table has
the best of the rounds, because a shared machine can only add time; dupack's median is in parentheses. A ratio is the time per
delivered data packet divided by dupack's in the same round; with several rounds it is the median, and the
[spread](#all-measurements) is below. An empty cell was not measured or cannot be measured.

";

const DIFFERENCES: &str = "\
## Comparability

All simulators send the same packets over the same links with the same queues. The numbers of delivered packets are in the last
table and differ with the TCPs. Nothing is traced or logged. Every data packet is acknowledged, except in the first
two rows, where a delayed ACK acknowledges two. Flows start at random times within the first second.

- **ns-2** counts whole packets and has a minimal connection set-up. Its own set-up computes routes between all
  nodes, which grows faster than the square of their number; it has a separate column. In the row of 100,000 flows it
  attaches all agents to two nodes, as dupack does, and needs time proportional to the square of their number to assign ports.
- **ns-3** does only part of the work if all of it would take minutes; its packets count in full. It draws losses when
  a packet is received, not before the queue. Its router scans all of its interfaces for every packet, which dominates
  its time at 1000 flows; nix-vector routing was even slower. 100,000 flows were not tried.
- **htsim** has no SACK (its TCP is NewReno), no headers, and a minimal connection set-up. It has no 802.11 and no
  delayed ACK.
- **802.11**: ranges, rates, frame times and queue are the same. ns-3 determines interference by error rates instead of
  a threshold of 10 dB; its first 10 s are simulated but their packets are not counted. ns-2 finds its routes by AODV, and again
  whenever it mistakes a lost frame for a broken link.

";

const DETAILS: &str = "\
## All measurements

Times and ratios are the minimum / median / maximum of the rounds; all other numbers are medians. Slow entries have fewer rounds. The
packets are also given as a share of those that dupack delivers in the same part of the work. MB is the largest
resident set.

| row | simulator | rounds | packets | of dupack's | seconds | set-up, s | ns per packet | MB | time per packet over \
dupack's |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

impl Page<'_> {
    /// Returns the page in Markdown.
    pub fn text(&self) -> String {
        let mut text = INTRODUCTION.to_owned();
        text += &self.table();
        text += &self.recoveries();
        text += &self.windows();
        text += DIFFERENCES;
        text += &self.details();
        text += &self.circumstances();
        text
    }

    /// Returns the table of targets in Markdown.
    pub fn table(&self) -> String {
        let mut text = "| work | ns-2 | ns-3 | htsim | dupack | optimised | target | reached |\n\
                        | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for row in self.rows {
            text += &format!("| {} |", row.work);
            for simulator in [Simulator::Ns2, Simulator::Ns3, Simulator::Htsim] {
                let mut entries = row.entries.iter().filter(|e| e.simulator == simulator);
                let cell = entries.next().map(|entry| self.peer_cell(row, entry));
                text += &format!(" {} |", cell.unwrap_or_default());
            }
            let [release, optimised] = [Simulator::Dupack, Simulator::Optimised]
                .map(|build| GoalResult::of(row, build, self.store));
            text += &format!(
                " **{}** | {} | {} | {} |\n",
                release.ours.as_deref().unwrap_or("—"),
                optimised.ours.as_deref().unwrap_or_default(),
                release.aim,
                word(release.reached, optimised.reached)
            );
        }
        let worst = worst_ratio(self.window_cost);
        text += &format!(
            "| cost per ACK at windows of 10 to 1,000,000 segments, with and without loss, each \
             recovery: largest over smallest | | | | **{}** | | ≤ 2 | {} |\n\n",
            worst.map_or("—".to_owned(), |worst| format!("{worst:.2}")),
            word(
                worst.map(|worst| if worst <= 2.0 {
                    Reached::Yes
                } else {
                    Reached::No
                }),
                None
            )
        );
        text
    }

    /// Returns the cell with the time of a peer and its ratio to dupack's time.
    fn peer_cell(&self, row: &Row, entry: &Entry) -> String {
        let part = match entry.part {
            Portion::All => String::new(),
            Portion::Share(_, words) => format!(" for {words}"),
        };
        let samples = self.store.finished(row.id, entry);
        let Some(time) = Spread::of(samples.iter().map(|s| s.seconds)) else {
            let stopped = self.store.of(row.id, entry).first().map(|s| s.ending);
            return match stopped {
                Some(Ending::Stopped) => format!("over {SECONDS_MAX} s{part}"),
                Some(Ending::Failed) => "fails".to_owned(),
                _ => String::new(),
            };
        };
        let ratio = ratio(row, entry, Simulator::Dupack, self.store);
        let ratio = ratio.map_or(String::new(), |r| format!(": × {}", short(r.median)));
        if let Goal::PacketsPerSecond(_) = row.goal {
            let rates = samples.iter().map(|s| s.packets as f64 / s.seconds / 1e6);
            let rate = Spread::of(rates).map_or(0.0, |rate| rate.most);
            return format!("{} M packets/s{part}{ratio}", short(rate));
        }
        format!("{} s{part}{ratio}", short(time.least))
    }

    /// Returns the tables of rows that compare several variants of dupack.
    fn recoveries(&self) -> String {
        let Some(row) = self.rows.iter().find(|row| row.id == "recoveries") else {
            return String::new();
        };
        let mut text = "## Each recovery\n\nOne million packets as in the first row, by \
                        `target/release/examples/counted STACK 1000000`: minimum / median / maximum of \
                        the rounds, in seconds.\n\n\
                        | stack | rounds | dupack | optimised |\n\
                        | --- | --- | --- | --- |\n"
            .to_owned();
        let times = |build, variant: &str| {
            let entry = of_build(row, build).find(|entry| entry.variant == variant);
            let samples = self.store.finished(row.id, entry?);
            let time = Spread::of(samples.iter().map(|s| s.seconds))?;
            let Spread {
                least,
                median,
                most,
            } = time;
            Some((
                samples.len(),
                format!("{least:.3} / {median:.3} / {most:.3}"),
            ))
        };
        for entry in of_build(row, Simulator::Dupack) {
            let Some((rounds, release)) = times(Simulator::Dupack, &entry.variant) else {
                continue;
            };
            let optimised = times(Simulator::Optimised, &entry.variant);
            let optimised = optimised.map_or(String::new(), |(_, text)| text);
            text += &format!(
                "| `{}` | {rounds} | {release} | {optimised} |\n",
                entry.variant
            );
        }
        text + "\n"
    }

    fn windows(&self) -> String {
        if self.window_cost.is_empty() {
            return String::new();
        }
        format!(
            "## Cost per ACK by window\n\nNanoseconds for one ACK and the segments sent in \
             response, at a fixed, fully used window of this many segments. Every segment is \
             acknowledged, and lost segments are repaired. `cargo run --release -p dupack-lab \
             --example window_cost`\n\n```text\n{}\n```\n\n",
            self.window_cost.trim_end()
        )
    }

    fn details(&self) -> String {
        let mut text = DETAILS.to_owned();
        for row in self.rows.iter().filter(|row| row.id != "recoveries") {
            for entry in &row.entries {
                text += &self.detail(row, entry);
            }
        }
        text += "\nThe commands, usable after `cargo measure peers` has built the programs:\n\n";
        for row in self.rows.iter().filter(|row| row.id != "recoveries") {
            for entry in row.entries.iter().filter(|e| self.tools.has(e.program)) {
                text += &format!("- {}, {}: `{}`\n", row.id, entry.name(), entry.command());
            }
        }
        text + "\n"
    }

    fn detail(&self, row: &Row, entry: &Entry) -> String {
        let samples = self.store.finished(row.id, entry);
        let Some(time) = Spread::of(samples.iter().map(|s| s.seconds)) else {
            return String::new();
        };
        let part = match entry.part {
            Portion::All => String::new(),
            Portion::Share(_, words) => format!(" ({words})"),
        };
        let median = |of: fn(&Sample) -> Option<f64>| {
            Spread::of(samples.iter().filter_map(|s| of(s))).map(|s| s.median)
        };
        let packets = median(|s| Some(s.packets as f64)).unwrap_or(0.0);
        let share = delivered(row, self.store).map(|ours| packets / ours / entry.part.share());
        let share =
            share.filter(|_| !matches!(entry.simulator, Simulator::Dupack | Simulator::Optimised));
        let per_packet = |s: &Sample| (s.packets > 0).then(|| s.seconds * 1e9 / s.packets as f64);
        let per_packet = median(per_packet).map(|ns| format!("{ns:.0}"));
        let rss_mb = median(|s| Some(s.rss_kb? as f64 * 1024.0 / 1e6));
        let ratio = ratio(row, entry, Simulator::Dupack, self.store);
        let or_nothing = |text: Option<String>| text.unwrap_or_default();
        format!(
            "| {} | {}{part} | {} | {packets:.0} | {} | {} | {} | {} | {} | {} |\n",
            row.id,
            entry.name(),
            samples.len(),
            or_nothing(share.map(|share| format!("{:.0} %", share * 100.0))),
            time.text(),
            or_nothing(median(|s| s.setup_s).map(short)),
            or_nothing(per_packet),
            or_nothing(rss_mb.map(|mb| format!("{mb:.0}"))),
            or_nothing(ratio.map(|ratio| ratio.text())),
        )
    }

    fn circumstances(&self) -> String {
        let mut text = "## Circumstances\n\n".to_owned();
        text += &format!("- measured by `{}`\n", self.command);
        for line in self.machine.lines() {
            text += &format!("- {line}\n");
        }
        let commits = self.store.commits();
        for (commit, rows) in &commits {
            // Different rows, and different rounds of a row, may be measured with different commits.
            let rows = rows.iter().copied().collect::<Vec<_>>().join(", ");
            let rows = (commits.len() > 1).then(|| format!(" (rows: {rows})"));
            text += &format!("- dupack: commit {commit}{}\n", rows.unwrap_or_default());
        }
        for (name, version) in &self.tools.versions {
            text += &format!("- {name}: {version}\n");
        }
        text
    }
}

/// Returns a text that states if the release build or the optimised build reaches a target.
fn word(release: Option<Reached>, optimised: Option<Reached>) -> &'static str {
    match (release, optimised) {
        (None, None) => "",
        (Some(Reached::Yes), _) => "yes",
        (_, Some(Reached::Yes)) => "yes, optimised",
        (Some(Reached::AtBest), _) => "yes, but not by the median",
        (_, Some(Reached::AtBest)) => "yes, optimised, but not by the median",
        _ => "no",
    }
}

/// Returns the largest number in the last column of the output of `window_cost`.
fn worst_ratio(text: &str) -> Option<f64> {
    let lines = text.lines().skip(1);
    let ratios = lines.filter_map(|line| line.split_whitespace().last()?.parse().ok());
    ratios.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_ratio_is_found() {
        let text = "ns per ACK  loss  10 largest / smallest\nle 0% 9.1 1.40\nle 1% 9.1 2.10\n";
        assert_eq!(worst_ratio(text), Some(2.1));
        assert_eq!(worst_ratio(""), None);
    }
}
