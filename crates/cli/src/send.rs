//! `dupack send`: standard input to a TCP server, and what comes back.

use std::fmt;
use std::io::{stdin, stdout};
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_wire::host::Pipe;
use miette::{Context as _, IntoDiagnostic, Result, miette};

use crate::endpoint::{EndpointArgs, KERNEL, addresses, host, offered, to_the_end, without_sack};

#[derive(Debug, Args)]
#[command(after_help = "\
The endpoint is a host of its own, .2 of the subnet on a TUN device; this
machine's kernel is .1 there. Servers of this machine are reached at .1, which
exists only while the endpoint does: they listen at every address. Beyond .1
the kernel must forward, and translate addresses where the network does not
know the subnet. It takes root or CAP_NET_ADMIN.

Examples:
  nc -l 5001 > copy                  # in another terminal, first
  dupack send 10.97.0.1:5001 < FILE

  dupack send --stack le/westwood '[fd97::1]:80' < REQUEST

Exit codes:
  0    the connection came to its end, with every byte
  1    it did not
  2    wrong flags, or no device
  130  interrupted")]
pub struct SendArgs {
    /// The server, as address:port or name:port
    #[arg(value_name = "HOST:PORT")]
    server: Server,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub fn run(args: &SendArgs, catalog: &Catalog) -> Result<ExitCode> {
    let stack = StackSpec::parse(&args.endpoint.stack, catalog).into_diagnostic()?;
    let server = args.server.find(&args.endpoint)?;
    let mut host = host(&args.endpoint)?;
    let (pipe, end) =
        Pipe::new(Some(Box::new(stdin())), Box::new(stdout()), &host.waker()).into_diagnostic()?;
    let opening = offered(&args.endpoint, &stack).used_by(pipe);
    host.connect(server, opening).into_diagnostic()?;
    say!("connecting to {server}");
    to_the_end(host, end, without_sack(&args.endpoint, &stack))
}

/// The server that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
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
