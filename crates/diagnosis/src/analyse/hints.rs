//! Contents of requests and answers that begin with plain text: request lines and status lines of HTTP/1, and types of
//! TLS records.
//!
//! The first bytes of each message are examined in a second pass over the capture, because the first pass does not
//! store data. There is no hint if the capture truncated the message, or if it is neither HTTP/1 nor TLS. Only the part
//! of a path before the query is stored, because queries may contain secrets.

use std::fmt;
use std::io::Read;

use dupack_packet::captured::{CaptureReader, ReadError};

use crate::diagnose::{Continue, Extent, Watch};
use crate::findings::ConnectionFindings;

/// Maximum number of characters of a path that are stored (our choice).
pub const PATH_MAX: usize = 60;

/// Methods of HTTP (RFC 9110 §9.3, RFC 5789).
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// Maximum length of a TLS record in bytes (RFC 5246 §6.2.3).
const RECORD_BYTES_MAX: u16 = (1 << 14) + 2048;

/// Number of packets between two calls that ask whether to continue (our choice).
const PACKETS_PER_LOOK: u64 = 4096;

/// Content at the beginning of a request or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Request line of HTTP/1 (RFC 9112 §3).
    HttpRequest {
        /// Method.
        method: &'static str,
        /// Path without its query.
        path: Path,
    },
    /// Status code of HTTP/1 (RFC 9112 §4).
    HttpStatus(u16),
    /// Type of a TLS record (RFC 8446 §5.1).
    Tls(TlsRecord),
}

/// Type of a TLS record, from its unencrypted header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsRecord {
    /// `change_cipher_spec`.
    ChangeCipherSpec,
    /// `alert`.
    Alert,
    /// `handshake`.
    Handshake,
    /// `application_data`, which also contains handshake messages after TLS 1.3 has begun to encrypt them.
    ApplicationData,
}

/// Path of a request: printable ASCII without spaces, at most [`PATH_MAX`] characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    bytes: [u8; PATH_MAX],
    len: u8,
    /// `true` if more characters or a query follow.
    is_cut: bool,
}

impl Path {
    /// Creates the path of a target; `None` if the target contains anything except printable ASCII.
    fn new(target: &[u8]) -> Option<Self> {
        if target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let path = target.iter().position(|byte| matches!(byte, b'?' | b'#'));
        let path = path.unwrap_or(target.len()).min(PATH_MAX);
        let mut bytes = [0; PATH_MAX];
        for (to, from) in bytes.iter_mut().zip(target.get(..path)?) {
            *to = *from;
        }
        Some(Self {
            bytes,
            len: path as u8,
            is_cut: path < target.len(),
        })
    }

    /// Returns the characters without the mark of a truncation.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len));
        bytes
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

/// Writes the path, followed by `…` if more characters or a query follow.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        f.write_str(if self.is_cut { "…" } else { "" })
    }
}

impl Hint {
    /// Returns the hint for data at the beginning of a message; `None` if the data is neither HTTP/1 nor TLS.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        tls(data).or_else(|| status(data)).or_else(|| request(data))
    }
}

fn tls(data: &[u8]) -> Option<Hint> {
    let &[kind, 3, 0..=4, high, low] = data.first_chunk()? else {
        return None;
    };
    let length = u16::from_be_bytes([high, low]);
    if length == 0 || length > RECORD_BYTES_MAX {
        return None;
    }
    Some(Hint::Tls(match kind {
        20 => TlsRecord::ChangeCipherSpec,
        21 => TlsRecord::Alert,
        22 => TlsRecord::Handshake,
        23 => TlsRecord::ApplicationData,
        _ => return None,
    }))
}

fn status(data: &[u8]) -> Option<Hint> {
    let rest = data.strip_prefix(b"HTTP/1.")?;
    let &[b'0'..=b'9', b' ', a @ b'1'..=b'5', b, c, b' ' | b'\r'] = rest.first_chunk()? else {
        return None;
    };
    let digits = [a, b, c];
    digits.iter().all(u8::is_ascii_digit).then(|| {
        let code = digits
            .iter()
            .fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        Hint::HttpStatus(code)
    })
}

fn request(data: &[u8]) -> Option<Hint> {
    let (method, rest) = METHODS.iter().find_map(|method| {
        let rest = data.strip_prefix(method.as_bytes())?;
        Some((*method, rest.strip_prefix(b" ")?))
    })?;
    let target = match rest.iter().position(|byte| *byte == b' ') {
        Some(end) => {
            rest.get(end + 1..)?.strip_prefix(b"HTTP/1.")?;
            rest.get(..end)?
        }
        // The request line continues after the captured data, but this data contains all characters that are stored.
        None if rest.len() > PATH_MAX => rest,
        None => return None,
    };
    let path = Path::new(target)?;
    Some(Hint::HttpRequest { method, path })
}

/// Message whose first bytes are needed: the packet, the index of the connection, the index in its list of worst
/// requests, and `true` for an answer. Messages are processed in the order of packets.
type Wanted = (u64, usize, usize, bool);

/// Looks up the beginnings of the requests and answers that are stored. `reader` must be at the start of the capture
/// that contains `connections`; it is read up to the last needed packet.
///
/// # Errors
/// Returns an error if the reader fails.
pub fn look_up<R: Read>(
    reader: &mut CaptureReader<R>,
    connections: &mut [ConnectionFindings],
    watch: &mut dyn Watch,
) -> Result<Extent, ReadError> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for (n, connection) in connections.iter().enumerate() {
        let worst = connection
            .requests
            .iter()
            .flat_map(|requests| &requests.worst);
        for (place, request) in worst.enumerate() {
            wanted.push((request.request.first_packet, n, place, false));
            wanted.push((request.answer.first_packet, n, place, true));
        }
    }
    wanted.sort_unstable();
    let mut wanted = wanted.into_iter().peekable();
    while wanted.peek().is_some() {
        let Some(captured) = reader.next_packet()? else {
            break;
        };
        let number = captured.number;
        while let Some((_, n, place, is_answer)) = wanted.next_if(|next| next.0 <= number) {
            let requests = connections.get_mut(n).and_then(|one| one.requests.as_mut());
            let request = requests.and_then(|requests| requests.worst.get_mut(place));
            let part = request.map(|request| match is_answer {
                false => &mut request.request,
                true => &mut request.answer,
            });
            if let Some(part) = part.filter(|part| part.first_packet == number) {
                part.hint = Hint::of(captured.tcp_data());
            }
        }
        let is_look = number.is_multiple_of(PACKETS_PER_LOOK);
        if is_look && watch.taken(reader.bytes_taken()) == Continue::Stop {
            return Ok(Extent::Interrupted);
        }
    }
    Ok(Extent::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(data: &[u8]) -> Option<String> {
        Hint::of(data).map(|hint| match hint {
            Hint::HttpRequest { method, path } => format!("{method} {path}"),
            Hint::HttpStatus(code) => code.to_string(),
            Hint::Tls(record) => format!("{record:?}"),
        })
    }

    #[test]
    fn complete_request_lines_and_statuses_are_recognised() {
        let cases: [(&[u8], Option<&str>); 12] = [
            (b"GET / HTTP/1.1\r\nHost: a\r\n", Some("GET /")),
            (b"POST /a/b?token=secret HTTP/1.1\r\n", Some("POST /a/b…")),
            (
                b"CONNECT a.example:443 HTTP/1.0\r\n",
                Some("CONNECT a.example:443"),
            ),
            (b"GET /cut-off-by-the-capt", None),
            (b"GET / HTTP/2", None),
            (b"GET /\x1b[31m HTTP/1.1\r\n", None),
            (b"GET /\xc3\xa4 HTTP/1.1\r\n", None),
            (b"FETCH / HTTP/1.1\r\n", None),
            (b"HTTP/1.1 404 Not Found\r\n", Some("404")),
            (b"HTTP/1.1 4x4 Not Found\r\n", None),
            (b"HTTP/1.1 404", None),
            (b"", None),
        ];
        for (data, wanted) in cases {
            assert_eq!(told(data).as_deref(), wanted, "{data:?}");
        }
    }

    #[test]
    fn a_long_path_is_truncated_and_needs_no_end() {
        let long = format!("GET /{}", "x".repeat(200));
        let wanted = format!("GET /{}…", "x".repeat(PATH_MAX - 1));
        assert_eq!(told(long.as_bytes()), Some(wanted));
        let exact = format!("GET /{} HTTP/1.1\r\n", "y".repeat(PATH_MAX - 1));
        let wanted = format!("GET /{}", "y".repeat(PATH_MAX - 1));
        assert_eq!(told(exact.as_bytes()), Some(wanted));
    }

    #[test]
    fn records_of_tls_have_a_known_type_version_and_length() {
        assert_eq!(told(&[22, 3, 1, 0, 200, 1]), Some("Handshake".to_owned()));
        assert_eq!(
            told(&[23, 3, 3, 0x48, 0]),
            Some("ApplicationData".to_owned())
        );
        for data in [
            &[23, 3, 3, 0x48][..],
            &[23, 3, 3, 0x48, 1],
            &[23, 3, 3, 0, 0],
            &[24, 3, 3, 0, 9],
            &[23, 2, 3, 0, 9],
            &[23, 3, 5, 0, 9],
        ] {
            assert_eq!(told(data), None, "{data:?}");
        }
    }
}
