//! `dupack run --shard`: runs one part of an experiment.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use dupack_algorithms::catalog::Catalog;
use dupack_claims::Rules;
use dupack_engine::folder::{IfPresent, OutputFolder, is_blank};
use dupack_engine::store::shards::{BegunShard, Harm, Identity, ShardFolder};
use dupack_engine::{Conduct, Execution, Shard, Split};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Held, Plan};
use dupack_report::parameters::{self, Scope};
use miette::{Result, miette};

use crate::deliver::go_on;
use crate::flags::{FamilyArg, Format, OutputArgs, ShowArgs, scope};
use crate::output::{INTERRUPTED, print, terminal};
use crate::progress::{Bar, interrupt};

/// Carries out the runs of a shard: the shard `wanted`, or the shard of the folder to continue with. `source` contains
/// the experiment, and `name` is the name of the experiment.
pub fn carry_out(
    mut plan: Plan,
    (source, name): (&Source, &str),
    wanted: Option<Shard>,
    output: &OutputArgs,
    catalog: &Catalog,
) -> Result<ExitCode> {
    refuse_results(output)?;
    let resumed = resumed(wanted, output)?;
    let known = resumed.as_ref().map(ShardFolder::identity);
    let Some(shard) = wanted.or(known.map(|known| known.shard)) else {
        return Err(miette!("missing shard, such as --shard 3/64"));
    };
    let harm = match (output.no_harm, known) {
        (true, _) => Harm::LeftOut,
        (false, Some(known)) => known.harm,
        (false, None) => Harm::Measured,
    };
    if harm == Harm::Measured {
        plan = plan.measuring_harm(catalog);
    }
    // Report errors in the claims now instead of after the runs.
    Rules::of_plan(&plan, source, catalog)?;
    let execution = Execution { jobs: output.jobs };
    let runs = plan.size().runs().unwrap_or(u64::MAX) / u64::from(shard.of());
    plan.fits(Held::Runs(runs), execution.threads())?;
    let split = Split::of_plan(&plan, shard.of(), source)?;
    if output.explain {
        return explain(&plan, &split, shard, scope(output.all));
    }
    let identity = Identity::new(shard, &split, name, harm);
    let share = split.share(shard);
    let path = match &resumed {
        Some(found) => found.path().to_path_buf(),
        None => { output.resume.clone().or(output.out.clone()) }.unwrap_or_else(|| {
            let folder = identity.folder_name();
            Path::new("dupack-out").join(folder)
        }),
    };
    let begun = match ShardFolder::is_at(&path) {
        true => {
            let found = ShardFolder::read(&path)?;
            found.check(&identity, plan.experiment())?;
            if found.is_finished() {
                found.check_runs(&share)?;
                let (runs, path) = (share.runs(), path.display());
                say!("shard {shard} is complete: {path} has its {runs} runs; nothing to do");
                return Ok(ExitCode::SUCCESS);
            }
            BegunShard::again(&found, source)?
        }
        false => {
            let folder = OutputFolder::create(&path, IfPresent::Refuse)?;
            BegunShard::new(folder, identity, source)?
        }
    };
    let bar = Bar::new(share.runs(), name);
    let conduct = Conduct {
        execution,
        watch: &bar,
        interrupt: interrupt(),
    };
    let done = share.execute(Arc::clone(&begun.journal), &conduct);
    bar.finish();
    let runs = share.runs();
    let again = go_on(std::env::args_os(), begun.path());
    let finished = match done {
        Ok(done) if done < runs => {
            say!("interrupted: {} of {runs} runs are missing", runs - done);
            say!("completed runs are kept; continue with: {again}");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Ok(_) => begun.finish(&share),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = finished {
        say!("the files in the folder are kept; continue with: {again}");
        return Err(error.into());
    }
    let path = path.display();
    say!("shard {shard} is complete: {path} has its {runs} runs, for `dupack merge`");
    Ok(ExitCode::SUCCESS)
}

/// Returns an error if the options request results, because a shard has none.
fn refuse_results(output: &OutputArgs) -> Result<()> {
    let flag = match &output.show {
        ShowArgs {
            prefer: Some(_), ..
        } => "--prefer",
        ShowArgs {
            format: Format::Csv | Format::Json,
            ..
        } => "--format",
        ShowArgs {
            correct_over: FamilyArg::Sweep,
            ..
        } => "--correct-over",
        _ => return Ok(()),
    };
    Err(miette!(
        help = format!("use {flag} with `dupack merge`, which has the results of all shards"),
        "{flag} applies to printed results, but a shard prints none because it has only a part of the runs"
    ))
}

/// Prints the parameters and the fraction of the work that belongs to `shard`. Runs nothing.
fn explain(plan: &Plan, split: &Split<'_>, shard: Shard, scope: Scope) -> Result<ExitCode> {
    let (_, width) = terminal();
    print(&parameters::text(&plan.empty_results(), scope, width))?;
    let (parts, own) = (split.parts(), shard.index() as usize - 1);
    let longest = parts.iter().copied().fold(0.0, f64::max);
    print(&format!(
        "\nshard {shard} has {} of {} runs, about {:.1} % of the work; the longest shard has {:.1} %",
        split.sizes()[own],
        plan.work(),
        parts[own] * 100.0,
        longest * 100.0,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder to continue with, if an existing shard is continued.
fn resumed(wanted: Option<Shard>, output: &OutputArgs) -> Result<Option<ShardFolder>> {
    let Some(path) = &output.resume else {
        return Ok(None);
    };
    // A process that was killed early leaves an empty folder. The shard begins in this folder.
    if wanted.is_some() && is_blank(path) {
        return Ok(None);
    }
    let folder = path.display();
    let found = ShardFolder::read(path)?;
    match wanted {
        Some(wanted) if wanted != found.identity().shard => Err(miette!(
            help = "remove --shard: the folder has its own shard",
            "{folder} is the folder of shard {}, not of {wanted}",
            found.identity().shard
        )),
        _ => Ok(Some(found)),
    }
}
