//! Causes of drops, and counters of a link.

/// True cause of a packet's drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropCause {
    /// The buffer was full.
    QueueFull,
    /// RED dropped the packet at random.
    RedEarly,
    /// RED's average was so high that all packets were dropped.
    RedForced,
    /// A loss model dropped the packet.
    Random,
    /// A loss script listed the packet.
    Script,
    /// The retry limit on a shared channel was reached, mostly because of other transmissions.
    Collision,
    /// The link was down.
    LinkDown,
    /// The retry limit on a shared channel was reached, mostly because of corrupted frames.
    FrameError,
    /// An active queue management other than RED dropped the packet: CoDel, PIE, PI2, BLUE, or ACK thinning.
    Aqm,
    /// The buffer was full, and the packet's flow occupied most of it.
    FattestFlow,
    /// The packet did not conform to a token bucket.
    Policed,
}

/// Nature of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossNature {
    /// Congestion: more traffic than the path can carry.
    Congestion,
    /// Other causes; called "wireless" in the literature on loss differentiation.
    Wireless,
}

impl DropCause {
    /// All causes, in the order of their discriminants.
    pub const ALL: [Self; 11] = [
        Self::QueueFull,
        Self::RedEarly,
        Self::RedForced,
        Self::Random,
        Self::Script,
        Self::Collision,
        Self::LinkDown,
        Self::FrameError,
        Self::Aqm,
        Self::FattestFlow,
        Self::Policed,
    ];

    /// Returns the nature of the loss. Drops by a queue are congestion. Collisions are congestion too, because there
    /// would be fewer of them with fewer packets on the channel. All other losses are not congestion.
    #[must_use]
    pub const fn nature(self) -> LossNature {
        match self {
            Self::QueueFull
            | Self::RedEarly
            | Self::RedForced
            | Self::Collision
            | Self::Aqm
            | Self::FattestFlow
            | Self::Policed => LossNature::Congestion,
            Self::Random | Self::Script | Self::LinkDown | Self::FrameError => LossNature::Wireless,
        }
    }

    /// Returns the name of the cause in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue full",
            Self::RedEarly => "RED early",
            Self::RedForced => "RED forced",
            Self::Random => "random",
            Self::Script => "script",
            Self::Collision => "collision",
            Self::LinkDown => "link down",
            Self::FrameError => "frame error",
            Self::Aqm => "AQM",
            Self::FattestFlow => "fattest flow",
            Self::Policed => "policed",
        }
    }
}

/// Number of drops for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropCause::ALL.len()]);

impl DropCounts {
    /// Counts one drop.
    pub const fn add(&mut self, cause: DropCause) {
        self.0[cause as usize] += 1;
    }

    /// Returns the number of drops for `cause`.
    #[must_use]
    pub const fn of(&self, cause: DropCause) -> u64 {
        self.0[cause as usize]
    }

    /// Returns the number of drops of a nature.
    #[must_use]
    pub fn of_nature(&self, nature: LossNature) -> u64 {
        let causes = DropCause::ALL.into_iter();
        causes
            .filter(|cause| cause.nature() == nature)
            .map(|cause| self.of(cause))
            .sum()
    }

    /// Returns the number of all drops.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the drops since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }
}

/// Counters of a link. The fields are stored in this order: the counters that every packet changes come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[non_exhaustive]
pub struct LinkCounters {
    /// Packets offered.
    pub offered_packets: u64,
    /// Packets transmitted and either arrived or lost on the wire, without second copies.
    pub carried_packets: u64,
    /// Bytes of the carried packets.
    pub carried_bytes: u64,
    /// Packets delivered twice.
    pub duplicated_packets: u64,
    /// Drops, including those on the wire.
    pub drops: DropCounts,
    /// Maximum number of packets that waited at the same time. Differences of counters keep this value.
    pub backlog_max_packets: u64,
    /// Packets marked with congestion experienced (RFC 3168 §7) instead of being dropped.
    pub marked_packets: u64,
}

impl LinkCounters {
    /// Counts a transmitted packet of `bytes` bytes.
    pub(crate) const fn carried(&mut self, bytes: u32) {
        self.carried_packets += 1;
        self.carried_bytes += bytes as u64;
    }

    /// Returns the counts since `earlier`. The maximum backlog remains that of the whole run.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            offered_packets: self.offered_packets - earlier.offered_packets,
            carried_packets: self.carried_packets - earlier.carried_packets,
            carried_bytes: self.carried_bytes - earlier.carried_bytes,
            duplicated_packets: self.duplicated_packets - earlier.duplicated_packets,
            drops: self.drops.since(&earlier.drops),
            backlog_max_packets: self.backlog_max_packets,
            marked_packets: self.marked_packets - earlier.marked_packets,
        }
    }
}
