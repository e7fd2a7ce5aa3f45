//! The scale of a receive window whose SYN the capture does not have, worked out from how far the sender goes.
//!
//! A sender never goes beyond the window (RFC 9293 §3.8.6), which excludes small shifts; and one that the window holds back fills it
//! to within a segment, again and again. So the scale is told only where the window matters.

/// Shifts that there are (RFC 7323 §2.3).
const SHIFTS: usize = 15;

/// A sender must have stopped so often where the window of a shift ends, and in four of five cases (ours: a steady flight ends
/// there by chance once in the number of segments that a window has).
const FILLED_MIN: u32 = 32;
const FILLED_PART: (u32, u32) = (4, 5);

/// Windows of fewer segments are filled by anything (ours).
const SEGMENTS_MIN: u64 = 4;

/// A window that never changes is filled by any steady flight of its size: it must have so many segments (ours: then chance is one
/// in 23).
const STEADY_SEGMENTS_MIN: u64 = 32;

/// So many stops beyond the window of a shift refute it (ours: one may be a probe).
const BEYOND_MAX: u32 = 3;

/// How far a sender went, by the shift that the receiver may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scale {
    filled: [u32; SHIFTS],
    beyond: [u32; SHIFTS],
    stops: u32,
    /// The least and the greatest field, and a full segment.
    fields: Option<(u16, u16)>,
    mss: u64,
}

impl Scale {
    /// The sender stopped `ahead` bytes after the last acknowledged, while the window field was `field`; a full segment has `mss`
    /// bytes.
    pub(crate) fn stopped(&mut self, ahead: u64, field: u16, mss: u64) {
        if field == 0 {
            return;
        }
        self.stops = self.stops.saturating_add(1);
        let (low, high) = self.fields.unwrap_or((field, field));
        self.fields = Some((low.min(field), high.max(field)));
        self.mss = mss;
        let counts = self.filled.iter_mut().zip(&mut self.beyond).zip(0_u32..);
        for ((filled, beyond), shift) in counts {
            let window = u64::from(field) << shift;
            if ahead > window {
                *beyond = beyond.saturating_add(1);
            } else if window - ahead < mss && window >= SEGMENTS_MIN * mss {
                *filled = filled.saturating_add(1);
            }
        }
    }

    /// The shift, if it is known by now.
    pub(crate) fn shift(&self) -> Option<u8> {
        let counts = self.filled.iter().zip(&self.beyond).zip(0_u8..);
        let possible = |(_, beyond): (&u32, &u32)| *beyond < BEYOND_MAX;
        let mut possible = counts.filter(|(counts, _)| possible(*counts));
        // A window is filled by its own shift alone: larger ones have room.
        let ((filled, _), shift) = possible.next()?;
        let (part, of) = FILLED_PART;
        let often = filled.saturating_mul(of) >= self.stops.saturating_mul(part);
        let often = often && *filled >= FILLED_MIN;
        (often && self.is_no_chance(shift)).then_some(shift)
    }

    /// `true` if the window of a shift varied by segments, or is large.
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
    fn a_window_that_is_filled_tells_its_scale() {
        let mut scale = Scale::default();
        for n in 0..60_u64 {
            // Nearly every stop fills a window of 500 << 7 bytes.
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
    fn messages_fill_no_window() {
        let mut scale = Scale::default();
        for n in 0..1000_u64 {
            scale.stopped(60 + n % 400, 501, 1460);
        }
        assert_eq!(scale.shift(), None);
    }

    #[test]
    fn a_window_with_room_tells_nothing() {
        let mut scale = Scale::default();
        for n in 0..1000_u64 {
            scale.stopped(20_000 + 1460 * (n % 7), 500, 1460);
        }
        assert_eq!(scale.shift(), None);
    }
}
