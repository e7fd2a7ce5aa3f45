//! Two hosts of this machine's kernel, each in a namespace of its own, joined by an emulated
//! path: a test network that leaves nothing behind.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::record::{CaptureFileError, CaptureFiles, Recorder};
use super::{PathConfig, PathReport, RunningPath};
use crate::clock::WallClock;
use crate::family::Family;
use crate::namespace::{Namespace, NamespaceError};
use crate::tun::{Offload, Prefix, Tun, TunConfig, TunError};

/// The network's addresses: 10.98.0.0/16, private (RFC 1918), and fd98::/32, unique local
/// (RFC 4193). Nothing outside the namespaces sees them.
const NETWORK_V4: [u8; 2] = [10, 98];
const NETWORK_V6: u16 = 0xfd98;
const PREFIX_V4: u8 = 16;
const PREFIX_V6: u8 = 32;

/// A subnet of a side: an endpoint and the host in front of it.
const ENDPOINT_SUBNET: u8 = 1;
const SUBNET_PREFIX_V4: u8 = 24;
const SUBNET_PREFIX_V6: u8 = 64;

/// A device behind one of the hosts, and the addresses that reach it.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndpointDevice {
    /// The device.
    pub tun: Tun,
    /// An IPv4 and an IPv6 address.
    pub addresses: Vec<IpAddr>,
}

/// Which of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where the forward link begins.
    Near,
    /// Where it ends.
    Far,
}

/// Two hosts and the path between them. What runs in their namespaces ends with it.
#[derive(Debug)]
pub struct PathNetwork {
    // Dropped in this order: the path first, for it holds the devices.
    path: RunningPath,
    recorder: Option<Recorder>,
    near: Namespace,
    far: Namespace,
}

/// Two hosts and nothing between them yet: what they send waits in their devices.
#[derive(Debug)]
pub struct Hosts {
    // Dropped in this order: the devices first.
    near_tun: Tun,
    far_tun: Tun,
    near: Namespace,
    far: Namespace,
}

/// How the hosts are attached to the path.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The longest IP packet on the path, in bytes.
    pub mtu: u16,
    /// Offload on the near device.
    pub near: Offload,
    /// Offload on the far device.
    pub far: Offload,
}

impl Default for Attachment {
    /// As Ethernet has it, with offload.
    fn default() -> Self {
        Self {
            mtu: 1500,
            near: Offload::WherePossible,
            far: Offload::WherePossible,
        }
    }
}

/// Why there is no network.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A namespace cannot be made or set up.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device cannot be made or set up.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// The path cannot begin.
    #[error("cannot start the emulated path")]
    Path(#[source] io::Error),
    /// It did not last.
    #[error("the emulated path ended by itself")]
    Ended(#[source] io::Error),
    /// A capture of it cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureFileError),
}

impl Hosts {
    /// Makes them.
    ///
    /// # Errors
    ///
    /// If the system refuses something; the error says what is needed.
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

    /// The host on one side.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Namespace {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }

    /// Starts the path between them, whose times count from now on, and writes what crosses it to
    /// `files`.
    ///
    /// # Errors
    ///
    /// If there is no room for a thread, or the files cannot be made.
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
    /// Makes the hosts and starts the path.
    ///
    /// # Errors
    ///
    /// If the system refuses something; the error says what is needed.
    pub fn new(config: &PathConfig, attachment: Attachment) -> Result<Self, NetworkError> {
        Self::captured(config, attachment, None)
    }

    /// As [`new`](Self::new), and writes what crosses the path to `files`.
    ///
    /// # Errors
    ///
    /// As there, or if the files cannot be made.
    pub fn captured(
        config: &PathConfig,
        attachment: Attachment,
        files: Option<&CaptureFiles>,
    ) -> Result<Self, NetworkError> {
        Hosts::new(attachment)?.join(config, files)
    }

    /// The host on one side.
    #[must_use]
    pub const fn host(&self, side: Side) -> &Namespace {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }

    /// Attaches a device for an endpoint of ours behind the host on one side, which forwards
    /// what goes between it and the path.
    ///
    /// # Errors
    ///
    /// If the system refuses something, for example a second one on the same side.
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

    /// Has the kernel run the path's thread before all ordinary ones: see
    /// [`RunningPath::give_precedence`].
    ///
    /// # Errors
    ///
    /// If the system does not let us.
    pub fn give_precedence(&self) -> io::Result<()> {
        self.path.give_precedence()
    }

    /// Ends the count by port: what the path reads from now on is in it no more.
    pub fn end_count_by_port(&self) {
        self.path.end_count_by_port();
    }

    /// Ends the path and then the hosts, and says what passed.
    ///
    /// # Errors
    ///
    /// If the path ended by itself before, or a capture could not be written.
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
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// Its place where there is one of each.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Near => 0,
            Self::Far => 1,
        }
    }

    /// The address of the host on this side.
    #[must_use]
    pub const fn address(self, family: Family) -> IpAddr {
        self.subnet_address(family, 0, 1)
    }

    /// The name of the host's device.
    #[must_use]
    pub const fn device(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }

    /// An address in one of this side's subnets: the host itself is number 1 of subnet 0.
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

/// Those of a family that the kernel has.
fn usable(both: [Prefix; 2]) -> Vec<Prefix> {
    let is_usable = |prefix: &Prefix| Family::of(prefix.address).is_there();
    both.into_iter().filter(is_usable).collect()
}

/// A namespace with a device in it whose network is the whole test network.
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
