//! Initial sequence numbers (RFC 6528): a clock plus a keyed hash of the addresses.
//!
//! The clock separates the numbers of a new connection from those of the previous connection between the same ends. The
//! hash prevents attackers from predicting the numbers of one connection from those of another.

pub(crate) mod cookie;

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;
use siphasher::sip::SipHasher24;

/// Time in which the clock advances by one sequence number, in nanoseconds (RFC 6528 §3: 4 µs).
const TICK_NANOS: u64 = 4_000;

/// Generator of initial sequence numbers and of other numbers that an attacker must not be able to guess.
#[derive(Clone, Debug)]
pub struct Secret {
    hasher: SipHasher24,
}

/// Purpose of a number. Numbers of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    Isn,
    TimestampOffset,
    Challenge,
    Seed,
    Cookie,
}

impl Secret {
    /// Creates a generator. `key` must be random, must not change while the host runs, and must be kept secret.
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Self {
        Self {
            hasher: SipHasher24::new_with_key(key),
        }
    }

    /// Returns the initial sequence number of a connection between these ends that opens now.
    #[must_use]
    pub fn isn(&self, now: Instant, local: SocketAddr, remote: SocketAddr) -> SeqNumber {
        let ticks = now.as_nanos() / TICK_NANOS;
        SeqNumber(self.hash(Purpose::Isn, local, remote) as u32).at(ticks)
    }

    /// Returns the offset of the timestamps of all connections between these ends. The offset is constant, so that
    /// timestamps grow from one connection to the next (RFC 7323 §5.4, RFC 6191).
    #[must_use]
    pub fn timestamp_offset(&self, local: SocketAddr, remote: SocketAddr) -> u32 {
        self.hash(Purpose::TimestampOffset, local, remote) as u32
    }

    /// Returns the secret for a connection's answers to suspicious segments
    /// ([`Config::challenge_secret`](dupack_tcp::connection::Config::challenge_secret)).
    #[must_use]
    pub fn challenge(&self, now: Instant, local: SocketAddr, remote: SocketAddr) -> u64 {
        self.hash_at(now, Purpose::Challenge, local, remote)
    }

    /// Returns the seed for the random choices of a connection's sender
    /// ([`Config::seed`](dupack_tcp::connection::Config::seed)).
    #[must_use]
    pub fn seed(&self, now: Instant, local: SocketAddr, remote: SocketAddr) -> u64 {
        self.hash_at(now, Purpose::Seed, local, remote)
    }

    /// Returns a hash that is different at each time.
    fn hash_at(
        &self,
        now: Instant,
        purpose: Purpose,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> u64 {
        let mut hasher = self.hasher;
        now.as_nanos().hash(&mut hasher);
        (purpose, local, remote).hash(&mut hasher);
        hasher.finish()
    }

    fn hash(&self, purpose: Purpose, local: SocketAddr, remote: SocketAddr) -> u64 {
        let mut hasher = self.hasher;
        (purpose, local, remote).hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::time::Duration;

    fn ends() -> (SocketAddr, SocketAddr) {
        (
            SocketAddr::from(([192, 0, 2, 1], 1000)),
            SocketAddr::from(([192, 0, 2, 2], 80)),
        )
    }

    #[test]
    fn the_number_grows_by_one_every_four_microseconds() {
        let secret = Secret::new(&[7; 16]);
        let (local, remote) = ends();
        let start = Instant::from_nanos(1 << 40);
        let first = secret.isn(start, local, remote);
        let later = secret.isn(start + Duration::from_secs(1), local, remote);
        assert_eq!(later.0.wrapping_sub(first.0), 250_000);
    }

    #[test]
    fn different_ends_and_keys_have_different_numbers() {
        let secret = Secret::new(&[7; 16]);
        let (local, remote) = ends();
        let isn = |secret: &Secret, local| secret.isn(Instant::ZERO, local, remote);
        let mut other = local;
        other.set_port(1001);
        assert_ne!(isn(&secret, local), isn(&secret, other));
        assert_ne!(isn(&secret, local), isn(&Secret::new(&[8; 16]), local));
        assert_ne!(
            isn(&secret, local).0,
            secret.timestamp_offset(local, remote)
        );
        let seed = |local| secret.seed(Instant::ZERO, local, remote);
        assert_ne!(seed(local), seed(other));
        assert_ne!(seed(local), secret.challenge(Instant::ZERO, local, remote));
    }
}
