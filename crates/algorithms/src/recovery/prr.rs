//! Proportional Rate Reduction: the number of bytes that may be sent on each ACK of a fast recovery.
//!
//! Mathis, Cardwell, Cheng, Dukkipati, "Proportional Rate Reduction (PRR)", RFC 9937 (§6), which replaces RFC 6937.
//!
//! If the window is reduced at once, the ACK clock stops until the bytes in flight have fallen below the window:
//! nothing is sent for half a round trip, and then a burst. PRR spreads the reduction over the round trip instead:
//!
//! ```text
//! in flight > ssthresh:  sndcnt = ⌈prr_delivered · ssthresh / RecoverFS⌉ − prr_out
//! otherwise:             sndcnt = max(prr_delivered − prr_out, DeliveredData)     (CRB)
//!                        + SMSS if the ACK is a SafeACK                           (SSRB)
//!                        at most ssthresh − in flight
//! nothing sent yet:      at least SMSS, for the fast retransmission
//! ```
//!
//! A SafeACK advances SND.UNA without further losses. RFC 6937 left the choice between the two bounds to the
//! implementer; in RFC 9937 each ACK determines it, depending on whether it is a SafeACK. RFC 6937 (§3) has three other
//! differences, which apply to the bounds that only it has:
//!
//! ```text
//! RecoverFS = SND.NXT − SND.UNA                   includes data that is sacked or was sent by limited transmit
//! CRB:   sndcnt = prr_delivered − prr_out         never more than was delivered
//! UB:    sndcnt = ssthresh − in flight            PRR-UB (§5): no bound
//! ```
//!
//! PRR is not a recovery but a part of one: a [`Prr`] exists from the beginning of a fast recovery to its end and
//! determines `Recovery::allowance`. The RFC computes `cwnd = in flight + sndcnt` once per ACK; here `sndcnt` is
//! computed after every transmission. Each segment sent increases `prr_out` and the bytes in flight by the same amount,
//! and the bytes in flight at the ACK select the formula, so both permit the same data. The sender's window is already
//! the reduced one, so it is used for ssthresh, and nothing remains to be set at the end of recovery.

use dupack_tcp::scoreboard::Scoreboard;

/// Bound that applies while the bytes in flight do not exceed ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// SSRB on a SafeACK, CRB otherwise (RFC 9937).
    SafeAck,
    /// Always the conservative bound: never more than was delivered (RFC 6937's PRR-CRB).
    Conservative,
    /// Always the slow-start bound: one segment more than was delivered (RFC 6937's PRR-SSRB).
    SlowStart,
    /// No bound: everything up to ssthresh at once (RFC 6937's PRR-UB).
    Unlimited,
}

impl Bound {
    /// Returns RecoverFS. `ack` is the ACK that begins the recovery, and `board` shows the state after it.
    ///
    /// RFC 6937 has FlightSize. The data that this ACK acknowledges counts, because it also counts in prr_delivered.
    #[must_use]
    pub fn recover_fs(self, acked: u64, delivered: u64, board: &Scoreboard) -> u64 {
        match self {
            Self::SafeAck => board.flight_size() - board.sacked_bytes() + delivered,
            Self::Conservative | Self::SlowStart | Self::Unlimited => board.flight_size() + acked,
        }
    }
}

/// Kind of progress that an ACK reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// SND.UNA advanced, and no further loss was detected: a SafeACK.
    Safe,
    /// Any other ACK.
    Unsafe,
}

/// State of one fast recovery. See the [module](self).
#[derive(Clone, Debug)]
pub struct Prr {
    bound: Bound,
    smss: u64,
    recover_fs: u64,
    prr_delivered: u64,
    prr_out: u64,
    /// `prr_out` when the last ACK arrived.
    prr_out_at_ack: u64,
    /// DeliveredData of the last ACK, and `Safe` if it was a SafeACK.
    delivered_data: u64,
    progress: Progress,
}

impl Prr {
    /// Begins a fast recovery. `recover_fs` (RecoverFS) is the data, in bytes, that had been sent and was not known to
    /// have arrived before the ACK that began the recovery.
    #[must_use]
    pub fn new(bound: Bound, smss: u32, recover_fs: u64) -> Self {
        Self {
            bound,
            smss: u64::from(smss.max(1)),
            recover_fs: recover_fs.max(1),
            prr_delivered: 0,
            prr_out: 0,
            prr_out_at_ack: 0,
            delivered_data: 0,
            progress: Progress::Unsafe,
        }
    }

    /// Processes an ACK of the recovery; the first one is the ACK that began the recovery. `delivered_data` is the
    /// number of bytes that the ACK reported for the first time.
    pub fn on_ack(&mut self, delivered_data: u64, progress: Progress) {
        self.prr_delivered += delivered_data;
        self.prr_out_at_ack = self.prr_out;
        self.delivered_data = delivered_data;
        self.progress = progress;
    }

    /// Records that `bytes` were sent, new or retransmitted.
    pub fn on_sent(&mut self, bytes: u32) {
        self.prr_out += u64::from(bytes);
    }

    /// Returns the bytes that may still be sent before the next ACK (sndcnt minus the bytes sent since the last ACK).
    /// `in_flight` bytes are in flight now, and `ssthresh` is the window at the end of the recovery.
    #[must_use]
    pub fn sndcnt(&self, ssthresh: u64, in_flight: u64) -> u64 {
        let given = self.prr_out - self.prr_out_at_ack;
        // The bytes in flight when the ACK arrived select the formula for all data that the ACK permits.
        let sndcnt = if in_flight.saturating_sub(given) > ssthresh {
            // The product of two window sizes needs 128 bits. It is rounded up to whole segments, as in the RFC's
            // examples and in Linux; less than one segment would not be sent.
            let share = u128::from(self.prr_delivered) * u128::from(ssthresh);
            let segments = share.div_ceil(u128::from(self.recover_fs) * u128::from(self.smss));
            u64::try_from(segments)
                .unwrap_or(u64::MAX)
                .saturating_mul(self.smss)
                .saturating_sub(self.prr_out)
        } else {
            let owed = self.prr_delivered.saturating_sub(self.prr_out_at_ack);
            let clocked = owed.max(self.delivered_data);
            let limit = match self.bound {
                Bound::SafeAck if self.progress == Progress::Unsafe => clocked,
                Bound::SafeAck | Bound::SlowStart => clocked + self.smss,
                Bound::Conservative => owed,
                Bound::Unlimited => u64::MAX,
            };
            let room = ssthresh.saturating_sub(in_flight);
            limit.saturating_sub(given).min(room)
        };
        if self.prr_out == 0 {
            sndcnt.max(self.smss)
        } else {
            sndcnt
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u32 = 1000;

    /// Simulates the first round trip of a recovery of 20 segments. Returns the numbers of the ACKs that send a
    /// segment, and the segments in flight after each ACK. The first `lost` segments are missing.
    fn first_round(bound: Bound, lost: u64) -> (Vec<u64>, Vec<u64>) {
        let ssthresh = 10;
        // Limited transmit has sent two more segments for the first two duplicate ACKs. The third begins the recovery,
        // and marks all missing segments as lost.
        let mut in_flight = 20 + 2 - 3 - lost;
        let mut prr = Prr::new(bound, SMSS, 20_000);
        let (mut sends, mut pipe) = (Vec::new(), Vec::new());
        for number in lost + 2..20 {
            prr.on_ack(1000, Progress::Unsafe);
            if number > lost + 2 {
                in_flight -= 1;
            }
            let count = prr.sndcnt(ssthresh * 1000, in_flight * 1000) / 1000;
            for _ in 0..count {
                prr.on_sent(SMSS);
                in_flight += 1;
            }
            sends.extend((0..count).map(|_| number));
            pipe.push(in_flight);
        }
        (sends, pipe)
    }

    #[test]
    fn the_first_segment_opens_no_other_formula() {
        // Pacing has sent nothing while nine of ten segments were delivered. Three are in flight, which is the size of
        // the window. One segment is sent in any case. Four are then in flight, but this must not permit the share of
        // the delivered data.
        let mut prr = Prr::new(Bound::SafeAck, SMSS, 10_000);
        for _ in 0..9 {
            prr.on_ack(1000, Progress::Unsafe);
        }
        assert_eq!(prr.sndcnt(3000, 3000), 1000);
        prr.on_sent(SMSS);
        assert_eq!(prr.sndcnt(3000, 4000), 0);
        // The next ACK permits it.
        prr.on_ack(0, Progress::Unsafe);
        assert_eq!(prr.sndcnt(3000, 4000), 2000);
    }

    #[test]
    fn after_one_loss_every_second_ack_sends_until_half_is_left() {
        // RFC 6937 §3.1's first example, which RFC 9937's formulas do not change: of segments 0 to 19, number 0 is
        // lost. ACK 3 sends the retransmission, then every second ACK sends new data. After the retransmission, 19 are
        // in flight; 7 of the 16 ACKs after it send a segment, which leaves 19 − 16 + 7 = 10, and this is ssthresh.
        for bound in [Bound::SafeAck, Bound::Conservative, Bound::SlowStart] {
            let (sends, pipe) = first_round(bound, 1);
            assert_eq!(sends, [3, 5, 7, 9, 11, 13, 15, 17], "{bound:?}");
            assert_eq!(pipe.last(), Some(&10));
        }
    }

    #[test]
    fn after_a_burst_of_losses_the_bounds_differ() {
        // RFC 6937 §3.1's second example: 0 to 14 are lost, and ACKs 15 to 19 arrive. 22 sent, 3 delivered and 15 lost
        // leave 4 in flight at ACK 17, below ssthresh. With the conservative bound, each of the three ACKs sends one
        // segment: 4 + 1 = 5, and this number does not change.
        let (sends, pipe) = first_round(Bound::Conservative, 15);
        assert_eq!((sends, pipe), (vec![17, 18, 19], vec![5, 5, 5]));
        // With the slow start bound, each ACK sends two segments.
        let (sends, pipe) = first_round(Bound::SlowStart, 15);
        assert_eq!((sends, pipe), (vec![17, 17, 18, 18, 19, 19], vec![6, 7, 8]));
    }

    #[test]
    fn a_safe_ack_releases_one_segment_more() {
        let mut prr = Prr::new(Bound::SafeAck, SMSS, 20_000);
        prr.on_ack(1000, Progress::Unsafe);
        assert_eq!(prr.sndcnt(10_000, 4_000), 1000);
        prr.on_sent(SMSS);
        assert_eq!(prr.sndcnt(10_000, 5_000), 0);
        prr.on_ack(1000, Progress::Safe);
        assert_eq!(prr.sndcnt(10_000, 4_000), 2000);
        prr.on_sent(SMSS);
        assert_eq!(prr.sndcnt(10_000, 5_000), 1000);
    }

    #[test]
    fn the_first_retransmission_always_goes() {
        // A timer began the recovery, so nothing was delivered.
        let mut prr = Prr::new(Bound::SafeAck, SMSS, 20_000);
        assert_eq!(prr.sndcnt(10_000, 15_000), 1000);
        assert_eq!(prr.sndcnt(10_000, 10_000), 1000);
        prr.on_sent(SMSS);
        assert_eq!(prr.sndcnt(10_000, 15_000), 0);
    }

    #[test]
    fn fractions_are_not_lost() {
        // SSThresh = 7/10 RecoverFS: 7 of 10 ACKs send a segment, not 5 (one per two) or 10.
        let mut prr = Prr::new(Bound::SafeAck, SMSS, 100_000);
        let mut sent = 0;
        for _ in 0..10 {
            prr.on_ack(1000, Progress::Unsafe);
            while prr.sndcnt(70_000, 90_000) >= 1000 {
                prr.on_sent(SMSS);
                sent += 1;
            }
        }
        assert_eq!(sent, 7);
    }

    /// The text of RFC 6937 §3, in segments, without the state that [`Prr`] has for transmissions between ACKs.
    struct Literal {
        conservative: bool,
        ssthresh: i64,
        recover_fs: i64,
        prr_delivered: i64,
        prr_out: i64,
    }

    impl Literal {
        /// Returns `sndcnt`, and the flags RB of §3.1.
        fn on_ack(&mut self, delivered: i64, pipe: i64) -> (i64, String) {
            self.prr_delivered += delivered;
            if pipe > self.ssthresh {
                let share = self.prr_delivered * self.ssthresh;
                let up = -(-share).div_euclid(self.recover_fs);
                return (up - self.prr_out, String::new());
            }
            let (mss, from_delivered) = match self.conservative {
                true => (0, i64::MIN),
                false => (1, delivered + 1),
            };
            let banked = self.prr_delivered - self.prr_out + mss;
            let limit = banked.max(from_delivered);
            let sndcnt = (self.ssthresh - pipe).min(limit);
            let flags = [
                ("s", self.ssthresh - pipe),
                ("b", banked),
                ("d", from_delivered),
            ];
            let applied = flags.iter().filter(|(_, value)| *value == sndcnt);
            (sndcnt, applied.map(|(flag, _)| *flag).collect())
        }
    }

    /// Simulates a diagram of RFC 6937 §3.1 from the third duplicate ACK on. Returns the rows `pipe`, `sent` and `RB`.
    ///
    /// The window is 20 and two segments were sent by limited transmit. The text sets ssthresh to 10, but the
    /// diagrams have 11, half of the 22 outstanding segments.
    fn diagram(bound: Bound, lost: i64) -> (Vec<i64>, Vec<i64>, Vec<String>) {
        let (ssthresh, recover_fs) = (11, 22);
        let mut prr = Prr::new(bound, SMSS, recover_fs * 1000);
        let mut literal = Literal {
            conservative: bound == Bound::Conservative,
            ssthresh: ssthresh as i64,
            recover_fs: recover_fs as i64,
            prr_delivered: 0,
            prr_out: 0,
        };
        let mut pipe = 20 - lost;
        let (mut pipes, mut sends, mut flags) = (Vec::new(), Vec::new(), Vec::new());
        for _ in lost + 2..20 {
            pipe -= 1;
            prr.on_ack(1000, Progress::Unsafe);
            let (sndcnt, flag) = literal.on_ack(1, pipe);
            assert_eq!(
                prr.sndcnt(ssthresh * 1000, pipe as u64 * 1000),
                sndcnt.max(0) as u64 * 1000
            );
            pipes.push(pipe);
            sends.push(sndcnt);
            flags.push(flag);
            for _ in 0..sndcnt {
                prr.on_sent(SMSS);
            }
            literal.prr_out += sndcnt;
            pipe += sndcnt;
        }
        (pipes, sends, flags)
    }

    #[test]
    fn rfc_6937s_diagram_of_a_single_loss() {
        for bound in [Bound::Conservative, Bound::SlowStart] {
            let (pipe, sent, flags) = diagram(bound, 1);
            // ACKs 3 to 19. The RFC's row `pipe` repeats its third entry, 18, and is late by one ACK from there to the
            // last but one: 11, at ACK 17, is what keeps PRR from sending, as the rows `sent` and `RB` show.
            let pipes = [
                18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 10, 10,
            ];
            assert_eq!(pipe, pipes, "{bound:?}");
            assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
            assert_eq!(flags[15..], ["s", "s"], "{bound:?}");
        }
    }

    #[test]
    fn rfc_6937s_diagrams_of_a_burst_of_losses() {
        let (pipe, sent, flags) = diagram(Bound::Conservative, 15);
        assert_eq!((pipe, sent), (vec![4, 4, 4], vec![1, 1, 1]));
        assert_eq!(flags, ["b", "b", "b"]);
        let (pipe, sent, flags) = diagram(Bound::SlowStart, 15);
        assert_eq!((pipe, sent), (vec![4, 5, 6], vec![2, 2, 2]));
        assert_eq!(flags, ["bd", "d", "d"]);
    }

    #[test]
    fn the_text_of_rfc_6937_agrees_on_any_sequence_of_acks() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for run in 0..2000 {
            let recover_fs = 2 + random(60);
            let ssthresh = 1 + random(recover_fs);
            let conservative = run % 2 == 0;
            let bound = match conservative {
                true => Bound::Conservative,
                false => Bound::SlowStart,
            };
            let mut prr = Prr::new(bound, SMSS, recover_fs * 1000);
            let mut literal = Literal {
                conservative,
                ssthresh: ssthresh as i64,
                recover_fs: recover_fs as i64,
                prr_delivered: 0,
                prr_out: 0,
            };
            let mut pipe = recover_fs;
            for _ in 0..40 {
                // An ACK reports at least one segment, and may show losses.
                let delivered = 1 + random(3).min(pipe.saturating_sub(1));
                pipe = pipe.saturating_sub(delivered + random(2));
                prr.on_ack(delivered * 1000, Progress::Unsafe);
                let (sndcnt, _) = literal.on_ack(delivered as i64, pipe as i64);
                let mut sndcnt = sndcnt.max(0) as u64;
                if literal.prr_out == 0 {
                    // The fast retransmission is always sent.
                    sndcnt = sndcnt.max(1);
                }
                assert_eq!(prr.sndcnt(ssthresh * 1000, pipe * 1000), sndcnt * 1000);
                // The application may have less to send.
                let sent = sndcnt - random(4).min(sndcnt);
                for _ in 0..sent {
                    prr.on_sent(SMSS);
                    pipe += 1;
                }
                literal.prr_out += sent as i64;
            }
        }
    }

    #[test]
    fn without_a_bound_everything_up_to_ssthresh_is_sent_at_once() {
        let mut prr = Prr::new(Bound::Unlimited, SMSS, 22_000);
        prr.on_ack(1000, Progress::Unsafe);
        assert_eq!(prr.sndcnt(11_000, 4000), 7000);
    }
}
