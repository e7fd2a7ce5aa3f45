//! What is measured in a run.

use serde::Serialize;

/// A measure of a run. With several flows it is taken over those of the compared stack
/// together, or over all flows if no flow runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Measure {
    /// Bytes delivered in order per second, in Mbit/s of payload.
    Goodput,
    /// Goodput of all TCP flows together, in Mbit/s of payload.
    TotalGoodput,
    /// Retransmitted segments.
    Retransmissions,
    /// Retransmitted segments as a share of all segments sent, in percent.
    RetransmissionShare,
    /// Retransmissions of segments that were not lost.
    Spurious,
    /// Retransmission timeouts.
    Timeouts,
    /// Loss events found without a timeout.
    LossEvents,
    /// Recoveries that an ACK ended, not a timeout.
    Recoveries,
    /// Of these, those whose last ACK left nothing outstanding.
    RecoveriesLeftEmpty,
    /// Reductions of the window that proved to be needless, and were undone.
    Undone,
    /// Data packets dropped by full queues (or RED).
    QueueDrops,
    /// Data packets lost on links.
    LinkLosses,
    /// Median time a data packet waits in queues on its way, in ms.
    DelayMedian,
    /// 95th percentile of the same.
    DelayP95,
    /// Mean of what the sender counts as in flight, in segments.
    InFlight,
    /// Mean of what was really in flight, in segments.
    InFlightTrue,
    /// Share of time in which the busiest link was transmitting, in percent.
    Utilisation,
    /// Jain's fairness index over the flows.
    Fairness,
    /// Time until every finite flow was done, in s.
    Completion,
    /// Video frames that were there by their deadline, in percent of those that were due.
    FramesInTime,
    /// How often the picture stood still for a viewer who waits.
    Stalls,
    /// How long it stood still in all, in s.
    StallTime,
    /// Share of wireless losses judged rightly (A_w), in percent.
    AccuracyWireless,
    /// Share of congestion losses judged rightly (A_c), in percent.
    AccuracyCongestion,
    /// Data packets that arrived with a mark of congestion (CE), where flows use ECN.
    Marks,
    /// Share of its goodput that a standing flow loses beside this stack, against beside as many
    /// flows of its own kind: 0 is no harm, 1 is all of it, below 0 it gains. See
    /// [`Harm`](crate::run::Harm).
    HarmGoodput,
    /// What is added to the 95th percentile of the queueing delay of such a flow's packets, in ms.
    HarmDelay,
    /// The same, in percent of what it is beside its own kind.
    HarmDelayShare,
    /// Mean time from the start of a short flow (`web`) to its last byte, of those of at most 100 kB, in ms.
    CompletionShort,
    /// 99th percentile of the same.
    CompletionShortP99,
    /// The mean of those above that and of at most 10 MB.
    CompletionMedium,
    /// The mean of those above that.
    CompletionLong,
    /// Share of these flows that were not done at the end of the run, in percent.
    Unfinished,
    /// What arrives of real-time media (`media`), all sources together, in Mbit/s on the wire.
    MediaRate,
    /// 95th percentile of how long its packets are on the way, of the source for which it is longest, in ms.
    MediaDelayP95,
    /// Share of its packets that were lost, or came after their deadline, in percent of those that are not
    /// still under way.
    MediaLate,
}

/// Which way a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither as such.
    Neither,
}

impl Measure {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 36] = [
        Self::Goodput,
        Self::TotalGoodput,
        Self::Retransmissions,
        Self::RetransmissionShare,
        Self::Spurious,
        Self::Timeouts,
        Self::LossEvents,
        Self::Recoveries,
        Self::RecoveriesLeftEmpty,
        Self::Undone,
        Self::QueueDrops,
        Self::LinkLosses,
        Self::DelayMedian,
        Self::DelayP95,
        Self::InFlight,
        Self::InFlightTrue,
        Self::Utilisation,
        Self::Fairness,
        Self::Completion,
        Self::FramesInTime,
        Self::Stalls,
        Self::StallTime,
        Self::AccuracyWireless,
        Self::AccuracyCongestion,
        Self::Marks,
        Self::HarmGoodput,
        Self::HarmDelay,
        Self::HarmDelayShare,
        Self::CompletionShort,
        Self::CompletionShortP99,
        Self::CompletionMedium,
        Self::CompletionLong,
        Self::Unfinished,
        Self::MediaRate,
        Self::MediaDelayP95,
        Self::MediaLate,
    ];

    /// The measure whose column is called `key`.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.key() == key)
    }

    /// Whether it is measured in runs of its own, beside a standing flow.
    #[must_use]
    pub const fn is_of_harm(self) -> bool {
        matches!(
            self,
            Self::HarmGoodput | Self::HarmDelay | Self::HarmDelayShare
        )
    }

    /// Column name in CSV and JSON, with its unit.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_mbit_s",
            Self::TotalGoodput => "total_goodput_mbit_s",
            Self::Retransmissions => "retransmissions",
            Self::RetransmissionShare => "retransmitted_percent",
            Self::Spurious => "spurious_retransmissions",
            Self::Timeouts => "timeouts",
            Self::LossEvents => "loss_events",
            Self::Recoveries => "recoveries",
            Self::RecoveriesLeftEmpty => "recoveries_left_empty",
            Self::Undone => "undone_reductions",
            Self::QueueDrops => "queue_drops",
            Self::LinkLosses => "link_losses",
            Self::DelayMedian => "queueing_delay_median_ms",
            Self::DelayP95 => "queueing_delay_p95_ms",
            Self::InFlight => "in_flight_believed_segments",
            Self::InFlightTrue => "in_flight_true_segments",
            Self::Utilisation => "utilisation_percent",
            Self::Fairness => "fairness_jain",
            Self::Completion => "completion_s",
            Self::FramesInTime => "frames_in_time_percent",
            Self::Stalls => "stalls",
            Self::StallTime => "stall_time_s",
            Self::AccuracyWireless => "accuracy_wireless_percent",
            Self::AccuracyCongestion => "accuracy_congestion_percent",
            Self::Marks => "marked_packets",
            Self::HarmGoodput => "harm_goodput_share",
            Self::HarmDelay => "harm_delay_p95_ms",
            Self::HarmDelayShare => "harm_delay_p95_percent",
            Self::CompletionShort => "completion_short_mean_ms",
            Self::CompletionShortP99 => "completion_short_p99_ms",
            Self::CompletionMedium => "completion_medium_mean_ms",
            Self::CompletionLong => "completion_long_mean_ms",
            Self::Unfinished => "unfinished_flows_percent",
            Self::MediaRate => "media_rate_mbit_s",
            Self::MediaDelayP95 => "media_delay_p95_ms",
            Self::MediaLate => "media_late_percent",
        }
    }

    /// Name and unit for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Goodput => "goodput (Mbit/s)",
            Self::TotalGoodput => "goodput of all flows (Mbit/s)",
            Self::Retransmissions => "retransmissions",
            Self::RetransmissionShare => "retransmitted (% of segments sent)",
            Self::Spurious => "needless retransmissions",
            Self::Timeouts => "timeouts",
            Self::LossEvents => "loss events",
            Self::Recoveries => "recoveries ended by an ACK",
            Self::RecoveriesLeftEmpty => "of these, with nothing outstanding",
            Self::Undone => "reductions undone",
            Self::QueueDrops => "queue drops",
            Self::LinkLosses => "link losses",
            Self::DelayMedian => "queueing delay, median (ms)",
            Self::DelayP95 => "queueing delay, 95th percentile (ms)",
            Self::InFlight => "in flight as the sender counts (segments)",
            Self::InFlightTrue => "really in flight (segments)",
            Self::Utilisation => "link in use (%)",
            Self::Fairness => "fairness (Jain)",
            Self::Completion => "completion (s)",
            Self::FramesInTime => "video frames in time (%)",
            Self::Stalls => "video stalls",
            Self::StallTime => "video standing still (s)",
            Self::AccuracyWireless => "wireless losses judged rightly (%)",
            Self::AccuracyCongestion => "congestion losses judged rightly (%)",
            Self::Marks => "marked packets (ECN)",
            Self::HarmGoodput => "harm: share of a CUBIC flow's goodput",
            Self::HarmDelay => "harm: added queueing delay, 95th percentile (ms)",
            Self::HarmDelayShare => "harm: added queueing delay, 95th percentile (%)",
            Self::CompletionShort => "completion of flows up to 100 kB, mean (ms)",
            Self::CompletionShortP99 => "completion of flows up to 100 kB, 99th percentile (ms)",
            Self::CompletionMedium => "completion of flows up to 10 MB, mean (ms)",
            Self::CompletionLong => "completion of larger flows, mean (ms)",
            Self::Unfinished => "flows not done at the end (%)",
            Self::MediaRate => "real-time media that arrives (Mbit/s)",
            Self::MediaDelayP95 => "way of real-time media, 95th percentile (ms)",
            Self::MediaLate => "real-time media lost or late (%)",
        }
    }

    /// Which way it is better.
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::Goodput
            | Self::TotalGoodput
            | Self::MediaRate
            | Self::Fairness
            | Self::FramesInTime
            | Self::AccuracyWireless
            | Self::AccuracyCongestion => Better::Higher,
            Self::Spurious
            | Self::Timeouts
            | Self::DelayMedian
            | Self::DelayP95
            | Self::Completion
            | Self::Stalls
            | Self::StallTime
            | Self::HarmGoodput
            | Self::HarmDelay
            | Self::HarmDelayShare
            | Self::CompletionShort
            | Self::CompletionShortP99
            | Self::CompletionMedium
            | Self::CompletionLong
            | Self::Unfinished
            | Self::MediaDelayP95
            | Self::MediaLate => Better::Lower,
            Self::Retransmissions
            | Self::RetransmissionShare
            | Self::LossEvents
            | Self::Recoveries
            | Self::RecoveriesLeftEmpty
            | Self::Undone
            | Self::QueueDrops
            | Self::LinkLosses
            | Self::Marks
            | Self::InFlight
            | Self::InFlightTrue
            | Self::Utilisation => Better::Neither,
        }
    }
}

/// The values of every measure in one run; what does not apply is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values([Option<f64>; Measure::ALL.len()]);

impl Default for Values {
    fn default() -> Self {
        Self([None; Measure::ALL.len()])
    }
}

impl Values {
    /// The value of `measure`.
    #[must_use]
    pub const fn get(&self, measure: Measure) -> Option<f64> {
        self.0[measure as usize]
    }

    /// Sets the value of `measure`; what is not a number does not apply.
    pub fn set(&mut self, measure: Measure, value: f64) {
        self.0[measure as usize] = value.is_finite().then_some(value);
    }
}
