#![no_main]

#[path = "../../crates/wire/tests/it/fuzz_entry.rs"]
#[allow(dead_code, unused_imports)]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::endpoint(bytes));
