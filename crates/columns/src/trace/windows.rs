//! The table of windows: the sender's state over time, with a row per change.

use std::sync::Arc;

use arrow_array::builder::Float64Builder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use dupack_lab::trace::phase::Phase;
use dupack_lab::trace::rows::{WindowRow, WindowRows};
use dupack_lab::trace::{Event, Flow};
use dupack_tcp::time::Duration;
use dupack_tcp::window::WindowCause;

use crate::field::{field, optional, words};
use crate::sweep::batch;
use crate::words::Met;

/// Builder of the table `windows`: a row for every change in the state of one flow's sender.
#[derive(Debug)]
pub struct Windows {
    rows: WindowRows,
    schema: SchemaRef,
    times: Vec<f64>,
    cwnd: Vec<f64>,
    ssthresh: Float64Builder,
    in_flight: Vec<u64>,
    in_flight_true: Vec<u64>,
    rtt: Float64Builder,
    srtt: Float64Builder,
    rto: Vec<f64>,
    causes: Met<WindowCause>,
    duplicate_acks: Vec<u32>,
    inflation: Vec<i64>,
    phases: Met<Phase>,
}

impl Windows {
    /// Creates an empty table for the sender of `flow`.
    #[must_use]
    pub fn new(flow: &Flow) -> Self {
        Self {
            rows: WindowRows::new(flow),
            schema: schema(),
            times: Vec::new(),
            cwnd: Vec::new(),
            ssthresh: Float64Builder::new(),
            in_flight: Vec::new(),
            in_flight_true: Vec::new(),
            rtt: Float64Builder::new(),
            srtt: Float64Builder::new(),
            rto: Vec::new(),
            causes: Met::default(),
            duplicate_acks: Vec::new(),
            inflation: Vec::new(),
            phases: Met::default(),
        }
    }

    /// Returns the schema of every batch of the table.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Takes the next event of the flow and adds a row if the sender's state has changed.
    pub fn event(&mut self, event: &Event) {
        if let Some(row) = self.rows.event(event) {
            self.push(&row);
        }
    }

    fn push(&mut self, row: &WindowRow) {
        let state = &row.state;
        let seconds = |duration: Option<Duration>| duration.map(Duration::as_secs_f64);
        self.times.push(row.at.as_secs_f64());
        self.cwnd.push(state.cwnd);
        let ssthresh = Some(state.ssthresh).filter(|ssthresh| ssthresh.is_finite());
        self.ssthresh.append_option(ssthresh);
        self.in_flight.push(state.in_flight);
        self.in_flight_true.push(state.in_flight_true);
        self.rtt.append_option(seconds(state.rtt));
        self.srtt.append_option(seconds(state.srtt));
        self.rto.push(state.rto.as_secs_f64());
        self.causes.push(row.cause);
        self.duplicate_acks.push(state.dup_acks);
        self.inflation.push(state.inflation);
        self.phases.push(Some(row.phase));
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Returns `true` if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows as a batch and empties the table.
    #[must_use]
    pub fn take(&mut self) -> RecordBatch {
        let numbers = |column: &mut Vec<f64>| -> ArrayRef {
            Arc::new(Float64Array::from(std::mem::take(column)))
        };
        let counts = |column: &mut Vec<u64>| -> ArrayRef {
            Arc::new(UInt64Array::from(std::mem::take(column)))
        };
        let duplicate_acks = std::mem::take(&mut self.duplicate_acks);
        let inflation = std::mem::take(&mut self.inflation);
        let columns: Vec<ArrayRef> = vec![
            numbers(&mut self.times),
            numbers(&mut self.cwnd),
            Arc::new(self.ssthresh.finish()),
            counts(&mut self.in_flight),
            counts(&mut self.in_flight_true),
            Arc::new(self.rtt.finish()),
            Arc::new(self.srtt.finish()),
            numbers(&mut self.rto),
            self.causes.take(),
            Arc::new(UInt32Array::from(duplicate_acks)),
            Arc::new(Int64Array::from(inflation)),
            self.phases.take(),
        ];
        batch(self.schema.clone(), columns)
    }
}

fn schema() -> SchemaRef {
    use DataType::{Float64, Int64, UInt32, UInt64};
    let inflation = "Textbook window minus cwnd.";
    Arc::new(Schema::new(vec![
        field(
            "time_s",
            Float64,
            "s",
            "Time at which the sender entered this state.",
        ),
        field("cwnd_bytes", Float64, "bytes", "Congestion window."),
        optional(
            "ssthresh_bytes",
            Float64,
            "bytes",
            "Slow start threshold; null before the first one is set.",
        ),
        field(
            "in_flight_bytes",
            UInt64,
            "bytes",
            "Bytes in flight as the recovery counts them.",
        ),
        field(
            "in_flight_true_bytes",
            UInt64,
            "bytes",
            "Bytes really in flight.",
        ),
        optional("rtt_s", Float64, "s", "Last round-trip time sample."),
        optional("srtt_s", Float64, "s", "Smoothed round-trip time."),
        field("rto_s", Float64, "s", "Retransmission timeout."),
        optional(
            "window_cause",
            words(),
            "",
            "Cause of the last window change since the previous row.",
        ),
        field(
            "duplicate_acks",
            UInt32,
            "",
            "Duplicate ACKs in a row, as the sender counts them.",
        ),
        field("inflation_bytes", Int64, "bytes", inflation),
        field("phase", words(), "", "Phase of the sender."),
    ]))
}
