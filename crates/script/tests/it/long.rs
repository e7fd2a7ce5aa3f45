//! Tests that scripts with very many events take a time proportional to their length.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::path::Path;

use dupack_script::{Options, ScriptOutcome, run};

const LISTENER: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n";

const SHAKE: &str = "+.001 < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK>\n\
    +0 > S. 0:0(0) ack 1 <...>\n\
    +.001 < . 1:1(0) ack 1 win 65535\n";

/// Returns a script with one connection and `times` exchanges.
fn talk(times: usize) -> String {
    let mut script = format!("{LISTENER}{SHAKE}+0 accept(3, ..., ...) = 4\n");
    for start in (1..).step_by(100).take(times) {
        let end = start + 100;
        let written = writeln!(
            script,
            "+.01 write(4, ..., 100) = 100\n+0 > P. {start}:{end}(100) ack 1\n\
             +.01 < . 1:1(0) ack {end} win 65535"
        );
        written.expect("a text takes everything");
    }
    script
}

/// Returns a script with `times` connections one after another, all of which remain open.
fn come(times: usize) -> String {
    let mut script = LISTENER.to_owned();
    for fd in 4..4 + times {
        let written = writeln!(
            script,
            "{SHAKE}+0 accept(3, ..., ...) = {fd}\n\
             +.001 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
             +0 listen(3, 1) = 0"
        );
        written.expect("a text takes everything");
    }
    script
}

/// Returns a script with `times` unacknowledged writes with requested timestamps.
fn stamp(times: usize) -> String {
    let mut script = format!("{LISTENER}{SHAKE}+0 accept(3, ..., ...) = 4\n");
    script += "+0 setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n\
        +0 setsockopt(4, SOL_SOCKET, SO_TIMESTAMPING, [SOF_TIMESTAMPING_TX_SOFTWARE], 4) = 0\n";
    script + &"+0 write(4, ..., 1) = 1\n".repeat(times)
}

/// Returns the CPU time in nanoseconds that playing a script takes.
fn takes(script: &str) -> u64 {
    let begin = worked();
    let outcome = run(script, Path::new("."), &Options::default());
    assert_eq!(outcome, ScriptOutcome::Passed);
    worked() - begin
}

/// Returns the CPU time of this thread in nanoseconds. Wall-clock time would include other processes.
fn worked() -> u64 {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let first = line.split(' ').next().expect("three numbers");
    first.parse().expect("a number")
}

#[test]
fn ten_times_the_events_take_ten_times_as_long() {
    const TIMES: usize = 700;
    for script in [talk, come, stamp] {
        let few = (0..3).map(|_| takes(&script(TIMES))).min();
        let few = few.expect("three times");
        let many = takes(&script(10 * TIMES));
        assert!(
            many < few * 30,
            "{many} ns for ten times what takes {few} ns"
        );
    }
}

#[test]
fn an_unclosed_comment_is_an_error() {
    let outcome = run(&"/*".repeat(500_000), Path::new("."), &Options::default());
    let ScriptOutcome::Failed(failure) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(failure.message.contains("`*/`"), "{}", failure.message);
}
