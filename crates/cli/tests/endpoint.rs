//! `dupack send` and `dupack receive` as their users meet them: wrong arguments, and streams that
//! fail.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use dupack_wire::namespace::Namespace;

/// Makes the tests fail, not skip, where namespaces cannot be had.
const REQUIRE: &str = "DUPACK_REQUIRE_NAMESPACES";

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dupack"));
    command.args(args).stderr(Stdio::piped());
    command
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A namespace of its own; `None`, which is said loudly, where there can be none.
fn namespace() -> Option<Namespace> {
    match Namespace::new("kernel") {
        Ok(namespace) => Some(namespace),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

fn skip(why: &str) {
    assert!(std::env::var_os(REQUIRE).is_none(), "{why}");
    // Not `eprintln`, which the harness keeps to itself when a test passes.
    let _ = writeln!(
        std::io::stderr(),
        "\n*** SKIPPED: NETWORK NAMESPACES CANNOT BE HAD HERE (set {REQUIRE} to fail)\n{why}"
    );
}

/// Whether a command failed for want of a device, which is said loudly.
fn skipped(output: &Output) -> bool {
    let errors = errors(output);
    let cannot = errors.contains("cannot make the TUN device");
    if cannot {
        skip(&errors);
    }
    cannot
}

#[test]
fn wrong_arguments_are_named_with_their_remedy() {
    const FORM: &str = "write HOST:PORT";
    for (args, parts) in [
        (&["send", "10.97.0.1"][..], ["<HOST:PORT>", FORM]),
        (&["send", "10.97.0.1:99999"], ["1 to 65535", FORM]),
        (&["send", "10.97.0.1:0"], ["1 to 65535", FORM]),
        (&["send", "fd97::1:80"], ["<HOST:PORT>", FORM]),
        (&["send", ":80"], ["no host", FORM]),
        (
            &["send", "no..such..host:80"],
            ["no..such..host", "cannot find"],
        ),
        (&["send", "127.0.0.1:80"], ["loopback", "10.97.0.1:80"]),
        (&["send", "[::1]:80"], ["loopback", "[fd97::1]:80"]),
        (&["receive", "0"], ["<PORT>", "1..=65535"]),
        (
            &["receive", "80", "--subnet", "10.97.0.5"],
            ["--subnet", "write 10.97.0.0"],
        ),
        (
            &["receive", "80", "--subnet", "10.97"],
            ["--subnet", "IPv4 address"],
        ),
    ] {
        let output = command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let errors = errors(&output);
        for part in parts {
            assert!(errors.contains(part), "{args:?}: {errors}");
        }
    }
}

#[test]
fn a_cause_is_told_once() {
    let Some(kernel) = namespace() else { return };
    let args = ["receive", "80", "--tun", "a-name-that-is-too-long"];
    let output = kernel.run(move || command(&args).output()).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = errors(&output);
    assert!(errors.contains("cannot make the TUN device"), "{errors}");
    assert_eq!(errors.matches("too long").count(), 1, "{errors}");
}

/// The peer must not take what it has for the whole, and the user neither.
#[test]
fn an_input_that_cannot_be_read_is_no_end() {
    let Some(kernel) = namespace() else { return };
    let job = || {
        let _listener = TcpListener::bind("0.0.0.0:5001").unwrap();
        command(&["send", "10.97.0.1:5001"])
            .stdin(File::open("/").unwrap())
            .output()
            .unwrap()
    };
    let output = kernel.run(job);
    if skipped(&output) {
        return;
    }
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("cannot read what is to be sent"),
        "{errors}"
    );
    assert!(errors.contains("Is a directory"), "{errors}");
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let Some(kernel) = namespace() else { return };
    let job = || {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut child = command(&["receive", "5001"]).stdout(full).spawn().unwrap();
        for _ in 0..500 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            if let Ok(mut stream) = TcpStream::connect("10.97.0.2:5001") {
                // It may be reset while this is under way.
                let _ = stream.write_all(b"a line\n");
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read(&mut [0]);
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.wait_with_output().unwrap()
    };
    let output = kernel.run(job);
    if skipped(&output) {
        return;
    }
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("cannot write what has come"), "{errors}");
    assert!(errors.contains("No space left"), "{errors}");
}
