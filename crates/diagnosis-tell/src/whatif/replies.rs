//! Predictions of the single answers of a connection with turns: the answers that would have arrived sooner, and their
//! gains.
//!
//! Chance decides which answer is affected by a loss. Therefore, answers are compared by rank: the slowest answer of
//! the capture with the slowest answer of each simulation, the second slowest with the second slowest, and so on. An
//! answer would have arrived sooner if three conditions hold:
//!
//! - It took longer than the answer of the same rank in every simulation of the other sender.
//! - The captured sender's mean time for this rank is also longer than these simulations. Otherwise, the difference is due
//!   to chance.
//! - The captured sender takes about as long in simulations. Otherwise, the sender is not the cause of the captured time.

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis::path::Path;
use dupack_diagnosis::path::writes::{Rhythm, Write, rhythm};
use dupack_lab::experiment::Seeds;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Job, Plan};
use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::Body;
use dupack_tcp::time::{Duration, Instant};

use super::estimate::Estimate;
use crate::experiment::{Captured, time_to_run, write};

/// Maximum number of answers that are reported individually: the answers with the largest gain (our choice).
const SOONER_MAX: usize = 16;

/// Minimum number of answers of a connection with turns.
const ANSWERS_MIN: usize = 2;

/// Minimum gain, in seconds and as a fraction of the captured time (our choice).
const GAIN_MIN: f64 = 0.010;
const GAIN_SHARE: f64 = 0.1;

/// Maximum captured time, as a multiple of the captured sender's longest time in simulations (our choice).
const OWN_TIMES: f64 = 1.25;

/// Simulated time between two checks for the end of the transfer.
const LOOK: Duration = Duration::from_millis(500);

/// Predicted answers of a connection with turns, with another sender. The time of an answer is the time from its first
/// segment until all of it is acknowledged, without the time for which the receiver delays this ACK.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Replies {
    /// Number of answers.
    pub count: usize,
    /// Median and longest time of the captured answers, in seconds.
    pub captured: (f64, f64),
    /// Predicted median and longest time, in seconds. Both are means over the simulations.
    pub predicted: (f64, f64),
    /// Number of answers that would have arrived sooner.
    pub sooner: usize,
    /// The answers with the largest gain, the largest gain first. At most 16 are listed.
    pub most: Vec<Reply>,
}

/// An answer that would have arrived sooner.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// Number of the answer in its stream, from 1.
    pub number: usize,
    /// Time of the answer in the capture, in seconds.
    pub captured: f64,
    /// Time of the simulated answer of the same rank, in seconds: mean, minimum and maximum of the simulations.
    pub duration: Estimate,
}

/// Times of the answers in seconds, by run and by answer.
type Durations = Vec<Vec<f64>>;

/// Predicts the answers of the transfer on `path` for each of `stacks`, with the rules of `captured`. Returns `None` if
/// the transfer has no turns, or if a stack has no complete simulation.
///
/// # Errors
/// Returns a message if a stack cannot run on the path.
pub(crate) fn replies(
    path: &Path,
    captured: &Captured,
    stacks: &[StackSpec],
    (catalog, seeds): (&Catalog, u32),
    interrupt: &Interrupt,
) -> Result<Option<Vec<Replies>>, String> {
    let Some(took) = of_capture(path) else {
        return Ok(None);
    };
    let mut names = vec![captured.stack.clone()];
    names.extend(stacks.iter().map(ToString::to_string));
    let mut all = Vec::new();
    for name in &names {
        let durations = simulate(path, captured, name, (catalog, seeds), interrupt)?;
        if durations.is_empty() {
            return Ok(None);
        }
        all.push(durations);
    }
    let own = all.remove(0);
    Ok(Some(
        all.iter().map(|by| compare(&took, &own, by)).collect(),
    ))
}

/// Returns the times of the answers in the capture, in seconds. An answer ends when the pause before the next answer
/// begins, or one round trip after its arrival according to the table of requests, whichever is earlier. Therefore, a
/// delayed ACK does not make an answer slow.
fn of_capture(path: &Path) -> Option<Vec<f64>> {
    let transfer = &path.transfer;
    let round_trip = path.least_rtt.value().unwrap_or_default();
    let writes = transfer.writes.as_slice();
    if writes.len() < ANSWERS_MIN || rhythm(writes) != Rhythm::Answers {
        return None;
    }
    let ends = writes
        .iter()
        .skip(1)
        .map(|next| next.at.saturating_sub(next.after));
    let ends = ends.chain(std::iter::once(transfer.duration));
    let took = writes.iter().zip(ends);
    let took = took.map(|(write, end): (&Write, Duration)| {
        let took = end.saturating_sub(write.at);
        let arrived = write.answered_in.map(|arrived| arrived + round_trip);
        arrived.map_or(took, |arrived| took.min(arrived))
    });
    Some(took.map(|time| time.as_secs_f64()).collect())
}

/// Returns the times of the answers with `stack` for each seed. A seed is omitted if some of its answers do not end.
fn simulate(
    path: &Path,
    captured: &Captured,
    stack: &str,
    (catalog, seeds): (&Catalog, u32),
    interrupt: &Interrupt,
) -> Result<Durations, String> {
    let mut written = write(path, captured);
    written.experiment.stacks = vec![stack.to_owned()];
    written.experiment.seeds = Seeds::Count(seeds);
    let source = Source::of_flags(&written.experiment);
    let plan = Plan::with_files(written.experiment, &source, catalog, &written.files)
        .map_err(|error| error.to_string())?;
    let until = Instant::ZERO + time_to_run(path);
    let mut all = Vec::new();
    for seed in 1..=u64::from(seeds) {
        if interrupt.is_asked() {
            break;
        }
        let job = Job {
            point: 0,
            stack: 0,
            seed,
        };
        let built = plan.scenario(job).build(seed);
        let mut simulation = built.map_err(|error| error.to_string())?.simulation;
        let mut watch = Watch::of(&path.transfer.writes);
        let mut now = Instant::ZERO;
        while now < until && !watch.is_over() {
            now += LOOK;
            simulation.run_until(now, &mut watch);
        }
        if watch.is_over() {
            all.push(watch.took);
        }
    }
    Ok(all)
}

/// Compares the captured answers with simulated ones. `own` contains simulations of the captured sender, and `by`
/// contains simulations of the other sender.
fn compare(took: &[f64], own: &Durations, by: &Durations) -> Replies {
    let mut order: Vec<(usize, f64)> = took.iter().copied().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (own, sorted) = (slowest_first(own), slowest_first(by));
    let mut sooner: Vec<Reply> = Vec::new();
    for (rank, &(n, captured)) in order.iter().enumerate() {
        let (Some(own), Some(duration)) = (at_rank(&own, rank), at_rank(&sorted, rank)) else {
            continue;
        };
        let gains = captured - duration.high > GAIN_MIN.max(GAIN_SHARE * captured);
        let is_slower = own.mean > duration.high;
        if gains && is_slower && captured <= OWN_TIMES * own.high {
            sooner.push(Reply {
                number: n + 1,
                captured,
                duration,
            });
        }
    }
    let gain = |reply: &Reply| reply.captured - reply.duration.mean;
    sooner.sort_by(|one, other| gain(other).total_cmp(&gain(one)));
    let of_runs = |of: fn(&[f64]) -> f64| -> f64 {
        let runs: Vec<f64> = by.iter().map(|run| of(run)).collect();
        dupack_lab::stats::mean(&runs).unwrap_or(0.0)
    };
    Replies {
        count: took.len(),
        captured: (median(took), longest(took)),
        predicted: (of_runs(median), of_runs(longest)),
        sooner: sooner.len(),
        most: sooner.into_iter().take(SOONER_MAX).collect(),
    }
}

fn slowest_first(runs: &Durations) -> Durations {
    let sorted = runs.iter().map(|run| {
        let mut run = run.clone();
        run.sort_unstable_by(|one, other| other.total_cmp(one));
        run
    });
    sorted.collect()
}

/// Returns the mean, the minimum and the maximum time of the answers with this rank over all runs.
fn at_rank(sorted: &Durations, rank: usize) -> Option<Estimate> {
    let times: Vec<f64> = sorted
        .iter()
        .filter_map(|run| run.get(rank))
        .copied()
        .collect();
    Some(Estimate {
        mean: dupack_lab::stats::mean(&times)?,
        low: times.iter().copied().fold(f64::INFINITY, f64::min),
        high: longest(&times),
    })
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = sorted.len().saturating_sub(1) / 2;
    sorted.get(place).copied().unwrap_or(0.0)
}

fn longest(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

/// Observer of the times at which answers begin and are acknowledged.
struct Watch {
    /// Offset of the end of each answer in the stream.
    ends: Vec<u64>,
    sent: u64,
    acked: u64,
    /// Sequence numbers after the last byte sent and after the last byte acknowledged.
    numbers: Option<(u32, u32)>,
    began: Option<Instant>,
    took: Vec<f64>,
}

/// Identifier of the flow that the capture shows.
const FIRST: FlowId = FlowId(0);

/// Threshold for differences of sequence numbers, modulo 2³². A number that is ahead by at least this value is an old
/// one.
const BACK: u32 = 1 << 31;

impl Watch {
    fn of(writes: &[Write]) -> Self {
        let mut end = 0;
        let ends = writes.iter().map(|write| {
            end += write.bytes;
            end
        });
        Self {
            ends: ends.collect(),
            sent: 0,
            acked: 0,
            numbers: None,
            began: None,
            took: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.took.len() >= self.ends.len()
    }

    fn sent(&mut self, at: Instant, start: u32, len: u32) {
        let (sent, _) = self.numbers.get_or_insert((start, start));
        let further = start.wrapping_add(len).wrapping_sub(*sent);
        if further > 0 && further < BACK {
            *sent = sent.wrapping_add(further);
            self.sent += u64::from(further);
            self.began.get_or_insert(at);
        }
    }

    fn acked(&mut self, at: Instant, ack: u32) {
        let Some((_, acked)) = &mut self.numbers else {
            return;
        };
        let further = ack.wrapping_sub(*acked);
        if further == 0 || further >= BACK {
            return;
        }
        *acked = ack;
        self.acked += u64::from(further);
        while let Some(&end) = self.ends.get(self.took.len())
            && end <= self.acked
        {
            // The next answer begins when the next segment is sent.
            let began = self.began.take().unwrap_or(at);
            self.took.push(at.since(began).as_secs_f64());
        }
    }
}

impl Observer for Watch {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        if event.packet.flow != FIRST {
            return;
        }
        match (&event.packet.body, event.what) {
            (Body::Data(data), Happening::Sent) => {
                self.sent(event.at, data.segment.seq.0, data.segment.len);
            }
            (Body::Ack(ack), Happening::Delivered) => self.acked(event.at, ack.ack.0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_diagnosis::{Flow, diagnose};
    use dupack_packet::captured::CaptureReader;
    use dupack_truth::script::{End, Ip, Link, Script, packet};

    #[test]
    fn only_answers_slowed_by_the_sender_would_have_arrived_sooner() {
        let took = [0.05, 1.2, 3.0, 0.05];
        // The captured sender takes about a second twice per run, and the other sender never does.
        let own = vec![vec![0.05, 1.1, 1.3, 0.05], vec![1.0, 0.05, 0.05, 1.2]];
        let by = vec![vec![0.05, 0.06, 0.1, 0.05], vec![0.05, 0.1, 0.05, 0.2]];
        let found = compare(&took, &own, &by);
        // The captured sender does not explain the answer that took three seconds.
        assert_eq!((found.count, found.sooner), (4, 1));
        let reply = found.most[0];
        assert_eq!((reply.number, reply.captured), (2, 1.2));
        assert_eq!((reply.duration.low, reply.duration.high), (0.06, 0.1));
        assert_eq!(found.captured, (0.05, 3.0));
        assert!((found.predicted.1 - 0.15).abs() < 1e-9, "{found:?}");
        // With the captured sender itself, no answer would have arrived sooner, even if the capture had bad luck.
        assert_eq!(compare(&took, &own, &own).sooner, 0);
        let unlucky = [0.05, 1.35, 1.45, 0.05];
        assert_eq!(compare(&unlucky, &own, &own).sooner, 0);
        assert_eq!(compare(&unlucky, &own, &by).sooner, 2);
    }

    /// Returns answers of 200 bytes over a path with a delay of one millisecond, captured at the client. The client
    /// usually sends the next request at once. After every fifth answer, it delays its ACK by 40 ms and pauses for a
    /// second.
    fn answers_at_the_client() -> Script {
        let mut script = Script::new(Ip::V4, Link::Raw);
        script.open(0.0, 0.001);
        let (mut at, mut client, mut server) = (0.0012, 1000, 5000);
        for n in 1..=25 {
            let request = packet(at, End::Client, client).ack(server);
            script.add(request.len(100).push().window(500));
            client += 100;
            let data = packet(at + 0.001, End::Server, server).ack(client);
            script.add(data.len(200).push().window(500));
            server += 200;
            at += 0.0011;
            if n % 5 == 0 {
                let ack = packet(at + 0.04, End::Client, client).ack(server);
                script.add(ack.window(500));
                at += 1.0;
            }
        }
        script
    }

    #[test]
    fn a_delayed_ack_does_not_make_an_answer_slow() {
        let file = answers_at_the_client().pcap();
        let mut reader = CaptureReader::new(file.as_slice()).unwrap();
        let found = diagnose(&mut reader, Flow::All, &mut ()).unwrap();
        let stream = found.connections[0].main_stream().unwrap();
        let took = of_capture(&stream.path).unwrap();
        assert_eq!(took.len(), 25);
        let most = longest(&took);
        assert!(most < 0.003, "{took:?}");
    }

    #[test]
    fn an_answer_lasts_until_it_is_acknowledged() {
        let write = |bytes| Write {
            at: Duration::ZERO,
            after: Duration::ZERO,
            bytes,
            cause: dupack_diagnosis::path::writes::WriteCause::Request,
            answered_in: None,
        };
        let mut watch = Watch::of(&[write(200), write(100)]);
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let begin = u32::MAX - 50;
        watch.sent(at(0), begin, 100);
        watch.sent(at(1), begin.wrapping_add(100), 100);
        watch.acked(at(40), begin.wrapping_add(100));
        // A retransmission does not begin an answer.
        watch.sent(at(50), begin.wrapping_add(100), 100);
        watch.acked(at(90), begin.wrapping_add(200));
        assert!(!watch.is_over());
        watch.sent(at(200), begin.wrapping_add(200), 100);
        watch.acked(at(230), begin.wrapping_add(300));
        assert!(watch.is_over());
        assert_eq!(watch.took, [0.09, 0.03]);
    }
}
