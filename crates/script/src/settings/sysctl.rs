//! Linux's sysctls.

use dupack_tcp::connection::{AccurateOption, EcnOffer, ProbingRule};
use dupack_tcp::time::Duration;

use super::{Settings, shell};

/// Sysctls that make no difference here, each with the reason.
pub(crate) const HARMLESS: &[(&str, &str)] = &[
    (
        "tcp_wmem",
        "the send buffer has no limit unless the script sets one (`SO_SNDBUF`)",
    ),
    ("tcp_fack", "removed from Linux"),
    ("tcp_tso_win_divisor", "single segments leave, not bursts"),
    ("tcp_tso_rtt_log", "single segments leave, not bursts"),
    ("tcp_limit_output_bytes", "nothing queues in the host"),
    (
        "tcp_fastopen",
        "a script that uses Fast Open is skipped for that",
    ),
    (
        "tcp_fastopen_key",
        "a script that uses Fast Open is skipped for that",
    ),
    (
        "tcp_fastopen_blackhole_timeout_sec",
        "a script that uses Fast Open is skipped for that",
    ),
    (
        "tcp_fastopen_cookies",
        "a script that uses Fast Open is skipped for that",
    ),
    ("tcp_syncookies", "the queue of a listener never overflows"),
    ("tcp_no_metrics_save", "connections share no cached metrics"),
    (
        "tcp_ecn_option_beacon",
        "the option is sent whenever it is needed and fits",
    ),
    (
        "tcp_moderate_rcvbuf",
        "the receive buffer has its largest size from the start",
    ),
    ("tcp_autocorking", "written data is sent at once"),
    ("tcp_shrink_window", "the receive buffer never shrinks"),
    (
        "tcp_invalid_ratelimit",
        "suspect segments are answered as RFC 5961 has it",
    ),
    (
        "tcp_challenge_ack_limit",
        "suspect segments are answered as RFC 5961 has it",
    ),
    ("ip_local_port_range", "there are no ports"),
];

impl Settings {
    /// Applies the arguments of `sysctl`.
    pub(super) fn take_sysctls(&mut self, words: &[&str]) -> Result<(), String> {
        for word in words {
            if word.starts_with('-') {
                continue;
            }
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| format!("the value of the sysctl `{word}`"))?;
            self.take_sysctl(&name.replace('/', "."), value)?;
        }
        Ok(())
    }

    pub(super) fn take_sysctl(&mut self, name: &str, value: &str) -> Result<(), String> {
        let beyond = || Err(format!("the sysctl `{name}={value}`"));
        let key = name.strip_prefix("net.ipv4.").unwrap_or(name);
        if key == "tcp_congestion_control" {
            return self.take_control(value);
        }
        if HARMLESS.iter().any(|(harmless, _)| *harmless == key) {
            return Ok(());
        }
        let Some(numbers) = shell::numbers(value) else {
            return beyond();
        };
        match (key, &numbers[..]) {
            ("tcp_timestamps", [on]) => self.timestamps = *on != 0,
            ("tcp_sack", [on]) => self.sack = *on != 0,
            ("tcp_dsack", [on]) => self.dsack = *on != 0,
            ("tcp_window_scaling", [on]) => self.window_scaling = *on != 0,
            ("tcp_comp_sack_nr", [most]) => self.compression.nr = Some(*most),
            ("tcp_comp_sack_delay_ns", [nanos]) => self.compression.delay_ns = Some(*nanos),
            ("tcp_comp_sack_slack_ns", [nanos]) => self.compression.slack_ns = Some(*nanos),
            ("tcp_comp_sack_rtt_percent", [share]) => self.compression.rtt_percent = Some(*share),
            ("tcp_syn_linear_timeouts", [times]) => self.even_syns = Some(retries(*times)),
            ("tcp_notsent_lowat", [bytes]) => {
                self.unsent = u32::try_from(*bytes).ok().filter(|&most| most < u32::MAX);
            }
            ("tcp_slow_start_after_idle", [on]) => self.restart_after_idle = *on != 0,
            ("tcp_frto", [on]) => self.frto = *on != 0,
            ("tcp_pacing_ss_ratio", [percent]) => self.pacing.slow_start = *percent,
            ("tcp_pacing_ca_ratio", [percent]) => self.pacing.avoidance = *percent,
            ("tcp_min_tso_segs", [segments]) => self.pacing.burst = *segments,
            ("tcp_early_retrans", [level]) => self.tail_loss_probe = *level >= 3,
            ("tcp_syn_retries", [times]) => self.syn_retries = retries(*times),
            ("tcp_synack_retries", [times]) => self.syn_ack_retries = retries(*times),
            ("tcp_rmem", [_, _, most]) => {
                self.receive_buffer = u32::try_from(*most).unwrap_or(u32::MAX);
            }
            // The stack always behaves in this way.
            ("tcp_recovery", [1]) | ("tcp_reordering", [3]) => {}
            ("tcp_ecn", [0]) => self.ecn = Some(EcnOffer::Off),
            ("tcp_ecn", [1]) => self.ecn = Some(EcnOffer::Offered),
            ("tcp_ecn", [2]) => self.ecn = Some(EcnOffer::Accepted),
            ("tcp_ecn", [3]) => self.ecn = Some(EcnOffer::AccurateOffered),
            ("tcp_ecn", [4]) => self.ecn = Some(EcnOffer::AccurateOrClassicOffered),
            ("tcp_ecn", [5]) => self.ecn = Some(EcnOffer::AccurateAccepted),
            ("tcp_ecn_option", [0]) => self.accurate_option = Some(AccurateOption::Off),
            ("tcp_ecn_option", [1]) => self.accurate_option = Some(AccurateOption::Changed),
            ("tcp_ecn_option", [2]) => self.accurate_option = Some(AccurateOption::Always),
            // An unanswered SYN is always retransmitted without ECN.
            ("tcp_ecn_fallback", [1]) => {}
            ("tcp_ecn_fallback", _) => {
                return Err("trusting ECN fields that the path has changed".to_owned());
            }
            ("tcp_mtu_probing", [0]) => self.path.probing = Some(ProbingRule::Off),
            ("tcp_mtu_probing", [1]) => self.path.probing = Some(ProbingRule::BlackHole),
            ("tcp_mtu_probing", [2]) => self.path.probing = Some(ProbingRule::Always),
            ("tcp_base_mss", [bytes]) => self.path.base_mss = Some(short(*bytes)),
            ("tcp_probe_threshold", [bytes]) => self.path.converged = Some(short(*bytes)),
            ("tcp_probe_interval", [seconds]) => {
                self.path.raise_after = Some(lasting(*seconds));
            }
            ("route.min_pmtu", [bytes]) => self.path.least_believed = Some(short(*bytes)),
            ("route.mtu_expires", [seconds]) => self.path.lifetime = Some(lasting(*seconds)),
            _ => return beyond(),
        }
        Ok(())
    }
}

fn short(bytes: u64) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

/// Returns this number of seconds, but at most a year, because nothing in a script lasts longer.
fn lasting(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(366 * 86_400))
}

fn retries(times: u64) -> u32 {
    u32::try_from(times).unwrap_or(u32::MAX)
}
