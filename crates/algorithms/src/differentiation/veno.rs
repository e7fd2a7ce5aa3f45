//! Veno: a loss is wireless if the backlog in the queue is small.
//!
//! C. P. Fu, S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2),
//! 2003, after Vegas; Park et al. §2.
//!
//! ```text
//! N = cwnd/RTTmin − cwnd/RTT, times RTTmin
//!   = cwnd · (RTT − RTTmin) / RTT   segments
//! N < β  →  wireless,   β = 3
//! ```
//!
//! For comparison: LDA_EQ divides the same delay by the maximum delay and needs no window; NCPLD and Spike compare only
//! delays. The congestion control Veno also grows more slowly when N ≥ β; that belongs to the second axis.
//!
//! Readings: RTT is the smoothed round-trip time (`rtt = latest` uses the last sample), RTTmin the minimum of the
//! connection. Without a sample, a loss is congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::{Choice, Context, Entry, Linux, Parameters};
use crate::congestion::backlog::backlog;

/// Round-trip time that is compared with the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Delay {
    /// SRTT (RFC 6298)
    Smoothed,
    /// the last sample
    Latest,
}

/// Parameters of Veno's classification.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct VenoParameters {
    /// backlog N from which a loss is congestion
    #[parameter(
        source = "Fu, Liew 2003; Park et al. §2",
        range = 0.0..=1e6,
        unit = "segments",
        default = 3.0,
    )]
    beta: f64,
    /// round-trip time at the loss that is compared with the minimum
    #[parameter(source = "Fu, Liew 2003 (smoothed)", default = Delay::Smoothed)]
    rtt: Delay,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("veno", file!())
        .summary("wireless if fewer than 3 segments are estimated to wait in the queue")
        .citation("Fu, Liew, TCP Veno, IEEE JSAC 21(2), 2003")
        .linux(Linux::missing(
            "its module tcp_veno tells losses apart only within its own congestion control",
        ))
        .build(|parameters, context| Box::new(Veno::new(parameters, context)))
}

/// Differentiation of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    smss: f64,
    beta: f64,
    delay: Delay,
}

impl Veno {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &VenoParameters, context: &Context) -> Self {
        Self {
            smss: f64::from(context.smss),
            beta: parameters.beta,
            delay: parameters.rtt,
        }
    }

    /// Returns N, the estimated number of segments in the queue.
    fn backlog(&self, loss: &LossFacts) -> Option<f64> {
        let rtt = match self.delay {
            Delay::Smoothed => loss.srtt,
            Delay::Latest => loss.rtt_latest,
        };
        backlog(loss.window.cwnd / self.smss, rtt, loss.rtt_min)
    }
}

impl Differentiation for Veno {
    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) {}

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        match self.backlog(loss) {
            Some(backlog) if backlog < self.beta => LossCause::Wireless,
            _ => LossCause::Congestion,
        }
    }

    fn on_segment_size(&mut self, _: u32, to: u32) {
        self.smss = f64::from(to);
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::time::Duration;

    use super::*;
    use crate::catalog::{Dialect, Value, typed};
    use crate::congestion::bench::{CONTEXT, loss_facts};

    fn veno(changes: &[(&str, Value)]) -> Veno {
        Veno::new(
            &typed::parameters(Dialect::Rfc, changes).expect("parameters"),
            &CONTEXT,
        )
    }

    fn loss(cwnd: u64, rtt_ms: u64, min_ms: u64) -> LossFacts {
        let mut loss = loss_facts(0, cwnd);
        loss.srtt = Some(Duration::from_millis(rtt_ms));
        loss.rtt_min = Some(Duration::from_millis(min_ms));
        loss.rtt_latest = Some(Duration::from_millis(min_ms));
        loss
    }

    #[test]
    fn the_backlog_by_hand() {
        // 20 segments, and 25 ms of the 125 ms are queueing delay: N = 20 · 25/125 = 4.
        assert_eq!(veno(&[]).backlog(&loss(20, 125, 100)), Some(4.0));
        assert_eq!(veno(&[]).judge(&loss(20, 125, 100)), LossCause::Congestion);
        // 14 segments: N = 2.8 < 3.
        assert_eq!(veno(&[]).judge(&loss(14, 125, 100)), LossCause::Wireless);
        // N = 3 is not below 3.
        assert_eq!(veno(&[]).judge(&loss(15, 125, 100)), LossCause::Congestion);
    }

    #[test]
    fn its_constants_are_parameters() {
        let mut patient = veno(&[("beta", Value::Real(5.0))]);
        assert_eq!(patient.judge(&loss(20, 125, 100)), LossCause::Wireless);
        let mut latest = veno(&[("rtt", Value::word("latest"))]);
        assert_eq!(latest.judge(&loss(20, 125, 100)), LossCause::Wireless);
    }

    #[test]
    fn without_samples_a_loss_is_congestion() {
        assert_eq!(veno(&[]).judge(&loss_facts(0, 1)), LossCause::Congestion);
    }

    #[test]
    fn a_coarse_clock_makes_no_negative_backlog() {
        assert_eq!(veno(&[]).backlog(&loss(20, 10, 14)), Some(0.0));
    }
}
