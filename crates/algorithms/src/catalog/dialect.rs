//! Dialects: the behaviour of an endpoint apart from its stack, as in the RFCs, in Linux and in ns-2.
//!
//! [`sender_config`] and [`receiver_config`] return the parameters of an endpoint, [`Headers`] the number of bytes that
//! a packet has on the wire in addition to its payload, and [`settings`] all of these as a table with sources, which
//! helps to explain the result of a run. The parameters of the algorithms have their own defaults by dialect
//! ([`Defaults`](super::Defaults)).
//!
//! [`connect_as`] sets the behaviour of a connection, on the wire or in a script, apart from its sender.
//!
//! A dialect does not set properties of the experiment: buffers, delayed ACKs, and an upper limit of the window. ns-2's
//! initial `ssthresh` is its `window_`, which the experiments set to a value that is never reached.

mod name;
mod settings;

use dupack_tcp::connection::{
    AccurateOption, Config, EcnOffer, EctUse, LastDuplicate, OldStamp, OpeningErrors, ProbingRule,
    TooBigRule, UnsentAck, Unstamped,
};
use dupack_tcp::options::{Dsack, MarkEcho, OrderEcho, Sack};
use dupack_tcp::receiver::{AckPolicy, AdaptiveAcks, Reading, SackCompression, TimestampEcho};
use dupack_tcp::rtt::{BackoffReset, RttArithmetic, RttConfig, RttSampling, VarianceFloor};
use dupack_tcp::sender::{
    CreditRule, CutRule, DuplicateAckRule, IdleRule, SackMemory, TimestampClock, TimestampValues,
    WrappedMarks,
};
use dupack_tcp::time::Duration;
use dupack_tcp::window::WindowRounding;
use dupack_tcp::{ReceiverConfig, SenderConfig};

use super::needs::Needs;

pub use name::{Dialect, UnknownDialect};
pub use settings::{Setting, settings};

/// Maximum receive window that a TCP header can carry (RFC 7323 §2.3), in bytes. An endpoint uses this window if the
/// experiment sets no buffer.
pub const WIDE_OPEN: u32 = 65_535 << 14;

/// Timeout that corresponds to `net.ipv4.tcp_retries1` = 3 (`tcp_model_timeout`): 15 times TCP_RTO_MIN.
const LINUX_RETRIES1: Duration = Duration::from_millis(15 * 200);

/// Value of net.ipv4.tcp_syn_linear_timeouts.
const LINUX_EVEN_SYNS: u32 = 4;

/// Value of net.ipv4.tcp_base_mss, in bytes.
const LINUX_BASE_MSS: u16 = 1024;

/// RFC 6928's limit of the initial window of ten segments, in bytes.
const INITIAL_WINDOW_BYTES: f64 = 14_600.0;

/// Returns the parameters of a sender in `dialect`, with segments of `smss` bytes, for a stack with these `needs`.
#[must_use]
pub fn sender_config(dialect: Dialect, smss: u32, needs: &Needs) -> SenderConfig {
    let segment = f64::from(smss);
    let mut config = SenderConfig::new(smss);
    config.initial_window = match dialect {
        Dialect::Rfc => (10.0 * segment).min(INITIAL_WINDOW_BYTES.max(2.0 * segment)),
        Dialect::Linux => 10.0 * segment,
        Dialect::Ns2 => 2.0 * segment,
    };
    config.rounding = match dialect {
        Dialect::Rfc => WindowRounding::Exact,
        Dialect::Linux => WindowRounding::Segments,
        Dialect::Ns2 => WindowRounding::NsTwo,
    };
    config.rtt = rtt_config(dialect);
    config.timestamps = timestamp_clock(dialect, needs);
    config.sack = Sack::when(needs.sack || needs.dsack);
    config.sacks_after_timeout = match dialect {
        Dialect::Rfc | Dialect::Linux => SackMemory::Keep,
        Dialect::Ns2 => SackMemory::Forget,
    };
    config.wrapped_marks = match dialect {
        Dialect::Rfc | Dialect::Ns2 => WrappedMarks::Safest,
        Dialect::Linux => WrappedMarks::ByUsualAck,
    };
    config.order_echo = OrderEcho::when(needs.order_echo);
    config.duplicate_ack = match dialect {
        // With SACK, ns-2 counts as in RFC 6675: a duplicate ACK carries new SACK information.
        Dialect::Ns2 if !(needs.sack || needs.dsack) => DuplicateAckRule::AckNumberOnly,
        _ => DuplicateAckRule::Standard,
    };
    config.credit = match dialect {
        Dialect::Rfc | Dialect::Ns2 => CreditRule::Acknowledged,
        Dialect::Linux => CreditRule::Delivered,
    };
    config.idle = match dialect {
        Dialect::Rfc | Dialect::Linux => IdleRule::Restart,
        Dialect::Ns2 => IdleRule::Keep,
    };
    config.peer_window = WIDE_OPEN;
    config
}

/// Returns the parameters of round-trip time estimation and the retransmission timeout: those of RFC 6298, except where
/// set here.
fn rtt_config(dialect: Dialect) -> RttConfig {
    let mut config = RttConfig::default();
    match dialect {
        // The defaults are those of RFC 6298.
        Dialect::Rfc => {}
        Dialect::Linux => {
            config.min_rto = Duration::from_millis(200);
            config.max_rto = Duration::from_secs(120);
            config.granularity = Duration::from_micros(1);
            config.variance_floor = VarianceFloor::MinRto;
            config.backoff_reset = BackoffReset::OnAdvance;
        }
        Dialect::Ns2 => {
            config.initial_rto = Duration::from_secs(3);
            config.min_rto = Duration::from_millis(200);
            config.granularity = Duration::from_millis(10);
            config.arithmetic = RttArithmetic::Ticks;
            config.sampling = RttSampling::OnePerWindow;
        }
    }
    config
}

fn timestamp_clock(dialect: Dialect, needs: &Needs) -> Option<TimestampClock> {
    if needs.trigger_timestamps {
        return Some(TimestampClock {
            tick: Duration::from_micros(1),
            values: TimestampValues::Unique,
        });
    }
    match dialect {
        Dialect::Rfc | Dialect::Linux => Some(TimestampClock {
            tick: Duration::from_millis(1),
            values: TimestampValues::Clock,
        }),
        Dialect::Ns2 => None,
    }
}

/// Returns the parameters of the receiver that corresponds to [`sender_config`].
#[must_use]
pub fn receiver_config(
    dialect: Dialect,
    smss: u32,
    needs: &Needs,
    ack_policy: AckPolicy,
) -> ReceiverConfig {
    let sender = sender_config(dialect, smss, needs);
    let mut config = ReceiverConfig::new(smss);
    config.irs = sender.isn;
    config.buffer = sender.peer_window;
    config.ack_policy = ack_policy;
    config.sack = sender.sack;
    config.dsack = match dialect {
        Dialect::Linux => Dsack::when(sender.sack.is_on()),
        Dialect::Rfc | Dialect::Ns2 => Dsack::when(needs.dsack),
    };
    config.timestamps = sender.timestamps.map(|_| {
        if needs.trigger_timestamps {
            TimestampEcho::Trigger
        } else {
            TimestampEcho::Standard
        }
    });
    config.order_echo = sender.order_echo;
    config.mark_echo = mark_echo(needs);
    config.application = Reading::AtOnce;
    config
}

/// Returns the method by which a receiver with classic ECN reports marks to a sender with these `needs`.
pub(super) const fn mark_echo(needs: &Needs) -> MarkEcho {
    match needs.exact_echo {
        true => MarkEcho::WhileMarked,
        false => MarkEcho::UntilCwr,
    }
}

/// Sets the behaviour of a connection in `dialect` apart from its sender: the times of its ACKs, its replies to
/// unacceptable segments, its use of ECN, and its path MTU discovery. The experiment sets the ACK delay of a simulated
/// receiver, and uses these settings only if it needs them.
pub const fn connect_as(dialect: Dialect, config: &mut Config) {
    match dialect {
        Dialect::Linux => {
            config.ack_policy = AckPolicy::Adaptive(AdaptiveAcks::LINUX);
            config.sack_compression = Some(SackCompression::LINUX);
            config.unsent_ack = UnsentAck::Ignored;
            config.old_stamp = OldStamp::AcksPass;
            config.unstamped = Unstamped::Taken;
            config.last_duplicate = LastDuplicate::Forgotten;
            config.even_syns = LINUX_EVEN_SYNS;
            config.ect = EctUse::Everything;
            config.accurate_option = AccurateOption::Always;
            config.opening_errors = OpeningErrors::All;
        }
        Dialect::Rfc | Dialect::Ns2 => {
            config.ack_policy = AckPolicy::Delayed(Duration::from_millis(40));
            config.sack_compression = None;
            config.unsent_ack = UnsentAck::Answered;
            config.old_stamp = OldStamp::Answered;
            config.unstamped = Unstamped::Dropped;
            config.last_duplicate = LastDuplicate::Reported;
            config.even_syns = 0;
            config.ect = EctUse::NewData;
            config.accurate_option = AccurateOption::Changed;
            config.opening_errors = OpeningErrors::Hard;
        }
    }
    let path = &mut config.path_mtu;
    match dialect {
        Dialect::Rfc => {
            path.too_big = TooBigRule::Guarded;
            path.cut = CutRule::SlowStart;
            path.probing = ProbingRule::BlackHole;
        }
        Dialect::Linux => {
            path.too_big = TooBigRule::AtOnce;
            path.cut = CutRule::Window;
            path.probing = ProbingRule::Off;
            path.base = LINUX_BASE_MSS + path.headers;
            path.black_hole_timeouts = 1;
            path.black_hole_after = LINUX_RETRIES1;
        }
        Dialect::Ns2 => {
            path.too_big = TooBigRule::Never;
            path.probing = ProbingRule::Off;
        }
    }
    config.offer.ecn = match dialect {
        Dialect::Rfc | Dialect::Linux => EcnOffer::Accepted,
        Dialect::Ns2 => EcnOffer::Off,
    };
}

/// Number of bytes of a packet on the wire apart from its payload: IPv4 and TCP headers with their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Header size of a data segment.
    pub data: u32,
    /// Header size of an ACK without SACK blocks.
    ack: u32,
    /// Rule for the size of a SACK option.
    sack: SackOption,
}

/// Size of a SACK option in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SackOption {
    /// 2 bytes, and 8 per block, padded to whole words (RFC 2018 §3, RFC 9293 §3.1).
    Padded,
    /// 8 bytes per block (ns-2).
    BlocksOnly,
}

impl Headers {
    /// Size of the IPv4 and TCP headers without options.
    const PLAIN: u32 = 40;
    /// Size of the timestamps option (RFC 7323 §3.2), padded.
    const TIMESTAMPS: u32 = 12;
    /// Size of the option for the order of transmissions, 2 + 4 bytes (LE §4.2), padded.
    const ORDER: u32 = 8;

    /// Returns the headers of a connection in `dialect`, for a stack with these `needs`.
    ///
    /// In ns-2, a header has the size that the script sets, and options do not add to it.
    #[must_use]
    pub fn new(dialect: Dialect, needs: &Needs) -> Self {
        if dialect == Dialect::Ns2 {
            return Self {
                data: Self::PLAIN,
                ack: Self::PLAIN,
                sack: SackOption::BlocksOnly,
            };
        }
        let mut bytes = Self::PLAIN;
        if timestamp_clock(dialect, needs).is_some() {
            bytes += Self::TIMESTAMPS;
        }
        if needs.order_echo {
            bytes += Self::ORDER;
        }
        Self {
            data: bytes,
            ack: bytes,
            sack: SackOption::Padded,
        }
    }

    /// Returns the size of an ACK with this number of SACK blocks.
    #[must_use]
    pub const fn ack(&self, sack_blocks: u32) -> u32 {
        match self.sack {
            _ if sack_blocks == 0 => self.ack,
            SackOption::Padded => self.ack + (2 + 8 * sack_blocks).next_multiple_of(4),
            SackOption::BlocksOnly => self.ack + 8 * sack_blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LE: Needs = Needs {
        trigger_timestamps: true,
        ..Needs::SACK
    };

    #[test]
    fn initial_windows() {
        let initial = |dialect, smss| sender_config(dialect, smss, &Needs::NONE).initial_window;
        // RFC 6928: 10 segments up to 14,600 B, but at least two.
        assert_eq!(initial(Dialect::Rfc, 1000), 10_000.0);
        assert_eq!(initial(Dialect::Rfc, 1460), 14_600.0);
        assert_eq!(initial(Dialect::Rfc, 2000), 14_600.0);
        assert_eq!(initial(Dialect::Rfc, 8960), 17_920.0);
        assert_eq!(initial(Dialect::Linux, 8960), 89_600.0);
        assert_eq!(initial(Dialect::Ns2, 1000), 2000.0);
    }

    #[test]
    fn headers_in_bytes() {
        // 40 + 12, and 2 + 8 per block, padded: 12, 20, 28. Three blocks fill the header.
        let rfc = Headers::new(Dialect::Rfc, &Needs::SACK);
        assert_eq!((rfc.data, rfc.ack(0)), (52, 52));
        assert_eq!([1, 2, 3].map(|n| rfc.ack(n)), [64, 72, 80]);
        let ns2 = Headers::new(Dialect::Ns2, &LE);
        assert_eq!((ns2.data, ns2.ack(0), ns2.ack(3)), (40, 40, 64));
        let order = Needs {
            order_echo: true,
            ..Needs::NONE
        };
        assert_eq!(Headers::new(Dialect::Linux, &order).data, 60);
    }

    #[test]
    fn a_stack_gets_the_options_that_it_asks_for() {
        for dialect in Dialect::ALL {
            let none = sender_config(dialect, 1000, &Needs::NONE);
            assert_eq!(none.sack, Sack::Absent);
            let receiver = receiver_config(dialect, 1000, &Needs::NONE, AckPolicy::Immediate);
            assert_eq!(
                (receiver.sack, receiver.dsack),
                (Sack::Absent, Dsack::Absent)
            );
            assert_eq!(receiver.timestamps.is_some(), none.timestamps.is_some());

            let le = sender_config(dialect, 1000, &LE);
            assert_eq!(le.sack, Sack::Permitted);
            assert_eq!(
                le.timestamps.map(|c| c.values),
                Some(TimestampValues::Unique)
            );
            let receiver = receiver_config(dialect, 1000, &LE, AckPolicy::Immediate);
            assert_eq!(receiver.timestamps, Some(TimestampEcho::Trigger));
        }
    }

    #[test]
    fn every_setting_has_a_value_and_a_source() {
        for dialect in Dialect::ALL {
            for needs in [Needs::NONE, LE] {
                let settings = settings(dialect, 1000, &needs);
                assert!(settings.len() >= 20);
                for setting in settings {
                    assert!(!setting.value.is_empty() && !setting.source.is_empty());
                }
            }
        }
    }

    #[test]
    fn dialects_by_name() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        let error = "ns-2".parse::<Dialect>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no dialect is called `ns-2`; did you mean `ns2`? There are `rfc`, `linux`, `ns2`"
        );
    }
}
