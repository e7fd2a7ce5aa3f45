//! What a sender of ours knows at each transmission, kept for whoever compares it with a capture.

use std::sync::{Arc, Mutex, PoisonError};

use dupack_tcp::connection::{Flags, Outgoing};
use dupack_tcp::facts::SendReason;
use dupack_tcp::recovery::Phase;
use dupack_tcp::sender::Sender;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;

/// Whether what a sender knew is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// It is not.
    #[default]
    Off,
    /// Of our senders every transmission, of a kernel's what its socket says at the end.
    On,
}

/// A segment of the stream that a sender of ours has sent, and what it knew then.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Transmission {
    /// Its sequence number.
    pub seq: SeqNumber,
    /// Bytes of data, and one more for a FIN.
    pub len: u32,
    /// Where it begins in the stream.
    pub offset: u64,
    /// Why it was sent.
    pub why: SendReason,
    /// The state that the sender believed itself in.
    pub phase: Option<Phase>,
    /// How often its timer had expired.
    pub timeouts: u64,
    /// How many losses it had found without.
    pub loss_events: u64,
    /// The least round trip that it had seen.
    pub least_rtt: Option<Duration>,
}

/// Where transmissions are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Record(Option<Arc<Mutex<Vec<Transmission>>>>);

impl Record {
    pub(super) fn new(recording: Recording) -> Self {
        Self((recording == Recording::On).then(Arc::default))
    }

    pub(super) fn note(&self, outgoing: &Outgoing, sender: &Sender) {
        let (Some(kept), Some(why)) = (&self.0, outgoing.why) else {
            return;
        };
        let stats = sender.stats();
        let fin = u32::from(outgoing.segment.is(Flags::FIN));
        let transmission = Transmission {
            seq: outgoing.segment.seq,
            len: outgoing.segment.len + fin,
            offset: outgoing.data.start,
            why,
            phase: sender.phase(),
            timeouts: stats.timeouts,
            loss_events: stats.loss_events,
            least_rtt: sender.rtt().min(),
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(transmission);
    }

    pub(super) fn take(&self) -> Vec<Transmission> {
        let Some(kept) = &self.0 else {
            return Vec::new();
        };
        std::mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
