//! The error queue of a socket, which contains the timestamps of `SO_TIMESTAMPING`.

use super::arguments::{flag, member, number};
use super::tune::differs;
use super::{Attempted, Refusal, error, value};
use crate::run::clock;
use crate::stage::{BEGINNING, Role, Stage};
use crate::syntax::{Expression, Member};

/// An expected timestamp.
struct Expected<'e> {
    /// Time after the start of the script, in nanoseconds.
    after: u64,
    kind: Option<&'e Expression>,
    key: Option<i64>,
}

impl Stage {
    /// Performs `recvmsg` with `MSG_ERRQUEUE`.
    pub(super) fn receive_error(&mut self, fd: &Expression, message: &Expression) -> Attempted {
        let Some(fd) = self.find(fd) else {
            return error("EBADF");
        };
        let Role::Connected(index) = self.sockets[&fd].role else {
            return error("EAGAIN");
        };
        let Some(stamp) = self.lines[index].stamps.read() else {
            return error("EAGAIN");
        };
        let expected = read(message).ok_or_else(|| {
            Refusal::Beyond("error queue messages other than timestamps".to_owned())
        })?;
        if let Some(kind) = expected.kind
            && !flag(kind, stamp.kind.name())
        {
            return differs("ee_info", &format!("{kind:?}"), stamp.kind.name());
        }
        if let Some(key) = expected.key
            && u64::try_from(key) != Ok(stamp.key)
        {
            return differs("ee_data", &key.to_string(), &stamp.key.to_string());
        }
        let at = BEGINNING + dupack_tcp::time::Duration::from_nanos(expected.after);
        let apart = at.max(stamp.at).since(at.min(stamp.at));
        let whole = stamp.at.since(BEGINNING.min(stamp.at));
        if apart > self.settings.tolerance(whole) {
            return differs("time", &clock(at), &clock(stamp.at));
        }
        value(0)
    }
}

/// Parses `{msg_control=[{cmsg_data={scm_sec=…, scm_nsec=…}}, {cmsg_data={ee_info=…, ee_data=…}}]}`.
fn read(message: &Expression) -> Option<Expected<'_>> {
    let Expression::Struct(members) = message else {
        return None;
    };
    let Expression::List(parts) = member(members, "msg_control")? else {
        return None;
    };
    let [time, what] = &parts[..] else {
        return None;
    };
    let (time, what) = (data(time)?, data(what)?);
    let part = |name| u64::try_from(member(time, name).and_then(number)?).ok();
    Some(Expected {
        after: part("scm_sec")?
            .checked_mul(1_000_000_000)?
            .checked_add(part("scm_nsec")?)?,
        kind: member(what, "ee_info"),
        key: member(what, "ee_data").and_then(number),
    })
}

fn data(part: &Expression) -> Option<&[Member]> {
    let Expression::Struct(members) = part else {
        return None;
    };
    match member(members, "cmsg_data")? {
        Expression::Struct(data) => Some(data),
        _ => None,
    }
}
