//! Tests of `dupack script` as a user runs it.

use std::path::Path;
use std::process::Output;

use crate::common;
use crate::common::{Folder, errors};

fn dupack(folder: &Path, args: &[&str]) -> Output {
    common::dupack(args).current_dir(folder).output().unwrap()
}

#[test]
fn output_of_scripts_is_separate_from_output_for_programs() {
    let folder = Folder::new("script-print");
    let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 %{ print('seven is', 7) }%\n";
    std::fs::write(folder.path().join("a.pkt"), script).unwrap();
    let said = "seven is 7\n";

    let read = dupack(folder.path(), &["script", "a.pkt"]);
    let screen = String::from_utf8_lossy(&read.stdout);
    assert_eq!(screen, format!("{said}passed   a.pkt\n"));

    let csv = dupack(folder.path(), &["script", "a.pkt", "--format", "csv"]);
    let lines = String::from_utf8_lossy(&csv.stdout);
    assert_eq!(lines, "script,outcome,line,reason\na.pkt,passed,,\n");
    assert_eq!(errors(&csv), said);
    let json = dupack(folder.path(), &["script", "a.pkt", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["passed"], 1);
}

#[test]
fn scripts_are_run_counted_and_traced() {
    let folder = Folder::new("script");
    let opening = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
                   +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9 <mss 1000>\n";
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("good.pkt", format!("{opening}+0 > S. 0:0(0) ack 1 <...>\n"));
    write("bad.pkt", format!("{opening}+0 > S. 7:7(0) ack 2 <...>\n"));

    let good = dupack(folder.path(), &["script", "good.pkt", "--trace", "out"]);
    assert!(good.status.success(), "{}", errors(&good));
    let traced = folder.path().join("out");
    assert!(traced.join("good.svg").is_file() && traced.join("good.pcapng").is_file());

    let bad = dupack(folder.path(), &["script", "bad.pkt", "--stack", "le/reno"]);
    assert_eq!(bad.status.code(), Some(1));
    let screen = String::from_utf8_lossy(&bad.stdout);
    let wanted = "acknowledgment number: expected 2, got 1";
    assert!(screen.contains(wanted), "{screen}");

    let both = dupack(folder.path(), &["script", ".", "--format", "json"]);
    assert_eq!(both.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&both.stdout).unwrap();
    assert_eq!((&json["passed"], &json["failed"]), (&1.into(), &1.into()));

    let nothing = dupack(folder.path(), &["script", "nosuch.pkt"]);
    assert_eq!(nothing.status.code(), Some(2));
    let some = dupack(
        folder.path(),
        &["script", "nosuch.pkt", "good.pkt", "--format", "json"],
    );
    assert_eq!(some.status.code(), Some(2));
    let json: serde_json::Value = serde_json::from_slice(&some.stdout).unwrap();
    assert_eq!((&json["unread"], &json["passed"]), (&1.into(), &1.into()));
}

#[test]
fn traces_of_scripts_with_the_same_name_are_numbered() {
    let folder = Folder::new("script-names");
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
                +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>\n";
    for inner in ["one/close", "two/close"] {
        let inner = folder.path().join(inner);
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("a.pkt"), text).unwrap();
    }
    let twice = ["script", "one", "two", "one/close/a.pkt", "--trace", "out"];
    let played = dupack(folder.path(), &twice);
    assert!(played.status.success(), "{}", errors(&played));
    let shown = String::from_utf8_lossy(&played.stdout).into_owned();
    let passed = shown.lines().filter(|line| line.starts_with("passed "));
    assert_eq!(passed.count(), 2, "{shown}");
    let traced = folder.path().join("out/close");
    assert!(traced.join("a.svg").is_file() && traced.join("a-2.pcapng").is_file());
    assert!(!traced.join("a-3.svg").exists());

    let again = dupack(folder.path(), &twice);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        errors(&again).contains("another folder with --trace"),
        "{}",
        errors(&again)
    );
}

/// The name of the capture is too long for a file name. This error is equivalent to a full disk.
#[test]
fn scripts_run_even_if_a_trace_cannot_be_written() {
    let folder = Folder::new("script-untraced");
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
                +0 listen(3, 1) = 0\n+0 < S 0:0(0) win 9 <mss 1000>\n+0 > S. 0:0(0) ack 1 <...>\n";
    for name in ["a".repeat(250), "z".to_owned()] {
        std::fs::write(folder.path().join(format!("{name}.pkt")), text).unwrap();
    }
    let args = ["script", ".", "--trace", "out", "--format", "json"];
    let played = dupack(folder.path(), &args);
    assert_eq!(played.status.code(), Some(2), "{}", errors(&played));
    let json: serde_json::Value = serde_json::from_slice(&played.stdout).unwrap();
    assert_eq!((&json["passed"], &json["failed"]), (&2.into(), &0.into()));
    assert!(folder.path().join("out/z.pcapng").is_file());
    let said = errors(&played);
    assert!(
        said.contains("the traces of 1 of 2 scripts are missing"),
        "{said}"
    );
}
