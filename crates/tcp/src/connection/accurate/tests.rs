//! Tests of Accurate ECN at both ends of a connection.

use super::*;

/// Returns the ECN that each end considers agreed on, if the client offers `offered` and the server accepts `accepts`.
fn agreement(offered: Ecn, accepts: Ecn) -> (Ecn, Ecn) {
    let syn = match offered {
        Ecn::Absent => 0,
        Ecn::Classic => CLASSIC,
        Ecn::Accurate => ACCURATE,
    };
    let server = accepted(accepts, syn);
    let answer = match server {
        Ecn::Absent => 0,
        Ecn::Classic => 0b001,
        Ecn::Accurate => reflection(Codepoint::NotEct),
    };
    (answered(offered, answer), server)
}

#[test]
fn table_2_both_ends_agree_on_the_best_common_kind() {
    use Ecn::{Absent, Accurate, Classic};
    for (offered, accepts, expected) in [
        (Accurate, Accurate, Accurate),
        (Accurate, Classic, Classic),
        (Accurate, Absent, Absent),
        (Classic, Accurate, Classic),
        (Classic, Classic, Classic),
        (Absent, Accurate, Absent),
    ] {
        assert_eq!(agreement(offered, accepts), (expected, expected));
    }
    assert_eq!(answered(Accurate, 0b111), Absent, "a broken server");
}

#[test]
fn reserved_codes_mean_agreement() {
    for ace in [0b001, 0b010, 0b100, 0b101, 0b110] {
        assert_eq!(accepted(Ecn::Accurate, ace), Ecn::Accurate, "{ace:03b}");
    }
    assert_eq!(answered(Ecn::Accurate, 0b101), Ecn::Accurate);
}

#[test]
fn sack_blocks_give_way_except_for_two() {
    let mut counts = MarkCounts::default();
    // Timestamps take 12 of the 40 bytes.
    let room = option_room(true);
    let (option, kept) = fit(Wanted::All, &mut counts, room, 1);
    assert_eq!((option.map(|o| o.as_bytes().len()), kept), (Some(3), 1));
    let (option, kept) = fit(Wanted::All, &mut counts, room, 2);
    assert_eq!((option.map(|o| o.as_bytes().len()), kept), (Some(2), 2));
    // No counter has changed, so all three blocks are kept.
    let (option, kept) = fit(Wanted::All, &mut counts, room, 3);
    assert_eq!((option, kept), (None, 3));
}
