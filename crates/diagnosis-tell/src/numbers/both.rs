//! Numbers about two captures of a transfer.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_diagnosis::both::{BothEnds, Changed, Delays, Joined, Lost, Queue, Rewritten, Way};
use dupack_diagnosis::read::side::Side;

use super::document::Quantity;
use super::long;

/// Findings about a connection that is in two captures. The findings, packets and times of the connection itself refer
/// to the diagnosed capture, which is the one nearer to the sender of the worst transfer.
#[derive(Serialize, JsonSchema)]
pub(super) struct BothEndsNumbers {
    /// Endpoint that is nearer to the diagnosed capture. The other endpoint is nearer to the other capture.
    near: Side,
    /// Address and port of the opener in the other capture.
    opener_there: String,
    /// Address and port of the answerer in the other capture.
    answerer_there: String,
    /// Minimum time from one capture to the other and back. This time does not depend on the clocks.
    round_trip_s: f64,
    /// Minimum time from one endpoint to the other and back, as the diagnosed capture shows it; null if the capture
    /// does not show it. If a large part of this time is not between the captures, packets that are in both captures
    /// may have been lost on the remaining path.
    whole_round_trip_s: Option<f64>,
    /// `true` if most of the path lies between the captures. In this case, the other capture corrects the findings of
    /// the diagnosed capture.
    spans_path: bool,
    /// `true` if all packets were matched, `false` if only the first packets were matched.
    all_packets: bool,
    /// Clock of the other capture; null if its offset is not a linear function of time.
    clock: Option<ClockNumbers>,
    /// Packets that the opener sent.
    from_opener: WayNumbers,
    /// Packets that the answerer sent.
    from_answerer: WayNumbers,
    /// Place of the queue: `nowhere`, `from_opener`, `from_answerer` or `both_ways`; null if the delays are unknown.
    queue: Option<&'static str>,
    /// Number of lost segments of the endpoint that is nearer to the diagnosed capture, according to that capture
    /// alone; null if both captures agree.
    losses_by_one_capture: Option<u64>,
    /// Number of spurious retransmissions of the same endpoint, according to the diagnosed capture alone; null if both
    /// captures agree.
    needless_by_one_capture: Option<u64>,
}

/// Clock of the other capture, relative to the clock of the diagnosed capture.
#[derive(Serialize, JsonSchema)]
struct ClockNumbers {
    /// Seconds by which the other clock is ahead at the first packet that is in both captures; negative if it is
    /// behind.
    offset_s: f64,
    /// Uncertainty of the offset in either direction: half of the minimum round-trip time.
    uncertainty_s: f64,
    /// Seconds that the other clock gains per second; negative if it loses time.
    skew: Quantity,
}

/// Packets of one endpoint between the captures. Packets are counted as segments: a packet from an interface with
/// offload counts as several segments.
#[derive(Serialize, JsonSchema)]
struct WayNumbers {
    /// Packets in the capture near their sender.
    sent: u64,
    /// Packets that the other capture also contains.
    arrived: u64,
    /// Lost packets that carried data.
    lost_data: u64,
    /// Lost packets that were retransmissions.
    lost_retransmissions: u64,
    /// Lost packets without data: ACKs and resets.
    lost_acks: u64,
    /// Lost SYNs and FINs without data.
    lost_syns_and_fins: u64,
    /// Packets that arrived according to their ACKs, but that are missing from the far capture.
    missing_in_far_capture: u64,
    /// Packets that arrived, but that are missing from the capture near their sender.
    missing_in_near_capture: u64,
    /// Bytes of data that were acknowledged, but that are in neither capture.
    in_neither_capture_bytes: u64,
    /// Packets for which the captures do not show whether they were lost.
    undecided: u64,
    /// Packets that were overtaken by packets sent later.
    overtaken: u64,
    /// Copies of packets that the path made.
    copies: u64,
    /// Surplus packets in the far capture of unknown origin: they are copies, or they are missing from the near
    /// capture.
    copies_or_missing: u64,
    /// Packets with data.
    with_data: u64,
    /// Retransmissions, excluding probes.
    retransmissions: u64,
    /// Spurious retransmissions: the data had already arrived or was in flight.
    needless: u64,
    /// Retransmissions for which the captures do not show whether they were spurious.
    need_unknown: u64,
    /// Lost packets with data, SYN or FIN. Only the first 256 are listed.
    lost: Vec<LostNumbers>,
    /// One-way delays; null if the offset of the clocks is unknown.
    delay: Option<DelayNumbers>,
    /// Fields that are rewritten on the path.
    rewritten: RewrittenNumbers,
}

/// A lost packet.
#[derive(Serialize, JsonSchema)]
struct LostNumbers {
    /// Number of the packet in the capture near its sender.
    packet: u32,
    /// Bytes of data.
    bytes: u32,
    /// `true` if the packet was a retransmission.
    retransmission: bool,
}

/// One-way delays. Each delay has the uncertainty `uncertainty_s` of the clock. Differences between the delays do not
/// have this uncertainty.
#[derive(Serialize, JsonSchema)]
struct DelayNumbers {
    /// Minimum delay, under the assumption that the minimum round-trip time divides evenly between both directions.
    least_s: f64,
    /// Median delay.
    p50_s: f64,
    /// 95th percentile of the delay.
    p95_s: f64,
    /// Maximum delay.
    max_s: f64,
}

/// Fields that are rewritten between the captures.
#[derive(Serialize, JsonSchema)]
struct RewrittenNumbers {
    /// Number that is added to sequence numbers on the path, modulo 2³²; null if sequence numbers are unchanged.
    sequence_numbers: Option<u32>,
    /// Change of the MSS in the SYN; null if unchanged.
    mss: Option<ChangedNumbers>,
    /// Change of the window scale in the SYN; null if unchanged.
    window_scale: Option<ChangedNumbers>,
    /// Change of SACK-permitted in the SYN, as 1 for present and 0 for absent; null if unchanged.
    sack_permitted: Option<ChangedNumbers>,
    /// Change of the timestamps option in the SYN, as 1 for present and 0 for absent; null if unchanged.
    timestamps: Option<ChangedNumbers>,
    /// `true` if the values of timestamps are rewritten.
    timestamp_values: bool,
    /// `true` if IPv4 identifications are rewritten.
    identification: bool,
    /// `true` if windows, echoed timestamps or SACK blocks are rewritten.
    windows_or_echoes: bool,
}

/// Value of a field at both endpoints.
#[derive(Serialize, JsonSchema)]
struct ChangedNumbers {
    /// Value that was sent; null if the field was absent.
    sent: Option<u16>,
    /// Value that arrived; null if the field was absent.
    arrived: Option<u16>,
}

impl BothEndsNumbers {
    pub(super) fn of(both: &BothEnds) -> Self {
        let way = |side: Side| WayNumbers::of(both.ways.of(side), both.rewritten.of(side));
        Self {
            near: both.near,
            opener_there: both.there.opener.to_string(),
            answerer_there: both.there.answerer.to_string(),
            round_trip_s: long(both.round_trip),
            whole_round_trip_s: both.whole.map(long),
            spans_path: both.spans_path(),
            all_packets: both.extent == Joined::All,
            clock: both.clock.map(|clock| ClockNumbers {
                offset_s: clock.offset_s,
                uncertainty_s: long(clock.uncertainty),
                skew: clock.skew.into(),
            }),
            from_opener: way(Side::Opener),
            from_answerer: way(Side::Answerer),
            queue: both.queue().map(|queue| match queue {
                Queue::Nowhere => "nowhere",
                Queue::From(Side::Opener) => "from_opener",
                Queue::From(Side::Answerer) => "from_answerer",
                Queue::BothWays => "both_ways",
            }),
            losses_by_one_capture: both.alone.map(|alone| alone.losses),
            needless_by_one_capture: both.alone.map(|alone| alone.needless),
        }
    }
}

impl WayNumbers {
    fn of(way: &Way, rewritten: &Rewritten) -> Self {
        Self {
            sent: way.sent,
            arrived: way.arrived,
            lost_data: way.lost_data,
            lost_retransmissions: way.lost_again,
            lost_acks: way.lost_acks,
            lost_syns_and_fins: way.lost_controls,
            missing_in_far_capture: way.missing_far,
            missing_in_near_capture: way.missing_near,
            in_neither_capture_bytes: way.unseen_bytes,
            undecided: way.undecided,
            overtaken: way.reordered,
            copies: way.duplicated,
            copies_or_missing: way.unexplained,
            with_data: way.segments,
            retransmissions: way.retransmissions,
            needless: way.needless,
            need_unknown: way.need_unknown,
            lost: way.lost.iter().map(LostNumbers::of).collect(),
            delay: way.delays.as_ref().map(DelayNumbers::of),
            rewritten: RewrittenNumbers::of(rewritten),
        }
    }
}

impl LostNumbers {
    const fn of(lost: &Lost) -> Self {
        Self {
            packet: lost.packet,
            bytes: lost.bytes,
            retransmission: lost.is_again,
        }
    }
}

impl DelayNumbers {
    fn of(delays: &Delays) -> Self {
        Self {
            least_s: long(delays.least),
            p50_s: long(delays.p50),
            p95_s: long(delays.p95),
            max_s: long(delays.max),
        }
    }
}

impl RewrittenNumbers {
    fn of(rewritten: &Rewritten) -> Self {
        fn changed<T: Into<u16>>(changed: Changed<Option<T>>) -> ChangedNumbers {
            ChangedNumbers {
                sent: changed.sent.map(Into::into),
                arrived: changed.arrived.map(Into::into),
            }
        }
        let presence = |changed: Changed<bool>| ChangedNumbers {
            sent: Some(changed.sent.into()),
            arrived: Some(changed.arrived.into()),
        };
        Self {
            sequence_numbers: rewritten.sequence_numbers,
            mss: rewritten.mss.map(changed),
            window_scale: rewritten.window_scale.map(changed),
            sack_permitted: rewritten.sack_permitted.map(presence),
            timestamps: rewritten.timestamps.map(presence),
            timestamp_values: rewritten.timestamp_values,
            identification: rewritten.identification,
            windows_or_echoes: rewritten.windows_or_echoes,
        }
    }
}
