//! What the emulated path says of itself: what passed, and how late it was.

use std::collections::BTreeMap;
use std::fmt;

use dupack_net::histogram::Histogram;
use dupack_net::link::LinkCounters;
use dupack_tcp::time::Duration;

use super::payload::Payload;
use super::record::Captures;

/// What has passed over the path, and whether it can be believed.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PathReport {
    /// From the near device to the far one.
    pub forward: LaneReport,
    /// From the far end to the near one.
    pub backward: LaneReport,
    /// How long at a time nobody looked at the devices, from the moment when the path's thread was
    /// woken, whether it had a processor or not. The arrival of a packet is stamped so much too
    /// late at most.
    pub unattended: Histogram,
    /// How long the path's thread was ready to run and had no processor; `None` if the kernel
    /// does not say.
    pub waited_for_processor: Option<Duration>,
    /// How long the path was there.
    pub lasted: Duration,
    /// What was captured of it, if anything was to be.
    pub captures: Option<Captures>,
    /// What was lost at the device of an endpoint behind one of its ends, if there is one.
    pub endpoint: Option<EndpointLosses>,
}

/// What an endpoint of ours and the kernel beside it did not take from each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointLosses {
    /// Packets of the endpoint that the kernel did not take.
    pub refused: u64,
    /// Packets that the kernel threw away because the endpoint did not read them in time; `None`
    /// if the kernel does not say.
    pub overflowed: Option<u64>,
}

/// One direction of the path.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LaneReport {
    /// What the link counted. Packets are those of the wire, also with offload.
    pub link: LinkCounters,
    /// How long packets waited in its queue, if the link records it.
    pub waits: Option<Histogram>,
    /// Packets written at the far end, second copies included.
    pub delivered: u64,
    /// By how much they left after they were due: the time after the write, less the time due.
    pub lateness: Histogram,
    /// Packets that the far end's kernel did not take.
    pub refused: u64,
    /// Packets that were thrown away because they cannot be read.
    pub malformed: u64,
    /// Packets that were thrown away because too many were under way.
    pub no_room: u64,
    /// Packets for the link itself, which a path does not carry: multicast and broadcast.
    pub link_local: u64,
    /// Packets that the near end's kernel threw away because the path did not read them in time;
    /// `None` if the kernel does not say.
    pub overflowed: Option<u64>,
    /// Packets that a [`NarrowHop`](super::NarrowHop) dropped.
    pub too_big: u64,
    /// Reads of which a packet was still under way at the end.
    pub under_way: usize,
    /// Payload that was delivered, if it is to be counted
    /// ([`PathConfig::count_payload`](super::PathConfig::count_payload)).
    pub payload: Option<Payload>,
    /// Data by the port that it is for, if it is to be counted so
    /// ([`PathConfig::by_port`](super::PathConfig::by_port)).
    pub by_port: BTreeMap<u16, FlowPassage>,
}

/// What became of the data of one flow on its way, until the count ended
/// ([`RunningPath::end_count_by_port`](super::RunningPath::end_count_by_port)). Packets without data do not count.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FlowPassage {
    /// Packets that the link was offered.
    pub offered: u64,
    /// Those that it did not carry to its end, whatever the reason.
    pub dropped: u64,
    /// How long packets waited in its queue, as far as the link knows it when it takes them: a
    /// managed queue does not.
    pub waits: Histogram,
}

/// The share of packets that must have left within the tolerance.
const IN_TIME: f64 = 0.99;

/// Whether a run over the path is worth anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The path kept its times.
    Sound,
    /// The machine could not keep up, or something was lost that no link took.
    Worthless {
        /// Why, for people.
        reasons: Vec<String>,
    },
}

impl PathReport {
    /// Whether 99 % of all packets left within `tolerance` of their time, the devices were
    /// looked at as often, and nothing was lost that no link took: in front of the path, in it,
    /// behind it, or at the device of an endpoint. Packets for the link itself do not count.
    #[must_use]
    pub fn trust(&self, tolerance: Duration) -> Trust {
        self.trust_of(["forward", "backward"], tolerance)
    }

    /// The same, with other words for both directions in the reasons: "packets {name} left …".
    #[must_use]
    pub fn trust_of(&self, names: [&str; 2], tolerance: Duration) -> Trust {
        let mut reasons = Vec::new();
        for (name, lane) in names.into_iter().zip([&self.forward, &self.backward]) {
            lane.object(name, tolerance, &mut reasons);
        }
        let unattended = self.unattended.quantile(IN_TIME).unwrap_or(Duration::ZERO);
        if unattended > tolerance {
            reasons.push(format!(
                "arrivals were noticed up to {} ms late (99 %), more than the {} ms allowed",
                millis(unattended),
                millis(tolerance)
            ));
        }
        if let Some(endpoint) = &self.endpoint {
            endpoint.object(&mut reasons);
        }
        if reasons.is_empty() {
            Trust::Sound
        } else {
            Trust::Worthless { reasons }
        }
    }
}

impl LaneReport {
    fn object(&self, name: &str, tolerance: Duration, reasons: &mut Vec<String>) {
        let late = self.lateness.quantile(IN_TIME).unwrap_or(Duration::ZERO);
        if late > tolerance {
            reasons.push(format!(
                "packets {name} left up to {} ms late (99 %), more than the {} ms allowed",
                millis(late),
                millis(tolerance)
            ));
        }
        for (lost, how) in [
            (self.overflowed.unwrap_or(0), "lost in front of the path"),
            (self.malformed, "thrown away as they cannot be read"),
            (self.no_room, "thrown away as too many were under way"),
            (self.refused, "refused by the kernel behind the path"),
        ] {
            if lost > 0 {
                reasons.push(format!("{lost} packets {name} were {how}"));
            }
        }
    }
}

impl EndpointLosses {
    fn object(&self, reasons: &mut Vec<String>) {
        let Self {
            refused,
            overflowed,
        } = *self;
        if refused > 0 {
            reasons.push(format!(
                "{refused} packets of the endpoint were refused by the kernel beside it"
            ));
        }
        let overflowed = overflowed.unwrap_or(0);
        if overflowed > 0 {
            reasons.push(format!(
                "{overflowed} packets for the endpoint were lost because it did not read them in time"
            ));
        }
    }
}

impl fmt::Display for PathReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, lane) in [("forward", &self.forward), ("backward", &self.backward)] {
            writeln!(f, "{name:8}  {lane}")?;
        }
        write!(f, "unattended: {}", quantiles(&self.unattended))?;
        if let Some(waited) = self.waited_for_processor {
            write!(
                f,
                "; waited for a processor: {} ms of {:.3} s",
                millis(waited),
                self.lasted.as_secs_f64()
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for LaneReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets offered, {} dropped, {} delivered; late: {}",
            self.link.offered_packets,
            self.link.drops.total(),
            self.delivered,
            quantiles(&self.lateness)
        )
    }
}

fn quantiles(histogram: &Histogram) -> String {
    let at = |q| millis(histogram.quantile(q).unwrap_or(Duration::ZERO));
    format!(
        "median {} ms, 99 % {} ms, most {} ms",
        at(0.5),
        at(IN_TIME),
        millis(histogram.max())
    )
}

fn millis(span: Duration) -> String {
    format!("{:.3}", span.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(millis: u64, count: u32) -> PathReport {
        let mut report = PathReport::default();
        for _ in 0..1000 - count {
            report.forward.lateness.record(Duration::from_micros(10));
        }
        for _ in 0..count {
            report
                .forward
                .lateness
                .record(Duration::from_millis(millis));
        }
        report
    }

    #[test]
    fn one_packet_in_a_hundred_may_be_late() {
        let tolerance = Duration::from_millis(1);
        assert_eq!(late(5, 10).trust(tolerance), Trust::Sound);
        let Trust::Worthless { reasons } = late(5, 11).trust(tolerance) else {
            panic!("11 of 1000 were late");
        };
        assert_eq!(reasons.len(), 1);
        assert!(reasons[0].contains("forward"), "{reasons:?}");
    }

    #[test]
    fn a_loss_that_no_link_took_spoils_a_run() {
        let at_endpoint = |refused, overflowed| {
            Some(EndpointLosses {
                refused,
                overflowed,
            })
        };
        let losses: [fn(&mut LaneReport); 4] = [
            |lane| lane.overflowed = Some(1),
            |lane| lane.malformed = 1,
            |lane| lane.no_room = 1,
            |lane| lane.refused = 1,
        ];
        let mut reports = Vec::new();
        for lose in losses {
            let mut report = PathReport::default();
            lose(&mut report.backward);
            reports.push(report);
        }
        for endpoint in [at_endpoint(1, None), at_endpoint(0, Some(1))] {
            reports.push(PathReport {
                endpoint,
                ..PathReport::default()
            });
        }
        for report in reports {
            let Trust::Worthless { reasons } = report.trust(Duration::from_millis(1)) else {
                panic!("a packet was lost: {report:?}");
            };
            assert_eq!(reasons.len(), 1, "{reasons:?}");
            assert!(reasons[0].starts_with("1 packets"), "{reasons:?}");
        }
        let mut sound = PathReport {
            endpoint: at_endpoint(0, Some(0)),
            ..PathReport::default()
        };
        sound.forward.link_local = 1;
        assert_eq!(sound.trust(Duration::from_millis(1)), Trust::Sound);
    }
}
