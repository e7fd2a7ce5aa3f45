//! Tests with a capture in memory whose connections have interleaved packets.

use dupack_packet::{CaptureWriter, Checksum, Envelope, Snap, emit};

use super::*;
use crate::findings::Flow;
use crate::findings::StreamFindings;
use crate::read::packet::tests::ms;
use crate::read::side::Side;
use crate::testing::{ack, data, handshake};

/// Number of connections, and of segments in each.
const CONNECTIONS: u16 = 30;
const SEGMENTS: u32 = 120;

/// The first transmission of one in this many segments is lost.
const LOST: u32 = 17;

/// Returns the packets of the connection with this number. A segment is sent every 10 ms, and its ACK is captured 40 ms
/// later.
fn packets(number: u32) -> Vec<Packet> {
    let mut all = handshake(40.0, 0.1).to_vec();
    let mut acked = 0;
    for n in 0..SEGMENTS {
        let at = 50.0 + f64::from(n) * 10.0;
        all.push(data(at, n * 1000, 1000));
        let lost = (n + number).is_multiple_of(LOST);
        if !lost && acked == n * 1000 {
            acked += 1000;
        }
        all.push(ack(at + 40.0, acked));
        if acked < n * 1000 && n % 8 == 7 {
            all.push(data(at + 41.0, acked, 1000));
            acked = (n + 1) * 1000;
            all.push(ack(at + 81.0, acked));
        }
    }
    all
}

/// Returns a capture of all connections, sorted by time.
fn capture() -> Vec<u8> {
    let mut all = Vec::new();
    for number in 0..CONNECTIONS {
        for mut packet in packets(number.into()) {
            packet.at += ms(f64::from(number) / 10.0).since(Instant::ZERO);
            for address in [&mut packet.source, &mut packet.destination] {
                if address.port() != 80 {
                    address.set_port(1000 + number);
                }
            }
            all.push(packet);
        }
    }
    all.sort_by_key(|packet| packet.at);
    let mut writer = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let mut buffer = vec![0; 2000];
    for packet in &all {
        let envelope = Envelope {
            source: packet.source,
            destination: packet.destination,
            identification: 0,
            checksum: Checksum::Offloaded,
        };
        let len = emit(&mut buffer, &envelope, &packet.segment, |_| {}).unwrap();
        let at = CaptureTime::from_simulation(packet.at);
        writer.write(at, &buffer[..len], None).unwrap();
    }
    writer.finish().unwrap()
}

fn diagnosed(capture: &[u8], threads: usize, batch: usize, watch: &mut dyn Watch) -> Diagnosis {
    let mut reader = CaptureReader::new(capture).unwrap();
    let limits = Limits {
        batch,
        ..Limits::default()
    };
    diagnose_by(&mut reader, &Flow::All.into(), watch, threads, limits).unwrap()
}

#[test]
fn results_do_not_depend_on_threads_or_batches() {
    let capture = capture();
    let one = diagnosed(&capture, 1, 1, &mut ());
    assert_eq!(one.connections.len(), usize::from(CONNECTIONS));
    let again = |found: &ConnectionFindings| found.retransmissions();
    assert!(one.connections.iter().map(again).sum::<u64>() > 100);
    for (threads, batch) in [(1, 7), (1, 1 << 15), (2, 64), (3, 1000), (8, 1 << 15)] {
        let other = diagnosed(&capture, threads, batch, &mut ());
        let same = format!("{one:?}") == format!("{other:?}");
        assert!(same, "{threads} {batch}");
    }
}

/// Observer that stops the reading when it is first called.
struct Stopper;

impl Watch for Stopper {
    fn taken(&mut self, _: u64) -> Continue {
        Continue::Stop
    }
}

#[test]
fn packets_read_before_a_stop_are_diagnosed() {
    let capture = capture();
    for (threads, batch) in [(1, 1), (2, 1000), (2, 1 << 15)] {
        let found = diagnosed(&capture, threads, batch, &mut Stopper);
        assert_eq!(found.extent, Extent::Interrupted);
        assert_eq!(found.tally.packets, PACKETS_PER_LOOK);
        let packets = |found: &ConnectionFindings| {
            Side::BOTH
                .map(|side| found.counts.of(side).packets)
                .iter()
                .sum::<u64>()
        };
        let all: u64 = found.connections.iter().map(packets).sum();
        assert_eq!(all, PACKETS_PER_LOOK);
    }
}

/// Returns the diagnosis of the selected packets.
fn selected(capture: &[u8], select: impl FnOnce(&mut Selection)) -> Diagnosis {
    let mut selection = Selection::default();
    select(&mut selection);
    let mut reader = CaptureReader::new(capture).unwrap();
    super::diagnose(&mut reader, selection, &mut ()).unwrap()
}

#[test]
fn a_filter_keeps_whole_connections_and_renumbers_them() {
    let capture = capture();
    let all = selected(&capture, |_| {});
    let filter = "dst port 1003 or 1001";
    let found = selected(&capture, |selection| {
        selection.filter = Some(filter.parse().unwrap());
    });
    assert_eq!((all.connections_all, found.connections_all), (30, 2));
    assert_eq!(found.tally, all.tally);
    for (number, port) in [(1, 1001), (2, 1003)] {
        let same = |found: &&ConnectionFindings| found.addresses.opener.port() == port;
        let [one, other] = [&found, &all].map(|of| of.connections.iter().find(same).unwrap());
        assert_eq!(one.number, number);
        assert_eq!((one.first_at, one.last_at), (other.first_at, other.last_at));
        assert_eq!(format!("{:?}", one.counts), format!("{:?}", other.counts));
        assert_eq!(format!("{:?}", one.streams), format!("{:?}", other.streams));
    }
    let left_out = found.left_out;
    assert_eq!((left_out.by_time, all.left_out), (0, LeftOut::default()));
    let counted = found.connections.iter().flat_map(|one| {
        let counts = Side::BOTH.map(|side| one.counts.of(side).packets);
        counts.into_iter()
    });
    assert_eq!(counted.sum::<u64>() + left_out.by_filter, all.tally.packets);
}

#[test]
fn a_time_range_keeps_times_and_packet_numbers() {
    let capture = capture();
    let all = selected(&capture, |_| {});
    let found = selected(&capture, |selection| {
        selection.time.since = Some("300ms".parse().unwrap());
        selection.time.until = Some("0.9s".parse().unwrap());
    });
    assert_eq!(found.connections_all, 30);
    assert_eq!((found.first, found.duration), (all.first, all.duration));
    assert!(found.left_out.by_time > 0);
    assert_eq!(found.left_out.by_filter, 0);
    for one in &found.connections {
        assert!(one.first_at >= ms(300.0) && one.last_at < ms(900.0));
        let whole = all
            .connections
            .iter()
            .find(|other| other.number == one.number);
        let [stream, whole] = [one, whole.unwrap()].map(|of| of.main_stream().unwrap());
        let packets = |stream: &StreamFindings| -> Vec<u64> {
            stream
                .retransmissions
                .iter()
                .map(|again| again.packet)
                .collect()
        };
        // If a capture begins in the middle of a connection, the first retransmission may not be detected.
        let (cut, whole) = (packets(stream), packets(whole));
        assert!(!cut.is_empty() && cut.iter().all(|packet| whole.contains(packet)));
    }
    let nothing = selected(&capture, |selection| {
        selection.time.since = Some("1h".parse().unwrap());
    });
    assert_eq!(nothing.connections_all, 0);
    assert_eq!(nothing.left_out.all(), all.tally.packets);
}
