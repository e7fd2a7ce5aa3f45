//! Support for tests on real packets: a harness that acquires the privilege to create network namespaces before the
//! first thread starts, and functions that use the kernel's TCP at both ends of a path.
#![cfg(target_os = "linux")]

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dupack_testing::skipping::REQUIRE;
use dupack_wire::host::{Digest, Pattern};
use dupack_wire::namespace::{self, Namespace, Standing};
use dupack_wire::tun::{Prefix, Tun, TunConfig};
use libtest_mimic::{Arguments, Failed, Trial};

/// A named test.
pub struct Case {
    /// Name of the test.
    pub name: String,
    /// The test itself, which panics if it fails.
    pub test: Box<dyn FnOnce() + Send + std::panic::UnwindSafe>,
    /// Program that the test needs, if any.
    pub needs: Option<&'static str>,
}

/// Returns a test that needs no program.
#[must_use]
pub fn case(name: &str, test: fn()) -> Case {
    Case {
        name: name.to_owned(),
        test: Box::new(test),
        needs: None,
    }
}

/// Returns a test that needs the program `needs`.
#[must_use]
pub fn case_with(needs: &'static str, name: &str, test: fn()) -> Case {
    Case {
        needs: Some(needs),
        ..case(name, test)
    }
}

/// Number of tests that may run at the same time.
#[derive(Clone, Copy, Debug)]
pub enum Together {
    /// One test at a time, because these tests measure time and would disturb each other.
    One = 1,
    /// A few tests at a time, because these tests wait for timers most of the time.
    Few = 6,
}

/// Runs named tests as `cargo test` does. Skips all tests with a message if this process cannot make network
/// namespaces.
pub fn run(cases: Vec<Case>, together: Together) -> ExitCode {
    let mut arguments = Arguments::from_args();
    let standing = namespace::prepare()
        .map_err(|error| with_causes(&error))
        .and_then(|standing| try_devices().map(|()| standing));
    arguments.test_threads = arguments.test_threads.or(Some(together as usize));
    match &standing {
        Ok(standing) => announce(*standing),
        Err(why) => {
            eprintln!("\n*** NETWORK NAMESPACES ARE NOT AVAILABLE HERE: {why}");
            if std::env::var_os(REQUIRE).is_some() {
                return ExitCode::FAILURE;
            }
            let count = cases.len();
            eprintln!(
                "*** ALL {count} TESTS OF THIS FILE ARE SKIPPED (set {REQUIRE} to fail instead)\n"
            );
        }
    }
    let trials = cases.into_iter().map(|case| {
        let missing = case.needs.filter(|program| !is_installed(program));
        if let Some(program) = missing {
            eprintln!("*** {} IS SKIPPED: {program} is not installed", case.name);
        }
        Trial::test(case.name, move || {
            std::panic::catch_unwind(case.test).map_err(|_| Failed::without_message())
        })
        .with_ignored_flag(standing.is_err() || missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Returns `true` if [`find`] finds a program.
fn is_installed(program: &str) -> bool {
    find(program).is_some()
}

/// Finds a program in the folders of `PATH` or in `/usr/sbin`.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut places = directories.map(|directory| directory.join(program));
    places.find(|place| place.is_file())
}

fn announce(standing: Standing) {
    match standing {
        Standing::Privileged => eprintln!("namespaces: made with this process's own privileges"),
        Standing::UserNamespace => eprintln!("namespaces: made in a user namespace"),
    }
}

/// Tries to make a namespace with a TUN device as the tests need them. A container, for example, may have read-only
/// settings or no IPv6.
fn try_devices() -> Result<(), String> {
    // setpriv starts the programs in namespaces.
    if !is_installed("setpriv") {
        return Err("setpriv (util-linux) is not installed".to_owned());
    }
    let namespace = Namespace::new("probe").map_err(|error| with_causes(&error))?;
    let set = namespace.set("ipv4/ip_forward", "1");
    set.map_err(|error| with_causes(&error))?;
    let prefix = |address: IpAddr, length| Prefix { address, length };
    let mut config = TunConfig::new("probe");
    config.addresses = vec![
        prefix(Ipv4Addr::new(10, 97, 0, 1).into(), 24),
        prefix(Ipv6Addr::new(0xfd97, 0, 0, 0, 0, 0, 0, 1).into(), 64),
    ];
    let opened = namespace.run(move || Tun::open(&config).map(drop));
    opened.map_err(|error| with_causes(&error))
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// Seed of the bytes that the kernel's side sends.
pub const SEED: u64 = 0x6b65_726e;

/// Port of every server.
pub const PORT: u16 = 5001;

/// Maximum time for a single step of a test, after which the test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Result of a receiving program.
#[derive(Debug)]
pub struct Receipt {
    /// Number of bytes read until the end of the stream.
    pub bytes: u64,
    /// Hash of all bytes.
    pub hash: u128,
    /// Times since the first byte, each with the number of bytes received until then.
    pub progress: Vec<(Duration, u64)>,
}

impl Receipt {
    /// Returns the rate in bits per second between two moments of the transfer, given as fractions of its bytes.
    #[must_use]
    pub fn rate_bps(&self, from: f64, to: f64) -> f64 {
        let at = |share: f64| {
            let bytes = (self.bytes as f64 * share) as u64;
            let index = self.progress.partition_point(|&(_, count)| count < bytes);
            self.progress[index.min(self.progress.len() - 1)]
        };
        let ((start, first), (end, last)) = (at(from), at(to));
        (last - first) as f64 * 8.0 / (end - start).as_secs_f64()
    }
}

/// Accepts one connection in `namespace` and reads the stream to its end.
///
/// # Panics
/// If the port is taken.
pub fn receive(namespace: &Namespace, address: IpAddr) -> JoinHandle<io::Result<Receipt>> {
    let listener = namespace
        .run(move || TcpListener::bind((address, PORT)))
        .expect("the port is free");
    let job = move || {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        read_to_end(&mut stream)
    };
    namespace.spawn("receiver", job).expect("a thread")
}

/// Reads a stream to its end.
///
/// # Errors
/// If the stream cannot be read.
#[expect(clippy::disallowed_methods, reason = "real packets take real time")]
pub fn read_to_end(stream: &mut TcpStream) -> io::Result<Receipt> {
    let mut digest = Digest::default();
    let mut buffer = vec![0; 1 << 18];
    let mut progress = Vec::new();
    let mut first = None;
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        digest.add(&buffer[..length]);
        let start = *first.get_or_insert_with(Instant::now);
        progress.push((start.elapsed(), digest.bytes()));
    }
    Ok(Receipt {
        bytes: digest.bytes(),
        hash: digest.value(),
        progress,
    })
}

/// Connects from `namespace` to `address` and sends `bytes` bytes of the pattern.
///
/// # Panics
/// If no thread can be started.
pub fn send(namespace: &Namespace, address: IpAddr, bytes: u64) -> JoinHandle<io::Result<u128>> {
    let job = move || {
        let mut stream = TcpStream::connect(SocketAddr::new(address, PORT))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        write_pattern(&mut stream, bytes)
    };
    namespace.spawn("sender", job).expect("a thread")
}

/// Writes `bytes` bytes of the pattern and returns their hash.
///
/// # Errors
/// If the stream cannot be written to.
pub fn write_pattern(stream: &mut TcpStream, bytes: u64) -> io::Result<u128> {
    let mut pattern = Pattern::new(SEED);
    let mut buffer = vec![0; 1 << 16];
    let mut digest = Digest::default();
    while digest.bytes() < bytes {
        let length = (buffer.len() as u64).min(bytes - digest.bytes()) as usize;
        pattern.fill(&mut buffer[..length]);
        digest.add(&buffer[..length]);
        stream.write_all(&buffer[..length])?;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    Ok(digest.value())
}

/// Reads a stream to its end and at the same time writes `bytes` bytes of the pattern to it.
///
/// # Errors
/// If the stream cannot be read or written to.
pub fn converse(mut stream: TcpStream, bytes: u64) -> io::Result<Receipt> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut out = stream.try_clone()?;
    let writer = std::thread::spawn(move || write_pattern(&mut out, bytes));
    let receipt = read_to_end(&mut stream)?;
    writer
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))?;
    Ok(receipt)
}

/// Waits until a program listens at `address`.
///
/// # Panics
/// If no program listens there after five seconds.
pub fn wait_for_listener(namespace: &Namespace, address: SocketAddr) {
    for _ in 0..500 {
        if namespace.run(move || TcpStream::connect(address).is_ok()) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nobody listens at {address}");
}

/// Waits until `holds` returns `true`.
///
/// # Panics
/// If `holds` does not return `true` within [`PATIENCE`].
pub fn eventually(holds: impl Fn() -> bool) {
    const BETWEEN: Duration = Duration::from_millis(10);
    for _ in 0..PATIENCE.as_millis() / BETWEEN.as_millis() {
        if holds() {
            return;
        }
        std::thread::sleep(BETWEEN);
    }
    panic!("it does not come true");
}
