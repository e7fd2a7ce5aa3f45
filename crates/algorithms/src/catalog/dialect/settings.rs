//! Table of the settings of a dialect with their sources, which helps to explain the result of a run.
//!
//! The values are read from the configuration itself, so the table always agrees with it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use dupack_tcp::connection::{
    AccurateOption, Config, EcnOffer, EctUse, LastDuplicate, OldStamp, OpeningErrors, ProbingRule,
    TooBigRule, UnsentAck, Unstamped,
};
use dupack_tcp::options::{MarkEcho, Sack};
use dupack_tcp::receiver::{AckPolicy, TimestampEcho};
use dupack_tcp::rtt::{BackoffReset, RttArithmetic, RttConfig, RttSampling, VarianceFloor};
use dupack_tcp::sender::{
    CreditRule, CutRule, DuplicateAckRule, IdleRule, SackMemory, TimestampValues, WrappedMarks,
};
use dupack_tcp::window::WindowRounding;
use dupack_tcp::{ReceiverConfig, SenderConfig};

use super::name::Dialect;
use super::{Headers, connect_as, receiver_config, sender_config};
use crate::catalog::needs::Needs;

/// Row of the table of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Name of the setting.
    pub name: &'static str,
    /// Value of the setting, with its unit.
    pub value: String,
    /// Source of the value.
    pub source: &'static str,
}

/// Returns everything that [`sender_config`], [`receiver_config`], [`connect_as`] and [`Headers`] set, with sources.
#[must_use]
pub fn settings(dialect: Dialect, smss: u32, needs: &Needs) -> Vec<Setting> {
    let sender = sender_config(dialect, smss, needs);
    let receiver = receiver_config(dialect, smss, needs, AckPolicy::Immediate);
    let mut table = Table {
        dialect,
        rows: Vec::new(),
    };
    table.window(&sender);
    table.timeout(&sender.rtt);
    table.round_trip_time(&sender.rtt);
    table.acks(&sender, &receiver, needs);
    let mut connection = Config::new(u16::MAX);
    connect_as(dialect, &mut connection);
    table.connection(&connection);
    table.connection_ecn(&connection);
    table.connection_accurate_ecn(&connection, &sender);
    table.connection_path(&connection);
    table.wire(&Headers::new(dialect, needs), &sender);
    table.rows
}

struct Table {
    dialect: Dialect,
    rows: Vec<Setting>,
}

impl Table {
    /// Adds a row; `sources` are those of `rfc`, `linux` and `ns2`.
    fn row(&mut self, name: &'static str, value: impl fmt::Display, sources: [&'static str; 3]) {
        let [rfc, linux, ns2] = sources;
        self.rows.push(Setting {
            name,
            value: value.to_string(),
            source: match self.dialect {
                Dialect::Rfc => rfc,
                Dialect::Linux => linux,
                Dialect::Ns2 => ns2,
            },
        });
    }

    fn window(&mut self, sender: &SenderConfig) {
        self.row(
            "initial window",
            bytes(sender.initial_window),
            [
                "RFC 6928 §2: min(10·MSS, max(2·MSS, 14600 B))",
                "TCP_INIT_CWND: 10 segments",
                "ns-default.tcl, windowInit_: 2 packets",
            ],
        );
        self.row(
            "initial ssthresh",
            bytes(sender.initial_ssthresh),
            [
                "RFC 5681 §3.1: arbitrarily high",
                "TCP_INFINITE_SSTHRESH",
                "tcp.cc, reset: window_, never reached",
            ],
        );
        self.row(
            "largest window",
            bytes(sender.max_window),
            ["set by the experiment"; 3],
        );
        self.row(
            "window after a loss",
            match sender.rounding {
                WindowRounding::Exact => "exact",
                WindowRounding::NsTwo => "ssthresh in whole segments, cwnd exact",
                WindowRounding::Segments => "whole segments",
            },
            [
                "RFC 5681 §3.1: in bytes",
                "tcp_sock.snd_cwnd counts segments",
                "tcp.cc, slowdown: ssthresh_ is an integer, cwnd_ is not",
            ],
        );
        self.row(
            "growth counts",
            match sender.credit {
                CreditRule::Acknowledged => "cumulatively acknowledged bytes",
                CreditRule::Delivered => "bytes that an advancing ACK is the first to report",
            },
            [
                "RFC 5681 §3.1: N",
                "tcp_cong_control: tcp_newly_delivered",
                "tcp.cc, opencwnd: ACKs",
            ],
        );
        self.row(
            "after an idle period",
            match sender.idle {
                IdleRule::Restart => "restart with the initial window",
                IdleRule::Keep => "no change",
            },
            [
                "RFC 5681 §4.1",
                "net.ipv4.tcp_slow_start_after_idle = 1",
                "ns-default.tcl, QOption_: off",
            ],
        );
    }

    fn timeout(&mut self, rtt: &RttConfig) {
        self.row(
            "first timeout",
            rtt.initial_rto,
            [
                "RFC 6298 §2.1",
                "TCP_TIMEOUT_INIT",
                "ns-default.tcl, rtxcur_init_",
            ],
        );
        self.row(
            "least timeout",
            rtt.min_rto,
            ["RFC 6298 §2.4", "TCP_RTO_MIN", "ns-default.tcl, minrto_"],
        );
        self.row(
            "greatest timeout",
            rtt.max_rto,
            [
                "RFC 6298 §2.5: at least 60 s",
                "TCP_RTO_MAX",
                "ns-default.tcl, maxrto_",
            ],
        );
    }

    fn round_trip_time(&mut self, rtt: &RttConfig) {
        self.row(
            "clock granularity",
            if rtt.granularity.is_zero() {
                "ideal".to_owned()
            } else {
                rtt.granularity.to_string()
            },
            [
                "RFC 6298 §4: none in particular, finer is better",
                "skb_mstamp: microseconds",
                "ns-default.tcl, tcpTick_",
            ],
        );
        self.row(
            "round-trip averages",
            match rtt.arithmetic {
                RttArithmetic::Exact => "exact",
                RttArithmetic::Ticks => "integers in parts of a tick; samples count clock edges",
            },
            [
                "RFC 6298 §2",
                "tcp_rtt_estimator: microseconds",
                "tcp.cc, rtt_update",
            ],
        );
        self.row(
            "variance term",
            match rtt.variance_floor {
                VarianceFloor::Granularity => "at least the granularity",
                VarianceFloor::MinRto => "at least the least timeout",
            },
            [
                "RFC 6298 §2.3",
                "tcp_rtt_estimator, tcp_rto_min",
                "tcp.cc, rtt_update",
            ],
        );
        self.row(
            "timed segments",
            match rtt.sampling {
                RttSampling::EverySegment => "every segment sent once",
                RttSampling::OnePerWindow => "one new segment at a time",
            },
            [
                "RFC 7323 §4.1",
                "tcp_ack_update_rtt",
                "tcp.cc, output: rtt_active_",
            ],
        );
        self.row(
            "backoff ends",
            match rtt.backoff_reset {
                BackoffReset::OnSample => "with the next round-trip sample",
                BackoffReset::OnAdvance => "when the cumulative ACK advances",
            },
            [
                "RFC 6298 §5.7, Karn",
                "tcp_ack: icsk_backoff = 0",
                "tcp.cc, newack",
            ],
        );
    }

    fn acks(&mut self, sender: &SenderConfig, receiver: &ReceiverConfig, needs: &Needs) {
        self.row(
            "duplicate ACK",
            match (sender.duplicate_ack, sender.sack) {
                (DuplicateAckRule::AckNumberOnly, _) => "same ACK number",
                (DuplicateAckRule::Standard, Sack::Permitted) => "new SACK information",
                (DuplicateAckRule::Standard, Sack::Absent) => "same ACK number and window",
            },
            [
                "RFC 5681 §2, RFC 6675 §2",
                "tcp_ack, FLAG_DATA_SACKED",
                "tcp.cc, recv; tcp-sack1.cc, recv",
            ],
        );
        let asked = ["if the stack asks for it"; 3];
        self.row("SACK", on(sender.sack.is_on()), asked);
        self.row(
            "SACKs after a timeout",
            match sender.sacks_after_timeout {
                SackMemory::Keep => "remembered",
                SackMemory::Forget => "forgotten",
            },
            [
                "RFC 6675 §5.1",
                "tcp_enter_loss",
                "tcp-sack1.cc and tcp-fack.cc, timeout",
            ],
        );
        self.row(
            "DSACK",
            on(receiver.dsack.is_on()),
            [asked[0], "net.ipv4.tcp_dsack = 1, with SACK", asked[2]],
        );
        self.row("order echo", on(sender.order_echo.is_on()), asked);
        self.row(
            "ECE",
            match receiver.mark_echo {
                MarkEcho::UntilCwr => "until CWR",
                MarkEcho::WhileMarked => "while data arrives marked",
            },
            asked,
        );
        let timestamps = match sender.timestamps {
            None => "off".to_owned(),
            Some(clock) => {
                let unique = match clock.values {
                    TimestampValues::Clock => "",
                    TimestampValues::Unique => ", no value twice",
                };
                let echo = match receiver.timestamps {
                    Some(TimestampEcho::Trigger) => ", each ACK echoes its cause",
                    _ => "",
                };
                format!("tick {}{unique}{echo}", clock.tick)
            }
        };
        let source = if needs.trigger_timestamps {
            ["the stack asks for it (LE §2.2.1)"; 3]
        } else {
            [
                "RFC 7323 §3.2, §5.4",
                "net.ipv4.tcp_timestamps = 1, TCP_TS_HZ",
                "ns-default.tcl, timestamps_: off",
            ]
        };
        self.row("timestamps", timestamps, source);
    }

    fn connection(&mut self, connection: &Config) {
        self.row(
            "connection: ACKs in order",
            match connection.ack_policy {
                AckPolicy::Immediate => "every segment".to_owned(),
                AckPolicy::Delayed(most) => format!("every second segment, or after {most}"),
                AckPolicy::Adaptive(acks) => format!(
                    "the first {} segments one by one, then every second segment, or after {} to {}",
                    acks.quick, acks.delay_min, acks.delay_max
                ),
            },
            [
                "RFC 1122 §4.2.3.2, RFC 5681 §4.2",
                "TCP_MAX_QUICKACKS, TCP_ATO_MIN, TCP_DELACK_MAX",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: ACKs beyond a gap",
            match connection.sack_compression {
                None => "every segment".to_owned(),
                Some(compression) => format!(
                    "three, then one for up to {} segments, within {}",
                    compression.held_max, compression.delay
                ),
            },
            [
                "RFC 5681 §4.2",
                "net.ipv4.tcp_comp_sack_nr, tcp_comp_sack_delay_ns",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: ACK of unsent data",
            match connection.unsent_ack {
                UnsentAck::Ignored => "ignored",
                _ => "answered",
            },
            [
                "RFC 9293 §3.10.7.4, RFC 5961 §5",
                "tcp_ack, TCP_ACK_UNSENT_DATA",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: reordered ACK with an old timestamp",
            match connection.old_stamp {
                OldStamp::AcksPass => "accepted, or ignored if data arrived since",
                _ => "answered, like any old segment",
            },
            [
                "RFC 7323 §5.3",
                "tcp_disordered_ack_check",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: segment without the negotiated timestamps",
            match connection.unstamped {
                Unstamped::Taken => "accepted",
                _ => "dropped",
            },
            [
                "RFC 7323 §3.2",
                "tcp_validate_incoming",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: duplicate data with the FIN",
            match connection.last_duplicate {
                LastDuplicate::Forgotten => "not reported",
                _ => "reported",
            },
            [
                "RFC 2883 §4",
                "tcp_fin, tcp_sack_reset",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: SYNs at equal intervals before backoff",
            connection.even_syns,
            [
                "RFC 6298 §5.5: none",
                "net.ipv4.tcp_syn_linear_timeouts",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
    }

    fn connection_ecn(&mut self, connection: &Config) {
        self.row(
            "connection: ECN",
            match connection.offer.ecn {
                EcnOffer::Off => "off",
                EcnOffer::Accepted => "if the peer offers it",
                EcnOffer::Offered => "offered",
                EcnOffer::AccurateAccepted => "accurate or classic, if the peer offers it",
                EcnOffer::AccurateOrClassicOffered => "offered, accurate if the peer offers that",
                _ => "accurate, offered",
            },
            [
                "RFC 3168 §6.1.1; RFC 9293 §3.8.2, SHLD-8",
                "net.ipv4.tcp_ecn = 2",
                "ns-default.tcl, ecn_: off",
            ],
        );
    }

    fn connection_accurate_ecn(&mut self, connection: &Config, sender: &SenderConfig) {
        self.row(
            "connection: ECN-capable with Accurate ECN",
            match connection.ect {
                EctUse::NewData => "new data",
                EctUse::Everything => "all but SYN and RST",
            },
            [
                "RFC 3168 §6.1.4 to §6.1.6",
                "tcp_ecn_send",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: AccECN option",
            match connection.accurate_option {
                AccurateOption::Off => "off",
                AccurateOption::Changed => "when a counter has changed",
                AccurateOption::Always => "if the peer sends it",
            },
            [
                "RFC 9768 §3.2.3.3",
                "net.ipv4.tcp_ecn_option = 2",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
        self.row(
            "connection: mark counters that may have wrapped",
            match sender.wrapped_marks {
                WrappedMarks::ByUsualAck => {
                    "have wrapped, unless ACKs report more than four packets each"
                }
                _ => "have wrapped",
            },
            [
                "RFC 9768 §3.2.2.5.2",
                "tcp_sock.pkts_acked_ewma, ACK_COMP_THRESH",
                "as `rfc`: ns-2 has no such connections",
            ],
        );
    }

    fn connection_path(&mut self, connection: &Config) {
        let none = "ns-2 has no ICMP";
        let path = &connection.path_mtu;
        self.row(
            "connection: Packet Too Big",
            match path.too_big {
                TooBigRule::Never => "ignored".to_owned(),
                TooBigRule::AtOnce => format!(
                    "accepted from {} B on, for {}",
                    path.least_believed, path.lifetime
                ),
                _ => format!(
                    "accepted from {} B on, for {}; after a timeout if packets of that size were acknowledged",
                    path.least_believed, path.lifetime
                ),
            },
            [
                "RFC 1191 §6.3, RFC 5927 §7.2",
                "tcp_v4_mtu_reduced; net.ipv4.route.min_pmtu, mtu_expires",
                none,
            ],
        );
        self.row(
            "connection: segments that were too big",
            match path.cut {
                CutRule::Window => "retransmitted within the window, as many segments as before",
                _ => "retransmitted in slow start up to the previous window",
            },
            ["RFC 8201 §5.4", "tcp_simple_retransmit", none],
        );
        self.row(
            "connection: probes of the MTU",
            match path.probing {
                ProbingRule::Off => "off".to_owned(),
                ProbingRule::BlackHole => format!(
                    "after {} timeouts in a row, from {} B on",
                    path.black_hole_timeouts, path.base
                ),
                _ => format!("from {} B on", path.base),
            },
            ["RFC 4821 §7.2, §7.7", "net.ipv4.tcp_mtu_probing = 0", none],
        );
        self.row(
            "connection: unreachable error on the SYN",
            match connection.opening_errors {
                OpeningErrors::All => "any such error ends the attempt",
                _ => "a hard error ends the attempt",
            },
            ["RFC 9293 §3.9.2.2", "tcp_v4_err", none],
        );
    }

    fn wire(&mut self, headers: &Headers, sender: &SenderConfig) {
        let sources = [
            "RFC 791, RFC 9293, options padded to whole words",
            "RFC 791, RFC 9293, options padded to whole words",
            "ns-default.tcl, tcpip_base_hdr_size_",
        ];
        self.row("header of data", format_args!("{}B", headers.data), sources);
        self.row(
            "header of ACK",
            format_args!("{}B", headers.ack(0)),
            sources,
        );
        if sender.sack.is_on() {
            self.row(
                "SACK option",
                format_args!(
                    "{}B for 1 block, {}B for 3",
                    headers.ack(1) - headers.ack(0),
                    headers.ack(3) - headers.ack(0)
                ),
                ["RFC 2018 §3", "RFC 2018 §3", "tcp-sink.cc: 8 B per block"],
            );
        }
    }
}

fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn bytes(bytes: f64) -> String {
    if bytes.is_finite() {
        format!("{bytes}B")
    } else {
        "unlimited".to_owned()
    }
}
