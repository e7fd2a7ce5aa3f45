//! The page contains everything about a connection that the screen shows.

use dupack_diagnosis_tell::diagnosis_page::{Scenes, files};
use dupack_diagnosis_tell::notes::notes;
use dupack_diagnosis_tell::summary::{closed_windows, ending, other_way, probes, stalls};
use dupack_engine::folder::MemoryFolder;
use dupack_tcp::connection::Flags;
use dupack_truth::script::{End, Packet, packet};

use super::Told;
use super::directions::transfer;
use super::windows;

/// Returns the page of a diagnosis, without HTML escapes and line breaks.
pub(super) fn page(told: &Told) -> String {
    let files = files(&told.0, None, ("x.pcap", 5), &Scenes::new(), &[]).unwrap();
    let folder = MemoryFolder::default();
    files.write(&folder).unwrap();
    let page = folder.into_files().remove("report.html").unwrap();
    let page = String::from_utf8(page).unwrap().replace("<wbr>", "");
    page.replace("&#x2f;", "/").replace("&gt;", ">")
}

/// Asserts that the page contains these sentences.
#[track_caller]
fn has(told: &Told, sentences: impl IntoIterator<Item = Option<String>>) {
    let page = page(told);
    for sentence in sentences {
        let sentence = sentence.expect("it is told");
        // The first letter may be a capital on the page.
        let rest = sentence.get(1..).unwrap();
        assert!(page.contains(rest), "{sentence}: {page}");
    }
}

#[test]
fn the_page_has_the_notes_the_other_direction_and_the_end_of_a_connection() {
    let mut script = transfer();
    let end = 5000 + 50 * 40 * 1460;
    script.add(
        packet(0.0205, End::Client, 1000)
            .ack(5000)
            .len(100)
            .window(900),
    );
    // The sequence number and the ACK number of the reset continue after the request and the data.
    script.add(packet(1.2, End::Client, 1100).ack(end).flags(Flags::RST));
    let mut data = 0;
    script.retain(|packet: &Packet| {
        let is_data = packet.from() == End::Server && packet.at_s() > 0.021;
        data += u32::from(is_data);
        !is_data || data % 20 != 1
    });
    let told = Told::of(&script);
    let connection = told.connection();
    let other = connection.other_stream().expect("both send data");
    let all = notes(connection);
    assert!(!all.is_empty(), "{}", told.screen());
    has(&told, all.into_iter().map(Some));
    has(
        &told,
        [ending(connection), Some(other_way(connection, other))],
    );
}

#[test]
fn the_page_has_windows_that_were_shut_and_probes() {
    let told = Told::of(&windows::transfer(windows::Probe::Before));
    let stream = told.connection().main_stream().unwrap();
    has(&told, [closed_windows(stream), stalls(stream)]);
    let mut script = transfer();
    let end = 5000 + 50 * 40 * 1460;
    for n in 0..3 {
        let at = 10.0 + f64::from(n) * 10.0;
        script.add(packet(at, End::Server, end - 1).ack(1000).window(500));
        script.add(packet(at + 0.02, End::Client, 1000).ack(end).window(900));
    }
    let told = Told::of(&script);
    let stream = told.connection().main_stream().unwrap();
    assert!(probes(stream).is_some(), "{}", told.screen());
    has(&told, [probes(stream)]);
}

#[test]
fn a_connection_without_data_has_its_place_on_the_page() {
    let mut script = transfer();
    script.retain(|packet: &Packet| packet.at_s() <= 0.02);
    script.add(packet(1.0, End::Client, 1000).ack(5000).flags(Flags::RST));
    let told = Told::of(&script);
    assert!(told.connection().main_stream().is_none());
    has(&told, [ending(told.connection())]);
}

#[test]
fn the_round_trip_of_the_page_is_that_of_its_path() {
    let told = Told::of(&transfer());
    let stream = told.connection().main_stream().unwrap();
    let (least, _) = stream.round_trips().unwrap();
    assert_eq!(stream.path.least_rtt.value(), Some(least));
    let mut found = told.0;
    let stream = found.connections[0].streams.answerer.as_mut().unwrap();
    stream.path.least_rtt = dupack_diagnosis::told::Told::CannotBeTold {
        why: "samples are too short",
        remedy: "a capture at the sender",
    };
    assert_eq!(stream.round_trips(), None);
    let page = page(&Told(found));
    assert!(!page.contains(" (least), "), "{page}");
    let said = "cannot be determined: samples are too short; a capture at the sender would show it";
    assert_eq!(page.matches(said).count(), 2, "{page}");
}
