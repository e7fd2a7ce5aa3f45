//! How fast the endpoint moves bytes to and from this machine's kernel over a TUN device.
//!
//! `cargo run --release -p dupack-wire --example host_speed -- [STACK] [SECONDS]`
//!
//! Four runs: sending and receiving, with packets of 1500 bytes and with offload. Each takes one
//! core for the endpoint and, on the kernel's side, one for the program that reads or writes.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("TUN devices need Linux");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::io::{Read, Write};
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::thread;

    use dupack_algorithms::catalog::StackSpec;
    use dupack_algorithms::catalog::dialect::sender_config;
    use dupack_algorithms::catalog::spec::{Context, Dialect};
    use dupack_tcp::connection::Config;
    use dupack_wire::Secret;
    use dupack_wire::clock::WallClock;
    use dupack_wire::host::{
        Application, Host, HostConfig, Listener, Opening, Pattern, Supply, random_key,
    };
    use dupack_wire::namespace::{self, Namespace};
    use dupack_wire::tun::{Offload, Prefix, Tun, TunConfig};

    const KERNEL: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 99, 0, 1));
    const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 99, 0, 2));
    const PORT: u16 = 5001;
    const CHUNK: usize = 1 << 20;
    const RECEIVE_BUFFER: u32 = 8 << 20;

    type Failure = Box<dyn Error>;

    pub fn main() -> Result<(), Failure> {
        namespace::prepare()?;
        let mut arguments = std::env::args().skip(1);
        let stack = arguments.next().unwrap_or_else(|| "sack/reno".to_owned());
        let stack = StackSpec::parse(&stack)?;
        let seconds: f64 = arguments.next().map_or(Ok(3.0), |text| text.parse())?;
        for offload in [Offload::Off, Offload::WherePossible] {
            for direction in [Direction::Send, Direction::Receive] {
                let bytes = run(&stack, offload, direction, seconds)?;
                println!("{direction:?} {offload:?}: {:.2} Gbit/s", bytes * 8.0 / 1e9);
            }
        }
        Ok(())
    }

    /// As seen from our endpoint.
    #[derive(Clone, Copy, Debug)]
    enum Direction {
        Send,
        Receive,
    }

    /// Bytes per second.
    fn run(
        stack: &StackSpec,
        offload: Offload,
        direction: Direction,
        seconds: f64,
    ) -> Result<f64, Failure> {
        let namespace = Namespace::new("speed")?;
        let config = TunConfig {
            name: "speed".to_owned(),
            mtu: 1500,
            addresses: vec![Prefix {
                address: KERNEL,
                length: 24,
            }],
            routes: Vec::new(),
            offload,
        };
        let tun = namespace.run(move || Tun::open(&config))?;
        let mut host = Host::new(
            HostConfig::new(vec![OURS]),
            tun,
            Secret::new(&random_key()?),
        )?;
        let waker = host.waker();
        let kernel = match direction {
            Direction::Send => {
                let listener = namespace.run(|| TcpListener::bind((KERNEL, PORT)))?;
                host.connect(SocketAddr::new(KERNEL, PORT), opening(stack, direction))?;
                namespace.spawn("kernel", move || {
                    let (stream, _) = listener.accept()?;
                    swallow(stream, seconds)
                })?
            }
            Direction::Receive => {
                host.listen(PORT, Box::new(Once(Some(opening(stack, direction)))));
                namespace.spawn("kernel", move || {
                    pour(TcpStream::connect((OURS, PORT))?, seconds)
                })?
            }
        };
        let endpoint = thread::spawn(move || host.run().map(|()| host.counters()));
        let rate = kernel.join().map_err(|_| "the kernel's side panicked")??;
        waker.stop();
        let counters = endpoint.join().map_err(|_| "the endpoint panicked")??;
        eprintln!("{counters:?}");
        Ok(rate)
    }

    fn opening(stack: &StackSpec, direction: Direction) -> Opening {
        let stack = stack.clone();
        let dialect = Dialect::Linux;
        let needs = stack.needs(dialect);
        let mut config = Config::new(1460);
        let sender = sender_config(dialect, 1448, &needs);
        config.offer.sack = sender.sack;
        config.offer.timestamps = sender.timestamps;
        config.receive_buffer = RECEIVE_BUFFER;
        Opening {
            config,
            build: Box::new(move |agreed| {
                let smss = agreed.smss;
                let context = Context { smss, dialect };
                (sender_config(dialect, smss, &needs), stack.build(&context))
            }),
            application: Box::new(Stream {
                pattern: Pattern::new(1),
                direction,
            }),
        }
    }

    struct Stream {
        pattern: Pattern,
        direction: Direction,
    }

    impl Application for Stream {
        fn supply(&mut self, room: &mut [u8]) -> Supply {
            match self.direction {
                Direction::Send => {
                    self.pattern.fill(room);
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

    /// Reads for so long and gives the rate.
    fn swallow(mut stream: TcpStream, seconds: f64) -> std::io::Result<f64> {
        let mut buffer = vec![0; CHUNK];
        let (clock, mut bytes) = (WallClock::start(), 0);
        while clock.now().as_secs_f64() < seconds {
            bytes += stream.read(&mut buffer)?;
        }
        Ok(bytes as f64 / clock.now().as_secs_f64())
    }

    /// Writes for so long and gives the rate.
    fn pour(mut stream: TcpStream, seconds: f64) -> std::io::Result<f64> {
        let buffer = vec![7; CHUNK];
        let (clock, mut bytes) = (WallClock::start(), 0);
        while clock.now().as_secs_f64() < seconds {
            bytes += stream.write(&buffer)?;
        }
        Ok(bytes as f64 / clock.now().as_secs_f64())
    }
}
