//! Transmitters that act on their own: shared radio channels and managed queues.
//!
//! A FIFO determines the departure time of a packet at enqueue, so its link needs an event only for the far end. A
//! radio station waits for its channel, and a managed queue chooses its next packet when the transmitter becomes free.
//! So each channel and each managed queue has its own [event slot](crate::event).

use crate::ids::{LinkId, MediumId};
use crate::link::Link;
use crate::wireless::{Medium, RadioPort};

/// Transmitters of the links that are not FIFOs.
#[derive(Clone, Debug, Default)]
pub struct Transmitters {
    pub(super) media: Vec<Medium>,
    /// Links with a managed queue, in the order of the queues' numbers.
    pub(super) managed: Vec<LinkId>,
    /// Transmitter of each link; `None` for a FIFO. The list is empty if all links are FIFOs, so that packets on them
    /// need no lookup.
    of_links: Vec<Option<Transmitter>>,
}

/// Transmitter of a link that is not a FIFO.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transmitter {
    /// A station on a shared channel.
    Radio(MediumId, RadioPort),
    /// A managed queue, by its number among all managed queues.
    Managed(u32),
}

impl Transmitters {
    /// Creates the transmitters of `links`. `ports` contains the medium and the stations of each radio link.
    #[must_use]
    pub fn new(
        links: &[Link],
        media: Vec<Medium>,
        ports: Vec<Option<(MediumId, RadioPort)>>,
    ) -> Self {
        let mut managed = Vec::new();
        let mut of_links = Vec::new();
        let ports = ports.into_iter().chain(std::iter::repeat(None));
        for ((link, port), id) in links.iter().zip(ports).zip(0..) {
            of_links.push(if link.is_managed() {
                managed.push(LinkId(id));
                Some(Transmitter::Managed(managed.len() as u32 - 1))
            } else {
                port.map(|(medium, port)| Transmitter::Radio(medium, port))
            });
        }
        if of_links.iter().all(Option::is_none) {
            of_links = Vec::new();
        }
        Self {
            media,
            managed,
            of_links,
        }
    }

    /// Returns the number of event slots: one per medium, then one per managed queue.
    pub(super) const fn slots(&self) -> usize {
        self.media.len() + self.managed.len()
    }

    /// Returns the transmitter of `link`; `None` for a FIFO.
    pub(super) fn of(&self, link: LinkId) -> Option<Transmitter> {
        self.of_links.get(link.index()).copied().flatten()
    }
}
