//! Socket options with values that Linux refuses, as `do_tcp_setsockopt` has it.

use std::path::Path;

use dupack_script::{Options, Outcome, run};

fn outcome(line: &str) -> Outcome {
    let source = format!("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n{line}\n");
    run(&source, Path::new("."), &Options::default())
}

/// Each value is refused, which a script may expect, and may not expect to be otherwise.
#[test]
fn what_linux_refuses_is_refused() {
    for (option, value, error) in [
        ("TCP_MAXSEG", "[87]", "EINVAL (Invalid argument)"),
        ("TCP_MAXSEG", "[-1]", "EINVAL (Invalid argument)"),
        ("TCP_MAXSEG", "[32768]", "EINVAL (Invalid argument)"),
        ("TCP_SYNCNT", "[0]", "EINVAL (Invalid argument)"),
        ("TCP_SYNCNT", "[128]", "EINVAL (Invalid argument)"),
        ("TCP_KEEPCNT", "[0]", "EINVAL (Invalid argument)"),
        ("TCP_KEEPCNT", "[128]", "EINVAL (Invalid argument)"),
        ("TCP_KEEPIDLE", "[0]", "EINVAL (Invalid argument)"),
        ("TCP_KEEPIDLE", "[32768]", "EINVAL (Invalid argument)"),
        ("TCP_KEEPINTVL", "[0]", "EINVAL (Invalid argument)"),
        ("TCP_KEEPINTVL", "[32768]", "EINVAL (Invalid argument)"),
        ("TCP_USER_TIMEOUT", "[-1]", "EINVAL (Invalid argument)"),
        ("TCP_INQ", "[2]", "EINVAL (Invalid argument)"),
        (
            "TCP_CONGESTION",
            "\"nobody\"",
            "ENOENT (No such file or directory)",
        ),
    ] {
        let call = format!("+0 setsockopt(3, SOL_TCP, {option}, {value}, 4)");
        let refused = outcome(&format!("{call} = -1 {error}"));
        assert_eq!(refused, Outcome::Passed, "{call}");
        let taken = outcome(&format!("{call} = 0"));
        assert!(matches!(taken, Outcome::Failed(_)), "{call}: {taken:?}");
    }
}

#[test]
fn what_linux_takes_is_taken() {
    for (option, value) in [
        ("TCP_MAXSEG", "[0]"),
        ("TCP_MAXSEG", "[88]"),
        ("TCP_MAXSEG", "[32767]"),
        ("TCP_SYNCNT", "[1]"),
        ("TCP_SYNCNT", "[127]"),
        ("TCP_KEEPCNT", "[127]"),
        ("TCP_KEEPIDLE", "[32767]"),
        ("TCP_KEEPINTVL", "[1]"),
        ("TCP_USER_TIMEOUT", "[2147483647]"),
        ("TCP_INQ", "[1]"),
        ("TCP_CONGESTION", "\"cubic\""),
    ] {
        let call = format!("+0 setsockopt(3, SOL_TCP, {option}, {value}, 4) = 0");
        assert_eq!(outcome(&call), Outcome::Passed, "{call}");
    }
}

/// A kernel may have it, and nothing is known of what it does.
#[test]
fn a_control_of_linux_that_is_not_here_is_skipped() {
    let call = "+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"dctcp-reno\", 10) = 0";
    assert!(matches!(outcome(call), Outcome::Skipped(_)));
}

/// Zero takes back what was asked for.
#[test]
fn a_segment_size_of_zero_is_none() {
    let offered = |sizes: &str| {
        let mut lines = String::new();
        for size in sizes.split(' ') {
            lines += &format!("+0 setsockopt(3, SOL_TCP, TCP_MAXSEG, [{size}], 4) = 0\n");
        }
        outcome(&format!(
            "{lines}+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
             +0 connect(3, ..., ...) = -1 EINPROGRESS\n\
             +0 > S 0:0(0) <mss 1460,sackOK,TS val 0 ecr 0,nop,wscale 7>"
        ))
    };
    assert!(matches!(offered("1000"), Outcome::Failed(_)));
    assert_eq!(offered("1000 0"), Outcome::Passed);
}
