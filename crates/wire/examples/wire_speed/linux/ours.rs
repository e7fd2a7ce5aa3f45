//! This project's endpoint.

use std::net::{IpAddr, SocketAddr};

use dupack_algorithms::catalog::StackSpec;
use dupack_algorithms::catalog::dialect::sender_config;
use dupack_algorithms::catalog::spec::{Context, Dialect};
use dupack_tcp::connection::Config;
use dupack_wire::Secret;
use dupack_wire::host::{Application, Host, HostConfig, Listener, Opening, Supply, random_key};
use dupack_wire::tun::Tun;

use super::cores::Core;
use super::{BUFFER_BYTES, Direction, ENDPOINT, FILLING, Failure, KERNEL, PORT, Running, spawn};

/// Starts it, connecting or listening.
pub fn start(tun: Tun, direction: Direction, stack: &str, core: Core) -> Result<Running, Failure> {
    let opening = opening(StackSpec::parse(stack)?, direction);
    let config = HostConfig {
        send_buffer: BUFFER_BYTES,
        ..HostConfig::new(vec![IpAddr::V4(ENDPOINT)])
    };
    let mut host = Host::new(config, tun, Secret::new(&random_key()?))?;
    match direction {
        Direction::Send => host.connect(SocketAddr::from((KERNEL, PORT)), opening)?,
        Direction::Receive => host.listen(PORT, Box::new(Once(Some(opening)))),
    }
    let waker = host.waker();
    spawn(
        core,
        Box::new(move || waker.stop()),
        move || Ok(host.run()?),
    )
}

fn opening(stack: StackSpec, direction: Direction) -> Opening {
    let dialect = Dialect::Linux;
    let needs = stack.needs(dialect);
    let mut config = Config::new(1460);
    let sender = sender_config(dialect, 1448, &needs);
    config.offer.sack = sender.sack;
    config.offer.timestamps = sender.timestamps;
    // 4 MiB: it fits.
    config.receive_buffer = BUFFER_BYTES as u32;
    Opening {
        config,
        build: Box::new(move |agreed| {
            let smss = agreed.smss;
            let context = Context { smss, dialect };
            (sender_config(dialect, smss, &needs), stack.build(&context))
        }),
        application: Box::new(Stream { direction }),
    }
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

struct Once(Option<Opening>);

impl Listener for Once {
    fn accept(&mut self, _: SocketAddr) -> Option<Opening> {
        self.0.take()
    }

    fn is_open(&self) -> bool {
        self.0.is_some()
    }
}
