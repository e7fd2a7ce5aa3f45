//! Predictions for other senders from a capture, compared with simulations of these senders. On some paths, flows that
//! the capture does not show share the bottleneck.

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis::StreamFindings;
use dupack_diagnosis_tell::asking::{Asked, ask};
use dupack_diagnosis_tell::whatif::Offer;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::stream::{Onlooker, Outputs, stream};
use dupack_lab::trace::{Event, Flow, Trace, What};
use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::Body;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_truth::paths::capture::End;
use dupack_truth::paths::drawn::Dice;
use dupack_truth::paths::judge::findings;

/// Number of simulated runs whose mean counts as the truth.
const RUNS: u64 = 10;
/// Maximum relative error of a right prediction whose interval does not contain the truth.
const SHARE: f64 = 0.15;

const CAPTURED: [&str; 8] = [
    "rack/cubic",
    "rack/cubic",
    "rack/cubic",
    "rack/reno",
    "rack/bbr",
    "rack/bbr",
    "sack/cubic",
    "sack/reno",
];
const ASKED: [&str; 5] = [
    "rack/cubic",
    "rack/reno",
    "rack/bbr",
    "sack/cubic",
    "rack/westwood",
];

/// Maximum duration of a run.
const LONGEST: Duration = Duration::from_secs(180);

/// Presence of other flows at the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// The captured transfer is alone on its path.
    Alone,
    /// Flows that the capture does not show share the bottleneck.
    Hidden,
}

/// A transfer and two other senders whose transfer times are predicted from its capture.
pub struct Question {
    seed: u64,
    from: &'static str,
    asked: [&'static str; 2],
    dialect: &'static str,
    least_rtt: f64,
    bytes: u64,
    /// The path and all remaining parts of the experiment.
    rest: String,
}

/// Outcome of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// The interval contains the truth, or the error of the prediction is small enough.
    Right,
    /// The interval does not contain the truth, and the error of the prediction is too large.
    Wrong,
    /// No prediction was made.
    Refused,
    /// Predictions were made, but not for this sender.
    NotOffered,
}

impl Question {
    /// Returns the question that is drawn from a seed.
    #[must_use]
    pub fn of(seed: u64, company: Company) -> Self {
        let mut dice = Dice::of(seed ^ 0x0077_6861_7469_6600);
        let from = dice.one_of(&CAPTURED);
        let others: Vec<&str> = ASKED.into_iter().filter(|&one| one != from).collect();
        let first = dice.one_of(&others);
        let rest: Vec<&str> = others.into_iter().filter(|&one| one != first).collect();
        let asked = [first, dice.one_of(&rest)];
        let dialect = dice.one_of(&["linux", "linux", "linux", "rfc"]);
        let rate = 2e6 * 25_f64.powf(dice.share());
        let delay = 5e-3 * 12_f64.powf(dice.share());
        let pipe = rate * 2.0 * delay / 12_000.0;
        let room = (pipe * 0.4 * 6_f64.powf(dice.share())).max(10.0) as u64;
        let loss = dice.one_of(&[0.0, 0.0, 0.0, 0.2, 0.5, 1.0, 2.0]);
        let delayed = dice.one_of(&["0s", "40ms"]);
        let long = 4.0 + 8.0 * dice.share();
        let mut bytes = (rate / 8.0 * long).clamp(4e5, 8e6);
        let mut more = String::new();
        if company == Company::Hidden {
            let count = dice.one_of(&[1, 1, 2, 4]);
            let start = 5.0 * dice.share() * f64::from(u8::from(dice.share() < 0.6));
            let stack = dice.one_of(&["rack/cubic", "rack/cubic", "rack/bbr", "sack/reno"]);
            more = match dice.one_of(&[0, 0, 0, 1, 2]) {
                0 => {
                    bytes /= f64::from(count + 1);
                    format!(
                        "[[flows]]\nstack = \"{stack}\"\ncount = {count}\nstart = \"{start:.2}s\""
                    )
                }
                1 => format!(
                    "[[flows]]\nstack = \"{stack}\"\nweb = {{ sizes = \"web_search\", load = \"{:.0}bit/s\" }}",
                    rate * (0.2 + 0.4 * dice.share())
                ),
                _ => format!(
                    "[[udp]]\nrate = \"{:.0}bit/s\"\nstart = \"{start:.2}s\"",
                    rate * (0.2 + 0.5 * dice.share())
                ),
            };
        }
        let bytes = bytes as u64;
        let rest = format!(
            "[receiver]\ndelayed_ack = \"{delayed}\"\n\
             [path]\nrate = \"{rate:.0}bit/s\"\ndelay = \"{:.3}ms\"\nbuffer = \"{room}pkt\"\nloss = \"{loss}%\"\n\
             [[flows]]\nbytes = \"{bytes}B\"\n{more}\n",
            delay * 1e3
        );
        Self {
            seed,
            from,
            asked,
            dialect,
            least_rtt: 2.0 * delay + 12_500.0 / rate,
            bytes,
            rest,
        }
    }

    fn plan(&self, stack: &str) -> Plan {
        let text = format!(
            "stacks = [\"{stack}\"]\ndialect = \"{}\"\nseeds = 1\nstarts = \"given\"\nduration = \"{:.0}s\"\n\
             [sender]\nsegment = \"1448B\"\nheader = \"52B\"\ntimestamps = true\n{}",
            self.dialect,
            LONGEST.as_secs_f64(),
            self.rest
        );
        let source = Source::new("question.toml", text.clone());
        let parsed = source.parse();
        let parsed = parsed.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let plan = Plan::new(parsed, &source, &Catalog::builtin());
        plan.unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    /// Returns a description of the question in one line.
    pub fn line(&self) -> String {
        let rest = self.rest.replace('\n', " ");
        format!("{} {} {} {rest}", self.seed, self.from, self.dialect)
    }

    /// Captures the transfer at the sender, and diagnoses the capture. Returns `None` if the capture contains no data.
    pub fn found(&self) -> Option<StreamFindings> {
        findings(&self.captured(), End::Sender, self.least_rtt)
    }

    /// Returns the outcomes of both predictions, with a description of each.
    pub fn answers(&self) -> Vec<(Came, String)> {
        let line = self.line();
        let refused = |why: String| vec![(Came::Refused, format!("{why}: {line}")); 2];
        let Some(found) = self.found() else {
            return refused("no findings".to_owned());
        };
        let catalog = Catalog::builtin();
        let stack = |text: &str| StackSpec::parse(text, &catalog).expect("a stack");
        let stacks = self.asked.map(stack);
        let asked = ask(&found, &catalog, Some(&stacks), &(), &Interrupt::new());
        let who = found.sender.stack.as_ref();
        let who = who.map_or("?".to_owned(), |stack| {
            format!("{} {}", stack.stack, stack.dialect)
        });
        let path = format!(
            "{who}; {:?} {:.3} {:.3} rate {:?} room {:?}",
            found.path.steadiness,
            found.path.uneven,
            found.path.foreign,
            found.path.rate.value().map(|rate| rate / 1e6),
            found.path.room.value().map(|room| room.packets)
        );
        let answers = match asked {
            Ok(Asked::Answered(answers)) => answers,
            Ok(Asked::Refused(why)) => return refused(format!("{why} [{path}]")),
            other => return refused(format!("{other:?}")),
        };
        let judged = stacks.iter().map(|asked| {
            let answer = answers.iter().find(|answer| answer.stack == *asked);
            let told = answer.map(|answer| (answer.offer, answer.duration, &answer.senders));
            let Some(answer) = answer.filter(|answer| answer.offer == Offer::Given) else {
                return (
                    Came::NotOffered,
                    format!("{asked} {told:?} [{path}]: {line}"),
                );
            };
            let truth = self.truth(&asked.to_string());
            let told = answer.duration;
            let near = (told.mean / truth - 1.0).abs() <= SHARE;
            let held = told.low <= truth && truth <= told.high;
            let came = if near || held {
                Came::Right
            } else {
                Came::Wrong
            };
            let words = format!(
                "{asked} {:.2} s ({:.2} to {:.2}), truly {truth:.2} [{path}]: {line}",
                told.mean, told.low, told.high
            );
            (came, words)
        });
        judged.collect()
    }

    /// Captures the transfer until its last ACK.
    fn captured(&self) -> Trace {
        let plan = self.plan(self.from);
        let enough = Interrupt::new();
        let outputs = Outputs {
            packets: std::io::sink(),
            windows: std::io::sink(),
            capture: std::io::sink(),
        };
        let mut kept = Kept {
            bytes: self.bytes,
            enough: &enough,
            isn: SeqNumber(0),
            events: Vec::new(),
            flow: None,
        };
        let scenario = plan.scenario(plan.jobs()[0]);
        let account = stream(&scenario, (self.seed, 0), outputs, &mut kept, &enough);
        let account = account.expect("a network");
        let Flow { sender, receiver } = account.flow;
        Trace {
            stack: account.stack,
            sender,
            receiver,
            events: kept.events,
            stats: account.stats,
            delivered_bytes: account.delivered_bytes,
            end: account.end,
            left_out: 0,
        }
    }

    /// Returns the mean transfer time of `stack`, in seconds.
    fn truth(&self, stack: &str) -> f64 {
        let plan = self.plan(stack);
        let runs = (0..RUNS).map(|run| self.run(&plan, self.seed + 1_000_003 + run).0);
        runs.sum::<f64>() / RUNS as f64
    }

    /// Returns the fraction of all bytes that other flows carried during the captured transfer.
    pub fn others(&self) -> f64 {
        let (_, others) = self.run(&self.plan(self.from), self.seed);
        others as f64 / (others + self.bytes) as f64
    }

    /// Returns the transfer time in seconds, and the number of bytes that other flows carried during this time.
    fn run(&self, plan: &Plan, seed: u64) -> (f64, u64) {
        let scenario = plan.scenario(plan.jobs()[0]);
        let mut simulation = scenario.build(seed).expect("a network").simulation;
        let flow = simulation.tcp(FlowId(0)).expect("it has one");
        let mut until = Until {
            isn: flow.sender().config().isn,
            bytes: self.bytes,
            done: None,
            others: 0,
        };
        let mut now = Instant::ZERO;
        while until.done.is_none() && now < Instant::ZERO + LONGEST {
            now += Duration::from_millis(500);
            simulation.run_until(now, &mut until);
        }
        let took = until.done.unwrap_or(now).since(Instant::ZERO);
        (took.as_secs_f64(), until.others)
    }
}

/// Observer that stores the events of a flow until all its data is acknowledged.
struct Kept<'a> {
    bytes: u64,
    enough: &'a Interrupt,
    isn: SeqNumber,
    events: Vec<Event>,
    flow: Option<Flow>,
}

impl Onlooker for Kept<'_> {
    fn begin(&mut self, flow: &Flow, _: Option<Duration>) {
        self.isn = flow.sender.isn;
        self.flow = Some(*flow);
    }

    fn event(&mut self, event: &Event) {
        self.events.push(*event);
        if let What::AckArrived { ack, .. } = &event.what
            && ack.ack.offset(self.isn, self.bytes) == Some(self.bytes)
        {
            self.enough.ask();
        }
    }
}

/// Observer that records the time at which all data is acknowledged.
struct Until {
    isn: SeqNumber,
    bytes: u64,
    done: Option<Instant>,
    /// Number of bytes that other flows had carried until this time.
    others: u64,
}

impl Observer for Until {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let is_data = !matches!(event.packet.body, Body::Ack(_));
        let other = event.packet.flow != FlowId(0) && event.what == Happening::Delivered;
        if other && is_data && self.done.is_none() {
            self.others += u64::from(event.packet.wire_bytes);
        }
        if event.packet.flow == FlowId(0)
            && event.what == Happening::Delivered
            && let Body::Ack(ack) = &event.packet.body
            && ack.ack.offset(self.isn, self.bytes) == Some(self.bytes)
        {
            self.done.get_or_insert(event.at);
        }
    }
}
