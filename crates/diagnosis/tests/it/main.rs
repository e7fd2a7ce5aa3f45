//! The integration tests of this crate, in one program.

#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/limits/account.rs"]
mod account;
#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/limits/cases.rs"]
mod cases;
#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/limits/dress.rs"]
mod dress;
#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/limits/lot.rs"]
mod lot;
#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/limits/off.rs"]
mod off;
#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/senders/score.rs"]
mod score;
#[allow(dead_code, reason = "an example has the rest")]
#[path = "../../examples/limits/tape.rs"]
mod tape;

mod fuzz_corpus;
mod fuzz_entry;
mod limits;
mod paths;
mod senders;
mod truth;
