//! All properties of a case except its stack, drawn from its seed.

use dupack_algorithms::catalog::Context;
use dupack_algorithms::catalog::dialect::{receiver_config, sender_config};
use dupack_net::flow::{
    Application, HeaderSizes, Path, Reader, Reneging, TcpFlowConfig, TimestampOption,
};
use dupack_net::hostile::HostilePath;
use dupack_net::ids::NodeId;
use dupack_net::link::{Capable, RedConfig};
use dupack_net::network::Network;
use dupack_net::random::Stream;
use dupack_net::shapes::Chain;
use dupack_net::simulation::Simulation;
use dupack_net::topology::Topology;
use dupack_tcp::options::{Dsack, Ecn, OrderEcho, Sack};
use dupack_tcp::receiver::{AckPolicy, TimestampEcho};
use dupack_tcp::rtt::{BackoffReset, RttSampling};
use dupack_tcp::sender::{DuplicateAckRule, IdleRule, TimestampClock, TimestampValues, WindowLog};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::WindowRounding;
use dupack_tcp::{ReceiverConfig, SenderConfig};

use super::case::Case;

/// A network and a transfer over it.
pub struct Scene {
    path: HostilePath,
    sender: SenderConfig,
    receiver: ReceiverConfig,
    application: Application,
    start: Instant,
    seed: u64,
}

impl Scene {
    pub fn draw(case: &Case) -> Self {
        let stream = &mut Stream::derive(case.seed, "hostile scene");
        let needs = case.stack.needs(case.dialect);
        let smss = draw_smss(stream);
        let policy = draw_ack_policy(stream);
        let mut path = HostilePath::draw(case.seed, smss);
        if one_in(stream, 3) {
            path.reader = Reader::AtOnce;
        }
        if one_in(stream, 2) {
            path.reneging = Reneging::Never;
        }
        let mut sender = sender_config(case.dialect, smss, &needs);
        let mut receiver = receiver_config(case.dialect, smss, &needs, policy);
        let application = draw_application(stream, smss);

        draw_windows(stream, &mut sender);
        path.receive_buffer_bytes = draw_buffer(stream, smss);
        receiver.buffer = path.receive_buffer_bytes;
        sender.peer_window = draw_first_window(stream, receiver.buffer);
        sender.isn = draw_isn(stream, application);
        receiver.irs = sender.isn;
        if one_in(stream, 3) {
            // The options of the connection may differ from those that the stack needs.
            draw_sender_options(stream, &mut sender);
            draw_receiver_options(stream, &mut receiver);
        }
        if one_in(stream, 3) {
            draw_timer(stream, &mut sender);
        }
        draw_marks(case.seed, &mut path, &mut sender, &mut receiver);
        Self {
            path,
            sender,
            receiver,
            application,
            start: Instant::ZERO + Duration::from_millis(stream.below(2) * stream.below(2_000)),
            seed: case.seed,
        }
    }

    pub const fn sender(&self) -> &SenderConfig {
        &self.sender
    }

    pub const fn receiver(&self) -> &ReceiverConfig {
        &self.receiver
    }

    pub const fn reneging(&self) -> Reneging {
        self.path.reneging
    }

    pub fn total_bytes(&self) -> u64 {
        self.application.total_bytes().unwrap_or(0)
    }

    pub fn simulation(&self, case: &Case) -> Simulation {
        let mut map = Topology::new();
        let hop = Chain::single(self.path.there.clone(), self.path.back.clone());
        let nodes = hop.build(&mut map).nodes;
        let mut network = Network::new(map);
        network
            .tcp(self.flow(case, nodes[0], nodes[1]))
            .expect("the ends are connected");
        Simulation::new(network, self.seed).expect("the links are valid")
    }

    fn flow(&self, case: &Case, from: NodeId, to: NodeId) -> TcpFlowConfig {
        let context = Context::new(self.sender.smss);
        let stack = case.stack.build(case.dialect, &context);
        let path = Path::Shortest { from, to };
        let mut config = TcpFlowConfig::new(path, self.sender, stack, self.receiver);
        config.start = self.start;
        config.application = self.application;
        config.reader = self.path.reader;
        config.reneging = self.path.reneging;
        config.headers = HeaderSizes::rfc(TimestampOption::Present);
        config
    }

    /// Returns a description of the scene, for the analysis of a failure.
    pub fn describe(&self) -> String {
        format!(
            "{:#?}\n{:#?}\n{:#?}\n{:?}",
            self.path, self.sender, self.receiver, self.application
        )
    }
}

fn draw_smss(stream: &mut Stream) -> u32 {
    match stream.below(6) {
        0 => 1 + stream.below(20) as u32,
        1 => 1 + stream.below(1460) as u32,
        2 => 536,
        _ => 1460,
    }
}

fn draw_ack_policy(stream: &mut Stream) -> AckPolicy {
    if one_in(stream, 2) {
        AckPolicy::Immediate
    } else {
        AckPolicy::Delayed(Duration::from_millis(1 + stream.below(500)))
    }
}

/// Draws an application that sends from one byte to 300 segments, in one write or several.
fn draw_application(stream: &mut Stream, smss: u32) -> Application {
    let most = [3, 60, 300, 300][stream.below(4) as usize];
    let bytes = 1 + stream.below(most * u64::from(smss));
    if one_in(stream, 3) {
        let count = 2 + stream.below(8);
        Application::Writes {
            bytes: bytes.div_ceil(count),
            count,
            every: Duration::from_millis(stream.below(4_000)),
        }
    } else {
        Application::Finite(bytes)
    }
}

/// Draws the windows of the sender: the dialect's initial window without a maximum, or random values.
fn draw_windows(stream: &mut Stream, sender: &mut SenderConfig) {
    let smss = f64::from(sender.smss);
    if one_in(stream, 2) {
        sender.initial_window = smss * 12.0 * stream.unit();
    }
    if one_in(stream, 3) {
        sender.initial_ssthresh = smss * 40.0 * stream.unit();
    }
    if one_in(stream, 6) {
        sender.max_window = smss * 8.0 * stream.unit();
    }
}

/// Draws the receive buffer: from one byte to 64 segments, or 1000 segments, which is larger than any window.
fn draw_buffer(stream: &mut Stream, smss: u32) -> u32 {
    match stream.below(8) {
        0 => 1 + stream.below(u64::from(smss)) as u32,
        1 => smss + stream.below(u64::from(smss) * 4) as u32,
        2 | 3 => smss * 1000,
        _ => smss * (1 + stream.below(64) as u32),
    }
}

/// Draws the window in the handshake, which is at most the buffer.
fn draw_first_window(stream: &mut Stream, buffer: u32) -> u32 {
    match stream.below(4) {
        0 => stream.below(u64::from(buffer) + 1) as u32,
        _ => buffer,
    }
}

/// Draws the initial sequence number. In half of the cases, the sequence numbers wrap during the transfer.
fn draw_isn(stream: &mut Stream, application: Application) -> SeqNumber {
    let total = application.total_bytes().unwrap_or(0);
    if one_in(stream, 2) {
        SeqNumber((stream.below(total + 1) as u32).wrapping_neg())
    } else {
        SeqNumber(stream.bits() as u32)
    }
}

fn draw_sender_options(stream: &mut Stream, sender: &mut SenderConfig) {
    sender.sack = Sack::when(draw_bool(stream));
    sender.order_echo = OrderEcho::when(draw_bool(stream));
    sender.timestamps = (!one_in(stream, 3)).then(|| TimestampClock {
        tick: Duration::from_micros([1, 1_000, 10_000, 1_000_000][stream.below(4) as usize]),
        values: if one_in(stream, 2) {
            TimestampValues::Clock
        } else {
            TimestampValues::Unique
        },
    });
    sender.duplicate_ack = if one_in(stream, 2) {
        DuplicateAckRule::Standard
    } else {
        DuplicateAckRule::AckNumberOnly
    };
    sender.idle = if one_in(stream, 2) {
        IdleRule::Restart
    } else {
        IdleRule::Keep
    };
    sender.rounding = match stream.below(3) {
        0 => WindowRounding::Exact,
        1 => WindowRounding::NsTwo,
        _ => WindowRounding::Segments,
    };
    sender.log = if one_in(stream, 2) {
        WindowLog::On
    } else {
        WindowLog::Off
    };
}

fn draw_receiver_options(stream: &mut Stream, receiver: &mut ReceiverConfig) {
    receiver.sack = Sack::when(draw_bool(stream));
    receiver.dsack = Dsack::when(draw_bool(stream));
    receiver.order_echo = OrderEcho::when(draw_bool(stream));
    receiver.timestamps = match stream.below(3) {
        0 => None,
        1 => Some(TimestampEcho::Standard),
        _ => Some(TimestampEcho::Trigger),
    };
}

fn draw_timer(stream: &mut Stream, sender: &mut SenderConfig) {
    let rtt = &mut sender.rtt;
    rtt.min_rto = Duration::from_millis(1 + stream.below(1_000));
    rtt.initial_rto = rtt.min_rto + Duration::from_millis(stream.below(3_000));
    rtt.max_rto = rtt.initial_rto + Duration::from_millis(stream.below(60_000));
    rtt.sampling = if one_in(stream, 2) {
        RttSampling::EverySegment
    } else {
        RttSampling::OnePerWindow
    };
    rtt.backoff_reset = if one_in(stream, 2) {
        BackoffReset::OnSample
    } else {
        BackoffReset::OnAdvance
    };
}

/// Gives every other flow ECN, classic or accurate, and a queue that may mark its packets. The values are drawn from a
/// separate stream, so that all other draws remain the same.
fn draw_marks(
    seed: u64,
    path: &mut HostilePath,
    sender: &mut SenderConfig,
    receiver: &mut ReceiverConfig,
) {
    let stream = &mut Stream::derive(seed, "hostile marks");
    sender.ecn = match stream.below(4) {
        0 => Ecn::Classic,
        1 => Ecn::Accurate,
        _ => Ecn::Absent,
    };
    receiver.ecn = sender.ecn;
    if !sender.ecn.is_on() {
        return;
    }
    let mut red = RedConfig::packets(0.5, 2.0 + stream.below(60) as f64);
    red.weight = 0.5;
    red.max_probability = 1.0;
    red.capable = Capable::Mark;
    let marking = path.there.clone().with_red(red);
    // A link without a queue cannot mark packets.
    if marking.fault().is_none() {
        path.there = marking;
    }
}

fn draw_bool(stream: &mut Stream) -> bool {
    one_in(stream, 2)
}

fn one_in(stream: &mut Stream, n: u64) -> bool {
    stream.below(n) == 0
}
