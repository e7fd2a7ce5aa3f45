//! What a script asks of the system: sysctls, socket options and lines that begin with `--`, each
//! mapped to a parameter of ours, known to make no difference, or beyond us with the reason.

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

/// The control that a script runs with that names none.
const USUAL_CONTROL: &str = "cubic";

/// The MTU of Ethernet, and of packetdrill's device.
pub(crate) const USUAL_MTU: u16 = 1500;

/// What the system is set to.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The stack that was named, whatever control the script asks for; without one RACK-TLP with that.
    named: Option<StackSpec>,
    /// The control that the script asks for, with its parameters.
    control: String,
    dialect: Dialect,
    tolerance: Duration,
    /// Of the time that an event follows the one before by, as a share.
    tolerance_share: f64,
    /// Time between two values of the script's timestamps; `None` if they are not checked.
    timestamp_tick: Option<Duration>,
    scaled_echoes: bool,
    /// Whether a packet that is expected must come in one piece.
    strict_segments: bool,
    /// What the script says.
    mtu: Option<u16>,
    /// What holds for IPv6 if it says nothing.
    pub(crate) mtu_ipv6: u16,
    headers: u16,
    timestamps: bool,
    sack: bool,
    dsack: bool,
    window_scaling: bool,
    tail_loss_probe: bool,
    /// Whether F-RTO looks for timeouts that were needless.
    frto: bool,
    restart_after_idle: bool,
    pacing: Pacing,
    /// This host's own queue takes no packets.
    pub(crate) refuses: bool,
    compression: Compression,
    /// The dialect's, unless the script says something.
    ecn: Option<EcnOffer>,
    accurate_option: Option<AccurateOption>,
    /// The largest receive buffer, which the window's shift follows from.
    receive_buffer: u32,
    path: PathSettings,
    /// What may wait to be sent on every socket, if the script bounds it.
    unsent: Option<u32>,
    /// Repetitions of a SYN before the wait doubles; the dialect's, unless the script says something.
    even_syns: Option<u32>,
    /// Repetitions of a SYN, and of its answer.
    syn_retries: u32,
    syn_ack_retries: u32,
}

impl Settings {
    /// Those of Linux.
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

    /// Takes a line that begins with `--`; or says why it cannot.
    pub(crate) fn take_option(&mut self, setting: &Setting) -> Result<(), String> {
        let value = setting.value.as_deref().unwrap_or_default();
        let number = || -> Result<u64, String> {
            let wrong = || format!("the option `--{}={value}`", setting.name);
            // Longer than any script takes, in microseconds.
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
                let mtu = u16::try_from(number()?).map_err(|_| "a longer MTU than IPv4's")?;
                self.mtu = Some(mtu);
            }
            "ip_version" if value == "ipv6" => self.headers = IPV6_HEADERS,
            // Addresses, and what goes to the terminal: nothing here follows from them. `mss` is
            // that of packets in ICMP messages and UDP.
            "ip_version" | "local_ip" | "remote_ip" | "gateway_ip" | "netmask_ip" | "bind_port"
            | "connect_port" | "verbose" | "dry_run" | "mss" | "speed" | "no_cleanup"
            | "init_scripts" | "send_omit_free" => {}
            name => return Err(format!("the option `--{name}`")),
        }
        Ok(())
    }

    /// Takes the shell commands of `text`, with files found from `folder`; or says what is beyond
    /// us.
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
                // A file that is sent has the length that the script says.
                ["/bin/rm" | "rm" | "/bin/dd" | "dd", ..] => {}
                // Nothing of a kernel's is cached, limited or offloaded here.
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
                        "`echo` with nothing to write into `{path}`: a digit just before `>` is a \
                         descriptor to a shell; write a space between"
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
                        format!("commands of `{file}`, which cannot be read: {error}")
                    })?;
                    self.take_commands_from(&text, &beside, depth + 1)?;
                }
                [command, ..] => return Err(format!("the command `{command}`")),
            }
        }
        Ok(())
    }

    /// A file of `/proc/sys`, or a module's parameter.
    fn take_file(&mut self, path: &str, value: &str) -> Result<(), String> {
        if let Some(name) = path.strip_prefix("/proc/sys/") {
            return self.take_sysctl(&name.replace('/', "."), value);
        }
        match path.strip_prefix("/sys/module/tcp_cubic/parameters/") {
            // Both of its tests are on: the default.
            Some("hystart_detect") if value == "3" => Ok(()),
            _ => Err(format!("`{path}`")),
        }
    }

    /// What a new connection is made of.
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
        // All of them, each twice as long after the one before, but for the first of a client.
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

    /// What may wait to be sent on a socket; the socket's option, if it is set, else the system's.
    pub(crate) fn unsent_for(&self, socket: &SocketSettings) -> Option<u32> {
        socket.unsent.filter(|&bytes| bytes > 0).or(self.unsent)
    }

    /// Payload of the longest packet without options.
    fn mss(&self, socket: &SocketSettings) -> u16 {
        let mtu = self.mtu.unwrap_or(match self.headers {
            IPV6_HEADERS => self.mtu_ipv6,
            _ => USUAL_MTU,
        });
        let link = mtu.saturating_sub(self.headers).max(MIN_MSS);
        socket.mss.map_or(link, |mss| mss.min(link))
    }

    /// The stack of a connection: what the script sets of it counts where the stack, as it was named,
    /// says nothing else.
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

    /// Parameters of a stack that sysctls and the host's queue set.
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

    /// The control that a script asks for; or that there is none of this name.
    fn take_control(&mut self, name: &str) -> Result<(), String> {
        known_control(name)?;
        name.clone_into(&mut self.control);
        Ok(())
    }

    /// How far from its time something may happen that follows the event before by `after`.
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

/// How packets are spread over time, as the queueing discipline fq does it.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    is_on: bool,
    /// In percent.
    slow_start: u64,
    avoidance: u64,
    /// In segments.
    burst: u64,
}

impl Default for Pacing {
    /// As Linux has it.
    fn default() -> Self {
        Self {
            is_on: false,
            slow_start: 200,
            avoidance: 120,
            burst: 2,
        }
    }
}

/// A number of percent as a parameter has it.
fn share(percent: u64) -> String {
    (percent as f64 / 100.0).to_string()
}

impl Pacing {
    /// The same as parameters of a control.
    fn parameters(self) -> [(&'static str, String); 4] {
        [
            ("pacing", "on".to_owned()),
            ("pacing_slow_start", share(self.slow_start)),
            ("pacing_avoidance", share(self.avoidance)),
            ("pacing_burst", self.burst.to_string()),
        ]
    }
}

/// What a script says of SACK compression.
#[derive(Clone, Copy, Debug, Default)]
struct Compression {
    nr: Option<u64>,
    delay_ns: Option<u64>,
    slack_ns: Option<u64>,
    rtt_percent: Option<u64>,
}

impl Compression {
    /// This, and the dialect's where nothing is said; a dialect that has none has none.
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

/// What a script says of the discovery of the path's MTU; `None` is what the dialect has.
#[derive(Clone, Copy, Debug, Default)]
struct PathSettings {
    probing: Option<ProbingRule>,
    /// In bytes of a segment.
    base_mss: Option<u16>,
    converged: Option<u16>,
    raise_after: Option<Duration>,
    least_believed: Option<u16>,
    lifetime: Option<Duration>,
}

impl PathSettings {
    /// This, and the dialect's where nothing is said, with so many bytes of headers.
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

/// A parameter of a stack, and its value.
type SetParameter = (Axis, String, String);

/// The parameters of the control that were given with its name.
fn given(stack: &StackSpec, dialect: Dialect) -> Vec<SetParameter> {
    let entries = stack.effective(dialect).into_iter();
    let control = entries.filter(|entry| entry.axis == Axis::Control);
    let parameters = control.flat_map(|entry| entry.parameters);
    parameters
        .filter(|(_, _, origin)| *origin == Origin::Given)
        .map(|(spec, value, _)| (Axis::Control, spec.name.to_string(), value.to_string()))
        .collect()
}

/// Who opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Here,
    ByPeer,
}

/// Whether there is a congestion control of this name; or the reason to skip.
fn known_control(name: &str) -> Result<(), String> {
    match StackSpec::parse(&format!("rack/{name}"), &Catalog::builtin()) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("the congestion control `{name}`")),
    }
}
