//! Rounds for tests.

use dupack_tcp::time::{Duration, Instant};

use super::rounds::{Marks, Round};

/// Returns a round of 50 ms without losses: `most` segments were in flight and delivered, with one ACK each.
pub(super) fn round(number: u32, most: f32) -> Round {
    let begin = Instant::ZERO + Duration::from_millis(50) * u64::from(number);
    Round {
        number,
        begin,
        end: begin + Duration::from_millis(50),
        most,
        most_open: most,
        delivered: most,
        acks: most as u32,
        rtt_min: 0.05,
        rtt_max: 0.05,
        marks: Marks::default(),
    }
}

/// Returns the same round with the event `mark`.
pub(super) fn marked(number: u32, most: f32, mark: Marks) -> Round {
    let mut round = round(number, most);
    round.marks.add(mark);
    round
}
