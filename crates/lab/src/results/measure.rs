//! Measures of a run.

use serde::{Deserialize, Serialize};

/// Stack of the competing flow in measurements of harm: the stack of most servers, as in Linux.
pub const STANDING: &str = "rack/cubic";

/// Direction in which a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Higher is better.
    Higher,
    /// Lower is better.
    Lower,
    /// Neither direction is better.
    Neither,
}

/// Defines [`Measure`] from a table with the key, label, unit and direction of each measure. The doc comment of a
/// measure is also its description for other programs.
macro_rules! measures {
    (
        $(#[$about:meta])*
        pub enum $enum:ident {
            $(
                $(#[doc = $doc:literal])+
                $name:ident {
                    key: $key:literal, label: $label:literal, unit: $unit:literal, better: $better:ident
                }
            )+
        }
    ) => {
        $(#[$about])*
        pub enum $enum {
            $($(#[doc = $doc])+ $name,)+
        }

        impl $enum {
            /// All measures, in column order.
            pub const ALL: [Self; [$(Self::$name),+].len()] = [$(Self::$name),+];

            /// Returns the column name in CSV and JSON, which includes the unit.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }

            /// Returns the name and unit for readers.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }

            /// Returns the unit: `Mbit/s`, `%`, `ms`, `s` or `segments`. Empty for a count or a dimensionless ratio.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$name => $unit,)+ }
            }

            /// Returns the description: a self-contained sentence.
            #[must_use]
            pub const fn description(self) -> &'static str {
                // Each line of a doc comment starts with a space.
                match self { $(Self::$name => concat!($($doc),+).trim_ascii_start(),)+ }
            }

            /// Returns the direction in which the measure is better.
            #[must_use]
            pub const fn better(self) -> Better {
                match self { $(Self::$name => Better::$better,)+ }
            }
        }
    };
}

measures! {
    /// A measure of a run. With several flows, the measure covers all flows of the compared stack, or all flows if none
    /// of them uses that stack.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum Measure {
        /// Payload bytes that are delivered in order, in Mbit/s.
        Goodput { key: "goodput_mbit_s", label: "goodput (Mbit/s)", unit: "Mbit/s", better: Higher }
        /// Total goodput of all TCP flows, in Mbit/s of payload.
        TotalGoodput {
            key: "total_goodput_mbit_s", label: "goodput of all flows (Mbit/s)",
            unit: "Mbit/s", better: Higher
        }
        /// Retransmitted segments.
        Retransmissions { key: "retransmissions", label: "retransmissions", unit: "", better: Neither }
        /// Retransmitted segments as a share of all segments sent, in percent.
        RetransmissionShare {
            key: "retransmitted_percent", label: "retransmitted (% of segments sent)",
            unit: "%", better: Neither
        }
        /// Spurious retransmissions: retransmissions of segments that were not lost.
        Spurious { key: "spurious_retransmissions", label: "spurious retransmissions", unit: "", better: Lower }
        /// Retransmission timeouts.
        Timeouts { key: "timeouts", label: "timeouts", unit: "", better: Lower }
        /// Loss events that are detected without a timeout.
        LossEvents { key: "loss_events", label: "loss events", unit: "", better: Neither }
        /// Recoveries that end with an ACK rather than a timeout.
        Recoveries { key: "recoveries", label: "recoveries ended by an ACK", unit: "", better: Neither }
        /// Recoveries whose last ACK leaves no data outstanding.
        RecoveriesLeftEmpty {
            key: "recoveries_left_empty", label: "of these, with nothing outstanding",
            unit: "", better: Neither
        }
        /// Window reductions that are undone because they proved spurious.
        Undone { key: "undone_reductions", label: "reductions undone", unit: "", better: Neither }
        /// Data packets dropped because of congestion: by a full queue, queue management, a policer, or radio
        /// collisions.
        QueueDrops { key: "queue_drops", label: "queue drops", unit: "", better: Neither }
        /// Data packets lost on links: by random loss, a loss script, an outage, or frame errors.
        LinkLosses { key: "link_losses", label: "link losses", unit: "", better: Neither }
        /// Median queueing delay of a data packet at the link with the longest queueing delay, in ms.
        DelayMedian {
            key: "queueing_delay_median_ms", label: "queueing delay, median (ms)",
            unit: "ms", better: Lower
        }
        /// 95th percentile of the queueing delay of a data packet at the link with the longest queueing delay, in ms.
        DelayP95 {
            key: "queueing_delay_p95_ms", label: "queueing delay, 95th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Mean number of segments in flight by the sender's own count, in segments.
        InFlight {
            key: "in_flight_believed_segments", label: "in flight by the sender's count (segments)",
            unit: "segments", better: Neither
        }
        /// Mean number of segments that are actually in flight, in segments.
        InFlightTrue {
            key: "in_flight_true_segments", label: "actually in flight (segments)",
            unit: "segments", better: Neither
        }
        /// Fraction of time during which the busiest link transmits, in percent.
        Utilisation { key: "utilisation_percent", label: "link utilisation (%)", unit: "%", better: Neither }
        /// Jain's fairness index among the flows.
        Fairness { key: "fairness_jain", label: "fairness (Jain)", unit: "", better: Higher }
        /// Time until all finite flows are complete, in s.
        Completion { key: "completion_s", label: "completion (s)", unit: "s", better: Lower }
        /// Video frames that arrive by their deadline, in percent of those that are due.
        FramesInTime {
            key: "frames_in_time_percent", label: "video frames in time (%)",
            unit: "%", better: Higher
        }
        /// Number of times that the video stalls for a viewer who waits for every frame.
        Stalls { key: "stalls", label: "video stalls", unit: "", better: Lower }
        /// Total time for which the video stalls for a viewer who waits for every frame, in s.
        StallTime { key: "stall_time_s", label: "video stall time (s)", unit: "s", better: Lower }
        /// Wireless losses that are classified correctly (A_w), in percent.
        AccuracyWireless {
            key: "accuracy_wireless_percent", label: "wireless losses classified correctly (%)",
            unit: "%", better: Higher
        }
        /// Congestion losses that are classified correctly (A_c), in percent.
        AccuracyCongestion {
            key: "accuracy_congestion_percent", label: "congestion losses classified correctly (%)",
            unit: "%", better: Higher
        }
        /// Data packets that arrive with a congestion mark (CE) in flows that use ECN.
        Marks { key: "marked_packets", label: "marked packets (ECN)", unit: "", better: Neither }
        /// Share of its goodput that a competing flow loses next to this stack, relative to the same flow next to as
        /// many flows of its own stack: 0 is no harm, 1 is the whole goodput, and a negative value is a gain.
        HarmGoodput {
            key: "harm_goodput_share", label: "harm: share of a CUBIC flow's goodput",
            unit: "", better: Lower
        }
        /// Increase of the 95th percentile of a competing flow's queueing delay, relative to the same flow next to
        /// flows of its own stack, in ms.
        HarmDelay {
            key: "harm_delay_p95_ms", label: "harm: added queueing delay, 95th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Increase of the 95th percentile of a competing flow's queueing delay, in percent of the delay next to flows
        /// of its own stack.
        HarmDelayShare {
            key: "harm_delay_p95_percent", label: "harm: added queueing delay, 95th percentile (%)",
            unit: "%", better: Lower
        }
        /// Mean completion time of the short flows (`web`) of at most 100 kB, from the start to the last byte, in ms.
        CompletionShort {
            key: "completion_short_mean_ms", label: "completion of flows up to 100 kB, mean (ms)",
            unit: "ms", better: Lower
        }
        /// 99th percentile of the completion time of the short flows (`web`) of at most 100 kB, from the start to the
        /// last byte, in ms.
        CompletionShortP99 {
            key: "completion_short_p99_ms", label: "completion of flows up to 100 kB, 99th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Mean completion time of the short flows (`web`) above 100 kB and up to 10 MB, from the start to the last
        /// byte, in ms.
        CompletionMedium {
            key: "completion_medium_mean_ms", label: "completion of flows up to 10 MB, mean (ms)",
            unit: "ms", better: Lower
        }
        /// Mean completion time of the short flows (`web`) above 10 MB, from the start to the last byte, in ms.
        CompletionLong {
            key: "completion_long_mean_ms", label: "completion of larger flows, mean (ms)",
            unit: "ms", better: Lower
        }
        /// Short flows (`web`) that are not complete at the end of the run, in percent.
        Unfinished {
            key: "unfinished_flows_percent", label: "unfinished flows (%)",
            unit: "%", better: Lower
        }
        /// Total rate at which real-time media (`media`) of all sources arrives, in Mbit/s on the wire.
        MediaRate {
            key: "media_rate_mbit_s", label: "real-time media received (Mbit/s)",
            unit: "Mbit/s", better: Higher
        }
        /// 95th percentile of the one-way delay of real-time media packets (`media`), in ms. With several sources, this
        /// is the highest of their percentiles.
        MediaDelayP95 {
            key: "media_delay_p95_ms", label: "one-way delay of real-time media, 95th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Real-time media packets (`media`) that are lost or miss their deadline, in percent of the packets that are
        /// no longer in transit.
        MediaLate {
            key: "media_late_percent", label: "real-time media lost or late (%)",
            unit: "%", better: Lower
        }
    }
}

impl Measure {
    /// Returns the measure with the column name `key`.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.key() == key)
    }

    /// Returns `true` if the measure comes from separate runs with a competing flow
    /// ([`Plan::measuring_harm`](crate::run::Plan::measuring_harm)).
    #[must_use]
    pub const fn is_of_harm(self) -> bool {
        matches!(
            self,
            Self::HarmGoodput | Self::HarmDelay | Self::HarmDelayShare
        )
    }
}

/// Values of all measures in a run. The value of a measure that does not apply is `None`.
///
/// There may be a million of these structs, so a missing value is stored as NaN, which is never a valid value.
#[derive(Clone, Copy, Debug)]
pub struct Values([f64; Measure::ALL.len()]);

impl Default for Values {
    fn default() -> Self {
        Self([f64::NAN; Measure::ALL.len()])
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        let mut all = Measure::ALL.into_iter();
        all.all(|measure| self.get(measure) == other.get(measure))
    }
}

impl Values {
    /// Returns the value of `measure`.
    #[must_use]
    pub const fn get(&self, measure: Measure) -> Option<f64> {
        let value = self.0[measure as usize];
        match value.is_nan() {
            true => None,
            false => Some(value),
        }
    }

    /// Sets the value of `measure`. A value that is not finite means that the measure does not apply.
    pub fn set(&mut self, measure: Measure, value: f64) {
        self.0[measure as usize] = match value.is_finite() {
            true => value,
            false => f64::NAN,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_labels_name_the_unit() {
        for measure in Measure::ALL {
            let (unit, label) = (measure.unit(), measure.label());
            let about = measure.description();
            assert!(about.ends_with('.') && !about.contains("  "), "{about}");
            let words = match unit {
                "%" => "percent",
                unit => unit,
            };
            assert!(about.contains(words), "{about}");
            match unit {
                "" => assert!(!label.contains("(%") && !label.contains("ms)"), "{label}"),
                unit => assert!(label.contains(&format!("({unit}")), "{label}"),
            }
        }
    }

    #[test]
    fn values_that_do_not_apply_are_none_and_compare_equal() {
        let mut one = Values::default();
        assert_eq!(one, Values::default());
        one.set(Measure::Goodput, 0.0);
        assert_eq!(one.get(Measure::Goodput), Some(0.0));
        assert_ne!(one, Values::default());
        for nothing in [f64::NAN, f64::INFINITY] {
            one.set(Measure::Goodput, nothing);
            assert_eq!(one.get(Measure::Goodput), None);
        }
        assert_eq!(one, Values::default());
    }

    #[test]
    fn keys_are_unique_and_identify_measures() {
        for measure in Measure::ALL {
            assert_eq!(Measure::of_key(measure.key()), Some(measure));
        }
    }
}
