//! What an ACK says, before any plug-in is asked: what it acknowledges, whether it is a duplicate,
//! and what it tells of the round-trip time and the peer's window.

use super::{DuplicateAckRule, Persist, Sender, TimestampClock};
use crate::facts::AckKind;
use crate::rtt::RttSampling;
use crate::scoreboard::{Applied, Delivered, DeliveredBy};
use crate::segment::Ack;
use crate::time::{Duration, Instant};

impl Sender {
    /// Applies the ACK to the scoreboard; returns what changed, and a DSACK if there is one.
    pub(super) fn apply(
        &mut self,
        ack: &Ack,
        ack_offset: u64,
        delivered: &mut Vec<Delivered>,
    ) -> (Applied, Option<(u64, u64)>) {
        let mut blocks = [(0, 0); crate::segment::MAX_SACK_BLOCKS];
        let mut count = 0;
        let mut dsack = None;
        if self.config.sack.is_yes() && !ack.sacks.is_empty() {
            let nxt = self.scoreboard.nxt();
            let reference = ack_offset.max(self.scoreboard.una());
            let ranges = ack
                .sacks
                .as_slice()
                .iter()
                .enumerate()
                .filter_map(|(i, block)| {
                    let start = block.start.offset(self.config.isn, reference)?;
                    let end = block.end.offset(self.config.isn, reference)?;
                    (start < end && end <= nxt).then_some((i, start, end))
                });
            let mut second = None;
            for (i, start, end) in ranges {
                if i == 0 {
                    dsack = Some((start, end));
                } else if i == 1 {
                    second = Some((start, end));
                }
                blocks[count] = (start, end);
                count += 1;
            }
            // RFC 2883 §4: the first block is a DSACK if it lies below the cumulative ACK or
            // inside the second block.
            dsack = dsack.filter(|&(start, end)| {
                end <= ack_offset || second.is_some_and(|(s, e)| s <= start && end <= e)
            });
        }
        let first = usize::from(dsack.is_some());
        let blocks = blocks.get(first..count).unwrap_or(&[]);
        (self.scoreboard.apply(ack_offset, blocks, delivered), dsack)
    }

    pub(super) fn classify(
        &mut self,
        ack: &Ack,
        offset: u64,
        prior_flight: u64,
        applied: &Applied,
    ) -> AckKind {
        if applied.acked_bytes > 0 {
            self.dup_acks = 0;
            self.limited_transmit_bytes = 0;
            return AckKind::Advance;
        }
        if prior_flight == 0 || offset < self.scoreboard.una() {
            return AckKind::Other;
        }
        let duplicate = match self.config.duplicate_ack {
            DuplicateAckRule::AckNumberOnly => true,
            DuplicateAckRule::Standard if self.config.sack.is_yes() => applied.sacked_bytes > 0,
            DuplicateAckRule::Standard => ack.window == self.peer_window,
        };
        if duplicate {
            self.dup_acks += 1;
            AckKind::Duplicate
        } else {
            AckKind::Other
        }
    }

    pub(super) fn update_peer_window(&mut self, ack: &Ack, ack_offset: u64) {
        if ack_offset < self.scoreboard.una() {
            return;
        }
        self.peer_window = ack.window;
        self.peer_window_max = self.peer_window_max.max(ack.window);
        self.peer_edge = ack_offset + u64::from(ack.window);
        if self.new_len() > 0 {
            self.persist = Persist::default();
        }
    }

    /// Takes round-trip samples; returns that of the most recently sent segment.
    pub(super) fn sample_rtt(
        &mut self,
        now: Instant,
        ack: &Ack,
        applied: &Applied,
        delivered: &[Delivered],
    ) -> Option<Duration> {
        let once = |d: &&Delivered| d.segment.transmissions == 1;
        let repeated = delivered
            .iter()
            .any(|d| d.segment.transmissions > 1 && d.by == DeliveredBy::Cumulative);
        // A cumulative ACK that a retransmission caused may cover segments that arrived long
        // ago: their age is no round-trip time.
        let timeable = |d: &&Delivered| once(d) && !(repeated && d.by == DeliveredBy::Cumulative);
        let latest = delivered
            .iter()
            .filter(timeable)
            .map(|d| d.segment.sent_at)
            .max()
            .map(|sent| now.since(sent));
        if let Some(rtt) = latest {
            self.rtt.observe(rtt);
        }
        match self.rtt.sampling() {
            RttSampling::OnePerWindow => {
                if let Some((end, sent)) = self.timed
                    && self.scoreboard.una() >= end
                {
                    self.timed = None;
                    self.rtt.sample(now.since(sent));
                }
            }
            RttSampling::EverySegment => {
                let oldest = delivered
                    .iter()
                    .filter(timeable)
                    .map(|d| d.segment.sent_at)
                    .min()
                    .map(|sent| now.since(sent));
                if let Some(rtt) = oldest.or_else(|| self.echoed_rtt(now, ack, applied)) {
                    self.rtt.sample(rtt);
                }
            }
        }
        if applied.acked_bytes > 0 {
            self.rtt.advanced();
        }
        latest
    }

    /// The round-trip time that an echoed timestamp tells (RFC 7323 §4): the only sample there
    /// is when everything acknowledged was retransmitted.
    fn echoed_rtt(&self, now: Instant, ack: &Ack, applied: &Applied) -> Option<Duration> {
        if applied.acked_bytes == 0 {
            return None;
        }
        let clock = self.config.timestamps?;
        let echo = ack.timestamp_echo?;
        let ticks = self.clock_reading(now, clock).wrapping_sub(echo) as i32;
        let ticks = u64::try_from(ticks).ok()?;
        Some(clock.tick * ticks)
    }

    pub(super) fn clock_reading(&self, now: Instant, clock: TimestampClock) -> u32 {
        (now.as_nanos() / clock.tick.as_nanos().max(1)) as u32
    }

    pub(super) fn unwrap_order(&self, echo: Option<u32>) -> Option<u64> {
        if !self.config.order_echo.is_yes() {
            return None;
        }
        let behind = (self.order as u32).wrapping_sub(echo?);
        self.order
            .checked_sub(u64::from(behind))
            .filter(|&order| order > 0)
    }
}
