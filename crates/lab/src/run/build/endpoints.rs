//! The two ends of a flow: defaults of the dialect, needs of the stack, and options of the file.

use dupack_algorithms::catalog::dialect::{Headers, WIDE_OPEN, receiver_config, sender_config};
use dupack_algorithms::catalog::{Dialect, Needs, StackSpec};
use dupack_net::flow::HeaderSizes;
use dupack_net::misbehaviour::Misbehaviour;
use dupack_tcp::options::{Dsack, Ecn, Sack};
use dupack_tcp::receiver::{AckPolicy, AdaptiveAcks, BandwidthWindow, SackCompression};
use dupack_tcp::sender::{CreditRule, TimestampClock, TimestampValues};
use dupack_tcp::time::Duration;
use dupack_tcp::{ReceiverConfig, SenderConfig};

use super::span;
use crate::experiment::endpoint::bytes_of;
use crate::experiment::{Acks, CreditFor, EcnKind, EcnName, Lie, ReceiverOptions, SenderOptions};
use crate::units::Buffer;

/// The two ends of a flow, with a value for every option.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    /// Configuration of the sender.
    pub sender: SenderConfig,
    /// Configuration of the receiver.
    pub receiver: ReceiverConfig,
    /// Header sizes on the wire.
    pub headers: HeaderSizes,
    /// Segments that arrive within this time reach the receiver as one segment.
    pub coalescing: Option<Duration>,
    /// Misbehaviour of the receiver.
    pub misbehaviour: Misbehaviour,
}

/// Returns the default payload of a full segment in bytes.
pub(in crate::run) const fn default_segment(dialect: Dialect) -> u32 {
    match dialect {
        // A packet of 1500 bytes without IPv4 and TCP headers and timestamps.
        Dialect::Rfc | Dialect::Linux => 1448,
        Dialect::Ns2 => 1000,
    }
}

impl Endpoints {
    /// Creates the ends of a flow of `stack`.
    #[must_use]
    pub fn new(
        dialect: Dialect,
        stack: &StackSpec,
        sender: &SenderOptions,
        receiver: &ReceiverOptions,
    ) -> Self {
        let needs = stack.needs(dialect);
        let smss = sender
            .segment
            .map_or(default_segment(dialect), |b| b.as_bytes() as u32);
        let policy = match (receiver.acks, receiver.delayed_ack) {
            (Some(Acks::Adaptive), _) => AckPolicy::Adaptive(AdaptiveAcks::LINUX),
            (_, Some(delay)) if delay.as_nanos() > 0 => AckPolicy::Delayed(span(delay)),
            _ => AckPolicy::Immediate,
        };
        let mut ends = Self {
            sender: sender_config(dialect, smss, &needs),
            receiver: receiver_config(dialect, smss, &needs, policy),
            headers: header_sizes(dialect, &needs),
            coalescing: None,
            misbehaviour: Misbehaviour::default(),
        };
        ends.apply_sender(sender, smss);
        ends.apply_receiver(receiver, smss);
        ends
    }

    fn apply_sender(&mut self, options: &SenderOptions, smss: u32) {
        let config = &mut self.sender;
        let bytes = |buffer: Buffer| bytes_of(buffer, smss) as f64;
        if let Some(window) = options.initial_window {
            config.initial_window = bytes(window);
        }
        if let Some(threshold) = options.initial_ssthresh {
            config.initial_ssthresh = bytes(threshold);
        }
        if let Some(window) = options.max_window {
            config.max_window = bytes(window);
        }
        if let Some(rto) = options.min_rto {
            config.rtt.min_rto = span(rto);
        }
        if let Some(rto) = options.initial_rto {
            config.rtt.initial_rto = span(rto);
        }
        if let Some(tick) = options.granularity {
            config.rtt.granularity = span(tick);
        }
        match options.timestamps {
            Some(false) => {
                config.timestamps = None;
                self.receiver.timestamps = None;
            }
            Some(true) if config.timestamps.is_none() => {
                config.timestamps = Some(TimestampClock {
                    tick: Duration::from_millis(1),
                    values: TimestampValues::Clock,
                });
                self.receiver.timestamps = Some(dupack_tcp::receiver::TimestampEcho::Standard);
            }
            _ => {}
        }
        match options.credit {
            None => {}
            Some(CreditFor::Acknowledged) => config.credit = CreditRule::Acknowledged,
            Some(CreditFor::Delivered) => config.credit = CreditRule::Delivered,
        }
        config.ecn = match options.ecn {
            Some(EcnKind::Named(EcnName::Accurate)) => Ecn::Accurate,
            Some(EcnKind::Classic(true)) => Ecn::Classic,
            Some(EcnKind::Classic(false)) | None => Ecn::Absent,
        };
        self.receiver.ecn = config.ecn;
        if let Some(header) = options.header {
            self.headers.data_bytes = header.as_bytes() as u32;
        }
    }

    fn apply_receiver(&mut self, options: &ReceiverOptions, smss: u32) {
        if let Some(buffer) = options.buffer {
            let bytes = bytes_of(buffer, smss).clamp(1, u64::from(WIDE_OPEN)) as u32;
            self.receiver.buffer = bytes;
            self.sender.peer_window = bytes;
        }
        if let Some(sack) = options.sack {
            self.receiver.sack = Sack::when(sack);
            self.sender.sack = Sack::when(sack);
        }
        if let Some(dsack) = options.dsack {
            self.receiver.dsack = Dsack::when(dsack);
        }
        if options.sack_compression == Some(true) {
            self.receiver.sack_compression = Some(SackCompression::LINUX);
        }
        let coalescing = options.coalescing.filter(|wait| wait.as_nanos() > 0);
        self.coalescing = coalescing.map(span);
        let bytes = |ahead: Buffer| Some(bytes_of(ahead, smss));
        match options.lie {
            None | Some(Lie::None) => {}
            Some(Lie::Divide(pieces)) => self.misbehaviour.pieces = pieces,
            Some(Lie::Optimistic(ahead)) => self.misbehaviour.optimistic_bytes = bytes(ahead),
            Some(Lie::Sack(ahead)) => self.misbehaviour.claimed_bytes = bytes(ahead),
        }
        let followed = options.bandwidth_window.filter(|rtt| rtt.as_nanos() > 0);
        self.receiver.bandwidth_window = followed.map(|rtt| BandwidthWindow::new(span(rtt)));
    }
}

fn header_sizes(dialect: Dialect, needs: &Needs) -> HeaderSizes {
    let headers = Headers::new(dialect, needs);
    let none = headers.ack(0);
    let one = headers.ack(1) - none;
    let two = headers.ack(2) - none;
    HeaderSizes {
        data_bytes: headers.data,
        ack_bytes: none,
        sack_block_bytes: two - one,
        sack_fixed_bytes: one - (two - one),
    }
}
