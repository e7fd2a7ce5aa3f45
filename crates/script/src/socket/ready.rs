//! The call `poll`.

use super::arguments::{member, number, words};
use super::tune::differs;
use super::{Attempt, Attempted, Refusal, beyond, value};
use crate::stage::{Role, Stage};
use crate::syntax::Expression;

/// A polled descriptor.
struct Asked<'e> {
    fd: i64,
    events: Vec<&'e str>,
    answer: Vec<&'e str>,
}

/// Events that are reported even if they were not requested.
const ALWAYS: [&str; 3] = ["POLLERR", "POLLHUP", "POLLNVAL"];

impl Stage {
    pub(super) fn poll(&mut self, descriptors: &Expression, timeout: &Expression) -> Attempted {
        let Expression::List(items) = descriptors else {
            return beyond("poll without a list");
        };
        let asked: Vec<Asked<'_>> = items
            .iter()
            .map(read)
            .collect::<Option<_>>()
            .ok_or_else(|| Refusal::Wrong("poll expects {fd=…, events=…, revents=…}".to_owned()))?;
        let ready: Vec<Vec<&str>> = asked.iter().map(|asked| self.ready(asked)).collect();
        let count = ready.iter().filter(|events| !events.is_empty()).count();
        if count == 0 && number(timeout) != Some(0) {
            return Ok(Attempt::Waits);
        }
        for (asked, ready) in asked.iter().zip(&ready) {
            let mut expected = asked.answer.clone();
            expected.sort_unstable();
            if expected != *ready {
                return differs("revents", &expected.join("|"), &ready.join("|"));
            }
        }
        value(count as i64)
    }

    /// Returns the requested events that have occurred, in alphabetical order.
    fn ready(&self, asked: &Asked<'_>) -> Vec<&'static str> {
        let mut now: Vec<&str> = match self.sockets.get(&asked.fd).map(|socket| &socket.role) {
            None => vec!["POLLNVAL"],
            Some(Role::Listening(waiting)) if !waiting.is_empty() => vec!["POLLIN", "POLLRDNORM"],
            Some(Role::Listening(_)) => Vec::new(),
            Some(Role::Fresh) => vec!["POLLHUP", "POLLOUT", "POLLWRNORM"],
            Some(Role::File) => vec!["POLLIN", "POLLOUT"],
            Some(Role::Connected(index)) => self.lines[*index].ready(),
        };
        now.retain(|event| asked.events.contains(event) || ALWAYS.contains(event));
        now.sort_unstable();
        now
    }
}

fn read(item: &Expression) -> Option<Asked<'_>> {
    let Expression::Struct(members) = item else {
        return None;
    };
    Some(Asked {
        fd: number(member(members, "fd")?)?,
        events: words(member(members, "events")?),
        answer: member(members, "revents").map(words).unwrap_or_default(),
    })
}

impl crate::line::Line {
    /// Returns the events that have occurred on a connection.
    fn ready(&self) -> Vec<&'static str> {
        let mut events = Vec::new();
        let room = self.buffer.clone().is_writable(self.stand());
        let over = self.is_over();
        if self.error().is_some() {
            events.push("POLLERR");
        }
        let ended = self.peer_finished || self.reading_over || over;
        if self.unread() > 0 || ended {
            events.extend(["POLLIN", "POLLRDNORM"]);
        }
        if ended {
            events.push("POLLRDHUP");
        }
        if over {
            events.push("POLLHUP");
        }
        if (self.is_established() && room) || over {
            events.extend(["POLLOUT", "POLLWRNORM"]);
        }
        events
    }
}
