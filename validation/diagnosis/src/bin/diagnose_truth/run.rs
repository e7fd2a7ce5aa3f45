//! One transfer, with the truth that its sender knows. The transfer is captured at both ends. If the sender is the
//! kernel's, the transfer is also captured on the sending host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_diagnosis::sender::Control;
use dupack_net::link::LossNature;
use dupack_packet::Snap;
use dupack_tcp::time::Duration;
use dupack_wire::path::{CaptureFiles, PathConfig, Trust};
use dupack_wire::transfer::{Extent, Recording, TransferConfig, TransferReport, transfer};

use super::kept::{TransferTruth, keep, kept};
use super::kernel::Tracer;
use super::packets::{DataPacket, arrivals, cut_from, read};
use super::paths::{Built, Place, origin};
use super::score::{Known, Score};
use super::told::tell;
use super::truth::{Fate, Was, fates, of_endpoint, of_kernel};

/// Maximum lateness of packets for which the times of a run are valid.
const TOLERANCE: Duration = Duration::from_millis(1);

/// Maximum number of attempts if packets are late on the path.
const TRIES: u32 = 3;

/// Time after which a transfer is stopped.
const LIMIT: Duration = Duration::from_secs(90);

/// Maximum payload of one segment in bytes, because an Ethernet frame carries 1500 bytes of IP. A larger packet
/// contains several segments.
const LONGEST: u32 = 1460;

/// Prefix of the names of the kernel's senders.
const KERNEL: &str = "kernel:";

/// A requested transfer.
#[derive(Clone, Debug)]
pub struct Task {
    pub number: u64,
    pub place: Place,
    pub sender: String,
    pub seed: u64,
}

/// Place of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Sender,
    Receiver,
    /// Capture by tcpdump on the sending host, with offload.
    Host,
}

impl End {
    pub const ALL: [Self; 3] = [Self::Sender, Self::Receiver, Self::Host];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Host => "tcpdump at the host",
        }
    }
}

/// Results of a transfer.
pub struct Done {
    pub task: Task,
    pub scores: Vec<(End, Score)>,
    /// Reasons why the times are invalid. Empty if the times are valid.
    pub unsound: Vec<String>,
    pub seconds: f64,
    /// Number of packets longer than a segment in the host's capture.
    pub long: Option<usize>,
    /// Number of retransmissions that the kernel counted, and number of retransmissions that left the kernel's host.
    pub counted: Option<(u64, u64)>,
}

/// Files of a run.
struct Files {
    near: PathBuf,
    far: PathBuf,
    host: PathBuf,
    truth: PathBuf,
}

impl Files {
    fn new(folder: &Path, task: &Task) -> Self {
        let plain = |text: &str| {
            let kept = |c: char| c.is_ascii_alphanumeric();
            let words = text.split(|c| !kept(c)).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join("-")
        };
        let name = format!(
            "{}_{}_{}",
            plain(&task.sender),
            plain(&task.place.name),
            task.seed
        );
        let file = |end: &str| folder.join(format!("{name}.{end}"));
        Self {
            near: file("sender.pcapng"),
            far: file("receiver.pcapng"),
            host: file("host.pcap"),
            truth: file("truth.json"),
        }
    }

    fn remove(&self) {
        for file in [&self.near, &self.far, &self.host, &self.truth] {
            // Some of the files may not exist.
            let _ = fs::remove_file(file);
        }
    }
}

/// Runs `job` and its child processes with real-time priority if this is permitted, because a path with late packets
/// behaves differently.
pub fn before_others<T>(job: impl FnOnce() -> T) -> T {
    let thread = fs::read_link("/proc/thread-self").unwrap_or_default();
    let schedule = |policy: [&str; 3]| {
        if let Some(thread) = thread.file_name() {
            // Errors are ignored: if the permission or the program is missing, the path still reports late packets.
            let _ = Command::new("chrt").args(policy).arg(thread).output();
        }
    };
    schedule(["--fifo", "--pid", "30"]);
    let done = job();
    schedule(["--other", "--pid", "0"]);
    done
}

/// Runs a transfer and diagnoses its captures.
pub fn run(task: &Task, folder: &Path, tracer: &Tracer) -> Result<Done, String> {
    let built = task.place.build(task.seed)?;
    let files = Files::new(folder, task);
    let mut tries = 0;
    loop {
        tries += 1;
        files.remove();
        let (offset, since) = tracer.offset(task.number * u64::from(TRIES) + u64::from(tries))?;
        let config = config(task, &built, &files);
        let origin = origin(&task.sender)?;
        let report = before_others(|| transfer(&config, origin, &|| false));
        let report = report.map_err(|error| format!("{task:?}: {error:?}"))?;
        if report.extent == Extent::CutOff {
            return Err(format!("{} over {}: cut off", task.sender, task.place.name));
        }
        let unsound = match report.path.trust(TOLERANCE) {
            Trust::Worthless { reasons } if tries < TRIES => {
                eprintln!(
                    "again: {} over {}: {reasons:?}",
                    task.sender, task.place.name
                );
                continue;
            }
            Trust::Worthless { reasons } => reasons,
            Trust::Sound => Vec::new(),
        };
        let mut known = what_was(&files, &report, (tracer, offset, since))?;
        known.unsound = unsound;
        keep(&files.truth, &known)?;
        return score(task, &built, &files, &known);
    }
}

/// Diagnoses the captures of an earlier run again.
pub fn again(task: &Task, folder: &Path) -> Result<Done, String> {
    let built = task.place.build(task.seed)?;
    let files = Files::new(folder, task);
    let known: TransferTruth = kept(&files.truth)?;
    score(task, &built, &files, &known)
}

/// Returns the truth about a transfer.
fn what_was(
    files: &Files,
    report: &TransferReport,
    (tracer, offset, since): (&Tracer, i64, u64),
) -> Result<TransferTruth, String> {
    let near = read(&files.near)?;
    let mut known;
    match &report.times {
        Some(times) => {
            let truths = of_kernel(&near, &tracer.events(times.port, since), offset);
            let again = truths.iter().filter(|was| was.is_none_or(Was::is_again));
            let again = again.count() as u64;
            known = TransferTruth::new(&truths);
            known.counted = Some((times.retransmissions, again));
            let [busy, window] = [times.busy, times.receive_window].map(Duration::as_nanos);
            known.times = Some((busy, window));
        }
        None => known = TransferTruth::new(&of_endpoint(&near, &report.transmissions)),
    }
    let drops = &report.path.forward.link.drops;
    known.overflowed = drops.of_nature(LossNature::Congestion) > 0;
    known.seconds = report.lasted.as_secs_f64();
    Ok(known)
}

fn config(task: &Task, built: &Built, files: &Files) -> TransferConfig {
    let path = PathConfig::new(built.forward.clone(), built.backward.clone(), task.seed);
    let mut config = TransferConfig::new(path, task.place.bytes, LIMIT);
    config.receiver.window = built.window;
    config.receiver.pauses = task.place.reader;
    config.writes.clone_from(&built.writes);
    config.recording = Recording::On;
    config.captures = Some(CaptureFiles {
        near: files.near.clone(),
        far: files.far.clone(),
        snap: Snap::Headers,
    });
    if task.sender.starts_with(KERNEL) {
        config.host_capture = Some(files.host.clone());
    }
    config
}

fn score(task: &Task, built: &Built, files: &Files, kept: &TransferTruth) -> Result<Done, String> {
    let near = read(&files.near)?;
    let far = read(&files.far)?;
    let truths = kept.truths();
    let came = arrivals(&near, &far);
    let fates = fates(&near, &came);
    let known = known(task, built, kept, &fates);
    let of = |place: usize| {
        (
            truths.get(place).copied().flatten(),
            fates.get(place).copied(),
        )
    };
    let with = |packets: &[DataPacket], places: &[Option<usize>]| {
        let each = packets.iter().zip(places).map(|(packet, place)| {
            let (was, fate) = place.map_or((None, None), of);
            (*packet, was, fate.unwrap_or_default())
        });
        each.collect::<Vec<(DataPacket, Option<Was>, Fate)>>()
    };
    let itself: Vec<Option<usize>> = (0..near.len()).map(Some).collect();
    let mut ends = vec![
        (End::Sender, &files.near, with(&near, &itself)),
        (End::Receiver, &files.far, with(&far, &came)),
    ];
    let mut long = None;
    if files.host.exists() {
        let host = read(&files.host)?;
        long = Some(host.iter().filter(|packet| packet.len > LONGEST).count());
        let places = cut_from(&host, &near);
        ends.push((End::Host, &files.host, with(&host, &places)));
    }
    let mut scores = Vec::new();
    for (end, file, packets) in ends {
        scores.push((end, Score::of(file, &packets, &tell(file)?, &known)));
    }
    Ok(Done {
        task: task.clone(),
        scores,
        unsound: kept.unsound.clone(),
        seconds: kept.seconds,
        long,
        counted: kept.counted,
    })
}

fn known(task: &Task, built: &Built, kept: &TransferTruth, fates: &[Fate]) -> Known {
    let lost = fates.iter().filter(|fate| fate.lost).count();
    let span = Duration::from_nanos;
    Known {
        times: kept.times.map(|(busy, window)| (span(busy), span(window))),
        least_rtt: built.least_rtt,
        rate: built.rate,
        policed: built.policed,
        loss: lost as f64 / fates.len().max(1) as f64,
        room: built.room.filter(|_| kept.overflowed && !built.policed),
        control: control(&task.sender),
    }
}

fn control(sender: &str) -> Option<Control> {
    Some(match sender {
        "kernel:bbr" => Control::BbrOne,
        "rack/bbr" => Control::Bbr,
        "kernel:cubic" | "rack/cubic" => Control::Cubic,
        "kernel:reno" | "sack/reno" | "newreno/reno" => Control::Reno,
        "le/westwood" => Control::Westwood,
        _ => return None,
    })
}
