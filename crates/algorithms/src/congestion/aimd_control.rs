//! Congestion controls that differ from AIMD in a few points.
//!
//! [`Aimd`] contains the parts that these controls share: growth ([`Increase`]), reduction ([`Decrease`]), the early
//! end of slow start, undo and pacing. An [`AimdVariant`] contains the differences of one control. Each method of the
//! trait does the same as AIMD by default, so the file of a control contains only its differences;
//! [`reno`](super::reno) has none.
//!
//! ```text
//! AckFacts, LossFacts, … ──▶ AimdControl { aimd, variant } ──▶ Window
//!                            calls the variant with the Aimd
//! ```
//!
//! A control that is not AIMD ([`bbr`](super::bbr), [`fixed`](super::fixed)) implements [`CongestionControl`] itself.

use alloc::boxed::Box;
use core::fmt::Debug;

use dupack_tcp::congestion::{CongestionControl, Credit, MarkAnswer, Pacing};
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::rtt::RtoShortening;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use super::aimd::{Decrease, DecreaseParameters, Increase, IncreaseParameters};
use super::pacing::{self, Pace, PacingParameters};
use super::slow_start::{EarlyExit, SlowStartParameters};
use super::undo::{self, UndoParameters};
use super::window_validation::validating;
use crate::catalog::linux::Knob;
use crate::catalog::{Context, Parameters, Switch};

/// Parameters of AIMD, for the controls that use all of them.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct AimdParameters {
    /// Growth.
    #[embed]
    pub increase: IncreaseParameters,
    /// Reduction.
    #[embed]
    pub decrease: DecreaseParameters,
    /// Signs of a spurious reduction.
    #[embed]
    pub undo: UndoParameters,
    /// Pacing.
    #[embed]
    pub pacing: PacingParameters,
}

impl AimdParameters {
    /// Returns AIMD with these parameters.
    #[must_use]
    pub fn build(&self, context: &Context) -> Aimd {
        Aimd::new(
            &self.increase,
            &self.decrease,
            &self.undo,
            &self.pacing,
            context,
        )
    }
}

/// Returns the AIMD parameters that Linux can set.
pub fn knobs() -> impl Iterator<Item = Knob> {
    pacing::knobs().into_iter().chain(undo::knobs())
}

/// State that all variants of AIMD share.
#[derive(Clone, Debug)]
pub struct Aimd {
    /// Size of a full segment, in bytes.
    pub smss: f64,
    /// Growth.
    pub increase: Increase,
    /// Reduction.
    pub decrease: Decrease,
    early_exit: Option<Box<EarlyExit>>,
    undo: UndoRules,
    pacing: Pace,
    window_validation: Switch,
}

impl Aimd {
    /// Creates AIMD with these parameters. Its slow start ends at a loss.
    #[must_use]
    pub fn new(
        increase: &IncreaseParameters,
        decrease: &DecreaseParameters,
        undo: &UndoParameters,
        pacing: &PacingParameters,
        context: &Context,
    ) -> Self {
        Self {
            smss: f64::from(context.smss),
            increase: Increase::new(increase, context),
            decrease: Decrease::new(decrease, context),
            early_exit: None,
            undo: undo.rules(),
            pacing: Pace::new(pacing),
            window_validation: increase.cwv,
        }
    }

    /// Allows slow start to end early, as specified by `parameters`.
    #[must_use]
    pub fn exiting_early(self, parameters: &SlowStartParameters, context: &Context) -> Self {
        let early_exit = EarlyExit::new(parameters, self.pacing.switch(), context);
        Self {
            early_exit: early_exit.map(Box::new),
            ..self
        }
    }

    /// Returns the control that consists of AIMD and `variant`, with window validation if the parameters enable it.
    #[must_use]
    pub fn varied(self, variant: impl AimdVariant) -> Box<dyn CongestionControl> {
        let (smss, validation) = (self.smss, self.window_validation);
        let aimd = self;
        validating(Box::new(AimdControl { aimd, variant }), validation, smss)
    }

    /// Returns the window before it grows on an ACK. Its `ssthresh` equals `cwnd` if slow start ends now.
    pub fn before_growth(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Window {
        match &mut self.early_exit {
            None => view.window,
            Some(exit) => exit.on_ack(ack, view, &mut self.increase),
        }
    }

    /// Returns the window after a timeout: one segment, in slow start.
    pub fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.increase.after_timeout();
        if let Some(exit) = &mut self.early_exit {
            exit.after_timeout();
        }
        self.decrease.after_timeout(loss)
    }

    /// Returns the window after a spurious reduction: the window before the reduction.
    pub fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        self.increase.restore();
        prior.restored(window)
    }

    fn resize(&mut self, from: u32, to: u32) {
        self.smss = f64::from(to);
        self.increase.resize(from, to);
        self.decrease.resize(from, to);
        if let Some(exit) = &mut self.early_exit {
            exit.resize(to);
        }
    }
}

/// Window that was chosen in response to a loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The control's own reduction: the loss was classified as congestion, or response 0 responded as if it were
    /// congestion. A control updates its state in the same way in both cases, so response 0 behaves exactly like TCP.
    Own,
    /// A different window, chosen by a response.
    Other(Window),
}

/// Differences of a control from AIMD. The methods are those of [`CongestionControl`]; `aimd` is the state that the
/// control shares with the other variants.
pub trait AimdVariant: Debug + Send + 'static {
    /// See [`CongestionControl::on_handshake`].
    fn on_handshake(&mut self, rtt: Duration, opening: Window, aimd: &Aimd) -> Window {
        let _ = (rtt, aimd);
        opening
    }

    /// See [`CongestionControl::rto_shortening`].
    fn rto_shortening(&self) -> Option<RtoShortening> {
        None
    }

    /// See [`CongestionControl::marks`].
    fn marks(&self) -> MarkAnswer {
        MarkAnswer::AsLoss
    }

    /// See [`CongestionControl::on_ack`].
    fn on_ack(
        &mut self,
        ack: &AckFacts<'_>,
        credit: Credit,
        view: &View<'_>,
        aimd: &mut Aimd,
    ) -> Window {
        let window = aimd.before_growth(ack, view);
        aimd.increase.grown(ack, credit, window)
    }

    /// See [`CongestionControl::reduction`].
    fn reduction(&self, loss: &LossFacts, aimd: &Aimd) -> Window {
        aimd.decrease.after_loss(loss)
    }

    /// See [`CongestionControl::on_loss`].
    fn on_loss(&mut self, loss: &LossFacts, answer: Answer, aimd: &mut Aimd) {
        let _ = loss;
        if answer == Answer::Own {
            aimd.increase.after_loss();
        }
    }

    /// See [`CongestionControl::on_timeout`].
    fn on_timeout(&mut self, loss: &LossFacts, aimd: &mut Aimd) -> Window {
        aimd.on_timeout(loss)
    }

    /// Saves the state of the variant that a loss event is about to change; AIMD saves its own state.
    fn remember(&mut self) {}

    /// See [`CongestionControl::on_spurious`].
    fn on_spurious(&mut self, prior: &Prior, window: Window, aimd: &mut Aimd) -> Window {
        aimd.on_spurious(prior, window)
    }

    /// See [`CongestionControl::on_idle_end`].
    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        let _ = (now, last_sent);
    }

    /// Converts the variant's state that is in bytes to a new segment size; AIMD converts its own state.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// See [`CongestionControl::bandwidth_estimate`].
    fn bandwidth_estimate(&self) -> Option<f64> {
        None
    }
}

/// Congestion control that consists of AIMD and a variant.
#[derive(Debug)]
pub(super) struct AimdControl<V> {
    pub(super) variant: V,
    pub(super) aimd: Aimd,
}

impl<V: AimdVariant> AimdControl<V> {
    /// Determines whether `chosen` is the control's own reduction. A response may have rounded the window down, by less
    /// than a segment.
    fn answer(&self, loss: &LossFacts, cause: LossCause, chosen: Window) -> Answer {
        let alike = |chosen: f64, own: f64| {
            chosen == own || (0.0..self.aimd.smss).contains(&(own - chosen))
        };
        let own = self.variant.reduction(loss, &self.aimd);
        let is_own = cause == LossCause::Congestion
            || alike(chosen.cwnd, own.cwnd) && alike(chosen.ssthresh, own.ssthresh);
        if is_own {
            Answer::Own
        } else {
            Answer::Other(chosen)
        }
    }
}

impl<V: AimdVariant> CongestionControl for AimdControl<V> {
    fn on_handshake(&mut self, rtt: Duration, opening: Window) -> Window {
        self.variant.on_handshake(rtt, opening, &self.aimd)
    }

    fn rto_shortening(&self) -> Option<RtoShortening> {
        self.variant.rto_shortening()
    }

    fn marks(&self) -> MarkAnswer {
        self.variant.marks()
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        self.variant.on_ack(ack, credit, view, &mut self.aimd)
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.variant.reduction(loss, &self.aimd)
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        let answer = self.answer(loss, cause, chosen);
        self.variant.on_loss(loss, answer, &mut self.aimd);
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.variant.on_timeout(loss, &mut self.aimd)
    }

    fn undo(&self) -> UndoRules {
        self.aimd.undo
    }

    fn remember(&mut self) {
        self.aimd.increase.remember();
        self.variant.remember();
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        self.variant.on_spurious(prior, window, &mut self.aimd)
    }

    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        self.variant.on_idle_end(now, last_sent);
    }

    fn pacing(&self) -> Pacing {
        self.aimd.pacing.rule()
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.aimd.resize(from, to);
        self.variant.on_segment_size(from, to);
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.variant.bandwidth_estimate()
    }
}
