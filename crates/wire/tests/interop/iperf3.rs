//! Tests of the endpoint as an iperf3 server, with a control connection and a data connection.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

use dupack_wire::Family;
use dupack_wire::host::{Application, Listener, Offer, Supply, Waker};

use crate::ours::{Running, Scene, offer, our_address};
use crate::testbed::{Case, PORT, case_with, eventually};

pub const STACK: &str = "sack/cubic";
pub const BYTES: u64 = 20_000_000;

/// Length in bytes of the cookie that opens every connection: 36 characters and a zero.
pub const COOKIE_BYTES: usize = 37;

/// States that the server and the client send to each other as one byte (`iperf_api.h` of iperf 3).
pub const TEST_START: u8 = 1;
pub const TEST_RUNNING: u8 = 2;
pub const TEST_END: u8 = 4;
pub const PARAM_EXCHANGE: u8 = 9;
pub const CREATE_STREAMS: u8 = 10;
pub const EXCHANGE_RESULTS: u8 = 13;
pub const DISPLAY_RESULTS: u8 = 14;
pub const IPERF_DONE: u8 = 16;

pub fn cases() -> Vec<Case> {
    vec![
        case_with("iperf3", "iperf3_sends_to_us_v4", || {
            iperf3(Family::V4, Direction::ToUs);
        }),
        case_with("iperf3", "iperf3_sends_to_us_v6", || {
            iperf3(Family::V6, Direction::ToUs);
        }),
        case_with("iperf3", "iperf3_reads_from_us_v4", || {
            iperf3(Family::V4, Direction::FromUs);
        }),
        case_with("iperf3", "iperf3_reads_from_us_v6", || {
            iperf3(Family::V6, Direction::FromUs);
        }),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToUs,
    FromUs,
}

fn iperf3(family: Family, direction: Direction) {
    let (kernel, mut host) = Scene::usual().split();
    let test = Test {
        direction,
        waker: host.waker(),
        progress: Arc::default(),
    };
    host.listen(
        PORT,
        Box::new(Server {
            test: test.clone(),
            accepted: 0,
        }),
    );
    let running = Running::start(host);
    let address = our_address(family).to_string();
    let (port, bytes) = (PORT.to_string(), BYTES.to_string());
    let mut command = Command::new("iperf3");
    command.args(["-c", &address, "-p", &port, "-n", &bytes, "-f", "m"]);
    if direction == Direction::FromUs {
        command.arg("-R");
    }
    let client = kernel.start(command).expect("iperf3 starts");
    let output = client.finish().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    eprintln!("{text}{complaints}");
    assert!(output.status.success());
    // The client is done when its kernel has accepted all data, which may be before we have received it.
    eventually(|| {
        let progress = test.progress();
        let bytes = match direction {
            Direction::ToUs => progress.received,
            Direction::FromUs => progress.sent,
        };
        progress.stage == Stage::Done && bytes >= BYTES
    });
    drop(running);
}

/// Returns JSON in the form in which the control connection carries it: preceded by its length.
pub fn message(json: &str) -> Vec<u8> {
    let length = (json.len() as u32).to_be_bytes();
    [&length, json.as_bytes()].concat()
}

/// Removes a message from `input` and returns it without its length. Returns `None` if the message is incomplete.
pub fn take_message(input: &mut Vec<u8>) -> Option<Vec<u8>> {
    let (length, rest) = input.split_first_chunk::<4>()?;
    let end = 4 + u32::from_be_bytes(*length) as usize;
    let is_whole = 4 + rest.len() >= end;
    is_whole.then(|| input.drain(..end).skip(4).collect())
}

/// Returns the results of one side for a test with one stream.
pub fn results(bytes: u64) -> String {
    format!(
        "{{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,\
         \"sender_has_retransmits\":0,\"streams\":[{{\"id\":1,\"bytes\":{bytes},\
         \"retransmits\":0,\"jitter\":0,\"errors\":0,\"packets\":0,\
         \"start_time\":0,\"end_time\":1}}]}}"
    )
}

/// State of one iperf3 run, shared by all of its connections.
#[derive(Clone)]
struct Test {
    direction: Direction,
    waker: Waker,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    stage: Stage,
    received: u64,
    sent: u64,
}

/// Stage of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Cookie,
    Parameters,
    Streams,
    Running,
    Results,
    Display,
    Done,
}

impl Test {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().expect("nobody panicked")
    }
}

struct Server {
    test: Test,
    accepted: u32,
}

impl Listener for Server {
    fn offer(&mut self, _: SocketAddr) -> Option<Offer> {
        Some(offer(STACK))
    }

    fn accept(&mut self, _: SocketAddr) -> Option<Box<dyn Application>> {
        self.accepted += 1;
        let test = self.test.clone();
        Some(match self.accepted {
            1 => Box::new(Control::new(test)),
            _ => Box::new(Data { test, cookie: 0 }),
        })
    }

    fn is_open(&self) -> bool {
        self.accepted < 2
    }
}

struct Control {
    test: Test,
    input: Vec<u8>,
    output: Vec<u8>,
    announced: Announced,
}

/// `Yes` if the client has been told that the test is running.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    No,
    Yes,
}

impl Control {
    fn new(test: Test) -> Self {
        Self {
            test,
            input: Vec::new(),
            output: Vec::new(),
            announced: Announced::No,
        }
    }

    /// Takes the next step if the input allows it. Returns `true` if it did.
    fn step(&mut self) -> bool {
        let progress = self.test.progress();
        let (stage, received, sent) = (progress.stage, progress.received, progress.sent);
        drop(progress);
        let next = match stage {
            Stage::Cookie if self.input.len() >= COOKIE_BYTES => {
                self.input.drain(..COOKIE_BYTES);
                self.output.push(PARAM_EXCHANGE);
                Stage::Parameters
            }
            Stage::Parameters if take_message(&mut self.input).is_some() => {
                self.output.push(CREATE_STREAMS);
                Stage::Streams
            }
            // The data connection starts the stage Running, and the client ends it.
            Stage::Running if self.input.first() == Some(&TEST_END) => {
                self.input.remove(0);
                self.output.push(EXCHANGE_RESULTS);
                Stage::Results
            }
            Stage::Results if take_message(&mut self.input).is_some() => {
                self.output.extend(message(&results(received.max(sent))));
                self.output.push(DISPLAY_RESULTS);
                Stage::Display
            }
            Stage::Display if self.input.first() == Some(&IPERF_DONE) => Stage::Done,
            _ => return false,
        };
        self.test.progress().stage = next;
        true
    }
}

impl Application for Control {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        let stage = self.test.progress().stage;
        if stage == Stage::Running && self.announced == Announced::No {
            self.announced = Announced::Yes;
            self.output.extend([TEST_START, TEST_RUNNING]);
        }
        if self.output.is_empty() {
            return match stage {
                Stage::Done => Supply::End,
                _ => Supply::NothingNow,
            };
        }
        let length = room.len().min(self.output.len());
        room[..length].copy_from_slice(&self.output[..length]);
        self.output.drain(..length);
        Supply::Bytes(length)
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        self.input.extend_from_slice(bytes);
        while self.step() {}
        bytes.len()
    }
}

/// The data connection.
struct Data {
    test: Test,
    cookie: usize,
}

impl Application for Data {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        let mut progress = self.test.progress();
        match (self.test.direction, progress.stage) {
            (Direction::FromUs, Stage::Running) => {
                room.fill(b'x');
                progress.sent += room.len() as u64;
                Supply::Bytes(room.len())
            }
            (_, stage) if stage > Stage::Running => Supply::End,
            _ => Supply::NothingNow,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        let cookie = bytes.len().min(COOKIE_BYTES - self.cookie);
        self.cookie += cookie;
        let mut progress = self.test.progress();
        progress.received += (bytes.len() - cookie) as u64;
        if cookie > 0 && self.cookie == COOKIE_BYTES {
            progress.stage = Stage::Running;
            self.test.waker.wake();
        }
        bytes.len()
    }
}
