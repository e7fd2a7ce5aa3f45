//! Shared parts of `dupack send` and `dupack receive`: an endpoint on real packets, between this machine's kernel and
//! standard input and output.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::{Dialect, StackSpec, offer};
use dupack_lab::units::Delay;
use dupack_tcp::connection::{EcnOffer, KeepAlive, Negotiated, PathCounters, ProbingRule};
use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::Secret;
use dupack_wire::clock::WallClock;
use dupack_wire::host::{ConnectionReport, Host, HostConfig, Offer, PipeEnd, random_key};
use dupack_wire::tun::{Offload, Prefix, Tun, TunConfig, TunError};
use miette::{IntoDiagnostic, Report, Result, miette};

use crate::flags::{dialect, lasting, whole};
use crate::output::INTERRUPTED;

/// Options of one of our endpoints on real packets.
#[derive(Clone, Debug, Args)]
pub struct EndpointArgs {
    /// Recovery and congestion control
    #[arg(long, default_value = "rack/cubic")]
    pub stack: String,
    /// Rules that the endpoint follows where TCPs differ
    #[arg(long, value_parser = dialect(), default_value_t = Dialect::Linux)]
    pub dialect: Dialect,
    /// Name of the TUN device
    #[arg(long, value_name = "NAME", default_value = "dupack0")]
    pub tun: String,
    /// IPv4 network of the device, with a prefix of 24 bits
    #[arg(long, value_name = "ADDRESS", default_value = "10.97.0.0", value_parser = subnet)]
    pub subnet: Ipv4Addr,
    /// IPv6 network of the device, with a prefix of 64 bits
    #[arg(long, value_name = "ADDRESS", default_value = "fd97::", value_parser = subnet6)]
    pub subnet6: Ipv6Addr,
    /// Probe a peer after it has been silent for this long; the connection fails after nine unanswered probes, sent at
    /// the same interval but at most 75 s apart [default: never]
    #[arg(long, value_name = "DELAY", value_parser = lasting)]
    pub keep_alive: Option<Delay>,
    /// Maximum packet size, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = whole::<u16>(1280, 65_535))]
    pub mtu: u16,
    /// Probing of the path MTU, for paths whose routers do not report it [default: as in the dialect]
    #[arg(long, value_name = "WHEN")]
    pub mtu_probing: Option<Probing>,
    /// Use individual packets with checksums, as if the kernel had no offload
    #[arg(long)]
    pub plain: bool,
    /// Explicit congestion notification [default: as in the dialect]
    #[arg(long, value_enum)]
    pub ecn: Option<EcnArg>,
}

/// ECN variant that the endpoint requests, and variants that it accepts from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EcnArg {
    /// No ECN
    Off,
    /// Classic ECN (RFC 3168), if the peer requests it
    Accept,
    /// As `accept`, and request classic ECN
    Offer,
    /// Accurate ECN (RFC 9768) or classic ECN, if the peer requests it
    AcceptAccurate,
    /// As `accept-accurate`, and request Accurate ECN
    OfferAccurate,
}

impl EcnArg {
    const fn offer(self) -> EcnOffer {
        match self {
            Self::Off => EcnOffer::Off,
            Self::Accept => EcnOffer::Accepted,
            Self::Offer => EcnOffer::Offered,
            Self::AcceptAccurate => EcnOffer::AccurateAccepted,
            Self::OfferAccurate => EcnOffer::AccurateOffered,
        }
    }
}

/// Time from which the path MTU is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Probing {
    /// Never
    Off,
    /// Once consecutive timeouts indicate a black hole
    BlackHole,
    /// From the start
    Always,
}

impl From<Probing> for ProbingRule {
    fn from(probing: Probing) -> Self {
        match probing {
            Probing::Off => Self::Off,
            Probing::BlackHole => Self::BlackHole,
            Probing::Always => Self::Always,
        }
    }
}

/// Parses the IPv4 network of the device.
fn subnet(text: &str) -> Result<Ipv4Addr, String> {
    let address: Ipv4Addr = text
        .parse()
        .map_err(|_| "expected an IPv4 address, such as 10.97.0.0".to_owned())?;
    let [a, b, c, d] = address.octets();
    if d != 0 {
        return Err(format!(
            "the network has 24 bits, and its hosts are .{KERNEL} and .{ENDPOINT}: write {a}.{b}.{c}.0"
        ));
    }
    Ok(address)
}

/// Parses the IPv6 network of the device.
fn subnet6(text: &str) -> Result<Ipv6Addr, String> {
    let address: Ipv6Addr = text
        .parse()
        .map_err(|_| "expected an IPv6 address, such as fd97::".to_owned())?;
    let [a, b, c, d, host @ ..] = address.segments();
    if host != [0; 4] {
        let network = Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0);
        return Err(format!(
            "the network has 64 bits, and its hosts are ::{KERNEL} and ::{ENDPOINT}: write {network}"
        ));
    }
    Ok(address)
}

const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// Host number of the kernel in each network. `ENDPOINT` is the host number of our endpoint.
pub const KERNEL: u8 = 1;
pub const ENDPOINT: u8 = 2;

/// Exit code of a connection that failed.
const FAILED: u8 = 1;

/// Returns the offer of a connection according to the flags.
pub fn offered(args: &EndpointArgs, stack: &StackSpec) -> Offer {
    let mut offer = Offer::from(offer(stack, args.dialect));
    if let Some(probing) = args.mtu_probing {
        offer.config.path_mtu.probing = probing.into();
    }
    offer.config.keep_alive = args.keep_alive.map(|idle| {
        let idle = Duration::from_nanos(idle.as_nanos());
        KeepAlive {
            idle,
            interval: idle.min(KeepAlive::STANDARD.interval),
            ..KeepAlive::STANDARD
        }
    });
    if let Some(ecn) = args.ecn {
        offer.config.offer.ecn = ecn.offer();
    }
    offer
}

/// Creates a host on its own device.
pub fn host(args: &EndpointArgs) -> Result<Host> {
    let [v4, v6] = addresses(args, KERNEL);
    let prefixes = [(v4, PREFIX_V4), (v6, PREFIX_V6)];
    let usable = prefixes
        .iter()
        .filter(|(address, _)| Family::of(*address).is_there());
    let prefix = |&(address, length): &(IpAddr, u8)| Prefix { address, length };
    let mut config = TunConfig::new(&args.tun);
    config.mtu = args.mtu;
    config.addresses = usable.map(prefix).collect();
    if args.plain {
        config.offload = Offload::Off;
    }
    let tun = Tun::open(&config).map_err(|error| match error {
        TunError::Taken { .. } => miette!(
            help = "choose another name with --tun, and other networks with --subnet and --subnet6",
            "{error}"
        ),
        other => Report::from_err(other),
    })?;
    let secret = Secret::new(&random_key().into_diagnostic()?);
    let config = HostConfig::new(addresses(args, ENDPOINT).to_vec());
    Host::new(config, tun, secret).into_diagnostic()
}

/// Returns the addresses of the host with this number, IPv4 and IPv6.
pub fn addresses(args: &EndpointArgs, number: u8) -> [IpAddr; 2] {
    let mut v4 = args.subnet.octets();
    v4[3] = number;
    let mut v6 = args.subnet6.octets();
    v6[15] = number;
    [IpAddr::from(v4), IpAddr::from(v6)]
}

/// Returns the recovery that repairs losses if the peer declines SACK, unless it is the recovery of the stack.
pub fn without_sack(args: &EndpointArgs, stack: &StackSpec) -> Option<String> {
    stack.without_sack(args.dialect).map(str::to_owned)
}

/// Runs the host until it is done or interrupted by Ctrl-C, and reports the result of the connection. `without_sack` is
/// the recovery that repairs losses if the peer declines SACK.
pub fn to_the_end(mut host: Host, end: PipeEnd, without_sack: Option<String>) -> Result<ExitCode> {
    let waker = host.waker();
    let interrupted = Arc::new(AtomicBool::new(false));
    let by_hand = Arc::clone(&interrupted);
    ctrlc::set_handler(move || {
        by_hand.store(true, Ordering::Release);
        waker.stop();
    })
    .into_diagnostic()?;
    let clock = WallClock::start();
    let ran = host.run();
    let seconds = clock.now().as_secs_f64();
    drop(host);
    let finished = end.finish();
    ran.into_diagnostic()?;
    let outcome = finished.into_diagnostic()?;
    match &outcome {
        Some(outcome) => {
            say!("{}", summary(outcome, seconds));
            if let Some(path) = path_summary(outcome) {
                say!("{path}");
            }
            let declined = |agreed: Negotiated| !agreed.sack.is_on();
            if outcome.negotiated.is_some_and(declined)
                && let Some(repaired_by) = without_sack
            {
                say!("the peer does not support SACK: {repaired_by} repaired the losses");
            }
        }
        None => say!("interrupted before a connection was established"),
    }
    Ok(match outcome {
        Some(outcome) if outcome.is_complete() => ExitCode::SUCCESS,
        _ if interrupted.load(Ordering::Acquire) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::from(FAILED),
    })
}

fn summary(outcome: &ConnectionReport, seconds: f64) -> String {
    let ConnectionReport {
        reason,
        sent_bytes,
        received_bytes,
        ..
    } = outcome;
    let reason = reason.map_or_else(|| "finished".to_owned(), |reason| reason.to_string());
    format!("{reason}: sent {sent_bytes} bytes, received {received_bytes} bytes in {seconds:.2} s")
}

/// Returns a summary of the changes of the segment size, if there were any.
fn path_summary(outcome: &ConnectionReport) -> Option<String> {
    let counters = &outcome.path;
    if *counters == PathCounters::default() {
        return None;
    }
    let size = outcome.segment_size?;
    let mut parts = Vec::new();
    for (count, what) in [
        (counters.too_big, "reductions by ICMP"),
        (counters.black_holes, "reductions by timeouts"),
        (counters.probes_delivered, "increases by probes"),
        (counters.icmp_ignored, "ICMP messages ignored"),
        (counters.unreachable, "other ICMP errors"),
    ] {
        if count > 0 {
            parts.push(format!("{what}: {count}"));
        }
    }
    let parts = parts.join(", ");
    Some(match parts.is_empty() {
        true => format!("final segment size: {size} bytes"),
        false => format!("final segment size: {size} bytes ({parts})"),
    })
}
