//! Tests of `dupack shell` as a user runs it: rate, delay and loss of the path as measured by programs, and exit codes.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{self, Folder, skipped, text};

/// Large tolerance for late packets, so that these tests do not depend on the speed of the machine.
const GENEROUS: [&str; 2] = ["--tolerance", "10s"];

/// Python server that sends the number of bytes in its first argument to one client, and ends.
const SOURCE: &str = "import socket,sys
s=socket.create_server(('0.0.0.0',5001))
c,_=s.accept()
c.sendall(bytes(int(sys.argv[1])))
c.shutdown(socket.SHUT_WR)
c.recv(1)";

/// Python client that reads from the source to the end of the stream, and prints the number of bytes and the time since
/// the handshake.
const SINK: &str = "import socket,time
c=socket.create_connection(('server',5001))
begun=time.monotonic()
n=0
while True:
    d=c.recv(65536)
    if not d: break
    n+=len(d)
print(n,time.monotonic()-begun)";

/// Python server that accepts one connection after the other.
const ACCEPTOR: &str = "import socket
s=socket.create_server(('0.0.0.0',5001))
while True: s.accept()";

/// Python client that measures five handshakes, and prints the shortest duration.
const HANDSHAKES: &str = "import socket,time
def once():
    begun=time.monotonic()
    socket.create_connection(('10.98.32.1',5001)).close()
    return time.monotonic()-begun
print(min(once() for _ in range(5)))";

/// Returns the command with these arguments.
pub fn shell(args: &[&str]) -> Command {
    let mut command = common::dupack(&["shell"]);
    command.args(args);
    command
}

/// Runs a shell with a server and a command in Python, each written to a file.
fn python(folder: &Path, flags: &str, [server, client]: [&str; 2], server_args: &str) -> Output {
    for (name, program) in [("server.py", server), ("client.py", client)] {
        fs::write(folder.join(name), program).unwrap();
    }
    let server = format!("exec python3 server.py {server_args}");
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let mut command = shell(&flags);
    command
        .args(GENEROUS)
        .args(["--server", &server, "--", "python3", "client.py"]);
    command.current_dir(folder).output().unwrap()
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        let _ = writeln!(std::io::stderr(), "\n*** SKIPPED: python3 is missing");
    }
    found
}

/// Returns the numbers in the line of the report that begins with `begin`: first for packets to the command, then for
/// packets from the command.
fn row(report: &str, begin: &str) -> Vec<f64> {
    let line = report
        .lines()
        .find(|line| line.trim_start().starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("{begin} in {report}"));
    let rest = &line.trim_start()[begin.len()..];
    let words = rest.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn downloads_have_the_rate_of_the_link() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("shell-rate");
    let flags = "--rate 8Mbit/s --delay 5ms --buffer 100pkt";
    let output = python(folder.path(), flags, [SOURCE, SINK], "2000000");
    if skipped(&output) {
        return;
    }
    let report = common::errors(&output);
    assert!(output.status.success(), "{report}");
    let said = text(&output.stdout);
    let (bytes, seconds) = said.trim().split_once(' ').expect("two numbers");
    assert_eq!(bytes, "2000000");
    // A packet has 1500 bytes on the wire, of which 1448 are payload.
    let link = 8.0 * 1448.0 / 1500.0;
    let goodput = 16.0 / seconds.parse::<f64>().unwrap();
    assert!(
        (goodput / link - 1.0).abs() < 0.05,
        "{goodput} of {link} Mbit/s; {report}"
    );
    let told = row(&report, "goodput, Mbit/s");
    assert!((told[0] / link - 1.0).abs() < 0.05, "{report}");
    assert_eq!(row(&report, "payload, MB"), [2.0, 0.0], "{report}");
    let waits = row(&report, "max");
    assert!(waits[0] > 10.0 && waits[0] < 160.0, "{report}");
}

#[test]
fn round_trips_take_the_delays_of_both_directions() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("shell-delay");
    let output = python(folder.path(), "--delay 40ms", [ACCEPTOR, HANDSHAKES], "");
    if skipped(&output) {
        return;
    }
    let report = common::errors(&output);
    let seconds: f64 = text(&output.stdout).trim().parse().expect(&report);
    assert!((0.080..0.090).contains(&seconds), "{seconds}; {report}");
    assert_eq!(row(&report, "propagation delay, ms"), [40.0, 40.0]);
}

#[test]
fn losses_occur_where_they_are_set_and_are_reported_by_cause() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("shell-loss");
    for (direction, lossy) in [("", 0), ("--upload", 1)] {
        let flags = format!("--rate 50Mbit/s --delay 1ms --loss 5% --seed 3 {direction}");
        let output = python(folder.path(), &flags, [SOURCE, SINK], "1500000");
        if skipped(&output) {
            return;
        }
        let report = common::errors(&output);
        assert!(text(&output.stdout).starts_with("1500000 "), "{report}");
        let line = report.lines().find(|line| line.starts_with("lost: random"));
        let counts = line.expect("a line").replace(['(', ')', '%'], "");
        let counts = row(&counts, "lost: random");
        let (lost, share, none) = (
            counts[2 * lossy],
            counts[2 * lossy + 1],
            counts[2 - 2 * lossy],
        );
        assert!(lost > 0.0 && none == 0.0, "{report}");
        // The share refers to about a thousand data packets, or to their ACKs.
        assert!((1.0..12.0).contains(&share), "{report}");
    }
}

#[test]
fn every_cause_of_loss_has_its_line() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("shell-causes");
    let base = "[path]\nrate = \"8Mbit/s\"\ndelay = \"5ms\"\n";
    let policer = "queue = \"policer\"\ntoken_bucket = { rate = \"4Mbit/s\", burst = \"20kB\" }";
    for (path, cause) in [
        ("buffer = \"5pkt\"", "lost: queue"),
        ("buffer = \"500pkt\"\nqueue = \"codel\"", "lost: queue"),
        (policer, "lost: policer"),
        ("drop = [\"0s..6s\"]\nbuffer = \"9999pkt\"", "lost: outage"),
    ] {
        fs::write(folder.path().join("path.toml"), format!("{base}{path}\n")).unwrap();
        let flags = "--path path.toml";
        let output = python(folder.path(), flags, [SOURCE, SINK], "1500000");
        if skipped(&output) {
            return;
        }
        let report = common::errors(&output);
        assert!(text(&output.stdout).starts_with("1500000 "), "{report}");
        for told in [
            "lost: queue",
            "lost: policer",
            "lost: random",
            "lost: outage",
        ] {
            let lost = row(&report, told)[0];
            assert_eq!(lost > 0.0, told == cause, "{told} of {path}: {report}");
        }
    }
}

#[test]
fn a_recorded_trace_is_followed() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("shell-trace");
    // The link sends a packet of 1500 bytes every 2 ms: 6 Mbit/s.
    fs::write(folder.path().join("down"), "2\n4\n6\n8\n").unwrap();
    let flags = "--trace down --delay 5ms --buffer 300pkt";
    let output = python(folder.path(), flags, [SOURCE, SINK], "1500000");
    if skipped(&output) {
        return;
    }
    let report = common::errors(&output);
    let told = row(&report, "goodput, Mbit/s")[0];
    let link = 6.0 * 1448.0 / 1500.0;
    assert!((told / link - 1.0).abs() < 0.05, "{report}");
    assert!(
        report.contains("path to the command: down, 5ms one way, buffer 300pkt"),
        "{report}"
    );
}

#[test]
fn closed_pipes_do_not_change_the_exit_code() {
    let mut command = shell(&["--", "sh", "-c", "sleep 1; exit 5"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // The reading end is closed before the report.
    drop(child.stderr.take());
    let code = child.wait().unwrap().code();
    if code == Some(125) {
        let output = shell(&["--", "true"]).output().unwrap();
        assert!(skipped(&output), "{output:?}");
        return;
    }
    assert_eq!(code, Some(5));
}

#[test]
fn path_files_are_applied_and_errors_point_into_them() {
    let folder = Folder::new("shell-file");
    let file = folder.path().join("lte.toml");
    let path = "[path]\nrate = \"3Mbit/s\"\ndelay = \"12ms\"\nqueue = \"fq_codel\"\n";
    fs::write(&file, path).unwrap();
    let with = |flags: &[&str]| {
        let file = file.to_str().unwrap();
        shell(&["--path", file])
            .args(flags)
            .args(["--", "true"])
            .output()
            .unwrap()
    };
    let output = with(&[]);
    if skipped(&output) {
        return;
    }
    let report = common::errors(&output);
    assert!(
        output.status.success() && report.contains("3Mbit/s, 12ms one way"),
        "{report}"
    );
    assert!(
        report.contains("fq_codel") && report.contains("No packet reached"),
        "{report}"
    );
    let report = common::errors(&with(&["--delay", "9ms"]));
    assert!(report.contains("3Mbit/s, 9ms one way"), "{report}");
    fs::write(&file, format!("{path}drop = [\"24-30\"]\n")).unwrap();
    let output = with(&[]);
    let report = common::errors(&output);
    assert_eq!(output.status.code(), Some(125), "{report}");
    assert!(report.contains("lte.toml:5"), "{report}");
}

#[test]
fn exit_codes_are_those_of_the_command_or_distinct() {
    let code = |args: &[&str]| shell(args).output().unwrap();
    let output = code(&["--", "sh", "-c", "exit 7"]);
    if skipped(&output) {
        return;
    }
    assert_eq!(output.status.code(), Some(7));
    for (expected, args) in [
        (128 + 9, &["--", "sh", "-c", "kill -9 $$"][..]),
        (127, &["--", "no-such-program"]),
        (126, &["--", "/etc/hosts"]),
        (125, &["--seed", "x", "--", "true"]),
        (125, &["--path", "no-such-file", "--", "true"]),
        (125, &["--senders", "kernel:nosuchcontrol", "--", "true"]),
        (125, &["--server", "exit 3", "--", "true"]),
        (125, &["--join", "no-such-shell", "--", "true"]),
    ] {
        let output = code(args);
        let errors = common::errors(&output);
        assert_eq!(output.status.code(), Some(expected), "{args:?}: {errors}");
        assert!(!errors.is_empty(), "{args:?}");
    }
}

#[test]
fn the_congestion_control_applies_to_every_connection() {
    let read = "cat /proc/sys/net/ipv4/tcp_congestion_control";
    let server = format!("{read} >&2; exec python3 -m http.server 2>/dev/null");
    let args = [
        "--senders",
        "kernel:reno",
        "--server",
        &server,
        "--",
        "sh",
        "-c",
        read,
    ];
    let output = shell(&args).output().unwrap();
    if skipped(&output) || !has_python() {
        return;
    }
    let errors = common::errors(&output);
    assert_eq!(text(&output.stdout), "reno\n", "{errors}");
    assert!(errors.starts_with("reno\n"), "{errors}");
}

#[test]
fn captures_are_written_at_both_ends() {
    let folder = Folder::new("shell-pcap");
    let args = [
        "--pcap",
        "captures",
        "--server",
        "exec python3 -m http.server 8000 2>/dev/null",
        "--",
    ];
    let fetch = "import urllib.request as u; u.urlopen('http://server:8000/').read()";
    let mut command = shell(&args);
    command
        .args(["python3", "-c", fetch])
        .current_dir(folder.path());
    let output = command.output().unwrap();
    if skipped(&output) || !has_python() {
        return;
    }
    let report = common::errors(&output);
    assert!(output.status.success(), "{report}");
    for name in ["client", "server"] {
        let file = folder.path().join(format!("captures/{name}.pcapng"));
        assert!(fs::metadata(file).unwrap().len() > 500, "{report}");
        assert!(report.contains(&format!("{name}.pcapng, ")), "{report}");
    }
}

#[test]
fn hosts_outside_are_reachable_through_the_far_end() {
    if !has_python() {
        return;
    }
    let folder = Folder::new("shell-forward");
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let answer = std::thread::spawn(move || {
        let (mut stream, _) = outside.accept()?;
        stream.write_all(b"from outside")
    });
    let ask = format!(
        "import socket,time\nbegun=time.monotonic()\nc=socket.create_connection(('server',{port}))\n\
         print(c.recv(99).decode(), time.monotonic()-begun > 0.060)"
    );
    fs::write(folder.path().join("ask.py"), ask).unwrap();
    let forward = format!("localhost:{port}");
    let mut command = shell(&[
        "--delay",
        "15ms",
        "--forward",
        &forward,
        "--",
        "timeout",
        "20",
        "python3",
        "ask.py",
    ]);
    let output = command.current_dir(folder.path()).output().unwrap();
    if skipped(&output) {
        return;
    }
    assert_eq!(
        text(&output.stdout),
        "from outside True\n",
        "{}",
        common::errors(&output)
    );
    answer.join().unwrap().unwrap();
}

#[test]
fn the_command_gets_only_the_files_of_its_caller() {
    let list = ["sh", "-c", "ls /proc/self/fd | wc -l"];
    let output = shell(&["--"]).args(list).output().unwrap();
    if skipped(&output) {
        return;
    }
    let without = Command::new(list[0]).args(&list[1..]).output().unwrap();
    assert_eq!(text(&output.stdout), text(&without.stdout));
}

#[test]
fn ordinary_users_have_a_shell_and_keep_their_identity() {
    const NOBODY: &str = "65534";
    let is_root = Command::new("id").arg("-u").output().unwrap();
    if text(&is_root.stdout) != "0\n" || !has_python() {
        // Without root, every other test already runs as an ordinary user.
        return;
    }
    // Other users may not have access to the program's folder.
    let folder = Folder::new("shell-user");
    let program = folder.path().join("dupack");
    fs::copy(env!("CARGO_BIN_EXE_dupack"), &program).unwrap();
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let server = "exec python3 -m http.server 80 2>/dev/null";
    let fetch = "import urllib.request as u; u.urlopen('http://server/').read()";
    let script = format!("id -u; python3 -c \"{fetch}\" && echo fetched");
    let mut command = Command::new("setpriv");
    command.args(ids).arg("--clear-groups").arg(&program);
    command.args(["shell", "--server", server, "--", "sh", "-c", &script]);
    let output = command.current_dir(folder.path()).output().unwrap();
    if skipped(&output) {
        return;
    }
    let errors = common::errors(&output);
    assert_eq!(
        text(&output.stdout),
        format!("{NOBODY}\nfetched\n"),
        "{errors}"
    );
}
