//! `dupack send`: sends standard input to a TCP server and prints the response.

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
The endpoint is a separate host on a TUN device, with address .2 of the subnet.
This machine's kernel has address .1 there. The address .1 exists only while the
endpoint runs, so a server on this machine must listen on all addresses to be
reached at .1. For other destinations, the kernel must forward packets, and
translate addresses if the network does not know the subnet. Requires root or
CAP_NET_ADMIN.

Examples:
  nc -l 5001 > copy                  # in another terminal, first
  dupack send 10.97.0.1:5001 < FILE

  dupack send --stack le/westwood '[fd97::1]:80' < REQUEST

Exit codes:
  0    the connection ended properly, with every byte transferred
  1    the connection failed
  2    invalid flags, or the device cannot be opened
  130  interrupted")]
pub struct SendArgs {
    /// The server, as ADDRESS:PORT or NAME:PORT
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

/// Server given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Server {
    /// Name or address, without brackets.
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
            _ => return Err(format!("the port must be a number from 1 to 65535: {FORM}")),
        };
        let inside = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let host = match inside {
            Some(address) if address.parse::<Ipv6Addr>().is_ok() => address,
            None if !host.is_empty() && !host.contains([':', '[', ']']) => host,
            _ => return Err(format!("the host is missing or malformed: {FORM}")),
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
    /// Returns the first address that an endpoint on a TUN device can reach.
    fn find(&self, args: &EndpointArgs) -> Result<SocketAddr> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found: Vec<SocketAddr> = found
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot find the address of the server {self}"))?
            .collect();
        // The kernel drops packets from outside to such addresses.
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
                        "for a server on this machine that listens on all addresses, write \
                         {v4} or '{v6}'"
                    ),
                    "the server {self} has a loopback address, which the endpoint cannot reach \
                     because it is a separate host"
                ))
            }
        }
    }
}
