//! `dupack stacks`: the algorithms that stacks are made of, and what turns a stack on.

use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_report::catalog::Listing;
use dupack_report::deploy;
use miette::{IntoDiagnostic, Result, miette};

use crate::output::{print, terminal};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack stacks                        the algorithms
  dupack stacks cubic                  its parameters
  dupack stacks rack/cubic             what turns it on in Linux
  dupack stacks le/westwood            what of it Linux does not have
  dupack stacks 'rack(tlp=off)/cubic'  what sets its parameters in Linux")]
pub struct StacksArgs {
    /// Only the algorithm of this name; or a stack, recovery/control[/lda/response]: what turns it on in
    /// Linux, or what is missing
    name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Print what Linux has of all algorithms, as the tables of docs/deploy.md
    #[arg(long, conflicts_with_all = ["name", "json"])]
    markdown: bool,
}

pub fn run(args: &StacksArgs, catalog: &Catalog) -> Result<ExitCode> {
    if args.markdown {
        print(&deploy::markdown(catalog))?;
        return Ok(ExitCode::SUCCESS);
    }
    match args.name.as_deref() {
        Some(text) if text.contains('/') => stack(text, args, catalog)?,
        name => algorithms(name, args, catalog)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What turns a stack on.
fn stack(text: &str, args: &StacksArgs, catalog: &Catalog) -> Result<()> {
    let stack = StackSpec::parse(text, catalog).into_diagnostic()?;
    if args.json {
        return print(&format!("{:#}", deploy::stack_json(&stack, catalog)));
    }
    let (_, width) = terminal();
    print(&deploy::text(&stack, catalog, width))
}

/// The algorithm of this name, or all.
fn algorithms(name: Option<&str>, args: &StacksArgs, catalog: &Catalog) -> Result<()> {
    let listing = Listing::of(catalog, name).ok_or_else(|| {
        let name = name.unwrap_or_default();
        let meant = catalog.suggest(name);
        let help = meant.map(|meant| format!("did you mean `{meant}`? "));
        miette!(
            help = help.unwrap_or_default() + "`dupack stacks` lists them all",
            "there is no algorithm `{name}`"
        )
    })?;
    if args.json {
        return print(&format!("{:#}", listing.json()));
    }
    let (colour, width) = terminal();
    print(&listing.text(colour, width))
}
