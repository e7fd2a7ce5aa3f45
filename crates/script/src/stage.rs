//! The stage of a script: its clock, sockets and connections.

use std::collections::{BTreeMap, VecDeque};

use dupack_tcp::connection::{Connection, IcmpError, KnownMtu};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use crate::line::Line;
use crate::lines::Lines;
use crate::settings::{Opened, Settings, SocketSettings};
use crate::syntax::{Icmp, Packet};
use crate::wire::Echoes;

/// Our initial sequence number. Scripts do not see it. Sequence numbers wrap after 64 kB, so that every script with
/// more data also tests wrapping.
const ISS: SeqNumber = SeqNumber(0xffff_0000);

/// Start time of a script. It is not zero, because zero could also be the time of a clock that was never read.
pub(crate) const BEGINNING: Instant = Instant::from_nanos(1_000_000_000);

/// Maximum number of timers that expire at the same time. More expirations indicate an endless loop.
const MOST_AT_ONCE: u32 = 10_000;

/// The state while a script is played.
pub(crate) struct Stage {
    pub(crate) now: Instant,
    pub(crate) settings: Settings,
    pub(crate) sockets: BTreeMap<i64, Socket>,
    pub(crate) lines: Lines,
    pub(crate) subject: Subject,
    /// `true` if the connections have been told that the host rejects all packets.
    refuses: bool,
    /// Path MTU that was learnt from ICMP. All connections share it.
    path_mtu: Option<KnownMtu>,
}

/// The socket or connection to which packets of the script belong. There is only one at a time, as in packetdrill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Nothing,
    /// The socket with this file descriptor.
    Socket(i64),
    /// The connection with this index.
    Line(usize),
}

/// A socket.
#[derive(Clone, Debug)]
pub(crate) struct Socket {
    pub(crate) role: Role,
    pub(crate) settings: SocketSettings,
    pub(crate) blocking: Blocking,
}

/// Role of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The socket has not been used yet.
    Fresh,
    /// A listener, with the connections that have not been accepted yet.
    Listening(VecDeque<usize>),
    /// One end of a connection.
    Connected(usize),
    /// A file.
    File,
}

/// Blocking or non-blocking mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocking {
    Yes,
    No,
}

impl Stage {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            now: BEGINNING,
            settings,
            sockets: BTreeMap::new(),
            lines: Lines::default(),
            subject: Subject::Nothing,
            refuses: false,
            path_mtu: None,
        }
    }

    /// Returns the connection to which packets belong, if there is one.
    pub(crate) fn subject_line(&self) -> Option<usize> {
        match self.subject {
            Subject::Nothing => None,
            Subject::Line(line) => Some(line),
            Subject::Socket(fd) => match self.sockets.get(&fd)?.role {
                Role::Connected(line) => Some(line),
                Role::Fresh | Role::Listening(_) | Role::File => None,
            },
        }
    }

    /// Opens a connection.
    pub(crate) fn connect(&mut self, settings: &SocketSettings) -> Result<usize, String> {
        let (mut config, build) = self.settings.connection(settings, Opened::Here)?;
        config.iss = ISS;
        config.path_mtu.known = self.path_mtu;
        let mut line = Line::new(Connection::connect(config, build));
        line.refused = self.settings.refuses;
        line.settle(self.now);
        Ok(self.lines.push(line))
    }

    /// Delivers a packet of the script to the host.
    pub(crate) fn arrive(&mut self, packet: &Packet) -> Result<(), String> {
        let index = match self.subject_line() {
            Some(index) => index,
            None => self.called(packet)?,
        };
        let echoes = match self.settings.scaled_echoes() {
            true => Echoes::Scaled,
            false => Echoes::Exact,
        };
        let line = &mut self.lines[index];
        if packet.is(Packet::SYN) && line.connection.negotiated().is_none() {
            line.numbers.peer_begins(packet.seq);
        }
        let segment = line.numbers.inbound(packet, echoes)?;
        line.arrive(self.now, &segment);
        self.queue_for_acceptance(index);
        Ok(())
    }

    /// Delivers an ICMP error of the script to the host.
    pub(crate) fn hear_of(&mut self, icmp: &Icmp) -> Result<(), String> {
        let index = self.subject_line();
        let index = index.ok_or("no connection matches the ICMP error")?;
        let line = &mut self.lines[index];
        let error = IcmpError::new(line.numbers.quoted(icmp.seq), icmp.says);
        line.hear_of(self.now, &error);
        self.path_mtu = line.connection.path_mtu().or(self.path_mtu);
        Ok(())
    }

    /// Creates a connection for a packet that belongs to no connection: a connection of a listener, or a closed
    /// connection that answers the packet.
    fn called(&mut self, packet: &Packet) -> Result<usize, String> {
        let listening = match self.subject {
            Subject::Socket(fd) => self.sockets.get(&fd),
            _ => None,
        };
        let listening = listening
            .filter(|socket| matches!(socket.role, Role::Listening(_)))
            .map(|socket| socket.settings.clone());
        let settings = listening.clone().unwrap_or_default();
        let (mut config, build) = self.settings.connection(&settings, Opened::ByPeer)?;
        config.iss = ISS;
        config.path_mtu.known = self.path_mtu;
        let mut connection = Connection::listen(config, build);
        if listening.is_none() {
            connection.abort();
        }
        let mut line = Line::new(connection);
        line.passive = listening.is_some();
        line.refused = self.settings.refuses;
        line.numbers.peer_begins(packet.seq);
        let index = self.lines.push(line);
        self.subject = Subject::Line(index);
        Ok(index)
    }

    /// Queues a newly established connection at its listener.
    fn queue_for_acceptance(&mut self, index: usize) {
        let line = &self.lines[index];
        if !line.passive || line.queued || line.connection.negotiated().is_none() {
            return;
        }
        let listener = self.sockets.values_mut().find_map(|s| match &mut s.role {
            Role::Listening(waiting) => Some(waiting),
            _ => None,
        });
        if let Some(waiting) = listener {
            waiting.push_back(index);
            self.lines[index].queued = true;
        }
    }

    /// Informs the connections when the host's queue starts or stops refusing packets.
    pub(crate) fn heed_host(&mut self) {
        if self.settings.refuses == self.refuses {
            return;
        }
        self.refuses = self.settings.refuses;
        for line in self.lines.iter_mut() {
            line.refused = self.refuses;
            line.settle(self.now);
        }
    }

    /// Sends the packets of the current connection.
    pub(crate) fn settle(&mut self) {
        if let Some(index) = self.subject_line() {
            self.lines[index].settle(self.now);
        }
    }

    /// Returns the time of the next timer.
    pub(crate) fn next_timeout(&mut self) -> Option<Instant> {
        self.lines.next_timeout()
    }

    /// Handles the next timer if it is due before `until`. Returns `Expired::Something` if a timer expired.
    pub(crate) fn expire_before(
        &mut self,
        until: Instant,
        budget: &mut Budget,
    ) -> Result<Expired, String> {
        let Some(due) = self.next_timeout().filter(|due| *due < until) else {
            return Ok(Expired::Nothing);
        };
        let due = due.max(self.now);
        budget.spend(self.now == due)?;
        self.now = due;
        self.lines.lapse(due);
        Ok(Expired::Something)
    }
}

/// Result of a search for an expired timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Nothing,
    Something,
}

/// Number of timers that have expired at the same time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    spent: u32,
}

impl Budget {
    fn spend(&mut self, at_once: bool) -> Result<(), String> {
        self.spent = if at_once { self.spent + 1 } else { 0 };
        match self.spent > MOST_AT_ONCE {
            true => Err("a timer keeps expiring at the same time".to_owned()),
            false => Ok(()),
        }
    }
}
