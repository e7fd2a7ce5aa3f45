//! Listeners, which accept connections on a port of a host in two steps: a listener first provides the reply to a SYN,
//! and then the application for a completed handshake.
//!
//! Anybody can send SYNs, with a forged source address. A connection whose handshake is not complete therefore has no
//! application and no buffers, and SYNs beyond a limit are not stored at all (RFC 4987 §3.6).

use std::fmt;
use std::net::SocketAddr;

use dupack_tcp::connection::{BuildSender, Config};

use super::application::Application;

/// A connection to be opened.
pub struct Opening {
    /// Parameters of the connection. The host sets the numbers that must be random and the sizes that follow from the
    /// device: `iss`, `mss`, `default_peer_mss`, `timestamp_offset`, `challenge_secret` and `seed`.
    pub config: Config,
    /// Builds the connection's sender.
    pub build: BuildSender,
    /// Application that uses the connection.
    pub application: Box<dyn Application>,
}

/// The answer to a SYN: an [`Opening`] without an application.
pub struct Offer {
    /// See [`Opening::config`].
    pub config: Config,
    /// See [`Opening::build`].
    pub build: BuildSender,
}

impl From<(Config, BuildSender)> for Offer {
    fn from((config, build): (Config, BuildSender)) -> Self {
        Self { config, build }
    }
}

impl Offer {
    /// Turns the offer into an opening for `application`, to connect with.
    #[must_use]
    pub fn used_by(self, application: impl Application + 'static) -> Opening {
        Opening {
            config: self.config,
            build: self.build,
            application: Box::new(application),
        }
    }
}

/// Accepts connections on a port.
pub trait Listener: Send {
    /// Called when a SYN requests a connection in the name of `peer`. Returns `None` to refuse it. Many offers may
    /// never become connections. If the SYN was not stored, the method is called once more when the handshake
    /// completes.
    fn offer(&mut self, peer: SocketAddr) -> Option<Offer>;

    /// Called when `peer` has completed the handshake. Returns the application that uses the connection, or `None` to
    /// reset it.
    fn accept(&mut self, peer: SocketAddr) -> Option<Box<dyn Application>>;

    /// Returns `true` if the listener will accept more connections. Otherwise, the port is closed.
    fn is_open(&self) -> bool;
}

/// Listener that accepts one connection.
pub struct Once<F> {
    offer: F,
    /// `None` once the application is in use.
    application: Option<Box<dyn Application>>,
}

impl<F: FnMut() -> Offer + Send> Once<F> {
    /// Creates a listener that gives `application` to the first peer that completes a handshake. Until then, `offer`
    /// creates the answer to every SYN.
    pub fn new(offer: F, application: impl Application + 'static) -> Self {
        Self {
            offer,
            application: Some(Box::new(application)),
        }
    }
}

impl<F: FnMut() -> Offer + Send> Listener for Once<F> {
    fn offer(&mut self, _: SocketAddr) -> Option<Offer> {
        Some((self.offer)())
    }

    fn accept(&mut self, _: SocketAddr) -> Option<Box<dyn Application>> {
        self.application.take()
    }

    fn is_open(&self) -> bool {
        self.application.is_some()
    }
}

impl<F> fmt::Debug for Once<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once")
            .field("is_open", &self.application.is_some())
            .finish_non_exhaustive()
    }
}
