//! Size of a full segment in bytes.
//!
//! The SYNs announce an upper bound. If the capture lacks the SYNs, or if the path MTU is smaller, the size is inferred
//! from the packets. A packet that an interface splits after the capture (TSO, GSO), or merged before it (GRO), is
//! larger than any segment.

/// Assumed size of a full segment before any segment was seen: that of Ethernet, without TCP options (RFC 6691 §2).
pub(crate) const USUAL: u32 = 1460;

/// Maximum plausible size of a single segment: a jumbo frame (our choice: no interface in common use has an MTU above
/// 9,216).
const LARGEST: u32 = 9216;

/// Minimum number of packets with the same length to rule out chance (our choice).
const TIMES: u32 = 3;

/// Sizes of full segments over Ethernet: over IPv4 with and without timestamps, then over IPv6.
const ETHERNET: [u32; 4] = [1448, 1460, 1428, 1440];

/// Conditions under which the maximum length seen is that of a full segment if no SYN announces a size: a minimum
/// number of packets, and a minimum length (our choice: it allows for the headers of one or two tunnels, and messages
/// of an application are mostly shorter or longer).
const LEARNED_TIMES: u32 = 6;
const LEARNED_MIN: u32 = 1200;

/// Estimator of the segment size of one stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentSize {
    agreed: Option<u32>,
    smss: u32,
    /// Maximum length seen that does not exceed `smss`, and the number of packets with this length.
    largest: Seen,
    /// Last length seen that exceeds `smss`, and the number of packets in a row with this length.
    beyond: Seen,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    len: u32,
    times: u32,
}

impl Seen {
    fn again(&mut self) {
        self.times = self.times.saturating_add(1);
    }

    fn is_usual(self) -> bool {
        self.times >= TIMES
    }
}

impl SegmentSize {
    /// Creates an estimator. `agreed` is the size announced in the SYNs, or `None` if the capture lacks them.
    pub(crate) fn new(agreed: Option<u32>) -> Self {
        Self {
            agreed,
            smss: agreed.unwrap_or(USUAL),
            largest: Seen::default(),
            beyond: Seen::default(),
        }
    }

    /// Returns the size of a full segment, as far as it is known.
    pub(crate) const fn smss(&self) -> u32 {
        self.smss
    }

    /// Processes the length of a packet. Returns `true` if the size of a full segment has changed.
    #[inline]
    pub(crate) fn take(&mut self, len: u32) -> bool {
        if len > self.smss {
            return self.take_large(len);
        }
        if len == self.largest.len {
            self.largest.again();
            let full = self.largest;
            let learned = full.times >= LEARNED_TIMES && full.len >= LEARNED_MIN;
            if self.agreed.is_none() && learned && full.len < self.smss {
                self.smss = full.len;
                return true;
            }
        } else if len > self.largest.len {
            self.largest = Seen { len, times: 1 };
        }
        false
    }

    /// Processes a packet of several segments, or of one segment larger than the current estimate.
    fn take_large(&mut self, len: u32) -> bool {
        if self.beyond.len == len {
            self.beyond.again();
        } else {
            self.beyond = Seen { len, times: 1 };
        }
        let full = self.largest.len;
        let before = self.smss;
        if self.largest.is_usual() && full > 0 && len.is_multiple_of(full) {
            // The length is a multiple of a length that also occurs alone, so the path MTU is smaller than announced.
            self.smss = full;
        } else if self.agreed.is_none()
            && self.beyond.is_usual()
            && let Some(&size) = ETHERNET.iter().find(|&&size| len.is_multiple_of(size))
        {
            self.smss = size;
        } else if self.agreed.is_none() && self.beyond.is_usual() && len <= LARGEST {
            self.smss = len;
        }
        self.smss != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announced_size_holds() {
        let mut size = SegmentSize::new(Some(1448));
        for len in [
            100, 1448, 2896, 1448, 14_480, 1448, 28_960, 5000, 5000, 5000,
        ] {
            size.take(len);
        }
        assert_eq!(size.smss(), 1448);
    }

    #[test]
    fn a_smaller_mtu_is_recognized_despite_offload() {
        let mut size = SegmentSize::new(Some(1448));
        for len in [1400, 1400, 700, 1400] {
            assert!(!size.take(len));
        }
        assert!(size.take(4200));
        assert_eq!(size.smss(), 1400);
    }

    #[test]
    fn without_syns_a_jumbo_frame_is_one_segment_and_more_is_offload() {
        let mut jumbo = SegmentSize::new(None);
        let changes = [8948, 8948, 8948].map(|len| jumbo.take(len));
        assert_eq!((changes, jumbo.smss()), ([false, false, true], 8948));
        let mut offload = SegmentSize::new(None);
        for _ in 0..5 {
            offload.take(28_960);
        }
        // The packet has the length of twenty segments with timestamps.
        assert_eq!(offload.smss(), 1448);
        let mut short = SegmentSize::new(None);
        let lens = [1428, 700, 1428, 1428, 1428, 1428, 1428, 1428];
        for len in lens {
            short.take(len);
        }
        assert_eq!(short.smss(), 1428);
        // Messages of an application are not full segments.
        let mut messages = SegmentSize::new(None);
        for _ in 0..50 {
            messages.take(1000);
        }
        assert_eq!(messages.smss(), USUAL);
    }
}
