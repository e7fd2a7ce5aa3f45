//! `dupack merge`: combination of the shards of an experiment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::Catalog;
use dupack_claims::Rules;
use dupack_engine::folder::{Draft, Folder, IfPresent, MemoryFolder, OutputFolder, StoreError};
use dupack_engine::store::shards::{Gathered, Harm};
use dupack_engine::{Carried, Conduct, Execution, Shown, Split, show};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Held, Plan};
use dupack_report::files::{EXPERIMENT, Files};
use miette::{Result, miette};

use crate::deliver::Delivery;
use crate::flags::{ShowArgs, check_preference, jobs};
use crate::output::{INTERRUPTED, warn};
use crate::progress::interrupt_saying;

/// Exit code if runs are missing.
const INCOMPLETE: u8 = 1;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack run examples/fairness.toml --shard 1/2 --out shards/1
  dupack run examples/fairness.toml --shard 2/2 --out shards/2
  dupack merge shards/1 shards/2 --out fairness
  dupack merge shards/* --out fairness --prefer delay

The folder is identical to that of `dupack run FILE --out DIR` on one machine.
It appears only when it is complete.

The exit code is 1 if runs are missing. Nothing is written then, and the
commands for the missing runs are printed. It is 2 if the folders do not belong
together.")]
pub struct MergeArgs {
    /// Folders of all shards, in any order
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder for CSV, figures and report; must be empty or new [default: dupack-out/NAME, numbered if taken]
    #[arg(long, value_name = "ALL")]
    out: Option<PathBuf>,
    /// Experiment file [default: the copy in a shard's folder, whose recorded traces must have absolute paths]
    #[arg(long, value_name = "FILE")]
    experiment: Option<PathBuf>,
    #[command(flatten)]
    show: ShowArgs,
    /// Concurrent runs among the few that are repeated to verify the shards [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<usize>,
}

pub fn run(args: &MergeArgs, catalog: &Catalog) -> Result<ExitCode> {
    let interrupt = interrupt_saying("nothing is written");
    let shards = Gathered::of(&args.folders)?;
    let source = match &args.experiment {
        Some(file) => Source::read(file)?,
        None => shards.first().source()?,
    };
    let plan = plan(args, &shards, &source, catalog)?;
    check_preference(args.show.prefer, plan.harm_record())?;
    let execution = Execution { jobs: args.jobs };
    plan.fits(Held::All, execution.threads())?;
    let rules = Rules::of_plan(&plan, &source, catalog)?;
    let known = shards.first().identity();
    let split = Split::of_plan(&plan, known.shard.of(), &source)?;
    shards.check(&split, plan.experiment(), &source.name)?;
    let journals = shards.journals()?;
    let merge = split.merge(&journals).map_err(|error| *error)?;
    if let Some(incomplete) = shards.incomplete(&split, &merge, args.experiment.as_deref()) {
        say!("{}", incomplete.to_string().trim_end());
        say!("nothing is written; merge again after these runs");
        return Ok(ExitCode::from(INCOMPLETE));
    }
    // Create the folder first, so that an unusable folder costs no time.
    let place = Place::of(args.out.as_deref(), &known.name, &source)?;
    let checked = merge.check(execution, interrupt);
    checked.map_err(|error| *error)?;
    let Some(mut results) = merge.results() else {
        return Err(miette!("runs are missing"));
    };
    results.prefer = args.show.prefer;
    args.show.correct_over.apply(&mut results);
    let conduct = Conduct {
        execution,
        watch: &(),
        interrupt,
    };
    let carried = Carried {
        results,
        ..show(&plan, Shown::OverTime, &conduct)
    };
    let delivery = Delivery::of(&carried, &rules, catalog);
    let files = delivery.files()?;
    if interrupt.is_asked() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let folder = place.take(&files, &source)?;
    delivery.show(&args.show)?;
    warn(&carried.results, &folder);
    Ok(ExitCode::SUCCESS)
}

/// Returns the plan of the experiment in `source`, with the settings of the shards.
fn plan(args: &MergeArgs, shards: &Gathered, source: &Source, catalog: &Catalog) -> Result<Plan> {
    let plan = { source.parse() }.and_then(|experiment| Plan::new(experiment, source, catalog));
    if plan.is_err() && args.experiment.is_none() {
        let copy = &source.name;
        say!("note: {copy} is a copy; name the original file with --experiment");
    }
    let plan = plan?;
    Ok(match shards.first().identity().harm {
        Harm::Measured => plan.measuring_harm(catalog),
        Harm::LeftOut => plan,
    })
}

/// Destination of the result.
enum Place {
    /// A new folder.
    New(Draft),
    /// A folder that may already contain the same result.
    There(PathBuf),
}

impl Place {
    /// Returns the named folder, or a new folder for the experiment `name` under `dupack-out`.
    fn of(named: Option<&Path>, name: &str, source: &Source) -> Result<Self> {
        let Some(path) = named else {
            let path = Path::new("dupack-out").join(name);
            return Ok(Self::New(Draft::beside(&path, IfPresent::Number)?));
        };
        let experiment = fs::read(path.join(EXPERIMENT));
        Ok(
            match experiment.is_ok_and(|text| text == source.text.as_bytes()) {
                true => Self::There(path.to_path_buf()),
                false => Self::New(Draft::beside(path, IfPresent::Refuse)?),
            },
        )
    }

    /// Writes all files. If the folder has a result already, verifies that it is the same.
    fn take(self, files: &Files<'_>, source: &Source) -> Result<OutputFolder> {
        let write = |folder: &dyn Folder| -> Result<()> {
            folder.write(EXPERIMENT, source.text.as_bytes())?;
            Ok(files.write(folder)?)
        };
        let path = match self {
            Self::New(draft) => {
                write(&draft)?;
                return Ok(draft.complete()?);
            }
            Self::There(path) => path,
        };
        let memory = MemoryFolder::default();
        write(&memory)?;
        let is_there = |(name, bytes): (String, Vec<u8>)| {
            fs::read(path.join(name)).is_ok_and(|there| there == bytes)
        };
        if !memory.into_files().into_iter().all(is_there) {
            return Err(StoreError::taken(&path).into());
        }
        say!("{} already has this result: nothing to do", path.display());
        Ok(OutputFolder::reopen(&path))
    }
}
