//! `tc qdisc`: the effect of a queue of this host on the packets of one flow.
//!
//! The wire of a script accepts every packet at once, so a queue before it is always empty. Such a queue makes no
//! difference unless it refuses, paces, marks or drops packets. [`HostQueue`] has the supported effects; a script with
//! any other effect is skipped.

/// Effect of the queue on a packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostQueue {
    /// The packet leaves at once.
    Passes,
    /// The packet is refused (`limit 0`).
    Refuses,
    /// The packet leaves at the endpoint's pacing rate (`fq`).
    Paces,
}

/// Returns the queue after `tc qdisc` with these words, or `None` if the queue does not change. Returns an error that
/// names the feature if it is unsupported.
pub(super) fn queue(words: &[&str]) -> Result<Option<HostQueue>, String> {
    let (action, rest) = words.split_first().unwrap_or((&"show", &[]));
    match *action {
        "show" | "list" | "ls" => Ok(None),
        // The queue is replaced by the device's own queue, which accepts all packets.
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
        // Without a bottleneck, these queues stay empty, so CoDel neither marks nor drops packets.
        "pfifo" | "bfifo" | "pfifo_fast" | "noqueue" | "codel" | "fq_codel" => HostQueue::Passes,
        "fq" => HostQueue::Paces,
        _ => return beyond(""),
    };
    let mut rest = options;
    while let Some((name, after)) = rest.split_first() {
        // These options concern sharing between flows. The option `pacing` of `fq` is the default.
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

/// Returns `true` if a limit is at least the default of the discipline, which no script reaches: 500 packets for a TUN
/// device (Linux, `TUN_READQ_SIZE`), and for `fq` 10 000 in total and 100 per flow (`fq_init`).
fn is_roomy(kind: &str, name: &str, value: &str) -> bool {
    let usual = match (kind, name) {
        ("pfifo", "limit") => 500,
        ("fq", "limit") => 10_000,
        ("fq", "flow_limit") => 100,
        _ => return false,
    };
    value.parse::<u32>().is_ok_and(|limit| limit >= usual)
}
