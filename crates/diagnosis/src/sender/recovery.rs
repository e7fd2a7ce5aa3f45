//! Which loss recovery it was.

use super::Seen;
use super::clue::{self, Weighing};
use super::flight::Sack;
use super::report::{Control, Recovery, Timing, Verdict};

/// A clue that may come several times counts as no more than so many.
const COUNTED: u32 = 3;

/// One repair by time in so many recoveries is none by chance: an ACK that the capture has late may make
/// one look so.
const BY_TIME_SHARE: u32 = 10;

/// So many first duplicate ACKs show whether there is limited transmit.
const LEAST_DUPLICATES: u32 = 4;

fn counted(times: u32) -> f64 {
    f64::from(times.min(COUNTED))
}

/// How common each is, as a logarithm.
const fn prior(recovery: Recovery) -> f64 {
    match recovery {
        Recovery::Rack => 0.0,
        Recovery::Sack | Recovery::NewReno => -0.5,
        Recovery::Reno | Recovery::Fack => -1.0,
        Recovery::Tahoe | Recovery::Le | Recovery::Momentary => -2.0,
    }
}

/// Whether a pace may have spread what left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paced {
    No,
    Perhaps,
}

/// The verdict, with what is known of the control.
pub(super) fn verdict(seen: &Seen, control: &Verdict<Control>) -> Verdict<Recovery> {
    let by_control = matches!(
        control.name.or(control.nearest),
        Some(Control::Bbr | Control::BbrOne | Control::BbrOfSomeVersion)
    );
    let paced = if by_control || seen.pace.timing() == Some(Timing::Paced) {
        Paced::Perhaps
    } else {
        Paced::No
    };
    let weighings = Recovery::ALL.map(|recovery| {
        let mut weighing = Weighing::new(recovery, prior(recovery));
        selective(recovery, seen, &mut weighing);
        probes(recovery, seen, &mut weighing);
        triggers(recovery, seen, &mut weighing);
        pauses(recovery, seen, paced, &mut weighing);
        lateness(recovery, seen, &mut weighing);
        partial_acks(recovery, seen, &mut weighing);
        timestamps(recovery, seen, &mut weighing);
        weighing
    });
    let nothing = if seen.repairs.recoveries == 0 {
        "nothing was repaired without a timeout"
    } else {
        "its repairs are what any recovery would have done"
    };
    clue::decide(weighings.into(), nothing)
}

const fn by_sack(recovery: Recovery) -> bool {
    matches!(
        recovery,
        Recovery::Sack | Recovery::Fack | Recovery::Rack | Recovery::Le | Recovery::Momentary
    )
}

fn selective(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let recoveries = seen.repairs.recoveries;
    match seen.flight.sack() {
        Sack::Seen if by_sack(recovery) => weighing.clue(2.0, "its repairs had SACK to go by"),
        Sack::Seen => weighing.clue(-8.0, "there was SACK, which it does without"),
        Sack::Unseen if recoveries > 0 && by_sack(recovery) => {
            weighing.clue(-8.0, "there was no SACK, which it needs");
        }
        Sack::Unseen if recoveries > 0 => weighing.clue(2.0, "there was no SACK"),
        Sack::Unseen => {}
    }
}

fn probes(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let probes = seen.timer.probes();
    if probes > 0 {
        let worth = if recovery == Recovery::Rack {
            3.0
        } else {
            -3.0
        };
        weighing.clue(
            worth * counted(probes),
            format!("{probes} tail loss probes: RACK-TLP's"),
        );
    }
    let again = seen.repairs.lost_again;
    if again > 0 {
        let finds = matches!(recovery, Recovery::Rack | Recovery::Le);
        let worth = if finds { 2.0 } else { -2.0 };
        let sentence =
            format!("{again} lost repairs were found without a timeout: RACK and LE do that");
        weighing.clue(worth * counted(again), sentence);
    }
}

fn triggers(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let repairs = &seen.repairs;
    let is_fack = recovery == Recovery::Fack;
    if repairs.by_time.saturating_mul(BY_TIME_SHARE) >= repairs.recoveries.max(1) {
        let worth = if recovery == Recovery::Rack {
            1.0
        } else {
            -1.0
        };
        let sentence = format!("{} repairs were set off by time", repairs.by_time);
        weighing.clue(worth * counted(repairs.by_time), sentence);
    }
    let (early, waited) = (repairs.by_forward_ack, repairs.not_by_forward_ack);
    let both = early.saturating_add(waited);
    if both > 0 {
        let worth = 2.0 * (counted(early) - counted(waited));
        let sentence = format!(
            "where the highest SACK was far ahead and little was sacked, {early} of {} repairs did not wait for the third: FACK's do not",
            both
        );
        weighing.clue(if is_fack { worth } else { -worth }, sentence);
    }
    let (sent, silent) = (repairs.limited_transmit, repairs.not_limited_transmit);
    let all = sent.saturating_add(silent);
    if all >= LEAST_DUPLICATES {
        let share = f64::from(sent) / f64::from(all);
        let sentence = format!(
            "{sent} of {} first duplicate ACKs were answered with new data (limited transmit)",
            all
        );
        let worth = 6.0 * (share - 0.5);
        if is_fack {
            weighing.clue(-worth, sentence);
        } else if by_sack(recovery) {
            weighing.clue(worth, sentence);
        }
    }
}

fn pauses(recovery: Recovery, seen: &Seen, paced: Paced, weighing: &mut Weighing<Recovery>) {
    let (pauses, spreads) = (seen.repairs.pauses, seen.repairs.spreads);
    let all = pauses.saturating_add(spreads);
    // What is paced spreads its repairs whatever the recovery.
    if all == 0 || paced == Paced::Perhaps {
        return;
    }
    let balance = (f64::from(spreads) - f64::from(pauses)) / f64::from(all);
    let worth = 1.5 * (counted(all) - 0.5) * balance;
    let sentence = format!(
        "{spreads} of {} recoveries sent on at a slower pace instead of pausing: proportional rate reduction",
        all
    );
    match recovery {
        Recovery::Rack => weighing.clue(worth, sentence),
        Recovery::Sack | Recovery::Fack | Recovery::Le | Recovery::Momentary => {
            weighing.clue(-worth, sentence);
        }
        Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => {}
    }
}

fn lateness(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let (late, prompt) = (seen.repairs.late, seen.repairs.prompt);
    let all = late.saturating_add(prompt);
    if all == 0 {
        return;
    }
    let balance = (f64::from(late) - f64::from(prompt)) / f64::from(all);
    let worth = 2.0 * (counted(all) - 0.5) * balance;
    let sentence = format!(
        "{late} of {all} first repairs waited until the window that was cut had room: Momentary's do"
    );
    if recovery == Recovery::Momentary {
        weighing.clue(worth, sentence);
    } else if by_sack(recovery) {
        weighing.clue(-worth.max(0.0), sentence);
    }
}

fn partial_acks(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let (answered, unanswered) = (
        seen.repairs.partial_answered,
        seen.repairs.partial_unanswered,
    );
    let all = answered.saturating_add(unanswered);
    if all > 0 {
        let share = f64::from(answered) / f64::from(all);
        let worth = 4.0 * (share - 0.5) * (counted(all) - 0.5);
        let sentence = format!(
            "{answered} of {} partial ACKs were answered with the next repair at once",
            all
        );
        match recovery {
            Recovery::NewReno => weighing.clue(worth, sentence),
            Recovery::Reno => weighing.clue(-worth, sentence),
            _ => {}
        }
    }
    let restarted = seen.restarts_from_one();
    if let Some((factor, segments, times)) = restarted {
        let is_one = factor < TAHOE_FACTOR && segments <= TAHOE_SEGMENTS;
        let worth = (counted(times) - 0.5) * if is_one { 2.5 } else { -2.5 };
        let sentence = format!("after a loss {factor:.2} of the window was in flight");
        match recovery {
            Recovery::Tahoe => weighing.clue(worth, sentence),
            Recovery::Reno | Recovery::NewReno => weighing.clue(-worth, sentence),
            _ => {}
        }
    }
}

/// Below this share of the window, in the middle, it restarted from one segment.
const TAHOE_FACTOR: f32 = 0.33;
/// In flight in Tahoe's first round that shows it, at most: one segment, and what its first ACKs let go.
const TAHOE_SEGMENTS: f32 = 4.0;

fn timestamps(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let repairs = &seen.repairs;
    let all = repairs
        .same_timestamp
        .saturating_add(repairs.other_timestamp);
    if all < 100 {
        return;
    }
    let unique = repairs.same_timestamp == 0 && repairs.quick_other_timestamp > 50;
    let is_le = recovery == Recovery::Le;
    if unique {
        let worth = if is_le { 6.0 } else { -3.0 };
        weighing.clue(
            worth,
            "no two segments had the same timestamp: LE orders transmissions by them",
        );
    }
}
