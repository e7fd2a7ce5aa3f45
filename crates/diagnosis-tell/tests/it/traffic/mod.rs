//! Diagnoses of traffic other than a single bulk transfer, and of paths with policers. Most captures are written packet
//! by packet, and the others are simulated. The tests check sentences and counts of the diagnoses.

mod answers;
mod both_ends;
mod copies;
mod counts;
mod cut;
mod delayed_acks;
mod directions;
mod doubt;
mod ends;
mod flights;
mod groups;
mod headlines;
mod middleboxes;
mod opening;
mod order;
mod pages;
mod policers;
mod queued_answers;
mod rates;
mod requests;
mod resets;
mod senders;
mod shared;
mod silence;
mod sizes;
mod timeouts;
mod timers;
mod turns;
mod untold;
mod what_if;
mod windows;

use dupack_diagnosis::{ConnectionFindings, Diagnosis, Flow, Side, StreamFindings, diagnose};
use dupack_diagnosis_tell::story::story;
use dupack_diagnosis_tell::summary::{Look, summary};
use dupack_packet::captured::CaptureReader;
use dupack_report::table::Colour;
use dupack_truth::script::Script;

/// Diagnoses a capture.
fn read(file: &[u8]) -> Diagnosis {
    let mut reader = CaptureReader::new(file).unwrap();
    let found = diagnose(&mut reader, Flow::All, &mut ()).unwrap();
    for connection in &found.connections {
        round_trips_agree(connection);
    }
    found
}

/// Asserts properties of round-trip times that hold for every capture of these tests. A minimum round-trip time is not
/// longer than the mean, nor than the handshake's round-trip time plus the maximum transmission time of a full packet.
#[track_caller]
fn round_trips_agree(connection: &ConnectionFindings) {
    let handshake = &connection.handshake;
    let ways = Side::BOTH.map(|side| handshake.round_trip_to(side));
    let short = ways[0].zip(ways[1]).map(|(one, other)| one + other);
    for stream in connection.all_streams() {
        let Some((least, mean)) = stream.round_trips() else {
            continue;
        };
        assert!(least <= mean, "{least} and {mean}");
        let path = &stream.path;
        // The slowest possible rate of the bottleneck. If it is unknown, the check is skipped: the round-trip times may
        // be based on a rate that the diagnosis withdrew later.
        let slowest = path.rate.interval().map(|(low, _)| low);
        let Some((slowest, short)) = slowest.or(path.rate.at_least()).zip(short) else {
            continue;
        };
        let packet = (path.smss + path.headers) as f64 * 8.0 / slowest;
        let bound = short.as_secs_f64() + packet + 1e-9;
        assert!(least.as_secs_f64() <= bound, "{least} and {short}");
    }
}

/// The diagnosis of a script's capture.
struct Told(Diagnosis);

impl Told {
    fn of(script: &Script) -> Self {
        Self(read(&script.pcap()))
    }

    /// Returns the only connection of the capture.
    fn connection(&self) -> &ConnectionFindings {
        assert_eq!(self.0.connections_all, 1);
        &self.0.connections[0]
    }

    fn stream(&self, side: Side) -> &StreamFindings {
        self.connection().streams.of(side).as_ref().unwrap()
    }

    /// Returns the sentence about the limit of the only connection.
    fn story(&self) -> String {
        story(self.connection().main_stream().unwrap())
    }

    /// Returns the whole summary for the terminal.
    fn screen(&self) -> String {
        let look = Look {
            colour: Colour::No,
            width: Some(400),
            detailed: 5,
            listed: 5,
        };
        summary(&self.0, None, &look)
    }

    /// Asserts that no segment was retransmitted or lost in either direction.
    #[track_caller]
    fn nothing_was_lost(&self) {
        let screen = self.screen();
        for stream in self.connection().all_streams() {
            assert_eq!(stream.account.retransmissions, 0, "{screen}");
            assert_eq!(stream.path.losses, 0, "{screen}");
        }
        assert_eq!(self.connection().handshake.again.kept(), [], "{screen}");
    }
}
