//! Comparison with ns-2.35, packet by packet.
//!
//! `validation/peers/ns2/oracle-momentary.csv` is the log of ns-2's own senders in the setting of figures 3 and 4 of
//! *momentary*: 1 Mbit/s, 200 ms, `ssthresh` 10, and the first transmissions of packets 24 to 30 are lost. The sender
//! here runs in the same setting, reduced to one link, and has to send the same packets in the same order with the same
//! window.

use std::fmt::Write as _;
use std::fs;

use dupack_tcp::rtt::RttSampling;
use dupack_tcp::sender::{DuplicateAckRule, TransmitKind};
use dupack_tcp::testing::Path;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::WindowRounding;

use super::{Aimd, SMSS, Setup};
use crate::catalog::Dialect;

/// Packet that was sent: its number, and the current window in packets.
type Sent = (u64, f64);

/// Returns the packets that ns-2's `recovery` sent. Packet 0 is the SYN and is omitted.
fn log_of(recovery: &str) -> Vec<Sent> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../validation/peers/ns2/oracle-momentary.csv"
    );
    let text = fs::read_to_string(path).expect("the log is in the repository");
    let mut cwnd = 0.0;
    let mut sent = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        match fields[..] {
            [name, _, "cwnd", _, value] if name == recovery => {
                cwnd = value.parse().expect("a number");
            }
            [name, _, "send", packet, _] if name == recovery && packet != "0" => {
                sent.push((packet.parse().expect("a number"), cwnd));
            }
            _ => {}
        }
    }
    sent
}

/// Returns the packets that `setup` sends in ten seconds of the same setting.
fn replay(setup: Setup) -> Vec<Sent> {
    let smss = f64::from(SMSS);
    let mut loopback = setup
        .dialect(Dialect::Ns2)
        .control(Aimd::Window)
        .window(2.0)
        .ssthresh(10.0)
        .configure(|c| {
            c.rounding = WindowRounding::NsTwo;
            c.duplicate_ack = DuplicateAckRule::AckNumberOnly;
            c.rtt.min_rto = Duration::from_millis(200);
            c.rtt.granularity = Duration::from_millis(10);
            c.rtt.sampling = RttSampling::OnePerWindow;
        })
        .loopback(Path {
            // The delay of the bottleneck is 98 ms; the access links and their transmission times per packet add 3 ms.
            delay: Duration::from_micros(101_000),
            // 1040 bytes at 1 Mbit/s.
            transmission: Duration::from_micros(8320),
        });
    loopback.sender.write(10_000 * u64::from(SMSS));
    let mut sent = Vec::new();
    let end = Instant::ZERO + Duration::from_secs(10);
    loopback.run(end, &mut |transmit, window| {
        let packet = transmit.offset / u64::from(SMSS) + 1;
        sent.push((packet, window.cwnd / smss));
        transmit.kind == TransmitKind::First && (24..=30).contains(&packet)
    });
    sent
}

/// Checks that `setup`, under ns-2's rules, sends the same packets as ns-2's `recovery`.
///
/// # Panics
/// If a packet differs. The message shows both logs around the first difference.
pub(crate) fn agrees_with_ns2(setup: Setup, recovery: &str) {
    let theirs = log_of(recovery);
    let ours = replay(setup);
    assert!(theirs.len() > 600, "no log of `{recovery}`");
    // The two clocks differ by the round trip of the SYN, so one log is slightly longer.
    let shorter = theirs.len().min(ours.len());
    assert!(theirs.len().abs_diff(ours.len()) < 50);
    // ns-2's log has six significant digits.
    let differs =
        |i: &usize| theirs[*i].0 != ours[*i].0 || (theirs[*i].1 - ours[*i].1).abs() > 1e-3;
    let Some(first) = (0..shorter).find(differs) else {
        return;
    };
    let mut both = String::new();
    for i in first.saturating_sub(10)..shorter.min(first + 5) {
        writeln!(both, "{i}: ns-2 {:?}, here {:?}", theirs[i], ours[i]).expect("a string grows");
    }
    panic!("transmission {first} differs from ns-2's:\n{both}");
}
