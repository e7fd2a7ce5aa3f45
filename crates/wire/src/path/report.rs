//! Report of the emulated path: the traffic that passed, and the path's own lateness.

use std::collections::BTreeMap;
use std::fmt;

use dupack_net::histogram::Histogram;
use dupack_net::link::LinkCounters;
use dupack_tcp::time::Duration;

use super::payload::Payload;
use super::record::Captures;

/// Traffic of a path, and measures of its timeliness.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PathReport {
    /// Direction from the near device to the far one.
    pub forward: LaneReport,
    /// Direction from the far device to the near one.
    pub backward: LaneReport,
    /// Times for which the devices were not checked, each counted from the moment when the path's thread was woken,
    /// even if the thread had no processor yet. They bound the error of the timestamps of arriving packets.
    pub unattended: Histogram,
    /// Total time that the path's thread was ready to run without a processor. `None` if the kernel does not report it.
    pub waited_for_processor: Option<Duration>,
    /// Lifetime of the path.
    pub lasted: Duration,
    /// Packet counts of the captures, if there were any.
    pub captures: Option<Captures>,
    /// Losses at the device of an endpoint behind one of the path's ends, if there is one.
    pub endpoint: Option<EndpointLosses>,
}

/// Packets lost between one of our endpoints and the neighbouring kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointLosses {
    /// Packets of the endpoint that the kernel refused.
    pub refused: u64,
    /// Packets that the kernel dropped because the endpoint did not read them in time. `None` if the kernel does not
    /// report them.
    pub overflowed: Option<u64>,
}

/// Traffic of one direction of the path.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LaneReport {
    /// Counters of the link. They count packets as on a real link, even with offload.
    pub link: LinkCounters,
    /// Queueing delays, if the link records them.
    pub waits: Option<Histogram>,
    /// Packets written at the far end, including duplicates.
    pub delivered: u64,
    /// Lateness of the packets: the time after the write minus the due time.
    pub lateness: Histogram,
    /// Packets that the far end's kernel refused.
    pub refused: u64,
    /// Packets that were dropped because they could not be parsed.
    pub malformed: u64,
    /// Packets that were dropped because too many were in flight.
    pub no_room: u64,
    /// Packets for the local link, which a path does not carry: multicast and broadcast.
    pub link_local: u64,
    /// Packets that the near end's kernel dropped because the path did not read them in time. `None` if the kernel does
    /// not report them.
    pub overflowed: Option<u64>,
    /// Packets that a [`NarrowHop`](super::NarrowHop) dropped.
    pub too_big: u64,
    /// Packets that were read and still had a segment in flight at the end.
    pub under_way: usize,
    /// Delivered payload, if it is counted ([`PathConfig::count_payload`](super::PathConfig::count_payload)).
    pub payload: Option<Payload>,
    /// Data by destination port, if it is counted ([`PathConfig::by_port`](super::PathConfig::by_port)).
    pub by_port: BTreeMap<u16, FlowPassage>,
}

/// Treatment of one flow's data on the path until the count ended
/// ([`RunningPath::end_count_by_port`](super::RunningPath::end_count_by_port)). Packets without data do not count.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FlowPassage {
    /// Packets that were offered to the link.
    pub offered: u64,
    /// Packets that the link dropped, for any reason.
    pub dropped: u64,
    /// Queueing delays of packets whose delay is known when the link accepts them. With a managed queue, it is not
    /// known.
    pub waits: Histogram,
}

/// Fraction of the packets that must leave within the tolerance.
const IN_TIME: f64 = 0.99;

/// Validity of a run over the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The path was on time, and no packets were lost outside the links.
    Sound,
    /// The machine was too slow, or packets were lost outside the links.
    Worthless {
        /// Reasons, as texts for people.
        reasons: Vec<String>,
    },
}

impl PathReport {
    /// Judges the run. The run is sound if 99 % of all packets left within `tolerance` of their due time, 99 % of the
    /// checks of the devices were in time too, and no packets were lost outside the links: in front of the path, in the
    /// path, behind it, or at the device of an endpoint. Packets for the local link do not count.
    #[must_use]
    pub fn trust(&self, tolerance: Duration) -> Trust {
        self.trust_of(["forward", "backward"], tolerance)
    }

    /// Same as [`trust`](Self::trust), with other names for the directions in the reasons: "packets {name} left …".
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
            (self.malformed, "dropped because they could not be parsed"),
            (self.no_room, "dropped because too many were in flight"),
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
                "{refused} packets of the endpoint were refused by the neighbouring kernel"
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
        "median {} ms, 99 % {} ms, maximum {} ms",
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
    fn a_loss_outside_the_links_spoils_a_run() {
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
