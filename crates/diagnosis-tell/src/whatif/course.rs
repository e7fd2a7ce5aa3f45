//! Simulated transfers over time, for figures that compare them with the captured one.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::Seeds;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Job, Plan};
use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::Body;
use dupack_report::trace::thin::Steps;
use dupack_tcp::time::{Duration, Instant};

use crate::experiment::{Captured, time_to_run, write};
use dupack_diagnosis::path::Path;

/// Seed of the run that is shown.
const SEED: u64 = 1;

/// Simulated time between two checks for the end of the transfer.
const LOOK: Duration = Duration::from_millis(500);

/// Maximum number of points of a course. This is more than the width of a figure in pixels.
const POINTS: usize = 2000;

/// A simulated transfer over time.
#[derive(Clone, Debug)]
pub struct Course {
    /// The stack.
    pub stack: String,
    /// Steps of the progress: time since the first segment in seconds, and total number of bytes acknowledged by then.
    /// The total is valid until the next step.
    pub acked: Vec<(f64, f64)>,
}

/// Runs each of `stacks` once on the best estimate of `path`. `captured` is the captured sender on this path.
///
/// # Errors
/// Returns a message if a stack cannot run on the path.
pub fn courses(
    path: &Path,
    captured: &Captured,
    stacks: &[String],
    catalog: &Catalog,
) -> Result<Vec<Course>, String> {
    let mut written = write(path, captured);
    written.experiment.stacks = stacks.to_vec();
    written.experiment.seeds = Seeds::List(vec![SEED]);
    let source = Source::of_flags(&written.experiment);
    let plan = Plan::with_files(written.experiment, &source, catalog, &written.files)
        .map_err(|error| error.to_string())?;
    let until = Instant::ZERO + time_to_run(path);
    let run = |stack| -> Result<Vec<(f64, f64)>, String> {
        let job = Job {
            point: 0,
            stack,
            seed: SEED,
        };
        let built = plan.scenario(job).build(SEED);
        let mut simulation = built.map_err(|error| error.to_string())?.simulation;
        let mut acked = Acked::of(path.transfer.bytes);
        let mut now = Instant::ZERO;
        while now < until && acked.bytes < acked.all {
            now += LOOK;
            simulation.run_until(now, &mut acked);
        }
        Ok(acked.steps.into_points())
    };
    let all = stacks.iter().enumerate().map(|(place, stack)| {
        Ok(Course {
            stack: stack.clone(),
            acked: run(place)?,
        })
    });
    all.collect()
}

/// Observer of the acknowledged bytes over time.
struct Acked {
    all: u64,
    bytes: u64,
    last: Option<u32>,
    began: Option<Instant>,
    steps: Steps,
}

impl Acked {
    fn of(all: u64) -> Self {
        Self {
            all,
            bytes: 0,
            last: None,
            began: None,
            steps: Steps::new(POINTS),
        }
    }
}

/// Identifier of the flow that the capture shows.
const FIRST: FlowId = FlowId(0);

/// Threshold for differences of ACK numbers, modulo 2³². If a number is ahead by at least this value, the ACK is an old
/// one that was overtaken.
const BACK: u32 = 1 << 31;

impl Observer for Acked {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        if event.packet.flow != FIRST {
            return;
        }
        match (&event.packet.body, event.what) {
            (Body::Data(data), Happening::Sent) => {
                self.began.get_or_insert(event.at);
                self.last.get_or_insert(data.segment.seq.0);
            }
            (Body::Ack(ack), Happening::Delivered) => {
                let Some((began, last)) = self.began.zip(self.last) else {
                    return;
                };
                let further = ack.ack.0.wrapping_sub(last);
                if further > 0 && further < BACK {
                    self.last = Some(ack.ack.0);
                    self.bytes += u64::from(further);
                    let seconds = event.at.since(began).as_secs_f64();
                    self.steps.push((seconds, self.bytes as f64));
                }
            }
            _ => {}
        }
    }
}
