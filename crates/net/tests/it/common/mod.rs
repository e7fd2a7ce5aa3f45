//! The simplest stack that completes a transfer: a fixed window, fast retransmit of the first hole, and go-back-N after
//! a timeout. The tests of the network need no more than this.

use dupack_net::flow::{Application, Path, TcpFlowConfig};
use dupack_net::ids::NodeId;
use dupack_net::link::LinkConfig;
use dupack_net::network::Network;
use dupack_net::shapes::Chain;
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_tcp::congestion::{CongestionControl, Credit};
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{
    AckFacts, AckKind, LossCause, LossFacts, LossRule, RuleWords, SendReason, Sent, View,
};
use dupack_tcp::options::{Dsack, Sack};
use dupack_tcp::receiver::{AckPolicy, Reading};
use dupack_tcp::recovery::{Clearance, Growth, LossEvent, Next, Outcome, Recovery, RtoTimer};
use dupack_tcp::response::Response;
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::sender::IdleRule;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;
use dupack_tcp::{ReceiverConfig, SenderConfig, Stack};

/// Loss rule of the recovery in these tests.
const DUPLICATE_ACKS: LossRule = LossRule::new(&RuleWords {
    name: "dupacks",
    meaning: "three duplicate ACKs",
});

/// Payload bytes of a full segment in all tests.
pub const MSS: u32 = 1000;

pub fn at_ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[derive(Debug, Default)]
struct PlainRecovery {
    resend: Option<SegmentId>,
    /// After a timeout: the next segment to retransmit, and the end of the segments to retransmit.
    go_back: Option<(SegmentId, SegmentId)>,
    recovery_point: Option<u64>,
}

impl Recovery for PlainRecovery {
    fn on_sent(&mut self, sent: &Sent, _view: &View<'_>) -> RtoTimer {
        if self.resend == Some(sent.id) {
            self.resend = None;
        }
        if let Some((next, end)) = self.go_back
            && next == sent.id
        {
            self.go_back = (next.next() < end).then_some((next.next(), end));
        }
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let first = view.scoreboard.first();
        let advanced = ack.kind == AckKind::Advance;
        if let Some((next, end)) = self.go_back {
            let next = next.max(first);
            self.go_back = (next < end).then_some((next, end));
        }
        if self.resend.is_some_and(|id| id < first) {
            self.resend = None;
        }
        let mut loss = None;
        match self.recovery_point {
            Some(point) if ack.una >= point => self.recovery_point = None,
            Some(_) if advanced && self.go_back.is_none() => self.resend = Some(first),
            None if ack.dup_acks == 3 && self.go_back.is_none() => {
                self.resend = Some(first);
                self.recovery_point = Some(view.scoreboard.nxt());
                loss = Some(LossEvent::of(first, DUPLICATE_ACKS));
            }
            _ => {}
        }
        Outcome {
            loss,
            growth: Growth::Acked,
            rto: if advanced {
                RtoTimer::Restart
            } else {
                RtoTimer::Keep
            },
            ..Outcome::default()
        }
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.resend = None;
        self.recovery_point = None;
        self.go_back = Some((view.scoreboard.first(), view.scoreboard.end()));
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let cursor = self.go_back.and_then(|(next, _)| view.scoreboard.get(next));
        cursor.map_or_else(
            || view.flight_size(),
            |segment| segment.start - view.scoreboard.una(),
        )
    }

    fn next(&self, _view: &View<'_>) -> Next {
        let again = |id, clearance| Next::Retransmit {
            id,
            why: SendReason::Retransmit(DUPLICATE_ACKS),
            clearance,
        };
        match (self.resend, self.go_back) {
            (Some(id), _) => again(id, Clearance::Immediate),
            (None, Some((id, _))) => again(id, Clearance::Window),
            (None, None) => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
        }
    }
}

#[derive(Debug)]
struct FixedWindow;

impl CongestionControl for FixedWindow {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: Credit, view: &View<'_>) -> Window {
        view.window
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        loss.window
    }
}

/// Loss differentiation that returns the true cause.
#[derive(Debug)]
struct Oracle;

impl Differentiation for Oracle {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        loss.truth.unwrap_or(LossCause::Congestion)
    }
}

#[derive(Debug)]
struct NoResponse;

impl Response for NoResponse {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn respond(&mut self, loss: &LossFacts, _: Window) -> Window {
        loss.window
    }
}

fn stack() -> Stack {
    Stack {
        recovery: Box::new(PlainRecovery::default()),
        control: Box::new(FixedWindow),
        differentiation: Box::new(Oracle),
        response: Box::new(NoResponse),
    }
}

/// Returns a transfer with a window of `window` segments, an ACK for every segment, and a matching buffer.
pub fn transfer(from: NodeId, to: NodeId, window: u32, application: Application) -> TcpFlowConfig {
    let isn = SeqNumber(u32::MAX - 5_000);
    let mut sender = SenderConfig::new(MSS);
    sender.isn = isn;
    sender.initial_window = f64::from(window * MSS);
    sender.rtt.min_rto = Duration::from_millis(200);
    sender.rtt.max_rto = Duration::from_secs(10);
    sender.sack = Sack::Permitted;
    sender.idle = IdleRule::Keep;
    sender.peer_window = 1000 * MSS;
    let mut receiver = ReceiverConfig::new(MSS);
    receiver.irs = isn;
    receiver.buffer = 1000 * MSS;
    receiver.ack_policy = AckPolicy::Immediate;
    receiver.sack = Sack::Permitted;
    receiver.dsack = Dsack::Reported;
    receiver.application = Reading::AtOnce;
    let path = Path::Shortest { from, to };
    let mut config = TcpFlowConfig::new(path, sender, stack(), receiver);
    config.application = application;
    config
}

/// Returns a run of one transfer over one hop.
pub fn single(
    there: LinkConfig,
    back: LinkConfig,
    change: impl FnOnce(&mut TcpFlowConfig),
    window: u32,
    application: Application,
    seed: u64,
) -> Simulation {
    let mut map = Topology::new();
    let chain = Chain::single(there, back).build(&mut map);
    let mut config = transfer(chain.nodes[0], chain.nodes[1], window, application);
    change(&mut config);
    let mut network = Network::new(map);
    network.tcp(config).expect("the ends are connected");
    Simulation::new(network, seed).expect("the links are valid")
}
