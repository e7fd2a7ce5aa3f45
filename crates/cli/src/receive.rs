//! `dupack receive`: accepts one TCP connection and prints the data.

use std::io::stdout;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_wire::host::{Once, Pipe};
use miette::{IntoDiagnostic, Result};

use crate::endpoint::{ENDPOINT, EndpointArgs, addresses, host, offered, to_the_end, without_sack};
use crate::flags::whole;

#[derive(Debug, Args)]
#[command(after_help = "\
The endpoint is a separate host on a TUN device, with address .2 of the subnet.
This machine's kernel has address .1 there. Requires root or CAP_NET_ADMIN.

Example:
  dupack receive 5001 > copy
  nc -N 10.97.0.2 5001 < FILE        # in another terminal, then

Exit codes:
  0    the connection ended properly, with every byte transferred
  1    the connection failed
  2    invalid flags, or the device cannot be opened
  130  interrupted")]
pub struct ReceiveArgs {
    /// Port on which to accept one connection
    #[arg(value_parser = whole::<u16>(1, 65_535))]
    port: u16,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub fn run(args: &ReceiveArgs, catalog: &Catalog) -> Result<ExitCode> {
    let stack = StackSpec::parse(&args.endpoint.stack, catalog).into_diagnostic()?;
    let mut host = host(&args.endpoint)?;
    let (pipe, end) = Pipe::new(None, Box::new(stdout()), &host.waker()).into_diagnostic()?;
    let fallback = without_sack(&args.endpoint, &stack);
    let endpoint = args.endpoint.clone();
    let once = Once::new(move || offered(&endpoint, &stack), pipe);
    host.listen(args.port, Box::new(once));
    for address in addresses(&args.endpoint, ENDPOINT) {
        say!("listening at {}", SocketAddr::new(address, args.port));
    }
    to_the_end(host, end, fallback)
}
