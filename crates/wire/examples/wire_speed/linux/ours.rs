//! This project's endpoint.

use std::net::{IpAddr, SocketAddr};

use dupack_algorithms::catalog::{self, Catalog, Dialect, StackSpec};
use dupack_wire::Secret;
use dupack_wire::host::{Application, Host, HostConfig, Offer, Once, Supply, random_key};
use dupack_wire::tun::Tun;

use super::cores::Core;
use super::{BUFFER_BYTES, Direction, ENDPOINT, FILLING, Failure, KERNEL, PORT, Running, spawn};

/// Starts the endpoint, which connects or listens.
pub fn start(tun: Tun, direction: Direction, stack: &str, core: Core) -> Result<Running, Failure> {
    let stack = StackSpec::parse(stack, &Catalog::builtin())?;
    let stream = Stream { direction };
    let mut config = HostConfig::new(vec![IpAddr::V4(ENDPOINT)]);
    config.send_buffer = BUFFER_BYTES;
    let mut host = Host::new(config, tun, Secret::new(&random_key()?))?;
    match direction {
        Direction::Send => {
            let to = SocketAddr::from((KERNEL, PORT));
            host.connect(to, offer(&stack).used_by(stream))?;
        }
        Direction::Receive => {
            let once = Once::new(move || offer(&stack), stream);
            host.listen(PORT, Box::new(once));
        }
    }
    let waker = host.waker();
    spawn(
        core,
        Box::new(move || waker.stop()),
        move || Ok(host.run()?),
    )
}

fn offer(stack: &StackSpec) -> Offer {
    let mut offer = Offer::from(catalog::offer(stack, Dialect::Linux));
    // The value is 4 MiB, which fits into `u32`.
    offer.config.receive_buffer = BUFFER_BYTES as u32;
    offer
}

struct Stream {
    direction: Direction,
}

impl Application for Stream {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        match self.direction {
            Direction::Send => {
                room.fill(FILLING);
                Supply::Bytes(room.len())
            }
            Direction::Receive => Supply::NothingNow,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }
}
