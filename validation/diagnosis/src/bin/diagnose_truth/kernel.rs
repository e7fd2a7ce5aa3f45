//! Events of the kernel's senders: the tracepoints `tcp_retransmit_skb` and `tcp_cong_state_set`, read from a tracing
//! instance that is removed at the end.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Folder of the kernel's tracing.
pub const TRACING: &str = "/sys/kernel/tracing";

/// `O_NONBLOCK` of Linux, on all supported processors.
const NONBLOCK: i32 = 0o4000;

/// Interval between two reads of the pipe.
const PAUSE: Duration = Duration::from_millis(5);

/// Size of the buffer for events, in kB per processor.
const BUFFER_KB: &str = "8192";

/// Number of marks with which two clocks are compared. The mark with the shortest delay is used.
const MARKS: u32 = 5;

/// States of Linux (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Open, Disorder or CWR: no segment is marked as lost.
    Calm,
    Recovery,
    Loss,
}

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A packet was retransmitted; `went` is `true` if it left the sender.
    Again { went: bool },
    /// The state was set.
    State(State),
    /// A mark of this program, with the time of day at which it was written.
    Mark { id: u64, unix_nanos: u64 },
}

/// An event of the kernel, or a mark of this program.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Monotonic time in nanoseconds. Its resolution is one microsecond.
    pub at: u64,
    /// Port of the sender, or 0 for a mark.
    pub port: u16,
    pub what: What,
}

/// Records events of the kernel.
pub struct Tracer {
    instance: PathBuf,
    events: Arc<Mutex<Vec<Event>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    /// Starts recording events of senders to `port`.
    pub fn start(port: u16) -> Result<Self, String> {
        let instance = PathBuf::from(format!("{TRACING}/instances/dupack-{}", std::process::id()));
        let failed = |what: &str| {
            let what = format!("{}/{what}", instance.display());
            move |error: std::io::Error| format!("{what}: {error}")
        };
        fs::create_dir(&instance).map_err(failed(""))?;
        let mut tracer = Self {
            instance: instance.clone(),
            events: Arc::default(),
            stop: Arc::default(),
            thread: None,
        };
        let set =
            |file: &str, text: &str| fs::write(instance.join(file), text).map_err(failed(file));
        set("trace_clock", "mono")?;
        set("buffer_size_kb", BUFFER_KB)?;
        for event in ["tcp_retransmit_skb", "tcp_cong_state_set"] {
            set(
                &format!("events/tcp/{event}/filter"),
                &format!("dport == {port}"),
            )?;
            set(&format!("events/tcp/{event}/enable"), "1")?;
        }
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(NONBLOCK)
            .open(instance.join("trace_pipe"))
            .map_err(failed("trace_pipe"))?;
        let (events, stop) = (Arc::clone(&tracer.events), Arc::clone(&tracer.stop));
        tracer.thread = Some(thread::spawn(move || follow(pipe, &events, &stop)));
        Ok(tracer)
    }

    /// Returns the difference between the time of day and the monotonic clock, and the present time of the monotonic
    /// clock, in nanoseconds. Every `id` must be unique.
    pub fn offset(&self, id: u64) -> Result<(i64, u64), String> {
        let path = self.instance.join("trace_marker");
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut marker = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        for _ in 0..MARKS {
            let text = format!("dupack {id} {}", unix_nanos());
            marker.write_all(text.as_bytes()).map_err(failed)?;
        }
        let mut offset = None;
        for _ in 0..200 {
            thread::sleep(PAUSE);
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let marks = events.iter().filter_map(|event| match event.what {
                What::Mark {
                    id: other,
                    unix_nanos,
                } if other == id => {
                    Some((unix_nanos.cast_signed() - event.at.cast_signed(), event.at))
                }
                _ => None,
            });
            let marks: Vec<(i64, u64)> = marks.collect();
            if marks.len() == MARKS as usize {
                // The time of day is read before the mark is written. The delay between the two reduces the difference,
                // so the largest difference is the most accurate.
                offset = marks.into_iter().max();
                break;
            }
        }
        offset.ok_or_else(|| "the kernel does not show our own marks".to_owned())
    }

    /// Returns the events of the sender at `port`, starting at the time `since`.
    pub fn events(&self, port: u16, since: u64) -> Vec<Event> {
        // The latest events may not have arrived yet.
        thread::sleep(PAUSE * 10);
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = events.iter().filter(|e| e.port == port && e.at >= since);
        ours.copied().collect()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = fs::remove_dir(&self.instance);
    }
}

fn follow(mut pipe: File, events: &Mutex<Vec<Event>>, stop: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    let mut line = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match pipe.read(&mut buffer) {
            Ok(0) => thread::sleep(PAUSE),
            Ok(length) => {
                for byte in &buffer[..length] {
                    if *byte != b'\n' {
                        line.push(*byte);
                        continue;
                    }
                    let event = parse(&String::from_utf8_lossy(&line));
                    line.clear();
                    if let Some(event) = event {
                        let mut kept = events.lock().unwrap_or_else(PoisonError::into_inner);
                        kept.push(event);
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "captures have the time of day, and the kernel's events another clock"
)]
fn unix_nanos() -> u64 {
    let today = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(today.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// Parses a line: `swapper-0 [000] ..s2. 123.456789: tcp_retransmit_skb: ... sport=1 ...`.
fn parse(line: &str) -> Option<Event> {
    const NAMES: [&str; 3] = [
        "tcp_retransmit_skb",
        "tcp_cong_state_set",
        "tracing_mark_write",
    ];
    let (name, (head, tail)) = NAMES.iter().find_map(|name| {
        let parts = line.split_once(&format!(": {name}: "))?;
        Some((*name, parts))
    })?;
    let (seconds, micros) = head.rsplit(' ').next()?.split_once('.')?;
    let at = seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1000;
    if name == "tracing_mark_write" {
        let mut words = tail.strip_prefix("dupack ")?.split_whitespace();
        let (id, unix_nanos) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let what = What::Mark { id, unix_nanos };
        return Some(Event { at, port: 0, what });
    }
    let field = |name: &str| {
        let mut words = tail.split_whitespace();
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let port = field("sport")?.parse().ok()?;
    let what = if name == "tcp_retransmit_skb" {
        if matches!(field("state")?, "TCP_SYN_SENT" | "TCP_SYN_RECV") {
            return None;
        }
        let went = field("err").is_none_or(|error| error == "0");
        What::Again { went }
    } else {
        What::State(match field("cong_state")? {
            "3" => State::Recovery,
            "4" => State::Loss,
            _ => State::Calm,
        })
    };
    Some(Event { at, port, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let line = "          <idle>-0       [001] ..s3. 12345.678901: tcp_retransmit_skb: skbaddr=0 skaddr=0 \
                    family=AF_INET sport=46164 dport=5001 saddr=1 daddr=2 saddrv6=3 daddrv6=4 \
                    state=TCP_ESTABLISHED err=0";
        let event = parse(line).unwrap();
        assert_eq!((event.at, event.port), (12_345_678_901_000, 46_164));
        assert_eq!(event.what, What::Again { went: true });
        let line = "x-1 [000] ..s2. 1.000002: tcp_cong_state_set: family=AF_INET sport=7 dport=5001 cong_state=4";
        assert_eq!(parse(line).unwrap().what, What::State(State::Loss));
        let line = "x-1 [000] ..... 1.000002: tracing_mark_write: dupack 3 99";
        let mark = What::Mark {
            id: 3,
            unix_nanos: 99,
        };
        assert_eq!(parse(line).unwrap().what, mark);
        assert!(parse("CPU:0 [LOST 5 EVENTS]").is_none());
    }
}
