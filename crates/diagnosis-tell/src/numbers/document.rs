//! Types of the JSON document, with their schema.
//!
//! The documentation of each field is its description in the schema, which `dupack schema diagnosis` prints.

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

/// Version of the schema. A new field is a new minor version; a field that changes or goes is a new major version.
pub const SCHEMA_VERSION: &str = "1.0";

/// Diagnosis of a capture, as `dupack diagnose --format json` prints it. Times are in seconds since the first TCP
/// packet.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document {
    /// Version of this schema: a new minor version adds fields, a new major version changes or removes some.
    pub(super) schema_version: &'static str,
    /// Format of the capture file.
    pub(super) format: String,
    /// `false` if the reading was interrupted.
    pub(super) complete: bool,
    /// Time of the first TCP packet, in seconds since 1970-01-01T00:00:00Z: other times count from it.
    pub(super) first_packet_unix_s: Option<f64>,
    /// Time from the first TCP packet to the last packet.
    pub(super) duration_s: f64,
    /// Number of packets by kind.
    pub(super) packets: BTreeMap<String, u64>,
    /// Damage to the capture, a sentence each.
    pub(super) notes: Vec<String>,
    /// TCP packets that are not selected.
    pub(super) left_out_packets: LeftOutPackets,
    /// Number of connections in the capture.
    pub(super) connections_all: u64,
    /// Number of those without data.
    pub(super) connections_without_data: u64,
    /// Connections that are not listed.
    pub(super) not_listed: NotListed,
    /// Connections by their server, and by service.
    pub(super) groups: GroupsNumbers,
    /// Bottlenecks that several of the streams share.
    pub(super) shared_bottlenecks: SharedNumbers,
    /// Durations with other senders; null if none were simulated.
    pub(super) what_if: Option<WhatIfNumbers>,
    /// Connections in order of the time that an end waited for their data; those whose limits cannot be determined come
    /// last.
    pub(super) connections: Vec<ConnectionNumbers>,
}

/// TCP packets that are not selected, by the argument that leaves them out.
#[derive(Serialize, JsonSchema)]
pub(super) struct LeftOutPackets {
    /// TCP packets that `--filter` leaves out.
    pub(super) filter: u64,
    /// TCP packets that `--since` and `--until` leave out.
    pub(super) since_until: u64,
}

/// Connections that are not listed, in numbers.
#[derive(Serialize, JsonSchema)]
pub(super) struct NotListed {
    /// Number of connections.
    pub(super) connections: u64,
    /// Bytes of their data, each counted once.
    pub(super) bytes: u64,
    /// Segments that were retransmitted.
    pub(super) retransmissions: u64,
}

/// Durations with other senders for one connection.
#[derive(Serialize, JsonSchema)]
pub(super) struct WhatIfNumbers {
    /// Number of the connection.
    pub(super) connection: u64,
    /// Reason why there is no answer; null if there is one.
    pub(super) refused: Option<String>,
    /// Answers, the shortest duration first.
    pub(super) answers: Vec<AnswerNumbers>,
}

/// Duration of the same transfer with another sender.
#[derive(Serialize, JsonSchema)]
pub(super) struct AnswerNumbers {
    /// Stack, as `dupack stacks` takes it.
    pub(super) stack: String,
    /// Relation to the captured sender.
    pub(super) role: Role,
    /// `false` if the capture does not allow an answer for this stack.
    pub(super) offered: bool,
    /// Mean duration of the transfer.
    pub(super) duration_s: f64,
    /// Lower end of its confidence interval of 95 %.
    pub(super) duration_low_s: f64,
    /// Upper end of its confidence interval of 95 %.
    pub(super) duration_high_s: f64,
    /// Duration of the captured transfer.
    pub(super) captured_s: f64,
    /// Difference of the mean duration to the captured one, as a share of that; negative if it is less.
    pub(super) change: f64,
    /// Lower end of its confidence interval of 95 %.
    pub(super) change_low: f64,
    /// Upper end of its confidence interval of 95 %.
    pub(super) change_high: f64,
    /// Direction of the change: determined if the whole interval is below or above the captured duration, and the captured sender, simulated on the
    /// same paths, takes longer or shorter, too.
    pub(super) gain: Gain,
    /// Mean goodput in Mbit/s.
    pub(super) goodput_mbit_per_s: f64,
    /// Commands that configure this stack in Linux.
    pub(super) linux_commands: Vec<String>,
    /// Single answers of a connection with turns; null where it has none, or this stack is not among the fastest.
    pub(super) replies: Option<ReplyNumbers>,
}

/// Answers of a connection with turns, with another sender. Each takes from its first segment until all of it is
/// acknowledged.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReplyNumbers {
    /// Number of answers.
    pub(super) answers: usize,
    /// Median duration in the capture.
    pub(super) captured_p50_s: f64,
    /// Longest duration in the capture.
    pub(super) captured_max_s: f64,
    /// Median duration with this stack, mean of simulations.
    pub(super) p50_s: f64,
    /// Longest duration with this stack, mean of simulations.
    pub(super) max_s: f64,
    /// Answers that would have come sooner: each took longer than its counterpart, as slow among the others, in any
    /// simulation.
    pub(super) sooner: usize,
    /// Those of them that gain the most, at most 16, the largest gain first.
    pub(super) most: Vec<SoonerNumbers>,
}

/// Answer that would have come sooner with another sender.
#[derive(Serialize, JsonSchema)]
pub(super) struct SoonerNumbers {
    /// Number of the answer in its stream, from 1.
    pub(super) answer: usize,
    /// Its duration in the capture.
    pub(super) captured_s: f64,
    /// Duration of its counterpart, mean of simulations.
    pub(super) duration_s: f64,
    /// The least of simulations.
    pub(super) duration_low_s: f64,
    /// The most of simulations.
    pub(super) duration_high_s: f64,
}

/// Connection.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConnectionNumbers {
    /// Number of the connection, from 1 in the order of their first packets.
    pub(super) number: u64,
    /// Address and port of the end that opened the connection; without a SYN in the capture, of the first packet's
    /// source.
    pub(super) opener: String,
    /// Address and port of the other end.
    pub(super) answerer: String,
    /// Time of the first packet.
    pub(super) first_s: f64,
    /// Time of the last packet.
    pub(super) last_s: f64,
    /// Time at which the handshake was complete; null if the capture does not show it.
    pub(super) established_s: Option<f64>,
    /// Retransmitted SYNs.
    pub(super) syns_sent_again: Vec<SynNumbers>,
    /// Time of the reset that ended the connection; null without one.
    pub(super) reset_s: Option<f64>,
    /// First sentence on the connection.
    pub(super) headline: String,
    /// End that sent nothing more although the other end kept asking; null if both answered.
    pub(super) silence: Option<SilenceNumbers>,
    /// Oddities of the connection and of its capture, as sentences: copies, missing packets, resets without effect,
    /// findings that contradict each other.
    pub(super) notes: Vec<String>,
    /// Time lost to retransmitted SYNs, and in the stream that lost the most; null if the limits of the main stream
    /// cannot be determined.
    pub(super) lost_s: Option<f64>,
    /// Requests and answers; null if the connection has fewer than two.
    pub(super) requests: Option<RequestsNumbers>,
    /// Findings of a second capture at the other end, with `--both`; null without, or if that capture does not have the
    /// connection.
    pub(super) both_ends: Option<BothEndsNumbers>,
    /// Data of each end that sent some.
    pub(super) streams: Vec<StreamNumbers>,
}

/// End that sent nothing more.
#[derive(Serialize, JsonSchema)]
pub(super) struct SilenceNumbers {
    /// Silent end.
    pub(super) silent: Side,
    /// Time of its last packet.
    pub(super) since_s: f64,
    /// Its last packet.
    pub(super) last_packet: u64,
    /// Segments with data of the other end that were not answered, retransmissions included.
    pub(super) unanswered_data: u32,
    /// Keep-alives that were not answered.
    pub(super) unanswered_keep_alives: u32,
    /// FINs without data that were not answered.
    pub(super) unanswered_fins: u32,
    /// Time from the first of these packets to the last.
    pub(super) unanswered_for_s: f64,
}

/// Retransmitted SYN.
#[derive(Serialize, JsonSchema)]
pub(super) struct SynNumbers {
    /// End that sent the SYN.
    pub(super) sent_by: Side,
    /// Time of the retransmission.
    pub(super) at_s: f64,
    /// Packet of the retransmission.
    pub(super) packet: u64,
    /// Cause.
    pub(super) cause: SynCause,
    /// Time since the SYN before it.
    pub(super) waited_s: f64,
}

/// Data that one end sent.
#[derive(Serialize, JsonSchema)]
pub(super) struct StreamNumbers {
    /// End that sent the data.
    pub(super) sent_by: Side,
    /// Limit of the stream, in a sentence.
    pub(super) story: String,
    /// Bytes of data that arrived, each counted once; where the capture has no ACKs, bytes that were sent.
    pub(super) bytes: u64,
    /// Time at which the stream began.
    pub(super) began_s: f64,
    /// Time at which the stream ended.
    pub(super) ended_s: f64,
    /// Time between the two.
    pub(super) duration_s: f64,
    /// Bytes delivered per second, in bit/s; null where the capture has no ACKs.
    pub(super) goodput_bit_per_s: Option<f64>,
    /// Time spent neither at the bottleneck, nor waiting for the application, nor in the handshake; null if the limits
    /// cannot be determined. At least this if `limits_in_doubt` has `lost_at_least`.
    pub(super) lost_s: Option<f64>,
    /// Reason why the limits, the stalls and the lost time cannot be determined; null if they can.
    pub(super) limits_untold: Option<UntoldNumbers>,
    /// Limits that the capture does not distinguish from other causes; null if there are none, or if no limits can be
    /// determined.
    pub(super) limits_in_doubt: Option<InDoubtNumbers>,
    /// Bytes of data in a full segment.
    pub(super) segment_bytes: u32,
    /// Least round-trip time of a segment; null if it cannot be determined (`path.least_rtt_s`).
    pub(super) rtt_min_s: Option<f64>,
    /// Mean round-trip time; null if no ACK shows it, or the least one cannot be determined.
    pub(super) rtt_mean_s: Option<f64>,
    /// Place where the capture was taken.
    pub(super) seen_from: SeenFrom,
    /// Time by limit; the sum is the duration. Null if the limits cannot be determined.
    pub(super) limits_s: Option<BTreeMap<Limit, f64>>,
    /// Limits over time, in order and without gaps; empty if the limits cannot be determined.
    pub(super) limits_over_time: Vec<BandNumbers>,
    /// Time that Linux would count as busy (`tcpi_busy_time`); null if the limits cannot be determined.
    pub(super) kernel_busy_s: Option<f64>,
    /// Time that Linux would count as limited by the receive window (`tcpi_rwnd_limited`); null if the limits cannot be
    /// determined.
    pub(super) kernel_receive_window_limited_s: Option<f64>,
    /// Time that Linux would count as limited by the send buffer (`tcpi_sndbuf_limited`); null if the limits cannot be
    /// determined.
    pub(super) kernel_send_buffer_limited_s: Option<f64>,
    /// Segments sent, retransmissions included.
    pub(super) segments: u64,
    /// Retransmissions of data and of FINs, without keep-alives, window probes and SYNs: what the sender retransmitted,
    /// also if the capture lacks the original. Null if more were found than segments, which contradicts itself.
    /// `packets` has another count.
    pub(super) sent_again: Option<SentAgain>,
    /// Number of stalls: times longer than two round trips without an event. Null if the limits cannot be determined.
    pub(super) stalls: Option<u64>,
    /// Duration of all stalls; null if the limits cannot be determined.
    pub(super) stalled_s: Option<f64>,
    /// Duration of the stalls by kind; null if the limits cannot be determined.
    pub(super) stalled_by_kind_s: Option<BTreeMap<StallKind, f64>>,
    /// The longest stalls, at most 32; empty if the limits cannot be determined.
    pub(super) longest_stalls: Vec<StallNumbers>,
    /// Segments that arrived late because others overtook them.
    pub(super) overtaken: u64,
    /// Number of times that the receive window was shut and held the sender: it was zero, or had no room for a segment
    /// while nothing was in flight. Where it never held the sender, number of times that it was zero.
    pub(super) window_shut_times: u64,
    /// Time in which it held the sender: `receive window shut` of the limits.
    pub(super) window_shut_s: f64,
    /// Window probes sent meanwhile.
    pub(super) window_probes: u64,
    /// Keep-alives.
    pub(super) keep_alives: u64,
    /// Properties of the path.
    pub(super) path: PathNumbers,
    /// Sender's algorithms.
    pub(super) sender: SenderNumbers,
    /// Packets as tcptrace counts them.
    pub(super) packets: PacketNumbers,
}

/// Reason why something cannot be determined.
#[derive(Serialize, JsonSchema)]
pub(super) struct UntoldNumbers {
    /// Reason, as a sentence without its full stop.
    pub(super) why: &'static str,
    /// Capture that would show it.
    pub(super) remedy: &'static str,
}

/// Limits that the capture does not distinguish from other causes.
#[derive(Serialize, JsonSchema)]
pub(super) struct InDoubtNumbers {
    /// Limits whose time may have another cause, keys of `limits_s`.
    pub(super) limits: Vec<Limit>,
    /// The other causes.
    pub(super) or: Vec<Doubt>,
    /// `true` if one of the other causes would count as lost time, and the limits do not: `lost_s` is a lower bound.
    pub(super) lost_at_least: bool,
}

/// Place where the capture was taken.
#[derive(Serialize, JsonSchema)]
pub(super) struct SeenFrom {
    /// Place.
    pub(super) place: Place,
    /// Least time from there to the sender and back.
    pub(super) to_sender_and_back_s: f64,
    /// Least time from there to the receiver and back.
    pub(super) to_receiver_and_back_s: f64,
    /// Evidence for the place.
    pub(super) by: Reason,
}

/// Stretch of time with its limit.
#[derive(Serialize, JsonSchema)]
pub(super) struct BandNumbers {
    /// Beginning of the stretch.
    pub(super) from_s: f64,
    /// End of the stretch.
    pub(super) until_s: f64,
    /// Limit of most of the stretch, a key of `limits_s`.
    pub(super) limit: Limit,
}

/// Retransmissions of a stream.
#[derive(Serialize, JsonSchema)]
pub(super) struct SentAgain {
    /// Retransmitted segments: all of `by_class` but `keep_alive` and `window_probe`.
    pub(super) segments: u64,
    /// `true` if the capture may lack some: it was not taken at the sender's end, or lacks packets.
    pub(super) may_be_more: bool,
    /// Their bytes, as sequence numbers count them: a FIN is one.
    pub(super) bytes: u64,
    /// Number of segments by class of their cause, probes included.
    pub(super) by_class: BTreeMap<Class, u64>,
    /// Segments whose original had arrived.
    pub(super) needless: u64,
    /// Those of them that a DSACK reports.
    pub(super) needless_by_dsack: u64,
    /// Those that the timestamp of their ACK shows.
    pub(super) needless_by_timestamp: u64,
    /// Those whose ACK came sooner than a round trip.
    pub(super) needless_by_time: u64,
    /// Those whose original the capture shows to arrive.
    pub(super) needless_by_arrival: u64,
    /// Segments whose original had arrived and that later ones had overtaken.
    pub(super) needless_overtaken: u64,
    /// Segments whose original had arrived and that a timer sent.
    pub(super) needless_by_timer: u64,
    /// Segments for which the capture does not show whether they were needed.
    pub(super) need_unknown: u64,
    /// Segments whose original was lost.
    pub(super) lost_first: u64,
    /// Retransmissions that were lost.
    pub(super) lost_again: u64,
    /// The last retransmissions and probes, at most 512.
    pub(super) last: Vec<RetransmissionNumbers>,
}

/// Time without an event.
#[derive(Serialize, JsonSchema)]
pub(super) struct StallNumbers {
    /// Beginning of the stall.
    pub(super) from_s: f64,
    /// End of the stall.
    pub(super) until_s: f64,
    /// Time between the two.
    pub(super) duration_s: f64,
    /// Kind of the stall, a key of `stalled_by_kind_s`.
    pub(super) kind: StallKind,
    /// Origin.
    pub(super) due_to: Culprit,
    /// Event that the sender waited for.
    pub(super) waited_for: WaitedFor,
    /// Last packet before the stall.
    pub(super) packet_before: u64,
    /// First packet after the stall.
    pub(super) packet_after: u64,
    /// Bytes in flight.
    pub(super) in_flight_bytes: u64,
    /// Time after which a tail loss probe or RACK would have acted; null where neither would.
    pub(super) something_else_would_have_acted_after_s: Option<f64>,
}

/// Retransmitted segment.
#[derive(Serialize, JsonSchema)]
pub(super) struct RetransmissionNumbers {
    /// Time of the retransmission.
    pub(super) at_s: f64,
    /// Its packet.
    pub(super) packet: u64,
    /// Offset of its first byte in the stream.
    pub(super) start_byte: u64,
    /// Offset after its last byte.
    pub(super) end_byte: u64,
    /// Number of this transmission of the segment, from 1 for the original.
    pub(super) transmission: u32,
    /// Cause; of a timeout its number in a row, too.
    #[serde(flatten)]
    pub(super) cause: Cause,
    /// Packet that triggered it; null if a timer did.
    pub(super) set_off_by_packet: Option<u64>,
    /// Time in which the sender had sent nothing, and nothing had come that restarts its timer.
    pub(super) waited_s: f64,
    /// Need.
    pub(super) need: Need,
    /// `true` if the retransmission was lost.
    pub(super) lost_again: bool,
}

/// Algorithms of a sender.
#[derive(Serialize, JsonSchema)]
pub(super) struct SenderNumbers {
    /// Loss recovery.
    pub(super) recovery: Named,
    /// Congestion control.
    pub(super) control: Named,
    /// Stack that behaves like the sender, as `dupack stacks` takes it; null if unknown.
    pub(super) stack: Option<String>,
    /// Dialect of that stack.
    pub(super) dialect: Option<&'static str>,
    /// Initial window in segments; null if the capture does not show it.
    pub(super) initial_window_segments: Option<u32>,
    /// `true` if the sender paces its segments; null if the capture does not show it.
    pub(super) paced: Option<bool>,
    /// Tail loss probes.
    pub(super) tail_loss_probes: u32,
}

/// Algorithm, as far as the capture shows it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Named {
    /// Name of the algorithm; null if unknown.
    pub(super) name: Option<String>,
    /// Reason for the name or for its absence.
    pub(super) why: String,
    /// Candidates, the likeliest first.
    pub(super) candidates: Vec<CandidateNumbers>,
}

/// Algorithm that the sender may have.
#[derive(Serialize, JsonSchema)]
pub(super) struct CandidateNumbers {
    /// Name of the algorithm.
    pub(super) name: String,
    /// Logarithm of the likelihood, relative to other candidates.
    pub(super) log_likelihood: f64,
    /// Evidence for it.
    pub(super) evidence_for: Vec<String>,
    /// Evidence against it.
    pub(super) evidence_against: Vec<String>,
}

/// Properties of a path.
#[derive(Serialize, JsonSchema)]
pub(super) struct PathNumbers {
    /// Least round-trip time of the path.
    pub(super) least_rtt_s: Quantity,
    /// Rate of the bottleneck.
    pub(super) rate_bit_per_s: Quantity,
    /// Size of the bottleneck's queue in bytes.
    pub(super) room_bytes: Quantity,
    /// Size of the bottleneck's queue in packets.
    pub(super) room_packets: Quantity,
    /// Segments that were lost.
    pub(super) losses: u64,
    /// Segments that were sent.
    pub(super) transmissions: u64,
    /// Share of the segments that was lost, from 0 to 1.
    pub(super) loss: Quantity,
    /// Share that was lost apart from overflows of the queue, from 0 to 1.
    pub(super) random_loss: Quantity,
    /// Share of the losses that are overflows of the queue, from 0 to 1.
    pub(super) queue_share_of_losses: Quantity,
    /// Share of the segments that were reordered, from 0 to 1.
    pub(super) reordered: Quantity,
    /// Rate of a policer; null without one.
    pub(super) policer_rate_bit_per_s: Option<Quantity>,
    /// Burst of a policer; null without one.
    pub(super) policer_burst_bytes: Option<Quantity>,
    /// Rate of the link that the policer polices; null without a policer.
    pub(super) policer_link_bit_per_s: Option<Quantity>,
}

/// Quantity with its confidence interval, or the reason why it cannot be determined.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Quantity {
    /// It lies in this interval.
    Between {
        /// Best estimate.
        value: f64,
        /// Lower end of the confidence interval of 95 %.
        low: f64,
        /// Upper end of the confidence interval of 95 %.
        high: f64,
    },
    /// It is no less than this.
    AtLeast {
        /// Lower bound.
        at_least: f64,
        /// Reason why no more can be determined.
        why: &'static str,
        /// Capture that would show more.
        remedy: &'static str,
    },
    /// The capture does not show it.
    CannotBeTold {
        /// Reason why no more can be determined.
        why: &'static str,
        /// Capture that would show more.
        remedy: &'static str,
    },
}

/// Packets as tcptrace counts them.
#[derive(Serialize, JsonSchema)]
pub(super) struct PacketNumbers {
    /// Packets of the sender.
    pub(super) sent: u64,
    /// Packets that the capture has twice.
    pub(super) copies: u64,
    /// Packets with data.
    pub(super) with_data: u64,
    /// Bytes of data, retransmissions and probes included.
    pub(super) data_bytes: u64,
    /// Bytes of data, each counted once.
    pub(super) unique_bytes: u64,
    /// Packets with bytes that the capture has shown before, as tcptrace counts them: SYNs, FINs and keep-alives are
    /// among them; retransmissions whose original the capture lacks, and packets to a window of zero, are not.
    /// `sent_again.segments` is the number of the sender's retransmissions.
    pub(super) with_bytes_seen_before: u64,
    /// Those bytes of these packets, as sequence numbers count them: a SYN and a FIN are one each. `sent_again.bytes`
    /// are those of the sender's retransmissions.
    pub(super) retransmitted_bytes: u64,
    /// Packets out of order.
    pub(super) out_of_order: u64,
    /// Packets of the receiver.
    pub(super) heard: u64,
    /// ACKs of the receiver.
    pub(super) acks: u64,
    /// ACKs with SACK blocks.
    pub(super) acks_with_sack: u64,
    /// ACKs with a DSACK block.
    pub(super) dsacks: u64,
    /// Duplicate ACKs.
    pub(super) duplicate_acks: u64,
    /// Sets of three duplicate ACKs.
    pub(super) triple_duplicate_acks: u64,
    /// Packets that announce a window of zero.
    pub(super) zero_windows: u64,
}
