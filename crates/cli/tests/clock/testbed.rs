//! Tests of `dupack testbed` as a user runs it: a small run, invalid flags, and the state after a signal ends a run.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::analysers;
use crate::analysers::Data;
use crate::common;
use crate::common::{Folder, comes_true, skipped, text};
use crate::leftovers::{Namespaces, devices};

/// Large tolerance for late packets, in tests that must not depend on the speed of the machine.
const GENEROUS: &str = "10s";

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = common::dupack(&["testbed"]);
    command.args(args).current_dir(folder);
    command
}

/// Maximum number of attempts per run. Runs are repeated because packets may be late on a busy machine.
const ATTEMPTS: usize = 4;

/// Runs the command, with `out` as its folder, until all of its runs are valid.
fn trusted(folder: &Path, args: &[&str]) -> Output {
    let mut left = ATTEMPTS;
    loop {
        let output = command(folder, args).output().unwrap();
        left -= 1;
        if left == 0 || !text(&output.stderr).contains("did not keep up") {
            return output;
        }
        let _ = fs::remove_dir_all(folder.join("out"));
    }
}

#[test]
fn small_runs_give_a_table_a_report_and_the_simulator_beside_it() {
    let folder = Folder::new("small");
    let args = [
        "--loss",
        "0,2%",
        "--senders",
        "sack/reno,le/westwood,kernel:cubic",
        "--bytes",
        "1MB",
        "--repeat",
        "1",
        "--simulate",
        "--tolerance",
        GENEROUS,
        "--out",
        "out",
    ];
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for part in [
        "no ★: one run per stack shows no random variation",
        "kernel:cubic",
        "difference",
        "in the worst run",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
    let made = folder.path().join("out");
    for file in [
        "report.html",
        "runs.csv",
        "summary.csv",
        "results.json",
        "figures/goodput_mbit_s.svg",
    ] {
        assert!(made.join(file).is_file(), "{file}");
    }
    let path = fs::read_to_string(made.join("path.csv")).unwrap();
    let lines: Vec<&str> = path.lines().skip(1).collect();
    assert_eq!(lines.len(), 6, "{path}");
    for line in lines {
        assert!(line.contains(",1000000,whole,"), "{line}");
    }
    let runs = fs::read_to_string(made.join("runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), 7, "{runs}");
}

#[test]
fn the_receive_window_limits_the_goodput() {
    let folder = Folder::new("window");
    let args = "--loss 0 --senders sack/reno,kernel:reno --bytes 600kB --repeat 1 --receive-window 10000B --out out";
    let mut args: Vec<&str> = args.split(' ').collect();
    args.extend(["--tolerance", GENEROUS]);
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let goodputs = column(folder.path(), "goodput_mbit_s");
    assert_eq!(goodputs.len(), 2, "{goodputs:?}");
    // The receive window permits 10 kB per round trip. A round trip takes 20 ms, or longer on a busy machine.
    let most = 10_000.0 * 8.0 / 0.020 / 1e6;
    for goodput in &goodputs {
        assert!(*goodput < most && *goodput > most / 8.0, "{goodputs:?}");
    }
}

#[test]
fn an_application_pauses() {
    let folder = Folder::new("pauses");
    let args = "--loss 0 --senders sack/reno,kernel:reno --bytes 110kB --write 20kB --pause 100ms --repeat 1 --out out";
    let mut args: Vec<&str> = args.split(' ').collect();
    args.extend(["--tolerance", GENEROUS]);
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    // There are six writes with five pauses between them. The last write has 10 kB.
    let goodputs = column(folder.path(), "goodput_mbit_s");
    let most = 110_000.0 * 8.0 / 0.5 / 1e6;
    assert_eq!(goodputs.len(), 2, "{goodputs:?}");
    assert!(
        goodputs
            .iter()
            .all(|goodput| *goodput < most && *goodput > most / 8.0),
        "{goodputs:?}"
    );
}

#[test]
fn policers_drop_packets_above_the_rate() {
    let folder = Folder::new("policer");
    let args = "--rate 20Mbit/s --policer 2Mbit/s --burst 20kB --loss 0 --senders kernel:reno --bytes 400kB --repeat 1 \
                --out out";
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.extend(["--tolerance", GENEROUS]);
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let goodput = column(folder.path(), "goodput_mbit_s")[0];
    // The initial tokens of the policer add to the rate.
    assert!(goodput < 2.2 && goodput > 2.0 / 8.0, "{goodput}");
    assert!(column(folder.path(), "retransmissions")[0] > 0.0);
}

/// Returns the values of a measure in all runs, from the report in `out`.
fn column(folder: &Path, measure: &str) -> Vec<f64> {
    let runs = fs::read_to_string(folder.join("out/runs.csv")).unwrap();
    let mut lines = runs.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let place = header.iter().position(|name| *name == measure).unwrap();
    lines.map(|line| line[place].parse().unwrap()).collect()
}

#[test]
fn a_recorded_trace_and_reordering() {
    let folder = Folder::new("trace");
    // The link sends 1500 bytes every 2 ms: 6 Mbit/s.
    fs::write(folder.path().join("link.down"), "2\n4\n6\n8\n10\n").unwrap();
    let args = "--trace link.down --reorder 5% --reorder-delay 10ms --loss 0 --buffer 1000pkt --senders sack/reno \
                --bytes 600kB --repeat 1 --simulate --out out";
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.extend(["--tolerance", GENEROUS]);
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let goodput = column(folder.path(), "goodput_mbit_s")[0];
    assert!(goodput < 6.0 && goodput > 6.0 / 8.0, "{goodput}");
    // Five packets overtake the delayed packet. The sender considers the delayed packet lost, although no packet is
    // lost.
    assert_eq!(column(folder.path(), "queue_drops"), [0.0]);
    assert_eq!(column(folder.path(), "link_losses"), [0.0]);
    let resent = column(folder.path(), "retransmissions")[0];
    assert!(resent > 0.0, "{resent}");
    let parameters = fs::read_to_string(folder.path().join("out/parameters.csv")).unwrap();
    assert!(parameters.contains("reorder,5% by 10ms"), "{parameters}");
    assert!(text(&output.stdout).contains("difference"));
}

#[test]
fn failed_runs_do_not_affect_completed_ones() {
    let folder = Folder::new("failed");
    let args = "--rate 2Mbit/s --loss 0 --senders kernel:reno,sack/reno --bytes 100kB --repeat 5 \
                --pcap captures --out out";
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.extend(["--tolerance", GENEROUS]);
    let mut child = command(folder.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The folder must be empty when the command starts. The last run begins seconds later and finds a conflicting file.
    let captures = folder.path().join("captures");
    comes_true(|| captures.is_dir() || child.try_wait().unwrap().is_some());
    let taken = "sack-reno_loss-0_5.sender.pcapng";
    let in_the_way = fs::write(captures.join(taken), "");
    let output = child.wait_with_output().unwrap();
    if skipped(&output) {
        return;
    }
    in_the_way.unwrap();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for part in [taken, "sack/reno, repetition 5", "1 of 10 runs failed"] {
        assert!(errors.contains(part), "{part} in {errors}");
    }
    assert_eq!(column(folder.path(), "goodput_mbit_s").len(), 9);
    assert!(text(&output.stdout).contains("The answer and its cost"));
    let report = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(report.contains(taken) && report.contains("1 of 10 runs are missing"));
}

#[test]
fn without_trustworthy_runs_there_is_no_answer() {
    let folder = Folder::new("doubted");
    let args =
        "--loss 0,1% --senders sack/reno,le/reno --bytes 30kB --repeat 1 --tolerance 1ns --out out";
    let args: Vec<&str> = args.split(' ').collect();
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    let (table, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(table.contains("There is no answer") && errors.contains("There is no answer"));
    let report = fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(report.contains("There is no answer"));
    for text in [table, report] {
        assert!(text.contains("†") && !text.contains("★"), "{text}");
    }
}

#[test]
fn captures_and_ipv6() {
    let folder = Folder::new("captures");
    let args = [
        "--loss",
        "2%",
        "--senders",
        "le(cause=timestamp)/westwood,kernel:reno",
        "--family",
        "ipv6",
        "--bytes",
        "300kB",
        "--repeat",
        "1",
        "--tolerance",
        GENEROUS,
        "--pcap",
        "captures",
    ];
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("captures: captures"));
    let parameters = folder.path().join("dupack-out/testbed/parameters.csv");
    let parameters = fs::read_to_string(parameters).unwrap();
    assert!(parameters.contains("family,IPv6"), "{parameters}");
    let captures = folder.path().join("captures");
    let mut names: Vec<String> = fs::read_dir(&captures)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = ["kernel-reno", "le-cause-timestamp-westwood"]
        .map(|sender| ["receiver", "sender"].map(|end| format!("{sender}_loss-2_1.{end}.pcapng")));
    assert_eq!(names, expected.concat());
    for name in names {
        let file = captures.join(&name);
        analysers::find_no_fault(&file, Data::Verified);
        if let Some(rows) = analysers::tshark(&file, &["ip.version"]) {
            assert!(rows.iter().all(|row| row[0] == "6"), "{name}");
        }
        if let Some(connections) = analysers::tcptrace(&file) {
            assert_eq!(connections[0]["unique bytes sent"].0, "300000", "{name}");
        }
    }

    // Existing files are not overwritten, and the failed attempt leaves no files.
    let again = command(folder.path(), &args).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--pcap"));
    assert!(!folder.path().join("dupack-out/testbed-2").exists());
}

#[test]
fn impossible_runs_are_errors_without_a_folder() {
    let folder = Folder::new("wrong");
    for (args, part) in [
        (vec!["--senders", "sack/nonsense"], "nonsense"),
        (vec!["--senders", "kernel:"], "not a name of a congestion"),
        (vec!["--senders", "kernel:nosuch"], "does not provide"),
        (vec!["--senders", "sack/reno,sack/reno"], "twice"),
        (vec!["--bytes", "0"], "0 bytes"),
        (vec!["--rate", "0bit/s"], "rate"),
        (vec!["--loss", "0,1"], "could be a fraction"),
        (vec!["--tolerance", "0s"], "tolerance of 0"),
        (vec!["--trace", "none.down"], "cannot read the trace"),
        (
            vec!["--trace", "none.down", "--rate", "1Mbit/s"],
            "cannot be used with",
        ),
        (vec!["--reorder-delay", "5ms"], "--reorder"),
        (vec!["--write", "30kB"], "--pause"),
        (vec!["--write", "0B", "--pause", "1s"], "at least 1 byte"),
        (vec!["--policer", "1Mbit/s"], "--burst"),
        (
            vec!["--reorder", "1%", "--reorder-delay", "0ms"],
            "nonzero time",
        ),
    ] {
        let output = trusted(folder.path(), &args);
        if skipped(&output) {
            return;
        }
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let errors = text(&output.stderr);
        assert!(errors.contains(part), "{args:?}: {errors}");
        assert!(!folder.path().join("dupack-out").exists(), "{args:?}");
    }
}

/// Begins an endless run and waits for its two namespaces. Returns `None` if namespaces are impossible.
fn begin(folder: &Path) -> Option<(Child, Namespaces)> {
    let args = ["--loss", "0", "--senders", "kernel:cubic", "--bytes", "1GB"];
    let mut child = command(folder, &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut found = Namespaces::of(child.id());
    let has_come = comes_true(|| {
        found = Namespaces::of(child.id());
        found.numbers().len() == 2 || child.try_wait().unwrap().is_some()
    });
    if child.try_wait().unwrap().is_some() {
        let output = child.wait_with_output().unwrap();
        assert!(skipped(&output), "{}", text(&output.stderr));
        return None;
    }
    if !has_come {
        child.kill().unwrap();
        panic!("it makes no namespaces");
    }
    assert!(found.are_in_use());
    // The transfer is running at this time.
    sleep(Duration::from_millis(300));
    Some((child, found))
}

#[test]
fn killed_runs_leave_no_remains() {
    let folder = Folder::new("killed");
    let before = devices();
    let Some((mut child, namespaces)) = begin(folder.path()) else {
        return;
    };
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert!(comes_true(|| !namespaces.are_in_use()));
    assert_eq!(devices(), before);
}

#[test]
fn interrupted_runs_print_a_message_and_leave_no_remains() {
    let folder = Folder::new("interrupted");
    let before = devices();
    let Some((child, namespaces)) = begin(folder.path()) else {
        return;
    };
    common::interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("nothing to show"));
    assert!(!folder.path().join("dupack-out").exists());
    assert!(comes_true(|| !namespaces.are_in_use()));
    assert_eq!(devices(), before);
}

#[test]
fn senders_together_share_by_their_round_trips() {
    let folder = Folder::new("together");
    let args = [
        "--together",
        "--rate",
        "8Mbit/s",
        "--delay",
        "5ms",
        "--buffer",
        "30pkt",
        "--loss",
        "0",
        "--senders",
        "rack/reno,rack/reno@200ms",
        "--repeat",
        "1",
        "--duration",
        "6s",
        "--probe",
        "--tolerance",
        "200ms",
        "--out",
        "out",
    ];
    let output = trusted(folder.path(), &args);
    if skipped(&output) {
        return;
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(
        table.contains("rack/reno +200ms") && table.contains("Latency under load"),
        "{table}"
    );
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let together = read("together.csv");
    let rows: Vec<Vec<String>> = { together.lines().skip(1) }
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    let goodput = |row: usize| rows[row][4].parse::<f64>().unwrap();
    // The first of two Reno flows gets more, because the other one has twenty times its round-trip time.
    assert!(
        goodput(0) > 2.0 * goodput(1) && goodput(1) > 0.0,
        "{rows:?}"
    );
    let latency = read("latency.csv");
    let seen: Vec<f64> = { latency.lines().nth(1).unwrap().split(',').skip(2) }
        .map(|cell| cell.parse().unwrap())
        .collect();
    // The round-trip time is 10 ms without a queue. A queue of 30 packets of 1500 bytes adds 45 ms.
    assert!(seen[0] >= 9.9 && seen[1] > seen[0], "{latency}");
}
