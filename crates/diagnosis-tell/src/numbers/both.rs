//! Two captures of a transfer as numbers.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_diagnosis::both::{BothEnds, Changed, Delays, Joined, Lost, Queue, Rewritten, Way};
use dupack_diagnosis::read::side::Side;

use super::document::Quantity;
use super::long;

/// A connection in two captures. The findings, packets and times of the connection are those of the diagnosed capture,
/// which is the one nearer to the sender of the worst transfer.
#[derive(Serialize, JsonSchema)]
pub(super) struct BothEndsNumbers {
    /// End that the diagnosed capture is nearer to. The other capture is nearer to the other end.
    near: Side,
    /// Address and port of the opener in the other capture.
    opener_there: String,
    /// Address and port of the answerer in the other capture.
    answerer_there: String,
    /// Least time from one capture to the other and back; it depends on no clock.
    round_trip_s: f64,
    /// Least time from one end to the other and back, as the diagnosed capture shows it; null if it does not. If much
    /// of it lies beyond the captures, packets that both have may have been lost there.
    whole_round_trip_s: Option<f64>,
    /// `true` if most of the path lies between the captures: then the findings of the diagnosed capture are corrected
    /// by the other.
    spans_path: bool,
    /// `true` if all packets were matched, `false` if only the first of them were.
    all_packets: bool,
    /// Clock of the other capture; null if no line describes it.
    clock: Option<ClockNumbers>,
    /// Packets of the opener.
    from_opener: WayNumbers,
    /// Packets of the answerer.
    from_answerer: WayNumbers,
    /// Place of the queue: `nowhere`, `from_opener`, `from_answerer` or `both_ways`; null if the delays are unknown.
    queue: Option<&'static str>,
    /// Lost segments of the end that the diagnosed capture is nearer to, according to that capture alone; null if both
    /// agree.
    losses_by_one_capture: Option<u64>,
    /// Spurious retransmissions of that end, as the diagnosed capture tells alone; null if both tell the same.
    needless_by_one_capture: Option<u64>,
}

/// Clock of the other capture, relative to that of the diagnosed one.
#[derive(Serialize, JsonSchema)]
struct ClockNumbers {
    /// Seconds that it is ahead at the first packet that both captures have; negative if it is behind.
    offset_s: f64,
    /// The offset may be more or less by this: half of the least round trip.
    uncertainty_s: f64,
    /// Seconds that it gains in a second; negative if it loses.
    skew: Quantity,
}

/// Packets of one end between the captures. A packet that an interface with offload shows as one counts as the segments
/// that it stands for.
#[derive(Serialize, JsonSchema)]
struct WayNumbers {
    /// Packets that the capture near their sender has.
    sent: u64,
    /// Those of them that arrived at the other capture.
    arrived: u64,
    /// Lost packets with data.
    lost_data: u64,
    /// Retransmissions among the lost packets.
    lost_retransmissions: u64,
    /// Lost packets without data: ACKs and resets.
    lost_acks: u64,
    /// Lost SYNs and FINs without data.
    lost_syns_and_fins: u64,
    /// Packets that arrived, as their ACKs show, but that the far capture does not have.
    missing_in_far_capture: u64,
    /// Packets that arrived, but that the capture near their sender does not have.
    missing_in_near_capture: u64,
    /// Bytes of data that were acknowledged, but that neither capture has.
    in_neither_capture_bytes: u64,
    /// Packets for which the captures do not show whether they were lost.
    undecided: u64,
    /// Packets that arrived after others that were sent later.
    overtaken: u64,
    /// Copies that the path made.
    copies: u64,
    /// Packets that the far capture has more often than the near one: copies, or missing in the near capture.
    copies_or_missing: u64,
    /// Packets with data.
    with_data: u64,
    /// Retransmissions, without probes.
    retransmissions: u64,
    /// Spurious retransmissions: their data had arrived or was on its way.
    needless: u64,
    /// Retransmissions for which this is unknown.
    need_unknown: u64,
    /// Lost packets with data, SYN or FIN, the first 256.
    lost: Vec<LostNumbers>,
    /// One-way delays; null if the offset of the clocks is unknown.
    delay: Option<DelayNumbers>,
    /// Fields that are rewritten on the path.
    rewritten: RewrittenNumbers,
}

/// Lost packet.
#[derive(Serialize, JsonSchema)]
struct LostNumbers {
    /// Its number in the capture near its sender.
    packet: u32,
    /// Bytes of data.
    bytes: u32,
    /// `true` for a retransmission.
    retransmission: bool,
}

/// One-way delays. Each may be more or less by the clock's `uncertainty_s`; their differences do not depend on it.
#[derive(Serialize, JsonSchema)]
struct DelayNumbers {
    /// The least, if the least round trip divides evenly between both directions.
    least_s: f64,
    /// Median.
    p50_s: f64,
    /// 95th percentile.
    p95_s: f64,
    /// Maximum.
    max_s: f64,
}

/// Fields that something between the captures rewrites.
#[derive(Serialize, JsonSchema)]
struct RewrittenNumbers {
    /// Added to sequence numbers, modulo 2³²; null if they are unchanged.
    sequence_numbers: Option<u32>,
    /// MSS of the SYN; null if unchanged.
    mss: Option<ChangedNumbers>,
    /// Window scale of the SYN; null if unchanged.
    window_scale: Option<ChangedNumbers>,
    /// Presence of SACK-permitted in the SYN, 1 or 0; null if unchanged.
    sack_permitted: Option<ChangedNumbers>,
    /// Presence of timestamps in the SYN, 1 or 0; null if unchanged.
    timestamps: Option<ChangedNumbers>,
    /// `true` if the values of timestamps are changed.
    timestamp_values: bool,
    /// `true` if IPv4 identifications are changed.
    identification: bool,
    /// `true` if windows, echoed timestamps or SACK blocks are changed.
    windows_or_echoes: bool,
}

/// A field at both ends.
#[derive(Serialize, JsonSchema)]
struct ChangedNumbers {
    /// As it was sent; null if it was absent.
    sent: Option<u16>,
    /// As it arrived; null if it was absent.
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
