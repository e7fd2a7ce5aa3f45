#![no_main]

#[path = "../../crates/packet/tests/it/fuzz_entry/mod.rs"]
#[allow(dead_code, unused_imports)]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::codec(bytes));
