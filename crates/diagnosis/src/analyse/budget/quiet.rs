//! Time since the last departure, divided into pieces by the events in it. The cause of a time without departures is
//! known only when the next segment is sent, because this segment shows its trigger.

use dupack_tcp::time::{Duration, Instant};

use super::span::Kind;

/// Maximum number of pieces stored. Our choice: a time without departures has few changes (the window opens, a
/// duplicate ACK arrives). If there are more, only the state of the oldest piece determines its kind.
const PIECES_MAX: usize = 8;

/// Inverse of the minimum fraction of the round-trip time for which a sender must pause, with space in the window,
/// before the pause counts as evidence of the application. Our choice: pacing and offload cause shorter pauses.
pub(super) const PAUSE_PART: u64 = 4;

/// Inverse of the minimum fraction of the round-trip time after the last ACK. If a new segment is sent later than this,
/// the window had space before. Our choice: twice the time of [`PAUSE_PART`], because there is no other evidence of a
/// pause.
const SILENCE_PART: u64 = 2;

/// State of the connection while no segment is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// No data is outstanding.
    Empty,
    /// The receive window is closed.
    Shut(Outstanding),
    /// The receive window has no space for a segment.
    Full,
    /// Less data is in flight than the congestion window is known to allow.
    Room,
    /// Far less data is in flight than the congestion window is known to allow.
    Ample,
    /// None of these states: the limit is the congestion window, or a loss is being repaired.
    Other,
}

/// Presence of outstanding data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outstanding {
    Nothing,
    Something,
}

/// Kind of the last segment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// The segment was short and had PSH, so the application had written no more data when it was sent.
    EndOfMessage,
    /// The segment was full and had no PSH. A sender sets PSH on the last segment that it has (RFC 9293 §3.9.1.2), so
    /// the application had written more data.
    More,
    /// The application had written more data, as with [`Self::More`], but the sender's messages are short. The
    /// remaining data of this message may be less than a full segment, and may wait for ACKs (Nagle's algorithm) or for
    /// the next message.
    Rest,
    Full,
}

/// Piece of a time without departures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) look: Look,
    /// Kind of the piece without further evidence.
    pub(super) kind: Kind,
    /// Number of bytes delivered during the piece, as reported by the ACK at its end.
    pub(super) delivered: u64,
}

impl Piece {
    const fn duration(&self) -> Duration {
        self.to.since(self.from)
    }
}

/// Event that ended a time without departures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ending {
    /// A timer of the given kind, which was started at `since`.
    Timer { kind: Kind, since: Instant },
    /// A window probe or a keep-alive.
    Probe,
    /// An ACK just before the departure; the value shows whether data was still outstanding after it.
    Ack(Outstanding),
    /// An ACK of everything, without data, just before the departure. A short segment had waited for this ACK (RFC
    /// 896).
    LastAck,
    /// A retransmission triggered by ACKs.
    Repair,
    /// No visible event. The last ACK arrived at `last_ack`.
    Nothing { last_ack: Instant },
    /// The end of the stream. The last packet was captured at `last`.
    End { last: Instant },
}

/// Reference durations for the length of a time without departures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) round_trip: Duration,
    pub(super) timeout: Duration,
}

/// Piece with its final kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settled {
    pub(super) to: Instant,
    pub(super) kind: Kind,
    /// State of the piece as the sender's kernel would count it.
    pub(super) look: Look,
    /// Number of bytes delivered during the piece.
    pub(super) delivered: u64,
}

/// Time without departures so far.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    pieces: Vec<Piece>,
    tail: Tail,
    /// Time of the first ACK that made space in the window; `None` if there was none.
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

    /// Records the kind of the last new data. The following pieces are the time after this data.
    pub(super) const fn begin(&mut self, tail: Tail) {
        self.tail = tail;
    }

    /// Sets the state of all pieces to `look`. This is used if the next segment has the same timestamp as the previous
    /// one, because both were then sent together.
    pub(super) fn relabel(&mut self, look: Look, kind: Kind) {
        for piece in &mut self.pieces {
            piece.look = look;
            piece.kind = kind;
        }
    }

    /// `true` if the last new data ended a message.
    pub(super) fn has_ended(&self) -> bool {
        self.tail == Tail::EndOfMessage
    }

    /// `true` if more data of the message was expected after the last new data.
    pub(super) fn has_more(&self) -> bool {
        self.tail == Tail::More
    }

    /// `true` if remaining data of the last message, shorter than a full segment, may be waiting.
    pub(super) fn may_have_rest(&self) -> bool {
        self.tail == Tail::Rest
    }

    /// Adds bytes that were delivered since the last departure, as reported by an ACK that has just arrived.
    pub(super) fn delivered(&mut self, bytes: u64) {
        if let Some(last) = self.pieces.last_mut() {
            last.delivered = last.delivered.saturating_add(bytes);
        }
    }

    /// Records an ACK that made space for more data.
    pub(super) fn advanced(&mut self, now: Instant) {
        self.first_advance.get_or_insert(now);
    }

    /// Adds a piece. If there are too many, the oldest one is removed and returned.
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

    /// Ends the time without departures, and passes every piece to `give` in order.
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

/// Evidence that a whole time without departures gives.
#[derive(Clone, Copy, Debug)]
struct Signs {
    application: Application,
    room: Room,
}

/// State of the sending application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Application {
    /// The application had no more data: the sender did not use the space in the window that an ACK had made.
    Paused,
    /// The application had more data. Another cause delayed it, such as the pacing of a congestion control.
    HasMore,
    Unknown,
}

/// Use of the congestion window: `Unused` if it had unused space for long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Unused,
    HardlyAny,
}

fn kind_of(piece: &Piece, ending: Ending, scale: Scale, signs: Signs) -> Kind {
    match (ending, piece.look) {
        // If a sender does not probe a closed window for longer than a timeout, it has no data to send.
        (Ending::Nothing { .. }, Look::Shut(Outstanding::Nothing))
            if piece.duration() > scale.timeout =>
        {
            Kind::Idle
        }
        // No data is visibly outstanding, but the segment that the timer retransmits was outstanding.
        (Ending::Timer { kind, since }, Look::Empty) if piece.from >= since => kind,
        // A window delays a sender that has more data for at most one timeout.
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
        // The stream ended, so there was no more data to send, and no window limited the sender.
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

/// Returns the kind of a piece without other evidence than its state.
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

/// Returns the piece, divided into two if `at` lies within it.
fn cut(piece: &Piece, at: Option<Instant>) -> impl Iterator<Item = Piece> {
    let at = at.filter(|at| piece.from < *at && *at < piece.to);
    let first = Piece {
        to: at.unwrap_or(piece.to),
        ..*piece
    };
    // The ACK that reported the delivered bytes arrived no later than `at`.
    let second = at.map(|at| Piece {
        from: at,
        delivered: 0,
        ..*piece
    });
    core::iter::once(first).chain(second)
}

#[cfg(test)]
mod tests;
