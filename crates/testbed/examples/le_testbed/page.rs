//! The page: figure 9 on real packets, and how far the simulator is from it.

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

use super::{DELAYED_ACK, Half, KERNEL, Measured, Options, SIMULATED, TOLERANCE, WINDOW};

/// As the wire and the simulator shall agree.
const AGREES_PERCENT: f64 = 10.0;

/// Everything that the page tells.
pub struct Page<'a> {
    pub halves: &'a [Half],
    pub measured: &'a [Measured],
    /// Under Westwood, with a receiver of today.
    pub compressed: &'a Measured,
    pub options: &'a Options,
}

const INTRODUCTION: &str = "\
# LE's testbed, on real packets

Section 5 of the LE paper has three PCs: a sender, netem, a receiver; a round trip of 20 ms, and packets lost at
random, 0 to 10 %. Here our senders put real packets on a TUN device, the path is `dupack testbed`'s, and the receiver is
this machine's kernel. Every byte that arrives is checked. Beside the paper's senders runs what the same kernel sends by
itself, under CUBIC, BBR and Reno. This page is written by `cargo measure testbed`.

What the paper leaves open, and what is assumed (the rate of the link, its buffer, how TCP-RR shortens its timer), is
told in [experiments/papers/le/README.md](../experiments/papers/le/README.md). Its curves are not in our hands; the grey
marks at 10 % are what its text says. Its LE wrote the order of transmission into each header, and its receiver gave
it back; a kernel's receiver gives back timestamps, which is LE's other way to the same knowledge. Where goodput scatters
most from run to run, [more of them](../experiments/papers/le/README.md#where-the-wire-scatters) narrow the intervals;
what keeps FACK under TCP-RR apart at 10 % was looked for there, too.

";

const COMPRESSION: &str = "\
## Linux's SACK compression

Since 4.18 Linux's receiver holds back the ACK of a segment out of order for up to 1 ms (`tcp_comp_sack_delay_ns`), so
that it often leaves right before the next ACK. Neither the receiver of 2006 nor the simulator's does; above, it is
turned off (`dupack testbed --sack-compression off`). Westwood's filter weighs each sample alike, however short the time it is taken over:
a pair of ACKs in quick succession is a high rate. This is what the same runs give with the kernel's compression on:

";

impl Page<'_> {
    /// Writes the page and its figures.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let figures = folder.join("testbed");
        fs::create_dir_all(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;
        // Before the first figure is another one than that of the commit.
        let circumstances = self.circumstances();
        let mut text = INTRODUCTION.to_owned();
        for (half, measured) in self.halves.iter().zip(self.measured) {
            text += &self.half(half, measured, &figures)?;
        }
        text += COMPRESSION;
        text += &beside_table(self.compressed);
        text += "\n";
        text += &circumstances;
        let path = folder.join("testbed.md");
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("written to {}", path.display());
        Ok(())
    }

    fn half(&self, half: &Half, measured: &Measured, figures: &Path) -> Result<String, String> {
        let results = &measured.outcome.results;
        let Half { name, figure, .. } = half;
        let drawn = |kind: &str, svg: Result<String, FigureError>| {
            let path = figures.join(format!("{figure}{kind}.svg"));
            let svg = svg.map_err(|e| e.to_string())?;
            fs::write(&path, svg).map_err(|e| format!("{}: {e}", path.display()))
        };
        drawn("", self.goodputs(half, results).svg())?;
        drawn("-distance", self.distances(half, measured).svg())?;
        let mut text = format!(
            "## Under {name}\n\n![Goodput over the loss rate, under {name}](testbed/{figure}.svg)\n\n"
        );
        text += &goodput_table(results);
        text += "\n### Real packets beside the simulator\n\n";
        let _ = write!(
            text,
            "![The wire's goodput over the simulator's](testbed/{figure}-distance.svg)\n\n{}\n\n",
            agreement(&measured.beside)
        );
        text += &beside_table(measured);
        let _ = writeln!(
            text,
            "\n{} A run that did not is left out of all numbers here; where there was one, how many are left stands \
             in parentheses.\n",
            lateness(
                &measured.outcome.passages,
                TOLERANCE.parse().map_err(super::told)?
            )
        );
        Ok(text)
    }

    fn goodputs(&self, half: &Half, results: &Results) -> LineChart {
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
        let references = half.paper.iter().map(|&(who, rate)| Series {
            name: format!("the paper: {who}"),
            points: [9.3, 10.0].map(|x| Point::from((x, rate, None))).to_vec(),
        });
        LineChart {
            title: format!("LE's testbed under {}, on real packets", half.name),
            subtitle: format!(
                "{} · 20 ms · {} runs of {} s · whiskers: 95 % confidence",
                half.rate, self.options.repeat, self.options.seconds
            ),
            x_label: "packet loss (%)".to_owned(),
            y_label: "goodput (Mbit/s)".to_owned(),
            y_from_zero: true,
            series: series.collect(),
            references: references.collect(),
            ..LineChart::default()
        }
    }

    fn distances(&self, half: &Half, measured: &Measured) -> LineChart {
        let results = &measured.outcome.results;
        let xs: Vec<f64> = xs(results).map(|(_, x)| x).collect();
        let series = (0..half.senders.len()).map(|sender| {
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
        let bound = |sign: f64| Series {
            name: format!("{:+} %", sign * AGREES_PERCENT),
            points: [0.0, 10.0]
                .map(|x| Point::from((x, sign * AGREES_PERCENT, None)))
                .to_vec(),
        };
        LineChart {
            title: format!("The wire beside the simulator, under {}", half.name),
            subtitle: "whiskers: 95 % confidence of both".to_owned(),
            x_label: "packet loss (%)".to_owned(),
            y_label: "goodput on the wire over the simulator's (%)".to_owned(),
            series: series.collect(),
            references: vec![bound(1.0), bound(-1.0)],
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
            seconds, repeat, ..
        } = self.options;
        format!(
            "## Circumstances\n\n\
             - measured by `cargo measure testbed --seconds {seconds} --repeat {repeat}`: both halves and the part on \
             SACK compression at once, {}\n\
             - on {date}, commit {commit}, Linux {}, load {} at the end\n\
             - {}, {processors} processors\n\
             - the receiver's largest window: {WINDOW}, as iperf's was then\n\
             - in the simulator: {SIMULATED} seeds, ACKs delayed by up to {DELAYED_ACK} (Linux's least)\n\
             - the kernel's senders have no counterpart in the simulator\n",
            scheduling(&read("/proc/self/stat")),
            kernel.trim(),
            load.split(' ').next().unwrap_or_default(),
            processor.unwrap_or("unknown"),
        )
    }
}

/// How the kernel schedules a process, from its line in `/proc/PID/stat` (proc(5)).
fn scheduling(stat: &str) -> String {
    // The name, which may hold anything, ends at the last parenthesis; it is the second field.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    match fields.split(' ').nth(40 - 3) {
        None | Some("0") => "scheduled like any other process".to_owned(),
        Some(priority) => format!("with real-time priority {priority} (`chrt --fifo`)"),
    }
}

/// Points with their loss in percent.
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

/// Goodput of every sender at every point.
fn goodput_table(results: &Results) -> String {
    let repetitions = results.experiment.seeds.to_vec().len();
    let mut header = vec!["goodput in Mbit/s".to_owned()];
    header.extend(xs(results).map(|(_, x)| format!("{x} %")));
    let rows: Vec<Vec<Cell>> = results
        .stacks
        .iter()
        .enumerate()
        .map(|(stack, name)| {
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
        })
        .collect();
    markdown::table(&header, &rows)
}

/// The wire over the simulator at every point.
fn beside_table(measured: &Measured) -> String {
    let results = &measured.outcome.results;
    let mut header = vec!["wire over simulator, %".to_owned()];
    header.extend(xs(results).map(|(_, x)| format!("{x} %")));
    let ours = results.stacks.iter().enumerate();
    let ours = ours.filter(|(_, name)| !KERNEL.contains(&name.as_str()));
    let rows: Vec<Vec<Cell>> = ours
        .map(|(sender, _)| {
            let its = measured.beside.iter().filter(|b| b.sender == sender);
            let mut row = vec![Cell::from(results.stacks[sender].as_str())];
            row.extend(its.map(|b| {
                let distance = b.difference_percent().unwrap_or(f64::NAN);
                let half = half_width_percent(b);
                let half = half.map_or(String::new(), |half| format!(" ±{half:.1}"));
                let emphasis = match distance.abs() <= AGREES_PERCENT {
                    true => Emphasis::Number,
                    false => Emphasis::Best,
                };
                Cell::new(format!("{distance:+.1}{half}"), emphasis)
            }));
            row
        })
        .collect();
    markdown::table(&header, &rows)
}

/// How many points agree, in words.
fn agreement(all: &[Beside]) -> String {
    let distances: Vec<f64> = all.iter().filter_map(Beside::difference_percent).collect();
    let agree = distances.iter().filter(|d| d.abs() <= AGREES_PERCENT);
    let (agree, of) = (agree.count(), distances.len());
    let surely = all.iter().filter(|b| {
        let distance = b.difference_percent().map_or(0.0, f64::abs);
        distance - half_width_percent(b).unwrap_or(0.0) > AGREES_PERCENT
    });
    let surely = match surely.count() {
        0 => "none is".to_owned(),
        1 => "1 is".to_owned(),
        count => format!("{count} are"),
    };
    format!(
        "{agree} of {of} points agree within {AGREES_PERCENT:.0} % of goodput; the others are in bold. With 95 % \
         confidence {surely} farther apart than that."
    )
}

/// Half the 95 % confidence interval of the wire's mean over the simulator's, in percent of the latter.
fn half_width_percent(beside: &Beside) -> Option<f64> {
    let (wire, simulated) = (beside.wire?, beside.simulated?);
    let ratio = wire.mean / simulated.mean;
    let relative =
        (wire.half_width_95? / wire.mean).hypot(simulated.half_width_95? / simulated.mean);
    Some(ratio * relative * 100.0)
}
