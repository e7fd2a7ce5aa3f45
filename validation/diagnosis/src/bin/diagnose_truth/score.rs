//! Comparison of diagnoses with the truth, for one capture and for many captures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dupack_diagnosis::sender::Control;
use dupack_diagnosis::told::Told;
use dupack_diagnosis::{Need, StreamFindings};
use dupack_tcp::time::Duration;

use super::packets::DataPacket;
use super::told::Telling;
use super::truth::{Fate, Was};

/// The truth about a transfer, except for its packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Time with data outstanding, and time limited by the receive window, if the kernel reports them.
    pub times: Option<(Duration, Duration)>,
    pub least_rtt: Duration,
    pub rate: f64,
    pub policed: bool,
    /// Fraction of the sent packets that was lost.
    pub loss: f64,
    /// Capacity of the queue in packets, if it overflowed.
    pub room: Option<f64>,
    pub control: Option<Control>,
}

/// Result of comparing a quantity with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Right,
    Wrong,
    /// The diagnosis does not state the quantity.
    Untold,
}

/// A quantity of a capture: the result of the comparison, and a text with the truth and the diagnosis.
#[derive(Clone, Debug)]
pub struct Judged {
    pub mark: Mark,
    pub text: String,
}

/// A packet with a wrong diagnosis.
#[derive(Clone, Debug)]
pub struct Miss {
    pub file: PathBuf,
    pub packet: DataPacket,
    pub about: About,
}

/// Kind of a wrong diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Wrong class. The fields are the true and the diagnosed class.
    Cause(Was, Was),
    /// Wrong decision about whether a retransmission was spurious. The field is the diagnosis.
    Need(Need),
}

/// Counts of spurious retransmissions: `hits` are spurious and diagnosed as such, `false_alarms` are diagnosed but not
/// spurious, `missed` are spurious but not diagnosed, and `all` are all retransmissions with a diagnosis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needless {
    pub hits: u64,
    pub false_alarms: u64,
    pub missed: u64,
    pub all: u64,
}

/// Results of one capture.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Counts by true and diagnosed class.
    pub confusion: BTreeMap<(Was, Was), u64>,
    pub needless: Needless,
    pub misses: Vec<Miss>,
    /// Number of packets whose truth is unknown.
    pub unknown: u64,
    /// Compared quantities.
    pub judged: BTreeMap<Quantity, Judged>,
}

/// Quantity of a transfer that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Time without outstanding data. The kernel does not count this time as busy.
    Application,
    ReceiveWindow,
    LeastRtt,
    Rate,
    Loss,
    Room,
    Control,
}

impl Quantity {
    pub const ALL: [Self; 7] = [
        Self::Application,
        Self::ReceiveWindow,
        Self::LeastRtt,
        Self::Rate,
        Self::Loss,
        Self::Room,
        Self::Control,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::ReceiveWindow => "receive window",
            Self::LeastRtt => "least RTT",
            Self::Rate => "rate",
            Self::Loss => "loss",
            Self::Room => "buffer",
            Self::Control => "control",
        }
    }
}

impl Score {
    /// Scores the diagnosis of a capture. `packets` contains each data packet with its true class, if known, and its
    /// fate.
    pub fn of(
        file: &Path,
        packets: &[(DataPacket, Option<Was>, Fate)],
        telling: &Telling,
        known: &Known,
    ) -> Self {
        let mut score = Self::default();
        for (packet, was, fate) in packets {
            let Some(was) = *was else {
                score.unknown += 1;
                continue;
            };
            let told = telling.packets.get(&packet.number);
            let said = told.map_or(Was::New, |told| told.was);
            *score.confusion.entry((was, said)).or_default() += 1;
            if was.coarse() != said.coarse() && (was.is_again() || said.is_again()) {
                score.misses.push(Miss {
                    file: file.to_owned(),
                    packet: *packet,
                    about: About::Cause(was, said),
                });
            }
            let record = told.and_then(|told| told.record).filter(|_| was.is_again());
            if let Some(record) = record
                && (record.need != Need::Unknown || record.lost)
            {
                let needless = !matches!(record.need, Need::Needed | Need::Unknown);
                score.needless.count(needless, fate.needless);
                if needless != fate.needless {
                    score.misses.push(Miss {
                        file: file.to_owned(),
                        packet: *packet,
                        about: About::Need(record.need),
                    });
                }
            }
        }
        score.judged = judge(&telling.stream, known);
        score
    }

    /// Returns the number of correctly classified retransmissions, and the number of all retransmissions.
    pub fn classified(&self) -> (u64, u64) {
        let pairs = self.confusion.iter();
        let pairs = pairs.filter(|((was, told), _)| was.is_again() || told.is_again());
        pairs.fold((0, 0), |(right, all), (&(was, told), &count)| {
            let hit = was.coarse() == told.coarse();
            (right + if hit { count } else { 0 }, all + count)
        })
    }
}

impl Needless {
    fn count(&mut self, told: bool, was: bool) {
        self.all += 1;
        match (told, was) {
            (true, true) => self.hits += 1,
            (true, false) => self.false_alarms += 1,
            (false, true) => self.missed += 1,
            (false, false) => {}
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.false_alarms += other.false_alarms;
        self.missed += other.missed;
        self.all += other.all;
    }

    /// Returns the number of correct diagnoses.
    pub const fn right(&self) -> u64 {
        self.all - self.false_alarms - self.missed
    }
}

/// Tolerance of fractions of the time, in percentage points.
const POINTS: f64 = 5.0;
/// Relative tolerance of the minimum round-trip time. `RTT_SECONDS` is the absolute tolerance, in seconds; the larger
/// of the two tolerances applies.
const RTT_SHARE: f64 = 0.02;
const RTT_SECONDS: f64 = 0.001;
/// Relative tolerance of the rate.
const RATE_SHARE: f64 = 0.05;
/// Relative tolerance of the queue's capacity.
const ROOM_SHARE: f64 = 0.15;

fn judge(stream: &StreamFindings, known: &Known) -> BTreeMap<Quantity, Judged> {
    let mut judged = BTreeMap::new();
    let shares = &stream.shares;
    let all = shares.duration().as_secs_f64().max(f64::MIN_POSITIVE);
    if let Some((busy, window)) = known.times {
        let points = |time: Duration| time.as_secs_f64() / all * 100.0;
        let told = 100.0 - points(shares.kernel.busy);
        let idle = (100.0 - points(busy)).max(0.0);
        judged.insert(Quantity::Application, off(told, idle));
        let told = points(shares.kernel.receive_window);
        judged.insert(Quantity::ReceiveWindow, off(told, points(window)));
    }
    let least = known.least_rtt.as_secs_f64();
    let within = |told: f64| (told - least).abs() <= RTT_SECONDS.max(RTT_SHARE * least);
    let told = stream.path.least_rtt.value().map(Duration::as_secs_f64);
    let unit = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    judged.insert(Quantity::LeastRtt, quantity(told, least, &within, &unit));
    let rate = match &stream.path.policer {
        Some(policer) if known.policed => policer.rate.value(),
        _ if known.policed => None,
        _ => stream.path.rate.value(),
    };
    let near = |truth: f64, share: f64| move |told: f64| (told - truth).abs() <= share * truth;
    let mbps = |bits: f64| format!("{:.2} Mbit/s", bits / 1e6);
    let within = near(known.rate, RATE_SHARE);
    judged.insert(Quantity::Rate, quantity(rate, known.rate, &within, &mbps));
    judged.insert(Quantity::Loss, loss(stream, known.loss));
    if let Some(room) = known.room {
        let told = stream.path.room.value().map(|room| room.packets);
        let packets = |packets: f64| format!("{packets:.1} packets");
        let within = near(room, ROOM_SHARE);
        judged.insert(Quantity::Room, quantity(told, room, &within, &packets));
    }
    if let Some(control) = known.control {
        judged.insert(
            Quantity::Control,
            named(stream.sender.control.name, control),
        );
    }
    judged
}

fn off(told: f64, was: f64) -> Judged {
    let mark = if (told - was).abs() <= POINTS {
        Mark::Right
    } else {
        Mark::Wrong
    };
    Judged {
        mark,
        text: format!("{told:.1} % ({was:.1} %)"),
    }
}

fn quantity(
    told: Option<f64>,
    was: f64,
    within: &dyn Fn(f64) -> bool,
    words: &dyn Fn(f64) -> String,
) -> Judged {
    let was = words(was);
    match told {
        None => Judged {
            mark: Mark::Untold,
            text: format!("? ({was})"),
        },
        Some(told) => Judged {
            mark: if within(told) {
                Mark::Right
            } else {
                Mark::Wrong
            },
            text: format!("{} ({was})", words(told)),
        },
    }
}

fn loss(stream: &StreamFindings, was: f64) -> Judged {
    let percent = |share: f64| share * 100.0;
    match stream.path.loss {
        Told::Between { low, high, value } => {
            let inside = (low..=high).contains(&was);
            Judged {
                mark: if inside { Mark::Right } else { Mark::Wrong },
                text: format!(
                    "{:.2} %, {:.2} to {:.2} ({:.2} %)",
                    percent(value),
                    percent(low),
                    percent(high),
                    percent(was)
                ),
            }
        }
        Told::AtLeast { .. } | Told::CannotBeTold { .. } => Judged {
            mark: Mark::Untold,
            text: format!("? ({:.2} %)", percent(was)),
        },
    }
}

fn named(told: Option<Control>, was: Control) -> Judged {
    let mark = match told {
        None => Mark::Untold,
        Some(told) if told.includes(was) => Mark::Right,
        Some(_) => Mark::Wrong,
    };
    let text = told.map_or("?", Control::name);
    Judged {
        mark,
        text: format!("{text} ({was})"),
    }
}
