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
//! implementer; in RFC 9937 each ACK determines it, depending on whether it is a SafeACK.
//!
//! PRR is not a recovery but a part of one: a [`Prr`] exists from the beginning of a fast recovery to its end and
//! determines `Recovery::allowance`. The RFC computes `cwnd = in flight + sndcnt` once per ACK; here `sndcnt` is
//! computed after every transmission. Each segment sent increases `prr_out` and the bytes in flight by the same amount,
//! and the bytes in flight at the ACK select the formula, so both permit the same data. The sender's window is already
//! the reduced one, so it is used for ssthresh, and nothing remains to be set at the end of recovery.

/// Bound that applies while the bytes in flight do not exceed ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// SSRB on a SafeACK, CRB otherwise (RFC 9937).
    SafeAck,
    /// Always the conservative bound: never more than was delivered (RFC 6937's PRR-CRB).
    Conservative,
    /// Always the slow-start bound: one segment more than was delivered (RFC 6937's PRR-SSRB).
    SlowStart,
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
            let slow_start = match self.bound {
                Bound::SafeAck => self.progress == Progress::Safe,
                Bound::Conservative => false,
                Bound::SlowStart => true,
            };
            let limit = owed.max(self.delivered_data) + if slow_start { self.smss } else { 0 };
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
}
