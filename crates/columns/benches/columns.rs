//! Benchmarks of the conversion of results and traces into columns, in one thread: `cargo bench -p dupack-columns`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use dupack_algorithms::catalog::Catalog;
use dupack_columns::trace::Columns;
use dupack_columns::{Runs, Sweep};
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Results};
use dupack_lab::run::{Interrupt, Job, Plan, Scenario};
use dupack_lab::trace::stream::{Onlooker, follow};
use dupack_lab::trace::{Event, Flow};
use dupack_tcp::time::Duration;

fn main() {
    divan::main();
}

/// Converts the packets and the sender's state of a run of a million packets into columns. The time of the run itself
/// is not measured.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn trace_of_a_million_packets(bencher: Bencher<'_, '_>) {
    let kept = million_packets();
    let packets = ItemsCount::new(1_000_000_usize);
    bencher.counter(packets).bench(|| {
        let mut columns = Columns::default();
        kept.show(&mut columns);
        black_box(columns.take())
    });
}

/// Converts the packets and the sender's state of a run of a million packets into columns. The time of the run is
/// included.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn run_of_a_million_packets(bencher: Bencher<'_, '_>) {
    let scenario = scenario();
    let packets = ItemsCount::new(1_000_000_usize);
    bencher.counter(packets).bench(|| {
        let mut columns = Columns::default();
        follow(&scenario, (1, 0), &mut columns, &Interrupt::new())
            .expect("the same scenario was built above");
        black_box(columns.take())
    });
}

/// Converts a hundred thousand runs into columns.
#[divan::bench(sample_count = 10, sample_size = 1)]
fn runs(bencher: Bencher<'_, '_>) {
    const RUNS: usize = 100_000;
    let results = results();
    let sweep = Sweep::of(&results);
    bencher.counter(ItemsCount::new(RUNS)).bench(|| {
        let mut table = Runs::new(sweep.clone(), Measure::ALL);
        let runs = results.runs.iter().cycle().take(RUNS);
        runs.for_each(|run| table.push(run));
        black_box(table.take())
    });
}

fn plan(text: &str) -> Plan {
    let source = Source::new("bench.toml", text);
    let experiment = source.parse().expect("the experiment is valid");
    Plan::new(experiment, &source, &Catalog::builtin()).expect("the experiment can run")
}

fn scenario() -> Scenario {
    let text = "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"2000s\"\n[path]\nrate = \"10Mbit/s\"\n\
                delay = \"2ms\"\nloss = \"1%\"\n[sender]\nsegment = \"1000B\"\n[[flows]]\nbytes = \"1000MB\"\n";
    let plan = plan(text);
    plan.scenario(Job {
        point: 0,
        stack: 0,
        seed: 1,
    })
    .clone()
}

fn results() -> Results {
    let text = "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 4\nduration = \"1s\"\n[path]\nrate = \"1Mbit/s\"\n\
                [sweep]\n\"path.loss\" = [\"0%\", \"1%\"]\n\"path.delay\" = [\"1ms\", \"5ms\"]\n";
    plan(text).execute(Execution::default(), &(), &Interrupt::new())
}

/// A trace in memory.
#[derive(Default)]
struct TraceInMemory {
    flow: Option<Flow>,
    events: Vec<Event>,
}

impl TraceInMemory {
    fn show(&self, onlooker: &mut impl Onlooker) {
        onlooker.begin(self.flow.as_ref().expect("the trace has a flow"), None);
        self.events.iter().for_each(|event| onlooker.event(event));
    }
}

impl Onlooker for TraceInMemory {
    fn begin(&mut self, flow: &Flow, _: Option<Duration>) {
        self.flow = Some(*flow);
    }

    fn event(&mut self, event: &Event) {
        self.events.push(*event);
    }
}

fn million_packets() -> TraceInMemory {
    let mut kept = TraceInMemory::default();
    follow(&scenario(), (1, 0), &mut kept, &Interrupt::new()).expect("the scenario is valid");
    kept
}
