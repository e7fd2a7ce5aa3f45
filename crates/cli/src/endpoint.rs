//! `dupack send` and `dupack receive`: the endpoint on real packets, between this machine's
//! kernel and standard input and output.

use std::io::{stdin, stdout};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

use dupack_algorithms::catalog::StackSpec;
use dupack_algorithms::catalog::dialect::sender_config;
use dupack_algorithms::catalog::spec::{Context, Dialect};
use dupack_tcp::connection::Config;
use dupack_wire::Secret;
use dupack_wire::clock::WallClock;
use dupack_wire::host::{Host, HostConfig, Listener, Opening, Outcome, Pipe, PipeEnd, random_key};
use dupack_wire::tun::{Offload, Prefix, Tun, TunConfig};
use miette::{IntoDiagnostic, Result, miette};

use crate::args::{self, EndpointArgs, ReceiveArgs, SendArgs};

/// The device's IPv6 network, unique local (RFC 4193).
const SUBNET_V6: Ipv6Addr = Ipv6Addr::new(0xfd97, 0, 0, 0, 0, 0, 0, 0);
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;

/// Numbers of the two hosts in each network.
const KERNEL: u8 = 1;
const ENDPOINT: u8 = 2;

/// The exit code for a connection that did not come to its end.
const FAILED: u8 = 1;

pub fn send(args: &SendArgs) -> Result<ExitCode> {
    let stack = StackSpec::parse(&args.endpoint.stack).into_diagnostic()?;
    let server = args.server.to_socket_addrs().into_diagnostic()?.next();
    let server = server.ok_or_else(|| miette!("{} has no address", args.server))?;
    let mut host = host(&args.endpoint)?;
    let (pipe, end) =
        Pipe::new(Some(Box::new(stdin())), Box::new(stdout()), &host.waker()).into_diagnostic()?;
    let opening = opening(&stack, args.endpoint.dialect.into(), pipe);
    host.connect(server, opening).into_diagnostic()?;
    run(host, end)
}

pub fn receive(args: &ReceiveArgs) -> Result<ExitCode> {
    let stack = StackSpec::parse(&args.endpoint.stack).into_diagnostic()?;
    let mut host = host(&args.endpoint)?;
    let (pipe, end) = Pipe::new(None, Box::new(stdout()), &host.waker()).into_diagnostic()?;
    let opening = opening(&stack, args.endpoint.dialect.into(), pipe);
    host.listen(args.port, Box::new(Once(Some(opening))));
    for address in addresses(&args.endpoint, ENDPOINT) {
        eprintln!("listening at {}", SocketAddr::new(address, args.port));
    }
    run(host, end)
}

/// A host on a device of its own.
fn host(args: &EndpointArgs) -> Result<Host> {
    let [v4, v6] = addresses(args, KERNEL);
    let config = TunConfig {
        name: args.tun.clone(),
        mtu: args.mtu,
        addresses: vec![
            Prefix {
                address: v4,
                length: PREFIX_V4,
            },
            Prefix {
                address: v6,
                length: PREFIX_V6,
            },
        ],
        routes: Vec::new(),
        offload: if args.plain {
            Offload::Off
        } else {
            Offload::WherePossible
        },
    };
    let tun = Tun::open(&config).into_diagnostic()?;
    let secret = Secret::new(&random_key().into_diagnostic()?);
    let config = HostConfig::new(addresses(args, ENDPOINT).to_vec());
    Host::new(config, tun, secret).into_diagnostic()
}

/// The addresses of the host with this number, IPv4 and IPv6.
fn addresses(args: &EndpointArgs, number: u8) -> [IpAddr; 2] {
    let mut v4 = args.subnet.octets();
    v4[3] = number;
    let mut v6 = SUBNET_V6.octets();
    v6[15] = number;
    [IpAddr::from(v4), IpAddr::from(v6)]
}

fn opening(stack: &StackSpec, dialect: Dialect, pipe: Pipe) -> Opening {
    let stack = stack.clone();
    let needs = stack.needs(dialect);
    // The host sets the size of a segment; the connection, what the peer makes of it.
    let mut config = Config::new(u16::MAX);
    let sender = sender_config(dialect, u32::from(config.mss), &needs);
    config.offer.sack = sender.sack;
    config.offer.dsack = sender.sack;
    config.offer.timestamps = sender.timestamps;
    Opening {
        config,
        build: Box::new(move |agreed| {
            let smss = agreed.smss;
            let context = Context { smss, dialect };
            (sender_config(dialect, smss, &needs), stack.build(&context))
        }),
        application: Box::new(pipe),
    }
}

/// Accepts one connection.
struct Once(Option<Opening>);

impl Listener for Once {
    fn accept(&mut self, _: SocketAddr) -> Option<Opening> {
        self.0.take()
    }

    fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

/// Runs the host to its end, or until Ctrl-C, and says how the connection went.
fn run(mut host: Host, end: PipeEnd) -> Result<ExitCode> {
    let waker = host.waker();
    ctrlc::set_handler(move || waker.stop()).into_diagnostic()?;
    let clock = WallClock::start();
    let ran = host.run();
    let seconds = clock.now().as_secs_f64();
    drop(host);
    let outcome = end.finish();
    ran.into_diagnostic()?;
    let Some(outcome) = outcome else {
        eprintln!("interrupted before there was a connection");
        return Ok(ExitCode::from(FAILED));
    };
    eprintln!("{}", summary(&outcome, seconds));
    Ok(if outcome.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
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
