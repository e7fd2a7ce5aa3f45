//! Names in files, which do not change.

use crate::whatif::{Gain, Role};
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::{Cause, Class, Need};
use dupack_diagnosis::analyse::stalls::{Culprit, StallKind, WaitedFor};
use dupack_diagnosis::read::handshake::SynCause;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::read::vantage::{Place, Reason};

/// The name of a gain.
#[must_use]
pub const fn gain(gain: Gain) -> &'static str {
    match gain {
        Gain::Faster => "faster",
        Gain::Slower => "slower",
        Gain::None => "none",
    }
}

/// The name of what a stack is beside the captured one.
#[must_use]
pub const fn role(role: Role) -> &'static str {
    match role {
        Role::Captured => "captured",
        Role::PerhapsCaptured => "perhaps_captured",
        Role::Another => "another",
    }
}

/// The name of a limit.
#[must_use]
pub const fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Handshake => "handshake",
        Limit::Idle => "application_idle",
        Limit::Pause => "application_pause",
        Limit::ReceiveWindow => "receive_window",
        Limit::ZeroWindow => "zero_window",
        Limit::Nagle => "nagle",
        Limit::SenderBuffer => "sender_buffer_or_unknown",
        Limit::SlowStart => "slow_start",
        Limit::CongestionWindow => "congestion_window",
        Limit::Recovery => "recovery",
        Limit::RetransmissionTimer => "retransmission_timer",
        Limit::ProbeTimer => "probe_timer",
        Limit::EmptyQueue => "bottleneck_empty_queue",
        Limit::StandingQueue => "bottleneck_standing_queue",
        Limit::OverflowingQueue => "bottleneck_overflowing_queue",
    }
}

/// The name of a cause.
#[must_use]
pub const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::DuplicateAcks => "duplicate_acks",
        Cause::SackedBeyond => "sacked_beyond",
        Cause::Rack => "rack",
        Cause::EarlyRetransmit => "early_retransmit",
        Cause::PartialAck => "partial_ack",
        Cause::FurtherHole => "further_hole",
        Cause::LostAgain => "lost_again",
        Cause::Timeout { .. } => "timeout",
        Cause::AfterTimeout => "after_timeout",
        Cause::TailLossProbe => "tail_loss_probe",
        Cause::KeepAlive => "keep_alive",
        Cause::WindowProbe => "window_probe",
        Cause::Unknown => "unknown",
    }
}

/// The name of a class of causes.
#[must_use]
pub const fn class(class: Class) -> &'static str {
    match class {
        Class::Fast => "fast",
        Class::Further => "further",
        Class::Timeout => "timeout",
        Class::AfterTimeout => "after_timeout",
        Class::TailLossProbe => "tail_loss_probe",
        Class::KeepAlive => "keep_alive",
        Class::WindowProbe => "window_probe",
        Class::Unknown => "unknown",
    }
}

/// The name of whether a retransmission was needed.
#[must_use]
pub const fn need(need: Need) -> &'static str {
    match need {
        Need::Needed => "needed",
        Need::NeedlessByDsack => "needless_by_dsack",
        Need::NeedlessByTimestamp => "needless_by_timestamp",
        Need::NeedlessByTime => "needless_by_time",
        Need::NeedlessByArrival => "needless_by_arrival",
        Need::Unknown => "unknown",
    }
}

/// The name of a kind of stalls.
#[must_use]
pub const fn stall(kind: StallKind) -> &'static str {
    match kind {
        StallKind::DataUnavailable => "data_unavailable",
        StallKind::ResourceConstraint => "resource_constraint",
        StallKind::ClientIdle => "client_idle",
        StallKind::ZeroWindow => "zero_window",
        StallKind::PacketDelay => "packet_delay",
        StallKind::FastDouble => "fast_double",
        StallKind::TimeoutDouble => "timeout_double",
        StallKind::TailOpen => "tail_open",
        StallKind::TailRecovery => "tail_recovery",
        StallKind::SmallCongestionWindow => "small_congestion_window",
        StallKind::SmallReceiveWindow => "small_receive_window",
        StallKind::ContinuousLoss => "continuous_loss",
        StallKind::AckDelayOrLoss => "ack_delay_or_loss",
        StallKind::Undetermined => "undetermined",
    }
}

/// The name of whom a stall is due to.
#[must_use]
pub const fn culprit(culprit: Culprit) -> &'static str {
    match culprit {
        Culprit::Server => "sender",
        Culprit::Client => "receiver",
        Culprit::Network => "network",
    }
}

/// The name of what a sender waited for.
#[must_use]
pub const fn waited_for(waited_for: WaitedFor) -> &'static str {
    match waited_for {
        WaitedFor::Data => "data",
        WaitedFor::Request => "request",
        WaitedFor::Window => "window",
        WaitedFor::Ack => "ack",
        WaitedFor::RetransmissionTimer => "retransmission_timer",
        WaitedFor::ProbeTimer => "probe_timer",
    }
}

/// The name of a place.
#[must_use]
pub const fn place(place: Place) -> &'static str {
    match place {
        Place::Sender => "sender",
        Place::Receiver => "receiver",
        Place::Middle => "middle",
        Place::Unknown => "unknown",
    }
}

/// The name of what tells a place.
#[must_use]
pub const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Handshake => "handshake",
        Reason::Timestamps => "timestamps",
        Reason::Responses => "responses",
        Reason::Repairs => "repairs",
        Reason::Nothing => "nothing",
    }
}

/// The name of what made an end send its SYN again.
#[must_use]
pub const fn syn_cause(cause: SynCause) -> &'static str {
    match cause {
        SynCause::Timer => "timeout",
        SynCause::Answer => "answer_to_syn_sent_again",
    }
}

/// The name of an end.
#[must_use]
pub const fn side(side: Side) -> &'static str {
    match side {
        Side::Opener => "opener",
        Side::Answerer => "answerer",
    }
}
