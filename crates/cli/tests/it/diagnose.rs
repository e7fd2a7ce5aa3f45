//! Tests of `dupack diagnose` on captures of `dupack trace`, and on files that are not captures.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::common::{Folder, dupack, errors, text};
use dupack_packet::captured::CaptureReader;
use serde_json::Value;

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = dupack(args);
    command.current_dir(folder).env("COLUMNS", "80");
    command.output().unwrap()
}

fn succeeds(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", errors(&output));
    text(&output.stdout)
}

/// Returns the error of a command that must fail: it prints nothing to standard output and has the exit code 2. Line
/// breaks in the error are removed because they are arbitrary.
fn fails(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    let plain = errors(&output).replace(['│', '×', '╰', '─', '▶'], " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a capture of a flow that loses packets 24 to 30, and the first two transmissions of packet 200.
fn capture(folder: &Path) -> PathBuf {
    let drops = ["--drop", "24-30", "--drop", "200", "--drop", "200#2"];
    let mut args = vec!["trace", "sack/reno", "--dialect", "rfc", "--out", "traced"];
    args.extend(drops);
    let output = dupack(&args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    folder.join("traced/flow.pcapng")
}

const FILE: &str = "traced/flow.pcapng";

#[test]
fn a_lossy_transfer_fits_one_screen_of_any_width() {
    let folder = Folder::new("told");
    capture(folder.path());
    let told = succeeds(folder.path(), &["diagnose", "--no-what-if", FILE]);
    for part in [
        "retransmitted",
        "seen from",
        "sender",
        "#1 ",
        "Mbit/s",
        " TCP",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(told.lines().count() <= 30, "{told}");
    // The shares sum to 100 %.
    let percent = |line: &str| -> Option<u32> {
        let (before, after) = line.split_once(" %  ")?;
        after.trim_start().split_once(' ')?;
        before.rsplit([' ', '▇']).next()?.parse().ok()
    };
    let shares: Vec<u32> = told.lines().filter_map(percent).collect();
    assert!(shares.len() >= 2, "{told}");
    assert_eq!(shares.iter().sum::<u32>(), 100, "{told}");
    for width in ["40", "60", "80", "100", "120"] {
        let mut command = dupack(&["diagnose", "--no-what-if", FILE]);
        let command = command.current_dir(folder.path()).env("COLUMNS", width);
        let told = text(&command.output().unwrap().stdout);
        let most: usize = width.parse().unwrap();
        let long = told.lines().find(|line| line.chars().count() > most);
        assert_eq!(long, None, "{width}: {told}");
        assert!(!told.contains('\u{1b}'), "no colours in a pipe");
    }
}

#[test]
fn standard_input_is_read_like_a_file() {
    let folder = Folder::new("stdin");
    let file = capture(folder.path());
    let from_file = succeeds(folder.path(), &["diagnose", "--no-what-if", FILE]);
    let mut command = dupack(&["diagnose", "--no-what-if", "-"]);
    let command = command.env("COLUMNS", "80");
    let output = command
        .stdin(Stdio::from(File::open(&file).unwrap()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(text(&output.stdout), from_file);
    // A report on standard input has no figures, because the input cannot be read twice.
    let mut command = dupack(&["diagnose", "--no-what-if", "-", "--out", "report"]);
    let command = command.current_dir(folder.path());
    let output = command
        .stdin(Stdio::from(File::open(&file).unwrap()))
        .output()
        .unwrap();
    assert!(errors(&output).contains("cannot be read twice"));
    let page = fs::read_to_string(folder.path().join("report/report.html")).unwrap();
    assert!(!page.contains("<svg"), "no figure");
    let refused = fails(
        folder.path(),
        &["diagnose", "--no-what-if", "-", "--annotate", "x.pcapng"],
    );
    assert!(refused.contains("standard input can be read only once"));
}

#[test]
fn numbers_for_programs_describe_the_sender() {
    let folder = Folder::new("json");
    capture(folder.path());
    let json = succeeds(
        folder.path(),
        &["diagnose", "--no-what-if", FILE, "--format", "json"],
    );
    let all: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(all["connections_all"], 1);
    assert_eq!(all["complete"], true);
    let stream = &all["connections"][0]["streams"][0];
    let limits = stream["limits_s"].as_object().unwrap();
    let sum: f64 = limits.values().filter_map(Value::as_f64).sum();
    let duration = stream["duration_s"].as_f64().unwrap();
    assert!((sum - duration).abs() < 1e-6, "{sum} of {duration}");
    // Packets 24 to 30 were lost once, and packet 200 was lost twice. These losses cause nine retransmissions, in
    // addition to those of a timeout.
    let again = stream["sent_again"]["segments"].as_u64().unwrap();
    assert!((9..40).contains(&again), "{again}");
    let lost_again = stream["sent_again"]["lost_again"].as_u64().unwrap();
    assert_eq!(lost_again, 1, "{stream}");
    assert_eq!(stream["seen_from"]["place"], "sender");
    let csv = succeeds(
        folder.path(),
        &["diagnose", "--no-what-if", FILE, "--format", "csv"],
    );
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("connection,sent_by,"));
    assert!(lines.next().unwrap().starts_with("1,opener,"));
}

#[test]
fn reports_have_figures_and_tables_and_overwrite_nothing() {
    let folder = Folder::new("report");
    capture(folder.path());
    let args = ["diagnose", "--no-what-if", FILE, "--out", "report"];
    succeeds(folder.path(), &args);
    let out = folder.path().join("report");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for part in ["<svg", "limited by", "All connections", "flow.pcapng"] {
        assert!(page.contains(part), "{part}");
    }
    for file in [
        "connections.csv",
        "groups.csv",
        "limits.csv",
        "stalls.csv",
        "retransmissions.csv",
        "diagnosis.json",
        "figures/connection-1.svg",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let again = fails(folder.path(), &args);
    assert!(again.contains("it is not empty"), "{again}");
}

#[test]
fn comments_describe_each_packet_and_the_copy_has_the_same_findings() {
    let folder = Folder::new("annotate");
    capture(folder.path());
    let args = [
        "diagnose",
        "--no-what-if",
        FILE,
        "--annotate",
        "copy.pcapng",
    ];
    let told = succeeds(folder.path(), &args);
    let copy = fs::read(folder.path().join("copy.pcapng")).unwrap();
    for comment in [
        "retransmission: ",
        "triggered by #",
        "lost: retransmitted as #",
        "triggers the retransmission #",
        "duplicate ACK 1",
    ] {
        let has = copy
            .windows(comment.len())
            .any(|part| part == comment.as_bytes());
        assert!(has, "{comment}");
    }
    assert_eq!(
        succeeds(folder.path(), &["diagnose", "--no-what-if", "copy.pcapng"]),
        told
    );
    let again = fails(folder.path(), &args);
    assert!(again.contains("not overwritten"), "{again}");
}

#[test]
fn one_flow_is_selected_and_a_missing_one_is_an_error() {
    let folder = Folder::new("flow");
    capture(folder.path());
    let all = succeeds(folder.path(), &["diagnose", "--no-what-if", FILE]);
    let one = succeeds(
        folder.path(),
        &["diagnose", "--no-what-if", FILE, "--flow", "1"],
    );
    assert_eq!(all, one);
    for flow in ["2", "192.0.2.99", ":1"] {
        let said = fails(
            folder.path(),
            &["diagnose", "--no-what-if", FILE, "--flow", flow],
        );
        assert!(said.contains("matches --flow"), "{said}");
        assert!(said.contains("it has 1 connection"), "{said}");
    }
    let said = fails(
        folder.path(),
        &["diagnose", "--no-what-if", FILE, "--flow", "nonsense"],
    );
    assert!(
        said.contains("expected the number of a connection"),
        "{said}"
    );
}

/// Header of a pcap file of raw IP packets.
const PCAP: [u8; 24] = [
    0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0,
];

/// Returns a UDP datagram without data, as a record of a pcap file.
fn datagram() -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 53, 0, 8, 0, 0]);
    let len = packet.len() as u8;
    let mut record = vec![1, 0, 0, 0, 0, 0, 0, 0, len, 0, 0, 0, len, 0, 0, 0];
    record.extend(packet);
    record
}

#[test]
fn unreadable_files_are_errors_without_remains() {
    let folder = Folder::new("errors");
    let file = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    file("empty", &[]);
    file("text", b"GET / HTTP/1.1\r\n\r\n and so on, for a while");
    file("headers", &PCAP);
    file("udp", &[&PCAP[..], &datagram()].concat());
    for (name, wanted) in [
        ("missing", "cannot open missing"),
        ("empty", "the capture is empty"),
        ("text", "not a capture"),
        ("headers", "headers has no TCP packets"),
        ("headers", "it has no packets"),
        ("udp", "udp has no TCP packets"),
        ("udp", "1 UDP"),
        (".", "cannot"),
    ] {
        let args = [
            "diagnose",
            "--no-what-if",
            name,
            "--out",
            "out",
            "--annotate",
            "copy",
        ];
        let said = fails(folder.path(), &args);
        assert!(said.contains(wanted), "{name}: {wanted}: {said}");
        for left in ["out", "copy"] {
            assert!(!folder.path().join(left).exists(), "{name}: {left}");
        }
    }
}

#[test]
fn captures_that_end_too_early_are_diagnosed_as_far_as_possible() {
    let folder = Folder::new("cut");
    let whole = fs::read(capture(folder.path())).unwrap();
    fs::write(folder.path().join("cut"), &whole[..whole.len() / 2 + 3]).unwrap();
    let output = run(folder.path(), &["diagnose", "--no-what-if", "cut"]);
    assert!(output.status.success());
    assert!(errors(&output).contains("note: "), "{}", errors(&output));
    assert!(text(&output.stdout).contains("retransmitted"));
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_c_keeps_all_data_from_standard_input() {
    use std::io::Write as _;

    let folder = Folder::new("piped");
    let whole = fs::read(capture(folder.path())).unwrap();
    let mut child = dupack(&["diagnose", "--no-what-if", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&whole).unwrap();
    input.flush().unwrap();
    // The command reads the input while it arrives. When the user interrupts, the data so far is kept, even if the pipe
    // stays open.
    let status = format!("/proc/{}/status", child.id());
    let catches = |line: &str| u64::from_str_radix(line.trim(), 16).is_ok_and(|set| set & 2 != 0);
    let handled = || {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let mut caught = status
            .lines()
            .filter_map(|line| line.strip_prefix("SigCgt:"));
        caught.any(catches)
    };
    assert!(crate::common::comes_true(handled));
    crate::common::interrupt(&child);
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert!(output.status.success(), "{}", errors(&output));
    let last = |text: &str| text.trim_end().lines().last().map(str::to_owned);
    let file = succeeds(folder.path(), &["diagnose", "--no-what-if", FILE]);
    assert_eq!(last(&text(&output.stdout)), last(&file));
}

#[test]
fn other_senders_are_predicted_and_the_path_is_an_experiment() {
    let folder = Folder::new("asked");
    capture(folder.path());
    let args = [
        "diagnose",
        FILE,
        "--stacks",
        "rack/cubic",
        "--path",
        "path.toml",
    ];
    let told = succeeds(folder.path(), &args);
    assert!(told.contains("what if"), "{told}");
    let args = ["run", "path.toml", "--explain"];
    let explained = succeeds(folder.path(), &args);
    assert!(
        explained.contains("path.delay") || explained.contains("delay"),
        "{explained}"
    );
    let said = fails(folder.path(), &["diagnose", FILE, "--stacks", "nonsense"]);
    assert!(said.contains("--stacks"), "{said}");
}

/// Returns a record of a pcap file: a TCP segment between a client and a server, `millis` after 1970-01-01 00:00:00
/// UTC.
fn segment(millis: u32, [from, to]: [u16; 2], seq: u32, ack: u32, flags: u8, len: u16) -> Vec<u8> {
    let own = |port: u16| [10, 0, (port >> 8) as u8, port as u8];
    let mut packet = vec![0x45, 0];
    packet.extend((40 + len).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 6, 0, 0]);
    packet.extend([own(from), own(to)].concat());
    packet.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    packet.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
    packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(vec![0; len.into()]);
    let size = packet.len() as u32;
    let head = [millis / 1000, millis % 1000 * 1000, size, size];
    let head = head.map(u32::to_le_bytes).concat();
    [head, packet].concat()
}

/// Returns two connections of ten seconds, to the ports 80 and 443. Each connection sends a segment every 100 ms.
fn two_connections() -> Vec<u8> {
    let (syn, syn_ack, ack) = (0x02, 0x12, 0x10);
    let connections = [[1000, 80], [2000, 443]];
    let mut file = PCAP.to_vec();
    let mut each = |millis: u32, segments: [(bool, u32, u32, u8, u16); 2]| {
        for (after, (there, seq, acked, flags, len)) in (0..).zip(segments) {
            for (n, ends) in (0..).zip(connections) {
                let ends = if there { ends } else { [ends[1], ends[0]] };
                file.extend(segment(
                    millis + n + 20 * after,
                    ends,
                    seq,
                    acked,
                    flags,
                    len,
                ));
            }
        }
    };
    each(0, [(true, 0, 0, syn, 0), (false, 0, 1, syn_ack, 0)]);
    for n in 0..100 {
        let seq = 1 + n * 1000;
        each(
            100 * (n + 1),
            [(true, seq, 1, ack, 1000), (false, 1, seq + 1000, ack, 0)],
        );
    }
    file
}

#[test]
fn without_acks_there_is_no_path_and_conditions_are_unknown() {
    let folder = Folder::new("one-way");
    let folder = folder.path();
    let ends = [1000, 80];
    let mut file = PCAP.to_vec();
    file.extend(segment(0, ends, 0, 0, 0x02, 0));
    for n in 0..100 {
        file.extend(segment(100 * (n + 1), ends, 1 + n * 1000, 1, 0x10, 1000));
    }
    fs::write(folder.join("one"), file).unwrap();
    let args = ["diagnose", "--no-what-if", "one", "--path", "path.toml"];
    let output = run(folder, &args);
    assert_eq!(output.status.code(), Some(2));
    let said = errors(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.contains("--path: the path cannot be determined: the ACKs are not in this capture")
            && said.contains("a capture of both directions would provide it"),
        "{said}"
    );
    assert!(!folder.join("path.toml").exists());
    let args = ["one", "--summary", "--fail-on", "lost > 0.5s"];
    let (code, told, said) = checked(folder, &args);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        said.contains("--fail-on 'lost > 0.5s': the capture shows this value for no connection"),
        "{said}"
    );
}

/// Returns the JSON output and the notes on standard error.
fn selected(folder: &Path, args: &[&str]) -> (Value, String) {
    let args = [
        &["diagnose", "--no-what-if", "two", "--format", "json"],
        args,
    ]
    .concat();
    let output = run(folder, &args);
    assert!(output.status.success(), "{args:?}: {}", errors(&output));
    let all = serde_json::from_slice(&output.stdout).unwrap();
    (all, errors(&output))
}

#[test]
fn filters_select_one_of_two_connections() {
    let folder = Folder::new("filter");
    let folder = folder.path();
    fs::write(folder.join("two"), two_connections()).unwrap();
    let (all, notes) = selected(folder, &[]);
    assert_eq!(all["connections_all"], 2);
    assert!(!notes.contains("left out"), "{notes}");
    for filter in [
        "port 443",
        "src port 443",
        "host 10.0.7.208",
        "tcp.port == 443",
        "not port 80 or 22",
    ] {
        let (one, notes) = selected(folder, &["--filter", filter]);
        assert_eq!(one["connections_all"], 1, "{filter}");
        assert_eq!(one["left_out_packets"]["filter"], 202, "{filter}");
        assert!(
            notes.contains("--filter excludes 202 of 404 TCP packets"),
            "{notes}"
        );
        let connection = &one["connections"][0];
        assert_eq!(connection["number"], 1, "{filter}");
        assert!(
            connection.to_string().contains("10.0.1.187:443"),
            "{connection}"
        );
    }
    // The copy and the figure in the report have all packets of the selected connection.
    let args = [
        "--filter",
        "port 443",
        "--annotate",
        "copy.pcapng",
        "--out",
        "report",
    ];
    let (_, notes) = selected(folder, &args);
    assert!(notes.contains("(202 packets)"), "{notes}");
    assert!(folder.join("report/figures/connection-1.svg").is_file());

    let said = fails(
        folder,
        &["diagnose", "two", "--filter", "port 443 and hots ::1"],
    );
    assert!(
        said.contains("column 14") && said.contains("did you mean `host`?"),
        "{said}"
    );
    let said = fails(folder, &["diagnose", "two", "--filter", "port 22"]);
    assert!(
        said.contains("no packet of two is selected")
            && said.contains("--filter excludes 404 of 404"),
        "{said}"
    );
}

#[test]
fn since_and_until_select_a_part_of_a_capture() {
    let folder = Folder::new("since");
    let folder = folder.path();
    fs::write(folder.join("two"), two_connections()).unwrap();
    for args in [
        ["--since", "5s", "--until", "6.0"],
        ["--since", "00:00:05", "--until", "00:00:06"],
        [
            "--since",
            "1970-01-01T00:00:05Z",
            "--until",
            "1970-01-01T02:00:06+02:00",
        ],
    ] {
        let (cut, notes) = selected(folder, &args);
        assert_eq!(cut["connections_all"], 2, "{args:?}");
        // Each connection keeps ten segments and their ACKs.
        assert_eq!(cut["left_out_packets"]["since_until"], 404 - 40, "{args:?}");
        assert!(
            notes.contains("--since and --until exclude 364 of 404"),
            "{notes}"
        );
        let connection = &cut["connections"][0];
        assert_eq!(connection["streams"][0]["bytes"], 10_000, "{connection}");
    }
    let said = fails(folder, &["diagnose", "two", "--since", "1h"]);
    assert!(said.contains("no packet of two is selected"), "{said}");
    assert!(
        said.contains(
            "first packet was captured at 1970-01-01T00:00:00.000Z, its last at 1970-01-01T00:00:1"
        ),
        "{said}"
    );
    // The time of day is after the last packet.
    let late = fails(folder, &["diagnose", "two", "--since", "12:30:05"]);
    assert!(late.contains("no packet of two is selected"), "{late}");
    assert!(late.contains("its last at 1970-01-01T00:00:1"), "{late}");
    let of_folder = fails(folder, &["diagnose", "."]);
    assert!(
        of_folder.contains("it is a folder, not a capture"),
        "{of_folder}"
    );
    assert!(of_folder.contains("x.pcap"), "{of_folder}");
    let said = fails(
        folder,
        &["diagnose", "two", "--since", "5s", "--until", "4s"],
    );
    assert!(said.contains("--until is not after --since"), "{said}");
    let said = fails(folder, &["diagnose", "two", "--since", "noon"]);
    assert!(said.contains("2026-11-28T12:30:05Z"), "{said}");
}

/// Runs the command with `args`, and returns the exit code, the output and the notes.
fn checked(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = run(folder, &[&["diagnose"], args].concat());
    (output.status.code(), text(&output.stdout), errors(&output))
}

#[test]
fn summaries_have_one_line_per_connection_in_columns() {
    let folder = Folder::new("summary");
    let folder = folder.path();
    fs::write(folder.join("two"), two_connections()).unwrap();
    let (code, told, _) = checked(folder, &["two", "--summary"]);
    assert_eq!(code, Some(0));
    let rows: Vec<Vec<&str>> = told
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows.len(), 3, "{told}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{told}");
    let begin = [
        "connection",
        "opener",
        "answerer",
        "sent_by",
        "limit",
        "bytes",
    ];
    assert_eq!(rows[0][..6], begin);
    let column = |name: &str| {
        let place = rows[0].iter().position(|column| *column == name);
        let place = place.unwrap_or_else(|| panic!("{name}: {told}"));
        rows[1..].iter().map(|row| row[place]).collect::<Vec<_>>()
    };
    assert_eq!(column("retransmissions"), ["0", "0"]);
    // Each connection has one transfer, so there are no requests.
    assert_eq!(column("requests"), ["-", "-"]);
    assert_eq!(column("p95_s"), ["-", "-"]);
    let args = ["two", "--summary", "--format", "json"];
    let said = fails(folder, &[&["diagnose"], &args[..]].concat());
    assert!(said.contains("cannot be used with"), "{said}");
}

/// Returns the capture of the same transfer at the receiver, 5 ms from the sender. The receiver's clock is an hour
/// ahead.
fn at_the_receiver(capture: &Path) -> Vec<u8> {
    let mut reader = CaptureReader::new(File::open(capture).unwrap()).unwrap();
    let mut packets: Vec<(u64, Vec<u8>, u32)> = Vec::new();
    while let Some(captured) = reader.next_packet().unwrap() {
        let from_sender = captured.tcp().unwrap().source.port() == 50_000;
        let at = captured.at.as_unix_nanos() + 3_600_000_000_000;
        let at = if from_sender {
            at + 5_000_000
        } else {
            at - 5_000_000
        };
        packets.push((at, captured.bytes.to_vec(), captured.original_len));
    }
    packets.sort();
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 101_u32] {
        file.extend(word.to_le_bytes());
    }
    for (at, bytes, length) in packets {
        let (seconds, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
        for word in [seconds as u32, nanos as u32, bytes.len() as u32, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

#[test]
fn two_captures_of_a_transfer_are_joined_and_others_are_errors() {
    let folder = Folder::new("both");
    let folder = folder.path();
    let file = capture(folder);
    fs::write(folder.join("receiver.pcap"), at_the_receiver(&file)).unwrap();
    let args = ["diagnose", "--no-what-if", "--both", "receiver.pcap", FILE];
    let output = run(folder, &args);
    let notes = errors(&output);
    assert!(
        notes.contains(&format!("refer to {FILE}; receiver.pcap is the other")),
        "{notes}"
    );
    let screen = text(&output.stdout);
    let plain = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains("the other clock is 3600.0000 s ahead, ±5 ms"),
        "{screen}"
    );
    assert_eq!(plain.matches("none was lost").count(), 2, "{screen}");
    // The losses happened on the path after the second capture, so that capture corrects no counts.
    assert!(plain.contains("lies beyond them"), "{screen}");
    assert!(
        !plain.contains("9 spurious") && !plain.contains("one alone"),
        "{screen}"
    );
    let json = succeeds(folder, &[&args[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    let both = &json["connections"][0]["both_ends"];
    assert_eq!(
        (&both["near"], &both["spans_path"]),
        (&"opener".into(), &false.into())
    );
    assert_eq!(both["from_opener"]["sent"], both["from_opener"]["arrived"]);
    succeeds(folder, &[&args[..], &["--out", "report"]].concat());
    let page = fs::read_to_string(folder.join("report/report.html")).unwrap();
    assert!(page.contains("Two captures of the connection"), "no table");

    let said = fails(folder, &["diagnose", "--both", FILE, FILE]);
    assert!(said.contains("they are one capture"), "{said}");
    let said = fails(folder, &["diagnose", "--both", FILE, "absent.pcap"]);
    assert!(said.contains("cannot open absent.pcap"), "{said}");
    let said = fails(folder, &["diagnose", "--both", FILE, "-"]);
    assert!(said.contains("standard input"), "{said}");
    let said = fails(folder, &["diagnose", FILE, "--both", FILE, FILE]);
    assert!(said.contains("cannot be used with"), "{said}");
    assert!(fails(folder, &["diagnose"]).contains("required"));
}

#[test]
fn connections_that_meet_a_condition_fail_the_command() {
    let folder = Folder::new("conditions");
    let folder = folder.path();
    capture(folder);
    let args = |condition| ["--summary", "--fail-on", condition, FILE];
    for condition in [
        "timeouts > 100",
        "lost > 1h",
        "goodput < 1bit/s",
        "rtt > 100s",
    ] {
        let (code, _, notes) = checked(folder, &args(condition));
        assert_eq!((code, notes.as_str()), (Some(0), ""), "{condition}");
    }
    let (code, told, notes) = checked(folder, &args("retransmitted > 0.1%"));
    assert_eq!(code, Some(3), "{notes}");
    assert!(told.lines().count() == 2, "{told}");
    assert!(
        notes.starts_with("failed: connection #1 (")
            && notes.contains(") meets 'retransmitted > 0.1%': ")
            && notes.trim_end().ends_with(" %"),
        "{notes}"
    );
    // Each condition that is met is reported.
    let twice = ["--fail-on", "retransmissions > 0", "--fail-on", "rtt > 0"];
    let (code, _, notes) = checked(folder, &[&args("timeouts > 100")[..], &twice[..]].concat());
    assert_eq!((code, notes.lines().count()), (Some(3), 2), "{notes}");
    // The capture has no requests.
    let (code, _, notes) = checked(folder, &args("p95 > 1ms"));
    assert_eq!(code, Some(0));
    assert!(
        notes.contains("--fail-on 'p95 > 1ms': the capture shows this value for no connection"),
        "{notes}"
    );
    let said = fails(folder, &["diagnose", FILE, "--fail-on", "timeout > 0"]);
    assert!(
        said.contains("unknown name `timeout`: expected one of") && said.contains("goodput"),
        "{said}"
    );
    let said = fails(folder, &["diagnose", "absent.pcap", "--fail-on", "rtt > 0"]);
    assert!(said.contains("cannot open absent.pcap"), "{said}");
}

/// Checks that `value` has exactly the keys that `schema` describes.
fn described(value: &Value, schema: &Value, all: &Value, at: &str) {
    let name = schema["$ref"].as_str();
    let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
    if let Some(name) = name {
        return described(value, &all["$defs"][name], all, at);
    }
    for kinds in ["anyOf", "oneOf"] {
        if let Some(kinds) = schema[kinds].as_array() {
            let null = |kind: &&Value| kind["type"] == "null";
            let one: Vec<&Value> = kinds.iter().filter(|kind| !null(kind)).collect();
            if let ([one], false) = (one.as_slice(), value.is_null()) {
                described(value, one, all, at);
            }
            return;
        }
    }
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema["properties"].as_object() else {
                let values = &schema["additionalProperties"];
                assert!(values.is_object(), "{at}: {schema}");
                return fields.iter().for_each(|(key, value)| {
                    described(value, values, all, &format!("{at}.{key}"));
                });
            };
            let (mut one, mut other): (Vec<_>, Vec<_>) =
                (fields.keys().collect(), properties.keys().collect());
            one.sort();
            other.sort();
            assert_eq!(one, other, "{at}");
            for (key, value) in fields {
                let at = format!("{at}.{key}");
                let described_as = properties[key]["description"].as_str();
                assert!(
                    described_as.is_some_and(|text| text.ends_with(['.', ')'])),
                    "{at}"
                );
                described(value, &properties[key], all, &at);
            }
        }
        Value::Array(items) => {
            for item in items {
                described(item, &schema["items"], all, &format!("{at}[]"));
            }
        }
        _ => assert!(!schema["type"].is_null(), "{at}: {schema}"),
    }
}

#[test]
fn the_schema_describes_every_field_of_the_json() {
    let folder = Folder::new("schema");
    let folder = folder.path();
    capture(folder);
    let schema = succeeds(folder, &["schema", "diagnosis"]);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let args = ["diagnose", "--no-what-if", FILE, "--format", "json"];
    let told: Value = serde_json::from_str(&succeeds(folder, &args)).unwrap();
    described(&told, &schema, &schema, "");
    let version = told["schema_version"].as_str().unwrap();
    assert_eq!(
        schema["$id"],
        format!("urn:dupack:diagnosis:{version}").as_str()
    );
    let experiment = succeeds(folder, &["schema", "experiment"]);
    assert_eq!(experiment, succeeds(folder, &["schema"]));
}
