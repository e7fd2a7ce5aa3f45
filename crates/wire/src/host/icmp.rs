//! ICMP errors about a host's packets. The errors are passed to the connections concerned, and the reported path MTUs
//! are stored for later connections on the same paths.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use dupack_tcp::connection::KnownMtu;
use dupack_tcp::time::Instant;
use etherparse::IpNumber;

use super::Host;
use super::outbox::Ends;
use super::registry::Whose;
use crate::device::{Device, Received};
use dupack_packet::icmp::parse_icmp;
use dupack_packet::parse::Verify;

/// Maximum number of hosts whose path MTU is stored. If there are more, one entry is removed, and the next connection
/// learns the value again.
const REMEMBERED_MAX: usize = 4096;

/// Returns `true` if `protocol` is a protocol number of ICMP.
pub(super) const fn is_icmp(protocol: u8) -> bool {
    protocol == IpNumber::ICMP.0 || protocol == IpNumber::IPV6_ICMP.0
}

/// Path MTUs to other hosts that routers reported and connections accepted (RFC 1191 §6.3).
#[derive(Debug, Default)]
pub(super) struct PathMtus(HashMap<IpAddr, KnownMtu>);

impl PathMtus {
    /// Returns the known MTU of the path to `host`.
    pub(super) fn of(&self, host: IpAddr, now: Instant) -> Option<KnownMtu> {
        let known = self.0.get(&host).copied();
        known.filter(|known| known.until > now)
    }

    /// Stores an MTU that a connection to `host` has learned.
    fn note(&mut self, host: IpAddr, known: KnownMtu, now: Instant) {
        if self.0.len() >= REMEMBERED_MAX && !self.0.contains_key(&host) {
            self.0.retain(|_, known| known.until > now);
            if self.0.len() >= REMEMBERED_MAX
                && let Some(any) = self.0.keys().next().copied()
            {
                self.0.remove(&any);
            }
        }
        self.0.insert(host, known);
    }
}

impl<D: Device> Host<D> {
    /// Processes an ICMP packet.
    pub(super) fn hear_of(
        &mut self,
        device: &mut D,
        received: &Received<'_>,
        verify: Verify,
    ) -> io::Result<()> {
        let notice = parse_icmp(received.bytes, verify).ok();
        let ours = notice.filter(|notice| self.config.takes(notice.local.ip()));
        let Some(notice) = ours else {
            self.counters.ignored += 1;
            return Ok(());
        };
        let ends = Ends {
            local: notice.local,
            remote: notice.remote,
        };
        let Some(index) = self.find(ends) else {
            if !matches!(self.sort_out_icmp(ends, received), Whose::Sibling(_)) {
                self.counters.ignored += 1;
            }
            return Ok(());
        };
        self.counters.icmp += 1;
        let endpoint = &mut self.endpoints[index];
        endpoint.hear_of(received.at, &notice.error);
        if let Some(known) = endpoint.connection().path_mtu() {
            self.path_mtus.note(ends.remote.ip(), known, received.at);
        }
        endpoint.work(received.at, &mut self.outbox, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::time::Duration;
    use std::net::Ipv4Addr;

    #[test]
    fn remembered_mtus_are_limited_and_expire() {
        let mut all = PathMtus::default();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let known = |until| KnownMtu {
            mtu: 1300,
            until: at(until),
        };
        let host = |n: u32| IpAddr::from(Ipv4Addr::from(n));
        for n in 0..2 * REMEMBERED_MAX as u32 {
            all.note(host(n), known(600), at(0));
            assert!(all.0.len() <= REMEMBERED_MAX);
            assert_eq!(all.of(host(n), at(599)), Some(known(600)));
        }
        let last = host(2 * REMEMBERED_MAX as u32 - 1);
        assert_eq!(all.of(last, at(600)), None);
        // Expired entries are removed when the table is full.
        all.note(host(1 << 20), known(1200), at(600));
        assert_eq!(all.0.len(), 1);
    }
}
