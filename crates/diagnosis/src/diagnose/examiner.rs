//! Follower of a stream, and the findings about a finished connection.
//!
//! The [`Explainer`] explains each event, and every analysis receives the event with its explanation.

use std::sync::LazyLock;

use dupack_algorithms::catalog::Catalog;
use dupack_tcp::connection::Flags;
use dupack_tcp::facts::View;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;

use crate::analyse::budget::{AckTimes, Budget, Limit, Shares, Terms, Window};
use crate::analyse::cause::{Cause, Need};
use crate::analyse::explain::{self, End, Explainer};
use crate::analyse::requests::{Gathered, Requests};
use crate::analyse::signs::Gathering;
use crate::analyse::stalls::Stalls;
use crate::consistency::{Withdrawn, settle};
use crate::findings::{
    AcksSeen, ConnectionFindings, Coverage, OptionsSeen, Shut, StreamFindings, TurnsTold,
};
use crate::path::Survey;
use crate::path::series::Series;
use crate::read::connection::Connection;
use crate::read::follow::{Beginning, Follower, Timer};
use crate::read::moment::{Analysis, Arrival, Departure, Explained};
use crate::read::side::{Both, Side};
use crate::read::turns::{Spent, Turn};
use crate::read::vantage::{Place, Reason};
use crate::sender::{self, SenderAnalysis};
use crate::shared::Candidate;

/// Catalog of the loss differentiations whose votes are collected: the built-in one.
static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

/// Follower of one stream that runs all analyses.
#[derive(Debug)]
pub struct Examiner {
    beginning: Beginning,
    explainer: Explainer,
    budget: Budget,
    stalls: Stalls,
    signs: Gathering,
    survey: Survey,
    sender: SenderAnalysis,
    /// Turns whose responses were carried by this stream.
    requests: Option<Box<Gathered>>,
    /// Time of the last event of the transfer. Later events do not belong to it.
    ended: Instant,
    /// Time of the last departure of data.
    last_data_at: Instant,
    /// Number of outstanding data bytes, without a FIN.
    outstanding: u64,
    closing: Closing,
}

/// State of a FIN that was sent without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// No FIN has been sent.
    NotYet,
    /// The FIN was sent; the value is its offset.
    Sent(u64),
    /// The FIN was retransmitted; the value is its offset. All data had arrived, so no endpoint waits for the FIN.
    Repeated(u64),
}

impl Closing {
    /// Records a departure.
    fn departed(&mut self, departure: &Departure<'_>) {
        let len = departure.end.saturating_sub(departure.start);
        if !departure.flags.contains(Flags::FIN) || len != 1 {
            return;
        }
        *self = match *self {
            Self::NotYet => Self::Sent(departure.start),
            Self::Sent(at) | Self::Repeated(at) => Self::Repeated(at),
        };
    }

    /// Returns the number of outstanding bytes without the FIN.
    fn outstanding(self, view: &View<'_>) -> u64 {
        match self {
            Self::NotYet => view.flight_size(),
            Self::Sent(at) | Self::Repeated(at) => {
                let una = view.scoreboard.una();
                at.saturating_sub(una).min(view.flight_size())
            }
        }
    }

    /// Returns `true` if only a retransmitted FIN is outstanding, so that the transfer is over.
    fn is_over(self, view: &View<'_>) -> bool {
        matches!(self, Self::Repeated(_)) && self.outstanding(view) == 0
    }
}

impl Follower for Examiner {
    fn begin(beginning: &Beginning) -> Self {
        let at = beginning.at;
        let seen = match beginning.established_at {
            Some(_) => sender::Beginning::Seen,
            None => sender::Beginning::Missed,
        };
        let mut stalls = Stalls::new(beginning.sack);
        stalls.seen_from(beginning.vantage.place);
        stalls.sized(beginning.smss);
        if let Some((at, packet)) = beginning.established_at.zip(beginning.established_by) {
            stalls.opened(at, packet);
        }
        Self {
            beginning: *beginning,
            explainer: Explainer::new(beginning.sack, explain::Limits::default()),
            budget: budget(beginning),
            stalls,
            signs: Gathering::new(beginning.window_shift, beginning.smss),
            survey: Survey::new(beginning.smss, &CATALOG),
            sender: SenderAnalysis::new(seen, beginning.smss),
            requests: None,
            ended: at,
            last_data_at: at,
            outstanding: 0,
            closing: Closing::NotYet,
        }
    }

    fn departed(
        &mut self,
        departure: &Departure<'_>,
        onlooker: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer {
        let explained = self.explainer.departed(departure);
        self.closing.departed(departure);
        let over = self.closing.is_over(&departure.view);
        if !over {
            departed_in_time(&mut self.budget, &mut self.stalls, departure, &explained);
        }
        self.signs.departed(departure, &explained);
        self.survey.departed(departure, &explained);
        self.sender.departed(departure, &explained);
        if let Some(onlooker) = onlooker {
            onlooker.departed(departure, &explained);
        }
        if departure.kind != SendingKind::Empty && !over {
            self.ended = self.ended.max(departure.at);
        }
        let fin = u64::from(departure.flags.contains(Flags::FIN));
        if departure.end.saturating_sub(departure.start) > fin {
            self.last_data_at = self.last_data_at.max(departure.at);
        }
        self.outstanding = self.closing.outstanding(&departure.view);
        match explained.retransmission.map(|again| again.cause) {
            Some(Cause::Timeout { .. }) => Timer::Expired,
            _ => Timer::Ran,
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, onlooker: Option<&mut (dyn Analysis + '_)>) {
        let explained = self.explainer.arrived(arrival);
        let over = self.closing.is_over(&arrival.view) && self.outstanding == 0;
        if !over {
            self.budget.arrived(arrival, &explained);
            self.stalls.arrived(arrival, &explained);
            let is_shut = self.budget.is_shut();
            let (at, packet) = (arrival.at, arrival.packet);
            self.stalls.window_is_shut(at, packet, is_shut);
        }
        self.signs.arrived(arrival, &explained);
        self.survey.arrived(arrival, &explained);
        self.sender.arrived(arrival, &explained);
        if let Some(onlooker) = onlooker {
            onlooker.arrived(arrival, &explained);
        }
        if self.outstanding > 0 {
            self.ended = self.ended.max(arrival.at);
        }
        self.outstanding = self.closing.outstanding(&arrival.view);
    }

    fn asked(&mut self, at: Instant, packet: u64, rest: Option<u64>) {
        self.stalls.asked(at, packet, rest);
        self.budget.asked(packet);
    }

    fn numbered(&mut self, id: u16) {
        self.explainer.numbered(id);
    }

    fn spent(&self) -> Spent {
        self.budget.spent()
    }

    fn answered(&mut self, turn: &Turn) {
        self.survey.answered(&turn.answer);
        let requests = self
            .requests
            .get_or_insert_with(|| Box::new(Gathered::new(turn.asker)));
        requests.take(turn);
    }

    fn foreign_sack(&mut self) {
        self.signs.foreign_sack();
        self.stalls.foreign_sack();
    }
}

/// Passes a departure to the budget and the stalls. If both have a cause for the same time, the cause of the budget
/// counts.
fn departed_in_time(
    budget: &mut Budget,
    stalls: &mut Stalls,
    departure: &Departure<'_>,
    explained: &Explained<'_>,
) {
    let (waits, shut_for) = (budget.nagle_waits(), budget.shut_for());
    budget.departed(departure, explained);
    if budget.nagle_waits() > waits {
        stalls.held_by_nagle();
    }
    stalls.departed(departure, explained);
    stalls.window_is_shut(departure.at, departure.packet, budget.is_shut());
    stalls.waited_for_window(budget.shut_for() - shut_for);
}

/// Creates the budget of a stream. If the handshake was captured, the stream's time begins with the SYN.
fn budget(beginning: &Beginning) -> Budget {
    let opening = beginning.opened_at.zip(beginning.established_at);
    let opening = opening.filter(|(opened, established)| opened <= established);
    let started = opening.map_or(beginning.at, |(opened, _)| opened);
    let mut terms = Terms::new(started);
    terms.segment_size = beginning.smss;
    terms.place = beginning.vantage.place;
    let at_sender = beginning.vantage.place == Place::Sender;
    // If the handshake was captured, the arrival times of ACKs at the sender are not guessed, even if responses show a
    // shorter delay.
    let handshake =
        beginning.established_at.is_some() || beginning.vantage.reason == Reason::Handshake;
    if !at_sender && !handshake {
        terms.ack_times = AckTimes::Guessed;
    }
    let mut budget = Budget::new(terms);
    if let Some((opened, established)) = opening {
        budget.handshake(opened, established.min(beginning.at));
    }
    budget
}

impl Examiner {
    /// Returns the findings about the stream at the end of `connection`, and the delivered data over time.
    fn findings(mut self, connection: &Connection<Self>, side: Side) -> (StreamFindings, Series) {
        if let Some(reset) = connection.ending().reset {
            let by = if reset.side == side {
                End::Sender
            } else {
                End::Receiver
            };
            self.explainer.was_reset(reset.at, reset.packet, by);
        }
        // If data is outstanding, the transfer continues until the last packet from either endpoint.
        let ended = if self.outstanding > 0 {
            self.ended.max(connection.last_at())
        } else {
            self.ended
        };
        for again in self.explainer.records() {
            if needless_otherwise(again.need) {
                self.survey.proved_needless(again);
            }
        }
        let vantage = connection.vantage(side);
        let ways = Side::BOTH.map(|end| connection.handshake().round_trip_to(end));
        let whole = ways[0].zip(ways[1]).map(|(one, other)| one + other);
        let handshake = connection.handshake().round_trip_to(side);
        self.survey.seen_from(&vantage, handshake, whole);
        let path = self.survey.path();
        let signs = self.signs.finish();
        let facts = path.facts();
        let shares = self.budget.finish(ended, &facts);
        let stalls = self.stalls.finish();
        let shut = shut(&self.explainer, &shares, connection, side);
        let found = StreamFindings {
            side,
            smss: self.beginning.smss,
            vantage,
            coverage: coverage(connection, side),
            account: self.explainer.account(),
            retransmissions: self.explainer.records().copied().collect(),
            last_data_at: self.last_data_at,
            happenings: self.explainer.happenings().clone(),
            overtaken: self.explainer.overtaken(),
            reordered: self.explainer.reordered(),
            shut,
            shares,
            stalls,
            signs,
            path,
            sharing: None,
            sender: self.sender.report(),
            turns: None,
            withdrawn: Vec::new(),
        };
        (found, self.survey.into_series())
    }
}

/// Returns the extent to which the capture contains the data of `side`.
fn coverage(connection: &Connection<Examiner>, side: Side) -> Coverage {
    let own = connection.counts(side);
    let both = Side::BOTH.map(|side| connection.counts(side));
    let packets: u64 = both.iter().map(|counts| counts.packets).sum();
    let cut = both
        .iter()
        .map(|counts| u64::from(counts.packets_without_options));
    Coverage {
        options: if cut.sum::<u64>() * 2 >= packets.max(1) {
            OptionsSeen::Cut
        } else {
            OptionsSeen::Whole
        },
        acks: match connection.counts(side.other()).acks {
            0 => AcksSeen::None,
            _ => AcksSeen::Some,
        },
        bytes: own.unique_bytes,
        unseen_bytes: own.unseen_bytes(),
    }
}

/// Returns the closures of the receiver's window. If the window never blocked the sender, closures are counted from the
/// packets, including those before the first data.
fn shut(
    explainer: &Explainer,
    shares: &Shares,
    connection: &Connection<Examiner>,
    side: Side,
) -> Shut {
    let happenings = explainer.happenings();
    let seen = u64::from(connection.counts(side.other()).zero_windows > 0);
    Shut {
        times: match shares.shut_times {
            0 => happenings.closed_times().max(seen),
            times => times,
        },
        time: shares.of(Limit::ZeroWindow),
        probes: happenings.window_probes(),
    }
}

/// Returns `true` if other evidence than a DSACK shows that a retransmission was spurious.
const fn needless_otherwise(need: Need) -> bool {
    match need {
        Need::NeedlessByTimestamp | Need::NeedlessByTime | Need::NeedlessByArrival => true,
        Need::Needed | Need::NeedlessByDsack | Need::Unknown => false,
    }
}

/// Returns the findings about a finished connection, and those of its streams that may share a bottleneck with others.
pub(super) fn findings(
    mut connection: Connection<Examiner>,
) -> (ConnectionFindings, Vec<Candidate>) {
    let mut gathered = None;
    let mut candidates = Vec::new();
    let [opener, answerer] = Side::BOTH.map(|side| {
        let stream = connection.take_stream(side)?;
        let is_roomy = stream.never_fills_its_window();
        let mut examiner = stream.into_follower();
        gathered = gathered.take().or(examiner.requests.take());
        // A FIN alone does not count as data.
        let counts = connection.counts(side);
        if counts.unique_bytes == 0 && counts.unseen_bytes() == 0 {
            return None;
        }
        let (mut found, series) = examiner.findings(&connection, side);
        if is_roomy && found.shares.window == Window::Unscaled {
            found.shares.window = Window::Roomy;
        }
        settle(&mut found, counts);
        candidates.extend(candidate(&connection, &found, series));
        Some(found)
    });
    let mut streams = Both { opener, answerer };
    let requests = gathered.and_then(|gathered| requests(*gathered, &connection, &streams));
    for side in Side::BOTH {
        if let Some(stream) = streams.of_mut(side) {
            stream.turns = requests.as_ref().map(|requests| TurnsTold {
                asks: side == requests.asker,
                count: requests.count,
                round_trip: requests.round_trip,
                between: requests.between,
                answering: requests.answering,
                ack_held: requests.ack_held,
                unheard: requests.unheard,
            });
        }
    }
    let found = ConnectionFindings {
        number: connection.number(),
        addresses: Both {
            opener: connection.address(Side::Opener),
            answerer: connection.address(Side::Answerer),
        },
        first_at: connection.first_at(),
        last_at: connection.last_at(),
        handshake: connection.handshake().clone(),
        ending: *connection.ending(),
        silence: connection.silence(),
        counts: Both {
            opener: connection.counts(Side::Opener).clone(),
            answerer: connection.counts(Side::Answerer).clone(),
        },
        streams,
        requests,
        both: None,
    };
    (found, candidates)
}

/// Returns the stream as a candidate for a shared bottleneck; `None` if its ACKs or packets are missing from the
/// capture.
fn candidate(
    connection: &Connection<Examiner>,
    found: &StreamFindings,
    series: Series,
) -> Option<Candidate> {
    let round_trip = found.path.least_rtt.value()?;
    let ends = [found.side, found.side.other()];
    found.withdrawn.is_empty().then(|| Candidate {
        connection: connection.number(),
        side: found.side,
        hosts: ends.map(|side| connection.address(side).ip()),
        round_trip,
        series,
    })
}

/// Returns the requests of a connection; `None` if it has no turns.
fn requests(
    gathered: Gathered,
    connection: &Connection<Examiner>,
    streams: &Both<Option<StreamFindings>>,
) -> Option<Requests> {
    let asker = gathered.asker();
    let stream = streams.of(asker).as_ref();
    let round_trip = stream.and_then(|stream| stream.path.least_rtt.value());
    let mut requests = gathered.finish(&connection.vantage(asker), round_trip)?;
    let answers = streams.of(asker.other()).as_ref();
    if answers.is_some_and(|stream| stream.withdrawn.contains(&Withdrawn::ConstantRate)) {
        requests.held_back();
    }
    Some(requests)
}
