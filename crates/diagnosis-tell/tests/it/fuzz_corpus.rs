//! Fuzzer's entry point, on bytes from a seed and on its corpus: the part of `fuzz/` that a stable compiler can run.

use std::fs;
use std::path::Path;

use dupack_net::random::Stream;

use crate::fuzz_entry as entry;

#[test]
fn captures_of_the_corpus_are_diagnosed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/diagnosis");
    let files = fs::read_dir(&corpus).unwrap_or_else(|e| panic!("{}: {e}", corpus.display()));
    let mut count = 0;
    for file in files {
        let path = file.unwrap().path();
        // Visible if the next line panics.
        println!("{}", path.display());
        entry::whole(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "{} is empty", corpus.display());
}

#[test]
fn captures_from_a_seed_are_diagnosed() {
    let mut stream = Stream::derive(1, "whole captures");
    for _ in 0..dupack_volume::cases(500, 1500) {
        let steps = stream.below(200);
        let mut bytes: Vec<u8> = (0..9 * steps).map(|_| stream.bits() as u8).collect();
        // Most are bulk transfers: one end sends, the other acknowledges everything that arrived.
        if stream.below(4) > 0 {
            for step in bytes.chunks_exact_mut(9) {
                let receives = step[0] & 1;
                step[0] &= if receives == 1 { 0x23 } else { 0x09 };
                step[0] |= receives << 1;
                step[1] |= 0x04;
                step[6] %= 18;
            }
        }
        entry::whole(&bytes);
    }
}
