//! Socket options, and queries of a socket's state.

use super::arguments::{flag, member, number, words};
use super::{Answer, Attempt, Attempted, Refusal, beyond, error, value};
use crate::settings::{
    Connected, is_harmless, is_no_control, is_out_of_range, system_user_timeout, user_timeout,
};
use crate::stage::{Role, Stage};
use crate::syntax::Expression;

impl Stage {
    pub(super) fn set_option(
        &mut self,
        fd: &Expression,
        name: &Expression,
        set: &Expression,
    ) -> Attempted {
        let Some(socket) = number(fd).and_then(|fd| self.sockets.get_mut(&fd)) else {
            return error("EBADF");
        };
        let [name] = words(name)[..] else {
            return beyond("a socket option without a name");
        };
        let connected = match socket.role {
            Role::Connected(_) => Connected::Yes,
            _ => Connected::No,
        };
        if let Some(refusal) = refusal(name, set) {
            return error(refusal);
        }
        if is_harmless(name) {
            return value(0);
        }
        if matches!(name, "TCP_NODELAY" | "TCP_CORK") {
            let on = number(set).is_some_and(|number| number != 0);
            socket.settings.set_hold(name, on);
            if let Role::Connected(index) = socket.role {
                let (delay, cork) = socket.settings.hold();
                self.lines[index].set_hold(self.now, delay, cork);
            }
            return value(0);
        }
        if let (Role::Connected(index), "SO_TIMESTAMPING", Expression::List(items)) =
            (&socket.role, name, set)
            && let [asked] = &items[..]
        {
            let line = &mut self.lines[*index];
            line.stamps
                .ask(&words(asked), line.connection.acknowledged());
            return value(0);
        }
        if let (Role::Connected(index), "TCP_NOTSENT_LOWAT", Some(bytes)) =
            (&socket.role, name, number(set))
        {
            socket.settings.unsent = u32::try_from(bytes).ok();
            let unsent = self.settings.unsent_for(&socket.settings).unwrap_or(0);
            self.lines[*index].buffer.set_unsent(u64::from(unsent));
            return value(0);
        }
        if let (Role::Connected(index), "SO_SNDBUF", Some(bytes)) =
            (&socket.role, name, number(set))
        {
            let bytes = u64::try_from(bytes).unwrap_or(0);
            self.lines[*index].buffer.set(bytes);
            return value(0);
        }
        if let (Role::Connected(index), "TCP_USER_TIMEOUT", Some(millis)) =
            (&socket.role, name, number(set))
        {
            let timeout = user_timeout(u64::try_from(millis).unwrap_or(0));
            let timeout = timeout.unwrap_or_else(system_user_timeout);
            let line = &mut self.lines[*index];
            line.connection.set_user_timeout(timeout);
            return value(0);
        }
        let done = match set {
            Expression::Text(text) => socket.settings.set_text(name, text),
            Expression::Struct(members) if name == "SO_LINGER" => {
                let on = member(members, "onoff").and_then(number);
                let seconds = member(members, "linger").and_then(number);
                socket.settings.abort_at_close = on == Some(1) && seconds == Some(0);
                match (on, seconds) {
                    (Some(0), _) | (_, Some(0)) => Ok(()),
                    _ => Err("lingering close".to_owned()),
                }
            }
            other => match number(other) {
                Some(number) => socket.settings.set(name, number, connected),
                None => Err(format!("the socket option {name} with this value")),
            },
        };
        match done {
            Ok(()) => value(0),
            Err(reason) => Err(Refusal::Beyond(reason)),
        }
    }

    pub(super) fn get_option(
        &mut self,
        fd: &Expression,
        name: &Expression,
        got: &Expression,
    ) -> Attempted {
        let Some(fd) = self.find(fd) else {
            return error("EBADF");
        };
        let socket = &self.sockets[&fd];
        let Role::Connected(index) = socket.role else {
            return match (flag(name, "TCP_MAXSEG"), socket.settings.mss()) {
                (true, Some(mss)) => compare("the option's value", number(got), i64::from(mss)),
                _ => beyond("reading options of a socket without a connection"),
            };
        };
        let line = &mut self.lines[index];
        if flag(name, "SO_ERROR") {
            let came = line.error();
            line.error_told |= came.is_some();
            return compare_error(got, came);
        }
        if flag(name, "TCP_NOTSENT_LOWAT") {
            let came = socket.settings.unsent.unwrap_or(0);
            return compare("the option's value", number(got), i64::from(came));
        }
        if flag(name, "SO_SNDBUF")
            && let Some(limit) = line.buffer.limit()
        {
            return compare("the option's value", number(got), limit as i64);
        }
        if flag(name, "TCP_MAXSEG") {
            // Linux's value does not include the length of options.
            let came = line
                .connection
                .sender()
                .map(|sender| i64::from(sender.config().smss));
            return compare("the option's value", number(got), came.unwrap_or(0));
        }
        beyond(format!(
            "reading the socket option {}",
            words(name).join("|")
        ))
    }

    pub(super) fn ioctl(
        &mut self,
        fd: &Expression,
        request: &Expression,
        rest: &[Expression],
    ) -> Attempted {
        let Some(fd) = self.find(fd) else {
            return error("EBADF");
        };
        let Role::Connected(index) = self.sockets[&fd].role else {
            return error("EINVAL");
        };
        let line = &self.lines[index];
        let expected = rest.first().and_then(number);
        let came = if flag(request, "SIOCINQ") {
            line.unread()
        } else if flag(request, "SIOCOUTQ") {
            (line.connection.written().saturating_add(line.hold.bytes()))
                .saturating_sub(line.connection.acknowledged())
        } else if flag(request, "SIOCOUTQNSD") {
            let sent = line.connection.sender().map_or(0, |s| s.scoreboard().nxt());
            (line.connection.written().saturating_sub(sent)).saturating_add(line.hold.bytes())
        } else {
            return beyond(format!("ioctl {}", words(request).join("|")));
        };
        compare("the number of bytes", expected, came as i64)
    }
}

/// Returns the error with which Linux rejects this value of an option, or `None` if Linux accepts it.
fn refusal(name: &str, set: &Expression) -> Option<&'static str> {
    match (name, set) {
        ("TCP_CONGESTION", Expression::Text(control)) => is_no_control(control).then_some("ENOENT"),
        _ => number(set)
            .is_some_and(|number| is_out_of_range(name, number))
            .then_some("EINVAL"),
    }
}

/// Linux's numbers for the errors with which a connection can end.
const NUMBERS: [(&str, i64); 3] = [
    ("ECONNRESET", 104),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
];

fn compare_error(expected: &Expression, came: Option<&'static str>) -> Attempted {
    let inner = match expected {
        Expression::List(items) => items.first(),
        other => Some(other),
    };
    if let Some(Expression::Name(name)) = inner {
        return match came == Some(name) {
            true => value(0),
            false => differs("the error", name, came.unwrap_or("none")),
        };
    }
    let known = |name| {
        NUMBERS
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, number)| *number)
    };
    compare(
        "the error",
        number(expected),
        came.and_then(known).unwrap_or(0),
    )
}

/// Compares a value with the script's value. If the script gives none, any value is accepted.
fn compare(what: &'static str, expected: Option<i64>, came: i64) -> Attempted {
    match expected {
        Some(expected) if expected != came => {
            differs(what, &expected.to_string(), &came.to_string())
        }
        _ => value(0),
    }
}

pub(super) fn differs(what: &'static str, expected: &str, came: &str) -> Attempted {
    Ok(Attempt::Returns(Answer::Differs {
        what,
        expected: expected.to_owned(),
        came: came.to_owned(),
    }))
}
