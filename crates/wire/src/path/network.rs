//! Test network that leaves nothing behind: two hosts of this machine's kernel, each in its own namespace, connected by
//! an emulated path.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::record::{CaptureFileError, CaptureFiles, Recorder};
use super::{PathConfig, PathReport, RunningPath};
use crate::clock::WallClock;
use crate::family::Family;
use crate::namespace::{Namespace, NamespaceError};
use crate::tun::{Offload, Prefix, Tun, TunConfig, TunError};

/// Addresses of the network: 10.98.0.0/16, private (RFC 1918), and fd98::/32, unique local (RFC 4193). They are not
/// visible outside the namespaces.
const NETWORK_V4: [u8; 2] = [10, 98];
const NETWORK_V6: u16 = 0xfd98;
const PREFIX_V4: u8 = 16;
const PREFIX_V6: u8 = 32;

/// Subnet of a side that contains an endpoint and the host in front of it.
const ENDPOINT_SUBNET: u8 = 1;
const SUBNET_PREFIX_V4: u8 = 24;
const SUBNET_PREFIX_V6: u8 = 64;

/// A device behind one of the hosts, and the addresses that are reached through it.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndpointDevice {
    /// The device.
    pub tun: Tun,
    /// One IPv4 and one IPv6 address.
    pub addresses: Vec<IpAddr>,
}

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The host at the start of the forward link.
    Near,
    /// The host at the end of the forward link.
    Far,
}

/// Two hosts and the path between them. Programs and threads in their namespaces end with the network.
#[derive(Debug)]
pub struct PathNetwork {
    // Fields are dropped in this order. The path must be dropped first, because it holds the devices.
    path: RunningPath,
    recorder: Option<Recorder>,
    near: Namespace,
    far: Namespace,
}

/// Two hosts with no path between them yet. The packets that they send wait in their devices.
#[derive(Debug)]
pub struct Hosts {
    // Fields are dropped in this order. The devices must be dropped first.
    near_tun: Tun,
    far_tun: Tun,
    near: Namespace,
    far: Namespace,
}

/// Attachment of the hosts to the path.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Length of the longest IP packet on the path, in bytes.
    pub mtu: u16,
    /// Offload on the near device.
    pub near: Offload,
    /// Offload on the far device.
    pub far: Offload,
}

impl Default for Attachment {
    /// Returns an attachment with Ethernet's MTU and with offload.
    fn default() -> Self {
        Self {
            mtu: 1500,
            near: Offload::WherePossible,
            far: Offload::WherePossible,
        }
    }
}

/// Errors of creating or running a network.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A namespace cannot be made or set up.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device cannot be made or set up.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// The path cannot be started.
    #[error("cannot start the emulated path")]
    Path(#[source] io::Error),
    /// The path ended early.
    #[error("the emulated path ended by itself")]
    Ended(#[source] io::Error),
    /// A capture of the path cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureFileError),
}

impl Hosts {
    /// Creates the hosts.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a step. The error states the requirements.
    pub fn new(attachment: Attachment) -> Result<Self, NetworkError> {
        let (near, near_tun) = host(Side::Near, attachment.mtu, attachment.near)?;
        let (far, far_tun) = host(Side::Far, attachment.mtu, attachment.far)?;
        Ok(Self {
            near_tun,
            far_tun,
            near,
            far,
        })
    }

    /// Returns the host on one side.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Namespace {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }

    /// Starts the path between the hosts. The path's clock starts now. If `files` is given, the path's packets are
    /// captured.
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started or the files cannot be created.
    pub fn join(
        self,
        config: &PathConfig,
        files: Option<&CaptureFiles>,
    ) -> Result<PathNetwork, NetworkError> {
        let clock = WallClock::start();
        let started = files
            .map(|files| Recorder::start(files, clock))
            .transpose()?;
        let (recorder, taps) = match started {
            Some((recorder, taps)) => (Some(recorder), taps.map(Some)),
            None => (None, [None, None]),
        };
        let path = RunningPath::tapped(config, self.near_tun, self.far_tun, clock, taps);
        Ok(PathNetwork {
            path: path.map_err(NetworkError::Path)?,
            recorder,
            near: self.near,
            far: self.far,
        })
    }
}

impl PathNetwork {
    /// Creates the hosts and starts the path.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a step. The error states the requirements.
    pub fn new(config: &PathConfig, attachment: Attachment) -> Result<Self, NetworkError> {
        Self::captured(config, attachment, None)
    }

    /// Same as [`new`](Self::new), and captures the path's packets in `files`.
    ///
    /// # Errors
    ///
    /// Returns an error if [`new`](Self::new) does, or if the files cannot be created.
    pub fn captured(
        config: &PathConfig,
        attachment: Attachment,
        files: Option<&CaptureFiles>,
    ) -> Result<Self, NetworkError> {
        Hosts::new(attachment)?.join(config, files)
    }

    /// Returns the host on one side.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Namespace {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }

    /// Attaches a device for one of our endpoints behind the host on one side. The host forwards packets between the
    /// device and the path.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a step, for example a second device on the same side.
    pub fn attach_endpoint(
        &self,
        side: Side,
        mtu: u16,
        offload: Offload,
    ) -> Result<EndpointDevice, NetworkError> {
        const HOST: u8 = 1;
        const ENDPOINT: u8 = 2;
        let host = self.host(side);
        host.set("ipv4/ip_forward", "1")?;
        if Family::V6.is_there() {
            host.set("ipv6/conf/all/forwarding", "1")?;
        }
        let prefix = |family, length| Prefix {
            address: side.subnet_address(family, ENDPOINT_SUBNET, HOST),
            length,
        };
        let config = TunConfig {
            name: "endpoint".to_owned(),
            mtu,
            addresses: usable([
                prefix(Family::V4, SUBNET_PREFIX_V4),
                prefix(Family::V6, SUBNET_PREFIX_V6),
            ]),
            routes: Vec::new(),
            offload,
        };
        let tun = host.run(move || Tun::open(&config))?;
        let address = |family| side.subnet_address(family, ENDPOINT_SUBNET, ENDPOINT);
        Ok(EndpointDevice {
            tun,
            addresses: vec![address(Family::V4), address(Family::V6)],
        })
    }

    /// Makes the kernel run the path's thread before all ordinary threads; see [`RunningPath::give_precedence`].
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not allow this.
    pub fn give_precedence(&self) -> io::Result<()> {
        self.path.give_precedence()
    }

    /// Ends the count by port. Packets that the path reads from now on are not counted by port.
    pub fn end_count_by_port(&self) {
        self.path.end_count_by_port();
    }

    /// Ends the path, then the hosts, and returns the path's report.
    ///
    /// # Errors
    ///
    /// Returns an error if the path had already ended by itself, or if a capture could not be written.
    pub fn stop(self) -> Result<PathReport, NetworkError> {
        let passed = self.path.stop().map_err(NetworkError::Ended);
        let captures = self.recorder.map(Recorder::finish).transpose()?;
        Ok(PathReport {
            captures,
            ..passed?
        })
    }
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// Returns the index of this side in an array with one element per side.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Near => 0,
            Self::Far => 1,
        }
    }

    /// Returns the address of the host on this side.
    #[must_use]
    pub const fn address(self, family: Family) -> IpAddr {
        self.subnet_address(family, 0, 1)
    }

    /// Returns the name of the host's device.
    #[must_use]
    pub const fn device(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }

    /// Returns an address in one of this side's subnets. The host itself has number 1 in subnet 0.
    const fn subnet_address(self, family: Family, subnet: u8, number: u8) -> IpAddr {
        let side = match self {
            Self::Near => 1,
            Self::Far => 2,
        };
        match family {
            Family::V4 => {
                let [a, b] = NETWORK_V4;
                IpAddr::V4(Ipv4Addr::new(a, b, side * 16 + subnet, number))
            }
            Family::V6 => {
                let (side, subnet, number) = (side as u16, subnet as u16, number as u16);
                IpAddr::V6(Ipv6Addr::new(NETWORK_V6, 0, side, subnet, 0, 0, 0, number))
            }
        }
    }
}

/// Returns the prefixes of the IP versions that the kernel supports.
fn usable(both: [Prefix; 2]) -> Vec<Prefix> {
    let is_usable = |prefix: &Prefix| Family::of(prefix.address).is_there();
    both.into_iter().filter(is_usable).collect()
}

/// Creates a namespace and a device in it. The device's network is the whole test network.
fn host(side: Side, mtu: u16, offload: Offload) -> Result<(Namespace, Tun), NetworkError> {
    let namespace = Namespace::new(side.device())?;
    let config = TunConfig {
        name: side.device().to_owned(),
        mtu,
        addresses: usable([
            Prefix {
                address: side.address(Family::V4),
                length: PREFIX_V4,
            },
            Prefix {
                address: side.address(Family::V6),
                length: PREFIX_V6,
            },
        ]),
        routes: Vec::new(),
        offload,
    };
    let tun = namespace.run(move || Tun::open(&config))?;
    Ok((namespace, tun))
}
