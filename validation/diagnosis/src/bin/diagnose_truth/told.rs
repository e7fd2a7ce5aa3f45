//! Diagnosis of a capture: the diagnosis of each data packet, and of the transfer as a whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use dupack_diagnosis::analyse::explain;
use dupack_diagnosis::read::connection::Connection;
use dupack_diagnosis::{
    Analysis, Arrival, Beginning, Cause, Class, Departure, Explainer, Flow, Follower, Nobody,
    Packet, Repeat, Retransmission, Side, Stage, StreamFindings, Table, Timer, diagnose,
};
use dupack_packet::captured::CaptureReader;

use super::truth::Was;

/// Diagnosis of a data packet.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub was: Was,
    /// The final diagnosis of a retransmission.
    pub record: Option<Retransmission>,
}

/// Diagnosis of the transfer in a capture.
pub struct Telling {
    /// Diagnoses of packets, by the number of the packet.
    pub packets: BTreeMap<u64, Told>,
    pub stream: StreamFindings,
}

/// Diagnoses a capture.
pub fn tell(path: &Path) -> Result<Telling, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let open = || {
        let file = File::open(path).map_err(|error| failed(&error))?;
        CaptureReader::new(file).map_err(|error| failed(&error))
    };
    let diagnosis = diagnose(&mut open()?, Flow::All, &mut ()).map_err(|e| failed(&e))?;
    let streams = diagnosis.connections.into_iter();
    let stream = streams.filter_map(|one| one.streams.opener).next();
    let stream = stream.ok_or_else(|| failed(&"it contains no transfer"))?;
    Ok(Telling {
        packets: packets(&mut open()?).map_err(|error| failed(&error))?,
        stream,
    })
}

fn packets(
    reader: &mut CaptureReader<File>,
) -> Result<BTreeMap<u64, Told>, dupack_packet::captured::ReadError> {
    let mut table = Table::<Each>::new(dupack_diagnosis::Limits::default());
    let mut done: Vec<Connection<Each>> = Vec::new();
    let mut first = None;
    while let Some(captured) = reader.next_packet()? {
        let Ok(packet) = captured.tcp() else { continue };
        let first = *first.get_or_insert(packet.at);
        table.take(&Packet::new(&packet, first), &mut Nobody);
        done.extend(table.take_finished());
    }
    done.extend(table.finish(&mut Nobody));
    let streams = done
        .iter_mut()
        .filter_map(|one| one.take_stream(Side::Opener));
    let each = streams.map(|stream| stream.into_follower().finish());
    Ok(each.max_by_key(BTreeMap::len).unwrap_or_default())
}

/// Observer that explains every packet and keeps the explanations.
struct Each {
    explainer: Explainer,
    said: Vec<(u64, Option<Repeat>, Stage)>,
}

impl Follower for Each {
    fn begin(beginning: &Beginning) -> Self {
        let mut limits = explain::Limits::default();
        limits.records = usize::MAX;
        Self {
            explainer: Explainer::new(beginning.sack, limits),
            said: Vec::new(),
        }
    }

    fn departed(
        &mut self,
        departure: &Departure<'_>,
        _: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer {
        let explained = self.explainer.departed(departure);
        let (repeat, stage) = (explained.repeat, explained.stage);
        let cause = explained.retransmission.map(|again| again.cause);
        self.said.push((departure.packet, repeat, stage));
        match cause {
            Some(Cause::Timeout { .. }) => Timer::Expired,
            _ => Timer::Ran,
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, _: Option<&mut (dyn Analysis + '_)>) {
        self.explainer.arrived(arrival);
    }
}

impl Each {
    fn finish(self) -> BTreeMap<u64, Told> {
        let records = self
            .explainer
            .records()
            .map(|record| (record.packet, *record));
        let records: BTreeMap<u64, Retransmission> = records.collect();
        let each = self.said.into_iter().map(|(packet, repeat, stage)| {
            let record = records.get(&packet).copied();
            let was = match repeat {
                None => Was::New,
                Some(Repeat::Overtaken) => Was::Overtaken,
                Some(Repeat::Copy) => Was::Copy,
                Some(Repeat::Retransmission(cause)) => {
                    let class = record.map_or(cause, |record| record.cause).class();
                    Was::Again(match class {
                        Class::Fast | Class::Further if stage == Stage::Loss => Class::AfterTimeout,
                        class => class,
                    })
                }
            };
            (packet, Told { was, record })
        });
        each.collect()
    }
}
