//! Tests of the endpoint as the client of an iperf3 server.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

use dupack_wire::Family;
use dupack_wire::host::{Application, ConnectionReport, Supply, Waker};
use dupack_wire::namespace::Namespace;

use crate::iperf3::{
    BYTES, COOKIE_BYTES, CREATE_STREAMS, DISPLAY_RESULTS, Direction, EXCHANGE_RESULTS, IPERF_DONE,
    PARAM_EXCHANGE, STACK, TEST_END, TEST_RUNNING, TEST_START, message, take_message,
};
use crate::ours::{Running, Scene, kernel_address, opening};
use crate::testbed::{Case, PORT, case_with, eventually};

/// Cookie that a client sends first on each connection. The last byte is zero.
const COOKIE: &[u8; COOKIE_BYTES] = b"one of thirty-six characters at will\0";

pub fn cases() -> Vec<Case> {
    vec![
        case_with("iperf3", "we_send_to_iperf3_v4", || {
            client(Family::V4, Direction::FromUs);
        }),
        case_with("iperf3", "we_send_to_iperf3_v6", || {
            client(Family::V6, Direction::FromUs);
        }),
        case_with("iperf3", "we_read_from_iperf3_v4", || {
            client(Family::V4, Direction::ToUs);
        }),
        case_with("iperf3", "we_read_from_iperf3_v6", || {
            client(Family::V6, Direction::ToUs);
        }),
    ]
}

fn client(family: Family, direction: Direction) {
    let (kernel, mut host) = Scene::usual().split();
    let mut command = Command::new("iperf3");
    // The server runs one test and exits.
    command.args(["-s", "-1", "-p", &PORT.to_string()]);
    let server = kernel.start(command).expect("iperf3 starts");
    // The test reads the socket table, because a probe connection would count as the single test.
    eventually(|| sockets(&kernel).iter().any(|it| it.state == State::Listens));

    let test = Test {
        direction,
        waker: host.waker(),
        progress: Arc::default(),
    };
    let control = Control {
        test: test.clone(),
        input: Vec::new(),
        output: COOKIE.to_vec(),
    };
    let data = Data {
        test: test.clone(),
        cookie: COOKIE,
    };
    // The server accepts the second connection as the data connection, but only after it has accepted the first one.
    let to = SocketAddr::new(kernel_address(family), PORT);
    host.connect(to, opening(STACK, control))
        .expect("a connection");
    host.connect(to, opening(STACK, data))
        .expect("a connection");
    let running = Running::start(host);
    if direction == Direction::FromUs {
        // At the end, the server does not count bytes that it has not read.
        let has_read = |it: &Socket| it.state == State::PeerHasFinished && it.unread == 0;
        eventually(|| sockets(&kernel).iter().any(has_read));
        test.progress().data = Stream::Over;
        test.waker.wake();
    }
    eventually(|| test.progress().control == Stage::Done);
    let output = server.finish().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    eprintln!("{text}{complaints}");
    assert!(output.status.success());
    running.finish();
    let progress = test.progress();
    assert!(progress.complete == 2, "both connections end well");
    let (ours, theirs) = (progress.bytes, count_of(&progress.results));
    assert_eq!(ours, theirs, "{}", progress.results);
    match direction {
        Direction::FromUs => assert_eq!(ours, BYTES),
        // The server sends until it is told to end.
        Direction::ToUs => assert!(ours >= BYTES),
    }
}

/// Parses the number of bytes that the server has counted.
fn count_of(results: &str) -> u64 {
    let (_, rest) = results.split_once("\"bytes\":").expect("a count");
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().expect("a number")
}

// --- the server's sockets -----------------------------------------------------------------

/// A socket at the server's port, from the kernel's table (proc(5)).
struct Socket {
    state: State,
    /// Number of bytes that the program has not read.
    unread: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Listens,
    /// The state CLOSE-WAIT.
    PeerHasFinished,
    Other,
}

fn sockets(kernel: &Namespace) -> Vec<Socket> {
    let tables = kernel.run(|| {
        ["tcp", "tcp6"].map(|name| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).expect("a table")
        })
    });
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines.filter_map(socket).collect()
}

fn socket(line: &str) -> Option<Socket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, local, _, state, queues, ..] = words[..] else {
        return None;
    };
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    let state = match state {
        "0A" => State::Listens,
        "08" => State::PeerHasFinished,
        _ => State::Other,
    };
    let unread = u64::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
    (port == PORT).then_some(Socket { state, unread })
}

// --- our side -----------------------------------------------------------------------------

/// State of one iperf3 run, shared by both connections and the test.
#[derive(Clone)]
struct Test {
    direction: Direction,
    waker: Waker,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    control: Stage,
    data: Stream,
    /// Number of bytes sent or received, without the cookie.
    bytes: u64,
    /// Results of the server.
    results: String,
    /// Number of connections that ended properly.
    complete: u32,
}

/// Progress of the control connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Cookie,
    Parameters,
    Streams,
    Running,
    Ending,
    Results,
    ResultsTaken,
    Done,
}

/// Progress of the data connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stream {
    #[default]
    UnderWay,
    Over,
}

impl Test {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().expect("nobody panicked")
    }

    fn closed(&self, outcome: &ConnectionReport) {
        eprintln!("{outcome:?}");
        self.progress().complete += u32::from(outcome.is_complete());
    }

    /// Returns the parameters sent to the server (`iperf_api.c`, `send_parameters`).
    fn parameters(&self) -> Vec<u8> {
        let reverse = match self.direction {
            Direction::ToUs => ",\"reverse\":true",
            Direction::FromUs => "",
        };
        message(&format!(
            "{{\"tcp\":true,\"omit\":0,\"time\":0,\"num\":{BYTES},\"blockcount\":0,\
             \"parallel\":1,\"len\":131072,\"pacing_timer\":1000{reverse}}}"
        ))
    }
}

struct Control {
    test: Test,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Control {
    /// Takes the next step if the input allows it. Returns `true` if it did.
    fn step(&mut self) -> bool {
        let stage = self.test.progress().control;
        if stage == Stage::Results {
            let Some(results) = take_message(&mut self.input) else {
                return false;
            };
            let mut progress = self.test.progress();
            progress.results = String::from_utf8_lossy(&results).into_owned();
            progress.control = Stage::ResultsTaken;
            return true;
        }
        let Some(&state) = self.input.first() else {
            return false;
        };
        let next = match (stage, state) {
            (Stage::Cookie, PARAM_EXCHANGE) => {
                self.output.extend(self.test.parameters());
                Stage::Parameters
            }
            (Stage::Parameters, CREATE_STREAMS) => Stage::Streams,
            (Stage::Streams, TEST_START) => Stage::Streams,
            (Stage::Streams, TEST_RUNNING) => Stage::Running,
            (Stage::Ending, EXCHANGE_RESULTS) => {
                let bytes = self.test.progress().bytes;
                let results = crate::iperf3::results(bytes);
                self.output.extend(message(&results));
                Stage::Results
            }
            (Stage::ResultsTaken, DISPLAY_RESULTS) => {
                self.output.push(IPERF_DONE);
                Stage::Done
            }
            _ => panic!("unexpected state {state} from the server at {stage:?}"),
        };
        self.input.remove(0);
        self.test.progress().control = next;
        // The data connection may wait for the new stage.
        self.test.waker.wake();
        true
    }
}

impl Application for Control {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        let mut progress = self.test.progress();
        if progress.control == Stage::Running && progress.data == Stream::Over {
            progress.control = Stage::Ending;
            self.output.push(TEST_END);
        }
        if self.output.is_empty() {
            return match progress.control {
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

    fn closed(&mut self, outcome: &ConnectionReport) {
        self.test.closed(outcome);
    }
}

/// The data connection.
struct Data {
    test: Test,
    /// Part of the cookie that has not been sent.
    cookie: &'static [u8],
}

impl Application for Data {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        let mut progress = self.test.progress();
        let left = BYTES.saturating_sub(progress.bytes);
        match (self.test.direction, progress.control) {
            (_, Stage::Cookie | Stage::Parameters) => Supply::NothingNow,
            _ if !self.cookie.is_empty() => {
                let length = room.len().min(self.cookie.len());
                let (now, later) = self.cookie.split_at(length);
                room[..length].copy_from_slice(now);
                self.cookie = later;
                Supply::Bytes(length)
            }
            (_, Stage::Streams) => Supply::NothingNow,
            (Direction::FromUs, _) if left > 0 => {
                let length = (room.len() as u64).min(left) as usize;
                room[..length].fill(b'x');
                progress.bytes += length as u64;
                Supply::Bytes(length)
            }
            // The stream stays open, because ending it early would end the test.
            (Direction::ToUs, Stage::Running) => Supply::NothingNow,
            _ => Supply::End,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut progress = self.test.progress();
        progress.bytes += bytes.len() as u64;
        if progress.bytes >= BYTES && progress.data == Stream::UnderWay {
            progress.data = Stream::Over;
            self.test.waker.wake();
        }
        bytes.len()
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        self.test.closed(outcome);
    }
}
