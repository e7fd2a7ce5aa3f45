//! A capture of some connections whose comments say what each packet was.

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
use dupack_diagnosis::read::handshake::{SynAgain, SynCause};
use dupack_diagnosis::{Selection, Watch, each_packet};

/// Why there is no such capture.
#[derive(Debug, Error)]
pub enum AnnotateError {
    /// What is to be copied cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] CaptureError),
}

/// Copies the packets of `connections` from `again` to `to`, with what there is to say of each. The capture is
/// read twice: `first` and `again` both begin at its start. `selection` must be that of the diagnosis.
///
/// # Errors
/// If the capture cannot be read, or the copy not written.
pub fn annotate<R: Read, W: Write>(
    (first, again): (&mut CaptureReader<R>, &mut CaptureReader<R>),
    connections: &[&ConnectionFindings],
    selection: &Selection,
    to: W,
    watch: &mut dyn Watch,
) -> Result<u64, AnnotateError> {
    let numbers: Vec<u64> = connections.iter().map(|found| found.number).collect();
    let scenes = retell(first, &numbers, selection, Remarks::Kept, watch)?;
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
        SynCause::Answer => "as the other end's came again",
    };
    let waited = words::time(syn.waited);
    format!("SYN retransmitted {why}, {waited} after the last")
}

/// Whether a packet between these ends at this time is of the connection.
fn has(found: &ConnectionFindings, ends: [SocketAddr; 2], at: Instant) -> bool {
    let own = [found.addresses.opener, found.addresses.answerer];
    let same = ends == own || [ends[1], ends[0]] == own;
    same && found.first_at <= at && at <= found.last_at
}
