//! Setup of a test: the plug-ins and the configuration of the sender.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::loopback::{Loopback, Path, Transfer};
use super::timeline::Timeline;
use super::{Aimd, Always, NoResponse, PEER_WINDOW, SMSS};
use crate::congestion::CongestionControl;
use crate::differentiation::Differentiation;
use crate::facts::LossCause;
use crate::options::{Dsack, MarkEcho, OrderEcho, Sack};
use crate::receiver::{AckPolicy, Reading, TimestampEcho};
use crate::recovery::Recovery;
use crate::response::Response;
use crate::sender::{IdleRule, TimestampClock, TimestampValues};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::{Receiver, ReceiverConfig, Sender, SenderConfig, Stack};

/// Plug-ins and configuration of the sender to test.
#[derive(Debug)]
pub struct Setup {
    stack: Stack,
    config: SenderConfig,
    dsack: Dsack,
    echo: TimestampEcho,
}

impl Setup {
    /// Returns the setup of a sender with this recovery, an initial window of 10 segments, an infinite `ssthresh`, the
    /// timeout of RFC 6298, and no options.
    #[must_use]
    pub fn new(recovery: impl Recovery + 'static) -> Self {
        Self::boxed(Box::new(recovery))
    }

    /// Same as [`new`](Self::new), for a boxed recovery.
    #[must_use]
    pub fn boxed(recovery: Box<dyn Recovery>) -> Self {
        let mut config = SenderConfig::new(SMSS);
        config.initial_window = 10.0 * f64::from(SMSS);
        config.idle = IdleRule::Keep;
        config.peer_window = PEER_WINDOW;
        Self {
            stack: Stack {
                recovery,
                control: Box::new(Aimd::FlightSize),
                differentiation: Box::new(Always(LossCause::Congestion)),
                response: Box::new(NoResponse),
            },
            config,
            dsack: Dsack::Absent,
            echo: TimestampEcho::Standard,
        }
    }

    /// Enables SACK.
    #[must_use]
    pub fn sack(self) -> Self {
        self.configure(|c| c.sack = Sack::Permitted)
    }

    /// Enables SACK, with a receiver that reports duplicate data.
    #[must_use]
    pub fn dsack(mut self) -> Self {
        self.dsack = Dsack::Reported;
        self.sack()
    }

    /// Enables transmission numbers and their echo.
    #[must_use]
    pub fn order_echo(self) -> Self {
        self.configure(|c| c.order_echo = OrderEcho::Carried)
    }

    /// Enables unique timestamps with ticks of 1 ms. The receiver echoes the timestamp of the segment that caused the
    /// ACK.
    #[must_use]
    pub fn trigger_timestamps(mut self) -> Self {
        self.echo = TimestampEcho::Trigger;
        self.configure(|c| {
            c.timestamps = Some(TimestampClock {
                tick: Duration::from_millis(1),
                values: TimestampValues::Unique,
            });
        })
    }

    /// Sets the initial congestion window, in segments.
    #[must_use]
    pub fn window(self, segments: f64) -> Self {
        self.configure(|c| c.initial_window = segments * f64::from(SMSS))
    }

    /// Sets the initial slow start threshold, in segments.
    #[must_use]
    pub fn ssthresh(self, segments: f64) -> Self {
        self.configure(|c| c.initial_ssthresh = segments * f64::from(SMSS))
    }

    /// Sets the control, instead of [`Aimd::FlightSize`].
    #[must_use]
    pub fn control(mut self, control: Box<dyn CongestionControl>) -> Self {
        self.stack.control = control;
        self
    }

    /// Sets the differentiation, instead of [`Always`] congestion.
    #[must_use]
    pub fn differentiation(mut self, differentiation: Box<dyn Differentiation>) -> Self {
        self.stack.differentiation = differentiation;
        self
    }

    /// Sets the response to losses of the link.
    #[must_use]
    pub fn response(mut self, response: Box<dyn Response>) -> Self {
        self.stack.response = response;
        self
    }

    /// Changes the sender's configuration.
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut SenderConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Starts at time 0 with `segments` segments to send.
    #[must_use]
    pub fn start(self, segments: u64) -> Timeline {
        self.start_with_bytes(segments * u64::from(SMSS))
    }

    /// Starts at time 0 with `bytes` bytes to send.
    #[must_use]
    pub fn start_with_bytes(self, bytes: u64) -> Timeline {
        Timeline::new(Sender::new(self.config, self.stack), bytes)
    }

    /// Transfers `segments` segments over a link with a delay of 50 ms in each direction, which drops every
    /// transmission for which `lost` returns `true`. The arguments of `lost` are the number of the transmission, from
    /// 1, and the number of the segment. No ACKs are lost.
    ///
    /// # Panics
    ///
    /// Panics if the transfer stops before all data is acknowledged.
    pub fn transfer(self, segments: u64, mut lost: impl FnMut(u64, u64) -> bool) -> Transfer {
        let mut loopback = self.loopback(Path::SHORT);
        loopback.sender.write(segments * u64::from(SMSS));
        loopback.run(Instant::FAR_FUTURE, &mut |t, _| {
            lost(t.order, t.offset / u64::from(SMSS))
        });
        loopback.finished()
    }

    /// Returns the sender and a receiver with the same options at the ends of `path`.
    #[must_use]
    pub fn loopback(self, path: Path) -> Loopback {
        let config = self.config;
        let receiver = Receiver::new(ReceiverConfig {
            irs: config.isn,
            mss: SMSS,
            buffer: PEER_WINDOW,
            ack_policy: AckPolicy::Immediate,
            sack_compression: None,
            sack: config.sack,
            dsack: self.dsack,
            timestamps: config.timestamps.map(|_| self.echo),
            order_echo: config.order_echo,
            ecn: config.ecn,
            mark_echo: MarkEcho::UntilCwr,
            application: Reading::AtOnce,
            bandwidth_window: None,
        });
        debug_assert_eq!(
            config.isn,
            SeqNumber(0),
            "timelines count from sequence number 0"
        );
        Loopback {
            sender: Sender::new(config, self.stack),
            receiver,
            path,
            now: Instant::ZERO,
            data: VecDeque::new(),
            data_free: Instant::ZERO,
            acks: VecDeque::new(),
        }
    }
}
