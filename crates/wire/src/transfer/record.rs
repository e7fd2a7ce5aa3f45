//! Recording of our sender's state at each transmission, for comparison with a capture.

use std::sync::{Arc, Mutex, PoisonError};

use dupack_tcp::connection::{Flags, Outgoing};
use dupack_tcp::facts::SendReason;
use dupack_tcp::recovery::Phase;
use dupack_tcp::sender::Sender;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;

/// Recording of a sender's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing is recorded.
    #[default]
    Off,
    /// Our senders record every transmission. A kernel's sender records the socket's statistics at the end.
    On,
}

/// A stream segment that our sender has sent, with the sender's state at that time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Transmission {
    /// Sequence number of the segment.
    pub seq: SeqNumber,
    /// Bytes of data, plus one for a FIN.
    pub len: u32,
    /// Offset of the segment in the stream.
    pub offset: u64,
    /// Reason for the transmission.
    pub why: SendReason,
    /// Recovery phase of the sender.
    pub phase: Option<Phase>,
    /// Number of retransmission timeouts so far.
    pub timeouts: u64,
    /// Number of loss events that were detected without a timeout so far.
    pub loss_events: u64,
    /// Minimum round-trip time seen so far.
    pub least_rtt: Option<Duration>,
}

/// Recorded transmissions.
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
