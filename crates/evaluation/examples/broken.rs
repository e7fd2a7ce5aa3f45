//! Prints the cards of the deliberately broken senders as JSON, with the differences from the expected cards.
//!
//! ```text
//! cargo run --release -p dupack-evaluation --example broken -- FOLDER
//! ```
//!
//! Finished runs are kept in the folder and are not performed again. The cards are at quick scale, as
//! `tests/it/broken/expected.toml` assumes; they are written to `FOLDER/cards.json`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use dupack_engine::Execution;
use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite, json};
use dupack_lab::run::Interrupt;

#[path = "../tests/it/broken/expected.rs"]
mod expected;
#[path = "../tests/it/broken/senders.rs"]
mod senders;
#[path = "../tests/it/broken/subtle.rs"]
mod subtle;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("name the folder for the cards")?;
    std::fs::create_dir_all(&folder)?;
    let expected = expected::senders();
    let stacks: Vec<String> = expected.iter().map(|s| s.stack.clone()).collect();
    let (suite, catalog) = (Suite::builtin(), senders::catalog());
    let campaign = Campaign::new(&suite, (&stacks, &catalog), &[], Extent::Quick)?;
    let conduct = Conduct {
        runs: dupack_engine::Conduct {
            execution: Execution::default(),
            watch: &(),
            interrupt: &Interrupt::new(),
        },
        journal: Some(&folder),
    };
    let evaluated = campaign.carry_out(&conduct)?;
    let cards: Vec<&Card> = evaluated.iter().map(|of| &of.card).collect();
    std::fs::write(folder.join("cards.json"), json(&cards))?;
    let both = expected.iter().zip(&cards);
    let wrong: Vec<String> = both
        .flat_map(|(sender, card)| sender.complaints(card))
        .collect();
    for complaint in &wrong {
        eprintln!("{complaint}");
    }
    let brief = expected.iter().filter(|sender| sender.brief).count();
    eprintln!(
        "{} senders, {brief} of which the tests check only in part",
        expected.len()
    );
    Ok(ExitCode::from(u8::from(!wrong.is_empty())))
}
