//! Calls that transfer data.

use dupack_tcp::time::Instant;

use super::arguments::{flag, member, number, vector_bytes};
use super::tune::differs;
use super::{Answer, Attempt, Attempted, Refusal, beyond, error, value};
use crate::hold::Cork;
use crate::line::Line;
use crate::stage::{Blocking, Role, Stage};
use crate::syntax::{Call, Expression};

/// A data transfer by a call.
struct Transfer<'c> {
    fd: &'c Expression,
    direction: Direction,
    bytes: i64,
    flags: Option<&'c Expression>,
    /// `true` if the buffer is `NULL`.
    nowhere: bool,
    /// Expected value of `TCP_CM_INQ`: the number of bytes that are still unread.
    left: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

impl Stage {
    /// Makes a call that transfers data, or returns an error if the call is unsupported.
    pub(super) fn transfer(&mut self, name: &str, call: &Call) -> Attempted {
        let transfer = read_transfer(name, &call.arguments)?;
        let flagged = |name| transfer.flags.is_some_and(|flags| flag(flags, name));
        for special in [
            "MSG_FASTOPEN",
            "MSG_ZEROCOPY",
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
        let cork = match flagged("MSG_MORE") {
            true => Cork::In,
            false => Cork::Out,
        };
        match (&socket.role, transfer.direction) {
            (Role::Connected(_), _) if transfer.nowhere => error("EFAULT"),
            (Role::Connected(index), Direction::Out) => {
                let line = &mut self.lines[*index];
                let written = line.write(transfer.bytes, blocking, call, (cork, now))?;
                line.settle(now);
                Ok(written)
            }
            (Role::Connected(index), Direction::In) => {
                let line = &mut self.lines[*index];
                let read = line.read(transfer.bytes, blocking)?;
                line.settle(now);
                match (transfer.left, &read) {
                    (Some(expected), Attempt::Returns(Answer::Value(_)))
                        if expected != line.left() =>
                    {
                        differs(
                            "TCP_CM_INQ",
                            &expected.to_string(),
                            &line.left().to_string(),
                        )
                    }
                    _ => Ok(read),
                }
            }
            (Role::Fresh | Role::Listening(_), Direction::Out) => error("EPIPE"),
            (Role::Fresh | Role::Listening(_), Direction::In) => error("ENOTCONN"),
            (Role::File, _) => beyond("reading and writing files"),
        }
    }
}

fn read_transfer<'c>(name: &str, arguments: &'c [Expression]) -> Result<Transfer<'c>, Refusal> {
    use Direction::{In, Out};
    let nowhere = arguments.get(1).is_some_and(|buffer| flag(buffer, "NULL"));
    let wrong = || Refusal::Wrong(format!("invalid arguments of {name}"));
    let plain = |fd, bytes, direction, flags| {
        Ok(Transfer {
            fd,
            direction,
            bytes: number(bytes).ok_or_else(wrong)?,
            flags,
            nowhere,
            left: None,
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
            nowhere,
            left: None,
        }),
        ("sendmsg" | "recvmsg", [fd, Expression::Struct(message), flags]) => {
            let left = match member(message, "msg_control") {
                None => None,
                Some(control) => Some(bytes_left(control).ok_or_else(|| {
                    Refusal::Beyond(format!(
                        "{name} with control messages other than TCP_CM_INQ"
                    ))
                })?),
            };
            Ok(Transfer {
                fd,
                direction: if name == "sendmsg" { Out } else { In },
                bytes: member(message, "msg_iov")
                    .and_then(vector_bytes)
                    .ok_or_else(wrong)?,
                flags: Some(flags),
                nowhere,
                left,
            })
        }
        _ => beyond(format!("the call {name}")),
    }
}

/// Returns the number in `[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=8000}]`.
fn bytes_left(control: &Expression) -> Option<i64> {
    let Expression::List(messages) = control else {
        return None;
    };
    let [Expression::Struct(message)] = &messages[..] else {
        return None;
    };
    let of_this_type = flag(member(message, "cmsg_type")?, "TCP_CM_INQ");
    of_this_type.then(|| number(member(message, "cmsg_data")?))?
}

impl Line {
    /// Returns the value of `TCP_CM_INQ`: the number of unread bytes, plus one for a FIN.
    fn left(&self) -> i64 {
        self.unread() as i64 + i64::from(self.peer_finished)
    }

    fn write(
        &mut self,
        bytes: i64,
        blocking: Blocking,
        call: &Call,
        (cork, now): (Cork, Instant),
    ) -> Attempted {
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
        // Unless the script sets the size of the send buffer, Linux determines it, so a blocked or partial write would
        // not be comparable.
        let limited = self.buffer.is_bounded();
        let cut = number(&call.result).is_some_and(|expected| (0..bytes).contains(&expected));
        if !limited && (call.error.as_deref() == Some("EAGAIN") || cut || call.until.is_some()) {
            return beyond("a full send buffer");
        }
        let Ok(length) = u64::try_from(bytes) else {
            return error("EINVAL");
        };
        // A write of zero bytes shows if the connection accepts more data.
        if self.connection.write(0).is_err() {
            return error("EPIPE");
        }
        let stand = self.stand();
        if !self.buffer.admits(stand) {
            return Ok(Attempt::Waits);
        }
        let done = self.buffer.done();
        let done = done + self.push(now, length.saturating_sub(done), cork);
        if done < length && blocking == Blocking::Yes {
            self.buffer.wait_after(done);
            return Ok(Attempt::Waits);
        }
        self.buffer.end_write(done < length);
        if done == 0 && length > 0 {
            return error("EAGAIN");
        }
        self.note_written();
        Ok(Attempt::Returns(Answer::Value(done as i64)))
    }

    fn read(&mut self, bytes: i64, blocking: Blocking) -> Attempted {
        let Ok(wanted) = u64::try_from(bytes) else {
            return error("EINVAL");
        };
        let there = self.unread().min(wanted);
        if there > 0 {
            self.connection.read(there);
            self.taken += there;
            return Ok(Attempt::Returns(Answer::Value(there as i64)));
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
