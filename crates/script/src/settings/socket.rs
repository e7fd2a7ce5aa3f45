//! Socket options.

use dupack_tcp::connection::{Config, KeepAlive};
use dupack_tcp::time::Duration;

use super::known_control;
use crate::hold::{Cork, Delay};

/// Socket options that make no difference here, each with the reason.
pub(crate) const HARMLESS: &[(&str, &str)] = &[
    ("SO_REUSEADDR", "no address is ever in use"),
    ("SO_REUSEPORT", "no port is ever in use"),
    ("SO_MARK", "packets carry no mark"),
    ("SO_PRIORITY", "packets have no priority"),
    ("SO_BINDTODEVICE", "there are no devices"),
    ("IP_MTU_DISCOVER", "the path's MTU is always discovered"),
    ("IPV6_MTU_DISCOVER", "the path's MTU is always discovered"),
    ("IP_TOS", "the field is not looked at"),
    ("IPV6_TCLASS", "the field is not looked at"),
    ("IP_FREEBIND", "no address is ever refused"),
    ("IP_TRANSPARENT", "no address is ever refused"),
    (
        "TCP_INQ",
        "recvmsg is always compared with the expected value",
    ),
];

/// Returns `true` if an option makes no difference.
pub(crate) fn is_harmless(name: &str) -> bool {
    HARMLESS.iter().any(|(harmless, _)| *harmless == name)
}

/// Options, and the ranges of numbers that Linux accepts for them. Linux answers other numbers with EINVAL
/// (`do_tcp_setsockopt`; `MAX_TCP_SYNCNT` and others in `include/net/tcp.h`).
const RANGES: [(&str, std::ops::RangeInclusive<i64>); 7] = [
    // The range is from `TCP_MIN_MSS` to `MAX_TCP_WINDOW`; 0 resets the option.
    ("TCP_MAXSEG", 88..=32_767),
    ("TCP_SYNCNT", 1..=127),
    ("TCP_KEEPIDLE", 1..=32_767),
    ("TCP_KEEPINTVL", 1..=32_767),
    ("TCP_KEEPCNT", 1..=127),
    ("TCP_USER_TIMEOUT", 0..=2_147_483_647),
    ("TCP_INQ", 0..=1),
];

/// Returns `true` if Linux rejects this number for an option.
pub(crate) fn is_out_of_range(name: &str, value: i64) -> bool {
    let range = RANGES.iter().find(|(option, _)| *option == name);
    let taken_back = (name, value) == ("TCP_MAXSEG", 0);
    range.is_some_and(|(_, range)| !range.contains(&value)) && !taken_back
}

/// Returns the default user timeout of a connection. It does not depend on the segment size.
pub(crate) fn system_user_timeout() -> Duration {
    const ANY_MSS: u16 = 536;
    Config::new(ANY_MSS).user_timeout
}

/// Returns the timeout that `TCP_USER_TIMEOUT` sets; 0 resets it to the system's timeout (tcp(7)).
pub(crate) fn user_timeout(millis: u64) -> Option<Duration> {
    (millis > 0).then(|| Duration::from_millis(millis))
}

/// Congestion controls that a kernel may have: current and former ones of Linux, and versions that are built
/// separately.
const LINUX_CONTROLS: [&str; 21] = [
    "bbr",
    "bbr2",
    "bbr3",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "prague",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Returns `true` if neither a kernel nor this crate has a congestion control of this name. Linux then answers ENOENT
/// (`tcp_set_congestion_control`).
pub(crate) fn is_no_control(name: &str) -> bool {
    !LINUX_CONTROLS.contains(&name) && known_control(name).is_err()
}

/// Settings of a socket. The connections of a listener inherit them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SocketSettings {
    pub(super) mss: Option<u16>,
    pub(super) syn_retries: Option<u32>,
    pub(super) receive_buffer: Option<u32>,
    /// Value of `SO_SNDBUF`.
    pub(crate) send_buffer: Option<u32>,
    /// Value of `TCP_NOTSENT_LOWAT`.
    pub(crate) unsent: Option<u32>,
    pub(super) user_timeout: Option<Duration>,
    pub(super) control: Option<String>,
    keep_alive: bool,
    keep_idle: Option<Duration>,
    keep_interval: Option<Duration>,
    keep_probes: Option<u32>,
    /// `true` if closing sends a RST.
    pub(crate) abort_at_close: bool,
    delay: Delay,
    cork: Cork,
}

/// State of a socket: with or without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connected {
    Yes,
    No,
}

impl SocketSettings {
    pub(super) fn keep_alive(&self) -> Option<KeepAlive> {
        let standard = KeepAlive::STANDARD;
        self.keep_alive.then(|| KeepAlive {
            idle: self.keep_idle.unwrap_or(standard.idle),
            interval: self.keep_interval.unwrap_or(standard.interval),
            probes: self.keep_probes.unwrap_or(standard.probes),
        })
    }

    /// Sets `TCP_NODELAY` or `TCP_CORK`.
    pub(crate) fn set_hold(&mut self, name: &str, on: bool) {
        match (name, on) {
            ("TCP_NODELAY", true) => self.delay = Delay::Off,
            ("TCP_NODELAY", false) => self.delay = Delay::Nagle,
            (_, true) => self.cork = Cork::In,
            (_, false) => self.cork = Cork::Out,
        }
    }

    /// Returns the settings that hold small segments back.
    pub(crate) const fn hold(&self) -> (Delay, Cork) {
        (self.delay, self.cork)
    }

    /// Returns the requested segment size.
    pub(crate) const fn mss(&self) -> Option<u16> {
        self.mss
    }

    /// Sets an option to a number. Returns an error that names the option if it is unsupported.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: i64,
        connected: Connected,
    ) -> Result<(), String> {
        let unsigned = u32::try_from(value).map_err(|_| format!("the socket option {name}"))?;
        let seconds = Duration::from_secs(u64::from(unsigned));
        match name {
            "TCP_MAXSEG" => self.mss = u16::try_from(value).ok().filter(|&mss| mss > 0),
            "TCP_SYNCNT" => self.syn_retries = Some(unsigned),
            // Linux doubles the requested size and uses half of the result for the window.
            "SO_RCVBUF" => self.receive_buffer = Some(unsigned),
            "SO_SNDBUF" => self.send_buffer = Some(unsigned),
            "TCP_NOTSENT_LOWAT" => self.unsent = Some(unsigned),
            "TCP_USER_TIMEOUT" => {
                self.user_timeout = user_timeout(u64::from(unsigned));
            }
            "SO_KEEPALIVE" => self.keep_alive = value != 0,
            "TCP_KEEPIDLE" => self.keep_idle = Some(seconds),
            "TCP_KEEPINTVL" => self.keep_interval = Some(seconds),
            "TCP_KEEPCNT" => self.keep_probes = Some(unsigned),
            _ => return Err(format!("the socket option {name}")),
        }
        match connected {
            Connected::No => Ok(()),
            Connected::Yes => Err(format!(
                "the socket option {name} on an existing connection"
            )),
        }
    }

    /// Sets an option to a text.
    pub(crate) fn set_text(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name != "TCP_CONGESTION" {
            return Err(format!("the socket option {name}"));
        }
        known_control(value)?;
        self.control = Some(value.to_owned());
        Ok(())
    }
}
