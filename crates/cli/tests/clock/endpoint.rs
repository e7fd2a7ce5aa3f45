//! Tests of `dupack send` and `dupack receive` as a user runs them: complete streams, invalid arguments, streams that
//! fail, and the state after a signal ends the command.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{Folder, comes_true, dupack, errors, interrupt, skip, skipped};
use crate::leftovers::devices;
use dupack_wire::host::Pattern;
use dupack_wire::namespace::Namespace;

/// Length of a stream, in bytes.
const BYTES: usize = 2_000_000;

/// Maximum time without progress of a stream.
const PATIENCE: Duration = Duration::from_secs(20);

fn command(args: &[&str]) -> Command {
    let mut command = dupack(args);
    command.stderr(Stdio::piped());
    command
}

/// Returns a new namespace. If this is impossible, prints a warning and returns `None`.
fn namespace() -> Option<Namespace> {
    match Namespace::new("kernel") {
        Ok(namespace) => Some(namespace),
        Err(error) => {
            skip(&error.to_string());
            None
        }
    }
}

#[test]
fn invalid_arguments_have_errors_with_remedies() {
    const FORM: &str = "write HOST:PORT";
    for (args, parts) in [
        (&["send", "10.97.0.1"][..], ["<HOST:PORT>", FORM]),
        (&["send", "10.97.0.1:99999"], ["1 to 65535", FORM]),
        (&["send", "10.97.0.1:0"], ["1 to 65535", FORM]),
        (&["send", "fd97::1:80"], ["<HOST:PORT>", FORM]),
        (&["send", ":80"], ["host is missing", FORM]),
        (
            &["send", "no..such..host:80"],
            ["no..such..host", "cannot find"],
        ),
        (&["send", "127.0.0.1:80"], ["loopback", "10.97.0.1:80"]),
        (&["send", "[::1]:80"], ["loopback", "[fd97::1]:80"]),
        (&["receive", "0"], ["<PORT>", "from 1 to 65535"]),
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
fn causes_are_printed_once() {
    let Some(kernel) = namespace() else { return };
    let args = ["receive", "80", "--tun", "a-name-that-is-too-long"];
    let output = kernel.run(move || command(&args).output()).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = errors(&output);
    assert!(errors.contains("cannot make the TUN device"), "{errors}");
    assert_eq!(errors.matches("too long").count(), 1, "{errors}");
}

/// Connects to a child process that is starting. Returns `None` if the child has ended.
fn connect(child: &mut Child, to: &str) -> Option<TcpStream> {
    until(child, || TcpStream::connect(to).ok())
}

/// Accepts a connection from a child process. Returns `None` if the child has ended.
fn accept(child: &mut Child, listener: &TcpListener) -> Option<TcpStream> {
    listener.set_nonblocking(true).unwrap();
    let stream = until(child, || Some(listener.accept().ok()?.0))?;
    stream.set_nonblocking(false).unwrap();
    Some(stream)
}

/// Repeats `attempt` until it returns a connection with the child. Returns `None` if the child has ended.
fn until(child: &mut Child, mut attempt: impl FnMut() -> Option<TcpStream>) -> Option<TcpStream> {
    let mut stream = None;
    let is_settled = comes_true(|| {
        stream = attempt();
        stream.is_some() || child.try_wait().unwrap().is_some()
    });
    if !is_settled {
        child.kill().unwrap();
        panic!("there is no connection with it");
    }
    if let Some(stream) = &stream {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
    }
    stream
}

/// Waits for the end of the child, and kills the child if it does not end.
fn finish(mut child: Child) -> Output {
    if !comes_true(|| child.try_wait().unwrap().is_some()) {
        child.kill().unwrap();
        panic!("it does not end");
    }
    child.wait_with_output().unwrap()
}

/// Returns bytes that depend on the seed.
fn pattern(seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    Pattern::new(seed).fill(&mut bytes);
    bytes
}

/// Writes one stream to its end, and at the same time reads the other stream to its end.
fn converse(mut stream: TcpStream, bytes: Vec<u8>) -> Vec<u8> {
    let mut out = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        out.write_all(&bytes).unwrap();
        out.shutdown(Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    received
}

#[test]
fn files_are_sent_and_received_at_the_same_time() {
    let Some(kernel) = namespace() else { return };
    let folder = Folder::new("send");
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, pattern(1)).unwrap();
    let (from, to) = (File::open(&input).unwrap(), File::create(&output).unwrap());
    let job = move || {
        let listener = TcpListener::bind("[::]:5001").unwrap();
        let mut send = command(&["send", "[fd97::1]:5001"]);
        let mut child = send.stdin(from).stdout(to).spawn().unwrap();
        let stream = accept(&mut child, &listener);
        let received = stream.map(|stream| converse(stream, pattern(2)));
        (finish(child), received)
    };
    let (ended, received) = kernel.run(job);
    if skipped(&ended) {
        return;
    }
    let errors = errors(&ended);
    assert_eq!(ended.status.code(), Some(0), "{errors}");
    let summary = format!("finished: sent {BYTES} bytes, received {BYTES} bytes");
    assert!(errors.contains(&summary), "{errors}");
    assert!(received == Some(pattern(1)), "data that it sends");
    assert!(
        fs::read(output).unwrap() == pattern(2),
        "data that it writes"
    );
}

#[test]
fn streams_are_received_completely() {
    let Some(kernel) = namespace() else { return };
    let folder = Folder::new("receive");
    let output = folder.path().join("out");
    let to = File::create(&output).unwrap();
    let job = move || {
        let mut child = command(&["receive", "5001"]).stdout(to).spawn().unwrap();
        let stream = connect(&mut child, "10.97.0.2:5001");
        let received = stream.map(|stream| converse(stream, pattern(3)));
        (finish(child), received)
    };
    let (ended, received) = kernel.run(job);
    if skipped(&ended) {
        return;
    }
    let errors = errors(&ended);
    assert_eq!(ended.status.code(), Some(0), "{errors}");
    let summary = format!("finished: sent 0 bytes, received {BYTES} bytes");
    assert!(errors.contains(&summary), "{errors}");
    assert_eq!(received, Some(Vec::new()), "it sends nothing");
    assert!(
        fs::read(output).unwrap() == pattern(3),
        "data that it writes"
    );
}

/// Begins to send or receive an endless stream in a new namespace.
fn begin(kernel: &Namespace, role: Role) -> (Child, Option<TcpStream>) {
    let job = move || {
        let listener = TcpListener::bind("0.0.0.0:5001").unwrap();
        let mut command = match role {
            Role::Sender => command(&["send", "10.97.0.1:5001"]),
            Role::Receiver => command(&["receive", "5001"]),
        };
        command.stdin(File::open("/dev/zero").unwrap());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let mut stream = match role {
            Role::Sender => accept(&mut child, &listener),
            Role::Receiver => connect(&mut child, "10.97.0.2:5001"),
        };
        if let Some(stream) = &mut stream {
            let mut bytes = vec![0; BYTES];
            match role {
                Role::Sender => stream.read_exact(&mut bytes).unwrap(),
                Role::Receiver => stream.write_all(&bytes).unwrap(),
            }
        }
        (child, stream)
    };
    kernel.run(job)
}

#[derive(Clone, Copy)]
enum Role {
    Sender,
    Receiver,
}

const ROLES: [Role; 2] = [Role::Sender, Role::Receiver];

fn is_there(kernel: &Namespace) -> bool {
    kernel.run(|| devices().contains("dupack0"))
}

#[test]
fn interrupted_endpoints_reset_their_connection_and_leave_no_remains() {
    for role in ROLES {
        let Some(kernel) = namespace() else { return };
        let (child, stream) = begin(&kernel, role);
        if stream.is_some() {
            assert!(is_there(&kernel));
            interrupt(&child);
        }
        let output = finish(child);
        if skipped(&output) {
            return;
        }
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(130), "{errors}");
        assert!(errors.contains("aborted: "), "{errors}");
        // The peer notices the end at once, not only after its timeout.
        let error = stream.unwrap().read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert!(comes_true(|| !is_there(&kernel)));
    }
}

#[test]
fn killed_endpoints_leave_no_remains() {
    for role in ROLES {
        let Some(kernel) = namespace() else { return };
        let (mut child, stream) = begin(&kernel, role);
        if stream.is_some() {
            assert!(is_there(&kernel));
            child.kill().unwrap();
        }
        let output = finish(child);
        if skipped(&output) {
            return;
        }
        assert_eq!(output.status.signal(), Some(9), "{}", errors(&output));
        assert!(comes_true(|| !is_there(&kernel)));
    }
}

/// Neither the peer nor the user may mistake an incomplete stream for a complete one.
#[test]
fn unreadable_input_is_no_end_of_a_stream() {
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
    assert!(errors.contains("cannot read the data to send"), "{errors}");
    assert!(errors.contains("Is a directory"), "{errors}");
}

#[test]
fn unwritable_output_is_an_error() {
    let Some(kernel) = namespace() else { return };
    let job = || {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut child = command(&["receive", "5001"]).stdout(full).spawn().unwrap();
        if let Some(mut stream) = connect(&mut child, "10.97.0.2:5001") {
            // The connection may be reset before this write.
            let _ = stream.write_all(b"a line\n");
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read(&mut [0]);
        }
        child.wait_with_output().unwrap()
    };
    let output = kernel.run(job);
    if skipped(&output) {
        return;
    }
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(
        errors.contains("cannot write the received data"),
        "{errors}"
    );
    assert!(errors.contains("No space left"), "{errors}");
}
