//! Compares Linux's token bucket (`tbf`) with ours on the same packets at the same times, for `cargo measure queues`.
//!
//! `cargo run --release -p dupack-wire --example token_bucket -- --help`
//!
//! In a separate network namespace, one thread sends datagrams to another over a loopback device with a `tbf`. The time
//! at which each datagram was handed to the kernel is read from the clock, and the time at which it arrived is the
//! kernel's own timestamp. The sending times are then given to our shaper. Linux counts the Ethernet header as part of
//! a packet's length, so our shaper does the same here.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("tbf needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;
    use std::process::Command;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use clap::Parser;
    use dupack_net::event::InsertionNumber;
    use dupack_net::link::{
        Admission, Discipline, Link, LinkConfig, Offer, QueueLimit, TokenBucketConfig,
    };
    use dupack_net::packet::PacketHandle;
    use dupack_net::random::Stream;
    use dupack_net::units::BitRate;
    use dupack_tcp::time::{Duration as Span, Instant};
    use dupack_wire::namespace::{Namespace, prepare};
    use nix::cmsg_space;
    use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimestampns};
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
    use nix::sys::time::TimeSpec;

    type Failure = Box<dyn Error + Send + Sync>;

    /// One run of both buckets.
    #[derive(Clone, Copy, Debug, Parser)]
    struct Args {
        /// Rate of the bucket, bit/s
        #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
        rate: u64,
        /// Size of the bucket, bytes
        #[arg(long)]
        burst: u32,
        /// Queue limit, bytes
        #[arg(long)]
        limit: u64,
        /// Average load, as a multiple of the rate
        #[arg(long)]
        load: f64,
        /// Payload of a datagram, bytes
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(8..=60_000))]
        payload: u32,
        /// Datagrams per train, sent back to back
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        train: u32,
        /// Length of the run, seconds
        #[arg(long, default_value_t = 5.0)]
        seconds: f64,
        /// Seed of the times between trains
        #[arg(long, default_value_t = 1)]
        seed: u64,
    }

    /// Length of the headers of IPv4, UDP and Ethernet, in bytes.
    const HEADERS: u32 = 20 + 8 + 14;
    /// Time without a datagram after which the receiver stops.
    const SILENCE: Duration = Duration::from_secs(2);

    pub(super) fn main() -> Result<(), Failure> {
        let args = Args::parse();
        prepare()?;
        let namespace = Namespace::new("bucket")?;
        shape(&namespace, args)?;
        let receiver = namespace.run(|| UdpSocket::bind("127.0.0.1:0"))?;
        let to = receiver.local_addr()?;
        let sender = namespace.run(move || {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            socket.connect(to)?;
            Ok::<_, std::io::Error>(socket)
        })?;
        // The send buffer is large, so that a bucket that delays packets does not block the sender.
        setsockopt(&sender, nix::sys::socket::sockopt::SndBuf, &(64 << 20))?;
        setsockopt(&receiver, RcvBufForce, &(64 << 20))
            .or_else(|_| setsockopt(&receiver, nix::sys::socket::sockopt::RcvBuf, &(64 << 20)))?;
        setsockopt(&receiver, ReceiveTimestampns, &true)?;
        let came = namespace.spawn("receiver", move || receive(&receiver))?;
        let sent = namespace
            .spawn("sender", move || send(&sender, args))?
            .join()
            .map_err(|_| "the sender's thread ended")??;
        let came = came.join().map_err(|_| "the receiver's thread ended")??;
        let theirs = Outcome::of_kernel(&sent, &came);
        let ours = Outcome::of_ours(&sent, args)?;
        println!("{} {}", theirs.words("theirs"), ours.words("ours"));
        Ok(())
    }

    /// Installs the `tbf` on the loopback device.
    fn shape(namespace: &Namespace, args: Args) -> Result<(), Failure> {
        let words = format!(
            "qdisc add dev lo root tbf rate {}bit burst {}b limit {}b",
            args.rate, args.burst, args.limit
        );
        let mut tc = Command::new("tc");
        tc.args(words.split(' '));
        let output = namespace
            .run(move || tc.output())
            .map_err(|e| format!("cannot start tc (apt-get install iproute2): {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(format!("tc {words}: {said}").into())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "real packets, and the kernel's timestamps use this clock"
    )]
    fn clock() -> Duration {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
    }

    /// Sends numbered datagrams in trains at the times of a Poisson process. Returns the sending time of each datagram.
    fn send(socket: &UdpSocket, args: Args) -> std::io::Result<Vec<Duration>> {
        let mut stream = Stream::derive(args.seed, "trains");
        let bits = f64::from(args.train) * f64::from(args.payload + HEADERS) * 8.0;
        let mean_s = bits / (args.rate as f64 * args.load);
        let mut payload = vec![0_u8; args.payload as usize];
        let mut sent = Vec::new();
        let began = clock();
        let mut due_s = 0.0;
        while due_s < args.seconds {
            let due = began + Duration::from_secs_f64(due_s);
            // Sleeps end late, so the thread sleeps too briefly and then waits in a loop.
            let early = due.saturating_sub(clock() + Duration::from_micros(200));
            if !early.is_zero() {
                std::thread::sleep(early);
            }
            while clock() < due {
                std::hint::spin_loop();
            }
            for _ in 0..args.train {
                payload[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
                sent.push(clock());
                // A datagram that exceeds the queue limit is lost, which may cause an error.
                let _ = socket.send(&payload);
            }
            due_s += -mean_s * (1.0 - stream.unit()).ln();
        }
        Ok(sent)
    }

    /// Returns the number and the arrival time of each datagram.
    fn receive(socket: &UdpSocket) -> std::io::Result<Vec<(usize, Duration)>> {
        socket.set_read_timeout(Some(SILENCE))?;
        let mut came = Vec::new();
        let mut number = [0; 8];
        let mut space = cmsg_space!(TimeSpec);
        loop {
            let mut parts = [std::io::IoSliceMut::new(&mut number)];
            let flags = MsgFlags::empty();
            let message =
                match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags) {
                    Ok(message) => message,
                    Err(nix::errno::Errno::EAGAIN) => return Ok(came),
                    Err(error) => return Err(error.into()),
                };
            let stamp = message.cmsgs()?.find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(at) => Some(Duration::from(at)),
                _ => None,
            });
            let stamp = stamp.ok_or_else(|| std::io::Error::other("no timestamp"))?;
            came.push((u64::from_be_bytes(number) as usize, stamp));
        }
    }

    /// Statistics of the datagrams.
    #[derive(Default)]
    struct Outcome {
        offered: usize,
        delivered: usize,
        wait_s: f64,
    }

    impl Outcome {
        fn of_kernel(sent: &[Duration], came: &[(usize, Duration)]) -> Self {
            let wait = |&(number, at): &(usize, Duration)| {
                let sent = sent.get(number).copied().unwrap_or(at);
                at.saturating_sub(sent).as_secs_f64()
            };
            Self {
                offered: sent.len(),
                delivered: came.len(),
                wait_s: came.iter().map(wait).sum(),
            }
        }

        fn of_ours(sent: &[Duration], args: Args) -> Result<Self, Failure> {
            let rate = BitRate::new(args.rate).ok_or("the rate is zero")?;
            let bucket = TokenBucketConfig::new(rate, args.burst);
            // The link behind the bucket is so fast that it adds no delay.
            let config = LinkConfig::rate(BitRate::from_mbps(1_000_000), Span::ZERO)
                .with_queue(QueueLimit::Bytes(args.limit))
                .with_discipline(Discipline::Shaper(bucket));
            let mut link = Link::new(&config, 1, "bucket");
            let mut outcome = Self {
                offered: sent.len(),
                ..Self::default()
            };
            // The bucket is full at the start, so the times may be shifted to begin at zero.
            let began = sent.first().copied().unwrap_or_default();
            let times: Vec<Instant> = sent
                .iter()
                .map(|at| Instant::from_nanos(at.saturating_sub(began).as_nanos() as u64))
                .collect();
            let mut numbers = 0;
            for (n, &at) in times.iter().enumerate() {
                outcome.advance(&mut link, Some(at), &times, &mut numbers);
                numbers += 1;
                let offer = Offer {
                    packet: PacketHandle(n as u32),
                    bytes: args.payload + HEADERS,
                    ..Offer::default()
                };
                let verdict = link.offer(at, InsertionNumber(numbers), &offer);
                debug_assert!(!matches!(verdict, Admission::Marked { .. }));
            }
            outcome.advance(&mut link, None, &times, &mut numbers);
            Ok(outcome)
        }

        /// Runs the link until `until`, or until it is empty.
        fn advance(
            &mut self,
            link: &mut Link,
            until: Option<Instant>,
            sent: &[Instant],
            numbers: &mut u64,
        ) {
            loop {
                let arrival = link.next_arrival().map(|(at, _)| at);
                let next = arrival.into_iter().chain(link.next_transmission()).min();
                let Some(now) = next.filter(|now| until.is_none_or(|until| *now <= until)) else {
                    return;
                };
                while let Some(flight) = link.take_arrival(now) {
                    let sent = sent[flight.packet.0 as usize];
                    self.delivered += 1;
                    self.wait_s += now.since(sent).as_secs_f64();
                }
                if link.next_transmission().is_some_and(|at| at <= now) {
                    *numbers += 1;
                    link.transmit(now, InsertionNumber(*numbers));
                }
            }
        }

        fn words(&self, whose: &str) -> String {
            let dropped = self.offered - self.delivered;
            let mean = self.wait_s / (self.delivered as f64).max(1.0);
            format!(
                "{whose}_offered {} {whose}_dropped {dropped} {whose}_wait_s {mean:.9}",
                self.offered
            )
        }
    }
}
