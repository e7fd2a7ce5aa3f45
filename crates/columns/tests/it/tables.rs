//! Compares each table with the CSV file of the same results, cell by cell.

use arrow_schema::DataType;
use dupack_columns::field::{DESCRIPTION, UNIT};
use dupack_columns::{Flows, Runs, Sweep, Table, measured};
use dupack_lab::results::Answered;
use dupack_lab::results::verdict::{comparisons_csv, verdicts_csv};
use dupack_lab::results::{Measure, Results, store};

use crate::common;
use crate::common::{Csv, cell, column, results, results_of};

const SWEEP: &str =
    "[sweep]\n\"path.delay\" = [\"500us\", \"20ms\"]\n\"path.loss\" = [\"0%\", \"3%\"]\n";

/// Returns the results of two stacks at four points.
fn swept() -> Results {
    results("seeds = 3\n", "", SWEEP)
}

#[test]
fn every_field_has_a_unit_and_a_description() {
    let results = swept();
    for table in Table::ALL {
        let batch = table.of(&Answered::of(&results));
        assert!(batch.num_rows() > 0, "{}", table.name());
        let schema = batch.schema();
        assert_eq!(schema.metadata()["title"], "A test");
        assert!(schema.metadata()["experiment"].contains("[path]"));
        assert_eq!(schema.metadata()["engine"], dupack_lab::run::engine());
        for field in schema.fields() {
            let metadata = field.metadata();
            let about = &metadata[DESCRIPTION];
            assert!(about.ends_with('.'), "{}: {about}", field.name());
            assert!(metadata.contains_key(UNIT), "{}", field.name());
        }
    }
    let batch = Table::Runs.of(&Answered::of(&results));
    let schema = batch.schema();
    let unit = |name: &str| schema.field_with_name(name).unwrap().metadata()[UNIT].clone();
    for (name, is) in [
        ("goodput_mbit_s", "Mbit/s"),
        ("queueing_delay_p95_ms", "ms"),
        ("retransmitted_percent", "%"),
        ("path.delay", "ms"),
        ("path.loss", "%"),
        ("timeouts", ""),
        ("seed", ""),
    ] {
        assert_eq!(unit(name), is, "{name}");
    }
}

#[test]
fn runs_match_the_csv_file() {
    let results = swept();
    let csv = Csv::of(&store::runs_csv(&Answered::of(&results)));
    let batch = Table::Runs.of(&Answered::of(&results));
    assert_eq!(batch.num_rows(), csv.rows.len());
    let keys = ["path.delay", "path.loss", "stack", "seed"].into_iter();
    for name in keys.chain(Measure::ALL.map(Measure::key)) {
        let wanted = csv.column(name);
        if batch.column_by_name(name).is_none() {
            // A measure that no run has does not get a column.
            assert!(wanted.iter().all(|cell| cell.is_empty()), "{name}");
            continue;
        }
        assert_eq!(column(&batch, name), wanted, "{name}");
    }
    let hashes = column(&batch, "trace_hash").into_iter();
    let hashes: Vec<String> = hashes
        .map(|hash| format!("{:016x}", hash.parse::<u64>().unwrap()))
        .collect();
    assert_eq!(hashes, csv.column("trace_hash"));
}

#[test]
fn the_summary_matches_the_csv_file() {
    let results = swept();
    let csv = Csv::of(&store::summary_csv(&Answered::of(&results)));
    let batch = Table::Summary.of(&Answered::of(&results));
    for name in csv
        .heads
        .iter()
        .filter(|n| !n.ends_with("_unit") && *n != "point")
    {
        assert_eq!(column(&batch, name), csv.column(name), "{name}");
    }
}

#[test]
fn verdicts_and_comparisons_match_the_csv_files() {
    let results = swept();
    let csv = Csv::of(&verdicts_csv(&Answered::of(&results)));
    let batch = Table::Verdicts.of(&Answered::of(&results));
    for name in ["stack", "answer", "mark", "pairs", "sentence"] {
        assert_eq!(column(&batch, name), csv.column(name), "{name}");
    }
    let joined = |name: &str, by: &str| -> Vec<String> {
        (0..batch.num_rows())
            .map(|row| common::texts(&batch, name, row).join(by))
            .collect()
    };
    assert_eq!(joined("beaten_by", " "), csv.column("beaten_by"));
    assert_eq!(joined("warnings", "; "), csv.column("warnings"));
    let stars = column(&batch, "crowned")
        .into_iter()
        .zip(csv.column("mark"));
    for (crowned, mark) in stars {
        assert_eq!(crowned == "true", mark == "star");
    }

    let csv = Csv::of(&comparisons_csv(&Answered::of(&results)));
    let batch = Table::Comparisons.of(&Answered::of(&results));
    for name in csv
        .heads
        .iter()
        .filter(|n| !n.ends_with("_unit") && *n != "point")
    {
        assert_eq!(column(&batch, name), csv.column(name), "{name}");
    }
}

/// Uses the example of `dupack-lab`'s README, in which one stack has a ★.
#[test]
fn the_stack_with_a_star_is_crowned() {
    let text = "stacks = [\"newreno/reno\", \"le/westwood\"]\nseeds = 3\nduration = \"5s\"\n[path]\n\
                rate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"50pkt\"\nloss = \"2%\"\n";
    let batch = Table::Verdicts.of(&Answered::of(&results_of(text)));
    assert_eq!(column(&batch, "crowned"), ["false", "true"]);
    assert_eq!(column(&batch, "answer"), ["stars", "stars"]);
}

#[test]
fn parameters_match_the_csv_file() {
    let results = swept();
    let csv = Csv::of(&store::parameters_csv(&results));
    let batch = Table::Parameters.of(&Answered::of(&results));
    for name in &csv.heads {
        assert_eq!(column(&batch, name), csv.column(name), "{name}");
    }
}

#[test]
fn swept_keys_are_numbers_switches_or_words() {
    let results = results(
        "seeds = 1\n",
        "",
        "[sweep]\n\"path.buffer\" = [\"20pkt\", \"30kB\"]\n\"path.reverse.loss\" = [0, \"1%\"]\n\
         \"dialect\" = [\"rfc\", \"linux\"]\n\"sender.timestamps\" = [true, false]\n",
    );
    let batch = Table::Points.of(&Answered::of(&results));
    let schema = batch.schema();
    let kind = |name: &str| schema.field_with_name(name).unwrap().data_type().clone();
    assert_eq!(batch.num_rows(), 16);
    // Packets and bytes have no common unit.
    assert!(matches!(kind("path.buffer"), DataType::Dictionary(..)));
    assert_eq!(kind("path.reverse.loss"), DataType::Float64);
    assert_eq!(kind("sender.timestamps"), DataType::Boolean);
    let here = |name: &str| -> Vec<String> {
        let mut cells = column(&batch, name);
        cells.sort();
        cells.dedup();
        cells
    };
    assert_eq!(here("path.buffer"), ["20pkt", "30kB"]);
    assert_eq!(here("dialect"), ["linux", "rfc"]);
    assert_eq!(here("path.reverse.loss"), ["0", "1"]);
    let labels: Vec<String> = results.points.iter().map(|point| point.label()).collect();
    assert_eq!(column(&batch, "label"), labels);
    assert_eq!(column(&batch, "point")[15], "15");
}

#[test]
fn every_flow_of_every_run_has_a_row() {
    let results = results("seeds = 2\n", "[[flows]]\ncount = 3\n", "");
    let batch = Table::Flows.of(&Answered::of(&results));
    assert_eq!(batch.num_rows(), 2 * 2 * 3);
    let mut row = 0;
    for run in &results.runs {
        for (flow, goodput) in run.flow_goodputs.iter().enumerate() {
            let here = |name: &str| cell(batch.column_by_name(name).unwrap(), row);
            assert_eq!(here("stack"), results.stacks[run.stack]);
            assert_eq!(here("seed"), run.seed.to_string());
            assert_eq!(here("flow"), flow.to_string());
            assert_eq!(here("group"), "group 1");
            assert_eq!(here("goodput_mbit_s"), goodput.to_string());
            row += 1;
        }
    }
}

#[test]
fn successive_batches_make_up_the_whole_table() {
    let results = swept();
    let sweep = Sweep::of(&results);
    let mut runs = Runs::new(sweep.clone(), measured(&results));
    let mut flows = Flows::new(sweep);
    let (mut seeds, mut goodputs) = (Vec::new(), Vec::new());
    for some in results.runs.chunks(5) {
        for run in some {
            runs.push(run);
            flows.push(run);
        }
        assert_eq!((runs.len(), flows.len()), (some.len(), some.len()));
        let (batch, of_flows) = (runs.take(), flows.take());
        assert!(runs.is_empty() && flows.is_empty());
        assert_eq!(batch.schema(), runs.schema());
        assert_eq!(of_flows.schema(), flows.schema());
        seeds.extend(column(&batch, "seed"));
        goodputs.extend(column(&of_flows, "goodput_mbit_s"));
    }
    assert_eq!(
        seeds,
        column(&Table::Runs.of(&Answered::of(&results)), "seed")
    );
    assert_eq!(
        goodputs,
        column(&Table::Flows.of(&Answered::of(&results)), "goodput_mbit_s")
    );
    assert_eq!(runs.take().num_rows(), 0);
}

#[test]
fn tables_without_runs_have_all_columns() {
    let mut results = swept();
    results.runs.clear();
    for table in [
        Table::Runs,
        Table::Flows,
        Table::Summary,
        Table::Comparisons,
    ] {
        let batch = table.of(&Answered::of(&results));
        assert_eq!(batch.num_rows(), 0, "{}", table.name());
        assert!(batch.column_by_name("stack").is_some() || table == Table::Comparisons);
    }
    assert_eq!(Table::Points.of(&Answered::of(&results)).num_rows(), 4);
}
