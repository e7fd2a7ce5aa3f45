//! Plays the scripts that are named, and prints what came of each.

use std::path::PathBuf;

use dupack_script::suite::{Suite, play, scripts};
use dupack_script::{Options, Outcome};

fn main() -> std::io::Result<()> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let options = Options::default();
    let mut suite = Suite::default();
    for path in scripts(&paths)? {
        let played = play(&path, &options)?;
        println!("{}", played.line());
        if let Outcome::Failed(failure) = &played.outcome {
            println!("{failure}");
        }
        suite.played.push(played);
    }
    print!("{}", suite.table());
    Ok(())
}
