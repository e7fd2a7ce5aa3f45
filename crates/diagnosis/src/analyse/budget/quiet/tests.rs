//! Tests of the pieces of times without departures, and of the limits to which they are assigned.

use super::*;
use crate::analyse::budget::film::{at, ms};

const SCALE: Scale = Scale {
    round_trip: ms(100),
    timeout: ms(300),
};

/// Returns a piece with the state `look`. Its kind without other evidence is the congestion window.
const fn piece(from: u64, to: u64, look: Look) -> Piece {
    Piece {
        from: at(from),
        to: at(to),
        look,
        kind: Kind::Congestion,
        delivered: 0,
    }
}

/// Returns the kind of each of these pieces after `tail`, with the time at which the piece ends, in milliseconds.
fn settled(tail: Tail, pieces: &[Piece], ending: Ending) -> Vec<(u64, Kind)> {
    let mut quiet = Quiet::new();
    quiet.begin(tail);
    for piece in pieces {
        assert_eq!(quiet.push(*piece), None);
    }
    let mut parts = Vec::new();
    quiet.settle(ending, SCALE, |part| {
        parts.push((part.to.as_nanos() / 1_000_000, part.kind));
    });
    parts
}

#[test]
fn a_window_with_unused_room_for_a_quarter_of_a_round_trip_is_limited_by_the_sender() {
    let after_ack = |to, look, of_what| {
        let ending = Ending::Ack(of_what);
        settled(Tail::Full, &[piece(0, to, look)], ending)
    };
    let some = Outstanding::Something;
    assert_eq!(after_ack(25, Look::Room, some), [(25, Kind::SenderBuffer)]);
    assert_eq!(after_ack(24, Look::Room, some), [(24, Kind::Congestion)]);
    // If far less data was in flight, there was no data to send.
    assert_eq!(after_ack(25, Look::Ample, some), [(25, Kind::Pause)]);
    assert_eq!(after_ack(24, Look::Ample, some), [(24, Kind::Congestion)]);
    // No data was outstanding, so the sender could not wait for an ACK.
    let nothing = Outstanding::Nothing;
    assert_eq!(after_ack(24, Look::Ample, nothing), [(24, Kind::Pause)]);
    assert_eq!(
        after_ack(50, Look::Other, nothing),
        [(50, Kind::Congestion)]
    );
}

#[test]
fn pieces_with_room_count_together() {
    let pieces = [
        piece(0, 15, Look::Room),
        piece(15, 40, Look::Other),
        piece(40, 50, Look::Room),
    ];
    let ending = Ending::Ack(Outstanding::Something);
    let (window, buffer) = (Kind::Congestion, Kind::SenderBuffer);
    let expected = [(15, buffer), (40, window), (50, buffer)];
    assert_eq!(settled(Tail::Full, &pieces, ending), expected);
}

#[test]
fn unused_room_is_no_pause_if_the_application_had_written_more() {
    let pieces = [piece(0, 200, Look::Ample)];
    let ending = Ending::Ack(Outstanding::Nothing);
    assert_eq!(
        settled(Tail::More, &pieces, ending),
        [(200, Kind::SenderBuffer)]
    );
    let pieces = [piece(0, 200, Look::Empty)];
    let ending = Ending::Nothing { last_ack: at(0) };
    assert_eq!(
        settled(Tail::More, &pieces, ending),
        [(200, Kind::Congestion)]
    );
    assert_eq!(settled(Tail::Full, &pieces, ending), [(200, Kind::Idle)]);
}

#[test]
fn the_silence_since_a_timer_started_belongs_to_the_timer() {
    let timer = Ending::Timer {
        kind: Kind::RetransmissionTimer,
        since: at(30),
    };
    let pieces = [piece(0, 80, Look::Other), piece(80, 300, Look::Room)];
    let expected = [
        (30, Kind::Congestion),
        (80, Kind::RetransmissionTimer),
        (300, Kind::RetransmissionTimer),
    ];
    assert_eq!(settled(Tail::Full, &pieces, timer), expected);
}

#[test]
fn a_silence_not_ended_by_an_ack_is_a_pause_after_the_last_ack() {
    let ending = Ending::Nothing { last_ack: at(100) };
    let pieces = [piece(0, 149, Look::Other)];
    let window = Kind::Congestion;
    let expected = [(100, window), (149, window)];
    assert_eq!(settled(Tail::Full, &pieces, ending), expected);
    let pieces = [piece(0, 150, Look::Other)];
    let expected = [(100, window), (150, Kind::Pause)];
    assert_eq!(settled(Tail::Full, &pieces, ending), expected);
    // If the receive window is full, the sender waits for space in it.
    let pieces = [piece(0, 150, Look::Full)];
    let window = Kind::ReceiveWindow;
    let expected = [(100, window), (150, window)];
    assert_eq!(settled(Tail::Full, &pieces, ending), expected);
}

#[test]
fn a_long_wait_at_a_shut_window_with_nothing_outstanding_is_idle_time() {
    let ending = Ending::Nothing { last_ack: at(0) };
    let of = |to, outstanding| {
        let pieces = [piece(0, to, Look::Shut(outstanding))];
        settled(Tail::Full, &pieces, ending)
    };
    assert_eq!(of(300, Outstanding::Nothing), [(300, Kind::ZeroWindow)]);
    assert_eq!(of(301, Outstanding::Nothing), [(301, Kind::Idle)]);
    assert_eq!(of(301, Outstanding::Something), [(301, Kind::ZeroWindow)]);
}

#[test]
fn excess_pieces_are_assigned_by_their_own_state() {
    let mut quiet = Quiet::new();
    quiet.begin(Tail::Full);
    let looks = [Look::Room, Look::Other];
    for n in 0..PIECES_MAX as u64 {
        let look = looks[n as usize % 2];
        assert_eq!(quiet.push(piece(n, n + 1, look)), None);
    }
    let oldest = quiet.push(piece(8, 9, Look::Full));
    let oldest = oldest.map(|part| (part.to, part.kind));
    assert_eq!(oldest, Some((at(1), Kind::Pause)));
    let next = quiet.push(piece(9, 10, Look::Room));
    let next = next.map(|part| (part.to, part.kind));
    assert_eq!(next, Some((at(2), Kind::Congestion)));
}

#[test]
fn bytes_delivered_by_an_ack_belong_to_the_silence_before_it() {
    let mut quiet = Quiet::new();
    quiet.push(piece(0, 40, Look::Other));
    quiet.delivered(3000);
    quiet.push(piece(40, 80, Look::Other));
    let mut parts = Vec::new();
    quiet.settle(Ending::Repair, SCALE, |part| {
        parts.push((part.to, part.delivered));
    });
    assert_eq!(parts, [(at(80), 3000)]);
}
