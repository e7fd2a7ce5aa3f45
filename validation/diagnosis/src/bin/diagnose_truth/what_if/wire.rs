//! Transfers of the captured sender and of the other sender. The result of each transfer is stored as soon as the
//! transfer has ended.

use std::fs;
use std::path::{Path, PathBuf};

use dupack_packet::Snap;
use dupack_tcp::time::Duration;
use dupack_wire::path::{CaptureFiles, PathConfig, Trust};
use dupack_wire::transfer::{Extent, TransferConfig, transfer};
use serde::{Deserialize, Serialize};

use super::super::kept::{keep, kept};
use super::super::packets::{arrivals, read};
use super::super::paths::{Place, origin};
use super::super::run::before_others;
use super::super::truth::fates;
use super::super::work::Options;
use super::Pair;

/// Maximum lateness of packets. `TRIES` is the number of attempts if packets are later than this maximum.
const TOLERANCE: Duration = Duration::from_millis(1);
const TRIES: u64 = 3;

/// Maximum duration of a transfer.
const LIMIT: Duration = Duration::from_secs(120);

/// Measurements on the wire.
#[derive(Serialize, Deserialize)]
pub(super) struct Known {
    /// Text of the question. Stored results of a different question are not used.
    #[serde(default)]
    asked: String,
    /// Transfer time of the captured sender, in seconds.
    pub captured: f64,
    pub losses: usize,
    /// Transfer times of the other sender, in seconds.
    pub truth: Vec<f64>,
    /// Number of runs with late packets.
    pub late: usize,
}

/// Files of a pair: captures and results.
pub(super) struct Files {
    captures: CaptureFiles,
    known: PathBuf,
}

impl Files {
    pub(super) fn of(number: u64, options: &Options) -> Self {
        let file = |end: &str| {
            let name = format!("what-if-{number}-{}.{end}", options.seed);
            options.out.join(name)
        };
        Self {
            captures: CaptureFiles {
                near: file("sender.pcapng"),
                far: file("receiver.pcapng"),
                snap: Snap::Headers,
            },
            known: file("truth.json"),
        }
    }

    /// Returns the path of the capture at the sender.
    pub(super) fn near(&self) -> &Path {
        &self.captures.near
    }
}

/// Captures the first sender and runs the other sender, unless stored results exist.
pub(super) fn known(
    (number, place, pair): (u64, &Place, &Pair),
    options: &Options,
    files: &Files,
) -> Result<Known, String> {
    if options.again {
        return kept(&files.known);
    }
    let runs = pair.run.as_ref().unwrap_or(&pair.other);
    let Place {
        experiment, bytes, ..
    } = place;
    let asked = format!(
        "{}, then {runs}: {bytes} B over {experiment}",
        pair.captured
    );
    // The seeds are chosen so that no two runs have the same losses.
    let seeds = options.seed * 1_000_000 + number * 1000;
    let earlier = kept(&files.known).ok();
    let earlier = earlier.filter(|known: &Known| known.asked == asked && files.near().exists());
    let mut known = match earlier {
        Some(known) => known,
        None => {
            let known = capture((place, &pair.captured), seeds, asked, files)?;
            keep(&files.known, &known)?;
            known
        }
    };
    known.truth.truncate(options.repeat as usize);
    for repetition in known.truth.len() as u64 + 1..=options.repeat {
        let once = once(place, runs, seeds + repetition * TRIES, None)?;
        known.truth.push(once.0);
        known.late += usize::from(!once.1);
        keep(&files.known, &known)?;
    }
    Ok(known)
}

/// Runs the transfer that is captured, before any run of the other sender.
fn capture(
    (place, sender): (&Place, &str),
    seed: u64,
    asked: String,
    files: &Files,
) -> Result<Known, String> {
    let captured = once(place, sender, seed, Some(&files.captures))?;
    Ok(Known {
        asked,
        captured: captured.0,
        losses: losses(&files.captures.near, &files.captures.far)?,
        truth: Vec::new(),
        late: usize::from(!captured.1),
    })
}

/// Runs one transfer. Returns the transfer time in seconds, and `true` if the packets on the path were on time.
fn once(
    place: &Place,
    sender: &str,
    seed: u64,
    files: Option<&CaptureFiles>,
) -> Result<(f64, bool), String> {
    let mut last = None;
    for n in 0..TRIES {
        if let Some(files) = files {
            for file in [&files.near, &files.far] {
                // The file may exist from an earlier attempt.
                let _ = fs::remove_file(file);
            }
        }
        let built = place.build(seed + n)?;
        let ack_delay = built.backward.delay;
        let path = PathConfig::new(built.forward, built.backward, seed + n);
        let mut config = TransferConfig::new(path, place.bytes, LIMIT);
        config.receiver.window = built.window;
        config.writes = built.writes;
        config.captures = files.cloned();
        let origin = origin(sender)?;
        let report = before_others(|| transfer(&config, origin, &|| false));
        let report = report.map_err(|error| format!("{sender} over {}: {error:?}", place.name))?;
        if report.extent == Extent::CutOff {
            return Err(format!("{sender} over {}: cut off", place.name));
        }
        let sound = report.path.trust(TOLERANCE) == Trust::Sound;
        // The transfer time ends with the last ACK, as in predictions.
        last = Some(((report.lasted + ack_delay).as_secs_f64(), sound));
        if sound {
            break;
        }
    }
    last.ok_or_else(|| "no run".to_owned())
}

fn losses(near: &Path, far: &Path) -> Result<usize, String> {
    let (near, far) = (read(near)?, read(far)?);
    let fates = fates(&near, &arrivals(&near, &far));
    Ok(fates.iter().filter(|fate| fate.lost).count())
}
