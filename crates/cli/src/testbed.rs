//! `dupack testbed`: senders on real packets.

use std::path::Path;
use std::process::ExitCode;

use dupack_lab::experiment::{Experiment, FlowGroup, LinkOptions, Reorder, Seeds};
use dupack_lab::results::OutputFolder;
use dupack_lab::results::medium::DOUBT;
use dupack_lab::results::store::IfPresent;
use dupack_lab::run::{Execution, Plan};
use dupack_lab::units::Delay;
use dupack_report::comparison;
use dupack_testbed::beside::compare;
use dupack_testbed::report::{beside_section, beside_text, lateness, passages_csv, path_section};
use dupack_testbed::{
    Beside, CaptureFolder, Family, Outcome, SackCompression, SenderSpec, Snap, Testbed,
    TestbedOptions,
};
use dupack_wire::namespace;
use miette::{IntoDiagnostic, Result, miette};

use crate::args::{self, Format, TestbedArgs};
use crate::compare::whole_path;
use crate::output::{INTERRUPTED, comparison_tables, folder, print, terminal, warn, write};
use crate::progress::{Bar, interrupt};

/// Linux's least delay of an ACK (`TCP_DELACK_MIN`), for the simulated counterpart of its
/// receiver.
const DELAYED_ACK: Delay = Delay::from_nanos(40_000_000);

/// Exit code of a command of which a run failed, as of one that cannot begin.
const FAILED: u8 = 2;

/// Exit code of a command that did its runs, of which none can be trusted.
const NO_ANSWER: u8 = 3;

pub fn run(args: &TestbedArgs) -> Result<ExitCode> {
    // First of all: it is possible only while there is one thread.
    namespace::prepare().into_diagnostic()?;
    let testbed = testbed(args)?;
    testbed.probe()?;
    // Made before the work, so that a folder that cannot be had costs no time.
    let folder = folder(args.out.as_deref(), "testbed")?;
    let captures = match args.pcap.as_deref().map(captures_folder).transpose() {
        Ok(captures) => captures,
        Err(error) => {
            folder.abandon();
            return Err(error);
        }
    };
    let bar = Bar::new(testbed.jobs().len(), "testbed");
    let outcome = testbed.run(&bar, interrupt());
    bar.finish();
    if outcome.passages.is_empty() {
        folder.abandon();
        captures.into_iter().for_each(OutputFolder::abandon);
        return nothing_done(outcome);
    }
    let wanted = args.simulate && !interrupt().is_asked();
    let counterpart = testbed.counterpart().filter(|_| wanted);
    if wanted && counterpart.is_none() {
        eprintln!("warning: nothing to simulate: a kernel's sender has no counterpart");
    }
    let beside = counterpart.map(|plan| simulate(plan, &outcome));
    deliver(args, &outcome, beside.as_deref(), &folder)?;
    Ok(verdict(&outcome))
}

/// Makes the folder for captures.
fn captures_folder(path: &Path) -> Result<OutputFolder> {
    OutputFolder::create(path, IfPresent::Refuse)
        .map_err(|error| miette!(help = "choose another folder with --pcap", "{error}"))
}

/// Says why there is no run to show.
fn nothing_done(outcome: Outcome) -> Result<ExitCode> {
    let mut failures = outcome.failures.into_iter();
    let Some(first) = failures.next() else {
        eprintln!("interrupted before the first run was finished: there is nothing to show");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let others = failures.count();
    if others > 0 {
        eprintln!("no run was finished; {others} more failed after this one:");
    }
    Err(first.into())
}

/// Says what is missing, and what the command is to be told from outside.
fn verdict(outcome: &Outcome) -> ExitCode {
    let Outcome {
        results, failures, ..
    } = outcome;
    let (missing, planned) = (results.missing(), results.planned);
    let rest = "the tables and figures rest on the others";
    if !failures.is_empty() {
        let failed = failures.len();
        eprintln!("error: {failed} of {planned} runs failed, {missing} are missing; {rest}");
    } else if missing > 0 {
        eprintln!("interrupted: {missing} of {planned} runs are missing; {rest}");
    }
    if interrupt().is_asked() {
        ExitCode::from(INTERRUPTED)
    } else if !failures.is_empty() {
        ExitCode::from(FAILED)
    } else if results.is_worthless() {
        ExitCode::from(NO_ANSWER)
    } else {
        ExitCode::SUCCESS
    }
}

/// What the flags describe.
fn testbed(args: &TestbedArgs) -> Result<Testbed> {
    let senders = args.senders.0.iter().map(|text| text.parse());
    let senders = senders
        .collect::<Result<Vec<SenderSpec>, _>>()
        .into_diagnostic()?;
    let mut experiment = Experiment::new(Vec::new());
    experiment.title = "Which sender should this path have, on real packets?".to_owned();
    experiment.dialect = args.dialect.into();
    experiment.seeds = Seeds::Count(args.repeat);
    experiment.duration = args.time_limit;
    experiment.receiver.delayed_ack = Some(DELAYED_ACK);
    experiment.receiver.buffer = args.receive_window;
    experiment.flows.push(FlowGroup {
        count: 1,
        bytes: Some(args.bytes),
        ..FlowGroup::default()
    });
    let path = LinkOptions {
        rate: args.trace.is_none().then_some(args.rate),
        trace: args.trace.as_deref().map(whole_path),
        delay: args.delay,
        buffer: Some(args.buffer),
        reorder: args.reorder.map(|probability| Reorder {
            probability,
            delay: args.reorder_delay,
        }),
        ..LinkOptions::default()
    };
    experiment.set_path(path, &args.loss.0);
    let options = TestbedOptions {
        senders,
        bytes: args.bytes,
        tolerance: args.tolerance,
        family: match args.family {
            args::Family::Ipv4 => Family::V4,
            args::Family::Ipv6 => Family::V6,
        },
        sack_compression: match args.sack_compression {
            args::SackCompression::Kernel => SackCompression::Kernel,
            args::SackCompression::Off => SackCompression::Off,
        },
        captures: args.pcap.as_ref().map(|path| CaptureFolder {
            path: path.clone(),
            snap: match args.snap {
                args::Snap::Whole => Snap::Full,
                args::Snap::Headers => Snap::Headers,
            },
        }),
    };
    Ok(Testbed::new(experiment, options)?)
}

/// Runs the counterpart in the simulator, and sets it beside what the wire gave.
fn simulate(plan: &Plan, outcome: &Outcome) -> Vec<Beside> {
    let bar = Bar::new(plan.jobs().len(), "simulation");
    let simulated = plan.execute(Execution::default(), &bar, interrupt());
    bar.finish();
    compare(&outcome.results, &simulated)
}

/// Writes every file, prints what was asked for, and says what there is to warn of.
fn deliver(
    args: &TestbedArgs,
    outcome: &Outcome,
    beside: Option<&[Beside]>,
    folder: &OutputFolder,
) -> Result<()> {
    let Outcome {
        results, passages, ..
    } = outcome;
    let figures = comparison::figures(results).into_diagnostic()?;
    let mut page = comparison::page(results, &figures);
    // After the answer, the figures and the numbers; before what was run.
    let place = page.sections.len().saturating_sub(1);
    page.sections
        .insert(place, path_section(results, passages, args.tolerance));
    if let Some(beside) = beside {
        page.sections.insert(place, beside_section(results, beside));
    }
    let texts = write(results, &figures, &page, folder)?;
    folder.write("path.csv", &passages_csv(results, passages))?;
    match args.format {
        Format::Table => tables(args, outcome, beside)?,
        Format::Csv => print(&texts.summary)?,
        Format::Json => print(&texts.json)?,
    }
    warn(results, folder);
    Ok(())
}

fn tables(args: &TestbedArgs, outcome: &Outcome, beside: Option<&[Beside]>) -> Result<()> {
    let Outcome {
        results, passages, ..
    } = outcome;
    comparison_tables(results)?;
    if let Some(beside) = beside {
        let (_, width) = terminal();
        print(&format!("\n{}", beside_text(results, beside, width)))?;
    }
    print(&format!("\n{}", lateness(passages, args.tolerance)))?;
    if let Some(path) = &args.pcap {
        print(&format!("captures: {}", path.display()))?;
    }
    let doubted = results.runs.iter().filter(|run| !results.is_sound(run));
    match doubted.count() {
        0 => Ok(()),
        count => print(&format!(
            "{DOUBT} before how many runs are left of how many: during the others, {count} in all, the machine did \
             not keep up, and they are in no number."
        )),
    }
}
