//! The experiments of `crates/engine/tests/it/trace_hashes` in WebAssembly. [`run`] computes their trace hashes, and
//! `run.mjs` compares these with the hashes of native runs.
//!
//! A WebAssembly module exchanges only numbers with JavaScript. Therefore, a text is passed as two numbers: its address
//! in the module's memory, and its length.

use std::sync::Mutex;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::Results;
use dupack_lab::run::{Interrupt, Plan};

/// The experiments, in the order of `golden.csv`.
const EXPERIMENTS: [(&str, &str); 5] = [
    (
        "dumbbell",
        include_str!("../../../crates/engine/tests/it/trace_hashes/dumbbell.toml"),
    ),
    (
        "one",
        include_str!("../../../crates/engine/tests/it/trace_hashes/one.toml"),
    ),
    (
        "radio",
        include_str!("../../../crates/engine/tests/it/trace_hashes/radio.toml"),
    ),
    (
        "reordering",
        include_str!("../../../crates/engine/tests/it/trace_hashes/reordering.toml"),
    ),
    (
        "shared",
        include_str!("../../../crates/engine/tests/it/trace_hashes/shared.toml"),
    ),
];

/// Text whose address and length [`text`] and [`length`] return.
static TEXT: Mutex<String> = Mutex::new(String::new());

/// Runs every experiment. Afterwards, the text has the format of `golden.csv`. If the run ends in a trap, the text is
/// the error message.
#[allow(unsafe_code, reason = "JavaScript finds the function by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn run() {
    std::panic::set_hook(Box::new(|panic| keep(panic.to_string())));
    let mut lines = Results::TRACE_HASHES_HEADER.to_owned();
    for (name, text) in EXPERIMENTS {
        lines += &hashes(name, text);
    }
    keep(lines);
}

/// Returns one line for each run of an experiment.
fn hashes(name: &str, text: &str) -> String {
    let source = Source::new(name, text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    plan.execute(Execution::default(), &(), &Interrupt::new())
        .trace_hashes(name)
}

fn keep(text: String) {
    *TEXT.lock().expect("no panic while it is locked") = text;
}

/// Returns the address of the text. The address is valid until the next [`run`].
#[allow(unsafe_code, reason = "JavaScript finds the function by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.lock().expect("no panic while it is locked").as_ptr()
}

/// Returns the length of the text in bytes.
#[allow(unsafe_code, reason = "JavaScript finds the function by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    TEXT.lock().expect("no panic while it is locked").len()
}
