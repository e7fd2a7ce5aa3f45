//! Static routes, interned: a packet on its way holds one index and reads one word per hop.

use crate::ids::{LinkId, RouteId};

/// Where a packet stands on its route: an index into the [`RouteTable`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hop(u32);

/// All routes of a network, one after another, each closed by an end mark.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    links: Vec<LinkId>,
    starts: Vec<Hop>,
}

/// Stands after the last link of a route.
const END: LinkId = LinkId(u32::MAX);

impl RouteTable {
    /// Adds the route over `links`, in order.
    pub fn add(&mut self, links: &[LinkId]) -> RouteId {
        let route = RouteId(self.starts.len() as u32);
        self.starts.push(Hop(self.links.len() as u32));
        self.links.extend_from_slice(links);
        self.links.push(END);
        route
    }

    /// The first hop of `route`.
    #[must_use]
    pub fn start(&self, route: RouteId) -> Hop {
        self.starts[route.index()]
    }

    /// The link to be taken at `hop`; `None` at the destination.
    #[must_use]
    pub fn link(&self, hop: Hop) -> Option<LinkId> {
        let link = self.links[hop.0 as usize];
        (link != END).then_some(link)
    }

    /// The links of `route`, in order.
    #[must_use]
    pub fn links(&self, route: RouteId) -> &[LinkId] {
        let rest = &self.links[self.start(route).0 as usize..];
        let len = rest.iter().position(|&link| link == END).unwrap_or(0);
        &rest[..len]
    }
}

impl Hop {
    /// The hop after this one. Only meaningful while [`RouteTable::link`] says there is a link.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_walks_its_route_to_the_end() {
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
