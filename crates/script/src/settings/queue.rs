//! `tc qdisc`: what a queue of this host's does with the packets of one flow.
//!
//! The wire of a script takes every packet at once. A queue before it is empty then, and makes no
//! difference unless it refuses packets, spreads them over time, marks or loses some. Of these
//! [`HostQueue`] has what is there; all others are a reason to skip.

/// What becomes of a packet that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostQueue {
    /// It leaves.
    Passes,
    /// It is not taken (`limit 0`).
    Refuses,
    /// It leaves when the endpoint's pace has it (`fq`).
    Paces,
}

/// The queue after `tc qdisc` with these words, or `None` if it stays as it is; or what is beyond
/// us.
pub(super) fn queue(words: &[&str]) -> Result<Option<HostQueue>, String> {
    let (action, rest) = words.split_first().unwrap_or((&"show", &[]));
    match *action {
        "show" | "list" | "ls" => Ok(None),
        // What comes in place of it is the device's own, which takes everything.
        "del" | "delete" => Ok(Some(HostQueue::Passes)),
        "add" | "replace" | "change" => discipline(rest).map(Some),
        other => Err(format!("the command `tc qdisc {other}`")),
    }
}

/// `dev DEVICE root [handle HANDLE] KIND OPTION…`
fn discipline(mut words: &[&str]) -> Result<HostQueue, String> {
    loop {
        words = match words {
            ["dev" | "handle", _, rest @ ..] | ["root", rest @ ..] => rest,
            [kind, options @ ..] => return of_kind(kind, options),
            [] => return Err("a queue of this host's of no kind (`tc qdisc`)".to_owned()),
        };
    }
}

fn of_kind(kind: &str, options: &[&str]) -> Result<HostQueue, String> {
    let beyond = |option: &str| {
        let option = format!("{kind} {option}");
        Err(format!(
            "a queue of this host's (`tc qdisc … {}`)",
            option.trim_end()
        ))
    };
    let mut queue = match kind {
        // Without a bottleneck nothing stands in them for CoDel to mark or to drop.
        "pfifo" | "bfifo" | "pfifo_fast" | "noqueue" | "codel" | "fq_codel" => HostQueue::Passes,
        "fq" => HostQueue::Paces,
        _ => return beyond(""),
    };
    let mut rest = options;
    while let Some((name, after)) = rest.split_first() {
        // How flows share the device, and that `fq` heeds their pace, which it does anyway.
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

/// Whether a limit is no lower than that of the same discipline without options, which no script
/// reaches: 500 packets of a TUN device (Linux, `TUN_READQ_SIZE`); 10 000, and 100 of each flow, of
/// `fq` (`fq_init`).
fn is_roomy(kind: &str, name: &str, value: &str) -> bool {
    let usual = match (kind, name) {
        ("pfifo", "limit") => 500,
        ("fq", "limit") => 10_000,
        ("fq", "flow_limit") => 100,
        _ => return false,
    };
    value.parse::<u32>().is_ok_and(|limit| limit >= usual)
}
