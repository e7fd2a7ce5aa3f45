//! Identifiers: each kind has its own index type, so that a flow cannot be mistaken for a link.

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the number as an index into a table of such objects.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_type! {
    /// A host or router, numbered from 0 in the order of creation.
    NodeId
}

index_type! {
    /// A link, in one direction, numbered from 0 in the order of creation.
    LinkId
}

index_type! {
    /// A shared radio channel, numbered from 0 in the order of creation.
    MediumId
}

index_type! {
    /// A station of a medium, numbered from 0 in the order of creation within the medium.
    StationId
}

index_type! {
    /// A flow: a TCP connection or a UDP source, numbered from 0 in the order of creation.
    FlowId
}

index_type! {
    /// A path through the network; see [`crate::route`].
    RouteId
}

index_type! {
    /// Owner of at most one pending entry in the [event queue](crate::event).
    EventSlot
}
