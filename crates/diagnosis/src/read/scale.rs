//! The scale of a receive window whose SYN the capture does not have, worked out from how far the sender goes.
//!
//! A sender never goes beyond the window (RFC 9293 §3.8.6), which excludes small shifts; and one that the window holds back fills it
//! to within a segment, again and again. So the scale is told only where the window matters.
//!
//! While its application does not read, a receiver's window shrinks by what arrives: its right edge stays where it is, to within the
//! unit of its scale, and it never goes back (RFC 7323 §2.4). So the largest scale by which the edge never goes back, and often stays, is
//! that of the receiver.

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

/// An edge that stays must have stayed so often, and in three of five cases in which the field fell (ours).
const STAYED_MIN: u32 = 12;
const STAYED_PART: (u32, u32) = (3, 5);

/// Of so many stops, one in so many at most ends near where the window does if the window is not what stops the sender (ours).
const STOPS_MIN: u32 = 16;
const SELDOM_OF: u32 = 10;

/// How far a sender went, by the shift that the receiver may have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scale {
    filled: [u32; SHIFTS],
    beyond: [u32; SHIFTS],
    /// Stops within a segment of where the window ends, however small it is.
    near: [u32; SHIFTS],
    stops: u32,
    /// ACKs with a smaller field than the one before, by which the right edge would have gone back.
    retreated: [u32; SHIFTS],
    /// Runs in which the field fell to half or less, and the run that is under way.
    deep: Falls,
    run: Falls,
    /// The least and the greatest field, and a full segment.
    fields: Option<(u16, u16)>,
    mss: u64,
}

/// A field that falls from ACK to ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Falls {
    /// The field before the first.
    from: u16,
    falls: u32,
    /// Those by which the right edge stayed where it was.
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

    /// So many bytes more were acknowledged, and the window field changed from `before` to `now`.
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
            // A window is a multiple of its unit, and is rounded up so that its edge does not go back.
            let units = bytes >> shift;
            if fall > units {
                *retreated = retreated.saturating_add(1);
            } else if fall == units {
                *stayed += 1;
            }
        }
        // A field that moves a little says nothing.
        if now <= self.run.from / 2 {
            self.deep.add(&self.run);
            self.run = Falls {
                from: self.run.from,
                ..Falls::default()
            };
        }
    }

    /// `true` if the sender hardly ever went to where the window ends, whatever its scale is: it is not what stopped it.
    pub(crate) fn is_never_filled(&self) -> bool {
        let seldom = |count: u32| count.saturating_mul(SELDOM_OF) <= self.stops;
        let counts = self.near.iter().zip(&self.beyond);
        // Where ACKs are missing from the capture, a few stops seem to be beyond.
        let mut possible = counts.filter(|(_, beyond)| seldom(**beyond));
        self.stops >= STOPS_MIN && possible.all(|(near, _)| seldom(*near))
    }

    /// The shift, if it is known by now.
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
    fn a_window_that_shrinks_by_what_arrives_tells_its_scale() {
        for shift in [0_u32, 7, 10] {
            let mut scale = Scale::default();
            let unit = 1_u64 << shift;
            for _ in 0..4 {
                // 40 kB, of which the application reads nothing: the rest, rounded up.
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
    fn a_window_that_shrinks_by_less_than_arrives_tells_nothing() {
        let mut scale = Scale::default();
        for _ in 0..200 {
            // By one unit of 128 bytes, and up again.
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
    fn a_window_that_is_seldom_reached_is_not_what_stops() {
        let mut scale = Scale::default();
        for n in 0..63_u64 {
            scale.stopped(3000 + 1460 * (n % 9), 500, 1460);
        }
        // 500 << 5 are 16,000 bytes, and 14,680 were outstanding.
        assert!(!scale.is_never_filled());
        for n in 0..60_u64 {
            scale.stopped(3000 + 1460 * (n % 12), 500, 1460);
        }
        assert!(scale.is_never_filled());
        // A window that is full, and ACKs that the capture lacks.
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
    fn a_window_with_room_tells_nothing() {
        let mut scale = Scale::default();
        for n in 0..1000_u64 {
            scale.stopped(20_000 + 1460 * (n % 7), 500, 1460);
        }
        assert_eq!(scale.shift(), None);
    }
}
