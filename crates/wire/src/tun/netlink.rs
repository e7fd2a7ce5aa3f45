//! Requests to the kernel about interfaces: up, MTU, addresses, routes (rtnetlink(7)).
//!
//! The requests act on the network namespace of the calling thread.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::net::if_::if_nametoindex;

use super::Prefix;

/// Index of an interface in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceIndex(u32);

impl InterfaceIndex {
    /// Returns the index of the interface called `name`.
    pub(crate) fn of(name: &str) -> io::Result<Self> {
        Ok(Self(if_nametoindex(name)?))
    }
}

/// Brings an interface up.
pub(crate) fn bring_up(interface: InterfaceIndex) -> io::Result<()> {
    change_link(interface, LinkFlags::Up, Vec::new())
}

/// Sets an interface's MTU in bytes and the length of its transmit queue in packets.
pub(crate) fn set_mtu_and_queue(
    interface: InterfaceIndex,
    mtu: u32,
    queue_packets: u32,
) -> io::Result<()> {
    let attributes = vec![
        LinkAttribute::Mtu(mtu),
        LinkAttribute::TxQueueLen(queue_packets),
    ];
    change_link(interface, LinkFlags::empty(), attributes)
}

/// Adds an address to an interface. The network of the address is then reached through the interface.
pub(crate) fn add_address(interface: InterfaceIndex, address: Prefix) -> io::Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family_of(address.address);
    message.header.prefix_len = address.length;
    message.header.scope = AddressScope::Universe;
    if address.address.is_ipv6() {
        // The flag disables duplicate address detection, because there are no other hosts on the link. Without the
        // flag, the kernel blocks the address until the detection is complete (RFC 4862 §5.4).
        message.header.flags = AddressHeaderFlags::Nodad;
    }
    message.header.index = interface.0;
    message
        .attributes
        .push(AddressAttribute::Local(address.address));
    message
        .attributes
        .push(AddressAttribute::Address(address.address));
    request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE)
}

/// Routes packets for `destination` to an interface.
pub(crate) fn add_route(interface: InterfaceIndex, destination: Prefix) -> io::Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = family_of(destination.address);
    message.header.destination_prefix_length = destination.length;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = match destination.address {
        IpAddr::V4(_) => RouteScope::Link,
        IpAddr::V6(_) => RouteScope::Universe,
    };
    message.header.kind = RouteType::Unicast;
    let network = match destination.address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    };
    message
        .attributes
        .push(RouteAttribute::Destination(network));
    message.attributes.push(RouteAttribute::Oif(interface.0));
    request(
        RouteNetlinkMessage::NewRoute(message),
        NLM_F_CREATE | NLM_F_REPLACE,
    )
}

fn family_of(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

fn change_link(
    interface: InterfaceIndex,
    flags: LinkFlags,
    attributes: Vec<LinkAttribute>,
) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = interface.0;
    message.header.flags = flags;
    message.header.change_mask = flags;
    message.attributes = attributes;
    request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Sends one request and waits for the kernel's answer.
fn request(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);

    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(()),
    }
}
