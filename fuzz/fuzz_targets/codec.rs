#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dupack_fuzz_entries::codec(bytes));
