//! `cargo xtask test --only CRATE…`: a quick check during development.

use std::thread;

use dupack_build::cargo;

use super::programs::{self, Program};
use super::steps::Steps;
use super::{Tier, VALIDATION, announce};
use crate::python;

/// Runs the lint of some crates, and their tests that do not use the wall clock. The name `python` stands for the
/// Python package with its tests.
///
/// # Errors
/// If a crate does not exist, or if any check fails.
pub fn run(crates: &[String]) -> Result<(), String> {
    let mut steps = Steps::default();
    let packages: Vec<String> = crates.iter().map(|name| package(name)).collect();
    let mut named: Vec<&str> = packages
        .iter()
        .flat_map(|name| ["--package", name])
        .collect();
    if packages.iter().any(|name| name == "dupack-measure") {
        if packages.len() > 1 {
            return Err(
                "invalid crates: `measure` is in another workspace, test it alone".to_owned(),
            );
        }
        named.extend(["--manifest-path", VALIDATION]);
    }
    let lint = [
        &["clippy"][..],
        &named,
        &["--all-targets", "--", "--deny", "warnings"],
    ]
    .concat();
    let tests = [&["build"][..], &named, &["--tests"]].concat();
    let programs = steps.take("build the tests", || programs::build(&tests))?;
    let of_processor: Vec<&Program> = programs.iter().filter(|p| !p.uses_the_clock).collect();
    let mut outcome = steps.take("tests and lint", || {
        thread::scope(|scope| {
            let lint = scope.spawn(|| {
                cargo(&["fmt", "--all", "--check"])?;
                cargo(&lint)
            });
            let outcome = programs::run(&of_processor, 1, Tier::Change);
            let lint = lint.join().map_err(|_| "the lint panicked")?;
            lint.and(outcome)
        })
    })?;
    if packages.iter().any(|name| name == "dupack-python") {
        match python::missing() {
            None => steps.take("Python package", || {
                cargo(&super::TESTS)?;
                python::test(Tier::Change)
            })?,
            Some(told) => outcome.skipped.push(told),
        }
    }
    eprint!("\n{}", steps.table());
    let left_out = programs.len() - of_processor.len();
    if left_out > 0 {
        outcome.skipped.push(format!(
            "{left_out} test programs that use the wall clock: `cargo xtask test` runs them"
        ));
    }
    announce(&outcome.skipped);
    println!(
        "{} passed, {} failed, {} skipped",
        outcome.passed, outcome.failed, outcome.ignored
    );
    Ok(())
}

/// Returns the full name of a package: adds the prefix of our packages if it is missing.
fn package(name: &str) -> String {
    match name.starts_with("dupack-") || ["xtask", "own-recovery"].contains(&name) {
        true => name.to_owned(),
        false => format!("dupack-{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_named_by_its_folder_or_its_package() {
        assert_eq!(package("net"), "dupack-net");
        assert_eq!(package("dupack-net"), "dupack-net");
        assert_eq!(package("xtask"), "xtask");
    }
}
