//! Loss models: losses with causes other than a full queue.
//!
//! A link may have several models, each with its own random stream. Every model sees every packet that reaches the
//! model's place on the link and passes its filter, even if another model at that place drops the packet.

mod gilbert_elliott;
mod script;

pub use gilbert_elliott::{GilbertElliott, GilbertElliottTimed};
pub use script::{LossScript, MAX_SCRIPTED_PACKETS, ScriptError, ScriptRule, Transmissions};

use dupack_tcp::time::Instant;

use self::gilbert_elliott::{PacketChain, TimeChain};
use self::script::ScriptState;
use super::counters::DropCause;
use super::offer::Offer;
use crate::packet::PacketKind;
use crate::random::Stream;
use crate::units::Probability;

/// A loss model at a place on a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LossConfig {
    /// Loss model.
    pub model: LossModel,
    /// Place on the link.
    pub placement: LossPlacement,
    /// Packets that the model sees.
    pub filter: PacketFilter,
}

/// Loss model: decides which packets are lost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LossModel {
    /// Loses each packet independently, with the same probability.
    Bernoulli(Probability),
    /// Loses packets in bursts, by a two-state chain that moves once per packet.
    GilbertElliott(GilbertElliott),
    /// Loses packets in bursts, by a two-state chain that moves with time.
    GilbertElliottTimed(GilbertElliottTimed),
    /// Loses exactly the given packets.
    Script(LossScript),
}

/// Place of a loss model on the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPlacement {
    /// Before the queue: a lost packet occupies neither buffer nor transmitter (the place of ns-2's `lossmodel`).
    #[default]
    BeforeQueue,
    /// After the transmitter: a lost packet has waited in the queue and used its transmission time, and is lost at its
    /// arrival time (a wireless channel).
    AfterTransmission,
}

/// Packets that a loss model sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketFilter {
    /// All packets.
    #[default]
    All,
    /// TCP data packets only.
    DataOnly,
    /// TCP acknowledgments only.
    AcksOnly,
}

impl PacketFilter {
    /// Returns `true` if packets of `kind` pass the filter.
    #[must_use]
    pub const fn passes(self, kind: PacketKind) -> bool {
        match self {
            Self::All => true,
            Self::DataOnly => matches!(kind, PacketKind::Data),
            Self::AcksOnly => matches!(kind, PacketKind::Ack),
        }
    }
}

/// A loss model at run time.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    state: LossState,
    filter: PacketFilter,
}

#[derive(Clone, Debug)]
enum LossState {
    Bernoulli(Probability, Stream),
    Chain(PacketChain),
    TimeChain(TimeChain),
    Script(ScriptState),
}

impl Loss {
    pub(super) fn new(config: &LossConfig, stream: Stream) -> Self {
        let state = match &config.model {
            LossModel::Bernoulli(p) => LossState::Bernoulli(*p, stream),
            LossModel::GilbertElliott(model) => LossState::Chain(PacketChain::new(*model, stream)),
            LossModel::GilbertElliottTimed(model) => {
                LossState::TimeChain(TimeChain::new(*model, stream))
            }
            LossModel::Script(script) => LossState::Script(ScriptState::new(script)),
        };
        Self {
            state,
            filter: config.filter,
        }
    }

    /// Returns the cause of the drop if the model drops this packet.
    #[inline(always)]
    pub(super) fn takes(&mut self, now: Instant, packet: &Offer) -> Option<DropCause> {
        if !self.filter.passes(packet.kind) {
            return None;
        }
        match &mut self.state {
            LossState::Bernoulli(p, stream) => stream.chance(*p).then_some(DropCause::Random),
            others => others.take(now, packet),
        }
    }
}

impl LossState {
    #[inline(never)]
    fn take(&mut self, now: Instant, packet: &Offer) -> Option<DropCause> {
        match self {
            Self::Bernoulli(p, stream) => stream.chance(*p).then_some(DropCause::Random),
            Self::Chain(chain) => chain.loses().then_some(DropCause::Random),
            Self::TimeChain(chain) => chain.loses(now).then_some(DropCause::Random),
            Self::Script(script) => script.takes(now, packet).then_some(DropCause::Script),
        }
    }
}
