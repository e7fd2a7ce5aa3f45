//! Receive windows that are closed.

use dupack_diagnosis::analyse::budget::{Group, Limit};
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_diagnosis::{Class, Side};
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Kind of window probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Probe {
    /// The previous byte without data, as in Linux.
    Before,
    /// The next byte, as in BSD and Windows.
    Byte,
    /// The whole segment that was in flight when the window closed.
    Segment,
}

/// Returns a transfer of 146 kB to a receiver that does not read for 10 s.
pub(super) fn transfer(probe: Probe) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, None));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, None).ack(1000));
    script.add(packet(0.02, End::Client, 1000).ack(5000).window(14_600));
    script.add(
        packet(0.0201, End::Client, 1000)
            .ack(5000)
            .window(14_600)
            .len(100)
            .push(),
    );
    script.add(packet(0.0202, End::Server, 5000).ack(1100));
    let server = |at: f64, seq: u32| packet(at, End::Server, seq).ack(1100);
    let client =
        |at: f64, ack: u32, window: u16| packet(at, End::Client, 1100).ack(ack).window(window);
    let (mut at, mut sent) = (0.021, 5000);
    let rounds = |script: &mut Script, at: &mut f64, sent: &mut u32, shuts: bool| {
        for round in 0..5 {
            for n in 0..10 {
                script.add(server(*at + f64::from(n) * 1e-5, *sent).len(1460));
                *sent += 1460;
            }
            for n in 0..5_u16 {
                let full = if shuts && round == 4 {
                    14_600 - 2920 * (n + 1)
                } else {
                    14_600
                };
                let ack = *sent - 2920 * (4 - u32::from(n));
                script.add(client(*at + 0.02 + f64::from(n) * 1e-5, ack, full));
            }
            *at += 0.021;
        }
    };
    rounds(&mut script, &mut at, &mut sent, true);
    if probe == Probe::Segment {
        script.add(server(at, sent).len(1460));
        script.add(server(at, sent + 1460).len(1460));
    }
    let (mut when, mut interval) = (at, 0.25);
    while when + interval < at + 10.0 {
        when += interval;
        interval *= 2.0;
        script.add(match probe {
            Probe::Before => server(when, sent - 1),
            Probe::Byte => server(when, sent).len(1),
            Probe::Segment => server(when, sent).len(1460),
        });
        script.add(client(when + 0.02, sent, 0));
    }
    at += 10.0;
    script.add(client(at, sent, 14_600));
    at += 1e-4;
    rounds(&mut script, &mut at, &mut sent, false);
    script
}

#[track_caller]
fn was_shut(told: &Told, side: Side) {
    let stream = told.stream(side);
    let account = &stream.account;
    assert_eq!(account.retransmissions, 0, "{}", told.screen());
    assert_eq!(account.of(Class::WindowProbe), 5, "{}", told.screen());
    assert_eq!(stream.path.losses, 0, "{}", told.screen());
    let story = told.story();
    assert!(
        story.starts_with("The receive window was shut for 10 of 10 s"),
        "{story}"
    );
    is_told_once(told, side);
}

/// Asserts that limits, stalls, counts and screen agree on the time for which the window was closed. Returns this time
/// in seconds.
#[track_caller]
fn is_told_once(told: &Told, side: Side) -> f64 {
    let (stream, screen) = (told.stream(side), told.screen());
    let stalls = stream.stalls.of(StallKind::ZeroWindow);
    assert_eq!((stream.shut.times, stalls.count), (1, 1), "{screen}");
    let limit = stream.shares.of(Limit::ZeroWindow);
    assert_eq!(stream.shut.time, limit, "{screen}");
    let [limit, stalled] = [limit, stalls.time].map(|time| time.as_secs_f64());
    assert!(
        (limit - stalled).abs() < 1e-3,
        "{limit} {stalled}\n{screen}"
    );
    let unready = stream.stalls.of(StallKind::DataUnavailable).time;
    let unused = stream.shares.of_group(Group::Application);
    assert!(unready <= unused, "{unready:?} {unused:?}\n{screen}");
    let row = screen.lines().find(|line| line.contains("window shut "));
    let row = row.expect("a row").trim_start();
    assert!(row.starts_with("window shut   1 time, "), "{screen}");
    assert!(!row.contains(" 0 s in all"), "{screen}");
    limit
}

/// Returns a transfer to a receiver that stops reading. At the end, the receive window is 1,000 bytes, which is less
/// than a full segment. A short segment fills the window 250 ms later. Then the window is closed, and the sender probes
/// it. If `opens`, the window opens after 3 s.
fn filled_to_the_brim(opens: bool) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, None));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, None).ack(1000));
    let client =
        |at: f64, ack: u32, window: u16| packet(at, End::Client, 1000).ack(ack).window(window);
    let server = |at: f64, seq: u32, len: u32| packet(at, End::Server, seq).ack(1000).len(len);
    script.add(client(0.02, 5000, 14_600));
    let (mut at, mut sent) = (0.021, 5000);
    for round in 0..4 {
        for n in 0..10 {
            script.add(server(at + f64::from(n) * 1e-5, sent, 1460));
            sent += 1460;
        }
        let window = if round == 3 { 1000 } else { 14_600 };
        script.add(client(at + 0.02, sent, window));
        at += 0.021;
    }
    script.add(server(at + 0.25, sent, 1000).push());
    sent += 1000;
    script.add(client(at + 0.27, sent, 0));
    for wait in [0.5, 1.0, 2.0] {
        script.add(server(at + wait, sent - 1, 0));
        script.add(client(at + wait + 0.02, sent, 0));
    }
    if opens {
        script.add(client(at + 3.0, sent, 14_600));
        for n in 0..10 {
            script.add(server(at + 3.0001 + f64::from(n) * 1e-5, sent, 1460));
            sent += 1460;
        }
        script.add(client(at + 3.02, sent, 14_600));
    }
    script
}

#[test]
fn all_outputs_agree_on_the_time_of_a_shut_window() {
    for (opens, wanted) in [(true, 3.0), (false, 2.02)] {
        let told = Told::of(&filled_to_the_brim(opens));
        let shut = is_told_once(&told, Side::Answerer);
        assert!(
            (shut - wanted).abs() < 0.003,
            "{shut} {wanted}\n{}",
            told.screen()
        );
    }
}

#[test]
fn probes_of_a_shut_window_are_no_retransmissions() {
    for probe in [Probe::Before, Probe::Byte, Probe::Segment] {
        was_shut(&Told::of(&transfer(probe)), Side::Answerer);
    }
}

#[test]
fn a_window_of_zero_needs_no_scale() {
    let mut script = transfer(Probe::Before);
    script.retain(|packet: &Packet| packet.at_s() > 0.03);
    let told = Told::of(&script);
    let server = told.connection().main_stream().unwrap().side;
    was_shut(&told, server);
}

/// Returns a transfer of 13 MB through a window of 64 kB (500, shifted by 7) with a round-trip time of 100 ms.
fn through_a_small_window() -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    script.add(packet(0.0, End::Client, 999).syn(1460, Some(7)));
    script.add(packet(1e-4, End::Server, 4999).syn(1460, Some(7)).ack(1000));
    script.add(packet(0.1, End::Client, 1000).ack(5000).window(500));
    let mut sent = 5000;
    for round in 0..200 {
        let at = 0.1001 + f64::from(round) * 0.1005;
        for n in 0..43 {
            script.add(
                packet(at + f64::from(n) * 1e-5, End::Server, sent)
                    .ack(1000)
                    .len(1460),
            );
            sent += 1460;
        }
        // One ACK per round trip acknowledges all segments of the flight.
        script.add(packet(at + 0.1, End::Client, 1000).ack(sent).window(500));
    }
    script
}

#[test]
fn an_uncaptured_window_scale_is_inferred_from_where_the_sender_stops() {
    for cut in [0.0, 0.05] {
        let mut script = through_a_small_window();
        script.retain(|packet: &Packet| packet.at_s() >= cut);
        let told = Told::of(&script);
        let story = told.story();
        assert!(
            story.contains("eceive window of 6"),
            "{cut}: {story}\n{}",
            told.screen()
        );
    }
}
