//! Tests of the entry points on bytes that are drawn from a seed.

use std::fs;
use std::path::Path;

use dupack_fuzz_entries as entry;
use dupack_net::random::Stream;

/// Draws `length` bytes. Small values are more frequent than other values.
fn draw(stream: &mut Stream, length: u64) -> Vec<u8> {
    let byte = |stream: &mut Stream| match stream.below(3) {
        0 => stream.below(8) as u8,
        _ => stream.bits() as u8,
    };
    (0..length).map(|_| byte(stream)).collect()
}

#[test]
fn packets_are_read_or_refused() {
    let mut stream = Stream::derive(1, "packets");
    for _ in 0..50_000 {
        let length = stream.below(200);
        let mut packet = draw(&mut stream, length);
        // Many of the packets are almost valid.
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
fn captures_are_read_as_far_as_possible() {
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

#[test]
fn captures_are_diagnosed() {
    let mut stream = Stream::derive(1, "whole captures");
    for _ in 0..dupack_testing::cases(500, 1500) {
        let steps = stream.below(200);
        let mut bytes: Vec<u8> = (0..9 * steps).map(|_| stream.bits() as u8).collect();
        // Most of the captures are bulk transfers: one end sends, and the other acknowledges.
        if stream.below(4) > 0 {
            for step in bytes.chunks_exact_mut(9) {
                let receives = step[0] & 1;
                step[0] &= if receives == 1 { 0x23 } else { 0x09 };
                step[0] |= receives << 1;
                step[1] |= 0x04;
                step[6] %= 18;
            }
        }
        entry::diagnosis(&bytes);
    }
}

#[test]
fn scripts_do_not_harm_a_connection() {
    let mut stream = Stream::derive(1, "endpoint scripts");
    for _ in 0..60_000 {
        let length = stream.below(600);
        let mut script = draw(&mut stream, length);
        // Most of the scripts begin with a handshake: operation 6, after the 16 bytes that choose the connection.
        if script.len() > 20 && stream.below(8) > 0 {
            script[16] = 6;
        }
        entry::endpoint(&script);
    }
}
