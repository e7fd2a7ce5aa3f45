//! Capacity of a link's queue: packets, bytes, and bandwidth-delay products.

use dupack_net::link::{LinkConfig, QueueLimit, ServiceConfig};
use dupack_tcp::time::Duration;

use super::Scenario;
use crate::units::{Buffer, Room};

/// Minimum default capacity in packets: the initial window of Linux and of RFC 6928.
const DEFAULT_LEAST: u64 = 10;

/// Bandwidth-delay product of a link: its rate times the base round-trip time, without queueing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// The product.
    pub bytes: f64,
    /// A full packet, headers included, in bytes.
    pub packet_bytes: u32,
}

impl Product {
    /// Computes the product of `link` for a round-trip time of `round_trip`.
    pub(in crate::run) fn of(link: &LinkConfig, round_trip: Duration, packet_bytes: u32) -> Self {
        let rate = match &link.service {
            ServiceConfig::Rate(rate) => rate.as_bps() as f64,
            ServiceConfig::Trace(trace) => trace.mean_rate_bps(),
            _ => 0.0,
        };
        Self {
            bytes: rate / 8.0 * round_trip.as_secs_f64(),
            packet_bytes,
        }
    }

    /// Returns the product in packets, rounded up.
    #[must_use]
    pub fn packets(&self) -> u64 {
        (self.bytes / f64::from(self.packet_bytes.max(1))).ceil() as u64
    }

    /// Returns the queue limit in bandwidth-delay products, or `None` if the queue is unlimited or the product is zero.
    #[must_use]
    pub fn times(&self, limit: QueueLimit) -> Option<f64> {
        let bytes = match limit {
            QueueLimit::Packets(packets) => packets as f64 * f64::from(self.packet_bytes),
            QueueLimit::Bytes(bytes) => bytes as f64,
            QueueLimit::Unlimited => return None,
        };
        (self.bytes > 0.0).then(|| bytes / self.bytes)
    }

    /// Returns the limit of a queue with the capacity `room`. Defaults to one product, and at least [`DEFAULT_LEAST`]
    /// packets.
    pub(in crate::run) fn limit(&self, room: Option<Room>) -> QueueLimit {
        match room {
            Some(Room::Fixed(Buffer::Packets(packets))) => QueueLimit::Packets(packets.into()),
            Some(Room::Fixed(Buffer::Bytes(bytes))) => QueueLimit::Bytes(bytes),
            Some(Room::Bdp { thousandths }) => {
                let some = Self {
                    bytes: self.bytes * f64::from(thousandths) / 1000.0,
                    ..*self
                };
                QueueLimit::Packets(some.packets().max(1))
            }
            None => QueueLimit::Packets(self.packets().max(DEFAULT_LEAST)),
        }
    }
}

/// Capacity of a path's queue, with its bandwidth-delay product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathRoom {
    /// Limit of the queue.
    pub limit: QueueLimit,
    /// The bandwidth-delay product.
    pub product: Product,
    /// The base round-trip time, including access links.
    pub round_trip: Duration,
}

impl PathRoom {
    /// Returns the queue limit in bandwidth-delay products, or `None` if there is no product.
    #[must_use]
    pub fn times(&self) -> Option<f64> {
        self.product.times(self.limit)
    }
}

impl Scenario {
    /// Returns the capacity of the forward queue of the experiment's path, or `None` without a path.
    #[must_use]
    pub fn path_room(&self) -> Option<PathRoom> {
        let e = &self.experiment;
        let options = e.path.as_ref()?;
        let seed = e.seeds.to_vec().first().copied().unwrap_or(1);
        let (mut there, mut back) = self.path_links(seed).ok()?;
        let access = e.access.map_or(0, |access| access.delay.as_nanos());
        let round_trip = there.delay + back.delay + Duration::from_nanos(access) * 4;
        self.size_queues(options, round_trip, [&mut there, &mut back]);
        Some(PathRoom {
            limit: there.queue.limit,
            product: self.product(&there, round_trip),
            round_trip,
        })
    }
}

#[cfg(test)]
mod tests {
    use dupack_net::units::BitRate;

    use super::*;

    fn product(mbit_s: u64, round_trip_ms: u64) -> Product {
        let rate = BitRate::new(mbit_s * 1_000_000).unwrap();
        let link = LinkConfig::rate(rate, Duration::ZERO);
        Product::of(&link, Duration::from_millis(round_trip_ms), 1500)
    }

    #[test]
    fn a_queue_holds_one_product_and_at_least_ten_packets() {
        // 10 Mbit/s · 40 ms = 50,000 bytes, 33.3 packets of 1500.
        let usual = product(10, 40);
        assert_eq!(usual.packets(), 34);
        assert_eq!(usual.limit(None), QueueLimit::Packets(34));
        // 1 Mbit/s · 20 ms = 2500 bytes, which is less than ten packets.
        assert_eq!(product(1, 20).limit(None), QueueLimit::Packets(10));
        // Path over a geostationary satellite: 20 Mbit/s · 600 ms = 1.5 MB.
        assert_eq!(product(20, 600).limit(None), QueueLimit::Packets(1000));
    }

    #[test]
    fn multiples_round_up_to_whole_packets() {
        let half = Some(Room::Bdp { thousandths: 500 });
        assert_eq!(product(10, 40).limit(half), QueueLimit::Packets(17));
        let little = Some(Room::Bdp { thousandths: 1 });
        assert_eq!(product(10, 40).limit(little), QueueLimit::Packets(1));
        let fixed = Some(Room::Fixed(Buffer::Bytes(64_000)));
        assert_eq!(product(10, 40).limit(fixed), QueueLimit::Bytes(64_000));
    }

    #[test]
    fn a_queue_is_measured_in_products() {
        let usual = product(10, 40);
        assert_eq!(usual.times(QueueLimit::Bytes(25_000)), Some(0.5));
        assert_eq!(usual.times(QueueLimit::Packets(100)), Some(3.0));
        assert_eq!(usual.times(QueueLimit::Unlimited), None);
        assert_eq!(product(10, 0).times(QueueLimit::Packets(100)), None);
    }
}
