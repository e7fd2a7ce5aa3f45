//! TCP relays from the far end to the outside world: the implementation of `--forward HOST:PORT`.
//!
//! A relay listens at the far end of the path, in its namespace. For each connection it opens one to a host outside, in
//! this process's own namespace. It needs no privileges, no forwarding by the kernel and no packet filter rule. TCP
//! ends at the relay: the path's delay and losses apply between the command and the relay. Between the relay and the
//! outside host, there is a separate connection. If one of the two connections is slow, the data of the other one
//! waits.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dupack_wire::namespace::Namespace;
use thiserror::Error;

use crate::say;

/// Maximum number of simultaneous connections of a relay. Further connections are closed immediately.
const MAX_CONNECTIONS: usize = 256;

/// Maximum number of bytes copied at once.
const BUFFER_BYTES: usize = 1 << 16;

/// An outside host that the far end represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    host: String,
    port: u16,
}

/// Error of a text that does not have the form HOST:PORT.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not HOST:PORT: {problem}; write, for example, example.com:443, 192.0.2.1:80 or [2001:db8::1]:80"
)]
pub struct ForwardError {
    text: String,
    problem: &'static str,
}

impl FromStr for Forward {
    type Err = ForwardError;

    fn from_str(text: &str) -> Result<Self, ForwardError> {
        let fail = |problem| ForwardError {
            text: text.to_owned(),
            problem,
        };
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| fail("the port is missing"))?;
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| fail("the port must be a number from 1 to 65535"))?;
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        let in_brackets = bare.is_some();
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(fail(
                "the host is empty or contains spaces or control characters",
            ));
        }
        if host.contains(':') != in_brackets {
            return Err(fail("IPv6 addresses, and only these, need brackets"));
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl Forward {
    /// Returns the host if its name can be mapped to the far end. An IP address and `localhost` cannot be mapped.
    pub(crate) fn name(&self) -> Option<&str> {
        let is_address = self.host.parse::<IpAddr>().is_ok();
        (!is_address && self.host != "localhost").then_some(&self.host)
    }

    /// Returns the port, which is the same at both ends of the relay.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Listens at `address` in `home` and relays connections until this process ends.
    pub(crate) fn start(&self, home: &Namespace, address: IpAddr) -> io::Result<()> {
        let at = SocketAddr::new(address, self.port);
        let listener = home.run(move || TcpListener::bind(at))?;
        let to = self.clone();
        let relay = thread::Builder::new().name("relay".to_owned());
        relay.spawn(move || to.accept(&listener)).map(drop)
    }

    fn accept(&self, listener: &TcpListener) {
        let open = Arc::new(AtomicUsize::new(0));
        for inner in listener.incoming().flatten() {
            if open.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
                continue;
            }
            open.fetch_add(1, Ordering::Relaxed);
            let (to, counted) = (self.clone(), Arc::clone(&open));
            let connection = thread::Builder::new().name("relay".to_owned());
            let started = connection.spawn(move || {
                to.pass(&inner);
                counted.fetch_sub(1, Ordering::Relaxed);
            });
            if started.is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Relays data in both directions until both have ended.
    fn pass(&self, inner: &TcpStream) {
        let outer = match TcpStream::connect((self.host.as_str(), self.port)) {
            Ok(outer) => outer,
            Err(error) => {
                let Self { host, port } = self;
                say(&format!("cannot connect to {host}:{port}: {error}"));
                return;
            }
        };
        let (Ok(inner_too), Ok(outer_too)) = (inner.try_clone(), outer.try_clone()) else {
            return;
        };
        let back = thread::Builder::new().name("relay".to_owned());
        let back = back.spawn(move || copy(&outer_too, &inner_too));
        copy(inner, &outer);
        if let Ok(back) = back {
            let _ = back.join();
        }
    }
}

/// Copies data until the stream ends, and then ends the other stream. If one stream fails, both are closed.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            Ok(length) if to.write_all(&buffer[..length]).is_ok() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => {
                let _ = from.shutdown(Shutdown::Both);
                let _ = to.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_parsed() {
        let of = |text: &str| text.parse::<Forward>().map(|to| (to.host.clone(), to.port));
        assert_eq!(of("example.com:443"), Ok(("example.com".to_owned(), 443)));
        assert_eq!(of("[2001:db8::1]:80"), Ok(("2001:db8::1".to_owned(), 80)));
        for text in [
            "example.com",
            "example.com:0",
            "example.com:x",
            ":80",
            "2001:db8::1:80",
            "a b:1",
            "[a]:1",
            "a:65536",
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(
                error.contains(text) && error.contains("example.com:443"),
                "{error}"
            );
        }
    }

    #[test]
    fn only_names_are_mapped_to_the_far_end() {
        let name = |text: &str| text.parse::<Forward>().unwrap().name().map(str::to_owned);
        assert_eq!(name("example.com:443").as_deref(), Some("example.com"));
        for text in ["192.0.2.1:80", "localhost:80", "[2001:db8::1]:80"] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
