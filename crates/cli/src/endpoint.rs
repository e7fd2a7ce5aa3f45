//! `dupack send` and `dupack receive`: the endpoint on real packets, between this machine's
//! kernel and standard input and output.

use std::fmt;
use std::io::{stdin, stdout};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dupack_algorithms::catalog::spec::Dialect;
use dupack_algorithms::catalog::{StackSpec, offer};
use dupack_tcp::connection::KeepAlive;
use dupack_tcp::time::Duration;
use dupack_wire::Secret;
use dupack_wire::clock::WallClock;
use dupack_wire::host::{Host, HostConfig, Offer, Once, Outcome, Pipe, PipeEnd, random_key};
use dupack_wire::tun::{Family, Offload, Prefix, Tun, TunConfig, TunError};
use miette::{Context as _, IntoDiagnostic, Report, Result, miette};

use crate::args::{self, EndpointArgs, ReceiveArgs, SendArgs};
use crate::output::INTERRUPTED;

/// The server that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// A name or an address, without brackets.
    host: String,
    port: u16,
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write HOST:PORT, such as 10.97.0.1:5001 or '[fd97::1]:80'";
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| format!("there is no port: {FORM}"))?;
        let port = match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(format!("a port is a number from 1 to 65535: {FORM}")),
        };
        let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let host = match inside {
            Some(address) if address.parse::<Ipv6Addr>().is_ok() => address,
            None if !host.is_empty() && !host.contains([':', '[', ']']) => host,
            _ => return Err(format!("there is no host, or not in this form: {FORM}")),
        };
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)
    }
}

impl Server {
    /// Its first address that an endpoint on a device of its own can reach.
    fn find(&self, args: &EndpointArgs) -> Result<SocketAddr> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found: Vec<SocketAddr> = found
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot find the address of the server {self}"))?
            .collect();
        // A packet from outside to such an address is thrown away by the kernel.
        let is_inside = |at: &&SocketAddr| {
            let ip = at.ip().to_canonical();
            ip.is_loopback() || ip.is_unspecified()
        };
        match found.iter().find(|at| !is_inside(at)) {
            Some(server) => Ok(*server),
            None if found.is_empty() => Err(miette!("the server {self} has no address")),
            None => {
                let [v4, v6] = addresses(args, KERNEL).map(|at| SocketAddr::new(at, self.port));
                Err(miette!(
                    help = format!(
                        "for a server of this machine that listens at every address, write \
                         {v4} or '{v6}'"
                    ),
                    "the server {self} is a loopback address, which the endpoint cannot reach: \
                     it is a host of its own"
                ))
            }
        }
    }
}

/// The IPv4 network of the device, on the command line.
pub fn subnet(text: &str) -> Result<Ipv4Addr, String> {
    let address: Ipv4Addr = text
        .parse()
        .map_err(|_| "write an IPv4 address, such as 10.97.0.0".to_owned())?;
    let [a, b, c, d] = address.octets();
    if d != 0 {
        return Err(format!(
            "the network has 24 bits, and its hosts are .{KERNEL} and .{ENDPOINT}: write {a}.{b}.{c}.0"
        ));
    }
    Ok(address)
}

/// The IPv6 network of the device, on the command line.
pub fn subnet6(text: &str) -> Result<Ipv6Addr, String> {
    let address: Ipv6Addr = text
        .parse()
        .map_err(|_| "write an IPv6 address, such as fd97::".to_owned())?;
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

/// Numbers of the two hosts in each network.
const KERNEL: u8 = 1;
const ENDPOINT: u8 = 2;

/// The exit code for a connection that did not come to its end.
const FAILED: u8 = 1;

pub fn send(args: &SendArgs) -> Result<ExitCode> {
    let stack = StackSpec::parse(&args.endpoint.stack).into_diagnostic()?;
    let server = args.server.find(&args.endpoint)?;
    let mut host = host(&args.endpoint)?;
    let (pipe, end) =
        Pipe::new(Some(Box::new(stdin())), Box::new(stdout()), &host.waker()).into_diagnostic()?;
    let opening = offered(&args.endpoint, &stack).used_by(pipe);
    host.connect(server, opening).into_diagnostic()?;
    eprintln!("connecting to {server}");
    run(host, end)
}

pub fn receive(args: &ReceiveArgs) -> Result<ExitCode> {
    let stack = StackSpec::parse(&args.endpoint.stack).into_diagnostic()?;
    let mut host = host(&args.endpoint)?;
    let (pipe, end) = Pipe::new(None, Box::new(stdout()), &host.waker()).into_diagnostic()?;
    let endpoint = args.endpoint.clone();
    let once = Once::new(move || offered(&endpoint, &stack), pipe);
    host.listen(args.port, Box::new(once));
    for address in addresses(&args.endpoint, ENDPOINT) {
        eprintln!("listening at {}", SocketAddr::new(address, args.port));
    }
    run(host, end)
}

/// A connection as the flags want it.
fn offered(args: &EndpointArgs, stack: &StackSpec) -> Offer {
    let mut offer = Offer::from(offer(stack, args.dialect.into()));
    offer.config.keep_alive = args.keep_alive.map(|idle| {
        let idle = Duration::from_nanos(idle.as_nanos());
        KeepAlive {
            idle,
            interval: idle.min(KeepAlive::STANDARD.interval),
            ..KeepAlive::STANDARD
        }
    });
    offer
}

/// A host on a device of its own.
fn host(args: &EndpointArgs) -> Result<Host> {
    let [v4, v6] = addresses(args, KERNEL);
    let prefixes = [(v4, PREFIX_V4), (v6, PREFIX_V6)];
    let usable = prefixes
        .iter()
        .filter(|(address, _)| Family::of(*address).is_there());
    let prefix = |&(address, length): &(IpAddr, u8)| Prefix { address, length };
    let config = TunConfig {
        name: args.tun.clone(),
        mtu: args.mtu,
        addresses: usable.map(prefix).collect(),
        routes: Vec::new(),
        offload: if args.plain {
            Offload::Off
        } else {
            Offload::WherePossible
        },
    };
    let tun = Tun::open(&config).map_err(|error| match error {
        TunError::Taken { .. } => miette!(
            help = "say another with --tun, and networks of its own with --subnet and --subnet6",
            "{error}"
        ),
        other => Report::from_err(other),
    })?;
    let secret = Secret::new(&random_key().into_diagnostic()?);
    let config = HostConfig::new(addresses(args, ENDPOINT).to_vec());
    Host::new(config, tun, secret).into_diagnostic()
}

/// The addresses of the host with this number, IPv4 and IPv6.
fn addresses(args: &EndpointArgs, number: u8) -> [IpAddr; 2] {
    let mut v4 = args.subnet.octets();
    v4[3] = number;
    let mut v6 = args.subnet6.octets();
    v6[15] = number;
    [IpAddr::from(v4), IpAddr::from(v6)]
}

/// Runs the host to its end, or until Ctrl-C, and says how the connection went.
fn run(mut host: Host, end: PipeEnd) -> Result<ExitCode> {
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
        Some(outcome) => eprintln!("{}", summary(outcome, seconds)),
        None => eprintln!("interrupted before there was a connection"),
    }
    Ok(match outcome {
        Some(outcome) if outcome.is_complete() => ExitCode::SUCCESS,
        _ if interrupted.load(Ordering::Acquire) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::from(FAILED),
    })
}

fn summary(outcome: &Outcome, seconds: f64) -> String {
    let Outcome {
        reason,
        sent_bytes,
        received_bytes,
        ..
    } = outcome;
    let reason = reason.map_or_else(|| "finished".to_owned(), |reason| reason.to_string());
    format!("{reason}: sent {sent_bytes} bytes, received {received_bytes} bytes in {seconds:.2} s")
}

impl From<args::Dialect> for Dialect {
    fn from(dialect: args::Dialect) -> Self {
        match dialect {
            args::Dialect::Rfc => Self::Rfc,
            args::Dialect::Linux => Self::Linux,
            args::Dialect::Ns2 => Self::Ns2,
        }
    }
}
