//! Evaluation of an ACK before any plug-in is called: acknowledged data, kind of the ACK, round-trip time, and the
//! peer's window.

use alloc::vec::Vec;

use super::state::{Persist, State};
use super::{CreditRule, DuplicateAckRule, TimestampClock};
use crate::facts::{AckFacts, AckKind};
use crate::recovery::Timing;
use crate::rtt::RttSampling;
use crate::scoreboard::{Applied, Delivered, DeliveredBy};
use crate::segment::{Ack, Bit};
use crate::time::{Duration, Instant};

impl State {
    /// Returns the stream offset of the cumulative acknowledgment; `None` if the ACK acknowledges data that was never
    /// sent (RFC 9293 §3.10.7.4).
    #[inline(always)]
    pub(crate) fn acknowledged_offset(&self, ack: &Ack) -> Option<u64> {
        let una = self.scoreboard.una();
        let offset = ack.ack.offset(self.config.isn, una)?;
        (offset <= self.scoreboard.nxt()).then_some(offset)
    }

    /// Applies an ACK of all data before `offset`, and returns its facts. `delivered` is empty; the segments that the
    /// ACK reports for the first time are appended to it.
    #[inline(always)]
    pub(crate) fn take_in<'a>(
        &mut self,
        now: Instant,
        ack: &Ack,
        offset: u64,
        prior_in_flight: Option<u64>,
        delivered: &'a mut Vec<Delivered>,
    ) -> AckFacts<'a> {
        let prior_flight = self.scoreboard.flight_size();
        let prior_flight_unlimited = self.unlimited_flight_size();
        let sacked_up_to =
            (self.scoreboard.sacked_segments() > 0).then(|| self.scoreboard.forward_ack());
        let (applied, dsack) = self.apply(ack, offset, delivered);
        let kind = self.classify(ack, offset, prior_flight, &applied);
        self.update_peer_window(ack, offset);
        if let Some(edge) = sacked_up_to {
            self.measure_reordering(edge, delivered);
        }
        let rtt = self.sample_rtt(now, ack, &applied, delivered);
        let ecn_echo = match &self.marks {
            Some(_) => self.take_echo(ack, &applied, delivered.len() as u64),
            None => Bit::Clear,
        };
        let marked_packets = self.marks.as_ref().and_then(|marks| marks.told());
        AckFacts {
            now,
            una: self.scoreboard.una(),
            acked_bytes: applied.acked_bytes,
            delivered_bytes: applied.delivered_bytes,
            sacked_bytes: applied.sacked_bytes,
            delivered,
            kind,
            dup_acks: self.dup_acks,
            dsack,
            prior_flight,
            prior_flight_unlimited,
            prior_in_flight,
            rtt,
            timestamp_echo: self.config.timestamps.and(ack.timestamp_echo),
            order_echo: self.unwrap_order(ack.order_echo),
            limited_by: self.limited_by,
            ecn_echo,
            marked_packets,
            window_use: self.usage.of_flight,
        }
    }

    /// Applies the ACK to the scoreboard. Returns the changes, and the DSACK if there is one.
    fn apply(
        &mut self,
        ack: &Ack,
        ack_offset: u64,
        delivered: &mut Vec<Delivered>,
    ) -> (Applied, Option<(u64, u64)>) {
        let mut blocks = [(0, 0); crate::segment::MAX_SACK_BLOCKS];
        let mut count = 0;
        let mut dsack = None;
        if self.config.sack.is_on() && !ack.sacks.is_empty() {
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
            // RFC 2883 §4: the first block is a DSACK if it lies below the cumulative ACK or inside the second block.
            dsack = dsack.filter(|&(start, end)| {
                end <= ack_offset || second.is_some_and(|(s, e)| s <= start && end <= e)
            });
        }
        let first = usize::from(dsack.is_some());
        let blocks = blocks.get(first..count).unwrap_or(&[]);
        (self.scoreboard.apply(ack_offset, blocks, delivered), dsack)
    }

    fn classify(
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
            DuplicateAckRule::Standard if self.config.sack.is_on() => applied.sacked_bytes > 0,
            DuplicateAckRule::Standard => ack.window == self.peer_window,
        };
        if duplicate {
            self.dup_acks += 1;
            AckKind::Duplicate
        } else {
            AckKind::Other
        }
    }

    /// Returns the number of bytes that count for the growth of the window on an ACK with
    /// [`Growth::Acked`](crate::recovery::Growth::Acked).
    #[inline(always)]
    pub(crate) fn credited(&mut self, facts: &AckFacts<'_>) -> u64 {
        match self.config.credit {
            CreditRule::Acknowledged => facts.acked_bytes,
            CreditRule::Delivered if !self.config.sack.is_on() => self.presumed_news(facts),
            // On a path that reorders packets, sacked data counts as acknowledged (Linux: `tcp_may_raise_cwnd`).
            CreditRule::Delivered if facts.acked_bytes == 0 && !self.stats.is_reordered() => 0,
            CreditRule::Delivered => facts.delivered_bytes,
        }
    }

    /// Without SACK, returns the number of bytes of an advance that duplicate ACKs are not assumed to have reported. An
    /// advance has at least one new segment, which fills the hole.
    fn presumed_news(&mut self, facts: &AckFacts<'_>) -> u64 {
        let smss = u64::from(self.config.smss);
        let acked = facts.acked_bytes;
        let known = self.presumed_bytes;
        if facts.kind == AckKind::Duplicate {
            let flight = self.scoreboard.flight_size();
            let most = flight.saturating_sub(smss);
            if known + smss > most {
                // There are more duplicate ACKs than segments that can have caused them (`tcp_check_reno_reordering`).
                self.stats.count_reordering(flight.div_ceil(smss));
            }
            self.presumed_bytes = (known + smss).min(most);
        } else if acked > 0 {
            self.presumed_bytes = known.saturating_sub(acked.saturating_sub(smss));
        }
        acked.saturating_sub(known).max(acked.min(smss))
    }

    /// Detects reordered segments: segments below `edge` that were sent only once and are reported after data up to
    /// `edge` was sacked (Linux: `tcp_check_sack_reordering`). The reordering distance is the distance to the highest
    /// byte reported.
    #[inline(never)]
    fn measure_reordering(&mut self, edge: u64, delivered: &[Delivered]) {
        let once = delivered.iter().filter(|d| d.segment.transmissions == 1);
        let late = once.map(|d| d.segment.start).filter(|&start| start < edge);
        if let Some(lowest) = late.min() {
            let distance = self.scoreboard.forward_ack().saturating_sub(lowest);
            let extent = distance.div_ceil(u64::from(self.config.smss));
            self.stats.count_reordering(extent);
        }
    }

    fn update_peer_window(&mut self, ack: &Ack, ack_offset: u64) {
        if ack_offset < self.scoreboard.una() {
            return;
        }
        self.peer_window = ack.window;
        self.peer_window_max = self.peer_window_max.max(ack.window);
        self.peer_edge = ack_offset + u64::from(ack.window);
        if self.persist.is_under_way() && self.new_len() > 0 {
            self.persist = Persist::default();
        }
    }

    /// Takes round-trip samples. Returns the sample of the segment that was sent last.
    fn sample_rtt(
        &mut self,
        now: Instant,
        ack: &Ack,
        applied: &Applied,
        delivered: &[Delivered],
    ) -> Option<Duration> {
        let sent = sending_times(delivered);
        let latest = sent.map(|(_, latest)| now.since(latest));
        if let Some(rtt) = latest {
            self.rtt.observe(rtt);
        }
        match self.rtt.sampling() {
            RttSampling::OnePerWindow => {
                // The recovery decides about the sample: see `take_timed_sample`.
                self.note_echo(delivered);
            }
            RttSampling::EverySegment => {
                let oldest = sent.map(|(oldest, _)| now.since(oldest));
                let rtt = oldest
                    .or_else(|| self.echoed_rtt(now, ack, applied))
                    .or_else(|| self.ordered_rtt(now, ack, delivered));
                if let Some(rtt) = rtt {
                    self.rtt.sample(rtt, now);
                }
            }
        }
        if applied.acked_bytes > 0 {
            self.rtt.advanced();
        }
        latest
    }

    /// Records the send time of the segment that advanced the cumulative acknowledgment. This ACK and all following
    /// duplicate ACKs would echo the timestamp of that segment.
    fn note_echo(&mut self, delivered: &[Delivered]) {
        // Cumulatively acknowledged segments come first, in order.
        if let Some(first) = delivered.first()
            && first.by == DeliveredBy::Cumulative
            && let Some(timed) = &mut self.timing
        {
            timed.echoed = Some(first.segment.sent_at);
        }
    }

    /// Takes the sample of the timed segment if one segment is timed at a time.
    pub(crate) fn take_timed_sample(&mut self, now: Instant, facts: &AckFacts<'_>, timing: Timing) {
        let Some(timed) = &mut self.timing else {
            return;
        };
        let covered = timed
            .segment
            .filter(|&(end, _)| facts.acked_bytes > 0 && facts.una >= end);
        match timing {
            Timing::Sample => {
                if let Some((_, sent)) = covered {
                    timed.segment = None;
                    self.rtt.sample(now.since(sent), now);
                }
            }
            Timing::Discard | Timing::SampleEcho => {
                let backoff = self.rtt.backoff();
                if timing == Timing::SampleEcho
                    && let Some(sent) = timed.echoed
                {
                    self.rtt.sample(now.since(sent), now);
                    self.rtt.set_backoff(backoff);
                }
                if covered.is_some() {
                    timed.segment = None;
                    self.rtt.set_backoff(0);
                }
            }
            Timing::Keep => {}
            Timing::KeepAndEndBackoff => self.rtt.set_backoff(0),
        }
    }

    /// Returns the round-trip time according to the echoed timestamp (RFC 7323 §4). It is the only sample if all
    /// acknowledged segments were retransmitted.
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

    /// Returns the age of the transmission whose number the ACK echoes, if the ACK reports that segment (LE §2.2.4,
    /// §4.2). It is used as a sample if all reported segments were retransmitted.
    fn ordered_rtt(&self, now: Instant, ack: &Ack, delivered: &[Delivered]) -> Option<Duration> {
        let order = self.unwrap_order(ack.order_echo)?;
        let caused = delivered.iter().find(|d| d.segment.order == order)?;
        Some(now.since(caused.segment.sent_at))
    }

    pub(super) fn clock_reading(&self, now: Instant, clock: TimestampClock) -> u32 {
        (now.as_nanos() / clock.tick.as_nanos().max(1)) as u32
    }

    fn unwrap_order(&self, echo: Option<u32>) -> Option<u64> {
        if !self.config.order_echo.is_on() {
            return None;
        }
        let behind = (self.order as u32).wrapping_sub(echo?);
        self.order
            .checked_sub(u64::from(behind))
            .filter(|&order| order > 0)
    }
}

/// Returns the first and the last send time of the reported segments that can be timed. Only segments that were sent
/// once can be timed.
///
/// A cumulative ACK caused by a retransmission may cover segments that arrived much earlier. The age of these segments
/// is not a round-trip time, so no cumulatively acknowledged segment of such an ACK is timed.
#[inline]
fn sending_times(delivered: &[Delivered]) -> Option<(Instant, Instant)> {
    if let [one] = delivered {
        let sent = one.segment.sent_at;
        return (one.segment.transmissions == 1).then_some((sent, sent));
    }
    let repeated = delivered
        .iter()
        .any(|d| d.segment.transmissions > 1 && d.by == DeliveredBy::Cumulative);
    let timeable = delivered
        .iter()
        .filter(|d| d.segment.transmissions == 1 && !(repeated && d.by == DeliveredBy::Cumulative));
    timeable.fold(None, |times, d| {
        let sent = d.segment.sent_at;
        Some(
            times.map_or((sent, sent), |(first, last): (Instant, Instant)| {
                (first.min(sent), last.max(sent))
            }),
        )
    })
}
