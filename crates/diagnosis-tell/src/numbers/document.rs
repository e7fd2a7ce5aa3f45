//! Types of the JSON document and of its schema.
//!
//! The documentation of each field is the description of the field in the schema, which `dupack schema diagnosis`
//! prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::{Cause, Class, Need};
use dupack_diagnosis::analyse::stalls::{Culprit, StallKind, WaitedFor};
use dupack_diagnosis::doubt::Doubt;
use dupack_diagnosis::read::handshake::SynCause;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::read::vantage::{Place, Reason};

use super::both::BothEndsNumbers;
use super::groups::GroupsNumbers;
use super::requests::RequestsNumbers;
use super::shared::SharedNumbers;
use crate::whatif::{Gain, Role};

/// Version of the schema. A new minor version adds fields; a new major version changes or removes fields.
pub const SCHEMA_VERSION: &str = "1.0";

/// Diagnosis of a capture, as `dupack diagnose --format json` prints it. Times are in seconds since the first TCP
/// packet.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document {
    /// Version of this schema. A new minor version adds fields; a new major version changes or removes fields.
    pub(super) schema_version: &'static str,
    /// Format of the capture file.
    pub(super) format: String,
    /// `false` if the reading was interrupted.
    pub(super) complete: bool,
    /// Time of the first TCP packet, in seconds since 1970-01-01T00:00:00Z. All other times are relative to this time.
    pub(super) first_packet_unix_s: Option<f64>,
    /// Time from the first TCP packet to the last packet of the capture.
    pub(super) duration_s: f64,
    /// Number of packets of each kind.
    pub(super) packets: BTreeMap<String, u64>,
    /// Notes on damage to the capture. Each note is a sentence.
    pub(super) notes: Vec<String>,
    /// TCP packets that are not selected.
    pub(super) left_out_packets: LeftOutPackets,
    /// Number of all connections in the capture.
    pub(super) connections_all: u64,
    /// Number of connections without data.
    pub(super) connections_without_data: u64,
    /// Totals of the connections that are not listed in `connections`.
    pub(super) not_listed: NotListed,
    /// Connections grouped by server and by service.
    pub(super) groups: GroupsNumbers,
    /// Bottlenecks that several streams share.
    pub(super) shared_bottlenecks: SharedNumbers,
    /// Predicted durations with other senders; null if no sender was simulated.
    pub(super) what_if: Option<WhatIfNumbers>,
    /// Connections, ordered by the time that an endpoint waited for their data. Connections whose limits cannot be
    /// determined come last.
    pub(super) connections: Vec<ConnectionNumbers>,
}

/// TCP packets that are not selected, by the argument that excludes them.
#[derive(Serialize, JsonSchema)]
pub(super) struct LeftOutPackets {
    /// Number of TCP packets that `--filter` excludes.
    pub(super) filter: u64,
    /// Number of TCP packets that `--since` and `--until` exclude.
    pub(super) since_until: u64,
}

/// Totals of the connections that are not listed.
#[derive(Serialize, JsonSchema)]
pub(super) struct NotListed {
    /// Number of connections.
    pub(super) connections: u64,
    /// Bytes of data of these connections. Each byte counts once.
    pub(super) bytes: u64,
    /// Number of retransmitted segments of these connections.
    pub(super) retransmissions: u64,
}

/// Predicted durations of one connection with other senders.
#[derive(Serialize, JsonSchema)]
pub(super) struct WhatIfNumbers {
    /// Number of the connection.
    pub(super) connection: u64,
    /// Reason why there is no prediction; null if there is one.
    pub(super) refused: Option<String>,
    /// Predictions, the shortest duration first.
    pub(super) answers: Vec<AnswerNumbers>,
}

/// Predicted duration of the same transfer with another sender.
#[derive(Serialize, JsonSchema)]
pub(super) struct AnswerNumbers {
    /// Stack of the sender, in the syntax of `dupack stacks`.
    pub(super) stack: String,
    /// Relation of the stack to the captured sender.
    pub(super) role: Role,
    /// `false` if the capture does not permit a reliable prediction for this stack.
    pub(super) offered: bool,
    /// Mean duration of the transfer in simulations.
    pub(super) duration_s: f64,
    /// Lower end of the 95 % confidence interval of the duration.
    pub(super) duration_low_s: f64,
    /// Upper end of the 95 % confidence interval of the duration.
    pub(super) duration_high_s: f64,
    /// Duration of the captured transfer.
    pub(super) captured_s: f64,
    /// Relative difference of the mean duration from the captured duration; negative if the mean duration is shorter.
    pub(super) change: f64,
    /// Lower end of the 95 % confidence interval of the difference.
    pub(super) change_low: f64,
    /// Upper end of the 95 % confidence interval of the difference.
    pub(super) change_high: f64,
    /// Direction of the change. It is determined only if the whole interval is below or above the captured duration,
    /// and if simulations of the captured sender on the same paths also take longer or shorter, respectively.
    pub(super) gain: Gain,
    /// Mean goodput in Mbit/s.
    pub(super) goodput_mbit_per_s: f64,
    /// Commands that enable this stack in Linux.
    pub(super) linux_commands: Vec<String>,
    /// Predicted single answers of a connection with turns; null if the connection has no turns, or if this stack is
    /// not among the fastest.
    pub(super) replies: Option<ReplyNumbers>,
}

/// Predicted answers of a connection with turns, with another sender. The duration of an answer is the time from its
/// first segment until all of it is acknowledged.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReplyNumbers {
    /// Number of answers.
    pub(super) answers: usize,
    /// Median duration in the capture.
    pub(super) captured_p50_s: f64,
    /// Longest duration in the capture.
    pub(super) captured_max_s: f64,
    /// Predicted median duration with this stack: mean of the simulations.
    pub(super) p50_s: f64,
    /// Predicted longest duration with this stack: mean of the simulations.
    pub(super) max_s: f64,
    /// Number of answers that would have arrived sooner. The captured answer took longer than the answer of the same
    /// rank in every simulation. Ranks are counted from the slowest answer.
    pub(super) sooner: usize,
    /// The answers with the largest gain, the largest first. At most 16 are listed.
    pub(super) most: Vec<SoonerNumbers>,
}

/// Answer that would have arrived sooner with another sender.
#[derive(Serialize, JsonSchema)]
pub(super) struct SoonerNumbers {
    /// Number of the answer in its stream, from 1.
    pub(super) answer: usize,
    /// Duration of the answer in the capture.
    pub(super) captured_s: f64,
    /// Duration of the simulated answer of the same rank: mean of the simulations.
    pub(super) duration_s: f64,
    /// Duration of the simulated answer of the same rank: minimum of the simulations.
    pub(super) duration_low_s: f64,
    /// Duration of the simulated answer of the same rank: maximum of the simulations.
    pub(super) duration_high_s: f64,
}

/// A connection.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConnectionNumbers {
    /// Number of the connection. Connections are numbered from 1 in the order of their first packets.
    pub(super) number: u64,
    /// Address and port of the endpoint that opened the connection. If the capture has no SYN, this is the source of
    /// the first packet.
    pub(super) opener: String,
    /// Address and port of the other endpoint.
    pub(super) answerer: String,
    /// Time of the first packet.
    pub(super) first_s: f64,
    /// Time of the last packet.
    pub(super) last_s: f64,
    /// Time at which the handshake was complete; null if the capture does not show this time.
    pub(super) established_s: Option<f64>,
    /// Retransmitted SYNs.
    pub(super) syns_sent_again: Vec<SynNumbers>,
    /// Time of the reset that ended the connection; null if no reset ended it.
    pub(super) reset_s: Option<f64>,
    /// First sentence about the connection.
    pub(super) headline: String,
    /// Endpoint that stopped sending although the other endpoint kept sending; null if both endpoints responded.
    pub(super) silence: Option<SilenceNumbers>,
    /// Unusual properties of the connection and of its capture, as sentences: copies, missing packets, resets without
    /// effect, contradictory findings.
    pub(super) notes: Vec<String>,
    /// Time lost to retransmitted SYNs, plus the lost time of the stream that lost the most; null if the limits of the
    /// main stream cannot be determined.
    pub(super) lost_s: Option<f64>,
    /// Requests and answers; null if the connection has fewer than two requests.
    pub(super) requests: Option<RequestsNumbers>,
    /// Findings from a second capture at the other endpoint (`--both`); null without `--both`, or if the second capture
    /// does not contain the connection.
    pub(super) both_ends: Option<BothEndsNumbers>,
    /// Streams of data, one for each endpoint that sent data.
    pub(super) streams: Vec<StreamNumbers>,
}

/// Endpoint that stopped sending.
#[derive(Serialize, JsonSchema)]
pub(super) struct SilenceNumbers {
    /// The endpoint that stopped sending.
    pub(super) silent: Side,
    /// Time of the last packet of this endpoint.
    pub(super) since_s: f64,
    /// Number of the last packet of this endpoint.
    pub(super) last_packet: u64,
    /// Number of data segments of the other endpoint that got no response, including retransmissions.
    pub(super) unanswered_data: u32,
    /// Number of keep-alives that got no response.
    pub(super) unanswered_keep_alives: u32,
    /// Number of FINs without data that got no response.
    pub(super) unanswered_fins: u32,
    /// Time from the first packet without response to the last.
    pub(super) unanswered_for_s: f64,
}

/// A retransmitted SYN.
#[derive(Serialize, JsonSchema)]
pub(super) struct SynNumbers {
    /// Endpoint that sent the SYN.
    pub(super) sent_by: Side,
    /// Time of the retransmission.
    pub(super) at_s: f64,
    /// Number of the packet that is the retransmission.
    pub(super) packet: u64,
    /// Cause of the retransmission.
    pub(super) cause: SynCause,
    /// Time since the previous SYN.
    pub(super) waited_s: f64,
}

/// A stream: the data that one endpoint sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct StreamNumbers {
    /// Endpoint that sent the data.
    pub(super) sent_by: Side,
    /// Sentence about the limit of the stream.
    pub(super) story: String,
    /// Bytes of data that arrived. Each byte counts once. If the capture has no ACKs, this is the number of bytes sent.
    pub(super) bytes: u64,
    /// Time at which the stream began.
    pub(super) began_s: f64,
    /// Time at which the stream ended.
    pub(super) ended_s: f64,
    /// Time from the beginning to the end of the stream.
    pub(super) duration_s: f64,
    /// Delivered data per second, in bit/s; null if the capture has no ACKs.
    pub(super) goodput_bit_per_s: Option<f64>,
    /// Lost time: time spent neither at the bottleneck, nor in waiting for the application, nor in the handshake; null
    /// if the limits cannot be determined. This is a lower bound if `limits_in_doubt` has `lost_at_least`.
    pub(super) lost_s: Option<f64>,
    /// Reason why the limits, the stalls and the lost time cannot be determined; null if they can.
    pub(super) limits_untold: Option<UntoldNumbers>,
    /// Limits that cannot be distinguished from other causes in the capture; null if there are none, or if the limits
    /// cannot be determined.
    pub(super) limits_in_doubt: Option<InDoubtNumbers>,
    /// Bytes of data in a full segment.
    pub(super) segment_bytes: u32,
    /// Minimum round-trip time of a segment; null if it cannot be determined (`path.least_rtt_s`).
    pub(super) rtt_min_s: Option<f64>,
    /// Mean round-trip time; null if no ACK shows a round-trip time, or if the minimum cannot be determined.
    pub(super) rtt_mean_s: Option<f64>,
    /// Place where the capture was taken.
    pub(super) seen_from: SeenFrom,
    /// Time by limit. The sum of all times is the duration. Null if the limits cannot be determined.
    pub(super) limits_s: Option<BTreeMap<Limit, f64>>,
    /// Limits over time, in order and without gaps. Empty if the limits cannot be determined.
    pub(super) limits_over_time: Vec<BandNumbers>,
    /// Time that Linux would count as busy (`tcpi_busy_time`), in seconds; null if the limits cannot be determined.
    pub(super) kernel_busy_s: Option<f64>,
    /// Time that Linux would count as limited by the receive window (`tcpi_rwnd_limited`); null if the limits cannot be
    /// determined.
    pub(super) kernel_receive_window_limited_s: Option<f64>,
    /// Time that Linux would count as limited by the send buffer (`tcpi_sndbuf_limited`); null if the limits cannot be
    /// determined.
    pub(super) kernel_send_buffer_limited_s: Option<f64>,
    /// Number of segments sent, including retransmissions.
    pub(super) segments: u64,
    /// Retransmissions of data and of FINs, excluding keep-alives, window probes and SYNs. A retransmission counts even
    /// if the capture lacks the original. Null if more retransmissions than segments were found, because these findings
    /// contradict each other. `packets` has a different count.
    pub(super) sent_again: Option<SentAgain>,
    /// Number of stalls, which are periods without packets that are longer than two round trips. Null if the limits
    /// cannot be determined.
    pub(super) stalls: Option<u64>,
    /// Total duration of all stalls; null if the limits cannot be determined.
    pub(super) stalled_s: Option<f64>,
    /// Total duration of the stalls of each kind; null if the limits cannot be determined.
    pub(super) stalled_by_kind_s: Option<BTreeMap<StallKind, f64>>,
    /// The longest stalls, at most 32. Empty if the limits cannot be determined.
    pub(super) longest_stalls: Vec<StallNumbers>,
    /// Number of segments that were captured late because later segments overtook them before the capture point.
    pub(super) overtaken: u64,
    /// Number of times that the receive window was closed and therefore limited the sender: the window was zero, or it
    /// had no space for a segment while no data was in flight. If a closed window never limited the sender, this is the
    /// number of times that the window was zero.
    pub(super) window_shut_times: u64,
    /// Time for which the closed window limited the sender: `zero_window` of `limits_s`.
    pub(super) window_shut_s: f64,
    /// Number of window probes sent while the window was closed.
    pub(super) window_probes: u64,
    /// Number of keep-alives.
    pub(super) keep_alives: u64,
    /// Properties of the path.
    pub(super) path: PathNumbers,
    /// Algorithms of the sender.
    pub(super) sender: SenderNumbers,
    /// Packet counts as tcptrace defines them.
    pub(super) packets: PacketNumbers,
}

/// Reason why a finding cannot be determined.
#[derive(Serialize, JsonSchema)]
pub(super) struct UntoldNumbers {
    /// Reason, as a sentence without its full stop.
    pub(super) why: &'static str,
    /// Description of a capture that would show the finding.
    pub(super) remedy: &'static str,
}

/// Limits that the capture does not distinguish from other causes.
#[derive(Serialize, JsonSchema)]
pub(super) struct InDoubtNumbers {
    /// Limits whose time may have another cause. The limits are keys of `limits_s`.
    pub(super) limits: Vec<Limit>,
    /// Other possible causes of the time.
    pub(super) or: Vec<Doubt>,
    /// `true` if the time of one of the other causes would count as lost, but the time of the limits does not. In this
    /// case, `lost_s` is a lower bound.
    pub(super) lost_at_least: bool,
}

/// Place where the capture was taken.
#[derive(Serialize, JsonSchema)]
pub(super) struct SeenFrom {
    /// Place.
    pub(super) place: Place,
    /// Minimum time from the place of the capture to the sender and back.
    pub(super) to_sender_and_back_s: f64,
    /// Minimum time from the place of the capture to the receiver and back.
    pub(super) to_receiver_and_back_s: f64,
    /// Evidence for the place.
    pub(super) by: Reason,
}

/// A period with its limit.
#[derive(Serialize, JsonSchema)]
pub(super) struct BandNumbers {
    /// Beginning of the period.
    pub(super) from_s: f64,
    /// End of the period.
    pub(super) until_s: f64,
    /// Limit of most of the period, a key of `limits_s`.
    pub(super) limit: Limit,
}

/// Retransmissions of a stream.
#[derive(Serialize, JsonSchema)]
pub(super) struct SentAgain {
    /// Number of retransmitted segments: all of `by_class` except `keep_alive` and `window_probe`.
    pub(super) segments: u64,
    /// `true` if retransmissions may be missing from the capture, because it was not taken at the sender or lacks
    /// packets.
    pub(super) may_be_more: bool,
    /// Number of retransmitted bytes, counted in sequence numbers. A FIN occupies one sequence number.
    pub(super) bytes: u64,
    /// Number of segments by class of their cause, including probes.
    pub(super) by_class: BTreeMap<Class, u64>,
    /// Number of spurious retransmissions: segments whose original had arrived.
    pub(super) needless: u64,
    /// Number of spurious retransmissions that a DSACK reports.
    pub(super) needless_by_dsack: u64,
    /// Number of spurious retransmissions that the timestamp of their ACK shows.
    pub(super) needless_by_timestamp: u64,
    /// Number of spurious retransmissions whose ACK arrived less than one round-trip time after the retransmission.
    pub(super) needless_by_time: u64,
    /// Number of spurious retransmissions whose original arrived according to captured packets.
    pub(super) needless_by_arrival: u64,
    /// Number of spurious retransmissions whose original was overtaken by later segments.
    pub(super) needless_overtaken: u64,
    /// Number of spurious retransmissions that a timer triggered.
    pub(super) needless_by_timer: u64,
    /// Number of retransmitted segments for which the capture does not show whether they were needed.
    pub(super) need_unknown: u64,
    /// Number of segments whose original was lost.
    pub(super) lost_first: u64,
    /// Number of retransmissions that were lost.
    pub(super) lost_again: u64,
    /// The last retransmissions and probes, at most 512.
    pub(super) last: Vec<RetransmissionNumbers>,
}

/// A stall: a period without packets.
#[derive(Serialize, JsonSchema)]
pub(super) struct StallNumbers {
    /// Beginning of the stall.
    pub(super) from_s: f64,
    /// End of the stall.
    pub(super) until_s: f64,
    /// Time from the beginning to the end of the stall.
    pub(super) duration_s: f64,
    /// Kind of the stall, a key of `stalled_by_kind_s`.
    pub(super) kind: StallKind,
    /// Origin of the stall.
    pub(super) due_to: Culprit,
    /// Event that the sender waited for.
    pub(super) waited_for: WaitedFor,
    /// Number of the last packet before the stall.
    pub(super) packet_before: u64,
    /// Number of the first packet after the stall.
    pub(super) packet_after: u64,
    /// Bytes in flight during the stall.
    pub(super) in_flight_bytes: u64,
    /// Time from the beginning of the stall until a tail loss probe or RACK would have ended it; null if neither would
    /// have ended it.
    pub(super) something_else_would_have_acted_after_s: Option<f64>,
}

/// A retransmitted segment.
#[derive(Serialize, JsonSchema)]
pub(super) struct RetransmissionNumbers {
    /// Time of the retransmission.
    pub(super) at_s: f64,
    /// Number of the packet that is the retransmission.
    pub(super) packet: u64,
    /// Offset of the segment's first byte in the stream.
    pub(super) start_byte: u64,
    /// Offset after the segment's last byte in the stream.
    pub(super) end_byte: u64,
    /// Number of this transmission of the segment. The original is number 1.
    pub(super) transmission: u32,
    /// Cause of the retransmission. For a timeout, it includes the position of the timeout among consecutive timeouts.
    #[serde(flatten)]
    pub(super) cause: Cause,
    /// Number of the packet that triggered the retransmission; null if a timer triggered it.
    pub(super) set_off_by_packet: Option<u64>,
    /// Time before the retransmission in which the sender sent nothing and received no ACK that restarts its timer.
    pub(super) waited_s: f64,
    /// Need for the retransmission, with the evidence.
    pub(super) need: Need,
    /// `true` if the retransmission was lost.
    pub(super) lost_again: bool,
}

/// Algorithms of a sender.
#[derive(Serialize, JsonSchema)]
pub(super) struct SenderNumbers {
    /// Loss recovery of the sender.
    pub(super) recovery: Named,
    /// Congestion control of the sender.
    pub(super) control: Named,
    /// Stack that behaves like the sender, in the syntax of `dupack stacks`; null if unknown.
    pub(super) stack: Option<String>,
    /// Dialect of that stack.
    pub(super) dialect: Option<&'static str>,
    /// Initial window in segments; null if the capture does not show it.
    pub(super) initial_window_segments: Option<u32>,
    /// `true` if the sender paces its segments; null if the capture does not show it.
    pub(super) paced: Option<bool>,
    /// Number of tail loss probes.
    pub(super) tail_loss_probes: u32,
}

/// An algorithm, as far as the capture shows it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Named {
    /// Name of the algorithm; null if unknown.
    pub(super) name: Option<String>,
    /// Reason for the name, or for the missing name.
    pub(super) why: String,
    /// Candidates, the likeliest first.
    pub(super) candidates: Vec<CandidateNumbers>,
}

/// An algorithm that the sender may use.
#[derive(Serialize, JsonSchema)]
pub(super) struct CandidateNumbers {
    /// Name of the algorithm.
    pub(super) name: String,
    /// Logarithm of the likelihood, relative to the other candidates.
    pub(super) log_likelihood: f64,
    /// Evidence for the algorithm.
    pub(super) evidence_for: Vec<String>,
    /// Evidence against the algorithm.
    pub(super) evidence_against: Vec<String>,
}

/// Properties of a path.
#[derive(Serialize, JsonSchema)]
pub(super) struct PathNumbers {
    /// Minimum round-trip time of the path.
    pub(super) least_rtt_s: Quantity,
    /// Rate of the bottleneck.
    pub(super) rate_bit_per_s: Quantity,
    /// Capacity of the bottleneck's queue in bytes.
    pub(super) room_bytes: Quantity,
    /// Capacity of the bottleneck's queue in packets.
    pub(super) room_packets: Quantity,
    /// Number of segments that were lost.
    pub(super) losses: u64,
    /// Number of segments that were sent.
    pub(super) transmissions: u64,
    /// Fraction of the segments that were lost, from 0 to 1.
    pub(super) loss: Quantity,
    /// Fraction of the segments that were lost for reasons other than queue overflow, from 0 to 1.
    pub(super) random_loss: Quantity,
    /// Fraction of the losses that queue overflow caused, from 0 to 1.
    pub(super) queue_share_of_losses: Quantity,
    /// Fraction of the segments that were reordered, from 0 to 1.
    pub(super) reordered: Quantity,
    /// Rate of the policer; null if there is no policer.
    pub(super) policer_rate_bit_per_s: Option<Quantity>,
    /// Burst of the policer; null if there is no policer.
    pub(super) policer_burst_bytes: Option<Quantity>,
    /// Rate of the link that the policer polices; null if there is no policer.
    pub(super) policer_link_bit_per_s: Option<Quantity>,
}

/// A quantity with its confidence interval, or the reason why it cannot be determined.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Quantity {
    /// The quantity has an estimate and a confidence interval.
    Between {
        /// Best estimate.
        value: f64,
        /// Lower end of the 95 % confidence interval.
        low: f64,
        /// Upper end of the 95 % confidence interval.
        high: f64,
    },
    /// Only a lower bound of the quantity is known.
    AtLeast {
        /// Lower bound.
        at_least: f64,
        /// Reason why only a lower bound can be determined.
        why: &'static str,
        /// Description of a capture that would show more.
        remedy: &'static str,
    },
    /// The capture does not show the quantity.
    CannotBeTold {
        /// Reason why the quantity cannot be determined.
        why: &'static str,
        /// Description of a capture that would show more.
        remedy: &'static str,
    },
}

/// Packet counts as tcptrace defines them.
#[derive(Serialize, JsonSchema)]
pub(super) struct PacketNumbers {
    /// Number of packets of the sender.
    pub(super) sent: u64,
    /// Number of packets that are twice in the capture.
    pub(super) copies: u64,
    /// Number of packets with data.
    pub(super) with_data: u64,
    /// Number of bytes of data, including retransmissions and probes.
    pub(super) data_bytes: u64,
    /// Number of bytes of data. Each byte counts once.
    pub(super) unique_bytes: u64,
    /// Number of packets with bytes that an earlier packet of the capture contains, as tcptrace counts them. SYNs, FINs
    /// and keep-alives are included. Retransmissions whose original is missing from the capture are excluded, and so
    /// are packets to a window of zero. `sent_again.segments` is the number of the sender's retransmissions.
    pub(super) with_bytes_seen_before: u64,
    /// Number of repeated bytes in these packets, in sequence numbers. A SYN and a FIN occupy one sequence number each.
    /// `sent_again.bytes` is the number of bytes of the sender's retransmissions.
    pub(super) retransmitted_bytes: u64,
    /// Number of packets that are out of order.
    pub(super) out_of_order: u64,
    /// Number of packets of the receiver.
    pub(super) heard: u64,
    /// Number of ACKs of the receiver.
    pub(super) acks: u64,
    /// Number of ACKs with SACK blocks.
    pub(super) acks_with_sack: u64,
    /// Number of ACKs with a DSACK block.
    pub(super) dsacks: u64,
    /// Number of duplicate ACKs.
    pub(super) duplicate_acks: u64,
    /// Number of sets of three duplicate ACKs.
    pub(super) triple_duplicate_acks: u64,
    /// Number of packets that announce a window of zero.
    pub(super) zero_windows: u64,
}
