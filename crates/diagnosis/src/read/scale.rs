//! Window scale of a receiver whose SYN the capture lacks, inferred from the behaviour of both endpoints.
//!
//! A sender never sends beyond the window (RFC 9293 §3.8.6), which excludes small shifts. A sender that is limited by
//! the window repeatedly fills it to within one segment. Therefore, the shift is inferred only where the window
//! matters.
//!
//! While the application does not read, the receive window shrinks by the number of bytes that arrive. Its right edge
//! stays in place, to within the unit of the scale, and never moves back (RFC 7323 §2.4). Therefore, the receiver's
//! shift is the largest one with which the edge never moves back and often stays.

/// Number of possible shifts (RFC 7323 §2.3).
const SHIFTS: usize = 15;

/// Conditions for a shift to be identified by the sender's stops at the end of the window: a minimum number of such
/// stops, and four of five of all stops (our choice: if a window has n segments, a constant flight ends there by chance
/// with a probability of 1/n).
const FILLED_MIN: u32 = 32;
const FILLED_PART: (u32, u32) = (4, 5);

/// Minimum window in segments (our choice): any flight fills a smaller window.
const SEGMENTS_MIN: u64 = 4;

/// Minimum size, in segments, of a window that never changes (our choice). A constant flight that happens to have the
/// same size also fills such a window. With this minimum, the probability is one in 23.
const STEADY_SEGMENTS_MIN: u64 = 32;

/// Number of stops beyond the window of a shift that excludes the shift (our choice: a single stop may be a probe).
const BEYOND_MAX: u32 = 3;

/// Conditions for the right edge to count as staying in place: a minimum number of decreases of the window field after
/// which it stayed, and three of five of all decreases (our choice).
const STAYED_MIN: u32 = 12;
const STAYED_PART: (u32, u32) = (3, 5);

/// Conditions under which the window does not limit the sender: a minimum number of stops, of which at most one in
/// [`SELDOM_OF`] is near the end of the window (our choice).
const STOPS_MIN: u32 = 16;
const SELDOM_OF: u32 = 10;

/// Statistics of the sender's distance to the end of the window, for each possible shift of the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scale {
    filled: [u32; SHIFTS],
    beyond: [u32; SHIFTS],
    /// Number of stops within one segment of the window's end, for windows of any size.
    near: [u32; SHIFTS],
    stops: u32,
    /// Number of ACKs with a smaller window field than the previous one for which the right edge would have moved back.
    retreated: [u32; SHIFTS],
    /// Totals of the runs in which the window field fell to half or less, and the current run.
    deep: Falls,
    run: Falls,
    /// Minimum and maximum window field, and the size of a full segment in bytes.
    fields: Option<(u16, u16)>,
    mss: u64,
}

/// Run of ACKs in which the window field decreases.
#[derive(Clone, Copy, Debug, Default)]
struct Falls {
    /// Window field before the first decrease.
    from: u16,
    falls: u32,
    /// Number of decreases for which the right edge stayed in place.
    stayed: [u32; SHIFTS],
}

impl Falls {
    fn add(&mut self, other: &Self) {
        self.falls = self.falls.saturating_add(other.falls);
        for (mine, theirs) in self.stayed.iter_mut().zip(other.stayed) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

impl Scale {
    /// Records that the sender stopped `ahead` bytes after the last ACK while the window field was `field`. A full
    /// segment has `mss` bytes.
    pub(crate) fn stopped(&mut self, ahead: u64, field: u16, mss: u64) {
        if field == 0 {
            return;
        }
        self.stops = self.stops.saturating_add(1);
        let (low, high) = self.fields.unwrap_or((field, field));
        self.fields = Some((low.min(field), high.max(field)));
        self.mss = mss;
        let counts = self.filled.iter_mut().zip(&mut self.beyond);
        for (((filled, beyond), near), shift) in counts.zip(&mut self.near).zip(0_u32..) {
            let window = u64::from(field) << shift;
            if ahead > window {
                *beyond = beyond.saturating_add(1);
            } else if window - ahead < mss {
                *near = near.saturating_add(1);
                *filled = filled.saturating_add(u32::from(window >= SEGMENTS_MIN * mss));
            }
        }
    }

    /// Records an ACK of `bytes` new bytes that changed the window field from `before` to `now`.
    pub(crate) fn acknowledged(&mut self, bytes: u64, before: u16, now: u16) {
        if now > before {
            self.run = Falls::default();
        }
        let fall = u64::from(before.saturating_sub(now));
        if fall == 0 {
            return;
        }
        self.run.from = self.run.from.max(before);
        self.run.falls += 1;
        let counts = self.run.stayed.iter_mut().zip(&mut self.retreated);
        for ((stayed, retreated), shift) in counts.zip(0_u32..) {
            // A window is a multiple of its unit, and is rounded up so that its edge does not move back.
            let units = bytes >> shift;
            if fall > units {
                *retreated = retreated.saturating_add(1);
            } else if fall == units {
                *stayed += 1;
            }
        }
        // Small movements of the field are not conclusive.
        if now <= self.run.from / 2 {
            self.deep.add(&self.run);
            self.run = Falls {
                from: self.run.from,
                ..Falls::default()
            };
        }
    }

    /// Returns `true` if the sender hardly ever reached the end of the window for any possible scale, so the window
    /// does not limit it.
    pub(crate) fn is_never_filled(&self) -> bool {
        let seldom = |count: u32| count.saturating_mul(SELDOM_OF) <= self.stops;
        let counts = self.near.iter().zip(&self.beyond);
        // If the capture lacks ACKs, a few stops seem to lie beyond the window.
        let mut possible = counts.filter(|(_, beyond)| seldom(**beyond));
        self.stops >= STOPS_MIN && possible.all(|(near, _)| seldom(*near))
    }

    /// Returns the shift; `None` if it is not known.
    pub(crate) fn shift(&self) -> Option<u8> {
        self.filled_shift().or_else(|| self.stayed_shift())
    }

    fn stayed_shift(&self) -> Option<u8> {
        let counts = self.deep.stayed.iter().zip(&self.retreated).zip(0_u8..);
        let possible = |(_, retreated): (&u32, &u32)| *retreated < BEYOND_MAX;
        let ((stayed, _), shift) = counts.filter(|(counts, _)| possible(*counts)).last()?;
        let (part, of) = STAYED_PART;
        let often = stayed.saturating_mul(of) >= self.deep.falls.saturating_mul(part);
        (often && *stayed >= STAYED_MIN).then_some(shift)
    }

    fn filled_shift(&self) -> Option<u8> {
        let counts = self.filled.iter().zip(&self.beyond).zip(0_u8..);
        let possible = |(_, beyond): (&u32, &u32)| *beyond < BEYOND_MAX;
        let mut possible = counts.filter(|(counts, _)| possible(*counts));
        // Only the correct shift yields full windows. With larger shifts, some of the window remains unused.
        let ((filled, _), shift) = possible.next()?;
        let (part, of) = FILLED_PART;
        let often = filled.saturating_mul(of) >= self.stops.saturating_mul(part);
        let often = often && *filled >= FILLED_MIN;
        (often && self.is_no_chance(shift)).then_some(shift)
    }

    /// Returns `true` if the window varied by at least two segments or is large, for this shift.
    fn is_no_chance(&self, shift: u8) -> bool {
        let (low, high) = self.fields.unwrap_or_default();
        let [low, high] = [low, high].map(|field| u64::from(field) << shift);
        high - low >= self.mss.saturating_mul(2)
            || low >= self.mss.saturating_mul(STEADY_SEGMENTS_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_window_shows_its_scale() {
        let mut scale = Scale::default();
        for n in 0..60_u64 {
            // At nearly every stop, the sender has filled a window of 500 << 7 bytes.
            let full = 500 << 7;
            scale.stopped(if n % 9 > 0 { full - 100 } else { full - 1500 }, 500, 1460);
        }
        assert_eq!(scale.shift(), Some(7));
    }

    #[test]
    fn a_steady_flight_of_a_few_segments_fills_a_window_by_chance() {
        let mut scale = Scale::default();
        for _ in 0..1000 {
            scale.stopped(10 * 1460 - 200, 114, 1460);
        }
        assert_eq!(scale.shift(), None);
        for n in 0..1000_u64 {
            let field = 114 - u16::try_from(n % 50).unwrap();
            scale.stopped((u64::from(field) << 7) - 200, field, 1460);
        }
        assert_eq!(scale.shift(), Some(7));
    }

    #[test]
    fn a_window_that_shrinks_by_the_arriving_bytes_shows_its_scale() {
        for shift in [0_u32, 7, 10] {
            let mut scale = Scale::default();
            let unit = 1_u64 << shift;
            for _ in 0..4 {
                // The application reads none of the 40 kB. The window is the remaining buffer space, rounded up.
                let mut window = 40_000_u64.div_ceil(unit) * unit;
                for n in 0..14_u64 {
                    let bytes = if n % 2 == 0 { 1448 } else { 2896 };
                    let left = (window - bytes).div_ceil(unit) * unit;
                    let [before, now] = [window, left].map(|w| u16::try_from(w >> shift).unwrap());
                    scale.acknowledged(bytes, before, now);
                    window = left;
                }
            }
            assert_eq!(scale.shift(), u8::try_from(shift).ok(), "{shift}");
        }
    }

    #[test]
    fn a_window_that_shrinks_by_less_shows_nothing() {
        let mut scale = Scale::default();
        for _ in 0..200 {
            // The window shrinks by one unit of 128 bytes, and grows again.
            scale.acknowledged(2896, 500, 499);
            scale.acknowledged(2896, 499, 500);
        }
        assert_eq!(scale.shift(), None);
        for _ in 0..20 {
            for n in 0..60 {
                scale.acknowledged(1448, 500 - 8 * n, 500 - 8 * (n + 1));
            }
            scale.acknowledged(1448, 20, 500);
        }
        assert_eq!(scale.shift(), None);
    }

    #[test]
    fn a_rarely_reached_window_does_not_limit() {
        let mut scale = Scale::default();
        for n in 0..63_u64 {
            scale.stopped(3000 + 1460 * (n % 9), 500, 1460);
        }
        // The window is 500 << 5, which is 16,000 bytes, and 14,680 bytes were outstanding.
        assert!(!scale.is_never_filled());
        for n in 0..60_u64 {
            scale.stopped(3000 + 1460 * (n % 12), 500, 1460);
        }
        assert!(scale.is_never_filled());
        // The window is full, and the capture lacks some ACKs.
        let mut scale = Scale::default();
        for n in 0..60_u64 {
            let full = 240 << 7;
            scale.stopped(if n % 15 > 0 { full - 900 } else { full + 2000 }, 240, 1460);
        }
        assert!(!scale.is_never_filled());
        assert!(!Scale::default().is_never_filled());
    }

    #[test]
    fn messages_fill_no_window() {
        let mut scale = Scale::default();
        for n in 0..1000_u64 {
            scale.stopped(60 + n % 400, 501, 1460);
        }
        assert_eq!(scale.shift(), None);
    }

    #[test]
    fn a_window_with_room_shows_nothing() {
        let mut scale = Scale::default();
        for n in 0..1000_u64 {
            scale.stopped(20_000 + 1460 * (n % 7), 500, 1460);
        }
        assert_eq!(scale.shift(), None);
    }
}
