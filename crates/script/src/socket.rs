//! System calls on sockets, for the calls that scripts use.

mod arguments;
mod data;
mod queue;
mod ready;
mod tune;

use std::collections::VecDeque;

use crate::line::Presence;
use crate::settings::SocketSettings;
use crate::stage::{Blocking, Role, Socket, Stage, Subject};
use crate::syntax::{Call, Expression};
use arguments::{flag, number, words};

/// Result of trying a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The call returns with this answer.
    Returns(Answer),
    /// The call blocks.
    Waits,
}

/// Return value of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A number.
    Value(i64),
    /// A new file descriptor, which gets the number that the script expects.
    Descriptor,
    /// The number -1, with this error.
    Error(&'static str),
    /// A value written to the call's arguments differs from the script.
    Differs {
        what: &'static str,
        expected: String,
        came: String,
    },
}

/// Reasons why a call cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The call is unsupported.
    Beyond(String),
    /// The script contains an error.
    Wrong(String),
}

pub(crate) type Attempted = Result<Attempt, Refusal>;

pub(super) const fn value(value: i64) -> Attempted {
    Ok(Attempt::Returns(Answer::Value(value)))
}

pub(super) const fn error(name: &'static str) -> Attempted {
    Ok(Attempt::Returns(Answer::Error(name)))
}

pub(super) fn beyond<T>(what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Beyond(what.into()))
}

impl Stage {
    /// Makes a call, or retries a blocked one.
    pub(crate) fn call(&mut self, call: &Call) -> Attempted {
        let arguments = &call.arguments[..];
        match (&*call.name, arguments) {
            ("socket", [_, kind, ..]) => self.socket(call, kind),
            ("open", _) => {
                self.make(call, Role::File)?;
                Ok(Attempt::Returns(Answer::Descriptor))
            }
            ("bind", [fd, ..]) => self.find(fd).map_or(error("EBADF"), |_| value(0)),
            ("listen", [fd, ..]) => self.listen(fd),
            ("accept", [fd, ..]) => self.accept(call, fd, Blocking::Yes),
            ("accept4", [fd, _, _, flags]) => {
                let blocking = match flag(flags, "SOCK_NONBLOCK") {
                    true => Blocking::No,
                    false => Blocking::Yes,
                };
                self.accept(call, fd, blocking)
            }
            ("connect", [fd, ..]) => self.connect_socket(fd),
            ("close", [fd]) => self.close(fd),
            ("shutdown", [fd, how]) => self.shutdown(fd, how),
            ("fcntl", [fd, rest @ ..]) => self.fcntl(fd, rest),
            ("setsockopt", [fd, _, name, set, ..]) => self.set_option(fd, name, set),
            ("getsockopt", [fd, _, name, got, ..]) => self.get_option(fd, name, got),
            ("ioctl", [fd, request, rest @ ..]) => self.ioctl(fd, request, rest),
            ("poll", [descriptors, _, timeout]) => self.poll(descriptors, timeout),
            ("recvmsg", [fd, message, flags]) if flag(flags, "MSG_ERRQUEUE") => {
                self.receive_error(fd, message)
            }
            (name, _) => self.transfer(name, call),
        }
    }

    fn socket(&mut self, call: &Call, kind: &Expression) -> Attempted {
        if !flag(kind, "SOCK_STREAM") {
            return beyond("sockets other than TCP");
        }
        let fd = self.make(call, Role::Fresh)?;
        if flag(kind, "SOCK_NONBLOCK")
            && let Some(socket) = self.sockets.get_mut(&fd)
        {
            socket.blocking = Blocking::No;
        }
        self.subject = Subject::Socket(fd);
        Ok(Attempt::Returns(Answer::Descriptor))
    }

    /// Creates a socket with the number that the script expects.
    fn make(&mut self, call: &Call, role: Role) -> Result<i64, Refusal> {
        let fd = match number(&call.result) {
            Some(fd) if fd >= 0 => fd,
            _ => return beyond(format!("a failing {}", call.name)),
        };
        let socket = Socket {
            role,
            settings: SocketSettings::default(),
            blocking: Blocking::Yes,
        };
        self.sockets.insert(fd, socket);
        Ok(fd)
    }

    /// Returns the number of an open descriptor.
    pub(super) fn find(&self, fd: &Expression) -> Option<i64> {
        number(fd).filter(|fd| self.sockets.contains_key(fd))
    }

    fn listen(&mut self, fd: &Expression) -> Attempted {
        let Some(socket) = number(fd).and_then(|fd| self.sockets.get_mut(&fd)) else {
            return error("EBADF");
        };
        match socket.role {
            Role::Fresh => {
                socket.role = Role::Listening(VecDeque::new());
                value(0)
            }
            Role::Listening(_) => value(0),
            Role::Connected(_) => error("EINVAL"),
            Role::File => error("ENOTSOCK"),
        }
    }

    fn accept(&mut self, call: &Call, fd: &Expression, child: Blocking) -> Attempted {
        let Some(socket) = number(fd).and_then(|fd| self.sockets.get_mut(&fd)) else {
            return error("EBADF");
        };
        let Role::Listening(waiting) = &mut socket.role else {
            return error("EINVAL");
        };
        let Some(line) = waiting.pop_front() else {
            return match socket.blocking {
                Blocking::No => error("EAGAIN"),
                Blocking::Yes => Ok(Attempt::Waits),
            };
        };
        let settings = socket.settings.clone();
        let (delay, cork) = settings.hold();
        self.lines[line].set_hold(self.now, delay, cork);
        let unsent = self.settings.unsent_for(&settings);
        self.lines[line].set_buffer(settings.send_buffer, unsent);
        let fd = self.make(call, Role::Connected(line))?;
        if let Some(socket) = self.sockets.get_mut(&fd) {
            socket.settings = settings;
            socket.blocking = child;
        }
        Ok(Attempt::Returns(Answer::Descriptor))
    }

    fn connect_socket(&mut self, fd: &Expression) -> Attempted {
        let Some(fd) = self.find(fd) else {
            return error("EBADF");
        };
        let socket = &self.sockets[&fd];
        let blocking = socket.blocking;
        match socket.role {
            Role::Fresh => {
                let settings = socket.settings.clone();
                let line = self.connect(&settings).map_err(Refusal::Wrong)?;
                let (delay, cork) = settings.hold();
                self.lines[line].set_hold(self.now, delay, cork);
                let unsent = self.settings.unsent_for(&settings);
                self.lines[line].set_buffer(settings.send_buffer, unsent);
                if let Some(socket) = self.sockets.get_mut(&fd) {
                    socket.role = Role::Connected(line);
                }
                self.subject = Subject::Line(line);
                match blocking {
                    Blocking::No => error("EINPROGRESS"),
                    Blocking::Yes => Ok(Attempt::Waits),
                }
            }
            Role::Connected(line) => {
                let line = &mut self.lines[line];
                if let Some(name) = line.error() {
                    line.error_told = true;
                    return error(name);
                }
                let first = !line.connect_told;
                match (line.is_established(), blocking) {
                    (true, _) => {
                        line.connect_told = true;
                        if first { value(0) } else { error("EISCONN") }
                    }
                    (false, Blocking::No) => error("EALREADY"),
                    (false, Blocking::Yes) => Ok(Attempt::Waits),
                }
            }
            Role::Listening(_) => error("EISCONN"),
            Role::File => error("ENOTSOCK"),
        }
    }

    fn close(&mut self, fd: &Expression) -> Attempted {
        let Some(socket) = number(fd).and_then(|fd| self.sockets.remove(&fd)) else {
            return error("EBADF");
        };
        let now = self.now;
        match socket.role {
            Role::Connected(index) => {
                let line = &mut self.lines[index];
                line.application = Presence::Gone;
                // Unread data is lost, so the peer must be informed by a RST (RFC 2525 §2.17).
                if line.unread() > 0
                    || socket.settings.abort_at_close
                    || !line.connection.state().is_synchronized()
                {
                    line.connection.abort();
                } else {
                    line.close();
                }
                line.settle(now);
            }
            Role::Listening(waiting) => {
                for index in waiting {
                    let line = &mut self.lines[index];
                    line.connection.abort();
                    line.settle(now);
                }
            }
            Role::Fresh | Role::File => {}
        }
        value(0)
    }

    fn shutdown(&mut self, fd: &Expression, how: &Expression) -> Attempted {
        let Some(fd) = self.find(fd) else {
            return error("EBADF");
        };
        let Role::Connected(index) = self.sockets[&fd].role else {
            return error("ENOTCONN");
        };
        let line = &mut self.lines[index];
        if line.is_over() || !line.is_established() {
            return error("ENOTCONN");
        }
        match words(how)[..] {
            ["SHUT_WR"] => line.close(),
            ["SHUT_RD"] => line.reading_over = true,
            ["SHUT_RDWR"] => {
                line.reading_over = true;
                line.close();
            }
            _ => return error("EINVAL"),
        }
        line.settle(self.now);
        value(0)
    }

    fn fcntl(&mut self, fd: &Expression, rest: &[Expression]) -> Attempted {
        const READ_WRITE: i64 = 0x2;
        const NON_BLOCKING: i64 = 0x800;
        let Some(socket) = number(fd).and_then(|fd| self.sockets.get_mut(&fd)) else {
            return error("EBADF");
        };
        match rest {
            [get, ..] if flag(get, "F_GETFL") => value(match socket.blocking {
                Blocking::Yes => READ_WRITE,
                Blocking::No => READ_WRITE | NON_BLOCKING,
            }),
            [set, flags] if flag(set, "F_SETFL") => {
                let on = flag(flags, "O_NONBLOCK")
                    || number(flags).is_some_and(|flags| flags & NON_BLOCKING != 0);
                socket.blocking = if on { Blocking::No } else { Blocking::Yes };
                value(0)
            }
            _ => beyond("this use of fcntl"),
        }
    }
}
