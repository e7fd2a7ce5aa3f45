//! What crossed the wire in a script: as a figure, and as a capture.

use std::collections::BTreeMap;

use dupack_report::figure::{FigureError, Retransmissions, SackBlock, TimeSequence};
use dupack_tcp::connection::{Flags, Outgoing, Segment};
use dupack_tcp::facts::SendReason;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;
use dupack_wire::emit::MAX_HEADER_BYTES;
use dupack_wire::{
    CaptureError, CaptureTime, CaptureWriter, Checksum, Endpoints, Envelope, Snap, emit,
};
use thiserror::Error;

use crate::line::{Crossed, Crossing, Line};
use crate::run::seconds;

/// What crossed the wire of the connection that a script was about last.
#[derive(Clone, Debug)]
pub struct Trace {
    figure: TimeSequence,
    crossed: Vec<Crossed>,
}

/// Why a trace could not be made into files.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The figure.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// The capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A packet that no header can describe.
    #[error(transparent)]
    Packet(#[from] dupack_wire::EmitError),
}

impl Trace {
    pub(crate) fn of(line: &Line) -> Self {
        Self {
            figure: figure(line),
            crossed: line.record.clone(),
        }
    }

    /// The time–sequence figure, under a title, as SVG. Packets count from the first byte of
    /// data, in full segments.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn svg(&self, title: &str, subtitle: &str) -> Result<String, TraceError> {
        let figure = TimeSequence {
            title: title.to_owned(),
            subtitle: subtitle.to_owned(),
            ..self.figure.clone()
        };
        Ok(figure.svg()?)
    }

    /// The packets both ways as a pcapng file. Each that the endpoint sent says why.
    ///
    /// # Errors
    /// If a packet cannot be written.
    pub fn pcapng(&self) -> Result<Vec<u8>, TraceError> {
        let mut capture = CaptureWriter::new(Vec::new(), Snap::Full)?;
        let ends = Endpoints::of_flow(0);
        for (number, crossed) in self.crossed.iter().enumerate() {
            let (segment, source, destination, why) = match &crossed.what {
                Crossing::Out(out) => (out.segment, ends.sender, ends.receiver, out.why),
                Crossing::In(segment) => (*segment, ends.receiver, ends.sender, None),
            };
            let envelope = Envelope {
                source,
                destination,
                identification: number as u16,
                checksum: Checksum::Full,
            };
            let mut packet = vec![0; MAX_HEADER_BYTES + segment.len as usize];
            let length = emit(&mut packet, &envelope, &segment, |_| {})?;
            packet.truncate(length);
            let why = why.map(|why| why.to_string());
            let at = CaptureTime::from_simulation(crossed.at);
            capture.write(at, &packet, why.as_deref())?;
        }
        Ok(capture.finish()?)
    }
}

/// What the figure's numbers count from.
struct Scale {
    /// The first byte of data.
    first: SeqNumber,
    smss: f64,
}

impl Scale {
    /// A sequence number of this end's stream as a packet's number.
    fn packet(&self, seq: SeqNumber) -> f64 {
        f64::from(seq.0.wrapping_sub(self.first.0)) / self.smss
    }
}

fn figure(line: &Line) -> TimeSequence {
    let agreed = line.connection.negotiated();
    let scale = Scale {
        first: line.connection.config().iss.at(1),
        smss: agreed.map_or(1.0, |agreed| f64::from(agreed.smss)),
    };
    let mut figure = TimeSequence::default();
    let mut repeated: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut highest = 0;
    for crossed in &line.record {
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
    for state in &line.states {
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
    // A number below the first byte is no packet's.
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

/// How the sender stood from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) at: Instant,
    pub(crate) window: dupack_tcp::window::Window,
    pub(crate) in_flight: u64,
}
