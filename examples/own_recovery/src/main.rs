//! An external loss recovery, compared with dupack's.

mod majority;

use std::error::Error;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Answered;
use dupack_lab::run::{Interrupt, Plan};
use dupack_report::comparison;
use dupack_report::table::{Colour, Legend};

/// The experiment. `majority` is our recovery; its parameter is set like any other.
const EXPERIMENT: &str = r#"
title = "A recovery of our own"
stacks = ["sack/reno", "fack/reno", "majority/reno", "majority(share=0.2)/reno"]
seeds = 3
duration = "20s"

[path]
rate = "10Mbit/s"
delay = "20ms"
buffer = "50pkt"

[sweep]
"path.loss" = ["0.5%", "2%"]
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut catalog = Catalog::builtin();
    catalog.register(majority::entry())?;

    let source = Source::new("own-recovery", EXPERIMENT);
    let plan = Plan::new(source.parse()?, &source, &catalog)?;
    let results = plan.execute(Execution::default(), &(), &Interrupt::default());
    println!(
        "{}",
        comparison::text(&Answered::of(&results), Legend::Named, Colour::No, None)
    );
    Ok(())
}
