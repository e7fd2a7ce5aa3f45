//! The time since the last segment left, piece by piece: what it was spent on is known only when the next one
//! leaves, as only then it shows what set it off.

use dupack_tcp::time::{Duration, Instant};

use super::span::Kind;

/// Pieces kept apart. Ours: a silence has a few changes (the window opens, a duplicate ACK comes); what
/// changes more often than this is given away as it seems.
const PIECES_MAX: usize = 8;

/// A pause with room in the window must last for this part of a round trip before it says anything. Ours:
/// pacing and offload make shorter ones.
pub(super) const PAUSE_PART: u64 = 4;

/// A new segment that no ACK set off shows that there had been room for this part of a round trip. Ours:
/// twice the above, as nothing else speaks for a pause.
const SILENCE_PART: u64 = 2;

/// How it looks while nothing leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing is outstanding.
    Empty,
    /// The receiver's window is shut.
    Shut(Outstanding),
    /// The receiver's window has no room for a segment.
    Full,
    /// Less is in flight than the congestion window is known to permit.
    Room,
    /// Far less.
    Ample,
    /// Nothing of these: the congestion window, or the repair of a loss.
    Other,
}

/// Whether there is something outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outstanding {
    Nothing,
    Something,
}

/// What the last segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Short, and pushed: the application had written no more when it left.
    EndOfMessage,
    /// Full, and not pushed by a sender that pushes the last of what it has (RFC 9293 §3.9.1.2): the application had written more.
    More,
    /// The same of a sender whose messages are short: the rest of this one may be no full segment, and wait for ACKs (Nagle's
    /// algorithm) or for the next message.
    Rest,
    Full,
}

/// A piece of silence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) look: Look,
    /// What it belongs to if nothing else is found.
    pub(super) kind: Kind,
    /// Bytes that were delivered in it, as the ACK at its end says.
    pub(super) delivered: u64,
}

impl Piece {
    const fn duration(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// What ended a silence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    /// A timer that ran since then: one of the two kinds.
    Timer { kind: Kind, since: Instant },
    /// A probe of the window, or of the peer.
    Probe,
    /// An ACK, just before.
    Ack(Outstanding),
    /// An ACK without data, just before, of everything: a short segment had waited for it (RFC 896).
    LastAck,
    /// A repair, which is sent when the ACKs say so.
    Repair,
    /// Nothing that is seen. The last ACK came then.
    Nothing { last_ack: Instant },
    /// The stream is over. The last packet came then.
    End { last: Instant },
}

/// Durations that decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) round_trip: Duration,
    pub(super) timeout: Duration,
}

/// What a piece turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settled {
    pub(super) to: Instant,
    pub(super) kind: Kind,
    /// As the sender's kernel would count it.
    pub(super) look: Look,
    /// Bytes that were delivered in it.
    pub(super) delivered: u64,
}

/// Silence so far.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    pieces: Vec<Piece>,
    tail: Tail,
    /// When the first ACK came that made room.
    first_advance: Option<Instant>,
}

impl Quiet {
    pub(super) const fn new() -> Self {
        Self {
            pieces: Vec::new(),
            tail: Tail::Full,
            first_advance: None,
        }
    }

    /// New data left: what comes now comes after it.
    pub(super) const fn begin(&mut self, tail: Tail) {
        self.tail = tail;
    }

    /// What left since the last departure left together with it, as its timestamp says: all this time looks as
    /// it does now.
    pub(super) fn relabel(&mut self, look: Look, kind: Kind) {
        for piece in &mut self.pieces {
            piece.look = look;
            piece.kind = kind;
        }
    }

    /// Whether the last new data ended a message.
    pub(super) fn has_ended(&self) -> bool {
        self.tail == Tail::EndOfMessage
    }

    /// `true` if more of a message was to follow the last new data.
    pub(super) fn has_more(&self) -> bool {
        self.tail == Tail::More
    }

    /// `true` if a rest of the last message may wait that is no full segment.
    pub(super) fn may_have_rest(&self) -> bool {
        self.tail == Tail::Rest
    }

    /// So many bytes were delivered in the silence so far, as an ACK says that came now.
    pub(super) fn delivered(&mut self, bytes: u64) {
        if let Some(last) = self.pieces.last_mut() {
            last.delivered = last.delivered.saturating_add(bytes);
        }
    }

    /// An ACK came that made room for more.
    pub(super) fn advanced(&mut self, now: Instant) {
        self.first_advance.get_or_insert(now);
    }

    /// Adds a piece; gives back the oldest if there are too many.
    pub(super) fn push(&mut self, piece: Piece) -> Option<Settled> {
        if piece.duration().is_zero() {
            return None;
        }
        let joins = self
            .pieces
            .last_mut()
            .filter(|last| (last.look, last.kind) == (piece.look, piece.kind));
        if let Some(last) = joins {
            last.to = piece.to;
            last.delivered = last.delivered.saturating_add(piece.delivered);
            return None;
        }
        let too_many = self.pieces.len() >= PIECES_MAX;
        let oldest = too_many.then(|| self.pieces.remove(0));
        self.pieces.push(piece);
        oldest.map(|piece| self.as_it_seems(&piece))
    }

    fn as_it_seems(&self, piece: &Piece) -> Settled {
        let kind = match piece.look {
            Look::Room | Look::Ample if self.tail != Tail::More => Kind::Pause,
            Look::Other if self.tail == Tail::EndOfMessage => Kind::Pause,
            other => plain(other, piece.kind),
        };
        settled(piece, kind)
    }

    /// The silence ended: hands every piece to `give`, in order.
    pub(super) fn settle(&mut self, ending: Ending, scale: Scale, mut give: impl FnMut(Settled)) {
        let mut pieces = core::mem::take(&mut self.pieces);
        let cut_at = match ending {
            Ending::Timer { since, .. } => Some(since),
            Ending::Nothing { last_ack } => Some(last_ack),
            Ending::End { last } => Some(last),
            _ => None,
        };
        let signs = self.signs(&pieces, ending, scale);
        for piece in &pieces {
            for part in cut(piece, cut_at) {
                let kind = kind_of(&part, ending, scale, signs);
                give(settled(&part, kind));
            }
        }
        pieces.clear();
        self.pieces = pieces;
        self.first_advance = None;
    }

    fn signs(&self, pieces: &[Piece], ending: Ending, scale: Scale) -> Signs {
        let time = |look: Look| {
            let such = pieces.iter().filter(|piece| piece.look == look);
            such.fold(Duration::ZERO, |sum, piece| sum + piece.duration())
        };
        let long = scale.round_trip / PAUSE_PART;
        let end = pieces.last().map(|piece| piece.to);
        let unused = end.zip(self.first_advance);
        let unused = unused.is_some_and(|(end, since)| end.since(since) >= long);
        let ended = self.tail == Tail::EndOfMessage;
        let paused = match ending {
            _ if self.tail == Tail::More => false,
            Ending::Nothing { .. } => unused || ended || self.tail == Tail::Rest,
            Ending::Ack(Outstanding::Nothing) => ended || time(Look::Ample) > Duration::ZERO,
            Ending::Ack(Outstanding::Something) => {
                let roomy = time(Look::Room) + time(Look::Ample) >= long;
                (ended && unused) || time(Look::Ample) >= long || (roomy && self.tail == Tail::Rest)
            }
            _ => false,
        };
        Signs {
            application: match self.tail {
                _ if paused => Application::Paused,
                Tail::More => Application::HasMore,
                _ => Application::Unknown,
            },
            room: if time(Look::Room) + time(Look::Ample) >= long {
                Room::Unused
            } else {
                Room::HardlyAny
            },
        }
    }
}

/// What a silence as a whole says.
#[derive(Clone, Copy, Debug)]
struct Signs {
    application: Application,
    room: Room,
}

/// Whether the application had more to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    /// It had not: what makes room was not made use of.
    Paused,
    /// It had: something else kept that back, such as the pace of a congestion control.
    HasMore,
    Unknown,
}

/// Whether the congestion window had room for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Unused,
    HardlyAny,
}

fn kind_of(piece: &Piece, ending: Ending, scale: Scale, signs: Signs) -> Kind {
    match (ending, piece.look) {
        // Who waits for a probe of a shut window for longer than a timer takes has nothing to send.
        (Ending::Nothing { .. }, Look::Shut(Outstanding::Nothing))
            if piece.duration() > scale.timeout =>
        {
            Kind::Idle
        }
        // Though nothing that was seen is outstanding, what the timer sends again was.
        (Ending::Timer { kind, since }, Look::Empty) if piece.from >= since => kind,
        // No window makes who has more to send wait for longer than a timer runs.
        (Ending::Nothing { .. }, Look::Empty)
            if signs.application == Application::HasMore && piece.duration() <= scale.timeout =>
        {
            piece.kind
        }
        (_, Look::Empty | Look::Shut(_)) => plain(piece.look, piece.kind),
        (Ending::LastAck, _) => Kind::Nagle,
        (Ending::Timer { kind, since }, _) if piece.from >= since => kind,
        (Ending::End { last }, look)
            if look != Look::Full && piece.from >= last && piece.duration() > scale.timeout =>
        {
            Kind::RetransmissionTimer
        }
        _ if piece.kind == Kind::Recovery && piece.look != Look::Full => Kind::Recovery,
        _ if signs.application == Application::Paused => Kind::Pause,
        // Nothing more was to be sent: no window held it back.
        (Ending::End { .. }, Look::Other | Look::Room | Look::Ample) => Kind::Pause,
        (_, Look::Full) => Kind::ReceiveWindow,
        (Ending::Ack(_), Look::Room | Look::Ample) if signs.room == Room::Unused => {
            Kind::SenderBuffer
        }
        (Ending::Nothing { .. }, _) if signs.application == Application::HasMore => piece.kind,
        (Ending::Nothing { .. }, Look::Room | Look::Ample) => Kind::Pause,
        (Ending::Nothing { last_ack }, Look::Other)
            if piece.from >= last_ack && piece.duration() >= scale.round_trip / SILENCE_PART =>
        {
            Kind::Pause
        }
        _ => piece.kind,
    }
}

/// What a look says by itself.
const fn plain(look: Look, kind: Kind) -> Kind {
    match look {
        Look::Empty => match kind {
            Kind::Handshake => Kind::Handshake,
            _ => Kind::Idle,
        },
        Look::Shut(_) => Kind::ZeroWindow,
        Look::Full => Kind::ReceiveWindow,
        Look::Room | Look::Ample | Look::Other => kind,
    }
}

const fn settled(piece: &Piece, kind: Kind) -> Settled {
    Settled {
        to: piece.to,
        kind,
        look: piece.look,
        delivered: piece.delivered,
    }
}

/// The piece, in two if `at` lies within it.
fn cut(piece: &Piece, at: Option<Instant>) -> impl Iterator<Item = Piece> {
    let at = at.filter(|at| piece.from < *at && *at < piece.to);
    let first = Piece {
        to: at.unwrap_or(piece.to),
        ..*piece
    };
    // An ACK that tells of a delivery came at `at`, or before.
    let second = at.map(|at| Piece {
        from: at,
        delivered: 0,
        ..*piece
    });
    core::iter::once(first).chain(second)
}

#[cfg(test)]
mod tests;
