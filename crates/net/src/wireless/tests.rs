//! Tests of timelines: start and sender of each frame, accurate to the microsecond.
//!
//! A data frame with a packet of 1028 bytes takes 966 µs, ACK and CTS take 304 µs, and RTS takes 352 µs. SIFS is 10 µs,
//! DIFS 50 µs, EIFS 364 µs, and the wait for an answer 222 µs. Most tests have contention windows of zero, so that they
//! do not depend on random numbers.

use dupack_tcp::time::{Duration, Instant};

use super::station::FrameKind::{self, Ack, Cts, Data, Rts};
use super::{
    Answering, Interference, Medium, Position, RadioConfig, RadioPort, RtsThreshold, SensedFrames,
};
use crate::ids::{LinkId, StationId};
use crate::link::{Admission, DropCause, Fate, Offer, QueueLimit};
use crate::packet::PacketHandle;
use crate::units::Probability;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A configuration without backoff.
fn certain() -> RadioConfig {
    RadioConfig {
        cw_min: 0,
        cw_max: 0,
        ..RadioConfig::DSSS_11_MBPS
    }
}

/// A configuration without backoff in which carriers are sensed only as far as frames are received.
fn short_sighted() -> RadioConfig {
    RadioConfig {
        carrier_sense_range_m: 250.0,
        ..certain()
    }
}

/// A frame: start time, sender, kind.
type Sighting = (u64, usize, FrameKind);
/// The end of a packet: time, number, cause of loss.
type End = (u64, u32, Option<DropCause>);

/// Stations on a line, and the observed events.
struct Scene {
    medium: Medium,
    frames: Vec<Sighting>,
    ends: Vec<End>,
    /// Offered packets: time, number, sender, receiver.
    offers: Vec<(u64, u32, u32, u32)>,
}

impl Scene {
    fn new(config: &RadioConfig, places_m: &[f64]) -> Self {
        let stations: Vec<_> = (0..)
            .zip(places_m)
            .map(|(n, &x): (u32, _)| (format!("station {n}"), Position::on_line(x)))
            .collect();
        Self {
            medium: Medium::new(config, &stations, 1),
            frames: Vec::new(),
            ends: Vec::new(),
            offers: Vec::new(),
        }
    }

    /// Adds a packet of 1028 B at `micros`.
    fn packet(mut self, micros: u64, number: u32, from: u32, to: u32) -> Self {
        self.offers.push((micros, number, from, to));
        self
    }

    /// Runs until no more events are pending.
    fn play(mut self) -> Self {
        self.offers.sort_unstable();
        let mut offers = core::mem::take(&mut self.offers).into_iter().peekable();
        loop {
            let offered = offers.peek().map_or(Instant::FAR_FUTURE, |o| at(o.0));
            let due = self.medium.next_event().unwrap_or(Instant::FAR_FUTURE);
            if offered <= due {
                let Some((micros, number, from, to)) = offers.next() else {
                    return self;
                };
                let verdict = self.offer(micros, number, from, to);
                assert!(matches!(verdict, Admission::Accepted { .. }));
            } else {
                self.advance(due);
            }
        }
    }

    fn offer(&mut self, micros: u64, number: u32, from: u32, to: u32) -> Admission {
        let packet = Offer {
            packet: PacketHandle(number),
            bytes: 1028,
            ..Offer::default()
        };
        let port = RadioPort {
            from: StationId(from),
            to: StationId(to),
        };
        self.medium.offer(at(micros), &packet, LinkId(0), port)
    }

    fn advance(&mut self, now: Instant) {
        let before = self.medium.frames();
        self.medium.advance(now);
        let micros = now.as_nanos() / 1000;
        for (s, kind) in self.medium.frames() {
            if !before.contains(&(s, kind)) {
                self.frames.push((micros, s, kind));
            }
        }
        while let Some(outcome) = self.medium.take_outcome() {
            let cause = match outcome.fate {
                Fate::Lost(cause) => Some(cause),
                Fate::Arrived | Fate::FirstOfTwo => None,
            };
            self.ends.push((micros, outcome.packet.packet.0, cause));
        }
    }
}

#[test]
fn data_sifs_ack_difs() {
    let seen = Scene::new(&certain(), &[0.0, 200.0])
        .packet(1000, 0, 0, 1)
        .packet(1000, 1, 0, 1)
        .play();
    let expected = [
        (1000, 0, Data),
        (1976, 1, Ack),
        // 1976 + 304 + 50 µs.
        (2330, 0, Data),
        (3306, 1, Ack),
    ];
    assert_eq!(seen.frames, expected);
    assert_eq!(seen.ends, [(1966, 0, None), (3296, 1, None)]);
}

#[test]
fn a_station_accesses_an_idle_channel_after_difs() {
    // The channel has been idle since 0 µs, but access is not possible before DIFS.
    let early = Scene::new(&certain(), &[0.0, 200.0]).packet(20, 0, 0, 1);
    assert_eq!(early.play().frames[0], (50, 0, Data));
    // The backoff after the first packet expired long ago, so access is immediate.
    let later = Scene::new(&RadioConfig::DSSS_11_MBPS, &[0.0, 200.0])
        .packet(1000, 0, 0, 1)
        .packet(900_000, 1, 0, 1)
        .play();
    assert_eq!(later.frames[2], (900_000, 0, Data));
}

#[test]
fn consecutive_packets_are_whole_slots_apart() {
    let mut scene = Scene::new(&RadioConfig::DSSS_11_MBPS, &[0.0, 200.0]);
    for n in 0..40 {
        scene = scene.packet(1000, n, 0, 1);
    }
    let seen = scene.play();
    let starts: Vec<u64> = seen
        .frames
        .iter()
        .filter(|frame| frame.2 == Data)
        .map(|frame| frame.0)
        .collect();
    let mut slots: Vec<u64> = Vec::new();
    for pair in starts.windows(2) {
        let backoff = pair[1] - pair[0] - (966 + 10 + 304 + 50);
        assert_eq!(backoff % 20, 0);
        slots.push(backoff / 20);
    }
    // There are 39 draws from 0 to 31.
    assert!(slots.iter().all(|&slots| slots <= 31));
    assert!(slots.iter().any(|&slots| slots > 25) && slots.iter().any(|&slots| slots < 6));
}

#[test]
fn rts_cts_data_ack() {
    let config = RadioConfig {
        // The frame of the packet has 1028 + 36 bytes.
        rts_threshold: RtsThreshold::Above(1063),
        ..certain()
    };
    let seen = Scene::new(&config, &[0.0, 200.0])
        .packet(1000, 0, 0, 1)
        .packet(1000, 1, 0, 1)
        .play();
    let exchange = [
        (1000, 0, Rts),
        (1362, 1, Cts),
        (1676, 0, Data),
        (2652, 1, Ack),
        (3006, 0, Rts),
    ];
    assert_eq!(seen.frames[..5], exchange);
    let above = RadioConfig {
        rts_threshold: RtsThreshold::Above(1064),
        ..config
    };
    let seen = Scene::new(&above, &[0.0, 200.0]).packet(1000, 0, 0, 1);
    assert_eq!(seen.play().frames[0], (1000, 0, Data));
}

#[test]
fn a_cts_silences_stations_that_do_not_sense_the_sender() {
    let config = RadioConfig {
        rts_threshold: RtsThreshold::Above(0),
        ..short_sighted()
    };
    let seen = Scene::new(&config, &[0.0, 200.0, 400.0])
        .packet(1000, 0, 0, 1)
        .packet(1400, 1, 2, 1)
        .play();
    // The CTS ends at 1666 µs and reserves SIFS, data, SIFS and ACK, until 2956 µs. DIFS follows.
    assert_eq!(seen.frames[1], (1362, 1, Cts));
    assert_eq!(seen.frames[4], (3006, 2, Rts));
    assert_eq!(seen.ends.len(), 2);
}

#[test]
fn hidden_stations_collide_up_to_the_retry_limit() {
    let seen = Scene::new(&short_sighted(), &[0.0, 200.0, 400.0])
        .packet(1000, 0, 0, 1)
        .packet(1500, 1, 2, 1)
        .play();
    // Each station makes seven attempts, 966 + 222 + 50 µs apart.
    for (station, first) in [(0, 1000), (2, 1500)] {
        let starts: Vec<u64> = seen
            .frames
            .iter()
            .filter(|frame| frame.1 == station)
            .map(|frame| frame.0)
            .collect();
        let expected: Vec<u64> = (0..7).map(|n| first + 1238 * n).collect();
        assert_eq!(starts, expected);
    }
    let gone = Some(DropCause::Collision);
    let last = 1000 + 6 * 1238 + 966 + 222;
    assert_eq!(seen.ends, [(last, 0, gone), (last + 500, 1, gone)]);
    let counters = seen.medium.counters(StationId(0));
    assert_eq!((counters.collisions, counters.retry_drops), (7, 1));
}

#[test]
fn stations_that_start_together_collide() {
    let limit = RadioConfig {
        short_retry_limit: 2,
        ..certain()
    };
    // All stations sense each other.
    let seen = Scene::new(&limit, &[0.0, 200.0, 400.0])
        .packet(1000, 0, 0, 1)
        .packet(1000, 1, 2, 1)
        .play();
    assert_eq!(seen.ends.len(), 2);
    assert!(
        seen.ends
            .iter()
            .all(|end| end.2 == Some(DropCause::Collision))
    );
}

#[test]
fn the_nearer_station_is_captured() {
    let of = |interference| {
        let config = RadioConfig {
            interference,
            short_retry_limit: 1,
            ..short_sighted()
        };
        // Station 2 is at 100 m from station 1, and station 0 at 200 m, so the signal of station 0 is 12 dB weaker.
        let seen = Scene::new(&config, &[0.0, 200.0, 300.0])
            .packet(1000, 0, 0, 1)
            .packet(1000, 1, 2, 1)
            .play();
        let mut ends = seen.ends;
        ends.sort_unstable_by_key(|end| end.1);
        ends.iter().map(|end| end.2).collect::<Vec<_>>()
    };
    let gone = Some(DropCause::Collision);
    assert_eq!(
        of(RadioConfig::DSSS_11_MBPS.interference),
        [gone, None],
        "with capture"
    );
    assert_eq!(of(Interference::AnyOverlap), [gone, gone], "without");
}

#[test]
fn eifs_after_a_frame_that_could_not_be_received() {
    let second_start = |sensed_frames, place_m| {
        let config = RadioConfig {
            frame_error: Probability::ALWAYS,
            short_retry_limit: 1,
            sensed_frames,
            ..certain()
        };
        let seen = Scene::new(&config, &[0.0, 200.0, place_m])
            .packet(1000, 0, 0, 1)
            .packet(1500, 1, 2, 1)
            .play();
        seen.frames[1]
    };
    // The frame ends at 1966 µs, and no ACK follows. Station 2 at 400 m only senses the frame.
    assert_eq!(second_start(SensedFrames::Eifs, 400.0), (2330, 2, Data));
    assert_eq!(second_start(SensedFrames::Difs, 400.0), (2016, 2, Data));
    // At 100 m, station 2 receives the frame and respects the reservation for the ACK: 1966 + 314 + 50 µs.
    assert_eq!(second_start(SensedFrames::Difs, 100.0), (2330, 2, Data));
}

#[test]
fn bystanders_of_a_collision_wait_for_eifs_or_difs() {
    let bystander = |sensed_frames| {
        let config = RadioConfig {
            short_retry_limit: 1,
            sensed_frames,
            ..certain()
        };
        let seen = Scene::new(&config, &[0.0, 200.0, 400.0, 201.0])
            .packet(1000, 0, 0, 1)
            .packet(1000, 1, 2, 1)
            .packet(1500, 2, 3, 1)
            .play();
        seen.frames[2]
    };
    assert_eq!(bystander(SensedFrames::Eifs), (2330, 3, Data));
    assert_eq!(bystander(SensedFrames::Difs), (2016, 3, Data));
}

#[test]
fn corrupted_frames_are_retried_up_to_the_limit() {
    let config = RadioConfig {
        frame_error: Probability::ALWAYS,
        ..certain()
    };
    let seen = Scene::new(&config, &[0.0, 200.0])
        .packet(1000, 0, 0, 1)
        .play();
    assert_eq!(seen.frames.len(), 7);
    let gone = Some(DropCause::FrameError);
    assert_eq!(seen.ends, [(1000 + 6 * 1238 + 966 + 222, 0, gone)]);
    assert_eq!(seen.medium.counters(StationId(0)).frame_errors, 7);
    // The RTS succeeds each time, so the long retry limit applies.
    let config = RadioConfig {
        rts_threshold: RtsThreshold::Above(0),
        ..config
    };
    let seen = Scene::new(&config, &[0.0, 200.0])
        .packet(1000, 0, 0, 1)
        .play();
    let data = seen.frames.iter().filter(|frame| frame.2 == Data);
    assert_eq!(data.count(), 4);
}

#[test]
fn a_lost_ack_causes_a_retry_but_no_second_delivery() {
    // Station 2, 300 m behind station 0, does not sense it and is not sensed by it, but drowns the ACK that comes from
    // 200 m. The frame of station 2 is on the air from 1500 to 2466 µs, the ACK from 1976 to 2280 µs.
    let seen = Scene::new(&short_sighted(), &[0.0, 200.0, -300.0, -400.0])
        .packet(1000, 0, 0, 1)
        .packet(1500, 1, 2, 3)
        .play();
    assert_eq!(seen.ends, [(1966, 0, None), (2466, 1, None)]);
    // EIFS follows the garbled ACK: 2280 + 364 µs.
    assert!(seen.frames.contains(&(2644, 0, Data)));
    assert!(seen.frames.contains(&(3620, 1, Ack)));
    assert_eq!(seen.medium.counters(StationId(1)).duplicates, 1);
    let sender = seen.medium.counters(StationId(0));
    assert_eq!((sender.collisions, sender.acknowledged), (1, 1));
}

#[test]
fn a_packet_that_arrives_before_the_ack_may_need_a_backoff() {
    let start = |answering| {
        let config = RadioConfig {
            answering,
            cw_min: 31,
            cw_max: 31,
            ..certain()
        };
        // Station 1 gets a packet at 1970 µs, between the data that ends at 1966 µs and its ACK, which ends at 2280 µs.
        let seen = Scene::new(&config, &[0.0, 200.0])
            .packet(1000, 0, 0, 1)
            .packet(1970, 1, 1, 0)
            .play();
        assert_eq!(seen.frames[1], (1976, 1, Ack));
        seen.frames[2].0
    };
    assert_eq!(start(Answering::Idle), 2330);
    let backoff = start(Answering::Busy) - 2330;
    assert!(backoff > 0 && backoff % 20 == 0 && backoff <= 31 * 20);
}

#[test]
fn a_packet_error_is_acknowledged_and_not_retried() {
    let config = RadioConfig {
        packet_error: Probability::ALWAYS,
        ..certain()
    };
    let seen = Scene::new(&config, &[0.0, 200.0])
        .packet(1000, 0, 0, 1)
        .play();
    assert_eq!(seen.frames, [(1000, 0, Data), (1976, 1, Ack)]);
    assert_eq!(seen.ends, [(1966, 0, Some(DropCause::Random))]);
}

#[test]
fn the_queue_excludes_the_packet_in_the_mac() {
    let config = RadioConfig {
        queue: QueueLimit::Packets(2),
        ..certain()
    };
    let mut scene = Scene::new(&config, &[0.0, 200.0]);
    for n in 0..3 {
        assert!(matches!(
            scene.offer(0, n, 0, 1),
            Admission::Accepted { .. }
        ));
    }
    let full = Admission::Dropped(DropCause::QueueFull);
    assert_eq!(scene.offer(0, 3, 0, 1), full);
    assert_eq!(scene.medium.backlog(StationId(0)), (2, 2056));
    assert_eq!(scene.play().ends.len(), 3);
}

#[test]
fn airtime_and_busy_time_are_counted() {
    let seen = Scene::new(&certain(), &[0.0, 200.0, 400.0])
        .packet(1000, 0, 0, 1)
        .play();
    let spent = |n| {
        let counters = seen.medium.counters(StationId(n));
        (
            counters.transmitting.as_nanos() / 1000,
            counters.busy.as_nanos() / 1000,
        )
    };
    assert_eq!(spent(0), (966, 1270));
    assert_eq!(spent(1), (304, 1270));
    assert_eq!(spent(2), (0, 1270));
}
