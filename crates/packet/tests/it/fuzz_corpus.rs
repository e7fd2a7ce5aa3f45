//! Entry points of the fuzzers, with bytes from a seed and with their corpus: the part of `fuzz/` that a stable
//! compiler can run.

use std::fs;
use std::path::Path;

use dupack_net::random::Stream;

use crate::fuzz_entry as entry;

/// Runs `entry` with every file of a fuzzer's corpus.
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
fn packets_of_the_corpus_do_not_panic() {
    replay("codec", entry::codec);
}

#[test]
fn captures_of_the_corpus_do_not_panic() {
    replay("capture", entry::capture);
}

/// Returns `length` bytes, some of which are likelier than others.
fn draw(stream: &mut Stream, length: u64) -> Vec<u8> {
    let byte = |stream: &mut Stream| match stream.below(3) {
        0 => stream.below(8) as u8,
        _ => stream.bits() as u8,
    };
    (0..length).map(|_| byte(stream)).collect()
}

#[test]
fn packets_from_a_seed_do_not_panic() {
    let mut stream = Stream::derive(1, "packets");
    for _ in 0..50_000 {
        let length = stream.below(200);
        let mut packet = draw(&mut stream, length);
        // Many are almost valid packets.
        if packet.len() >= 60 && stream.below(4) > 0 {
            packet[0] = if stream.below(2) == 0 { 0x45 } else { 0x60 };
            let (at, protocol) = if packet[0] == 0x45 { (2, 9) } else { (4, 6) };
            let said = length - if at == 4 { 40 } else { 0 };
            packet[at..at + 2].copy_from_slice(&(said as u16).to_be_bytes());
            packet[protocol] = 6;
            packet[6..8].copy_from_slice(&[if at == 4 { 6 } else { 0 }, 0]);
        }
        entry::codec(&packet);
    }
}

#[test]
fn captures_from_a_seed_do_not_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/capture");
    let files = fs::read_dir(&corpus).unwrap_or_else(|e| panic!("{}: {e}", corpus.display()));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let mut stream = Stream::derive(1, "captures");
    for _ in 0..10_000 {
        let mut file = seeds[stream.below(seeds.len() as u64) as usize].clone();
        for _ in 0..=stream.below(6) {
            let place = stream.below(file.len() as u64) as usize;
            match stream.below(4) {
                0 => file.truncate(place.max(1)),
                1 => drop(file.drain(place / 2..place)),
                2 => {
                    let length = stream.below(40);
                    file.splice(place..place, draw(&mut stream, length));
                }
                _ => file[place] = stream.bits() as u8,
            }
            if file.is_empty() {
                file.push(0x0a);
            }
        }
        entry::capture(&file);
    }
}
