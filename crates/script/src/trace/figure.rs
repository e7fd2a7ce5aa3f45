//! The time–sequence figure of a script.

use std::collections::BTreeMap;

use dupack_report::figure::{Retransmissions, SackBlock, TimeSequence};
use dupack_tcp::connection::{Flags, Outgoing, Segment};
use dupack_tcp::facts::SendReason;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use super::{Scale, Trace, TraceError};
use crate::line::Crossing;
use crate::stage::BEGINNING;

impl Trace {
    /// Returns the time–sequence figure with a title, as SVG. Packets are counted from the first byte of data, in full
    /// segments.
    ///
    /// # Errors
    /// Returns an error if the figure cannot be drawn.
    pub fn svg(&self, title: &str, subtitle: &str) -> Result<String, TraceError> {
        let figure = TimeSequence {
            title: title.to_owned(),
            subtitle: subtitle.to_owned(),
            ..figure(self)
        };
        Ok(figure.svg()?)
    }
}

impl Scale {
    /// Converts a sequence number of our stream to a packet number.
    fn packet(&self, seq: SeqNumber) -> f64 {
        f64::from(seq.0.wrapping_sub(self.first.0)) / self.smss
    }
}

fn figure(trace: &Trace) -> TimeSequence {
    let scale = trace.scale;
    let mut figure = TimeSequence::default();
    let mut repeated: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut highest = 0;
    for crossed in &trace.crossed {
        let time = seconds(crossed.at);
        match &crossed.what {
            Crossing::Out(out) if out.segment.len > 0 => {
                let point = (time, scale.packet(out.segment.seq));
                match out.data.start < highest {
                    true => repeated.entry(reason(out)).or_default().push(point),
                    false => figure.sends.push(point),
                }
                highest = highest.max(out.data.end);
            }
            Crossing::Out(_) => {}
            Crossing::In(segment) => show_ack(&mut figure, &scale, time, segment),
        }
    }
    let of = |(reason, points)| Retransmissions { reason, points };
    figure.retransmissions = repeated.into_iter().map(of).collect();
    for state in &trace.states {
        let time = seconds(state.at);
        figure.cwnd.push((time, state.window.cwnd / scale.smss));
        let ssthresh = state.window.ssthresh / scale.smss;
        figure.ssthresh.push((time, ssthresh));
        let in_flight = state.in_flight as f64 / scale.smss;
        figure.in_flight.push((time, in_flight));
    }
    figure
}

fn reason(out: &Outgoing) -> String {
    out.why.unwrap_or(SendReason::NewData).to_string()
}

fn show_ack(figure: &mut TimeSequence, scale: &Scale, time: f64, segment: &Segment) {
    let Some(ack) = segment.ack.filter(|_| !segment.is(Flags::SYN)) else {
        return;
    };
    // A number below the first byte of data belongs to no packet.
    let at = scale.packet(ack);
    if at < f64::from(u32::MAX) / 2.0 / scale.smss {
        figure.acks.push((time, at));
    }
    for block in segment.options.sacks.as_slice() {
        figure.sacks.push(SackBlock {
            time,
            first: scale.packet(block.start),
            end: scale.packet(block.end),
        });
    }
}

/// Returns a time on the script's clock, in seconds.
fn seconds(at: Instant) -> f64 {
    at.since(BEGINNING.min(at)).as_secs_f64()
}
