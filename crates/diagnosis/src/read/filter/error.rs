//! Errors of capture filters. A message gives the column of the mistake, the expected syntax and an example, in one
//! line.

use std::fmt;

/// Maximum depth of nested parentheses (our choice: people write three).
pub(super) const DEPTH_MAX: usize = 64;

/// Capture filter that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Column of the mistake, in characters from 1.
    pub column: usize,
    /// Kind of the mistake.
    pub problem: Problem,
}

/// Mistake in a capture filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Unexpected text.
    Expected {
        /// Expected syntax.
        expected: &'static str,
        /// Text that was found.
        found: String,
        /// Expression with the expected syntax.
        example: String,
    },
    /// Host name instead of an address.
    HostName(String),
    /// Word with a typing error.
    Misspelt {
        /// The word.
        found: String,
        /// Keyword that differs from the word by one edit.
        keyword: &'static str,
    },
    /// Syntax of tcpdump or Wireshark that is not parsed.
    Unsupported(String),
    /// Network address with bits beyond its prefix.
    HostBits {
        /// The network.
        found: String,
        /// The network without these bits.
        network: String,
    },
    /// Prefix that is longer than an address.
    Prefix {
        /// The network.
        found: String,
        /// Maximum length of a prefix of such an address, in bits.
        most: u32,
    },
    /// Connection number of Wireshark (`tcp.stream`).
    StreamNumber(Option<u64>),
    /// Display filter whose meaning depends on the precedence of its operators.
    Mixed,
    /// Parenthesis that is not closed.
    Unclosed,
    /// Too many nested parentheses.
    TooDeep,
}

impl std::error::Error for FilterError {}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected {
                expected,
                found,
                example,
            } => write!(
                f,
                "expected {expected}, found {found}: write `{example}`, for example"
            ),
            Self::HostName(name) => write!(
                f,
                "`{name}` is not an IP address, and names are not resolved: write an address, as in `host 192.0.2.1`"
            ),
            Self::Misspelt { found, keyword } => {
                write!(f, "there is no keyword `{found}`: did you mean `{keyword}`?")
            }
            Self::Unsupported(word) => write!(
                f,
                "`{word}` is not supported: write host, net, port or portrange, as in `host 192.0.2.1 and port 443`"
            ),
            Self::HostBits { found, network } => write!(
                f,
                "`{found}` has bits beyond its prefix: write `net {network}`"
            ),
            Self::Prefix { found, most } => {
                let (version, example) = match most {
                    32 => ("IPv4", "10.0.0.0/8"),
                    _ => ("IPv6", "2001:db8::/32"),
                };
                write!(
                    f,
                    "`{found}` has a prefix longer than {most} bits, the length of an {version} address: write \
                     `net {example}`, for example"
                )
            }
            Self::StreamNumber(number) => {
                let flow = number.map_or(1, |number| number.saturating_add(1));
                write!(
                    f,
                    "`tcp.stream` is not a property of a packet: leave it out and write `--flow {flow}`, \
                     which counts connections from 1"
                )
            }
            Self::Mixed => f.write_str(
                "tcpdump and Wireshark differ in the precedence of `and` after `or`: write parentheses, as in \
                 `tcp.port == 80 or (tcp.port == 443 and ip.addr == 192.0.2.1)`",
            ),
            Self::Unclosed => f.write_str(
                "expected a `)` that closes this parenthesis: write `(port 80 or port 443)`, for example",
            ),
            Self::TooDeep => write!(
                f,
                "more than {DEPTH_MAX} nested parentheses: write fewer, as in `(port 80 or port 443) and net 10.0.0.0/8`"
            ),
        }
    }
}

/// Returns text that is safe to display: it is short and has no control characters, so it cannot move the cursor.
pub(super) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut shown: String = text
        .chars()
        .take(CHARS_MAX)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
