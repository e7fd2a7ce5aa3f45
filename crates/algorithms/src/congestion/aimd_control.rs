//! Congestion controls that are AIMD with a few differences.
//!
//! [`Aimd`] is what these controls share: growth ([`Increase`]), reduction ([`Decrease`]), the early end of slow start,
//! undo and pacing. An [`AimdVariant`] is what one of them has of its own. Each method of the trait has AIMD's answer
//! as its default, so that the file of a control holds its differences only; [`reno`](super::reno) has none.
//!
//! ```text
//! AckFacts, LossFacts, … ──▶ AimdControl { aimd, variant } ──▶ Window
//!                            asks the variant, hands it the Aimd
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

/// Parameters of AIMD, for the controls that take all of them.
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

/// Returns the parameters of AIMD that Linux can set.
pub fn knobs() -> impl Iterator<Item = Knob> {
    pacing::knobs().into_iter().chain(undo::knobs())
}

/// State that every variant of AIMD has.
#[derive(Clone, Debug)]
pub struct Aimd {
    /// Bytes of a full segment.
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
    /// Returns AIMD with these parameters, whose slow start ends with a loss.
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

    /// Lets slow start end early, as `parameters` say.
    #[must_use]
    pub fn exiting_early(self, parameters: &SlowStartParameters, context: &Context) -> Self {
        let early_exit = EarlyExit::new(parameters, self.pacing.switch(), context);
        Self {
            early_exit: early_exit.map(Box::new),
            ..self
        }
    }

    /// Returns the control that `variant` makes of AIMD, with its window validated if the parameters say so.
    #[must_use]
    pub fn varied(self, variant: impl AimdVariant) -> Box<dyn CongestionControl> {
        let (smss, validation) = (self.smss, self.window_validation);
        let aimd = self;
        validating(Box::new(AimdControl { aimd, variant }), validation, smss)
    }

    /// Returns the window before it grows on an ACK: `ssthresh` is `cwnd` if slow start is to end now.
    pub fn before_growth(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Window {
        match &mut self.early_exit {
            None => view.window,
            Some(exit) => exit.on_ack(ack, view, &mut self.increase),
        }
    }

    /// Returns the window after a timeout: one segment, and slow start.
    pub fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.increase.after_timeout();
        if let Some(exit) = &mut self.early_exit {
            exit.after_timeout();
        }
        self.decrease.after_timeout(loss)
    }

    /// Returns the window after a spurious reduction: the one before it.
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

/// Answer to a loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The control's own reduction: the loss was taken for congestion, or response 0 answered as if it had been. A
    /// control updates its state in the same way for both, so that response 0 is exactly TCP.
    Own,
    /// Another window, chosen by a response.
    Other(Window),
}

/// Differences of a control from AIMD. The methods are those of [`CongestionControl`], and `aimd` is the state that
/// the control shares with all others.
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

    /// Remembers the state of the variant that a loss event is about to change; AIMD remembers its own.
    fn remember(&mut self) {}

    /// See [`CongestionControl::on_spurious`].
    fn on_spurious(&mut self, prior: &Prior, window: Window, aimd: &mut Aimd) -> Window {
        aimd.on_spurious(prior, window)
    }

    /// See [`CongestionControl::on_idle_end`].
    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        let _ = (now, last_sent);
    }

    /// Resizes the state of the variant that counts bytes; AIMD resizes its own.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// See [`CongestionControl::bandwidth_estimate`].
    fn bandwidth_estimate(&self) -> Option<f64> {
        None
    }
}

/// Congestion control made of AIMD and a variant.
#[derive(Debug)]
pub(super) struct AimdControl<V> {
    pub(super) variant: V,
    pub(super) aimd: Aimd,
}

impl<V: AimdVariant> AimdControl<V> {
    /// Returns who chose the window that answers `loss`. `chosen` comes back rounded, at most down to a whole segment.
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
