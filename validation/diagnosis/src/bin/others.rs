//! Comparison of our results for captures with those of other programs.
//!
//! ```text
//! cargo run --release --manifest-path validation/Cargo.toml --bin others -- labels FOLDER
//! cargo run --release --manifest-path validation/Cargo.toml --bin others -- counts FOLDER
//! ```
//!
//! `labels` compares NAME.pcap with NAME.labels.tsv, the format of the test captures of tcprs: each retransmission and
//! each timeout in the labels must be in our diagnosis. `counts` compares NAME.dmp.gz with NAME.long, the output of
//! `tcptrace -l`: the counts must be the same. Every difference is printed as a line.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

use dupack_diagnosis::{
    Cause, ConnectionFindings, Counts, Diagnosis, Flow, Retransmission, Side, diagnose,
};
use dupack_packet::captured::CaptureReader;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["labels", folder] => labels(Path::new(folder)),
        ["counts", folder] => counts(Path::new(folder)),
        _ => Err("missing arguments: expected `labels` or `counts`, and a folder".into()),
    }
}

/// Returns the files of a folder whose names end with `end`, sorted and without this ending.
fn names(folder: &Path, end: &str) -> Fallible<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let text = path.to_string_lossy().into_owned();
        if let Some(name) = text.strip_suffix(end) {
            names.push(PathBuf::from(name));
        }
    }
    names.sort();
    if names.is_empty() {
        return Err(format!("{} has no file whose name ends in {end}", folder.display()).into());
    }
    Ok(names)
}

fn with(name: &Path, end: &str) -> PathBuf {
    PathBuf::from(format!("{}{end}", name.display()))
}

fn diagnosis(path: &Path) -> Fallible<Diagnosis> {
    let mut reader = CaptureReader::new(File::open(path)?)?;
    Ok(diagnose(&mut reader, Flow::All, &mut ())?)
}

/// Values of `rtype` in tcprs for timeouts: a timeout, a timeout found by brute force, and a timeout without duplicate
/// ACKs.
const TIMEOUTS: [&str; 3] = ["1", "14", "15"];
/// Values of `rtype` in tcprs that have no meaning here: unknown types, and packets that are not retransmissions.
const LEFT_OUT: [&str; 3] = ["0", "6", "12"];
/// Tolerance of times in microseconds. A tolerance is necessary because one program rounds and the other truncates.
const SAME_US: u64 = 2;

#[derive(Default)]
struct Agreement {
    rows: u64,
    left_out: u64,
    same: u64,
    /// Number of retransmitted SYNs among the rows that agree.
    syns: u64,
    other: u64,
    missing: u64,
}

fn labels(folder: &Path) -> Fallible<()> {
    let mut all = Agreement::default();
    for name in names(folder, ".labels.tsv")? {
        let found = told(&diagnosis(&with(&name, ".pcap"))?);
        let text = std::fs::read_to_string(with(&name, ".labels.tsv"))?;
        let short = name.file_name().unwrap_or_default().to_string_lossy();
        let mut columns: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(fields) = line.strip_prefix("#fields\t") {
                columns = fields.split('\t').collect();
            }
            if line.starts_with('#') {
                continue;
            }
            let row: BTreeMap<&str, &str> = columns.iter().copied().zip(line.split('\t')).collect();
            compare(&short, &row, &found, &mut all)?;
        }
    }
    let share = 100.0 * all.same as f64 / all.rows.max(1) as f64;
    println!(
        "{} labels and {} left out: {} are the same ({share:.1} %; {} of them SYNs), {} are not, {} are no \
         retransmission here",
        all.rows, all.left_out, all.same, all.syns, all.other, all.missing
    );
    Ok(())
}

/// One of our findings.
enum Found {
    Data(Retransmission),
    SynByTimer,
    SynAsAnswer,
}

fn told(diagnosis: &Diagnosis) -> BTreeMap<u64, Found> {
    let first = diagnosis.first.map_or(0, |at| at.as_unix_nanos());
    let time = |at: dupack_tcp::time::Instant| (first + at.as_nanos()) / 1000;
    let mut found = BTreeMap::new();
    for connection in &diagnosis.connections {
        for syn in connection.handshake.again.kept() {
            let what = match syn.cause {
                dupack_diagnosis::read::handshake::SynCause::Timer => Found::SynByTimer,
                dupack_diagnosis::read::handshake::SynCause::Answer => Found::SynAsAnswer,
            };
            found.insert(time(syn.at), what);
        }
        for stream in connection.all_streams() {
            for again in &stream.retransmissions {
                found.insert(time(again.at), Found::Data(*again));
            }
        }
    }
    found
}

fn compare(
    name: &str,
    row: &BTreeMap<&str, &str>,
    found: &BTreeMap<u64, Found>,
    all: &mut Agreement,
) -> Fallible<()> {
    let column = |key: &str| {
        let value = row.get(key).copied();
        value.ok_or_else(|| format!("{name}: a row lacks column {key}"))
    };
    let (stamp, rtype) = (column("ts")?, column("rtype")?);
    if LEFT_OUT.contains(&rtype) {
        all.left_out += 1;
        return Ok(());
    }
    all.rows += 1;
    let at = micros(stamp).ok_or_else(|| format!("{name}: invalid time {stamp}"))?;
    let near = found
        .range(at.saturating_sub(SAME_US)..=at + SAME_US)
        .next();
    let Some((_, here)) = near else {
        all.missing += 1;
        println!("{name} at {stamp}: rtype {rtype}; not a retransmission here");
        return Ok(());
    };
    let (is_timeout, words) = match here {
        Found::Data(again) => (
            matches!(again.cause, Cause::Timeout { .. }),
            format!(
                "packet {}, {:?}, after {}",
                again.packet, again.cause, again.waited
            ),
        ),
        Found::SynByTimer => (true, "SYN by a timeout".to_owned()),
        Found::SynAsAnswer => (false, "SYN-ACK for a repeated SYN".to_owned()),
    };
    if is_timeout == TIMEOUTS.contains(&rtype) {
        all.same += 1;
        all.syns += u64::from(!matches!(here, Found::Data(_)));
    } else {
        all.other += 1;
        println!("{name} at {stamp}: rtype {rtype}; here {words}");
    }
    Ok(())
}

/// Parses a time in seconds with six decimals, and returns microseconds.
fn micros(text: &str) -> Option<u64> {
    let (seconds, rest) = text.split_once('.')?;
    let rest = format!("{rest:0<6}");
    let seconds: u64 = seconds.parse().ok()?;
    Some(seconds * 1_000_000 + rest.get(..6)?.parse::<u64>().ok()?)
}

/// A row of tcptrace, and our corresponding count.
type Row = (&'static str, fn(&Counts) -> u64);

const ROWS: [Row; 8] = [
    ("sack pkts sent", |c| c.sacks),
    ("dsack pkts sent", |c| c.dsacks),
    ("rexmt data pkts", |c| c.retransmitted_packets),
    ("rexmt data bytes", |c| c.retransmitted_bytes),
    ("outoforder pkts", |c| c.out_of_order_packets),
    ("zero win adv", |c| c.zero_windows),
    ("duplicate acks", |c| c.duplicate_acks),
    ("triple dupacks", |c| c.triple_duplicate_acks),
];

fn counts(folder: &Path) -> Fallible<()> {
    let (mut same, mut other) = (0_u64, 0_u64);
    for name in names(folder, ".long")? {
        let text = std::fs::read_to_string(with(&name, ".long"))?;
        let mut found = diagnosis(&with(&name, ".dmp.gz"))?.connections;
        found.sort_by_key(|connection| connection.number);
        let short = name.file_name().unwrap_or_default().to_string_lossy();
        let parts = text.split("TCP connection ").skip(1);
        let parts = parts.filter(|part| part.contains("total packets:"));
        for (part, connection) in parts.zip(&found) {
            for (row, of) in ROWS {
                let Some(theirs) = pair(part, row) else {
                    continue;
                };
                let ours = ours(connection, row, of);
                if ours == theirs {
                    same += 1;
                } else {
                    other += 1;
                    let number = connection.number;
                    println!("{short}, connection {number}: {row} {theirs:?}; here {ours:?}");
                }
            }
        }
    }
    println!("{same} pairs of counts are the same, {other} are not");
    Ok(())
}

/// Returns our counts of both ends. Duplicate ACKs are sent by the receiver, but tcptrace counts them at the sender of
/// the acknowledged data.
fn ours(connection: &ConnectionFindings, row: &str, of: fn(&Counts) -> u64) -> [u64; 2] {
    let swapped = row.contains("dup");
    Side::BOTH.map(|side| {
        let side = if swapped { side.other() } else { side };
        of(connection.counts.of(side))
    })
}

/// Returns the numbers of both ends in a row of tcptrace's output.
fn pair(text: &str, row: &str) -> Option<[u64; 2]> {
    let key = format!("{row}:");
    let mut values = text.split(key.as_str()).skip(1).map(|rest| {
        let value = rest.split_whitespace().next()?;
        value.parse::<u64>().ok()
    });
    Some([values.next()??, values.next()??])
}
