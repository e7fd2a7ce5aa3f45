use dupack_algorithms::catalog::Catalog;

use super::*;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Run;
use dupack_lab::run::Interrupt;

use crate::ledger::Execute;

fn plan(head: &str) -> Plan {
    let text = format!(
        "stacks = [\"sack/reno\", \"rack/cubic\"]\nduration = \"2s\"\n{head}[path]\nrate = \"1Mbit/s\"\n[sweep]\n\
         \"path.loss\" = [\"0%\", \"1%\", \"2%\", \"4%\", \"8%\"]\n"
    );
    let source = Source::new("test.toml", text);
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    plan.measuring_harm(&catalog)
}

const fn conduct(execution: Execution, interrupt: &Interrupt) -> Conduct<'_> {
    Conduct {
        execution,
        watch: &(),
        interrupt,
    }
}

fn size(runs: usize) -> BlockSize {
    BlockSize {
        runs,
        ..BlockSize::default()
    }
}

/// Sink that stores every run, and requests an interrupt after `stop_after` blocks.
struct Everything<'i> {
    runs: Vec<Run>,
    blocks: Vec<usize>,
    stop_after: usize,
    interrupt: &'i Interrupt,
}

impl Sink for Everything<'_> {
    type Kept = Vec<Run>;
    type Error = String;

    fn point(&self, results: &Answered<'_>, at: usize, point: usize) -> Vec<Run> {
        let here = results.runs_at(at).iter().cloned();
        here.map(|run| Run { point, ..run }).collect()
    }

    fn block(&mut self, block: &Block, points: Vec<Vec<Run>>) -> Result<(), String> {
        assert_eq!(points.len(), block.points.len());
        self.runs.extend(points.into_iter().flatten());
        self.blocks.push(block.number);
        if self.blocks.len() == self.stop_after {
            self.interrupt.ask();
        }
        match block.number {
            1000 => Err("no room".to_owned()),
            _ => Ok(()),
        }
    }
}

fn stream(plan: &Plan, blocks: &[Block], stop_after: usize) -> (Vec<Run>, Vec<usize>, Progressed) {
    let interrupt = Interrupt::new();
    let mut sink = Everything {
        runs: Vec::new(),
        blocks: Vec::new(),
        stop_after,
        interrupt: &interrupt,
    };
    let execution = Execution::default();
    let came = super::stream(plan, blocks, &mut sink, &conduct(execution, &interrupt));
    (sink.runs, sink.blocks, came.unwrap())
}

#[test]
fn blocks_consist_of_whole_points_and_enough_runs() {
    // Two stacks with harm runs give four runs per seed.
    let plan = plan("seeds = 3\n");
    let points = |runs: usize| -> Vec<Range<usize>> {
        let blocks = super::blocks(&plan, size(runs)).into_iter();
        let mut work = 0;
        let points = blocks.zip(1..).map(|(block, number)| {
            assert_eq!(block.number, number);
            work += block.runs;
            block.points
        });
        let points = points.collect();
        assert_eq!(work, plan.work());
        points
    };
    assert_eq!(points(1), [0..1, 1..2, 2..3, 3..4, 4..5]);
    assert_eq!(points(12), points(1));
    assert_eq!(points(13), [0..2, 2..4, 4..5]);
    assert_eq!(points(1000).len(), 1);
    // A run of 2 s has 250 packets.
    let short = BlockSize {
        packets: 12 * (250 + PACKETS_PER_RUN) + 1,
        ..BlockSize::default()
    };
    assert_eq!(super::blocks(&plan, short).len(), 3);
}

#[test]
fn streamed_results_equal_those_of_an_execution_with_harm_and_precision() {
    for head in [
        "seeds = 3\n",
        "seeds = 2\nprecision = \"5%\"\nseeds_max = 12\n",
    ] {
        let plan = plan(head);
        let whole = plan.execute(Execution::default(), &(), &Interrupt::new());
        let harm = dupack_lab::results::Measure::HarmGoodput;
        assert!(whole.runs.iter().all(|run| run.values.get(harm).is_some()));
        for runs in [1, 13, 1000] {
            let blocks = super::blocks(&plan, size(runs));
            let (streamed, done, came) = stream(&plan, &blocks, usize::MAX);
            assert_eq!(streamed, whole.runs, "{head} {runs}");
            assert!(done.into_iter().eq(1..=blocks.len()));
            assert_eq!(came, Progressed::ToTheEnd);
        }
    }
}

#[test]
fn an_interrupted_stream_resumes_with_the_first_missing_block() {
    let plan = plan("seeds = 2\n");
    let whole = plan.execute(Execution::default(), &(), &Interrupt::new());
    let blocks = super::blocks(&plan, size(1));
    let (mut runs, done, came) = stream(&plan, &blocks, 2);
    assert_eq!((done, came), (vec![1, 2], Progressed::ToBlock(2)));
    let (rest, ..) = stream(&plan, &blocks[2..], usize::MAX);
    runs.extend(rest);
    assert_eq!(runs, whole.runs);
}

#[test]
fn a_failing_sink_ends_the_stream() {
    let plan = plan("seeds = 1\n");
    let interrupt = Interrupt::new();
    let mut sink = Everything {
        runs: Vec::new(),
        blocks: Vec::new(),
        stop_after: usize::MAX,
        interrupt: &interrupt,
    };
    let mut blocks = super::blocks(&plan, size(1));
    blocks[1].number = 1000;
    let conduct = conduct(Execution::default(), &interrupt);
    let ended = super::stream(&plan, &blocks, &mut sink, &conduct);
    assert_eq!(ended, Err("no room".to_owned()));
    assert_eq!(sink.blocks, [1, 1000]);
}
