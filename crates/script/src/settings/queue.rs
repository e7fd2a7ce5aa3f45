//! `tc qdisc`: the effect of a queue of this host on the packets of one flow.
//!
//! The wire of a script accepts every packet at once, so a queue before it is always empty. It makes no difference
//! unless it refuses packets, paces them, marks them or drops some. [`HostQueue`] has the supported effects; all others
//! are a reason to skip.

/// Effect on a packet that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostQueue {
    /// The packet leaves at once.
    Passes,
    /// The packet is refused (`limit 0`).
    Refuses,
    /// The packet leaves at the endpoint's pace (`fq`).
    Paces,
}

/// Returns the queue after `tc qdisc` with these words, or `None` if it does not change; or the unsupported feature.
pub(super) fn queue(words: &[&str]) -> Result<Option<HostQueue>, String> {
    let (action, rest) = words.split_first().unwrap_or((&"show", &[]));
    match *action {
        "show" | "list" | "ls" => Ok(None),
        // The device's own queue replaces it, which accepts everything.
        "del" | "delete" => Ok(Some(HostQueue::Passes)),
        "add" | "replace" | "change" => discipline(rest).map(Some),
        other => Err(format!("the command `tc qdisc {other}`")),
    }
}

/// Parses `dev DEVICE root [handle HANDLE] KIND OPTION…`.
fn discipline(mut words: &[&str]) -> Result<HostQueue, String> {
    loop {
        words = match words {
            ["dev" | "handle", _, rest @ ..] | ["root", rest @ ..] => rest,
            [kind, options @ ..] => return of_kind(kind, options),
            [] => return Err("a host queue without a kind (`tc qdisc`)".to_owned()),
        };
    }
}

fn of_kind(kind: &str, options: &[&str]) -> Result<HostQueue, String> {
    let beyond = |option: &str| {
        let option = format!("{kind} {option}");
        Err(format!("a host queue (`tc qdisc … {}`)", option.trim_end()))
    };
    let mut queue = match kind {
        // Without a bottleneck these queues stay empty, so CoDel neither marks nor drops.
        "pfifo" | "bfifo" | "pfifo_fast" | "noqueue" | "codel" | "fq_codel" => HostQueue::Passes,
        "fq" => HostQueue::Paces,
        _ => return beyond(""),
    };
    let mut rest = options;
    while let Some((name, after)) = rest.split_first() {
        // Options about sharing between flows, and the option of `fq` to pace, which is the default.
        if (kind, *name) == ("fq", "pacing") {
            rest = after;
            continue;
        }
        let Some((value, after)) = after.split_first() else {
            return beyond(name);
        };
        match (kind, *name) {
            ("pfifo" | "bfifo" | "fq", "limit") if *value == "0" => queue = HostQueue::Refuses,
            _ if is_roomy(kind, name, value) => {}
            ("fq", "quantum" | "initial_quantum" | "buckets" | "orphan_mask") => {}
            _ => return beyond(&format!("{name} {value}")),
        }
        rest = after;
    }
    Ok(queue)
}

/// Returns `true` if a limit is at least the discipline's default, which no script reaches: 500 packets for a TUN
/// device (Linux, `TUN_READQ_SIZE`); 10 000 in all and 100 per flow for `fq` (`fq_init`).
fn is_roomy(kind: &str, name: &str, value: &str) -> bool {
    let usual = match (kind, name) {
        ("pfifo", "limit") => 500,
        ("fq", "limit") => 10_000,
        ("fq", "flow_limit") => 100,
        _ => return false,
    };
    value.parse::<u32>().is_ok_and(|limit| limit >= usual)
}
