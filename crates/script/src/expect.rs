//! Comparison of the packets that the endpoint sends with the packets that a script expects.

use dupack_tcp::connection::Outgoing;
use dupack_tcp::time::{Duration, Instant};

use crate::line::Departed;
use crate::outcome::{Failure, Stop};
use crate::run::{Player, clock};
use crate::stage::{Expired, Subject};
use crate::syntax::{EcnField, Packet, TcpOption};
use crate::wire::{Listed, letters};

/// Time range of an expected packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) earliest: Instant,
    /// `None` if any time is allowed.
    pub(crate) latest: Option<Instant>,
    pub(crate) tolerance: Duration,
    /// Time at which the player stops waiting.
    pub(crate) deadline: Instant,
}

/// The packet that was sent in place of an expected packet: one segment, or several segments in one burst.
struct Came {
    at: Instant,
    /// The packet, with the script's sequence numbers and timestamps.
    packet: Packet,
    segments: usize,
    /// `true` if the packet ends where the application's data ended when the packet was sent.
    ends_the_data: bool,
}

impl Player<'_> {
    /// Waits for a packet and compares it with the expected one.
    pub(crate) fn expect(
        &mut self,
        line: usize,
        packet: &Packet,
        window: Window,
    ) -> Result<(), Stop> {
        let Some(first) = self.next_departed(line, window.deadline)? else {
            let mut failure = Failure::new(line, "the endpoint sent nothing".to_owned());
            failure.expected = Some(format!("{} {packet}", expected_at(&window)));
            failure.came = Some(match self.stage.next_timeout() {
                Some(next) => format!("nothing before the next timer at {}", clock(next)),
                None => "nothing, and no timer is running".to_owned(),
            });
            return Err(self.with_state(failure));
        };
        let Some(index) = self.stage.subject_line() else {
            return Ok(());
        };
        if packet.is(Packet::SYN) {
            self.stage.lines[index].numbers.begin(packet.seq);
        }
        self.stage.lines[index]
            .numbers
            .note_stamp(packet, &first.outgoing);
        let came = self.gather(index, first, packet);
        let differences = self.differences(packet, &came, &window);
        if differences.is_empty() {
            return Ok(());
        }
        let message = match differences.len() {
            1 => "the endpoint sent a different packet".to_owned(),
            n => format!("the endpoint sent a different packet: {n} differences"),
        };
        let mut failure = Failure::new(line, message);
        failure.expected = Some(format!("{} {packet}", expected_at(&window)));
        failure.came = Some(format!(
            "{} {}{}",
            clock(came.at),
            came.packet,
            made_of(came.segments)
        ));
        failure.differences = differences;
        Err(self.with_state(failure))
    }

    /// Returns the next packet that the subject sends by `deadline`.
    fn next_departed(&mut self, line: usize, deadline: Instant) -> Result<Option<Departed>, Stop> {
        loop {
            if let Some(index) = self.stage.subject_line()
                && let Some(departed) = self.stage.lines[index].departed.pop_front()
            {
                return Ok(Some(departed));
            }
            if self.stage.subject == Subject::Nothing {
                return Ok(None);
            }
            // A packet at the deadline itself is in time.
            let until = deadline + Duration::from_nanos(1);
            if self.expire_before(line, until)? == Expired::Nothing {
                return Ok(None);
            }
        }
    }

    /// Merges consecutive segments that were sent at the same time into one packet, as long as the script expects a
    /// longer packet: Linux passes several segments to the device at once.
    fn gather(&mut self, index: usize, first: Departed, expected: &Packet) -> Came {
        let strict = self.stage.settings.strict_segments();
        let line = &mut self.stage.lines[index];
        let written = line.connection.written();
        let mut packet = line.numbers.outbound(&first.outgoing.segment);
        let mut end = first.outgoing.data.end;
        let mut segments = 1;
        while packet.len < expected.len && !strict {
            let Some(next) = line.departed.front() else {
                break;
            };
            let segment = line.numbers.outbound(&next.outgoing.segment);
            let follows = segment.seq == packet.seq.wrapping_add(packet.len) && segment.len > 0;
            let alike = segment.ack == packet.ack
                && segment.options == packet.options
                && segment.window == packet.window
                && segment.ecn == packet.ecn;
            if next.at != first.at || !follows || !alike {
                break;
            }
            end = next.outgoing.data.end;
            packet.len += segment.len;
            packet.flags |= segment.flags;
            segments += 1;
            line.departed.pop_front();
        }
        Came {
            at: first.at,
            ends_the_data: end == written && line.hold.is_pushed(end) && has_data(&first.outgoing),
            packet,
            segments,
        }
    }

    fn differences(&self, expected: &Packet, came: &Came, window: &Window) -> Vec<String> {
        let actual = &came.packet;
        let mut list = Vec::new();
        let mut compare = |what: &str, expected: u32, came: u32| {
            if expected != came {
                list.push(format!("{what}: expected {expected}, got {came}"));
            }
        };
        compare("sequence number", expected.seq, actual.seq);
        compare("length", expected.len, actual.len);
        compare("acknowledgment number", expected.ack, actual.ack);
        if let (Some(expected), Some(actual)) = (expected.window, actual.window) {
            compare("window", u32::from(expected), u32::from(actual));
        }
        // Before the end of the written data, the buffers of a kernel determine where PSH is set, so PSH is ignored.
        let ignored = match came.ends_the_data || actual.len == 0 {
            true => 0,
            false => Packet::PSH,
        };
        if (expected.flags ^ actual.flags) & !ignored != 0 {
            list.push(format!(
                "flags: expected {}, got {}",
                letters(expected.flags),
                letters(actual.flags)
            ));
        }
        let came_field = actual.ecn.unwrap_or(EcnField::NotCapable);
        if let Some(field) = expected.ecn
            && !field.covers(came_field)
        {
            list.push(format!("ECN field: expected {field}, got {came_field}"));
        }
        self.compare_options(expected, actual, &mut list);
        self.compare_time(came.at, window, &mut list);
        list
    }

    fn compare_options(&self, expected: &Packet, came: &Packet, list: &mut Vec<String>) {
        let (Some(expected), Some(came)) = (&expected.options, &came.options) else {
            return;
        };
        let alike = expected.len() == came.len()
            && expected.iter().zip(came).all(|pair| match pair {
                (
                    TcpOption::Timestamps { value, echo },
                    TcpOption::Timestamps {
                        value: came,
                        echo: came_echo,
                    },
                ) => echo == came_echo && self.is_timely(*value, *came),
                (one, other) => one == other,
            });
        if !alike {
            list.push(format!(
                "options: expected {}, got {}",
                Listed(expected),
                Listed(came)
            ));
        }
    }

    /// Returns `true` if a timestamp is within the script's tolerance, or if the script does not check timestamps.
    fn is_timely(&self, expected: u32, came: u32) -> bool {
        let settings = &self.stage.settings;
        let Some(tick) = settings.timestamp_tick() else {
            return true;
        };
        let apart = u64::from(expected.wrapping_sub(came).min(came.wrapping_sub(expected)));
        let since_beginning = self.stage.now.since(crate::stage::BEGINNING);
        tick.saturating_mul(apart) <= settings.tolerance(since_beginning)
    }

    fn compare_time(&self, at: Instant, window: &Window, list: &mut Vec<String>) {
        let Some(latest) = window.latest else {
            return;
        };
        let slack = window.tolerance;
        if at + slack >= window.earliest && at <= latest + slack {
            return;
        }
        let (word, apart) = match at > latest {
            true => ("late", at.since(latest)),
            false => ("early", window.earliest.since(at)),
        };
        list.push(format!(
            "time: {:.3} ms too {word}, tolerance {:.3} ms",
            apart.as_secs_f64() * 1e3,
            slack.as_secs_f64() * 1e3
        ));
    }
}

fn has_data(outgoing: &Outgoing) -> bool {
    !outgoing.data.is_empty()
}

fn expected_at(window: &Window) -> String {
    match window.latest {
        None => "at any time".to_owned(),
        Some(latest) if latest == window.earliest => clock(latest),
        Some(latest) => format!("{} to {}", clock(window.earliest), clock(latest)),
    }
}

fn made_of(segments: usize) -> String {
    match segments {
        1 => String::new(),
        n => format!(" ({n} segments)"),
    }
}
