//! Reasons why two captures cannot be joined.

use std::error::Error;
use std::fmt;

use dupack_packet::captured::ReadError;

use super::Which;

/// Reason why two captures cannot be joined.
#[derive(Debug)]
#[non_exhaustive]
pub enum BothError {
    /// One of the captures cannot be read.
    Read(Which, ReadError),
    /// No connection is in both captures.
    NothingShared,
    /// The captures are copies of one another.
    SameCapture,
    /// Both captures were taken at the same place.
    SamePlace,
    /// The captures have packets of only one direction in common.
    OneDirection,
}

impl BothError {
    /// Returns advice on how to avoid the error.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Read(..) => "write the capture with `tcpdump -w FILE` or Wireshark",
            Self::NothingShared => {
                "capture the same transfer at the client and at the server, at the same time; a proxy between them \
                 terminates the connection and opens another one"
            }
            Self::SameCapture => "name one capture from the client and one from the server",
            Self::SamePlace => "take one capture at the client and the other at the server",
            Self::OneDirection => {
                "capture both directions at both ends, without a filter by source or destination"
            }
        }
    }
}

impl fmt::Display for BothError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(_, error) => error.fmt(f),
            Self::NothingShared => f.write_str(
                "the captures share no connection with data: no packets have the same sequence numbers or timestamps in \
                 both",
            ),
            Self::SameCapture => {
                f.write_str("the captures have the same packets at the same times: they are one capture")
            }
            Self::SamePlace => f.write_str(
                "the captures were taken at the same end: packets take almost no time from one to the other",
            ),
            Self::OneDirection => f.write_str(
                "the captures share packets of one direction only, but the clock offset requires packets of both directions",
            ),
        }
    }
}

impl Error for BothError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read(_, error) => error.source(),
            _ => None,
        }
    }
}

/// Reason why one connection cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apart {
    NotShared,
    OneDirection,
    SameCapture,
    SamePlace,
}

impl BothError {
    /// Returns the most informative reason if none of the connections could be joined.
    pub(super) fn of(apart: &[Apart]) -> Self {
        let has = |why| apart.contains(&why);
        if has(Apart::SameCapture) {
            Self::SameCapture
        } else if has(Apart::SamePlace) {
            Self::SamePlace
        } else if has(Apart::OneDirection) {
            Self::OneDirection
        } else {
            Self::NothingShared
        }
    }
}
