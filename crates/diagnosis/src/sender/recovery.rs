//! Identification of the loss recovery.

use super::Seen;
use super::clue::{self, Weighing};
use super::flight::Sack;
use super::report::{Control, Identification, Recovery, Timing};

/// Maximum number of occurrences of a clue that contribute to its score.
const COUNTED: u32 = 3;

/// Inverse of the minimum fraction of recoveries with a retransmission triggered by time. A late ACK in the capture may
/// cause such a retransmission by chance.
const BY_TIME_SHARE: u32 = 2;

/// Minimum number of recoveries for retransmissions by time to be evidence.
const BY_TIME_LEAST: u32 = 3;

/// Minimum number of first and second duplicate ACKs to tell whether the sender uses limited transmit.
const LEAST_DUPLICATES: u32 = 4;

/// Number of occurrences that is subtracted from the count of a clue, because some occurrences may be misjudged.
const ONE_BY_CHANCE: f64 = 0.5;

fn counted(times: u32) -> f64 {
    f64::from(times.min(COUNTED))
}

/// Returns the logarithm of the prior probability of a recovery.
const fn prior(recovery: Recovery) -> f64 {
    match recovery {
        Recovery::Rack => 0.0,
        Recovery::Sack | Recovery::NewReno => -0.5,
        Recovery::Reno | Recovery::Fack => -1.0,
        Recovery::Tahoe | Recovery::Le => -2.0,
        Recovery::Momentary => -3.5,
    }
}

/// Possibility that pacing spread the departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paced {
    No,
    Perhaps,
}

/// Returns the verdict, given the verdict on the control.
pub(super) fn verdict(seen: &Seen, control: &Identification<Control>) -> Identification<Recovery> {
    let by_control = matches!(
        control.name.or(control.nearest),
        Some(Control::Bbr | Control::BbrOne | Control::BbrOfSomeVersion)
    );
    let paced = match seen.pace.timing() {
        Some(Timing::WithAcks) if !by_control => Paced::No,
        _ => Paced::Perhaps,
    };
    let weighings = Recovery::ALL.map(|recovery| {
        let mut weighing = Weighing::new(recovery, prior(recovery));
        selective(recovery, seen, &mut weighing);
        probes(recovery, seen, &mut weighing);
        triggers(recovery, seen, paced, &mut weighing);
        pauses(recovery, seen, paced, &mut weighing);
        lateness(recovery, seen, &mut weighing);
        partial_acks(recovery, seen, paced, &mut weighing);
        timestamps(recovery, seen, &mut weighing);
        if recovery == Recovery::Le && !unique_timestamps(seen) {
            weighing.must(-1.0);
        }
        let partial = seen
            .repairs
            .partial_answered
            .saturating_add(seen.repairs.partial_unanswered);
        if matches!(recovery, Recovery::Reno | Recovery::NewReno) && partial == 0 {
            // Reno and NewReno differ only in their reaction to partial ACKs.
            weighing.lacks();
        }
        weighing
    });
    let nothing = if seen.repairs.recoveries == 0 {
        "nothing was repaired without a timeout"
    } else {
        "its retransmissions fit any recovery"
    };
    let mut verdict = clue::decide(weighings.into(), nothing);
    if let Some(name) = verdict.name.filter(|name| !NAMED.contains(name)) {
        verdict.name = None;
        verdict.why = format!("too little evidence; the nearest is {name}");
    }
    verdict
}

/// Recoveries that are named. Verdicts on the other recoveries are too often wrong (our choice: 3 of 21 were wrong in
/// 600 simulated transfers).
const NAMED: [Recovery; 3] = [Recovery::Reno, Recovery::NewReno, Recovery::Rack];

const fn by_sack(recovery: Recovery) -> bool {
    matches!(
        recovery,
        Recovery::Sack | Recovery::Fack | Recovery::Rack | Recovery::Le | Recovery::Momentary
    )
}

fn selective(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let repairs = &seen.repairs;
    let duplicates = repairs
        .limited_transmit
        .saturating_add(repairs.not_limited_transmit);
    // If the receiver supported SACK, these duplicate ACKs would have had SACK blocks.
    let recoveries = repairs
        .recoveries
        .saturating_add(duplicates / LEAST_DUPLICATES);
    match seen.flight.sack() {
        Sack::Seen if by_sack(recovery) => weighing.clue(2.0, "SACK was available"),
        Sack::Seen => weighing.clue(-8.0, "SACK was available, and it does not use SACK"),
        Sack::Unseen if recoveries > 0 && by_sack(recovery) => {
            weighing.clue(-8.0, "there was no SACK, which it needs");
        }
        Sack::Unseen if recoveries > 0 => weighing.clue(2.0, "there was no SACK"),
        Sack::Unseen => {}
    }
}

fn probes(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let probes = seen.timer.probes();
    // If the capture was not taken at the sender, the ACKs that the sender had received before a departure are
    // inferred.
    let by_chance = if seen.pace.is_at_sender() {
        ONE_BY_CHANCE
    } else {
        2.0 * ONE_BY_CHANCE
    };
    if probes > 0 {
        let worth = if recovery == Recovery::Rack {
            3.0
        } else {
            -3.0
        };
        weighing.clue(
            worth * (counted(probes) - by_chance).max(0.0),
            format!("{probes} tail loss probes, which RACK-TLP sends"),
        );
    }
    let unprobed = seen.timer.unprobed();
    if unprobed > probes && seen.pace.is_at_sender() {
        let worth = if recovery == Recovery::Rack {
            -2.5
        } else {
            0.0
        };
        let sentence = format!(
            "{unprobed} timeouts came without a tail loss probe before them, although no loss was being repaired"
        );
        weighing.clue(worth * (counted(unprobed) - ONE_BY_CHANCE), sentence);
    }
    let again = seen.repairs.lost_again;
    if again > 0 {
        let finds = matches!(recovery, Recovery::Rack | Recovery::Le);
        let worth = if finds { 2.0 } else { -2.0 };
        let sentence = format!(
            "{again} lost retransmissions were detected without a timeout: RACK and LE do that"
        );
        weighing.clue(
            worth * (counted(again) - 2.0 * by_chance).max(0.0),
            sentence,
        );
    }
}

fn triggers(recovery: Recovery, seen: &Seen, paced: Paced, weighing: &mut Weighing<Recovery>) {
    let repairs = &seen.repairs;
    let is_fack = recovery == Recovery::Fack;
    let by_time = repairs.by_time.saturating_mul(BY_TIME_SHARE) >= repairs.recoveries;
    if by_time && repairs.recoveries >= BY_TIME_LEAST {
        // FACK's retransmissions are also early, because the highest SACK triggers them.
        let worth = if matches!(recovery, Recovery::Rack | Recovery::Fack) {
            1.0
        } else {
            -1.0
        };
        let sentence = format!("{} retransmissions were triggered by time", repairs.by_time);
        weighing.clue(worth * counted(repairs.by_time), sentence);
    }
    let (early, waited) = (repairs.by_forward_ack, repairs.not_by_forward_ack);
    let both = early.saturating_add(waited);
    if both > 0 && seen.pace.is_at_sender() {
        let worth = 2.0 * (counted(early) - counted(waited));
        let sentence = format!(
            "with the highest SACK far ahead and few segments sacked, {early} of {} retransmissions did not wait for the third, as with FACK",
            both
        );
        let worth = match recovery {
            Recovery::Fack => worth,
            // RACK's retransmissions may also be early, because time triggers them.
            Recovery::Rack => 0.5 * worth.max(0.0) - worth.min(0.0),
            _ => -worth,
        };
        weighing.clue(worth, sentence);
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
        // A paced sender does not send segments in direct response to ACKs.
        let worth = match paced {
            Paced::Perhaps => worth.max(0.0),
            Paced::No => worth,
        };
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
    // Pacing spreads retransmissions, regardless of the recovery.
    if all == 0 || paced == Paced::Perhaps {
        return;
    }
    let balance = (f64::from(spreads) - f64::from(pauses)) / f64::from(all);
    let worth = 0.9 * (counted(all) - 0.5) * balance;
    let sentence = format!(
        "{spreads} of {} recoveries continued at a slower pace instead of pausing: proportional rate reduction",
        all
    );
    match recovery {
        Recovery::Rack => weighing.clue(worth, sentence),
        // Other recoveries may do the same with Linux's rules.
        Recovery::Sack | Recovery::Fack | Recovery::Le | Recovery::Momentary => {
            weighing.clue(-worth.min(0.0), sentence);
        }
        Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => {}
    }
}

fn lateness(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let (late, prompt) = (seen.repairs.late, seen.repairs.prompt);
    let all = late.saturating_add(prompt);
    if all == 0 || !seen.pace.is_at_sender() {
        return;
    }
    let balance = (f64::from(late) - f64::from(prompt)) / f64::from(all);
    let worth = 2.0 * (counted(all) - 0.5) * balance;
    let sentence = format!(
        "{late} of {all} first retransmissions waited until the reduced window had room, as with Momentary"
    );
    if recovery == Recovery::Momentary {
        weighing.clue(worth, sentence);
    } else if by_sack(recovery) {
        weighing.clue(-worth.max(0.0), sentence);
    }
}

fn partial_acks(recovery: Recovery, seen: &Seen, paced: Paced, weighing: &mut Weighing<Recovery>) {
    let (answered, unanswered) = (
        seen.repairs.partial_answered,
        seen.repairs.partial_unanswered,
    );
    let all = answered.saturating_add(unanswered);
    if all > 0 {
        let share = f64::from(answered) / f64::from(all);
        let worth = 4.0 * (share - 0.5) * (counted(all) - 0.5);
        // A paced sender may respond to a partial ACK later.
        let worth = match paced {
            Paced::Perhaps => worth.max(0.0),
            Paced::No => worth,
        };
        let sentence = format!(
            "{answered} of {} partial ACKs were answered at once with the next retransmission",
            all
        );
        match recovery {
            // Tahoe also retransmits in response to partial ACKs, in slow start.
            Recovery::NewReno | Recovery::Tahoe => weighing.clue(worth, sentence),
            Recovery::Reno => weighing.clue(-worth, sentence),
            _ => {}
        }
    }
    let restarted = seen.restarts_from_one();
    if let Some((factor, segments, times)) = restarted {
        let is_one = factor < TAHOE_FACTOR && segments <= TAHOE_SEGMENTS;
        let sign = if is_one {
            1.0
        } else if factor < KEPT_FACTOR {
            // Between these bounds, either is possible.
            0.0
        } else {
            -1.0
        };
        let worth = 2.5 * sign * (counted(times) - 0.5);
        let sentence = format!("after a loss {factor:.2} of the window was in flight");
        match recovery {
            Recovery::Tahoe => weighing.clue(worth, sentence),
            Recovery::Reno | Recovery::NewReno => weighing.clue(-worth, sentence),
            _ => {}
        }
    }
}

/// Maximum median fraction of the window after a restart from one segment.
const TAHOE_FACTOR: f32 = 0.33;
/// Minimum median fraction of the window without a restart from one segment.
const KEPT_FACTOR: f32 = 0.42;
/// Maximum flight, in segments, in the first round after Tahoe's restart: one segment, and the segments that the first
/// ACKs release.
const TAHOE_SEGMENTS: f32 = 2.5;

/// Minimum number of timestamp values that differ from the previous one, to conclude that timestamps are unique.
const UNIQUE_LEAST: u32 = 100;
/// Number of timestamp values that differ from the previous one within a millisecond. More of them are needed for the
/// same conclusion.
const UNIQUE_QUICK: u32 = 50;

/// `true` if no two consecutive segments have the same timestamp, as with LE.
const fn unique_timestamps(seen: &Seen) -> bool {
    let repairs = &seen.repairs;
    let enough = repairs.other_timestamp >= UNIQUE_LEAST;
    enough && repairs.same_timestamp == 0 && repairs.quick_other_timestamp > UNIQUE_QUICK
}

fn timestamps(recovery: Recovery, seen: &Seen, weighing: &mut Weighing<Recovery>) {
    let is_le = recovery == Recovery::Le;
    if unique_timestamps(seen) {
        let worth = if is_le { 6.0 } else { -3.0 };
        weighing.clue(
            worth,
            "no two segments had the same timestamp: LE orders transmissions by them",
        );
    }
}

#[cfg(test)]
mod tests;
