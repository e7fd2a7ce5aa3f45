//! The experiments of `crates/engine/tests/it/trace_hashes`, to be run in WebAssembly: `run.mjs` compares what
//! [`run`] gives with the hashes that they give natively.
//!
//! A module of WebAssembly hands numbers over; a text is its place in the module's memory and its length.

#[path = "../trace_hashes/runs.rs"]
mod runs;

use std::sync::Mutex;

use dupack_lab::experiment::load::Source;

/// The experiments, in the order of `golden.csv`.
const EXPERIMENTS: [(&str, &str); 4] = [
    ("dumbbell", include_str!("../trace_hashes/dumbbell.toml")),
    ("one", include_str!("../trace_hashes/one.toml")),
    ("radio", include_str!("../trace_hashes/radio.toml")),
    (
        "reordering",
        include_str!("../trace_hashes/reordering.toml"),
    ),
];

/// What [`text`] and [`length`] hand over.
static TEXT: Mutex<String> = Mutex::new(String::new());

/// Runs every experiment. Afterwards the text is as `golden.csv`; if it stops in a trap, the text says why.
#[allow(unsafe_code, reason = "JavaScript finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn run() {
    std::panic::set_hook(Box::new(|panic| keep(panic.to_string())));
    let mut lines = runs::HEADER.to_owned();
    for (name, text) in EXPERIMENTS {
        lines += &runs::hashes(&Source::new(name, text));
    }
    keep(lines);
}

fn keep(text: String) {
    *TEXT.lock().expect("nobody panics holding it") = text;
}

/// Where the text is, until the next [`run`].
#[allow(unsafe_code, reason = "JavaScript finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.lock().expect("nobody panics holding it").as_ptr()
}

/// How long the text is, in bytes.
#[allow(unsafe_code, reason = "JavaScript finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    TEXT.lock().expect("nobody panics holding it").len()
}
