//! Why packets end, and what a link counts.

/// The true cause of a packet's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropCause {
    /// The buffer was full.
    QueueFull,
    /// RED dropped it by chance.
    RedEarly,
    /// RED's average was so high that it dropped everything.
    RedForced,
    /// A loss model took it.
    Random,
    /// A loss script named it.
    Script,
    /// The retry limit on a shared channel, reached mostly because of other transmissions.
    Collision,
    /// The link was down.
    LinkDown,
    /// The retry limit on a shared channel, reached mostly because of corrupted frames.
    FrameError,
    /// An active queue management other than RED dropped it: CoDel, PIE, PI2, BLUE, or what thins
    /// ACKs.
    Aqm,
    /// The buffer was full, and its flow took most of it.
    FattestFlow,
    /// It did not conform to a token bucket.
    Policed,
}

/// What a loss says about the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossNature {
    /// More traffic than the path carries.
    Congestion,
    /// Something else; "wireless" in the literature on loss differentiation.
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

    /// What the loss says about the path: drops by a queue are congestion, and so are collisions,
    /// for fewer packets on the channel would collide less. All others are not.
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

    /// The cause's name in reports.
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

/// How many packets were dropped for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropCause::ALL.len()]);

impl DropCounts {
    /// Counts one drop.
    pub const fn add(&mut self, cause: DropCause) {
        self.0[cause as usize] += 1;
    }

    /// Drops for `cause`.
    #[must_use]
    pub const fn of(&self, cause: DropCause) -> u64 {
        self.0[cause as usize]
    }

    /// Drops of a nature.
    #[must_use]
    pub fn of_nature(&self, nature: LossNature) -> u64 {
        let causes = DropCause::ALL.into_iter();
        causes
            .filter(|cause| cause.nature() == nature)
            .map(|cause| self.of(cause))
            .sum()
    }

    /// All drops.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The drops since `earlier` was counted.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] - earlier.0[i]))
    }
}

/// What has passed through a link. In memory the fields stand in this order: those that every
/// packet changes are the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[non_exhaustive]
pub struct LinkCounters {
    /// Packets offered.
    pub offered_packets: u64,
    /// Packets transmitted and either arrived or lost on the wire, second copies not counted.
    pub carried_packets: u64,
    /// Their bytes.
    pub carried_bytes: u64,
    /// Packets delivered twice.
    pub duplicated_packets: u64,
    /// Drops, those on the wire included.
    pub drops: DropCounts,
    /// The most packets that waited at once; not reset by differences.
    pub backlog_max_packets: u64,
    /// Packets marked with congestion (RFC 3168 §7) instead of being dropped.
    pub marked_packets: u64,
}

impl LinkCounters {
    /// Counts a packet of so many bytes that was transmitted.
    pub(crate) const fn carried(&mut self, bytes: u32) {
        self.carried_packets += 1;
        self.carried_bytes += bytes as u64;
    }

    /// What has passed since `earlier` was read.
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
