//! System settings of a script: sysctls, socket options and lines that start with `--`. Each setting corresponds to one
//! of our parameters, is known to make no difference, or is unsupported with a reason.

mod queue;
mod shell;
mod socket;
mod sysctl;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use dupack_algorithms::catalog::{Axis, Catalog, Dialect, Origin, StackSpec, offer};
use dupack_tcp::connection::{
    AccurateOption, BuildSender, Config, EcnOffer, HEADERS_IPV4 as IPV4_HEADERS,
    HEADERS_IPV6 as IPV6_HEADERS, MIN_MSS, PathMtuConfig, ProbingRule,
};
use dupack_tcp::options::{Dsack, Sack, WindowScale};
use dupack_tcp::receiver::SackCompression;
use dupack_tcp::sender::{IdleRule, WindowLog};
use dupack_tcp::time::Duration;

use queue::{HostQueue, queue};
pub(crate) use socket::{
    Connected, SocketSettings, is_harmless, is_no_control, is_out_of_range, system_user_timeout,
    user_timeout,
};

use crate::syntax::Setting;

/// Congestion control of scripts that do not name one.
const USUAL_CONTROL: &str = "cubic";

/// MTU of Ethernet and of packetdrill's device, in bytes.
pub(crate) const USUAL_MTU: u16 = 1500;

/// Settings of the system.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The stack of the options, regardless of the control that the script requests; `None` for RACK-TLP with the
    /// requested control.
    named: Option<StackSpec>,
    /// The control that the script requests, with its parameters.
    control: String,
    dialect: Dialect,
    tolerance: Duration,
    /// Tolerance as a fraction of the time since the previous event.
    tolerance_share: f64,
    /// Tick of the script's timestamps; `None` if timestamps are not checked.
    timestamp_tick: Option<Duration>,
    scaled_echoes: bool,
    /// `true` if an expected packet must be sent as one segment.
    strict_segments: bool,
    /// MTU set by the script.
    mtu: Option<u16>,
    /// MTU for IPv6 if the script does not set one.
    pub(crate) mtu_ipv6: u16,
    headers: u16,
    timestamps: bool,
    sack: bool,
    dsack: bool,
    window_scaling: bool,
    tail_loss_probe: bool,
    /// `true` if F-RTO detects spurious timeouts.
    frto: bool,
    restart_after_idle: bool,
    pacing: Pacing,
    /// `true` if the host's own queue rejects all packets.
    pub(crate) refuses: bool,
    compression: Compression,
    /// ECN; `None` for the dialect's default.
    ecn: Option<EcnOffer>,
    accurate_option: Option<AccurateOption>,
    /// Maximum receive buffer, which determines the window scale.
    receive_buffer: u32,
    path: PathSettings,
    /// Maximum amount of unsent data in bytes on every socket, if the script sets a bound.
    unsent: Option<u32>,
    /// Number of SYN retransmissions before the wait doubles; `None` for the dialect's default.
    even_syns: Option<u32>,
    /// Maximum number of retransmissions of a SYN. `syn_ack_retries` is that of a SYN-ACK.
    syn_retries: u32,
    syn_ack_retries: u32,
}

impl Settings {
    /// Returns Linux's default settings.
    pub(crate) fn new(stack: Option<StackSpec>, dialect: Dialect, tolerance: Duration) -> Self {
        Self {
            named: stack,
            control: USUAL_CONTROL.to_owned(),
            dialect,
            tolerance,
            tolerance_share: 0.125,
            timestamp_tick: None,
            scaled_echoes: false,
            strict_segments: false,
            mtu: None,
            mtu_ipv6: USUAL_MTU,
            headers: IPV4_HEADERS,
            timestamps: true,
            sack: true,
            dsack: true,
            window_scaling: true,
            tail_loss_probe: true,
            frto: true,
            restart_after_idle: true,
            pacing: Pacing::default(),
            refuses: false,
            compression: Compression::default(),
            ecn: None,
            accurate_option: None,
            receive_buffer: 6 << 20,
            path: PathSettings::default(),
            unsent: None,
            even_syns: None,
            syn_retries: 6,
            syn_ack_retries: 5,
        }
    }

    /// Applies a line that starts with `--`. Returns an error that names the feature if it is unsupported.
    pub(crate) fn take_option(&mut self, setting: &Setting) -> Result<(), String> {
        let value = setting.value.as_deref().unwrap_or_default();
        let number = || -> Result<u64, String> {
            let wrong = || format!("the option `--{}={value}`", setting.name);
            // This number of microseconds is longer than any script.
            const MOST: u64 = 10_u64.pow(13);
            match value.parse() {
                Ok(number) if number <= MOST => Ok(number),
                _ => Err(wrong()),
            }
        };
        match &*setting.name {
            "tolerance_usecs" => self.tolerance = Duration::from_micros(number()?),
            "tolerance_percent" => self.tolerance_share = number()? as f64 / 100.0,
            "tcp_ts_tick_usecs" => {
                self.timestamp_tick = match number()? {
                    0 => None,
                    micros => Some(Duration::from_micros(micros)),
                }
            }
            "tcp_ts_ecr_scaled" => self.scaled_echoes = true,
            "strict_segments" => self.strict_segments = true,
            "mtu" => {
                let mtu =
                    u16::try_from(number()?).map_err(|_| "an MTU larger than IPv4's maximum")?;
                self.mtu = Some(mtu);
            }
            "ip_version" if value == "ipv6" => self.headers = IPV6_HEADERS,
            // Addresses and output options make no difference. `mss` applies only to packets in ICMP messages and to
            // UDP.
            "ip_version" | "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port"
            | "connect_port" | "verbose" | "dry_run" | "mss" | "speed" | "no_cleanup"
            | "init_scripts" | "send_omit_free" => {}
            name => return Err(format!("the option `--{name}`")),
        }
        Ok(())
    }

    /// Applies the shell commands of `text`, with paths relative to `folder`. Returns an error that names the feature
    /// if it is unsupported.
    pub(crate) fn take_commands(&mut self, text: &str, folder: &Path) -> Result<(), String> {
        self.take_commands_from(text, folder, 0)
    }

    fn take_commands_from(
        &mut self,
        text: &str,
        folder: &Path,
        depth: usize,
    ) -> Result<(), String> {
        const MOST_FILES: usize = 8;
        for words in shell::commands(text) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match &words[..] {
                [] => {}
                ["sysctl", rest @ ..] => self.take_sysctls(rest)?,
                // The script itself gives the length of a file that is sent, so these commands make no difference.
                ["/bin/rm" | "rm" | "/bin/dd" | "dd", ..] => {}
                // There is no kernel state that could be cached, limited or offloaded.
                ["ip", "tcp_metrics", "flush", ..]
                | ["ethtool", ..]
                | ["sleep" | "true" | ":", ..] => {}
                ["tc", "qdisc", rest @ ..] => {
                    if let Some(queue) = queue(rest)? {
                        self.refuses = queue == HostQueue::Refuses;
                        self.pacing.is_on = queue == HostQueue::Paces;
                    }
                }
                ["echo", values @ .., ">", path] if !values.is_empty() => {
                    let values = values.strip_prefix(&["-n"]).unwrap_or(values);
                    self.take_file(path, &values.join(" "))?;
                }
                ["echo", redirection, path] if redirection.ends_with('>') => {
                    return Err(format!(
                        "`echo` without a value for `{path}`: to a shell, a digit directly before `>` is \
                         a descriptor; insert a space"
                    ));
                }
                [file, rest @ ..] if file.ends_with("set_sysctls.py") => {
                    for assignment in rest {
                        let (path, value) = assignment.split_once('=').unwrap_or((assignment, ""));
                        self.take_file(path, value)?;
                    }
                }
                [file] if file.contains("sysctl_restore_") => {}
                [file] if file.ends_with(".sh") && depth < MOST_FILES => {
                    let path = folder.join(file);
                    let beside = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
                    let text = std::fs::read_to_string(&path).map_err(|error| {
                        format!("the commands of the unreadable file `{file}`: {error}")
                    })?;
                    self.take_commands_from(&text, &beside, depth + 1)?;
                }
                [command, ..] => return Err(format!("the command `{command}`")),
            }
        }
        Ok(())
    }

    /// Applies a value to a file in `/proc/sys` or to a module's parameter.
    fn take_file(&mut self, path: &str, value: &str) -> Result<(), String> {
        if let Some(name) = path.strip_prefix("/proc/sys/") {
            return self.take_sysctl(&name.replace('/', "."), value);
        }
        match path.strip_prefix("/sys/module/tcp_cubic/parameters/") {
            // The value 3 enables both tests of HyStart, which is the default.
            Some("hystart_detect") if value == "3" => Ok(()),
            _ => Err(format!("`{path}`")),
        }
    }

    /// Returns the configuration of a new connection.
    pub(crate) fn connection(
        &self,
        socket: &SocketSettings,
        opened: Opened,
    ) -> Result<(Config, BuildSender), String> {
        let stack = self.stack_for(socket)?;
        let (mut config, build) = offer(&stack, self.dialect);
        config.mss = self.mss(socket);
        if !self.timestamps {
            config.offer.timestamps = None;
        }
        config.offer.sack = Sack::when(config.offer.sack.is_on() && self.sack);
        config.offer.dsack = Dsack::when(config.offer.dsack.is_on() && self.dsack && self.sack);
        config.offer.ecn = self.ecn.unwrap_or(config.offer.ecn);
        config.accurate_option = self.accurate_option.unwrap_or(config.accurate_option);
        config.offer.window_scale = WindowScale::when(self.window_scaling);
        config.path_mtu = self.path.over(config.path_mtu, self.headers);
        config.sack_compression = self.compression.over(config.sack_compression);
        config.receive_buffer = socket.receive_buffer.unwrap_or(self.receive_buffer);
        let retries = socket.syn_retries.unwrap_or(match opened {
            Opened::Here => self.syn_retries,
            Opened::ByPeer => self.syn_ack_retries,
        });
        // The timeout covers all retransmissions. Each wait is twice the previous one, except after the first
        // `even_syns` retransmissions of a client.
        config.even_syns = self.even_syns.unwrap_or(config.even_syns);
        let even = match opened {
            Opened::Here => u64::from(config.even_syns),
            Opened::ByPeer => 0,
        };
        let waits = (1_u64 << (retries.min(20) + 1)) - 1 + even;
        config.open_timeout = config.syn_timeout.saturating_mul(waits);
        if let Some(timeout) = socket.user_timeout {
            config.user_timeout = timeout;
        }
        config.keep_alive = socket.keep_alive();
        let restart = self.restart_after_idle;
        let build: BuildSender = Box::new(move |agreed| {
            let (mut sender, stack) = build(agreed);
            if !restart {
                sender.idle = IdleRule::Keep;
            }
            sender.log = WindowLog::On;
            (sender, stack)
        });
        Ok((config, build))
    }

    /// Returns the bound of unsent data on a socket: the socket's option if it is set, and otherwise the system's
    /// bound.
    pub(crate) fn unsent_for(&self, socket: &SocketSettings) -> Option<u32> {
        socket.unsent.filter(|&bytes| bytes > 0).or(self.unsent)
    }

    /// Returns the maximum payload of a packet without options.
    fn mss(&self, socket: &SocketSettings) -> u16 {
        let mtu = self.mtu.unwrap_or(match self.headers {
            IPV6_HEADERS => self.mtu_ipv6,
            _ => USUAL_MTU,
        });
        let link = mtu.saturating_sub(self.headers).max(MIN_MSS);
        socket.mss.map_or(link, |mss| mss.min(link))
    }

    /// Returns the stack of a connection. The script's settings apply unless the text of the stack itself sets the
    /// parameter.
    pub(crate) fn stack_for(&self, socket: &SocketSettings) -> Result<StackSpec, String> {
        let control = socket.control.as_ref().unwrap_or(&self.control);
        let scripts = StackSpec::parse(&format!("rack/{control}"), &Catalog::builtin());
        let scripts = scripts.map_err(|error| error.to_string())?;
        let mut set = self.of_stack();
        let mut stack = match &self.named {
            Some(named) => {
                if named.name(Axis::Control) == scripts.name(Axis::Control) {
                    set.extend(given(&scripts, self.dialect));
                }
                named.clone()
            }
            None => scripts.clone(),
        };
        for (axis, parameter, value) in set {
            let suggested = stack.suggest(axis, &parameter, &value);
            suggested.map_err(|error| format!("`{parameter}` of {stack}: {error}"))?;
        }
        Ok(stack)
    }

    /// Returns the stack's parameters that sysctls and the host's queue set.
    fn of_stack(&self) -> Vec<SetParameter> {
        let mut set = Vec::new();
        if !self.tail_loss_probe {
            set.push((Axis::Recovery, "tlp".to_owned(), "off".to_owned()));
        }
        if !self.frto {
            set.push((Axis::Control, "undo_frto".to_owned(), "off".to_owned()));
        }
        if self.pacing.is_on {
            let parameters = self.pacing.parameters().into_iter();
            set.extend(parameters.map(|(name, value)| (Axis::Control, name.to_owned(), value)));
        }
        set
    }

    /// Sets the requested control. Returns the reason if it is unsupported.
    fn take_control(&mut self, name: &str) -> Result<(), String> {
        known_control(name)?;
        name.clone_into(&mut self.control);
        Ok(())
    }

    /// Returns the tolerance of an event that takes place `after` the previous event.
    pub(crate) fn tolerance(&self, after: Duration) -> Duration {
        let share = Duration::from_secs_f64(after.as_secs_f64() * self.tolerance_share);
        self.tolerance.max(share)
    }

    pub(crate) const fn timestamp_tick(&self) -> Option<Duration> {
        self.timestamp_tick
    }

    pub(crate) const fn scaled_echoes(&self) -> bool {
        self.scaled_echoes
    }

    pub(crate) const fn strict_segments(&self) -> bool {
        self.strict_segments
    }
}

/// Pacing as with the queueing discipline fq.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    is_on: bool,
    /// Pacing rates in slow start and in congestion avoidance, as percentages of the window per round-trip time.
    slow_start: u64,
    avoidance: u64,
    /// Size of a burst in segments.
    burst: u64,
}

impl Default for Pacing {
    /// Returns Linux's defaults.
    fn default() -> Self {
        Self {
            is_on: false,
            slow_start: 200,
            avoidance: 120,
            burst: 2,
        }
    }
}

/// Returns a percentage in the form of a parameter's value.
fn share(percent: u64) -> String {
    (percent as f64 / 100.0).to_string()
}

impl Pacing {
    /// Returns the pacing in the form of parameters of a control.
    fn parameters(self) -> [(&'static str, String); 4] {
        [
            ("pacing", "on".to_owned()),
            ("pacing_slow_start", share(self.slow_start)),
            ("pacing_avoidance", share(self.avoidance)),
            ("pacing_burst", self.burst.to_string()),
        ]
    }
}

/// SACK compression that a script sets.
#[derive(Clone, Copy, Debug, Default)]
struct Compression {
    nr: Option<u64>,
    delay_ns: Option<u64>,
    slack_ns: Option<u64>,
    rtt_percent: Option<u64>,
}

impl Compression {
    /// Returns these settings, completed with those of the dialect. A dialect without SACK compression remains without
    /// it.
    fn over(&self, dialect: Option<SackCompression>) -> Option<SackCompression> {
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let mut compression = dialect?;
        if let Some(most) = self.nr {
            compression.held_max = number(most);
        }
        if let Some(nanos) = self.delay_ns {
            compression.delay = Duration::from_nanos(nanos);
        }
        if let Some(nanos) = self.slack_ns {
            compression.slack = Duration::from_nanos(nanos);
        }
        if let Some(share) = self.rtt_percent {
            compression.round_trip_percent = number(share);
        }
        Some(compression)
    }
}

/// Path MTU discovery that a script sets; `None` for the dialect's default.
#[derive(Clone, Copy, Debug, Default)]
struct PathSettings {
    probing: Option<ProbingRule>,
    /// Initial segment size of probing, in bytes.
    base_mss: Option<u16>,
    converged: Option<u16>,
    raise_after: Option<Duration>,
    least_believed: Option<u16>,
    lifetime: Option<Duration>,
}

impl PathSettings {
    /// Returns these settings, completed with those of the dialect. `headers` is the length of the headers in bytes.
    fn over(&self, dialect: PathMtuConfig, headers: u16) -> PathMtuConfig {
        let mut config = match headers {
            IPV6_HEADERS => dialect.over_ipv6(),
            _ => dialect,
        };
        config.probing = self.probing.unwrap_or(config.probing);
        config.converged = self.converged.unwrap_or(config.converged);
        config.raise_after = self.raise_after.unwrap_or(config.raise_after);
        config.lifetime = self.lifetime.unwrap_or(config.lifetime);
        if let Some(mss) = self.base_mss {
            config.base = mss.saturating_add(headers);
        }
        if let (Some(least), IPV4_HEADERS) = (self.least_believed, headers) {
            config.least_believed = least;
        }
        config
    }
}

/// A parameter of a stack and its value.
type SetParameter = (Axis, String, String);

/// Returns the parameters that were given together with the control's name.
fn given(stack: &StackSpec, dialect: Dialect) -> Vec<SetParameter> {
    let entries = stack.effective(dialect).into_iter();
    let control = entries.filter(|entry| entry.axis == Axis::Control);
    let parameters = control.flat_map(|entry| entry.parameters);
    parameters
        .filter(|(_, _, origin)| *origin == Origin::Given)
        .map(|(spec, value, _)| (Axis::Control, spec.name.to_string(), value.to_string()))
        .collect()
}

/// The side that opens a connection: this host or the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Here,
    ByPeer,
}

/// Checks that there is a congestion control of this name. Returns the reason to skip the script if there is none.
fn known_control(name: &str) -> Result<(), String> {
    match StackSpec::parse(&format!("rack/{name}"), &Catalog::builtin()) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("the congestion control `{name}`")),
    }
}
