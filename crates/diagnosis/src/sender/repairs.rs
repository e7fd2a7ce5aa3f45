//! Properties of a loss recovery that are visible in its retransmissions.

use dupack_tcp::connection::Flags;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use super::flight::{Flight, Sack};
use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Departure, Explained, Stage};

/// Minimum flight before a loss, in segments, for which a pause differs from a lower sending rate.
const LEAST_BEFORE: f32 = 12.0;
/// Minimum number of consecutive ACKs without a departure in a pause, as a fraction of the previous window. A sender
/// that reduces its window at once by 0.3 (CUBIC) or 0.5 (Reno) waits for almost that fraction.
const PAUSE_SHARE: f32 = 0.22;
/// Maximum number of consecutive ACKs without a departure that is compatible with PRR, which answers every second or
/// third ACK.
const SPREAD_MOST: u32 = 4;
/// Maximum fraction of the window that remains after a reduction with a pause. Some controls leave the window unchanged
/// after a loss.
const CUT_MOST: f32 = 0.8;
/// Minimum number of ACKs at the threshold before a late retransmission. An earlier retransmission may be the response
/// to the first ACK that could trigger it. Our choice.
const LATE_ACKS: u32 = 4;
/// Duplicate ACK threshold `DupThresh` (RFC 5681 §3.2).
const DUP_THRESHOLD: u64 = 3;

/// Counts of events in recoveries.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs {
    /// Number of retransmissions, without a timeout, of a hole that was retransmitted before.
    pub lost_again: u32,
    /// Number of retransmissions that were triggered by time according to the explainer.
    pub by_time: u32,
    /// Number of recoveries whose first retransmission was sent at once on an ACK with fewer than three segments sacked
    /// and the highest SACK more than three segments ahead.
    pub by_forward_ack: u32,
    /// Number of recoveries under these conditions in which the sender waited for the third sacked segment.
    pub not_by_forward_ack: u32,
    /// Number of recoveries whose first retransmission waited until far more segments than the threshold were sacked.
    pub late: u32,
    /// Number of recoveries with an equally large window whose first retransmission did not wait.
    pub prompt: u32,
    /// Number of first and second duplicate ACKs that were answered with new data.
    pub limited_transmit: u32,
    /// Number of first and second duplicate ACKs that were not answered with new data.
    pub not_limited_transmit: u32,
    /// Number of recoveries that began with a pause: many ACKs, relative to the window, arrived without a departure.
    pub pauses: u32,
    /// Number of recoveries that began without a pause.
    pub spreads: u32,
    /// Number of partial ACKs, without SACK, that were answered at once with a retransmission.
    pub partial_answered: u32,
    /// Number of partial ACKs, without SACK, that were not answered at once with a retransmission.
    pub partial_unanswered: u32,
    /// Number of recoveries.
    pub recoveries: u32,
    /// Number of departures with the same TSval as the previous departure.
    pub same_timestamp: u32,
    /// Number of departures with another TSval than the previous departure.
    pub other_timestamp: u32,
    /// Number of departures with another TSval than the previous departure, within a millisecond of it.
    pub quick_other_timestamp: u32,
    last_timestamp: Option<(u32, Instant)>,
    asked: Asked,
    /// `Written` if more data was visibly available when the application last sent new data.
    more: More,
    /// Number of ACKs since enough segments were sacked for a retransmission.
    over_threshold: u32,
    episode: Option<Episode>,
    /// Style of the last recovery; `None` after the reduction of its window was counted.
    style: Option<Style>,
    /// Factor of the reduction, stored until the recovery is over.
    factor: Option<f32>,
    /// `Yes` if a SACK is far ahead and the retransmission has not been sent.
    ahead: Ahead,
}

/// Availability of more data after the last departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum More {
    /// The last departure was a full segment without PSH, so there was more data.
    Written,
    /// It is unknown whether there was more data.
    #[default]
    Unknown,
}

/// Event to which the next departure responds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Nothing,
    /// A first or second duplicate ACK.
    DuplicateAck,
    /// A partial ACK in a recovery without SACK.
    PartialAck,
}

/// Distance of the highest SACK while too few segments are sacked for any recovery except FACK: `Yes` if it is far
/// ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ahead {
    #[default]
    No,
    Yes,
}

/// Behaviour of a sender after its first retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// The sender waits until enough data has left the network.
    Pause,
    /// The sender continues at a lower rate.
    Spread,
}

/// Time of the first retransmission of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// When the threshold was reached, or soon after it.
    Prompt,
    /// When a large fraction of the window had been sacked.
    Late,
}

/// First round trip of a recovery.
#[derive(Clone, Copy, Debug)]
struct Episode {
    before: f32,
    first: First,
    /// SND.NXT when the recovery began.
    recover: u64,
    acks: u32,
    run: u32,
    longest: u32,
    /// Number of segments retransmitted in the recovery.
    repaired: u32,
}

impl Repairs {
    /// Records a departure; `before` is the flight before the loss, in segments.
    pub fn departed(
        &mut self,
        departure: &Departure<'_>,
        explained: &Explained<'_>,
        (flight, before, nxt_before): (&Flight, f32, u64),
    ) {
        self.timestamp(departure);
        if departure.kind == SendingKind::First {
            let flags = departure.flags;
            let ends = flags.contains(Flags::PSH) || flags.contains(Flags::FIN);
            let len = departure.end.saturating_sub(departure.start);
            self.more = if ends || !len.is_multiple_of(flight.smss()) {
                More::Unknown
            } else {
                More::Written
            };
        }
        let is_repeat = explained.retransmission.is_some();
        match core::mem::take(&mut self.asked) {
            Asked::DuplicateAck if departure.kind == SendingKind::First => {
                self.limited_transmit = self.limited_transmit.saturating_add(1);
            }
            Asked::PartialAck if is_repeat => {
                self.partial_answered = self.partial_answered.saturating_add(1);
            }
            Asked::PartialAck => {
                self.partial_unanswered = self.partial_unanswered.saturating_add(1);
            }
            _ => {}
        }
        if let Some(episode) = &mut self.episode {
            episode.longest = episode.longest.max(episode.run);
            episode.run = 0;
            episode.repaired = episode.repaired.saturating_add(u32::from(is_repeat));
        }
        let Some(retransmission) = explained.retransmission else {
            return;
        };
        match retransmission.cause {
            Cause::LostAgain if explained.stage == Stage::Recovery => {
                self.lost_again = self.lost_again.saturating_add(1);
            }
            Cause::Rack => self.by_time = self.by_time.saturating_add(1),
            Cause::Timeout { .. } => self.episode = None,
            _ => {}
        }
        let is_first = matches!(
            retransmission.cause,
            Cause::DuplicateAcks | Cause::SackedBeyond | Cause::Rack | Cause::EarlyRetransmit
        );
        if !is_first || self.episode.is_some() || explained.stage == Stage::Loss {
            return;
        }
        self.recoveries = self.recoveries.saturating_add(1);
        self.style = None;
        self.factor = None;
        self.trigger(departure, flight);
        self.prompt_or_late(departure, flight, before);
        let first = self.when(departure, before);
        self.over_threshold = 0;
        self.episode = Some(Episode {
            before,
            first,
            recover: nxt_before,
            acks: 0,
            run: 0,
            longest: 0,
            repaired: 1,
        });
    }

    /// Records the trigger of a recovery's first retransmission.
    fn trigger(&mut self, departure: &Departure<'_>, flight: &Flight) {
        let ahead = core::mem::take(&mut self.ahead);
        if flight.sack() == Sack::Unseen {
            return;
        }
        let sacked = departure.view.scoreboard.sacked_segments();
        if ahead == Ahead::Yes {
            if sacked < DUP_THRESHOLD {
                self.by_forward_ack = self.by_forward_ack.saturating_add(1);
            } else {
                self.not_by_forward_ack = self.not_by_forward_ack.saturating_add(1);
            }
        }
    }

    /// Returns the time class of the first retransmission, which has just been sent. In addition to the number of
    /// segments, the number of ACKs counts, because one ACK may report many segments.
    fn when(&self, departure: &Departure<'_>, before: f32) -> First {
        let sacked = departure.view.scoreboard.sacked_segments();
        let much = sacked as f32 >= PAUSE_SHARE * before && sacked > 2 * DUP_THRESHOLD;
        if much && self.over_threshold >= LATE_ACKS {
            First::Late
        } else {
            First::Prompt
        }
    }

    /// Records that the first retransmission waited for space in the reduced window, or that it did not.
    fn prompt_or_late(&mut self, departure: &Departure<'_>, flight: &Flight, before: f32) {
        if flight.sack() == Sack::Unseen || before < LEAST_BEFORE {
            return;
        }
        let count = match self.when(departure, before) {
            First::Late => &mut self.late,
            First::Prompt => &mut self.prompt,
        };
        *count = count.saturating_add(1);
    }

    pub fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>, flight: &Flight) {
        let facts = &arrival.facts;
        self.unanswered();
        let can_send = self.more == More::Written
            && arrival
                .window_left
                .is_none_or(|left| left >= 2 * flight.smss());
        if explained.stage == Stage::Disorder && (1..=2).contains(&facts.dup_acks) && can_send {
            self.asked = Asked::DuplicateAck;
        }
        let board = arrival.view.scoreboard;
        if board.sacked_segments() < DUP_THRESHOLD {
            self.over_threshold = 0;
        } else if explained.stage == Stage::Disorder {
            self.over_threshold = self.over_threshold.saturating_add(1);
        }
        let is_early = explained.stage == Stage::Disorder && flight.sack() == Sack::Seen;
        let sacked = board.sacked_segments();
        let distance = board.forward_ack().saturating_sub(board.una());
        if is_early && (1..DUP_THRESHOLD).contains(&sacked) && distance > 4 * flight.smss() {
            self.ahead = Ahead::Yes;
        }
        if explained.stage == Stage::Open {
            self.ahead = Ahead::No;
        }
        self.episode_acked(arrival, explained, flight);
    }

    fn episode_acked(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>, flight: &Flight) {
        let facts = &arrival.facts;
        let Some(mut episode) = self.episode else {
            return;
        };
        if facts.una >= episode.recover || explained.stage == Stage::Open {
            self.close(episode);
            return;
        }
        if facts.acked_bytes > 0 && flight.sack() == Sack::Unseen {
            self.asked = Asked::PartialAck;
        }
        episode.acks = episode.acks.saturating_add(1);
        episode.run = episode.run.saturating_add(1);
        self.episode = Some(episode);
    }

    fn unanswered(&mut self) {
        match core::mem::take(&mut self.asked) {
            Asked::DuplicateAck => {
                self.not_limited_transmit = self.not_limited_transmit.saturating_add(1);
            }
            Asked::PartialAck => {
                self.partial_unanswered = self.partial_unanswered.saturating_add(1);
            }
            Asked::Nothing => {}
        }
    }

    /// Ends a recovery.
    fn close(&mut self, episode: Episode) {
        self.episode = None;
        let longest = episode.longest.max(episode.run);
        // If many segments were lost at once, the flight is already small, and no sender needs to wait.
        let is_small = episode.repaired as f32 <= episode.before * (PAUSE_SHARE / 2.0);
        if episode.before < LEAST_BEFORE || !is_small {
            return;
        }
        let style = if episode.first == First::Late {
            // The pause was before the first retransmission.
            Style::Pause
        } else if longest as f32 >= PAUSE_SHARE * episode.before && longest > SPREAD_MOST {
            Style::Pause
        } else if longest <= SPREAD_MOST {
            Style::Spread
        } else {
            return;
        };
        self.style = Some(style);
        if let Some(factor) = self.factor.take() {
            self.measured(factor);
        }
    }

    /// Records the fraction of the window that remained after the loss.
    pub fn measured(&mut self, factor: f32) {
        let Some(style) = self.style.take() else {
            self.factor = self.episode.is_some().then_some(factor);
            return;
        };
        if factor > CUT_MOST {
            return;
        }
        let count = match style {
            Style::Pause => &mut self.pauses,
            Style::Spread => &mut self.spreads,
        };
        *count = count.saturating_add(1);
    }

    fn timestamp(&mut self, departure: &Departure<'_>) {
        let Some(timestamps) = departure.timestamps else {
            return;
        };
        let value = timestamps.value;
        if let Some((last, at)) = self.last_timestamp {
            if last == value {
                self.same_timestamp = self.same_timestamp.saturating_add(1);
            } else {
                self.other_timestamp = self.other_timestamp.saturating_add(1);
                let gap = departure.at.since(at);
                if gap < dupack_tcp::time::Duration::from_micros(900) {
                    self.quick_other_timestamp = self.quick_other_timestamp.saturating_add(1);
                }
            }
        }
        self.last_timestamp = Some((value, departure.at));
    }
}
