//! What is measured in a run.

use serde::{Deserialize, Serialize};

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

/// Writes [`Measure`] from a table with all that there is to say of each in one place. What is said of it in
/// the documentation is what other programs are told.
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
            /// All of them, in the order of the columns.
            pub const ALL: [Self; [$(Self::$name),+].len()] = [$(Self::$name),+];

            /// Column name in CSV and JSON, with its unit.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }

            /// Name and unit for people.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }

            /// Its unit: `Mbit/s`, `%`, `ms`, `s`, `segments`; empty for a count or a share without one.
            #[must_use]
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$name => $unit,)+ }
            }

            /// What it is, in a sentence that needs no other.
            #[must_use]
            pub const fn description(self) -> &'static str {
                // Each line of the documentation begins with a space.
                match self { $(Self::$name => concat!($($doc),+).trim_ascii_start(),)+ }
            }

            /// Which way it is better.
            #[must_use]
            pub const fn better(self) -> Better {
                match self { $(Self::$name => Better::$better,)+ }
            }
        }
    };
}

measures! {
    /// A measure of a run. With several flows it is taken over those of the compared stack
    /// together, or over all flows if no flow runs it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[non_exhaustive]
    pub enum Measure {
        /// Bytes delivered in order per second, in Mbit/s of payload.
        Goodput { key: "goodput_mbit_s", label: "goodput (Mbit/s)", unit: "Mbit/s", better: Higher }
        /// Goodput of all TCP flows together, in Mbit/s of payload.
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
        /// Retransmissions of segments that were not lost.
        Spurious { key: "spurious_retransmissions", label: "needless retransmissions", unit: "", better: Lower }
        /// Retransmission timeouts.
        Timeouts { key: "timeouts", label: "timeouts", unit: "", better: Lower }
        /// Loss events found without a timeout.
        LossEvents { key: "loss_events", label: "loss events", unit: "", better: Neither }
        /// Recoveries that an ACK ended, not a timeout.
        Recoveries { key: "recoveries", label: "recoveries ended by an ACK", unit: "", better: Neither }
        /// Recoveries that an ACK ended which left nothing outstanding.
        RecoveriesLeftEmpty {
            key: "recoveries_left_empty", label: "of these, with nothing outstanding",
            unit: "", better: Neither
        }
        /// Reductions of the window that proved to be needless, and were undone.
        Undone { key: "undone_reductions", label: "reductions undone", unit: "", better: Neither }
        /// Data packets dropped by full queues (or RED).
        QueueDrops { key: "queue_drops", label: "queue drops", unit: "", better: Neither }
        /// Data packets lost on links.
        LinkLosses { key: "link_losses", label: "link losses", unit: "", better: Neither }
        /// Median time a data packet waits in queues on its way, in ms.
        DelayMedian {
            key: "queueing_delay_median_ms", label: "queueing delay, median (ms)",
            unit: "ms", better: Lower
        }
        /// 95th percentile of the time that a data packet waits in queues on its way, in ms.
        DelayP95 {
            key: "queueing_delay_p95_ms", label: "queueing delay, 95th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Mean of what the sender counts as in flight, in segments.
        InFlight {
            key: "in_flight_believed_segments", label: "in flight as the sender counts (segments)",
            unit: "segments", better: Neither
        }
        /// Mean of what was really in flight, in segments.
        InFlightTrue {
            key: "in_flight_true_segments", label: "really in flight (segments)",
            unit: "segments", better: Neither
        }
        /// Share of time in which the busiest link was transmitting, in percent.
        Utilisation { key: "utilisation_percent", label: "link in use (%)", unit: "%", better: Neither }
        /// Jain's fairness index over the flows.
        Fairness { key: "fairness_jain", label: "fairness (Jain)", unit: "", better: Higher }
        /// Time until every finite flow was done, in s.
        Completion { key: "completion_s", label: "completion (s)", unit: "s", better: Lower }
        /// Video frames that were there by their deadline, in percent of those that were due.
        FramesInTime {
            key: "frames_in_time_percent", label: "video frames in time (%)",
            unit: "%", better: Higher
        }
        /// How often the picture stood still for a viewer who waits.
        Stalls { key: "stalls", label: "video stalls", unit: "", better: Lower }
        /// How long the picture stood still for a viewer who waits, in all, in s.
        StallTime { key: "stall_time_s", label: "video standing still (s)", unit: "s", better: Lower }
        /// Share of wireless losses judged rightly (A_w), in percent.
        AccuracyWireless {
            key: "accuracy_wireless_percent", label: "wireless losses judged rightly (%)",
            unit: "%", better: Higher
        }
        /// Share of congestion losses judged rightly (A_c), in percent.
        AccuracyCongestion {
            key: "accuracy_congestion_percent", label: "congestion losses judged rightly (%)",
            unit: "%", better: Higher
        }
        /// Data packets that arrived with a mark of congestion (CE), where flows use ECN.
        Marks { key: "marked_packets", label: "marked packets (ECN)", unit: "", better: Neither }
        /// Share of its goodput that a standing flow loses beside this stack, against beside as many
        /// flows of its own kind: 0 is no harm, 1 is all of it, below 0 it gains.
        HarmGoodput {
            key: "harm_goodput_share", label: "harm: share of a CUBIC flow's goodput",
            unit: "", better: Lower
        }
        /// What this stack adds to the 95th percentile of the queueing delay of a standing flow's packets, in ms.
        HarmDelay {
            key: "harm_delay_p95_ms", label: "harm: added queueing delay, 95th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// What this stack adds to the 95th percentile of the queueing delay of a standing flow's packets, in
        /// percent of what it is beside its own kind.
        HarmDelayShare {
            key: "harm_delay_p95_percent", label: "harm: added queueing delay, 95th percentile (%)",
            unit: "%", better: Lower
        }
        /// Mean time from the start of a short flow (`web`) to its last byte, of those of at most 100 kB, in ms.
        CompletionShort {
            key: "completion_short_mean_ms", label: "completion of flows up to 100 kB, mean (ms)",
            unit: "ms", better: Lower
        }
        /// 99th percentile of the time from the start of a short flow (`web`) to its last byte, of those of at
        /// most 100 kB, in ms.
        CompletionShortP99 {
            key: "completion_short_p99_ms", label: "completion of flows up to 100 kB, 99th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Mean time from the start of a short flow (`web`) to its last byte, of those above 100 kB and of at
        /// most 10 MB, in ms.
        CompletionMedium {
            key: "completion_medium_mean_ms", label: "completion of flows up to 10 MB, mean (ms)",
            unit: "ms", better: Lower
        }
        /// Mean time from the start of a short flow (`web`) to its last byte, of those above 10 MB, in ms.
        CompletionLong {
            key: "completion_long_mean_ms", label: "completion of larger flows, mean (ms)",
            unit: "ms", better: Lower
        }
        /// Share of short flows (`web`) that were not done at the end of the run, in percent.
        Unfinished {
            key: "unfinished_flows_percent", label: "flows not done at the end (%)",
            unit: "%", better: Lower
        }
        /// What arrives of real-time media (`media`), all sources together, in Mbit/s on the wire.
        MediaRate {
            key: "media_rate_mbit_s", label: "real-time media that arrives (Mbit/s)",
            unit: "Mbit/s", better: Higher
        }
        /// 95th percentile of how long packets of real-time media (`media`) are on the way, of the source for
        /// which it is longest, in ms.
        MediaDelayP95 {
            key: "media_delay_p95_ms", label: "way of real-time media, 95th percentile (ms)",
            unit: "ms", better: Lower
        }
        /// Share of packets of real-time media (`media`) that were lost, or came after their deadline, in percent
        /// of those that are not still under way.
        MediaLate {
            key: "media_late_percent", label: "real-time media lost or late (%)",
            unit: "%", better: Lower
        }
    }
}

impl Measure {
    /// The measure whose column is called `key`.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|measure| measure.key() == key)
    }

    /// Whether it is measured in runs of its own, beside a standing flow ([`Harm`](crate::run::Harm)).
    #[must_use]
    pub const fn is_of_harm(self) -> bool {
        matches!(
            self,
            Self::HarmGoodput | Self::HarmDelay | Self::HarmDelayShare
        )
    }
}

/// The values of every measure in one run; what does not apply is `None`.
///
/// There may be a million of them: what does not apply is kept as a NaN, which no value is.
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
    /// The value of `measure`.
    #[must_use]
    pub const fn get(&self, measure: Measure) -> Option<f64> {
        let value = self.0[measure as usize];
        match value.is_nan() {
            true => None,
            false => Some(value),
        }
    }

    /// Sets the value of `measure`; what is not a number does not apply.
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
    fn what_is_said_of_a_measure_names_its_unit() {
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
    fn what_does_not_apply_is_nothing_and_is_the_same_everywhere() {
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
    fn each_has_a_key_of_its_own_and_is_found_by_it() {
        for measure in Measure::ALL {
            assert_eq!(Measure::of_key(measure.key()), Some(measure));
        }
    }
}
