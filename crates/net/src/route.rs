//! Static routes in one table: a packet in transit carries one index, and a hop reads one word.

use crate::ids::{LinkId, RouteId};

/// Position of a packet on its route: an index into the [`RouteTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hop(u32);

/// All routes of a network, one after another, each terminated by an end mark.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    links: Vec<LinkId>,
    starts: Vec<Hop>,
}

/// Mark after the last link of a route.
const END: LinkId = LinkId(u32::MAX);

impl RouteTable {
    /// Adds a route over `links`, in order.
    pub fn add(&mut self, links: &[LinkId]) -> RouteId {
        let route = RouteId(self.starts.len() as u32);
        self.starts.push(Hop(self.links.len() as u32));
        self.links.extend_from_slice(links);
        self.links.push(END);
        route
    }

    /// Returns the first hop of `route`.
    #[must_use]
    pub fn start(&self, route: RouteId) -> Hop {
        self.starts[route.index()]
    }

    /// Returns the link to take at `hop`; `None` at the destination.
    #[must_use]
    pub fn link(&self, hop: Hop) -> Option<LinkId> {
        let link = self.links[hop.0 as usize];
        (link != END).then_some(link)
    }

    /// Returns the links of `route`, in order.
    #[must_use]
    pub fn links(&self, route: RouteId) -> &[LinkId] {
        let rest = &self.links[self.start(route).0 as usize..];
        let len = rest.iter().position(|&link| link == END).unwrap_or(0);
        &rest[..len]
    }
}

impl Hop {
    /// Returns the following hop. Only valid if [`RouteTable::link`] returns a link for this hop.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_follows_its_route_to_the_end() {
        let mut table = RouteTable::default();
        table.add(&[LinkId(9)]);
        let route = table.add(&[LinkId(2), LinkId(5)]);
        let first = table.start(route);
        assert_eq!(table.link(first), Some(LinkId(2)));
        assert_eq!(table.link(first.next()), Some(LinkId(5)));
        assert_eq!(table.link(first.next().next()), None);
        assert_eq!(table.links(route), [LinkId(2), LinkId(5)]);
        assert_eq!(table.links(RouteId(0)), [LinkId(9)]);
    }
}
