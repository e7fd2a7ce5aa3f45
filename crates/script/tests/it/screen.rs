//! Tests of the output for a failed script, and of failures of each kind of event.

use std::path::Path;

use dupack_script::{Failure, Options, ScriptOutcome, run};

const OPEN: &str = "\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK>
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
  +.1 < . 1:1(0) ack 1 win 65535
   +0 accept(3, ..., ...) = 4
";

fn outcome(rest: &str) -> ScriptOutcome {
    let source = format!("{OPEN}{rest}");
    run(&source, Path::new("."), &Options::default())
}

fn failure(rest: &str) -> Failure {
    match outcome(rest) {
        ScriptOutcome::Failed(failure) => failure,
        other => panic!("{rest}: {other:?}"),
    }
}

#[test]
fn a_failure_fits_a_screen() {
    let failure = failure(
        "   +0 write(4, ..., 10000) = 10000
   +0 > P. 1:10001(10000) ack 1
  +.1 < . 1:1(0) ack 1 win 65535 <nop,nop,sack 1001:4001>
   +0 > . 4001:5001(1000) ack 1 win 7 <nop,nop,sack 1:1001>
",
    );
    let screen = failure.to_string();
    assert_eq!(screen, include_str!("screen.txt"), "\n{screen}");
    assert!(screen.lines().count() <= 24);
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_script_that_cannot_be_parsed_shows_the_place() {
    let failure = failure("   +0 > X. 1:1(0)\n");
    assert_eq!(failure.mark, Some((9, 1)));
    let screen = failure.to_string();
    assert!(
        screen.contains(">    8 |    +0 > X. 1:1(0)\n       |         ^\n"),
        "{screen}"
    );
}

/// Returns the failed line on the screen and the line after it.
fn marked(screen: &str) -> (&str, &str) {
    let mut lines = screen.lines().skip_while(|line| !line.starts_with('>'));
    let pair = (lines.next(), lines.next());
    (pair.0.expect("a line"), pair.1.expect("a line below"))
}

#[test]
fn the_fault_is_visible_on_a_line_of_any_length() {
    for before in [0, 20, 52, 56, 60, 64, 68, 72, 400, 4000] {
        for after in [0, 4, 20, 400] {
            let (before, after) = (" ".repeat(before), " ".repeat(after));
            let failure = failure(&format!(
                "+0 {before}> . 1:1(0) <nop,mess 7,nop>{after} // end"
            ));
            let screen = failure.to_string();
            for line in screen.lines() {
                assert!(line.chars().count() <= 80, "{screen}");
            }
            let (line, below) = marked(&screen);
            let at = below.find('^').expect("carets");
            let found: String = line.chars().skip(at).take(4).collect();
            assert!(found.starts_with("mess"), "{screen}");
        }
    }
}

#[test]
fn a_fault_after_the_last_character_is_visible() {
    for width in 40..90 {
        let line = format!("+0 close(4) = {}0", " ".repeat(width));
        let text = format!("{line}\n+0 poll({}1", " ".repeat(width));
        let screen = failure(&text).to_string();
        for line in screen.lines() {
            assert!(line.chars().count() <= 80, "{screen}");
        }
        let (_, below) = marked(&screen);
        assert!(below.ends_with('^'), "{screen}");
    }
}

#[test]
fn long_words_are_broken_after_commas() {
    let options = vec!["nop"; 40].join(",");
    let failure = failure(&format!(
        "+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1 <{options}>"
    ));
    let screen = failure.to_string();
    assert!(screen.contains("nop,\n"), "{screen}");
    let word = "x".repeat(300);
    let other = self::failure(&format!("+0 %{{ assert 0, '{word} {word}' }}%")).to_string();
    for line in screen.lines().chain(other.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let broken = other.lines().filter(|line| line.starts_with("xx"));
    assert_eq!(broken.map(str::len).sum::<usize>(), 600, "{other}");
}

#[test]
fn control_characters_are_escaped() {
    for text in [
        "+0 > X\u{1b}[31m. 1:1(0)",
        "+0 \u{1b}[2J",
        "+0 close(\0) = 0",
        "// \u{9b}31m \u{202e}\u{7f}\u{8}\n+0 close(99) = 0",
        "+0 %{ assert 0, 'a\\nb\u{1b}' }%",
        "+0 `\u{1b}`",
    ] {
        let screen = match outcome(text) {
            ScriptOutcome::Failed(failure) => failure.to_string(),
            ScriptOutcome::Skipped(skip) => skip.to_string(),
            other => panic!("{text:?}: {other:?}"),
        };
        let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!screen.contains(raw), "{screen:?}");
        assert!(
            screen.contains("\\u{") || screen.contains("\\n"),
            "{screen:?}"
        );
    }
    // The mark is at the position at which the character is shown.
    let screen = failure("\t\u{1b}+0 > X. 1:1(0)").to_string();
    let (line, below) = marked(&screen);
    let at = below.find('^').expect("carets");
    assert!(line[at..].starts_with("\\u{1b}"), "{screen}");
    assert!(below.ends_with("^^^^^^"), "{screen}");
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let source = format!("\u{feff}{OPEN}");
    let outcome = run(&source, Path::new("."), &Options::default());
    assert_eq!(outcome, ScriptOutcome::Passed);
}

/// Each entry has an event, the line that fails (counted from the first line after the handshake), and words of the
/// message.
#[test]
fn each_kind_of_event_can_fail() {
    for (rest, line, words) in [
        ("+0 > . 1:1(0) ack 1", 1, "sent nothing"),
        (
            "+0 write(4, ..., 9) = 9\n+.1 > P. 1:10(9) ack 1",
            2,
            "a different packet",
        ),
        (
            "+0 write(4, ..., 9) = 9\n+0 > . 1:10(9) ack 1",
            2,
            "a different packet",
        ),
        (
            "+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 2",
            2,
            "a different packet",
        ),
        (
            "+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1 <nop,nop,nop,nop>",
            2,
            "a different packet",
        ),
        (
            "+0 write(4, ..., 9) = 9\n+1 write(4, ..., 9) = 9\n+0 > P. 10:19(9) ack 1",
            3,
            "a different packet",
        ),
        ("+0 close(5) = 0", 1, "close returned a different value"),
        ("+0 read(4, ..., 9) = 9", 1, "read did not return"),
        (
            "+0...0.5 read(4, ..., 9) = 9\n+.1 < P. 1:10(9) ack 1 win 9",
            1,
            "at a different time",
        ),
        (
            "+0 %{ assert tcpi_snd_cwnd == 9, tcpi_snd_cwnd }%",
            1,
            "assertion failed: 10",
        ),
        (
            "+0 %{ assert tcpi_nosuch == 9 }%",
            1,
            "tcp_info has no field tcpi_nosuch",
        ),
        (
            "+0 %{\nassert tcpi_snd_cwnd == }%",
            2,
            "expected an expression after `==`",
        ),
        ("+0 close() = 0", 1, "close takes 1 argument"),
        (
            "+0 < . 1:1(0) ack 1 win 9 <nop,nop,TS val 1 ecr 77>",
            1,
            "echoes the timestamp 77",
        ),
        (
            "+0 ioctl(4, SIOCINQ, [5]) = 0",
            1,
            "ioctl gave a different value",
        ),
    ] {
        let failure = failure(rest);
        assert_eq!(failure.line, line + 7, "{rest}: {failure}");
        assert!(
            failure.message.contains(words),
            "{rest}: {}",
            failure.message
        );
    }
}

#[test]
fn each_kind_of_event_can_pass() {
    for rest in [
        "+0 write(4, ..., 2000) = 2000\n+0 > . 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1",
        "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1 <...>",
        "+0 write(4, ..., 9) = 9\n* > P. 1:10(9) ack 1",
        "+0...0.2 read(4, ..., 9) = 9\n+.2 < P. 1:10(9) ack 1 win 9\n* > . 1:1(0) ack 10",
        "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 read(4, ..., 9) = -1 EAGAIN",
        "+0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1",
        "+0 < P. 1:10(9) ack 1 win 9\n+0 ioctl(4, SIOCINQ, [9]) = 0",
        "+0 < R. 1:1(0) ack 1 win 9\n+0 read(4, ..., 9) = -1 ECONNRESET\n+0 write(4, ..., 9) = -1 EPIPE",
        "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0\n+0 close(4) = 0\n+0 > R. 1:1(0) ack 1",
        "+0 `sysctl -q net.ipv4.tcp_timestamps=0`\n+0 %{ x = tcpi_unacked; assert x == 0 }%",
        "+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 10}, {..., 20}], msg_flags=0}, 0) = 30\n+0 > P. 1:31(30) ack 1",
    ] {
        match outcome(rest) {
            ScriptOutcome::Passed => {}
            ScriptOutcome::Failed(failure) => panic!("{rest}\n{failure}"),
            other => panic!("{rest}: {other:?}"),
        }
    }
}

#[test]
fn unsupported_features_skip_the_script_at_their_line() {
    for (rest, line, words) in [
        ("+0 epoll_create(1) = 5", 1, "epoll_create"),
        ("+0 write(4, ..., 100) = 50", 1, "send buffer"),
        (
            "+0 %{ assert tcpi_pacing_rate == 3 }%",
            1,
            "tcpi_pacing_rate",
        ),
        ("+0 %{ import os }%", 1, "Python"),
        ("+0 < icmp echo_request", 1, "ICMP"),
        ("+0 `nstat`", 1, "nstat"),
    ] {
        match outcome(rest) {
            ScriptOutcome::Skipped(skip) => {
                assert_eq!(skip.line, line + 7, "{rest}");
                assert!(skip.reason.contains(words), "{rest}: {}", skip.reason);
            }
            other => panic!("{rest}: {other:?}"),
        }
    }
}

#[test]
fn a_trace_is_a_figure_and_a_capture() {
    let source = format!("{OPEN}+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n");
    let (outcome, trace) = dupack_script::run_traced(&source, Path::new("."), &Options::default());
    assert_eq!(outcome, ScriptOutcome::Passed);
    let trace = trace.expect("a connection");
    #[cfg(feature = "figures")]
    assert!(trace.svg("title", "").expect("a figure").contains("<svg"));
    let capture = trace.pcapng().expect("a capture");
    // The file begins with the block type of a section header, and contains the payload of five packets.
    assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    assert!(capture.len() > 2000, "{}", capture.len());
}
