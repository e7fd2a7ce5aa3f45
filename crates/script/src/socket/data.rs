//! Calls that move data.

use super::arguments::{flag, member, number, vector_bytes};
use super::{Attempt, Attempted, Refusal, beyond, error, value};
use crate::line::Line;
use crate::stage::{Blocking, Role, Stage};
use crate::syntax::{Call, Expression};

/// What a call moves.
struct Transfer<'c> {
    fd: &'c Expression,
    direction: Direction,
    bytes: i64,
    flags: Option<&'c Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

impl Stage {
    /// A call that moves data, or one that is not there.
    pub(super) fn transfer(&mut self, name: &str, call: &Call) -> Attempted {
        let transfer = read_transfer(name, &call.arguments)?;
        let flagged = |name| transfer.flags.is_some_and(|flags| flag(flags, name));
        for special in [
            "MSG_FASTOPEN",
            "MSG_ZEROCOPY",
            "MSG_MORE",
            "MSG_EOR",
            "MSG_OOB",
            "MSG_ERRQUEUE",
            "MSG_PEEK",
            "MSG_TRUNC",
            "MSG_WAITALL",
        ] {
            if flagged(special) {
                return beyond(format!("{name} with {special}"));
            }
        }
        let Some(fd) = self.find(transfer.fd) else {
            return error("EBADF");
        };
        let socket = &self.sockets[&fd];
        let blocking = match flagged("MSG_DONTWAIT") {
            true => Blocking::No,
            false => socket.blocking,
        };
        let now = self.now;
        match (&socket.role, transfer.direction) {
            (Role::Connected(index), Direction::Out) => {
                let line = &mut self.lines[*index];
                let written = line.write(transfer.bytes, blocking, call)?;
                line.settle(now);
                Ok(written)
            }
            (Role::Connected(index), Direction::In) => {
                let line = &mut self.lines[*index];
                let read = line.read(transfer.bytes, blocking)?;
                line.settle(now);
                Ok(read)
            }
            (Role::Fresh | Role::Listening(_), Direction::Out) => error("EPIPE"),
            (Role::Fresh | Role::Listening(_), Direction::In) => error("ENOTCONN"),
            (Role::File, _) => beyond("reading and writing files"),
        }
    }
}

fn read_transfer<'c>(name: &str, arguments: &'c [Expression]) -> Result<Transfer<'c>, Refusal> {
    use Direction::{In, Out};
    if arguments.iter().any(|argument| flag(argument, "NULL")) {
        return beyond("a buffer that is not there (NULL)");
    }
    let wrong = || Refusal::Wrong(format!("{name} with these arguments"));
    let plain = |fd, bytes, direction, flags| {
        Ok(Transfer {
            fd,
            direction,
            bytes: number(bytes).ok_or_else(wrong)?,
            flags,
        })
    };
    match (name, arguments) {
        ("write", [fd, _, bytes]) => plain(fd, bytes, Out, None),
        ("send" | "sendto", [fd, _, bytes, flags, ..]) => plain(fd, bytes, Out, Some(flags)),
        ("sendfile", [fd, _, _, bytes]) => plain(fd, bytes, Out, None),
        ("read", [fd, _, bytes]) => plain(fd, bytes, In, None),
        ("recv" | "recvfrom", [fd, _, bytes, flags, ..]) => plain(fd, bytes, In, Some(flags)),
        ("writev" | "readv", [fd, vector, _]) => Ok(Transfer {
            fd,
            direction: if name == "writev" { Out } else { In },
            bytes: vector_bytes(vector).ok_or_else(wrong)?,
            flags: None,
        }),
        ("sendmsg" | "recvmsg", [fd, Expression::Struct(message), flags]) => {
            if member(message, "msg_control").is_some() {
                return beyond(format!("{name} with control messages"));
            }
            Ok(Transfer {
                fd,
                direction: if name == "sendmsg" { Out } else { In },
                bytes: member(message, "msg_iov")
                    .and_then(vector_bytes)
                    .ok_or_else(wrong)?,
                flags: Some(flags),
            })
        }
        _ => beyond(format!("the call {name}")),
    }
}

impl Line {
    fn write(&mut self, bytes: i64, blocking: Blocking, call: &Call) -> Attempted {
        if let Some(name) = self.error() {
            self.error_told = true;
            return error(name);
        }
        if self.is_over() {
            return error("EPIPE");
        }
        if !self.is_established() {
            return match blocking {
                Blocking::No => error("EAGAIN"),
                Blocking::Yes => Ok(Attempt::Waits),
            };
        }
        // There is no send buffer: what Linux would make wait, or cut short, is not comparable.
        let cut = number(&call.result).is_some_and(|expected| (0..bytes).contains(&expected));
        if call.error.as_deref() == Some("EAGAIN") || cut || call.until.is_some() {
            return beyond("a send buffer that is full");
        }
        let Ok(length) = u64::try_from(bytes) else {
            return error("EINVAL");
        };
        match self.connection.write(length) {
            Ok(()) => value(bytes),
            Err(_) => error("EPIPE"),
        }
    }

    fn read(&mut self, bytes: i64, blocking: Blocking) -> Attempted {
        let Ok(wanted) = u64::try_from(bytes) else {
            return error("EINVAL");
        };
        let there = self.unread().min(wanted);
        if there > 0 {
            self.connection.read(there);
            self.taken += there;
            return Ok(Attempt::Returns(super::Answer::Value(there as i64)));
        }
        if let Some(name) = self.error() {
            self.error_told = true;
            return error(name);
        }
        if self.peer_finished || self.reading_over || self.is_over() || wanted == 0 {
            return value(0);
        }
        match blocking {
            Blocking::No => error("EAGAIN"),
            Blocking::Yes => Ok(Attempt::Waits),
        }
    }
}
