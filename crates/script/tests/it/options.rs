//! Tests of socket options with values that Linux rejects (`do_tcp_setsockopt`).

use std::path::Path;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_script::{Options, ScriptOutcome, run};

fn outcome(line: &str) -> ScriptOutcome {
    let source = format!("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n{line}\n");
    run(&source, Path::new("."), &Options::default())
}

/// Each value is rejected: a script passes if it expects the error, and fails if it expects success.
#[test]
fn values_that_linux_rejects_are_rejected() {
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
        assert_eq!(refused, ScriptOutcome::Passed, "{call}");
        let taken = outcome(&format!("{call} = 0"));
        assert!(
            matches!(taken, ScriptOutcome::Failed(_)),
            "{call}: {taken:?}"
        );
    }
}

#[test]
fn values_that_linux_accepts_are_accepted() {
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
        assert_eq!(outcome(&call), ScriptOutcome::Passed, "{call}");
    }
}

/// A kernel may have this control, but this crate does not know its behaviour.
#[test]
fn an_unsupported_control_of_linux_is_skipped() {
    let call = "+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"dctcp-reno\", 10) = 0";
    assert!(matches!(outcome(call), ScriptOutcome::Skipped(_)));
}

/// Zero resets the option.
#[test]
fn a_segment_size_of_zero_resets_the_option() {
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
    assert!(matches!(offered("1000"), ScriptOutcome::Failed(_)));
    assert_eq!(offered("1000 0"), ScriptOutcome::Passed);
}

/// Scripts can observe memory that is shared with the kernel, and there is no such memory here.
#[test]
fn zero_copy_is_skipped() {
    let call = "+0 setsockopt(3, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0";
    assert!(matches!(outcome(call), ScriptOutcome::Skipped(_)));
    let call = "+0 send(3, ..., 4000, MSG_ZEROCOPY) = 4000";
    assert!(matches!(outcome(call), ScriptOutcome::Skipped(_)));
}

/// The script's settings apply to a given stack, unless the text of the stack sets the parameter.
#[test]
fn settings_of_the_script_apply_to_a_given_stack() {
    let source = "`sysctl -q net.ipv4.tcp_early_retrans=0`\n\
        0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
        +0 bind(3, ..., ...) = 0\n\
        +0 listen(3, 1) = 0\n\
        +0 < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK>\n\
        +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>\n\
        +.1 < . 1:1(0) ack 1 win 65535\n\
        +0 accept(3, ..., ...) = 4\n\
        +0 write(4, ..., 2000) = 2000\n\
        +0 > P. 1:2001(2000) ack 1\n\
        +.3~+.31 > . 1:1001(1000) ack 1\n";
    let played = |stack: &str| {
        let stack = StackSpec::parse(stack, &Catalog::builtin()).expect("a stack");
        let mut options = Options::default();
        options.stack = Some(stack);
        run(source, Path::new("."), &options)
    };
    for stack in ["rack/cubic", "rack/reno", "sack/reno"] {
        assert_eq!(played(stack), ScriptOutcome::Passed, "{stack}");
    }
    // A tail loss probe retransmits the last segment.
    assert!(matches!(
        played("rack(tlp=on)/cubic"),
        ScriptOutcome::Failed(_)
    ));
}
