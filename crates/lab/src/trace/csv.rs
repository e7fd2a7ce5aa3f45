//! A trace as CSV, with one line per event.

use std::io::{self, Write};

use dupack_tcp::time::Duration;

use super::rows::{PacketRow, WindowRow, WindowRows};
use super::{Event, Flow, Trace};

/// Returns cwnd, ssthresh, bytes in flight and RTT over time as CSV: one line per change, with the cause of the last
/// window change at that time, the number of consecutive duplicate ACKs, the textbook window inflation, and the
/// [`Phase`](super::phase::Phase).
#[must_use]
pub fn windows_csv(trace: &Trace) -> String {
    text(trace, |out| {
        let mut csv = WindowsCsv::new(out, &trace.flow())?;
        trace.events.iter().try_for_each(|event| csv.event(event))
    })
}

/// Returns every packet as CSV: transmissions with their reasons, drops with their causes, arrivals, and ACKs with
/// their blocks.
#[must_use]
pub fn packets_csv(trace: &Trace) -> String {
    text(trace, |out| {
        let mut csv = PacketsCsv::new(out, &trace.flow())?;
        trace.events.iter().try_for_each(|event| csv.event(event))
    })
}

fn text(trace: &Trace, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    const BYTES_PER_EVENT: usize = 32;
    let mut out = Vec::with_capacity(trace.events.len() * BYTES_PER_EVENT);
    write(&mut out).expect("writing to memory cannot fail");
    String::from_utf8(out).expect("the output is UTF-8")
}

/// Writer of `windows.csv`.
#[derive(Debug)]
pub(super) struct WindowsCsv<W> {
    out: W,
    rows: WindowRows,
}

impl<W: Write> WindowsCsv<W> {
    pub fn new(mut out: W, flow: &Flow) -> io::Result<Self> {
        out.write_all(b"time_s,cwnd_bytes,ssthresh_bytes,in_flight_bytes,in_flight_true_bytes,rtt_s,srtt_s,rto_s,window_cause,duplicate_acks,inflation_bytes,phase\n")?;
        let rows = WindowRows::new(flow);
        Ok(Self { out, rows })
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        match self.rows.event(event) {
            Some(row) => self.line(&row),
            None => Ok(()),
        }
    }

    fn line(&mut self, row: &WindowRow) -> io::Result<()> {
        let seconds =
            |d: Option<Duration>| d.map_or(String::new(), |d| format!("{:.9}", d.as_secs_f64()));
        let state = &row.state;
        let ssthresh = if state.ssthresh.is_finite() {
            state.ssthresh.to_string()
        } else {
            String::new()
        };
        let cause = row.cause.map_or(String::new(), |cause| cause.to_string());
        writeln!(
            self.out,
            "{:.9},{},{ssthresh},{},{},{},{},{:.9},{cause},{},{},{}",
            row.at.as_secs_f64(),
            state.cwnd,
            state.in_flight,
            state.in_flight_true,
            seconds(state.rtt),
            seconds(state.srtt),
            state.rto.as_secs_f64(),
            state.dup_acks,
            state.inflation,
            row.phase,
        )
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writer of `packets.csv`.
#[derive(Debug)]
pub(super) struct PacketsCsv<W> {
    out: W,
    flow: Flow,
}

impl<W: Write> PacketsCsv<W> {
    pub fn new(mut out: W, flow: &Flow) -> io::Result<Self> {
        out.write_all(b"time_s,event,packet,transmission,why,fate,sack_blocks\n")?;
        Ok(Self { out, flow: *flow })
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let Some(row) = PacketRow::of(event, &self.flow) else {
            return Ok(());
        };
        let out = &mut self.out;
        let (time, kind) = (row.at.as_secs_f64(), row.event.name());
        write!(out, "{time:.9},{kind},{},", row.packet)?;
        if let Some(order) = row.transmission {
            write!(out, "{order}")?;
        }
        out.write_all(b",")?;
        if let Some(why) = row.why {
            write!(out, "{why}")?;
        }
        out.write_all(b",")?;
        if let Some(fate) = row.fate {
            write!(out, "{fate}")?;
        }
        out.write_all(b",")?;
        for (n, (start, end)) in row.sack_blocks().enumerate() {
            let space = if n == 0 { "" } else { " " };
            write!(out, "{space}{start}-{end}")?;
        }
        out.write_all(b"\n")
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
