//! Makes the report cards of the broken senders as JSON, and prints the verdicts that were not expected.
//!
//! ```text
//! cargo run --release -p dupack-broken-senders --example cards -- FOLDER
//! ```
//!
//! Finished runs are kept in the folder and are not repeated. The cards are `--quick` cards, as `src/expected.toml`
//! requires. The example writes them to `FOLDER/cards.json`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use dupack_engine::Execution;
use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite, json};
use dupack_lab::run::Interrupt;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("missing argument: the folder for the cards")?;
    std::fs::create_dir_all(&folder)?;
    let expected = dupack_broken_senders::senders();
    let stacks: Vec<String> = expected.iter().map(|s| s.stack.clone()).collect();
    let (suite, catalog) = (Suite::builtin(), dupack_broken_senders::catalog());
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
        "{} senders; of {brief} the tests check only a part",
        expected.len()
    );
    Ok(ExitCode::from(u8::from(!wrong.is_empty())))
}
