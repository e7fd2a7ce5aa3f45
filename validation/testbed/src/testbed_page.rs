//! The page docs/testbed.md: figure 9 on real packets, today's senders, and the differences from the simulator.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use dupack_lab::results::{Measure, Results, scaled};
use dupack_lab::stats::Summary;
use dupack_lab::stats::spread;
use dupack_report::figure::{FigureError, LineChart, Point, Series};
use dupack_report::markdown;
use dupack_report::page::{Cell, Emphasis};
use dupack_testbed::Beside;
use dupack_testbed::report::lateness;

use super::{Measured, Options, SIMULATED, SenderGroup, TOLERANCE, WINDOW};

/// Contents of the page. The members of each list were measured at the same points, and share figures and tables.
pub struct Page<'a> {
    /// Figure 9(a).
    pub westwood: &'a [Measured],
    /// Figure 9(b).
    pub tcp_rr: &'a [Measured],
    /// Figure 9(a) under Westwood, with today's receiver.
    pub compressed: &'a [Measured],
    /// Comparison of `compressed` with a simulator whose receiver delays no ACK.
    pub beside_plain: &'a [Beside],
    /// Today's senders.
    pub today: &'a [Measured],
    pub options: &'a Options,
}

const INTRODUCTION: &str = "\
# LE's testbed, on real packets

Section 5 of the LE paper uses three PCs as sender, netem and receiver, a round-trip time of 20 ms, and random losses
from 0 to 10 %. Here, our senders put real packets on a TUN device, the path is that of `dupack testbed`, and the receiver
is this machine's kernel. Every byte that arrives is verified. In addition to the paper's senders, the tables contain the
kernel's own senders with CUBIC, BBR and Reno. The last section covers the senders of the README. `cargo measure testbed`
writes this page.

[experiments/papers/le/README.md](../experiments/papers/le/README.md) lists the details that the paper leaves open and our
assumptions: the rate of the link, its buffer, and how TCP-RR shortens its timer. We do not have the data of the paper's
curves; the grey marks at 10 % are the values in its text. The paper's LE wrote the order of transmission into each header,
and its receiver returned it. A kernel's receiver returns timestamps, the other way in which LE obtains this order. [The same
README](../experiments/papers/le/README.md#where-the-wire-differs) explains why the wire is slower under Westwood, with a
run that shows it, and what we examined for FACK under TCP-RR.

";

const COMPRESSION: &str = "\
## Linux's SACK compression

Since 4.18, Linux's receiver delays the ACK of an out-of-order segment by up to 1 ms (`tcp_comp_sack_delay_ns`), so that it
is often sent shortly before the next ACK. The receiver of 2006 did not do this, so the compression is off in the sections
above (`dupack testbed --sack-compression off`). Westwood's filter gives each sample the same weight, regardless of the time
it covers, so two ACKs in quick succession look like a high rate. The following runs have the kernel's compression on, and
are compared with a simulator whose receiver delays no ACKs:

";

const TODAY: &str = "\
## Current senders with an unchanged receiver

The path of the README (10 Mbit/s, 20 ms, a buffer of 50 packets), and Linux's receiver with nothing turned off: quick ACKs,
SACK compression, and a growing window. The simulator's receiver does the same (`receiver.acks = \"adaptive\"`,
`sack_compression = true`).

";

impl Page<'_> {
    /// Writes the page and its figures.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let figures = folder.join("testbed");
        fs::create_dir_all(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;
        // The circumstances include the state of the repository, so they are read before the first figure changes this
        // state.
        let circumstances = self.circumstances();
        let mut text = INTRODUCTION.to_owned();
        for half in [self.westwood, self.tcp_rr] {
            let _ = writeln!(text, "## Under {}\n", half[0].part.name);
            text += &self.section(half, &figures)?;
        }
        text += COMPRESSION;
        let plain = self.compressed.iter().map(|m| (m, self.beside_plain));
        text += &beside_table(plain);
        text += "\nThe same runs compared with a simulator whose receiver compresses as Linux's does:\n\n";
        text += &beside_table(self.compressed.iter().map(with_its_own));
        text += "\n";
        text += TODAY;
        text += &self.section(self.today, &figures)?;
        text += &circumstances;
        let path = folder.join("testbed.md");
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("written to {}", path.display());
        Ok(())
    }

    fn section(&self, measured: &[Measured], figures: &Path) -> Result<String, String> {
        let SenderGroup { name, figure, .. } = measured[0].part;
        let drawn = |kind: &str, svg: Result<String, FigureError>| {
            let path = figures.join(format!("{figure}{kind}.svg"));
            let svg = svg.map_err(|e| e.to_string())?;
            fs::write(&path, svg).map_err(|e| format!("{}: {e}", path.display()))
        };
        drawn("", self.goodputs(measured).svg())?;
        drawn("-distance", distances(measured).svg())?;
        let mut text =
            format!("![Goodput over the loss rate, under {name}](testbed/{figure}.svg)\n\n");
        text += &goodput_table(measured);
        text += "\n### Real packets compared with the simulator\n\n";
        let _ = write!(
            text,
            "![The wire's goodput over the simulator's](testbed/{figure}-distance.svg)\n\n{}\n\n",
            agreement(measured)
        );
        text += &beside_table(measured.iter().map(with_its_own));
        let passages = measured.iter().flat_map(|m| m.outcome.passages.clone());
        let _ = writeln!(
            text,
            "\n{} All numbers here exclude the other runs; parentheses contain the number of remaining runs.\n",
            lateness(
                &passages.collect::<Vec<_>>(),
                TOLERANCE.parse().map_err(super::told)?
            )
        );
        Ok(text)
    }

    fn goodputs(&self, measured: &[Measured]) -> LineChart {
        let part = &measured[0].part;
        let (seconds, repeat) = self.options.of(part);
        let references = part.paper.iter().map(|&(who, rate)| Series {
            name: format!("the paper: {who}"),
            points: [9.3, 10.0].map(|x| Point::from((x, rate, None))).to_vec(),
        });
        LineChart {
            title: format!("On real packets, under {}", part.name),
            subtitle: format!(
                "{} · 20 ms · {repeat} runs of {seconds} s · whiskers: 95 % confidence",
                part.rate
            ),
            x_label: "packet loss (%)".to_owned(),
            y_label: "goodput (Mbit/s)".to_owned(),
            y_from_zero: true,
            series: measured.iter().flat_map(goodput_series).collect(),
            references: references.collect(),
            ..LineChart::default()
        }
    }

    fn circumstances(&self) -> String {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let kernel = read("/proc/sys/kernel/osrelease");
        let load = read("/proc/loadavg");
        let said = |program: &str, words: &[&str]| {
            let said = Command::new(program).args(words).output();
            said.map_or(String::new(), |said| {
                String::from_utf8_lossy(&said.stdout).trim().to_owned()
            })
        };
        let date = said("date", &["-u", "+%Y-%m-%d"]);
        let commit = said("git", &["describe", "--always", "--dirty"]);
        let processor = read("/proc/cpuinfo");
        let processor = processor
            .lines()
            .find(|line| line.starts_with("model name"));
        let processor = processor.and_then(|line| Some(line.split_once(": ")?.1));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let Options {
            seconds,
            repeat,
            today_seconds,
            today_repeat,
            ..
        } = self.options;
        format!(
            "## Circumstances\n\n\
             - measured by `cargo measure testbed --seconds {seconds} --repeat {repeat} --today-seconds {today_seconds} \
             --today-repeat {today_repeat}`: all parts in one run, {}\n\
             - on {date}, commit {commit}, Linux {}, load {} at the end\n\
             - {}, {processors} processors\n\
             - in LE's testbed, the maximum receive window: {WINDOW}, the default of iperf at that time\n\
             - in the simulator: {SIMULATED} seeds, ACKs timed as in Linux\n\
             - the kernel's senders have no counterpart in the simulator\n",
            scheduling(&read("/proc/self/stat")),
            kernel.trim(),
            load.split(' ').next().unwrap_or_default(),
            processor.unwrap_or("unknown"),
        )
    }
}

/// Returns a measurement, and its comparison with the simulation that has the same receiver.
fn with_its_own(measured: &Measured) -> (&Measured, &[Beside]) {
    (measured, &measured.beside)
}

fn goodput_series(measured: &Measured) -> Vec<Series> {
    let results = &measured.outcome.results;
    let series = results.stacks.iter().enumerate().map(|(stack, name)| {
        let at = |(point, x)| {
            let s = summary(results, point, stack)?;
            Some(Point::from((x, s.mean, s.half_width_95)))
        };
        Series {
            name: name.clone(),
            points: xs(results).filter_map(at).collect(),
        }
    });
    series.collect()
}

fn distances(measured: &[Measured]) -> LineChart {
    let part = &measured[0].part;
    let bound = |sign: f64| Series {
        name: format!("{:+} %", sign * part.agrees_percent),
        points: [0.0, 10.0]
            .map(|x| Point::from((x, sign * part.agrees_percent, None)))
            .to_vec(),
    };
    LineChart {
        title: format!("The wire beside the simulator, under {}", part.name),
        subtitle: "whiskers: 95 % confidence of both".to_owned(),
        x_label: "packet loss (%)".to_owned(),
        y_label: "goodput on the wire over the simulator's (%)".to_owned(),
        series: measured.iter().flat_map(distance_series).collect(),
        references: vec![bound(1.0), bound(-1.0)],
        ..LineChart::default()
    }
}

fn distance_series(measured: &Measured) -> Vec<Series> {
    let results = &measured.outcome.results;
    let xs: Vec<f64> = xs(results).map(|(_, x)| x).collect();
    let series = (0..measured.part.senders.len()).map(|sender| {
        let its = measured.beside.iter().filter(|b| b.sender == sender);
        let point = |b: &Beside| {
            let distance = b.difference_percent()?;
            Some(Point::from((xs[b.point], distance, half_width_percent(b))))
        };
        Series {
            name: results.stacks[sender].clone(),
            points: its.filter_map(point).collect(),
        }
    });
    series.collect()
}

/// Returns the scheduling policy of a process from its line in `/proc/PID/stat` (proc(5)).
fn scheduling(stat: &str) -> String {
    // The second field is the name. It may contain any character and ends at the last parenthesis.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    match fields.split(' ').nth(40 - 3) {
        None | Some("0") => "scheduled like any other process".to_owned(),
        Some(priority) => format!("with real-time priority {priority} (`chrt --fifo`)"),
    }
}

/// Returns the index and the loss in percent of each point.
fn xs(results: &Results) -> impl Iterator<Item = (usize, f64)> {
    let points = results.points.iter().enumerate();
    points.filter_map(|(point, at)| {
        let (_, value) = at.values.first()?;
        Some((point, scaled(value)?.0))
    })
}

fn summary(results: &Results, point: usize, stack: usize) -> Option<Summary> {
    let samples = results.samples(point, stack, Measure::Goodput);
    let samples: Vec<f64> = samples.map(|(_, value)| value).collect();
    Summary::of(&samples)
}

/// Returns the table of the goodput of every sender at every point.
fn goodput_table(measured: &[Measured]) -> String {
    let header = header("goodput in Mbit/s", &measured[0].outcome.results);
    let rows: Vec<Vec<Cell>> = measured.iter().flat_map(goodput_rows).collect();
    markdown::table(&header, &rows)
}

fn goodput_rows(measured: &Measured) -> Vec<Vec<Cell>> {
    let results = &measured.outcome.results;
    let repetitions = results.experiment.seeds.to_vec().len();
    let rows = results.stacks.iter().enumerate().map(|(stack, name)| {
        let mut row = vec![Cell::from(name.as_str())];
        row.extend(xs(results).map(|(point, _)| {
            let summary = summary(results, point, stack);
            let left = |s: &Summary| match s.n < repetitions {
                true => format!(" ({})", s.n),
                false => String::new(),
            };
            let text = summary.map(|s| spread(&s, 2) + &left(&s));
            Cell::new(text.unwrap_or("– (0)".to_owned()), Emphasis::Number)
        }));
        row
    });
    rows.collect()
}

/// Returns the header of a table: the title and the losses.
fn header(what: &str, results: &Results) -> Vec<String> {
    let losses = xs(results).map(|(_, x)| format!("{x} %"));
    [what.to_owned()].into_iter().chain(losses).collect()
}

/// Returns the table of differences between wire and simulator at every point, in percent.
fn beside_table<'a>(all: impl Iterator<Item = (&'a Measured, &'a [Beside])>) -> String {
    let all: Vec<_> = all.collect();
    let header = header("wire over simulator, %", &all[0].0.outcome.results);
    let rows = all
        .iter()
        .flat_map(|(measured, beside)| beside_rows(measured, beside));
    markdown::table(&header, &rows.collect::<Vec<_>>())
}

fn beside_rows(measured: &Measured, beside: &[Beside]) -> Vec<Vec<Cell>> {
    let results = &measured.outcome.results;
    let rows = (0..measured.part.senders.len()).map(|sender| {
        let its = beside.iter().filter(|b| b.sender == sender);
        let mut row = vec![Cell::from(results.stacks[sender].as_str())];
        row.extend(its.map(|b| {
            let distance = b.difference_percent().unwrap_or(f64::NAN);
            let half = half_width_percent(b);
            let half = half.map_or(String::new(), |half| format!(" ±{half:.1}"));
            let emphasis = match distance.abs() <= measured.part.agrees_percent {
                true => Emphasis::Number,
                false => Emphasis::Best,
            };
            Cell::new(format!("{distance:+.1}{half}"), emphasis)
        }));
        row
    });
    rows.collect()
}

/// Returns a sentence about the number of points that agree.
fn agreement(measured: &[Measured]) -> String {
    let bound = measured[0].part.agrees_percent;
    let all: Vec<&Beside> = measured.iter().flat_map(|m| &m.beside).collect();
    let distances = all.iter().filter_map(|b| b.difference_percent());
    let distances: Vec<f64> = distances.collect();
    let agree = distances.iter().filter(|d| d.abs() <= bound);
    let (agree, of) = (agree.count(), distances.len());
    let surely = all.iter().filter(|b| {
        let distance = b.difference_percent().map_or(0.0, f64::abs);
        distance - half_width_percent(b).unwrap_or(0.0) > bound
    });
    let surely = match surely.count() {
        0 => "none is".to_owned(),
        1 => "1 is".to_owned(),
        count => format!("{count} are"),
    };
    let others = match agree == of {
        true => "",
        false => "; the others are in bold",
    };
    let widest = all.iter().filter_map(|b| half_width_percent(b));
    let widest = widest.fold(0.0, f64::max);
    format!(
        "{agree} of {of} points agree within {bound:.0} % of goodput{others}. With 95 % confidence, {surely} further \
         apart; the widest interval is ±{widest:.1} %."
    )
}

/// Returns the half-width of the 95 % confidence interval of the ratio of wire to simulator, in percent.
fn half_width_percent(beside: &Beside) -> Option<f64> {
    let (wire, simulated) = (beside.wire?, beside.simulated?);
    let ratio = wire.mean / simulated.mean;
    let relative =
        (wire.half_width_95? / wire.mean).hypot(simulated.half_width_95? / simulated.mean);
    Some(ratio * relative * 100.0)
}
