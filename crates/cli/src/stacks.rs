//! `dupack stacks`: the algorithms of stacks, and the commands that enable a stack.

use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_report::catalog::Listing;
use dupack_report::deploy;
use miette::{IntoDiagnostic, Result, miette};

use crate::flags::scope;
use crate::output::{print, terminal};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack stacks                        all algorithms
  dupack stacks cubic                  the usual parameters of CUBIC
  dupack stacks cubic --all            all of its parameters
  dupack stacks rack/cubic             how to turn it on in Linux
  dupack stacks le/westwood            the parts that Linux does not have
  dupack stacks 'rack(tlp=off)/cubic'  settings for its parameters in Linux")]
pub struct StacksArgs {
    /// Only the algorithm of this name; or a stack, recovery/control[/lda/response]: the commands that enable it in
    /// Linux, or the missing parts
    name: Option<String>,
    /// Include parameters that are rarely changed
    #[arg(long)]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// Print the Linux support of all algorithms, as in the tables of docs/deploy.md
    #[arg(long, conflicts_with_all = ["name", "all", "json"])]
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

/// Prints the commands that enable a stack.
fn stack(text: &str, args: &StacksArgs, catalog: &Catalog) -> Result<()> {
    let stack = StackSpec::parse(text, catalog).into_diagnostic()?;
    if args.json {
        return print(&format!("{:#}", deploy::stack_json(&stack, catalog)));
    }
    let (_, width) = terminal();
    print(&deploy::text(&stack, catalog, width))
}

/// Prints the algorithm of this name, or all algorithms.
fn algorithms(name: Option<&str>, args: &StacksArgs, catalog: &Catalog) -> Result<()> {
    let listing = Listing::of(catalog, name).ok_or_else(|| {
        let name = name.unwrap_or_default();
        let meant = catalog.suggest(name);
        let help = meant.map(|meant| format!("did you mean `{meant}`? "));
        miette!(
            help = help.unwrap_or_default() + "`dupack stacks` lists all algorithms",
            "there is no algorithm `{name}`"
        )
    })?;
    if args.json {
        return print(&format!("{:#}", listing.json()));
    }
    let (colour, width) = terminal();
    print(&listing.text(scope(args.all), colour, width))
}
