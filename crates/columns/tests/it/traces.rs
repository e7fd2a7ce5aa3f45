//! Compares a trace as columns with `packets.csv` and `windows.csv`, cell by cell.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch};
use dupack_algorithms::catalog::Catalog;
use dupack_columns::trace::{Columns, columns};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Job, Plan, Scenario};
use dupack_lab::trace::stream::follow;
use dupack_lab::trace::{Trace, packets_csv, windows_csv};

use crate::common::{Csv, column};

/// Returns a flow that loses data and ACKs. Some of its segments are not full.
fn scenario() -> Scenario {
    let text = "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"20s\"\n[path]\nrate = \"2Mbit/s\"\n\
                delay = \"20ms\"\nbuffer = \"8pkt\"\nloss = \"2%\"\nreverse = { loss = \"2%\" }\n\
                [[flows]]\nbytes = \"3MB\"\n";
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let job = Job {
        point: 0,
        stack: 0,
        seed: 1,
    };
    plan.scenario(job).clone()
}

/// Returns a column of seconds in the form in which the CSV files have it.
fn seconds(batch: &RecordBatch, name: &str) -> Vec<String> {
    let column = batch.column_by_name(name).unwrap();
    let column = column.as_primitive::<Float64Type>();
    let text = |seconds: Option<f64>| seconds.map_or(String::new(), |s| format!("{s:.9}"));
    column.iter().map(text).collect()
}

fn blocks(batch: &RecordBatch) -> Vec<String> {
    let lists = batch
        .column_by_name("sack_blocks")
        .unwrap()
        .as_list::<i32>();
    let list = |row: usize| {
        let blocks = lists.value(row);
        let blocks = blocks.as_struct();
        let ends = ["start", "end"].map(|name| {
            let column = blocks.column_by_name(name).unwrap();
            column.as_primitive::<Float64Type>().clone()
        });
        let text = |n: usize| format!("{}-{}", ends[0].value(n), ends[1].value(n));
        (0..blocks.len()).map(text).collect::<Vec<_>>().join(" ")
    };
    (0..lists.len()).map(list).collect()
}

#[test]
fn packets_and_windows_match_the_csv_files() {
    let trace = Trace::record(&scenario(), 1, &Interrupt::new()).unwrap();
    let (packets, windows) = columns(&trace);

    let csv = Csv::of(packets_csv(&trace).as_bytes());
    assert!(csv.rows.len() > 1000);
    assert_eq!(seconds(&packets, "time_s"), csv.column("time_s"));
    for name in ["event", "packet", "transmission", "why", "fate"] {
        assert_eq!(column(&packets, name), csv.column(name), "{name}");
    }
    let sacked = blocks(&packets);
    assert!(
        sacked.iter().any(|blocks| blocks.contains(' ')),
        "two blocks"
    );
    assert_eq!(sacked, csv.column("sack_blocks"));

    let csv = Csv::of(windows_csv(&trace).as_bytes());
    for name in ["time_s", "rtt_s", "srtt_s", "rto_s"] {
        assert_eq!(seconds(&windows, name), csv.column(name), "{name}");
    }
    for name in csv.heads.iter().filter(|name| !name.ends_with("_s")) {
        assert_eq!(column(&windows, name), csv.column(name), "{name}");
    }
}

#[test]
fn a_followed_trace_equals_a_recorded_one() {
    let scenario = scenario();
    let recorded = columns(&Trace::record(&scenario, 1, &Interrupt::new()).unwrap());
    let mut followed = Columns::default();
    assert!(followed.take().is_none());
    follow(&scenario, (1, 0), &mut followed, &Interrupt::new()).unwrap();
    assert_eq!(followed.take().unwrap(), recorded);
    let (packets, windows) = followed.take().unwrap();
    assert_eq!((packets.num_rows(), windows.num_rows()), (0, 0));
}
