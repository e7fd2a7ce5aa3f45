//! Estimates of the number of packets of a run, before it is performed.

use super::build::Scenario;
use crate::experiment::{AppWrite, Experiment, FlowGroup, LinkOptions};
use crate::units::{Buffer, Delay, Rate};

/// Assumed rate of links whose rate is unknown, as with recorded traces.
const ASSUMED_MBIT_S: f64 = 10.0;
/// Approximate size of a packet, in bytes.
const PACKET_BYTES: f64 = 1000.0;

impl Scenario {
    /// Estimates the number of packets of a run: the capacity of its bottleneck, or all data of its flows. The estimate
    /// is used to order runs and to predict the remaining time.
    #[must_use]
    pub fn packets(&self) -> u64 {
        let e = &self.experiment;
        let rates = e.path.iter().chain(&e.links).filter_map(|link| link.rate);
        let rate = rates
            .map(Rate::as_megabits_per_second)
            .reduce(f64::max)
            .unwrap_or(ASSUMED_MBIT_S);
        let carried = rate * 1e6 / 8.0 * e.duration.as_seconds();
        let finite = e.flows.iter().map(|group| {
            let bytes = match group.writes.as_slice() {
                [] => group.bytes?.as_bytes() as f64,
                writes => {
                    let of = |w: &AppWrite| w.bytes.as_bytes() as f64 * w.times(e.duration) as f64;
                    writes.iter().map(of).sum()
                }
            };
            Some(bytes * f64::from(group.count))
        });
        let bytes = match finite.sum::<Option<f64>>() {
            Some(sent) if !e.flows.is_empty() => sent.min(carried),
            _ => carried,
        };
        (bytes / PACKET_BYTES).ceil().max(1.0) as u64
    }

    /// Estimates the number of packets that a run is likely to send. The estimate is used to split runs into shards.
    /// Unlike [`packets`](Self::packets), it considers limits of a run that may be swept: duty cycles and shapers,
    /// application-limited flows, and losses.
    #[must_use]
    pub fn likely_packets(&self) -> u64 {
        let e = &self.experiment;
        let carried = self.carried();
        let (mut given, mut greedy) = (e.sources_bytes(), 0.0);
        for group in &e.flows {
            match group.bytes_in(e.duration) {
                Some(bytes) => given += bytes,
                None => greedy += f64::from(group.count),
            }
        }
        if e.flows.is_empty() {
            greedy = 1.0;
        }
        let left = (carried - given).max(0.0);
        let bytes = given.min(carried) + e.taken_by(greedy, left);
        (bytes / PACKET_BYTES).ceil().max(1.0) as u64
    }

    /// Returns the bytes that the narrowest link can carry in a run.
    fn carried(&self) -> f64 {
        let e = &self.experiment;
        let rates = { e.path.iter().chain(&e.links) }.map(|link| self.rate_bps(link));
        let radio = e.radio.iter().filter_map(|radio| radio.rate);
        let rate = rates.chain(radio.map(bps)).reduce(f64::min);
        rate.unwrap_or(ASSUMED_MBIT_S * 1e6) / 8.0 * e.duration.as_seconds()
    }

    /// Returns the rate of `link` in bits per second, with its shaper or policer and its duty cycle.
    fn rate_bps(&self, link: &LinkOptions) -> f64 {
        let recorded = || Some(self.traces.get(link.trace.as_ref()?)?.mean_rate_bps());
        let own = link.rate.map(bps).or_else(recorded);
        let bucket = link.token_bucket.as_ref().map(|bucket| bucket.rate);
        let cake = link.cake.as_ref().and_then(|cake| cake.rate);
        let shaped = bucket.into_iter().chain(cake).map(bps);
        let open = link
            .duty
            .as_ref()
            .map_or(1.0, |duty| duty.share.as_fraction());
        shaped.fold(own.unwrap_or(ASSUMED_MBIT_S * 1e6), f64::min) * open
    }
}

impl Experiment {
    /// Returns the maximum number of bytes that the UDP and media sources send.
    fn sources_bytes(&self) -> f64 {
        let seconds = self.duration.as_seconds();
        let udp = self.udp.iter().map(|source| {
            let (on, off) = (
                source.on.unwrap_or_default(),
                source.off.unwrap_or_default(),
            );
            let cycle = on.as_seconds() + off.as_seconds();
            let share = if cycle > 0.0 {
                on.as_seconds() / cycle
            } else {
                1.0
            };
            bps(source.rate) * share
        });
        let media = self.media.iter().map(|media| {
            let rate = media.rates.last().copied().map_or(0.0, bps);
            rate * f64::from(media.count)
        });
        udp.chain(media).sum::<f64>() / 8.0 * seconds
    }

    /// Estimates how many of the `left` bytes `flows` bulk flows use. A flow sends at most its maximum window per round
    /// trip. With a loss rate of p, Reno sends √(3/2p) segments per round trip (Mathis et al., "The Macroscopic
    /// Behavior of the TCP Congestion Avoidance Algorithm", 1997). Other stacks may use all available capacity. The
    /// stack is not known here, so the estimate is the mean of the two amounts.
    fn taken_by(&self, flows: f64, left: f64) -> f64 {
        let links = || self.path.iter().chain(&self.links);
        let loss: f64 = links().map(loss_events).sum();
        let access = self
            .access
            .as_ref()
            .map_or(0.0, |access| 2.0 * access.delay.as_seconds());
        let one_way = links().map(|link| link.delay.as_seconds()).sum::<f64>() + access;
        if flows <= 0.0 {
            return 0.0;
        }
        if one_way <= 0.0 {
            return left;
        }
        let windows = flows * self.duration.as_seconds() / (2.0 * one_way);
        let window = match self.sender.max_window {
            Some(Buffer::Packets(packets)) => f64::from(packets) * PACKET_BYTES,
            Some(Buffer::Bytes(bytes)) => bytes as f64,
            None => f64::INFINITY,
        };
        let most = left.min(windows * window);
        match loss > 0.0 {
            true => most.midpoint(most.min(windows * (1.5 / loss).sqrt() * PACKET_BYTES)),
            false => most,
        }
    }
}

impl FlowGroup {
    /// Returns the bytes that all flows of the group send in a run of `duration`, or `None` for bulk flows.
    fn bytes_in(&self, duration: Delay) -> Option<f64> {
        let at = |rate: Rate| bps(rate) / 8.0 * duration.as_seconds();
        let each = match (&self.video, &self.web, self.writes.as_slice()) {
            (Some(video), ..) => at(video.rate),
            (None, Some(web), _) => at(web.load),
            (None, None, []) => self.bytes?.as_bytes() as f64,
            (None, None, writes) => {
                let of = |w: &AppWrite| w.bytes.as_bytes() as f64 * w.times(duration) as f64;
                writes.iter().map(of).sum()
            }
        };
        Some(each * f64::from(self.count))
    }
}

fn bps(rate: Rate) -> f64 {
    rate.as_bits_per_second() as f64
}

/// Estimates the number of loss events per packet on `link`. A burst counts as one event.
fn loss_events(link: &LinkOptions) -> f64 {
    let bursts = link.burst_loss.as_ref();
    link.loss.as_fraction() + bursts.map_or(0.0, |burst| burst.enter.as_fraction())
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use crate::experiment::load::Source;
    use crate::run::Plan;

    fn packets(path: &str) -> (u64, u64) {
        let text = format!(
            "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"60s\"\n[path]\nrate = \"10Mbit/s\"\n{path}"
        );
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        let scenario = plan.scenario(plan.jobs()[0]);
        (scenario.packets(), scenario.likely_packets())
    }

    /// Packets of 1000 bytes at 10 Mbit/s in 60 s.
    const CARRIED: u64 = 75_000;

    #[test]
    fn losses_reduce_the_estimate() {
        assert_eq!(packets("delay = \"20ms\"\n"), (CARRIED, CARRIED));
        // 1500 round trips of √(1.5/0.015) = 10 segments: the result is the mean of this and the capacity.
        let lossy = packets("delay = \"20ms\"\nloss = \"1.5%\"\n");
        assert_eq!(lossy, (CARRIED, (75_000 + 15_000) / 2));
        let bursts = "delay = \"20ms\"\nburst_loss = { enter = \"1.5%\", leave = \"50%\" }\n";
        assert_eq!(packets(bursts), lossy);
        // Three flows have three windows.
        let three = packets("delay = \"20ms\"\nloss = \"1.5%\"\n[[flows]]\ncount = 3\n");
        assert_eq!(three.1, (75_000 + 45_000) / 2);
        // The path is so short that its capacity is used in spite of the losses.
        let short = packets("delay = \"0.1ms\"\nloss = \"1.5%\"\n");
        assert_eq!(short, (CARRIED, CARRIED));
        let none = packets("delay = \"0ms\"\nloss = \"1.5%\"\n");
        assert_eq!(none, (CARRIED, CARRIED));
    }

    #[test]
    fn duty_cycles_shapers_and_limited_applications_reduce_the_estimate() {
        let likely = |path: &str| packets(&format!("delay = \"20ms\"\n{path}")).1;
        let duty = "duty = { period = \"100ms\", share = \"10%\" }\n";
        assert_eq!(likely(duty), CARRIED / 10);
        let bucket =
            "queue = \"shaper\"\ntoken_bucket = { rate = \"2Mbit/s\", burst = \"15kB\" }\n";
        assert_eq!(likely(bucket), CARRIED / 5);
        let cake = "queue = \"cake\"\ncake = { rate = \"5Mbit/s\" }\n";
        assert_eq!(likely(cake), CARRIED / 2);
        // Ten packets in each of the 1500 round trips of 40 ms.
        let window = "[sender]\nmax_window = \"10pkt\"\n";
        assert_eq!(likely(window), 15_000);
        for (flows, bytes) in [
            ("bytes = \"3MB\"", 3_000_000),
            ("count = 2\nbytes = \"3MB\"", 6_000_000),
            ("bytes = \"3GB\"", 75_000_000),
            (
                "writes = [{ every = \"1s\", bytes = \"30kB\" }]",
                60 * 30_000,
            ),
            (
                "video = { rate = \"2Mbit/s\", deadline = \"500ms\" }",
                15_000_000,
            ),
            (
                "web = { sizes = \"web_objects\", load = \"4Mbit/s\" }",
                30_000_000,
            ),
            // A bulk flow uses the remaining capacity of the link.
            ("bytes = \"3MB\"\n[[flows]]", 75_000_000),
        ] {
            assert_eq!(
                likely(&format!("[[flows]]\n{flows}\n")),
                bytes / 1000,
                "{flows}"
            );
        }
    }

    #[test]
    fn a_recorded_trace_determines_the_estimate() {
        let file = std::env::temp_dir().join(format!("dupack-effort-{}.down", std::process::id()));
        // The trace has 1500 bytes every 3 ms: 4 Mbit/s.
        let lines: String = (1..1000).map(|n| format!("{}\n", 3 * n)).collect();
        std::fs::write(&file, lines).unwrap();
        let text = format!(
            "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"60s\"\n[path]\ndelay = \"20ms\"\ntrace = {:?}\n",
            file.display().to_string()
        );
        let source = Source::new("test.toml", text);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
        std::fs::remove_file(file).unwrap();
        let likely = plan.scenario(plan.jobs()[0]).likely_packets();
        assert!(likely.abs_diff(30_000) < 100, "{likely}");
    }
}
