//! SYN cookies (D. J. Bernstein; RFC 4987 §3.6): initial sequence numbers that let a host verify the ACK of a handshake
//! whose SYN it did not store, and restore the negotiated options.
//!
//! ```text
//!  5 bits   time in units of 64 s, modulo 32
//!  2 bits   segment size, as an index into a table
//!  1 bit    SACK
//! 24 bits   hash of the above, both ends and the peer's sequence number, under the host's key
//! ```
//!
//! Linux encodes SACK, the window scale and ECN in the low bits of a timestamp, and loses them without timestamps.
//! Here, SACK has a bit of its own, and the other options are always lost.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use dupack_tcp::options::Sack;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use super::{Purpose, Secret};

/// Length of a cookie period, in nanoseconds. A cookie is valid for at least one period and at most two.
const PERIOD_NANOS: u64 = 64_000_000_000;

/// Segment sizes that a cookie can represent, in bytes. A peer's maximum segment size is rounded down to one of them.
/// They are the default of RFC 9293 §3.7.1, the minimum MTU of RFC 8200 §5, and the MTU of Ethernet for IPv6 and IPv4,
/// each without headers.
const SIZES: [u16; 4] = [536, 1220, 1440, 1460];

const PERIOD_SHIFT: u32 = 27;
const SIZE_SHIFT: u32 = 25;
const SACK_SHIFT: u32 = 24;
const HASH_MASK: u32 = (1 << SACK_SHIFT) - 1;

/// Options that a cookie stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CookieOptions {
    /// Maximum segment size in bytes. In a cookie, it is rounded down to one of [`SIZES`].
    pub(crate) mss: u16,
    /// SACK, if it was offered.
    pub(crate) sack: Sack,
}

impl CookieOptions {
    /// Returns the bits of the options in a cookie, or `None` if the segment size is smaller than every size in the
    /// table.
    fn bits(self) -> Option<u32> {
        let size = SIZES.iter().rposition(|&size| size <= self.mss)?;
        Some((size as u32) << SIZE_SHIFT | u32::from(self.sack.is_on()) << SACK_SHIFT)
    }

    fn of_bits(cookie: u32) -> Self {
        Self {
            mss: SIZES[(cookie >> SIZE_SHIFT) as usize % SIZES.len()],
            sack: Sack::when(cookie >> SACK_SHIFT & 1 == 1),
        }
    }
}

/// Both ends of a handshake and the sequence number of the peer's SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) irs: SeqNumber,
}

impl Secret {
    /// Returns the initial sequence number of the SYN-ACK, which encodes the options `kept`. Returns `None` if the
    /// segment size is too small.
    pub(crate) fn cookie(
        &self,
        now: Instant,
        asked: Asked,
        kept: CookieOptions,
    ) -> Option<SeqNumber> {
        let period = now.as_nanos() / PERIOD_NANOS;
        let bits = kept.bits()? | (period as u32) << PERIOD_SHIFT;
        Some(SeqNumber(bits | self.cookie_hash(period, bits, asked)))
    }

    /// Returns the options encoded in `iss` if it is a valid cookie that this host sent recently.
    pub(crate) fn read_cookie(
        &self,
        now: Instant,
        asked: Asked,
        iss: SeqNumber,
    ) -> Option<CookieOptions> {
        let current = now.as_nanos() / PERIOD_NANOS;
        let bits = iss.0 & !HASH_MASK;
        let is_ours = |period: u64| {
            (period as u32) << PERIOD_SHIFT >> PERIOD_SHIFT == bits >> PERIOD_SHIFT
                && self.cookie_hash(period, bits, asked) == iss.0 & HASH_MASK
        };
        let periods = [Some(current), current.checked_sub(1)];
        let ours = periods.into_iter().flatten().any(is_ours);
        ours.then(|| CookieOptions::of_bits(iss.0))
    }

    fn cookie_hash(&self, period: u64, bits: u32, asked: Asked) -> u32 {
        let mut hasher = self.hasher;
        (Purpose::Cookie, period, bits, asked).hash(&mut hasher);
        hasher.finish() as u32 & HASH_MASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::time::Duration;

    const KEPT: CookieOptions = CookieOptions {
        mss: 1460,
        sack: Sack::Permitted,
    };

    fn asked() -> Asked {
        Asked {
            local: "192.0.2.1:80".parse().expect("an address"),
            remote: "192.0.2.2:1000".parse().expect("an address"),
            irs: SeqNumber(77),
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_cookie_keeps_the_segment_size_and_sack() {
        let secret = Secret::new(&[7; 16]);
        for (told, kept) in [
            (536, 536),
            (1219, 536),
            (1440, 1440),
            (1459, 1440),
            (9000, 1460),
        ] {
            for sack in [Sack::Permitted, Sack::Absent] {
                let said = CookieOptions { mss: told, sack };
                let cookie = secret.cookie(at(5), asked(), said).expect("a cookie");
                let read = secret.read_cookie(at(6), asked(), cookie);
                assert_eq!(read, Some(CookieOptions { mss: kept, sack }), "{told}");
            }
        }
        let small = CookieOptions { mss: 535, ..KEPT };
        assert_eq!(secret.cookie(at(5), asked(), small), None);
    }

    #[test]
    fn a_cookie_is_good_for_a_minute_or_two() {
        let secret = Secret::new(&[7; 16]);
        let cookie = secret.cookie(at(63), asked(), KEPT).expect("a cookie");
        let good = |seconds| secret.read_cookie(at(seconds), asked(), cookie).is_some();
        assert!(good(63) && good(64) && good(127));
        // After 32 periods, the time bits repeat.
        assert!(!good(128) && !good(63 + 32 * 64));
    }

    #[test]
    fn a_cookie_is_good_for_one_handshake_of_one_host() {
        let secret = Secret::new(&[7; 16]);
        let cookie = secret.cookie(at(5), asked(), KEPT).expect("a cookie");
        let mut other = asked();
        other.remote.set_port(1001);
        assert_eq!(secret.read_cookie(at(5), other, cookie), None);
        let other = Asked {
            irs: SeqNumber(78),
            ..asked()
        };
        assert_eq!(secret.read_cookie(at(5), other, cookie), None);
        let stranger = Secret::new(&[8; 16]);
        assert_eq!(stranger.read_cookie(at(5), asked(), cookie), None);
        for bit in 0..32 {
            let forged = SeqNumber(cookie.0 ^ 1 << bit);
            assert_eq!(secret.read_cookie(at(5), asked(), forged), None, "{bit}");
        }
    }
}
