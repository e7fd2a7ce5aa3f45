//! The fuzzers' entry points on seeded bytes and on their corpus. This is the part of `fuzz/` that a stable compiler
//! can run.

use std::fs;
use std::path::Path;

use dupack_net::random::Stream;

use crate::fuzz_entry as entry;

/// Runs `entry` on every file of a fuzzer's corpus.
fn replay(fuzzer: &str, entry: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folder = corpus.join(fuzzer);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut count = 0;
    for file in files {
        let path = file.unwrap().path();
        // Visible if the next line panics.
        println!("{}", path.display());
        entry(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn corpus_scripts_do_no_harm() {
    replay("endpoint", entry::endpoint);
}

/// Returns `length` bytes, some values more likely than others.
fn draw(stream: &mut Stream, length: u64) -> Vec<u8> {
    let byte = |stream: &mut Stream| match stream.below(3) {
        0 => stream.below(8) as u8,
        _ => stream.bits() as u8,
    };
    (0..length).map(|_| byte(stream)).collect()
}

#[test]
fn seeded_scripts_do_no_harm() {
    let mut stream = Stream::derive(1, "endpoint scripts");
    for _ in 0..60_000 {
        let length = stream.below(600);
        let mut script = draw(&mut stream, length);
        // Most scripts start with a handshake: operation 6 after 16 bytes that choose the connection.
        if script.len() > 20 && stream.below(8) > 0 {
            script[17] = 6;
        }
        entry::endpoint(&script);
    }
}
