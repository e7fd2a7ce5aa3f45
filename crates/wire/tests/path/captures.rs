//! Tests that captures of the path contain the packets that crossed it, as a real link would have carried them.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use dupack_net::link::{LinkConfig, LossModel};
use dupack_net::units::Probability;
use dupack_packet::Snap;
use dupack_packet::{Verify, parse};
use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::path::{
    Attachment, CaptureFiles, Captured, Captures, PathConfig, PathNetwork, PathReport, Side,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use tempfile::TempDir;

use crate::analysers::{self, Data};
use crate::testbed;

const BYTES: u64 = 1_000_000;
const MTU: usize = 1500;
const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// A captured transfer.
struct Transfer {
    files: CaptureFiles,
    report: PathReport,
    captures: Captures,
    /// Folder with the files, which exists as long as this value.
    _folder: TempDir,
}

/// Transfers one megabyte from near to far between kernels with offload, with losses in both directions.
fn captured(family: Family, snap: Snap) -> Transfer {
    let folder = tempfile::tempdir().expect("a folder");
    let files = CaptureFiles {
        near: folder.path().join("near.pcapng"),
        far: folder.path().join("far.pcapng"),
        snap,
    };
    let lossy = |share| {
        let loss = LossModel::Bernoulli(Probability::clamped(share));
        LinkConfig::pure_delay(Duration::from_millis(2)).with_loss(loss)
    };
    let config = PathConfig::new(lossy(0.02), lossy(0.01), 11);
    let network =
        PathNetwork::captured(&config, Attachment::default(), Some(&files)).expect("a network");
    let far = Side::Far.address(family);
    let receiver = testbed::receive(network.host(Side::Far), far);
    let sender = testbed::send(network.host(Side::Near), far, BYTES);
    sender.join().expect("no panic").expect("a sender");
    let receipt = receiver.join().expect("no panic").expect("a receiver");
    assert_eq!(receipt.bytes, BYTES);
    let report = network.stop().expect("a report");
    let captures = report.captures.expect("captures were asked for");
    Transfer {
        files,
        report,
        captures,
        _folder: folder,
    }
}

/// Returns the packets of a capture with their times. Asserts that times never go backwards.
fn packets(path: &Path) -> Vec<(std::time::Duration, Vec<u8>)> {
    let file = fs::read(path).expect("the capture");
    let mut reader = PcapNgReader::new(file.as_slice()).expect("a section header");
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a well-formed block") {
            assert_eq!(packet.original_len as usize, packet.data.len());
            packets.push((packet.timestamp, packet.data.into_owned()));
        }
    }
    assert!(packets.is_sorted_by_key(|(at, _)| *at), "in order of time");
    packets
}

/// Returns the number of packets from `source`. Asserts that all packets are valid and do not exceed the path's MTU.
fn count_from(source: IpAddr, packets: &[(std::time::Duration, Vec<u8>)]) -> u64 {
    let from = packets.iter().filter(|(_, bytes)| {
        assert!(bytes.len() <= MTU, "{} bytes", bytes.len());
        let parsed = parse(bytes, Verify::Checksums).expect("a right TCP segment");
        parsed.source.ip() == source
    });
    from.count() as u64
}

pub fn captures_hold_what_crossed() {
    for family in FAMILIES {
        let transfer = captured(family, Snap::Full);
        let Transfer {
            files,
            report,
            captures,
            ..
        } = &transfer;
        let (near, far) = (packets(&files.near), packets(&files.far));
        let ends = [Side::Near, Side::Far].map(|side| side.address(family));
        let [of_near, of_far] = ends;
        let (forward, backward) = (&report.forward, &report.backward);
        assert_eq!(count_from(of_near, &near), forward.link.offered_packets);
        assert_eq!(count_from(of_near, &far), forward.delivered);
        assert_eq!(count_from(of_far, &far), backward.link.offered_packets);
        assert_eq!(count_from(of_far, &near), backward.delivered);
        assert!(forward.link.drops.total() > 0 && backward.link.drops.total() > 0);
        let whole = |packets: &[_]| Captured {
            written: packets.len() as u64,
            missed: 0,
        };
        let expected = Captures {
            near: whole(&near),
            far: whole(&far),
        };
        assert_eq!(*captures, expected);
        takes_its_time(&near, &far);
    }
}

/// Asserts that the first packet, the SYN, leaves at least one propagation delay after it has entered.
fn takes_its_time(near: &[(std::time::Duration, Vec<u8>)], far: &[(std::time::Duration, Vec<u8>)]) {
    let (entered, syn) = &near[0];
    // A retransmission of a lost SYN is a different packet.
    if let Some((left, _)) = far.iter().find(|(_, packet)| packet == syn) {
        let under_way = left.saturating_sub(*entered);
        assert!(
            under_way >= std::time::Duration::from_millis(2),
            "{under_way:?}"
        );
    }
}

pub fn tshark_finds_no_fault() {
    for family in FAMILIES {
        for (snap, data) in [
            (Snap::Full, Data::Verified),
            (Snap::Headers, Data::CutShort),
        ] {
            let transfer = captured(family, snap);
            let Transfer {
                files, captures, ..
            } = &transfer;
            for (file, Captured { written, .. }) in
                [(&files.near, captures.near), (&files.far, captures.far)]
            {
                let found = analysers::find_no_fault(file, data).expect("tshark is there");
                assert_eq!(found as u64, written);
            }
        }
    }
}

pub fn tcptrace_finds_every_byte() {
    for family in FAMILIES {
        let transfer = captured(family, Snap::Headers);
        let Transfer { files, report, .. } = &transfer;
        for file in [&files.near, &files.far] {
            let connections = analysers::tcptrace(file).expect("tcptrace is there");
            let [connection] = connections.as_slice() else {
                panic!("{} connections", connections.len());
            };
            let sent = &connection["unique bytes sent"];
            assert_eq!(sent.0, BYTES.to_string(), "{}", file.display());
        }
        // Lost data was retransmitted, and the sender's capture contains all retransmissions. The SYN, the ACK after it
        // and the FIN carry no data.
        let connections = analysers::tcptrace(&files.near).expect("tcptrace is there");
        let again: u64 = connections[0]["rexmt data pkts"]
            .0
            .parse()
            .expect("a number");
        let lost = report.forward.link.drops.total();
        assert!(again + 3 >= lost, "{again} for {lost} lost");
    }
}
