//! Rule that sets the retransmission timer. The period without packets before a timeout is compared with the timeout
//! that each rule derives from the round-trip times.

use dupack_tcp::facts::View;
use dupack_tcp::time::Duration;

use super::report::{LeastTimeout, TimeoutRule};
use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Explained, Stage};

/// Linux's minimum variance term, `TCP_RTO_MIN`, and ns-2's `minrto_`.
const SHORT: Duration = Duration::from_millis(200);
/// Minimum timeout of RFC 6298 §2.4.
const ONE_SECOND: Duration = Duration::from_secs(1);
/// Tolerance of a timeout, as a fraction: it allows for clock ticks, and for samples that the sender took but the
/// capture does not show.
const OFF_SHARE: f64 = 0.08;
/// Tolerance of a timeout in seconds, in addition to `OFF_SHARE`.
const OFF_SECONDS: f64 = 0.012;

/// Evidence from timeouts.
#[derive(Clone, Debug, Default)]
pub(super) struct Timer {
    first_timeouts: u32,
    /// Number of timeouts whose timer has a known duration.
    measured: u32,
    linux: u32,
    one_second: u32,
    short: u32,
    shortest: Option<(Duration, Duration)>,
    probes: u32,
    /// Number of timeouts without a loss before them and without the probe that RACK-TLP would have sent.
    unprobed: u32,
    /// Stage of the sender before the event.
    stage: Stage,
    probe: Probe,
}

/// Tail loss probe since the last advance of the cumulative ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Probe {
    #[default]
    None,
    Sent,
}

impl Timer {
    pub const fn probes(&self) -> u32 {
        self.probes
    }

    pub const fn unprobed(&self) -> u32 {
        self.unprobed
    }

    /// Records an ACK.
    pub fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
        self.stage = explained.stage;
        if arrival.facts.acked_bytes > 0 {
            self.probe = Probe::None;
        }
    }

    pub const fn timeouts(&self) -> u32 {
        self.first_timeouts
    }

    pub fn departed(&mut self, view: &View<'_>, explained: &Explained<'_>) {
        let before = core::mem::replace(&mut self.stage, explained.stage);
        let Some(retransmission) = explained.retransmission else {
            return;
        };
        match retransmission.cause {
            Cause::TailLossProbe => {
                self.probes = self.probes.saturating_add(1);
                self.probe = Probe::Sent;
            }
            Cause::Timeout { expiry: 1 } => {
                if before == Stage::Open && self.probe == Probe::None && view.rtt.srtt().is_some() {
                    self.unprobed = self.unprobed.saturating_add(1);
                }
                self.timed_out(view, retransmission.waited);
            }
            _ => {}
        }
    }

    fn timed_out(&mut self, view: &View<'_>, waited: Duration) {
        self.first_timeouts = self.first_timeouts.saturating_add(1);
        // No rule sets a timer that is shorter than a round trip.
        let Some(srtt) = view.rtt.srtt().filter(|&srtt| srtt < waited) else {
            return;
        };
        self.measured = self.measured.saturating_add(1);
        if self.shortest.is_none_or(|(shortest, _)| waited < shortest) {
            self.shortest = Some((waited, srtt));
        }
        let variance = view.rtt.rttvar() * 4;
        let fits = |rto: Duration| {
            let (rto, waited) = (rto.as_secs_f64(), waited.as_secs_f64());
            u32::from((rto - waited).abs() <= OFF_SECONDS + OFF_SHARE * rto)
        };
        self.linux = self.linux.saturating_add(fits(srtt + variance.max(SHORT)));
        let exact = srtt + variance;
        self.one_second = self.one_second.saturating_add(fits(exact.max(ONE_SECOND)));
        self.short = self.short.saturating_add(fits(exact.max(SHORT)));
    }

    /// Returns the shortest timeout and the rule that matches the timeouts; `None` without a timeout.
    pub fn least(&self) -> Option<LeastTimeout> {
        let (shortest, srtt) = self.shortest?;
        let most = self.linux.max(self.one_second).max(self.short);
        // A rule must fit more than half of the timeouts, and at least twice as many as any other rule.
        let tells = most.saturating_mul(2) > self.measured;
        let fits = [self.linux, self.one_second, self.short];
        let close = fits.iter().filter(|&&fits| fits.saturating_mul(2) > most);
        let tells = tells && close.count() == 1;
        let others = |fits: u32| fits == most && tells;
        let rule = match (
            others(self.linux),
            others(self.one_second),
            others(self.short),
        ) {
            (true, false, false) => TimeoutRule::Linux,
            (false, true, false) => TimeoutRule::OneSecond,
            (false, false, true) => TimeoutRule::Short,
            _ => TimeoutRule::Other,
        };
        Some(LeastTimeout {
            shortest,
            srtt,
            rule,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::budget::film::{Film, MSS, at, ms};
    use crate::read::moment::{Analysis, Departure};

    impl Analysis for Timer {
        fn departed(&mut self, departure: &Departure<'_>, explained: &Explained<'_>) {
            self.departed(&departure.view, explained);
        }

        fn arrived(&mut self, arrival: &Arrival<'_>, explained: &Explained<'_>) {
            self.arrived(arrival, explained);
        }
    }

    /// Simulates thirty round trips of 50 ms, followed by three segments that are not acknowledged.
    fn silent() -> Film<Timer> {
        let mut film = Film::new(Timer::default(), 1 << 20);
        for n in 0..30 {
            film.send(at(n * 50), 1);
            film.ack(at(n * 50 + 50), (n + 1) * MSS);
        }
        film.send(at(1500), 3);
        film
    }

    const TIMEOUT: Cause = Cause::Timeout { expiry: 1 };

    #[test]
    fn a_timer_fits_the_rule_with_its_least_timeout() {
        for (waited, rule) in [
            (200, TimeoutRule::Short),
            (250, TimeoutRule::Linux),
            (270, TimeoutRule::Linux),
            (1000, TimeoutRule::OneSecond),
            (400, TimeoutRule::Other),
            // Both Linux's rule and RFC 6298 with a minimum of 200 ms fit.
            (222, TimeoutRule::Other),
        ] {
            let mut film = silent();
            film.repeat(at(1500 + waited), 30 * MSS, TIMEOUT, Stage::Loss);
            let least = film.told.least().expect("there was a timeout");
            assert_eq!((least.shortest, least.rule), (ms(waited), rule));
            assert_eq!(least.srtt, ms(50));
        }
        assert_eq!(silent().told.least(), None);
    }

    #[test]
    fn a_rule_must_fit_most_timeouts() {
        let of = |waits: &[u64]| {
            let mut film = silent();
            let mut now = 1500;
            for wait in waits {
                now += wait;
                film.repeat(at(now), 30 * MSS, TIMEOUT, Stage::Loss);
            }
            film.told.least().expect("there was one").rule
        };
        assert_eq!(of(&[250, 250, 400]), TimeoutRule::Linux);
        assert_eq!(of(&[250, 250, 400, 400]), TimeoutRule::Other);
        assert_eq!(of(&[250, 250, 250, 1000]), TimeoutRule::Linux);
        assert_eq!(of(&[250, 250, 1000]), TimeoutRule::Linux);
        assert_eq!(of(&[250, 250, 250, 1000, 1000]), TimeoutRule::Other);
    }

    #[test]
    fn a_timeout_without_the_expected_probe_is_counted() {
        let mut film = silent();
        film.repeat(at(1750), 30 * MSS, TIMEOUT, Stage::Loss);
        assert_eq!((film.told.timeouts(), film.told.unprobed()), (1, 1));

        let mut film = silent();
        film.repeat(at(1610), 32 * MSS, Cause::TailLossProbe, Stage::Open);
        film.repeat(at(1860), 30 * MSS, TIMEOUT, Stage::Loss);
        assert_eq!((film.told.probes(), film.told.unprobed()), (1, 0));

        // A probe before an advance of the cumulative ACK no longer counts.
        let mut film = silent();
        film.repeat(at(1610), 32 * MSS, Cause::TailLossProbe, Stage::Open);
        film.ack(at(1660), 31 * MSS);
        film.repeat(at(1910), 31 * MSS, TIMEOUT, Stage::Loss);
        assert_eq!((film.told.probes(), film.told.unprobed()), (1, 1));

        // No probe is sent during a recovery.
        let mut film = silent();
        film.repeat(at(1600), 30 * MSS, Cause::SackedBeyond, Stage::Recovery);
        film.repeat(at(1850), 30 * MSS, TIMEOUT, Stage::Loss);
        assert_eq!((film.told.timeouts(), film.told.unprobed()), (1, 0));
    }
}
