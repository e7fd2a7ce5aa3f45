//! Linux's `tcp_info` for our connections, for the fields that scripts use.

use dupack_tcp::connection::State;
use dupack_tcp::recovery::Phase;
use dupack_tcp::scoreboard::Reported;
use dupack_tcp::segment::Codepoint;
use dupack_tcp::sender::Sender;
use dupack_tcp::time::{Duration, Instant};

use crate::code::{Lookup, Value};
use crate::line::Line;

/// Linux's value for a slow start threshold that was never set.
const INFINITE_SSTHRESH: i64 = 0x7fff_ffff;

/// Constants and their values, by name.
const CONSTANTS: [(&str, i64); 24] = [
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// Looks up a name used in code.
pub(crate) fn lookup(name: &str, line: Option<&Line>, now: Instant) -> Lookup {
    if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
        return Lookup::Is(Value::Int(*value));
    }
    let Some(field) = name.strip_prefix("tcpi_") else {
        return match ["bbr_", "dctcp_", "tcpv_", "SK_MEMINFO"]
            .iter()
            .any(|family| name.starts_with(family))
        {
            true => Lookup::Beyond(format!("`{name}`")),
            false => Lookup::Unknown,
        };
    };
    let value = line.and_then(|line| of_connection(field, line, now));
    match value {
        Some(value) => Lookup::Is(Value::Int(value)),
        None if FIELDS.contains(&field) => Lookup::Beyond(format!("`{name}`")),
        None => Lookup::Wrong(format!("tcp_info has no field {name}")),
    }
}

/// The fields of `tcp_info`: those of Linux (`include/uapi/linux/tcp.h`), followed by those that packetdrill supports
/// on FreeBSD.
#[rustfmt::skip]
const FIELDS: [&str; 78] = [
    "state", "ca_state", "retransmits", "probes", "backoff", "options", "snd_wscale", "rcv_wscale",
    "delivery_rate_app_limited", "fastopen_client_fail", "rto", "ato", "snd_mss", "rcv_mss", "unacked", "sacked",
    "lost", "retrans", "fackets", "last_data_sent", "last_ack_sent", "last_data_recv", "last_ack_recv", "pmtu",
    "rcv_ssthresh", "rtt", "rttvar", "snd_ssthresh", "snd_cwnd", "advmss", "reordering", "rcv_rtt", "rcv_space",
    "total_retrans", "pacing_rate", "max_pacing_rate", "bytes_acked", "bytes_received", "segs_out", "segs_in",
    "notsent_bytes", "min_rtt", "data_segs_in", "data_segs_out", "delivery_rate", "busy_time", "rwnd_limited",
    "sndbuf_limited", "delivered", "delivered_ce", "bytes_sent", "bytes_retrans", "dsack_dups", "reord_seen",
    "rcv_ooopack", "snd_wnd", "rcv_wnd", "rehash", "total_rto", "total_rto_recoveries", "total_rto_time",
    "received_ce", "delivered_e1_bytes", "delivered_e0_bytes", "delivered_ce_bytes", "received_e1_bytes",
    "received_e0_bytes", "received_ce_bytes", "ecn_mode", "accecn_opt_seen", "accecn_fail_mode", "options2",
    "snd_bwnd", "snd_nxt", "rcv_nxt", "toe_tid", "snd_rexmitpack", "snd_zerowin",
];

fn of_connection(field: &str, line: &Line, now: Instant) -> Option<i64> {
    let connection = &line.connection;
    let since = |at: Option<Instant>| millis(at.map_or(Duration::ZERO, |at| now.since(at)));
    match field {
        "state" => return Some(state(connection.state())),
        "segs_in" => return count(line.counts.segments_in),
        "segs_out" => return count(line.counts.segments_out),
        "data_segs_in" => return count(line.counts.data_segments_in),
        "last_data_recv" => return since(line.counts.last_data_in),
        "last_data_sent" => return since(line.counts.last_data_out),
        "busy_time" => return micros(line.chrono.busy(now)),
        "rwnd_limited" => return micros(line.chrono.shut_out(now)),
        "sndbuf_limited" => return micros(line.chrono.short(now)),
        "bytes_received" => return count(connection.readable()),
        "advmss" => {
            let stamps = connection.negotiated()?.timestamps.is_on();
            let mss = i64::from(connection.config().mss);
            return Some(mss - if stamps { 12 } else { 0 });
        }
        _ => {}
    }
    let agreed = connection.negotiated()?;
    match field {
        "received_ce" => return count(connection.receiver()?.marked_packets()),
        "options" => {
            let bits = i64::from(agreed.timestamps.is_on())
                + 2 * i64::from(agreed.sack.is_on())
                + 4 * i64::from(agreed.shifts != Default::default())
                + 8 * i64::from(agreed.ecn.is_on());
            return Some(bits);
        }
        "snd_wscale" => return Some(i64::from(agreed.shifts.peers)),
        "rcv_wscale" => return Some(i64::from(agreed.shifts.ours)),
        "snd_mss" => return Some(i64::from(connection.sender()?.config().smss)),
        "pmtu" => {
            let config = connection.config();
            let link = config.mss.saturating_add(config.path_mtu.headers);
            let mtu = connection.path_mtu().map_or(link, |known| known.mtu);
            return Some(i64::from(mtu));
        }
        _ => {}
    }
    of_sender(
        field,
        connection.sender()?,
        connection.written().saturating_add(line.hold.bytes()),
        now,
    )
}

fn state(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn of_sender(field: &str, sender: &Sender, written: u64, now: Instant) -> Option<i64> {
    let board = sender.scoreboard();
    let (rtt, stats) = (sender.rtt(), sender.stats());
    let tally = Tally::of(sender, now);
    match field {
        "ca_state" => Some(match sender.phase()? {
            Phase::Open => 0,
            Phase::Disorder => 1,
            Phase::Reducing => 2,
            Phase::Recovery => 3,
            Phase::Loss => 4,
            _ => return None,
        }),
        "snd_cwnd" => count(window_segments(sender, now)),
        "snd_ssthresh" => {
            let segments = sender.window().ssthresh / f64::from(sender.config().smss);
            Some(match segments.is_finite() {
                true => (segments as i64).min(INFINITE_SSTHRESH),
                false => INFINITE_SSTHRESH,
            })
        }
        "unacked" => count(tally.outstanding),
        "sacked" => count(board.sacked_segments()),
        "lost" => count(tally.lost),
        "retrans" => count(tally.retransmitted),
        "total_retrans" => count(stats.retransmissions),
        "backoff" => Some(i64::from(rtt.backoff())),
        "total_rto" => count(stats.timeouts),
        "reordering" => Some(i64::from(stats.reordering())),
        "reord_seen" => count(stats.reorderings),
        "rto" => micros(rtt.rto()),
        // Linux reports 0 before the first sample.
        "rtt" => micros(rtt.srtt().unwrap_or(Duration::ZERO)),
        "rttvar" => micros(rtt.rttvar()),
        "min_rtt" => micros(rtt.min().unwrap_or(Duration::ZERO)),
        "notsent_bytes" => count(written.saturating_sub(board.nxt())),
        // Linux also counts the SYN.
        "bytes_acked" => count(board.una() + 1),
        "data_segs_out" => count(stats.segments_sent),
        "snd_wnd" => count(sender.peer_edge().saturating_sub(board.una())),
        "delivered_ce" => count(sender.marks_reported()),
        "delivered_ce_bytes" => Some(i64::from(sender.bytes_reported(Codepoint::Ce))),
        "delivered_e0_bytes" => Some(i64::from(sender.bytes_reported(Codepoint::Ect0))),
        "delivered_e1_bytes" => Some(i64::from(sender.bytes_reported(Codepoint::Ect1))),
        _ => None,
    }
}

/// Returns Linux's congestion window in segments. In fast recovery, this is the data in flight plus the data that may
/// be sent, because Linux stores the result of PRR in the window.
pub(crate) fn window_segments(sender: &Sender, now: Instant) -> u64 {
    let smss = u64::from(sender.config().smss);
    let bytes = match sender.phase() {
        Some(Phase::Recovery | Phase::Reducing) => sender.in_flight(now) + sender.allowance(now),
        _ => sender.window().whole_bytes(),
    };
    bytes / smss
}

/// Numbers of outstanding segments, counted as Linux counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) outstanding: u64,
    /// Number of segments that are considered lost and not known to have arrived, including those that were
    /// retransmitted.
    pub(crate) lost: u64,
    /// Number of segments that were retransmitted and are not known to have arrived.
    pub(crate) retransmitted: u64,
}

impl Tally {
    pub(crate) fn of(sender: &Sender, now: Instant) -> Self {
        let board = sender.scoreboard();
        let outstanding = board.len() as u64;
        let smss = u64::from(sender.config().smss);
        let retransmitted = board
            .iter_from(board.first())
            .filter(|(_, s)| s.transmissions > 1 && s.reported == Reported::Missing)
            .count() as u64;
        let in_flight = sender.in_flight(now).div_ceil(smss);
        let waiting = outstanding
            .saturating_sub(board.sacked_segments())
            .saturating_sub(in_flight);
        // A tail loss probe retransmits a segment that is not considered lost.
        let repaired = match sender.phase() {
            Some(Phase::Recovery | Phase::Loss) => retransmitted,
            _ => 0,
        };
        Self {
            outstanding,
            lost: waiting + repaired,
            retransmitted,
        }
    }
}

fn count(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

fn micros(span: Duration) -> Option<i64> {
    count(span.as_nanos() / 1000)
}

fn millis(span: Duration) -> Option<i64> {
    count(span.as_nanos() / 1_000_000)
}
