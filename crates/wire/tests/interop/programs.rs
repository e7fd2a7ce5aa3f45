//! Tests of the endpoint as a web server for curl and nginx, and as a client of nginx.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};

use dupack_wire::Family;
use dupack_wire::host::{Application, ConnectionReport, Digest, Pattern, Supply};
use dupack_wire::namespace::{Child, Namespace};
use tempfile::TempDir;

use crate::ours::{Running, SEED, Scene, kernel_address, once, opening, our_address};
use crate::testbed::{self, Case, PATIENCE, PORT, case_with};

const STACK: &str = "rack/cubic";
const BYTES: u64 = 5_000_000;

pub fn cases() -> Vec<Case> {
    vec![
        case_with("curl", "curl_fetches_from_us_v4", curl_fetches_from_us_v4),
        case_with("curl", "curl_fetches_from_us_v6", curl_fetches_from_us_v6),
        case_with("curl", "curl_uploads_to_us", curl_uploads_to_us),
        case_with("nginx", "we_fetch_from_nginx_v4", we_fetch_from_nginx_v4),
        case_with("nginx", "we_fetch_from_nginx_v6", we_fetch_from_nginx_v6),
        case_with("nginx", "nginx_fetches_from_us_v4", || {
            nginx_fetches_from_us(Family::V4);
        }),
        case_with("nginx", "nginx_fetches_from_us_v6", || {
            nginx_fetches_from_us(Family::V6);
        }),
    ]
}

/// One HTTP exchange: our side sends a head and receives one, and each may be followed by a body.
struct Http {
    /// Our head, which is sent immediately or after the peer's message has arrived.
    head: Vec<u8>,
    starts: Starts,
    /// Length of the body after our head, in bytes.
    body: u64,
    pattern: Pattern,
    received: Vec<u8>,
    expects: Expects,
    digest: Digest,
    result: Sender<(Digest, ConnectionReport)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Starts {
    AtOnce,
    /// The message starts when the peer's message is complete.
    WhenAsked,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Head,
    /// A body of which this many bytes remain.
    Body(u64),
}

impl Http {
    fn new(
        head: String,
        starts: Starts,
        body: u64,
    ) -> (Self, Receiver<(Digest, ConnectionReport)>) {
        let (result, results) = channel();
        let http = Self {
            head: head.into_bytes(),
            starts,
            body,
            pattern: Pattern::new(SEED),
            received: Vec::new(),
            expects: Expects::Head,
            digest: Digest::default(),
            result,
        };
        (http, results)
    }

    fn read_body(&mut self, bytes: &[u8]) {
        self.digest.add(bytes);
        if let Expects::Body(left) = &mut self.expects {
            *left -= bytes.len() as u64;
        }
    }
}

impl Application for Http {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        let asked = self.expects == Expects::Body(0);
        if self.starts == Starts::WhenAsked && !asked {
            return Supply::NothingNow;
        }
        if !self.head.is_empty() {
            let length = room.len().min(self.head.len());
            room[..length].copy_from_slice(&self.head[..length]);
            self.head.drain(..length);
            return Supply::Bytes(length);
        }
        if self.body > 0 {
            let length = (room.len() as u64).min(self.body) as usize;
            self.pattern.fill(&mut room[..length]);
            self.body -= length as u64;
            return Supply::Bytes(length);
        }
        // A client does not close before the answer is complete, because some servers treat a half-closed connection as
        // an abort.
        match self.starts {
            Starts::AtOnce if !asked => Supply::NothingNow,
            _ => Supply::End,
        }
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        if self.expects != Expects::Head {
            self.read_body(bytes);
            return bytes.len();
        }
        self.received.extend_from_slice(bytes);
        let end = self
            .received
            .windows(4)
            .position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let rest = self.received.split_off(end + 4);
            let head = String::from_utf8_lossy(&self.received).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length = length.map_or(0, |text| text.trim().parse().expect("a length"));
            self.expects = Expects::Body(length);
            self.read_body(&rest);
        }
        bytes.len()
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        let digest = std::mem::take(&mut self.digest);
        let _ = self.result.send((digest, *outcome));
    }
}

fn url(family: Family) -> String {
    format!("http://{}/", SocketAddr::new(our_address(family), PORT))
}

fn curl(kernel: &Namespace, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new("curl");
    command
        .args(["-sS", "--noproxy", "*", "--max-time", "60"])
        .args(arguments);
    let output = kernel
        .start(command)
        .expect("curl starts")
        .finish()
        .expect("it ends");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    output.stdout
}

fn curl_fetches_from_us_v4() {
    curl_fetches_from_us(Family::V4);
}

fn curl_fetches_from_us_v6() {
    curl_fetches_from_us(Family::V6);
}

fn curl_fetches_from_us(family: Family) {
    let (kernel, mut host) = Scene::usual().split();
    let (http, results) = page();
    host.listen(PORT, once(STACK, http));
    let running = Running::start(host);
    let page = curl(&kernel, &[&url(family)]);
    let mut digest = Digest::default();
    digest.add(&page);
    assert_eq!(digest.bytes(), BYTES);
    assert_eq!(digest.value(), Digest::of_pattern(SEED, BYTES));
    let (_, outcome) = results.recv_timeout(PATIENCE).expect("it ends");
    assert!(outcome.is_complete(), "{outcome:?}");
    running.finish();
}

/// Creates our server for one page.
fn page() -> (Http, Receiver<(Digest, ConnectionReport)>) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\nConnection: close\r\n\r\n");
    Http::new(head, Starts::WhenAsked, BYTES)
}

fn curl_uploads_to_us() {
    let (kernel, mut host) = Scene::usual().split();
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), pattern(testbed::SEED)).expect("written");
    let head = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_owned();
    let (http, results) = Http::new(head, Starts::WhenAsked, 0);
    host.listen(PORT, once(STACK, http));
    let running = Running::start(host);
    let path = file.path().to_str().expect("a path");
    curl(&kernel, &["-H", "Expect:", "-T", path, &url(Family::V4)]);
    let (digest, outcome) = results.recv_timeout(PATIENCE).expect("it ends");
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(digest.bytes(), BYTES);
    assert_eq!(digest.value(), Digest::of_pattern(testbed::SEED, BYTES));
    running.finish();
}

fn pattern(seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES as usize];
    Pattern::new(seed).fill(&mut bytes);
    bytes
}

fn we_fetch_from_nginx_v4() {
    we_fetch_from_nginx(Family::V4);
}

fn we_fetch_from_nginx_v6() {
    we_fetch_from_nginx(Family::V6);
}

fn we_fetch_from_nginx(family: Family) {
    let (kernel, mut host) = Scene::usual().split();
    let nginx = Nginx::new();
    fs::write(nginx.root().join("file"), pattern(testbed::SEED)).expect("written");
    let server = SocketAddr::new(kernel_address(family), PORT);
    let _running = nginx.start(
        &kernel,
        server,
        &format!("root {};", nginx.root().display()),
    );

    let request = "GET /file HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".to_owned();
    let (http, results) = Http::new(request, Starts::AtOnce, 0);
    host.connect(server, opening(STACK, http))
        .expect("a connection");
    let running = Running::start(host);
    let (digest, outcome) = results.recv_timeout(PATIENCE).expect("it ends");
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(digest.bytes(), BYTES);
    assert_eq!(digest.value(), Digest::of_pattern(testbed::SEED, BYTES));
    running.finish();
}

/// nginx as a proxy is our client: it fetches a requested page from our server.
fn nginx_fetches_from_us(family: Family) {
    const ASKED_PORT: u16 = PORT + 1;
    let (kernel, mut host) = Scene::usual().split();
    let (http, results) = page();
    host.listen(PORT, once(STACK, http));
    let running = Running::start(host);
    let nginx = Nginx::new();
    let asked = SocketAddr::new(kernel_address(family), ASKED_PORT);
    let proxy = format!("location / {{ proxy_pass {}; }}", url(family));
    let _running = nginx.start(&kernel, asked, &proxy);
    let fetched = kernel.run(move || fetch(asked)).expect("a page");
    assert_eq!(fetched.bytes(), BYTES);
    assert_eq!(fetched.value(), Digest::of_pattern(SEED, BYTES));
    let (_, outcome) = results.recv_timeout(PATIENCE).expect("it ends");
    assert!(outcome.is_complete(), "{outcome:?}");
    running.finish();
}

/// Fetches the page from a server in the kernel.
fn fetch(server: SocketAddr) -> io::Result<Digest> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let mut fours = answer.windows(4);
    let head = fours.position(|four| four == b"\r\n\r\n");
    let head = head.ok_or_else(|| io::Error::other("no head"))?;
    let mut digest = Digest::default();
    digest.add(&answer[head + 4..]);
    Ok(digest)
}

/// A temporary folder for nginx.
struct Nginx(TempDir);

impl Nginx {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    /// Starts nginx as a server at `address` with the configuration `site`, and waits until it listens.
    fn start(&self, kernel: &Namespace, address: SocketAddr, site: &str) -> Child {
        // nginx runs as a single process in the foreground, so that it ends with us. In a user namespace, root is the
        // only user.
        let configuration = format!(
            "user root root; daemon off; master_process off; pid {0}/pid; error_log stderr;\n\
             events {{}} http {{ access_log off; client_body_temp_path {0}/b;\n\
             proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u;\n\
             scgi_temp_path {0}/s; server {{ listen {address}; {site} }} }}\n",
            self.root().display()
        );
        let path = self.root().join("nginx.conf");
        fs::write(&path, configuration).expect("written");
        let mut command = Command::new(testbed::find("nginx").expect("nginx"));
        command.arg("-p").arg(self.root()).arg("-c").arg(&path);
        let nginx = kernel.start(command).expect("nginx starts");
        testbed::wait_for_listener(kernel, address);
        nginx
    }
}
