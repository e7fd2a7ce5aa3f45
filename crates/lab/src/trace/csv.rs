//! A trace as CSV, a line per event as they come.

use std::io::{self, Write};

use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use super::phase::{Phase, Phases};
use super::{Event, Fate, Flow, Repeated, Sent, State, Trace, What};

/// cwnd, ssthresh, in flight and RTT over time: a line per change, with the cause of the last
/// window change at that time, the duplicate ACKs in a row, the textbook's inflation and the
/// [`Phase`].
#[must_use]
pub fn windows_csv(trace: &Trace) -> String {
    text(trace, |out| {
        let mut csv = WindowsCsv::new(out, &trace.flow())?;
        trace.events.iter().try_for_each(|event| csv.event(event))
    })
}

/// Every packet: sent and why, dropped and why, arrived; every ACK with its blocks.
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
    write(&mut out).expect("memory takes what is written");
    String::from_utf8(out).expect("numbers and names are text")
}

/// Writes `windows.csv`.
#[derive(Debug)]
pub(super) struct WindowsCsv<W> {
    out: W,
    /// Of the last window change since the last line.
    cause: String,
    phases: Phases,
    last: Option<(State, Phase)>,
}

impl<W: Write> WindowsCsv<W> {
    pub fn new(mut out: W, flow: &Flow) -> io::Result<Self> {
        out.write_all(b"time_s,cwnd_bytes,ssthresh_bytes,in_flight_bytes,in_flight_true_bytes,rtt_s,srtt_s,rto_s,window_cause,duplicate_acks,inflation_bytes,phase\n")?;
        Ok(Self {
            out,
            cause: String::new(),
            phases: Phases::new(flow),
            last: None,
        })
    }

    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.phases.event(event);
        match &event.what {
            What::Window(change) => self.cause = change.cause.to_string(),
            What::State(state) => {
                let line = Some((*state, self.phases.now()));
                if self.last != line {
                    self.last = line;
                    self.line(event.at, state)?;
                    self.cause.clear();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn line(&mut self, at: Instant, state: &State) -> io::Result<()> {
        let seconds =
            |d: Option<Duration>| d.map_or(String::new(), |d| format!("{:.9}", d.as_secs_f64()));
        let ssthresh = if state.ssthresh.is_finite() {
            state.ssthresh.to_string()
        } else {
            String::new()
        };
        writeln!(
            self.out,
            "{:.9},{},{ssthresh},{},{},{},{},{:.9},{},{},{},{}",
            at.as_secs_f64(),
            state.cwnd,
            state.in_flight,
            state.in_flight_true,
            seconds(state.rtt),
            seconds(state.srtt),
            state.rto.as_secs_f64(),
            self.cause,
            state.dup_acks,
            state.inflation,
            self.phases.now(),
        )
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes `packets.csv`.
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
        let time = event.at.as_secs_f64();
        let out = &mut self.out;
        match &event.what {
            What::Sent(sent) => self.sent(time, sent),
            What::DataDropped {
                number,
                order,
                cause,
            } => writeln!(out, "{time:.9},drop,{number},{order},{},,", cause.name()),
            What::DataArrived { number, order } => {
                writeln!(out, "{time:.9},arrive,{number},{order},,,")
            }
            What::AckArrived { ack, .. } => {
                let (isn, smss) = (self.flow.sender.isn, self.flow.segment_bytes());
                let packet = |seq: SeqNumber| f64::from(seq.0.wrapping_sub(isn.0)) / smss;
                let blocks = ack.sacks.as_slice().iter();
                let blocks: Vec<String> = blocks
                    .map(|b| format!("{}-{}", packet(b.start), packet(b.end)))
                    .collect();
                let next = packet(ack.ack);
                writeln!(out, "{time:.9},ack,{next},,,,{}", blocks.join(" "))
            }
            What::AckDropped { number, cause } => {
                writeln!(out, "{time:.9},drop ack,{number},,{},,", cause.name())
            }
            What::AckSent { .. } | What::Window(_) | What::State(_) => Ok(()),
        }
    }

    fn sent(&mut self, time: f64, sent: &Sent) -> io::Result<()> {
        let kind = match sent.repeated {
            Repeated::First => "send",
            Repeated::Needed => "retransmit",
            Repeated::Needless => "retransmit needlessly",
        };
        let fate = match sent.fate {
            Fate::Open => "under way".to_owned(),
            Fate::Arrived => "arrived".to_owned(),
            Fate::Dropped(cause) => format!("dropped: {}", cause.name()),
        };
        let (number, order, why) = (sent.number, sent.order, sent.why);
        writeln!(self.out, "{time:.9},{kind},{number},{order},{why},{fate},")
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
