//! Estimates of the survey for simulated transfers over known paths, captured at either endpoint.

mod repairs;

use std::collections::{HashMap, VecDeque};

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Job, Plan};
use dupack_lab::trace::{Event, Repeated, Sent, Trace, What};
use dupack_tcp::connection::{Flags, Timestamps};
use dupack_tcp::facts::{LossRule, SendReason};
use dupack_tcp::replay::{Replay, ReplayLimits};
use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};

use super::*;
use crate::analyse::cause::{Cause, Need, Retransmission};
use crate::read::moment::{Arrival, Departure, Explained};
use crate::told::Told;

/// Survey that receives the events of a simulated flow as a capture would show them.
struct Bench {
    replay: Replay,
    survey: Survey,
    stage: Stage,
    recover: u64,
    transmissions: HashMap<u64, u32>,
    packet: u64,
}

impl Bench {
    fn new(trace: &Trace) -> Self {
        Self {
            replay: Replay::new(trace.sender, ReplayLimits::default()),
            survey: Survey::new(trace.sender.smss, &Catalog::builtin()),
            stage: Stage::Open,
            recover: 0,
            transmissions: HashMap::new(),
            packet: 0,
        }
    }

    fn sent(&mut self, at: Instant, sent: &Sent) {
        self.packet += 1;
        let times = self.transmissions.entry(sent.number).or_default();
        *times += 1;
        let times = *times;
        let Ok(sending) = self.replay.sent(at, &sent.segment) else {
            return;
        };
        let start = sending.sent.first().map_or(0, |s| s.segment.start);
        let end = sending.sent.last().map_or(0, |s| s.segment.end());
        let again = (sent.repeated != Repeated::First).then(|| {
            let timeout = sent.why == SendReason::Retransmit(LossRule::TIMEOUT);
            let cause = match sent.why {
                SendReason::TailLossProbe => Cause::TailLossProbe,
                _ if timeout && self.stage != Stage::Loss => Cause::Timeout { expiry: 1 },
                _ if timeout => Cause::AfterTimeout,
                _ => Cause::SackedBeyond,
            };
            self.stage = match timeout {
                true => Stage::Loss,
                false if self.stage == Stage::Loss => Stage::Loss,
                false => Stage::Recovery,
            };
            self.recover = sending.view.scoreboard.nxt();
            Retransmission {
                at,
                packet: self.packet,
                start,
                end,
                transmission: times.max(2),
                cause,
                trigger: None,
                waited: Duration::ZERO,
                need: match sent.repeated {
                    Repeated::Needless => Need::NeedlessByTime,
                    _ => Need::Unknown,
                },
                lost: false,
            }
        });
        let departure = Departure {
            at,
            packet: self.packet,
            start,
            end,
            kind: sending.kind,
            unseen_bytes: sending.unseen_bytes,
            flags: Flags::NONE,
            timestamps: sent
                .segment
                .timestamp
                .map(|value| Timestamps { value, echo: 0 }),
            ip_id: Some(0),
            window_left: None,
            sent: sending.sent,
            view: sending.view,
        };
        let explained = Explained {
            stage: self.stage,
            repeat: again.map(|again| Repeat::Retransmission(again.cause)),
            retransmission: again.as_ref(),
            needless: None,
        };
        self.survey.departed(&departure, &explained);
    }

    fn acknowledged(&mut self, captured: Instant, at: Instant, ack: &Ack) {
        self.packet += 1;
        let Ok(heard) = self.replay.acknowledged(at, ack) else {
            return;
        };
        if heard.facts.una >= self.recover {
            self.stage = Stage::Open;
        }
        let arrival = Arrival {
            at,
            captured,
            packet: self.packet,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: None,
            window: Some(u64::from(ack.window)),
            field: None,
            carried: 0,
            window_left: None,
            view: heard.view,
        };
        let explained = Explained {
            stage: self.stage,
            repeat: None,
            retransmission: None,
            needless: None,
        };
        self.survey.arrived(&arrival, &explained);
    }
}

fn trace(experiment: &str, seed: u64) -> Trace {
    let source = Source::new("test.toml", experiment);
    let experiment = source.parse().unwrap();
    let plan = Plan::new(experiment, &source, &Catalog::builtin()).unwrap();
    let job = Job {
        point: 0,
        stack: 0,
        seed,
    };
    Trace::record(&plan.scenario(job), seed, &Interrupt::new()).unwrap()
}

/// Returns the estimates from a capture at the sender.
fn at_sender(experiment: &str, seed: u64) -> Path {
    let trace = trace(experiment, seed);
    let mut bench = Bench::new(&trace);
    for Event { at, what } in &trace.events {
        match what {
            What::Sent(sent) => bench.sent(*at, sent),
            What::AckArrived { ack, .. } => bench.acknowledged(*at, *at, ack),
            _ => {}
        }
    }
    bench.survey.path()
}

/// Returns the estimates from a capture at the receiver, `round_trip` away from the sender.
fn at_receiver(experiment: &str, seed: u64, round_trip: Duration) -> Path {
    let trace = trace(experiment, seed);
    let sends: HashMap<u64, Sent> = trace.sends().map(|(_, sent)| (sent.order, *sent)).collect();
    let mut bench = Bench::new(&trace);
    let mut waiting: VecDeque<(Instant, Ack)> = VecDeque::new();
    for Event { at, what } in &trace.events {
        while let Some((captured, ack)) = waiting.front().copied()
            && captured + round_trip <= *at
        {
            bench.acknowledged(captured, captured + round_trip, &ack);
            waiting.pop_front();
        }
        match what {
            What::DataArrived { order, .. } => bench.sent(*at, &sends[order]),
            What::AckSent { ack, .. } => waiting.push_back((*at, *ack)),
            _ => {}
        }
    }
    bench.survey.path()
}

/// Returns the number of lost segments and the number of sent segments in the simulation.
fn truly_lost(experiment: &str, seed: u64) -> (u64, u64) {
    let trace = trace(experiment, seed);
    let lost = |event: &&Event| matches!(event.what, What::DataDropped { .. });
    let lost = trace.events.iter().filter(lost).count() as u64;
    (lost, trace.sends().count() as u64)
}

fn experiment(stack: &str, path: &str, more: &str) -> String {
    format!(
        "stacks = [\"{stack}\"]\nseeds = 1\nduration = \"30s\"\ndialect = \"linux\"\n\
         [path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\n{path}\n{more}\n"
    )
}

fn ms(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1e3)
}

#[track_caller]
fn near<T: std::fmt::Debug>(told: Told<T>, of: impl Fn(T) -> f64, truth: f64, share: f64) {
    match told {
        Told::Between { value, .. } => {
            let value = of(value);
            assert!(
                (value / truth - 1.0).abs() <= share,
                "{value} is not {truth}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_overflowing_queue_shows_rate_and_buffer() {
    for (stack, room) in [
        ("rack/cubic", 40),
        ("sack/reno", 40),
        ("rack/cubic", 12),
        ("rack/reno", 100),
    ] {
        let text = experiment(stack, &format!("buffer = \"{room}pkt\""), "");
        let path = at_sender(&text, 1);
        let least = path.least_rtt.value().unwrap();
        assert!(least.abs_diff(ms(41.2)) < ms(1.3), "{least}");
        near(path.rate, |rate| rate, 1e7, 0.02);
        assert_eq!(path.steadiness, Steadiness::Constant, "{stack} {room}");
        near(path.room, |room| room.packets, f64::from(room), 0.1);
        assert!(path.queue_share.value().unwrap() > 0.9, "{path:?}");
        assert!(path.full > 0.8, "{}", path.full);
        assert_eq!((path.losses, path.transmissions), truly_lost(&text, 1));
        let noted = path.policer.is_none() && !path.has_bursts();
        assert!(noted || room == 12, "{path:?}");
    }
}

#[test]
fn losses_of_a_link_differ_from_those_of_a_queue() {
    for truth in [0.005, 0.02, 0.05] {
        let path = format!("buffer = \"200pkt\"\nloss = \"{}%\"", truth * 100.0);
        let text = experiment("rack/cubic", &path, "");
        let path = at_sender(&text, 1);
        let (low, high) = path.random_loss.interval().unwrap();
        assert!(low <= truth && truth <= high, "{low} {truth} {high}");
        assert!(path.queue_share.value().unwrap() < 0.1, "{path:?}");
        assert_eq!(path.room.value(), None);
        assert!(!path.has_bursts());
        near(path.rate, |rate| rate, 1e7, 0.02);
        let (lost, sent) = truly_lost(&text, 1);
        let counted = path.losses;
        assert!(
            counted.abs_diff(lost) <= 1 + lost / 100,
            "{counted} {lost} of {sent}"
        );
    }
}

#[test]
fn bursts_have_both_probabilities() {
    let path = "buffer = \"200pkt\"\nburst_loss = { enter = \"0.5%\", leave = \"25%\" }";
    let text = experiment("rack/bbr", path, "");
    let paths: Vec<Path> = (1..=6).map(|seed| at_sender(&text, seed)).collect();
    assert!(paths.iter().all(Path::has_bursts));
    // Each interval contains the true value in 95 % of all cases.
    let held = |of: fn(&Path) -> Told<f64>, truth: f64| {
        let holds = |path: &&Path| {
            let (low, high) = of(path).interval().unwrap();
            low <= truth && truth <= high
        };
        let told: Vec<_> = paths.iter().map(|path| of(path).interval()).collect();
        assert!(paths.iter().filter(holds).count() >= 5, "{truth}: {told:?}");
    };
    held(|path| path.bursts.enter, 0.005);
    held(|path| path.bursts.leave, 0.25);
}

#[test]
fn a_sender_that_does_not_fill_the_path_shows_a_bound() {
    let text = experiment("rack/cubic", "", "[receiver]\nbuffer = \"12kB\"");
    let path = at_sender(&text, 1);
    assert_eq!(path.rate.value(), None, "{path:?}");
    // The rate is 12 kB per 41 ms.
    let bound = path.rate.at_least().unwrap();
    assert!((1.5e6..3.5e6).contains(&bound), "{bound}");
    assert_eq!(path.room.value(), None);
    assert_eq!(path.loss.value().unwrap(), 0.0);
    assert_eq!(
        path.transfer.receive_window.map(|w| w <= 12_000),
        Some(true)
    );
}

#[test]
fn a_policer_is_found_with_rate_and_burst() {
    let queue = "queue = \"policer\"\ntoken_bucket = { rate = \"4Mbit/s\", burst = \"60kB\" }\nbuffer = \"500pkt\"";
    for stack in ["rack/cubic", "sack/reno"] {
        let text = experiment(stack, queue, "").replace("10Mbit/s", "50Mbit/s");
        let path = at_sender(&text, 1);
        let policer = path.policer.unwrap_or_else(|| panic!("{path:?}"));
        near(policer.rate, |rate| rate, 4e6, 0.05);
        near(policer.burst, |burst| burst, 6e4, 0.3);
    }
    let plain = at_sender(
        &experiment("rack/cubic", "loss = \"1%\"\nbuffer = \"200pkt\"", ""),
        1,
    );
    assert_eq!(plain.policer, None);
}

#[test]
fn reordering_is_measured() {
    let path = "buffer = \"200pkt\"\nreorder = { probability = \"2%\", delay = \"5ms\" }";
    let path = at_sender(&experiment("rack/bbr", path, ""), 1);
    let (low, high) = path.reordering.share.interval().unwrap();
    assert!(low <= 0.02 && 0.02 <= high * 1.1, "{low} {high}");
    assert!(
        path.reordering.late_median.abs_diff(ms(4.4)) < ms(1.2),
        "{:?}",
        path.reordering
    );
    assert!((1..=8).contains(&path.reordering.packets_max));
}

#[test]
fn at_the_receiver_timestamps_show_the_queue() {
    let more = "[sender]\ntimestamps = true";
    let text = experiment("rack/cubic", "buffer = \"60pkt\"", more);
    let path = at_receiver(&text, 1, ms(41.2));
    assert_eq!(path.place, Place::Receiver);
    near(path.rate, |rate| rate, 1e7, 0.02);
    near(path.room, |room| room.packets, 60.0, 0.1);
    let (lost, _) = truly_lost(&text, 1);
    assert!(
        path.losses.abs_diff(lost) <= 1 + lost / 50,
        "{} {lost}",
        path.losses
    );
    let lossy = experiment("rack/cubic", "buffer = \"200pkt\"\nloss = \"2%\"", more);
    let path = at_receiver(&lossy, 1, ms(41.2));
    let (low, high) = path.random_loss.interval().unwrap();
    assert!(low <= 0.02 && 0.02 <= high, "{low} {high}");
    near(path.rate, |rate| rate, 1e7, 0.03);
}

#[test]
fn hidden_flows_make_the_rate_unsteady() {
    let others = "[[flows]]\n[[flows]]\nstack = \"rack/cubic\"\ncount = 2\nstart = \"3s\"";
    let text = experiment("rack/cubic", "buffer = \"60pkt\"", others);
    let path = at_sender(&text, 1);
    assert_ne!(path.steadiness, Steadiness::Constant, "{path:?}");
}

#[test]
fn ack_behaviour_is_recognized() {
    let plain = at_sender(
        &experiment(
            "rack/cubic",
            "buffer = \"60pkt\"",
            "[receiver]\ndelayed_ack = \"40ms\"",
        ),
        1,
    );
    let per_segment = plain.acks.per_segment.value().unwrap();
    assert!((0.45..0.6).contains(&per_segment), "{per_segment}");
    near(
        plain.acks.bytes_each,
        |bytes| bytes,
        2.0 * plain.smss as f64,
        0.1,
    );
    let each = at_sender(
        &experiment(
            "rack/cubic",
            "buffer = \"60pkt\"",
            "[receiver]\ndelayed_ack = \"0s\"",
        ),
        1,
    );
    assert_eq!(each.acks.delay.value(), Some(Duration::ZERO));
    near(each.acks.bytes_each, |bytes| bytes, each.smss as f64, 0.1);
}

#[test]
fn sack_compression_is_recognized() {
    let of = |compressed: bool, see: fn(&str, u64) -> Path, stack: &str, seed: u64| {
        let more = format!("[receiver]\nacks = \"adaptive\"\nsack_compression = {compressed}");
        see(
            &experiment(stack, "buffer = \"60pkt\"\nloss = \"2%\"", &more),
            seed,
        )
    };
    for stack in ["rack/cubic", "rack/bbr", "le/westwood"] {
        let ends: [fn(&str, u64) -> Path; 2] =
            [at_sender, |text, seed| at_receiver(text, seed, ms(41.2))];
        for see in ends {
            let held = of(true, see, stack, 1);
            assert!(held.acks.compresses_sacks(), "{stack} {:?}", held.acks);
            let plain = of(false, see, stack, 1);
            assert!(!plain.acks.compresses_sacks(), "{stack} {:?}", plain.acks);
            let (_, high) = plain.acks.sacks_held.interval().unwrap();
            assert!(high < 0.5, "{stack} {:?}", plain.acks);
        }
    }
    let few = "[receiver]\nbuffer = \"30kB\"";
    let lossless = at_sender(&experiment("rack/cubic", "buffer = \"600pkt\"", few), 1);
    assert!(lossless.acks.sacks_held.value().is_none());
}

#[test]
fn writes_are_recovered() {
    let pauses = "[[flows]]\nwrites = [{ bytes = \"100kB\" }, { after = \"700ms\", bytes = \"80kB\", count = 9 }]";
    let path = at_sender(&experiment("rack/cubic", "", pauses), 1);
    let writes = &path.transfer.writes;
    assert_eq!(writes.len(), 10);
    assert_eq!(writes[3].bytes, 80_000);
    assert!(writes[3].after.abs_diff(ms(700.0)) < ms(1.0));
    assert_eq!(writes::rhythm(writes), writes::Rhythm::Answers);
    let clock = "[[flows]]\nwrites = [{ every = \"1s\", bytes = \"80kB\", count = 10 }]";
    let path = at_sender(&experiment("rack/cubic", "loss = \"2%\"", clock), 1);
    assert_eq!(path.transfer.writes.len(), 10);
    assert_eq!(writes::rhythm(&path.transfer.writes), writes::Rhythm::Clock);
}

/// Path of the sweep, with its true parameters.
struct Known {
    text: String,
    name: String,
    rate: f64,
    least_ms: f64,
    room: f64,
    loss: f64,
}

/// Returns paths with different parameters, each with a sender.
fn known_paths() -> Vec<Known> {
    let mut known = Vec::new();
    for rate in [1.0, 5.0, 20.0, 80.0] {
        for delay in [2.0, 10.0, 50.0] {
            for (n, stack) in ["rack/cubic", "sack/reno", "rack/bbr"]
                .into_iter()
                .enumerate()
            {
                for (m, loss) in [0.0, 0.5, 2.0].into_iter().enumerate() {
                    let pipe: f64 = rate * 1e6 / 8.0 * delay * 2e-3 / 1500.0;
                    let room: f64 = [0.5, 1.0, 2.5][(n + m) % 3] * pipe;
                    let room = room.round().max(8.0);
                    let path = format!("buffer = \"{room}pkt\"\nloss = \"{loss}%\"");
                    let text = experiment(stack, &path, "")
                        .replace("10Mbit/s", &format!("{rate}Mbit/s"))
                        .replace("20ms", &format!("{delay}ms"));
                    known.push(Known {
                        text,
                        name: format!("{stack} {rate} Mbit/s {delay} ms {room} pkt {loss} %"),
                        rate: rate * 1e6,
                        least_ms: 2.0 * delay + 1552.0 * 8.0 / (rate * 1e3),
                        room,
                        loss: loss / 100.0,
                    });
                }
            }
        }
    }
    known
}

/// Checks that the estimates of the sweep are within the specified bounds, for each quantity.
#[test]
#[ignore = "takes minutes: a hundred transfers"]
fn estimates_of_many_paths_are_correct() {
    let (mut told, mut wrong) = ([0; 4], Vec::new());
    let paths = known_paths();
    for known in &paths {
        let path = at_sender(&known.text, 1);
        let mut judge = |n: usize, told_value: Option<f64>, right: &dyn Fn(f64) -> bool| {
            let Some(value) = told_value else {
                return;
            };
            told[n] += 1;
            if !right(value) {
                wrong.push(format!("{n}: {value} of {}", known.name));
            }
        };
        let least = path.least_rtt.value().map(|rtt| rtt.as_secs_f64() * 1e3);
        judge(0, least, &|ms| {
            (ms - known.least_ms).abs() <= (0.02 * known.least_ms).max(1.0)
        });
        judge(1, path.rate.value(), &|rate| {
            (rate / known.rate - 1.0).abs() <= 0.05
        });
        judge(2, path.room.value().map(|room| room.packets), &|room| {
            (room / known.room - 1.0).abs() <= 0.15
        });
        let (low, high) = path.random_loss.interval().unwrap();
        judge(3, Some(low), &|low| low <= known.loss && known.loss <= high);
    }
    eprintln!("of {}: told {told:?}\n{}", paths.len(), wrong.join("\n"));
    assert!(wrong.len() * 20 <= told.iter().sum::<usize>(), "{wrong:#?}");
}
