//! By whose rule the retransmission timer is set: how long it was silent before a timeout, against
//! what each rule makes of the round-trip times.

use dupack_tcp::facts::View;
use dupack_tcp::time::Duration;

use super::report::{LeastTimeout, TimeoutRule};
use crate::analyse::cause::Cause;
use crate::read::moment::{Arrival, Explained, Stage};

/// Linux's least variance term, `TCP_RTO_MIN`; ns-2's `minrto_`.
const SHORT: Duration = Duration::from_millis(200);
/// RFC 6298 §2.4.
const ONE_SECOND: Duration = Duration::from_secs(1);
/// How far a timer may be off: ticks, and what the sender sampled and the capture did not.
const OFF_SHARE: f64 = 0.08;
/// The same in seconds.
const OFF_SECONDS: f64 = 0.012;

/// What the timeouts say.
#[derive(Clone, Debug, Default)]
pub(super) struct Timer {
    first_timeouts: u32,
    /// Those of which the timer's length is known.
    measured: u32,
    linux: u32,
    one_second: u32,
    short: u32,
    shortest: Option<(Duration, Duration)>,
    probes: u32,
    /// Timeouts while nothing was amiss, which RACK-TLP would have sent a probe before, and none was sent.
    unprobed: u32,
    /// Where the sender stood before, and whether a probe was sent since something was acknowledged.
    stage: Stage,
    probe: Probe,
}

/// Whether a tail loss probe was sent since something new was acknowledged.
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

    /// An ACK came.
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
        // No rule has a timer that is shorter than a round trip.
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

    /// The least timeout and the rule that it fits; `None` without a timeout.
    pub fn least(&self) -> Option<LeastTimeout> {
        let (shortest, srtt) = self.shortest?;
        let most = self.linux.max(self.one_second).max(self.short);
        // A rule must fit most of them, and twice as many as any other.
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
