//! Who accepts connections at a port of a host, in two steps: what a SYN gets, and what a
//! finished handshake gets.
//!
//! Anybody can send SYNs, and in anybody's name. So a connection whose handshake is not over has no
//! application and no buffers, and of SYNs beyond a number nothing is kept at all (RFC 4987 §3.6).

use std::fmt;
use std::net::SocketAddr;

use dupack_tcp::connection::{BuildSender, Config};

use super::application::Application;

/// A connection that is to be.
pub struct Opening {
    /// Its parameters. The host sets the numbers that must be random and the sizes that follow
    /// from the device: `iss`, `mss`, `default_peer_mss`, `timestamp_offset`,
    /// `challenge_secret` and `seed`.
    pub config: Config,
    /// Makes its sender.
    pub build: BuildSender,
    /// What uses it.
    pub application: Box<dyn Application>,
}

/// What a SYN is answered with: an [`Opening`] without an application.
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
    /// The same for `application`, to connect with.
    #[must_use]
    pub fn used_by(self, application: impl Application + 'static) -> Opening {
        Opening {
            config: self.config,
            build: self.build,
            application: Box::new(application),
        }
    }
}

/// Who accepts connections at a port.
pub trait Listener: Send {
    /// `peer`, or somebody in its name, asks for a connection; `None` to refuse it. Most that
    /// are offered may come to nothing. Where nothing was kept of the SYN, the same is asked once more
    /// when the handshake ends.
    fn offer(&mut self, peer: SocketAddr) -> Option<Offer>;

    /// `peer` has finished the handshake: what uses the connection; `None` to reset it.
    fn accept(&mut self, peer: SocketAddr) -> Option<Box<dyn Application>>;

    /// Whether there will be more to accept. Once there will not, the port is closed.
    fn is_open(&self) -> bool;
}

/// Accepts one connection.
pub struct Once<F> {
    offer: F,
    /// `None` once it is in use.
    application: Option<Box<dyn Application>>,
}

impl<F: FnMut() -> Offer + Send> Once<F> {
    /// For the first who finishes a handshake, `application`; `offer` makes what every SYN until
    /// then is answered with.
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
