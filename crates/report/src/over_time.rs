//! One run of each stack over time: figures with one panel per stack, and the numbers of these figures as CSV.

use std::rc::Rc;

use dupack_lab::results::Results;
use dupack_lab::results::sheet::to_sheet;
use dupack_lab::results::store::Places;
use dupack_lab::run::{FlowTimeline, FlowsOverTime, OverTime, Timeline};

use crate::figure::{Figure, FigureError, TimePanel, TimePanels};
use crate::files::Files;
use crate::setting::subtitle;

/// Quantity that is shown over time.
#[derive(Clone, Copy)]
enum Shown {
    Goodput,
    Cwnd,
    Queue,
}

impl Shown {
    const ALL: [Self; 3] = [Self::Goodput, Self::Cwnd, Self::Queue];

    /// Returns the name of the quantity's files without extension.
    const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_over_time",
            Self::Cwnd => "cwnd_over_time",
            Self::Queue => "queue_over_time",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Goodput => "Goodput over time",
            Self::Cwnd => "Congestion window over time",
            Self::Queue => "Queue at the bottleneck over time",
        }
    }

    /// Returns the label of the vertical axis.
    const fn label(self) -> &'static str {
        match self {
            Self::Goodput => "goodput (Mbit/s)",
            Self::Cwnd => "cwnd (segments)",
            Self::Queue => "queue length (packets)",
        }
    }

    /// Returns the name of the CSV column of the quantity, which includes the unit.
    const fn column(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_mbit_s",
            Self::Cwnd => "cwnd_segments",
            Self::Queue => "queue_packets",
        }
    }

    /// Returns the points of the quantity in a run, as time and value.
    fn points(self, timeline: &Timeline) -> Vec<(f64, f64)> {
        match self {
            Self::Goodput => timeline.goodput_mbit_s.clone(),
            Self::Cwnd => {
                let first = timeline.flows.first();
                first.map_or_else(Vec::new, |flow| flow.cwnd_segments.clone())
            }
            Self::Queue => timeline.queue_packets.clone(),
        }
    }

    /// Returns the values of a flow for the CSV file, or `None` if the quantity does not belong to a flow.
    const fn of_flow(self, flow: &FlowTimeline) -> Option<&Vec<(f64, f64)>> {
        match self {
            Self::Goodput => Some(&flow.goodput_mbit_s),
            Self::Cwnd => Some(&flow.cwnd_segments),
            Self::Queue => None,
        }
    }

    fn is_known(self, runs: &OverTime) -> bool {
        runs.timelines.iter().any(|t| !self.points(t).is_empty())
    }
}

/// Returns the figures of goodput, congestion window and queue. The goodput is shown together with the capacity of a
/// recorded trace, if there is one.
///
/// # Errors
///
/// Returns an error if a picture cannot be drawn.
pub fn figures(results: &Results, runs: &OverTime) -> Result<Vec<Figure>, FigureError> {
    let shown = Shown::ALL.into_iter().filter(|shown| shown.is_known(runs));
    shown.map(|shown| figure(results, runs, shown)).collect()
}

fn figure(results: &Results, runs: &OverTime, shown: Shown) -> Result<Figure, FigureError> {
    let label = results.points[runs.point].label();
    let panels = runs.timelines.iter().map(|timeline| TimePanel {
        name: timeline.stack.clone(),
        points: shown.points(timeline),
    });
    let reference = TimePanel {
        name: "link capacity".to_owned(),
        points: runs.capacity.clone(),
    };
    let is_beside = matches!(shown, Shown::Goodput) && !runs.capacity.is_empty();
    let picture = TimePanels {
        title: shown.title().to_owned(),
        subtitle: match label.as_str() {
            "" => subtitle(results),
            label => format!("{label} · {}", subtitle(results)),
        },
        description: description(runs, shown),
        x_label: "time (s)".to_owned(),
        y_label: shown.label().to_owned(),
        panels: panels.collect(),
        reference: is_beside.then_some(reference),
    };
    Ok(Figure {
        name: shown.name().to_owned(),
        svg: picture.svg()?,
        caption: caption(runs, shown, &label),
    })
}

/// Returns the caption: the quantity, the sampling interval, and the name of the file with the numbers.
fn caption(runs: &OverTime, shown: Shown, label: &str) -> String {
    let at = match label {
        "" => String::new(),
        label => format!(" ({label})"),
    };
    let what = match (shown, runs.flows) {
        (Shown::Goodput, 1) => "Goodput".to_owned(),
        (Shown::Goodput, flows) => format!("Goodput of all {flows} flows together"),
        (Shown::Cwnd, 1) => "Congestion window".to_owned(),
        (Shown::Cwnd, flows) => format!("Congestion window of the first of {flows} flows"),
        (Shown::Queue, _) => "Queue length at the bottleneck".to_owned(),
    };
    let beside = match shown {
        Shown::Goodput if !runs.capacity.is_empty() => " and capacity of the recorded link",
        _ => "",
    };
    let every = match shown {
        Shown::Goodput => format!("averaged over {}", milliseconds(runs.goodput_interval_s)),
        Shown::Cwnd | Shown::Queue => format!("sampled every {}", milliseconds(runs.interval_s)),
    };
    let round_trip = runs.round_trip_s.map_or(String::new(), |seconds| {
        format!("; the minimum round-trip time is {}", milliseconds(seconds))
    });
    let followed = runs.timelines.first().map_or(0, |t| t.flows.len());
    let followed = match (shown, runs.flows > followed) {
        (Shown::Queue, _) | (_, false) => String::new(),
        (_, true) => format!(" of the first {followed} flows"),
    };
    format!(
        "{what}{beside} in the run with seed {}{at}, {every}{round_trip}. Numbers{followed}: {}.",
        runs.seed,
        csv_name(shown)
    )
}

/// Returns a text description of the figure, with the range of values of each run.
fn description(runs: &OverTime, shown: Shown) -> String {
    let ranges = runs.timelines.iter().filter_map(|timeline| {
        let points = shown.points(timeline);
        let values = points.iter().map(|point| point.1);
        let (low, high) = values.fold(None, |range: Option<(f64, f64)>, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })?;
        Some(format!("{} from {low:.1} to {high:.1}", timeline.stack))
    });
    let ranges: Vec<String> = ranges.collect();
    format!(
        "One panel per stack with {} over time: {}.",
        shown.label(),
        ranges.join(", ")
    )
}

fn milliseconds(seconds: f64) -> String {
    let ms = seconds * 1e3;
    match ms >= 100.0 {
        true => format!("{ms:.0} ms"),
        false => format!("{ms:.1} ms"),
    }
}

fn csv_name(shown: Shown) -> String {
    format!("figures/{}.csv", shown.name())
}

/// Adds one CSV file with the numbers of each figure.
pub(crate) fn add_files(files: &mut Files<'_>, results: &Results, runs: OverTime) {
    let runs = Rc::new(runs);
    let places = Rc::new(Places::of(results));
    for shown in Shown::ALL {
        if shown.is_known(&runs) {
            let (runs, places) = (Rc::clone(&runs), Rc::clone(&places));
            files.add(csv_name(shown), move || csv(&runs, &places, shown));
        }
    }
}

/// Returns one line per run, flow and sampling time. The queue does not belong to a flow, so it has one line per run
/// and sampling time. The first columns contain the point of the sweep, as in the other files.
fn csv(runs: &OverTime, places: &Places, shown: Shown) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut put = |place: &[String], row: &[&str]| {
        let place = place.iter().map(String::as_str);
        let cells: Vec<_> = place.chain(row.iter().copied()).map(to_sheet).collect();
        let written = out.write_record(cells.iter().map(|cell| cell.as_bytes()));
        written.expect("rows have equal length and memory does not fail");
    };
    let own: &[&str] = match shown {
        Shown::Queue => &["seed", "stack", "time_s", shown.column()],
        Shown::Goodput | Shown::Cwnd => &["seed", "stack", "flow", "time_s", shown.column()],
    };
    put(places.heads(), own);
    let (place, seed) = (places.at(runs.point), runs.seed.to_string());
    for timeline in &runs.timelines {
        let stack = timeline.stack.as_str();
        if matches!(shown, Shown::Queue) {
            for &(time, value) in &timeline.queue_packets {
                let (time, value) = (short(time, 1e6), short(value, 1e3));
                put(place, &[&seed, stack, &time, &value]);
            }
        }
        for flow in &timeline.flows {
            let number = flow.flow.to_string();
            for &(time, value) in shown.of_flow(flow).into_iter().flatten() {
                let (time, value) = (short(time, 1e6), short(value, 1e3));
                put(place, &[&seed, stack, &number, &time, &value]);
            }
        }
    }
    out.into_inner().unwrap_or_default()
}

/// Name of the file with every flow over time, for all seeds.
pub(crate) const FLOWS: &str = "flows_over_time.csv";

/// Returns one line per run, flow and interval.
pub(crate) fn flows_csv(results: &Results, flows: &FlowsOverTime) -> Vec<u8> {
    let places = Places::of(results);
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut put = |place: &[String], row: &[&str]| {
        let place = place.iter().map(String::as_str);
        let cells: Vec<_> = place.chain(row.iter().copied()).map(to_sheet).collect();
        let written = out.write_record(cells.iter().map(|cell| cell.as_bytes()));
        written.expect("rows have equal length and memory does not fail");
    };
    put(
        places.heads(),
        &["stack", "seed", "flow", "group", "time_s", "goodput_mbit_s"],
    );
    let place = places.at(flows.point);
    for flow in &flows.flows {
        let (seed, number) = (flow.seed.to_string(), flow.flow.to_string());
        for &(time, value) in &flow.goodput_mbit_s {
            let (time, value) = (short(time, 1e6), short(value, 1e4));
            put(
                place,
                &[&flow.stack, &seed, &number, &flow.group, &time, &value],
            );
        }
    }
    out.into_inner().unwrap_or_default()
}

/// Returns `value` rounded to a multiple of 1/`parts`, without superfluous zeros.
fn short(value: f64, parts: f64) -> String {
    // Adding zero turns -0 into 0.
    format!("{}", (value * parts).round() / parts + 0.0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::results::Answered;
    use dupack_lab::run::{Interrupt, Plan};

    use super::*;
    use crate::comparison::{Beside, files};
    use dupack_engine::folder::MemoryFolder;
    use dupack_engine::{Conduct, Execution, Keeping, Shown, carry_out_plan};

    /// Returns every file of a comparison of two stacks with two flows each.
    fn written(lines: &str) -> std::collections::BTreeMap<String, String> {
        let text = format!(
            "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = [7]\nduration = \"10s\"\n[path]\n\
             rate = \"5Mbit/s\"\ndelay = \"20ms\"\n{lines}"
        );
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        let interrupt = Interrupt::new();
        let conduct = Conduct {
            execution: Execution::default(),
            watch: &(),
            interrupt: &interrupt,
        };
        let carried = carry_out_plan(&plan, Keeping::nowhere(), Shown::OverTime, &conduct);
        let results = carried.results;
        let beside = Beside {
            over_time: carried.over_time,
            ..Beside::default()
        };
        let folder = MemoryFolder::default();
        let files = files(&Arc::new(Answered::of(&results)), &catalog, beside).unwrap();
        files.write(&folder).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let all = folder.into_files().into_iter();
        all.map(|(name, bytes)| (name, text(bytes))).collect()
    }

    fn rows(csv: &str) -> Vec<Vec<&str>> {
        csv.lines()
            .skip(1)
            .map(|l| l.split(',').collect())
            .collect()
    }

    #[test]
    fn each_figure_over_time_has_its_numbers_as_tidy_csv() {
        let written = written("[[flows]]\ncount = 2\n");
        for (name, head) in [
            ("cwnd", "seed,stack,flow,time_s,cwnd_segments"),
            ("goodput", "seed,stack,flow,time_s,goodput_mbit_s"),
            ("queue", "seed,stack,time_s,queue_packets"),
        ] {
            let csv = &written[&format!("figures/{name}_over_time.csv")];
            assert_eq!(csv.lines().next(), Some(head));
            let svg = &written[&format!("figures/{name}_over_time.svg")];
            for stack in ["sack/reno", "rack/cubic"] {
                assert!(
                    svg.contains(&format!(">\n{stack}\n<")),
                    "{stack} has a panel"
                );
                let here = |row: &&Vec<&str>| row[1] == stack;
                let rows = rows(csv);
                let mut here = rows.iter().filter(here).peekable();
                assert!(here.peek().is_some(), "{name} of {stack}");
                assert!({ here }.all(|row| row[0] == "7"), "{name}");
            }
            let page = &written["report.html"];
            assert!(page.contains(&format!("{name}_over_time.csv")));
        }
    }

    #[test]
    fn goodput_over_time_is_the_goodput_of_the_run() {
        let written = written("");
        let over_time = rows(&written["figures/goodput_over_time.csv"]);
        let runs = &written["runs.csv"];
        let mut lines = runs.lines();
        let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
        let place = heads.iter().position(|h| *h == "goodput_mbit_s").unwrap();
        for run in lines {
            let cells: Vec<&str> = run.split(',').collect();
            let whole: f64 = cells[place].parse().unwrap();
            let here = over_time.iter().filter(|row| row[1] == cells[0]);
            let rates: Vec<f64> = here.map(|row| row[4].parse().unwrap()).collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            // The time after the last full interval counts only for the goodput of the run.
            assert!((mean / whole - 1.0).abs() < 0.05, "{mean} {whole}");
        }
    }

    #[test]
    fn files_over_time_begin_with_the_point_like_other_files() {
        let written = written("[sweep]\n\"path.loss\" = [\"0%\", \"0.5%\", \"2%\"]\n");
        let own = "point,path.loss,path.loss_unit,";
        assert!(written["runs.csv"].starts_with(own));
        for name in ["cwnd", "goodput", "queue"] {
            let csv = &written[&format!("figures/{name}_over_time.csv")];
            assert!(csv.starts_with(own), "{csv}");
            for row in rows(csv) {
                assert_eq!(row[..4], ["loss 0.5%", "0.5", "%", "7"], "{name}");
            }
        }
    }

    #[test]
    fn numbers_have_no_superfluous_digits() {
        let all = [(0.1 + 0.2, 1e6), (-1e-9, 1e3), (12.0, 1e3)];
        assert_eq!(all.map(|(v, p)| short(v, p)), ["0.3", "0", "12"]);
    }
}
