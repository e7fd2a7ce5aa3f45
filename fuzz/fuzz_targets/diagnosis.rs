#![no_main]

#[path = "../../crates/diagnosis-tell/tests/it/fuzz_entry/mod.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::whole(bytes));
