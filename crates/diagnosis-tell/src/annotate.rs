//! Copying of a capture, with a comment on each packet.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::SocketAddr;

use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_packet::{CaptureError, CopyWriter};
use dupack_tcp::time::Instant;
use thiserror::Error;

use crate::film::{Remarks, retell};
use crate::words;
use dupack_diagnosis::findings::ConnectionFindings;
use dupack_diagnosis::read::follow::StreamId;
use dupack_diagnosis::read::handshake::{SynAgain, SynCause};
use dupack_diagnosis::{Selection, Watch, each_packet};

/// Error when writing an annotated capture.
#[derive(Debug, Error)]
pub enum AnnotateError {
    /// The capture cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] CaptureError),
}

/// Copies the packets of `connections` from `again` to `to`, and adds a comment to each packet that has a remark.
/// Returns the number of copied packets.
///
/// The capture is read twice, so `first` and `again` must both begin at its start. `selection` must be the selection
/// that the diagnosis used.
///
/// # Errors
/// If the capture cannot be read, or the copy cannot be written.
pub fn annotate<R: Read, W: Write>(
    (first, again): (&mut CaptureReader<R>, &mut CaptureReader<R>),
    connections: &[&ConnectionFindings],
    selection: &Selection,
    to: W,
    watch: &mut dyn Watch,
) -> Result<u64, AnnotateError> {
    let numbers: Vec<u64> = connections.iter().map(|found| found.number).collect();
    let mut scenes = retell(first, &numbers, selection, Remarks::Kept, watch)?;
    for found in connections {
        for stream in found.all_streams().filter(|one| !one.tells_causes()) {
            let id = StreamId {
                connection: found.number,
                sender: stream.side,
            };
            if let Some(scene) = scenes.get_mut(&id) {
                scene.forget_causes();
            }
        }
    }
    let mut remarks: BTreeMap<u64, String> = BTreeMap::new();
    for (packet, said) in scenes
        .into_values()
        .flat_map(super::film::Scene::into_remarks)
    {
        let all = remarks.entry(packet).or_default();
        if !all.is_empty() {
            all.push_str("; ");
        }
        all.push_str(&said);
    }
    for syn in connections
        .iter()
        .flat_map(|found| found.handshake.again.kept())
    {
        let said = remarks.entry(syn.packet).or_default();
        if !said.is_empty() {
            said.push_str("; ");
        }
        said.push_str(&syn_in_words(syn));
    }
    let mut writer = CopyWriter::new(to)?;
    let mut selector = selection.selector();
    let mut copied = 0_u64;
    let mut failed = None;
    each_packet(again, watch, |captured| {
        let Ok(packet) = captured.tcp() else { return };
        let Some(packet) = selector.take(&packet) else {
            return;
        };
        let ends = [packet.source, packet.destination];
        let has = |found: &&ConnectionFindings| has(found, ends, packet.at);
        if failed.is_some() || !connections.iter().any(has) {
            return;
        }
        let remark = remarks.get(&packet.number).map(String::as_str);
        match writer.copy(captured, remark) {
            Ok(()) => copied += 1,
            Err(error) => failed = Some(error),
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    writer.finish()?;
    Ok(copied)
}

fn syn_in_words(syn: &SynAgain) -> String {
    let why = match syn.cause {
        SynCause::Timer => "by a timeout",
        SynCause::Answer => "because the SYN of the other end arrived again",
    };
    let waited = words::time(syn.waited);
    format!("SYN retransmitted {why}, {waited} after the previous one")
}

/// Returns `true` if a packet between `ends` at time `at` belongs to the connection.
fn has(found: &ConnectionFindings, ends: [SocketAddr; 2], at: Instant) -> bool {
    let own = [found.addresses.opener, found.addresses.answerer];
    let same = ends == own || [ends[1], ends[0]] == own;
    same && found.first_at <= at && at <= found.last_at
}

#[cfg(test)]
mod tests {
    use dupack_diagnosis::Side;
    use dupack_diagnosis::consistency::Withdrawn;
    use dupack_tcp::time::Duration;

    use super::*;
    use crate::testing::{download, found};

    /// Annotates these connections of a download, and returns the number of copied packets and the copy.
    fn copied(connections: &[&ConnectionFindings]) -> (u64, String) {
        let file = download();
        let mut first = CaptureReader::new(file.as_slice()).unwrap();
        let mut again = CaptureReader::new(file.as_slice()).unwrap();
        let mut copy = Vec::new();
        let readers = (&mut first, &mut again);
        let packets = annotate(
            readers,
            connections,
            &Selection::default(),
            &mut copy,
            &mut (),
        );
        (
            packets.unwrap(),
            String::from_utf8_lossy(&copy).into_owned(),
        )
    }

    #[test]
    fn packets_of_the_connection_are_copied_with_comments() {
        let found = found();
        let connection = &found.connections[0];
        let (packets, copy) = copied(&[connection]);
        assert_eq!(packets, 22);
        assert!(copy.contains("retransmission: SACK blocks beyond it, triggered by #13"));
        assert!(copy.contains("reopens the receive window"));
        assert_eq!(copied(&[]).0, 0);
    }

    #[test]
    fn comments_name_no_cause_if_packets_are_missing() {
        let mut found = found();
        let side = found.connections[0].main_stream().unwrap().side;
        let stream = found.connections[0].streams.of_mut(side).as_mut();
        let withdrawn = &mut stream.unwrap().withdrawn;
        withdrawn.push(Withdrawn::PacketsMissing);
        let (_, copy) = copied(&[&found.connections[0]]);
        assert_eq!(copy.matches("retransmission: unknown cause").count(), 2);
        assert!(!copy.contains("triggered by") && !copy.contains("triggers"));
        assert!(copy.contains("reopens the receive window"));
    }

    #[test]
    fn packets_before_and_after_a_connection_belong_to_another() {
        let found = found();
        let mut later = found.connections[0].clone();
        (later.first_at, later.last_at) = (
            Instant::ZERO + Duration::from_millis(100),
            Instant::ZERO + Duration::from_millis(500),
        );
        // The copy contains the tenth to the twenty-first packet, both included.
        assert_eq!(copied(&[&later]).0, 12);
        let mut other = found.connections[0].clone();
        other.addresses.opener.set_port(40_001);
        assert_eq!(copied(&[&other]).0, 0);
        // Either endpoint may have opened the connection.
        let addresses = &mut later.addresses;
        std::mem::swap(&mut addresses.opener, &mut addresses.answerer);
        assert_eq!(copied(&[&later]).0, 12);
    }

    #[test]
    fn the_comment_on_a_retransmitted_syn_has_its_wait() {
        let said = |cause| {
            syn_in_words(&SynAgain {
                side: Side::Opener,
                at: Instant::ZERO + Duration::from_secs(1),
                packet: 2,
                cause,
                waited: Duration::from_secs(1),
            })
        };
        assert_eq!(
            said(SynCause::Timer),
            "SYN retransmitted by a timeout, 1 s after the previous one"
        );
        assert_eq!(
            said(SynCause::Answer),
            "SYN retransmitted because the SYN of the other end arrived again, 1 s after the previous one"
        );
    }
}
