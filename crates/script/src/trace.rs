//! The trace of a script: its packets as a figure and as a capture.

#[cfg(feature = "figures")]
mod figure;

use dupack_packet::emit::MAX_HEADER_BYTES;
use dupack_packet::{
    CaptureError, CaptureTime, CaptureWriter, Checksum, Endpoints, Envelope, Snap, emit,
};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;
use thiserror::Error;

use crate::line::{Crossed, Crossing, Line};

/// The packets of the last connection that the script used.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "figures"), allow(dead_code))]
pub struct Trace {
    scale: Scale,
    crossed: Vec<Crossed>,
    /// States of the sender, in the order of time.
    states: Vec<Standing>,
}

/// Errors in converting a trace.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The figure cannot be drawn.
    #[cfg(feature = "figures")]
    #[error(transparent)]
    Figure(#[from] dupack_report::figure::FigureError),
    /// The capture cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A packet has no valid headers.
    #[error(transparent)]
    Packet(#[from] dupack_packet::EmitError),
}

impl Trace {
    pub(crate) fn of(line: &Line) -> Self {
        let agreed = line.connection.negotiated();
        Self {
            scale: Scale {
                first: line.connection.config().iss.at(1),
                smss: agreed.map_or(1.0, |agreed| f64::from(agreed.smss)),
            },
            crossed: line.record.clone(),
            states: line.states.clone(),
        }
    }

    /// Returns the packets in both directions as a pcapng file. Each sent packet has a comment with the reason for its
    /// transmission.
    ///
    /// # Errors
    /// Returns an error if a packet cannot be written.
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

/// Origin of a figure's axes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "figures"), allow(dead_code))]
struct Scale {
    /// Sequence number of the first byte of data.
    first: SeqNumber,
    smss: f64,
}

/// State of the sender, from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    pub(crate) at: Instant,
    pub(crate) window: dupack_tcp::window::Window,
    pub(crate) in_flight: u64,
}
