//! Tests of the entry points on the corpus in the repository.

use std::fs;
use std::path::Path;

use dupack_fuzz_entries as entry;

/// Calls `entry` with every file of a fuzzer's corpus.
fn replay(fuzzer: &str, entry: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folder = corpus.join(fuzzer);
    let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut count = 0;
    for file in files {
        let path = file.unwrap().path();
        // The harness shows this line if the entry point panics.
        println!("{}", path.display());
        entry(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn packets_are_read_or_refused() {
    replay("codec", entry::codec);
}

#[test]
fn captures_are_read_as_far_as_possible() {
    replay("capture", entry::capture);
}

#[test]
fn captures_are_diagnosed() {
    replay("diagnosis", entry::diagnosis);
}

#[test]
fn scripts_do_not_harm_a_connection() {
    replay("endpoint", entry::endpoint);
}
