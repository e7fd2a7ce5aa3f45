//! Plays the given scripts and prints the outcome of each script.
//!
//! `play [--json] [--stack STACK] [--mtu-ipv6 BYTES] FILE…`: `--json` prints the machine-readable form of `dupack
//! script --format json`.

use std::path::PathBuf;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_script::suite::{Suite, play, scripts};
use dupack_script::{Options, ScriptOutcome};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    let mut json = false;
    let mut paths = Vec::new();
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--json") => json = true,
            Some("--stack") => {
                let name = words.next().unwrap_or_default();
                let spec = StackSpec::parse(&name.to_string_lossy(), &Catalog::builtin())?;
                options.stack = Some(spec);
            }
            Some("--mtu-ipv6") => {
                let bytes = words.next().unwrap_or_default();
                options.mtu_ipv6 = bytes.to_string_lossy().parse()?;
            }
            _ => paths.push(PathBuf::from(word)),
        }
    }
    let mut suite = Suite::default();
    for path in scripts(&paths) {
        let played = play(&path, &options);
        if !json {
            println!("{}", played.line());
            if let ScriptOutcome::Failed(failure) = &played.outcome {
                println!("{failure}");
            }
        }
        suite.played.push(played);
    }
    match json {
        true => println!("{:#}", suite.json()),
        false => print!("{}", suite.table()),
    }
    Ok(())
}
