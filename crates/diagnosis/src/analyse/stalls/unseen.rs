//! Timeouts for segments that were lost before the capture point. The number of these segments is known only after they
//! have been retransmitted.
//!
//! If a retransmission is also lost before the capture point, it is not visible, and the periods without packets before
//! and after it are one stall.

use super::kind::StallKind;
use super::{Before, Distance, Message, SMALL_FLIGHT, Stall, Stalls};
use crate::analyse::cause::{Cause, Retransmission};
use crate::read::moment::Departure;

/// Timeout for segments that the capture does not contain, and the number of segments retransmitted since then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unseen {
    /// Start of the first of these segments.
    start: u64,
    segments: u64,
    before: Before,
}

impl Stalls {
    /// Records a retransmission. `before` is the state before the stall that it ended; `None` if it ended no stall.
    pub(super) fn note_unseen(
        &mut self,
        departure: &Departure<'_>,
        again: &Retransmission,
        before: Option<Before>,
    ) {
        let segments = departure.sent.len() as u64;
        if let Some(before) = before
            && matches!(again.cause, Cause::Timeout { .. })
            && before.segments == 0
            && self.distance == Distance::Away
        {
            self.unseen = Some(Unseen {
                start: again.start,
                segments,
                before,
            });
        } else if let Some(unseen) = &mut self.unseen
            && again.cause == Cause::AfterTimeout
        {
            unseen.segments += segments;
            if unseen.segments >= SMALL_FLIGHT {
                self.tell_unseen();
            }
        }
    }

    /// Classifies the stall of the timeout, after all unseen segments, or enough of them, have been retransmitted.
    pub(super) fn tell_unseen(&mut self) {
        let Some(unseen) = self.unseen.take() else {
            return;
        };
        let kind = match self.message {
            _ if unseen.segments >= SMALL_FLIGHT => StallKind::ContinuousLoss,
            Message::Ended => StallKind::TailOpen,
            _ => self.small_window(&unseen.before),
        };
        let place = self.recent.iter().rposition(|repair| {
            let undetermined = |stall: Stall| stall.kind == StallKind::Undetermined;
            repair.start == unseen.start && repair.stall.is_some_and(undetermined)
        });
        let Some(stall) = place.and_then(|place| self.recent.get(place)?.stall) else {
            return;
        };
        let told = Stall {
            kind,
            missing: unseen.segments,
            remedy: self.remedy(kind, &unseen.before, stall.duration()),
            ..stall
        };
        if let Some(repair) = place.and_then(|place| self.recent.get_mut(place)) {
            repair.stall = Some(told);
        }
    }
}
