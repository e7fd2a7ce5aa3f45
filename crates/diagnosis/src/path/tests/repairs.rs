//! Losses that the survey counts for handwritten retransmissions. For some of these, the original segment was possibly
//! not lost.

use dupack_tcp::SenderConfig;
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{DataSegment, SackBlock};
use dupack_tcp::seq::SeqNumber;

use super::*;

const SEGMENT: u64 = 1000;

/// Survey that receives departures and arrivals of whole segments.
struct Hand {
    replay: Replay,
    survey: Survey,
    now: Instant,
    packet: u64,
}

impl Hand {
    /// Creates a survey after the departure of twenty segments.
    fn new(sack: Sack) -> Self {
        let mut config = SenderConfig::new(SEGMENT as u32);
        config.sack = sack;
        let mut hand = Self {
            replay: Replay::new(config, ReplayLimits::default()),
            survey: Survey::new(SEGMENT as u32, &Catalog::builtin()),
            now: Instant::ZERO,
            packet: 0,
        };
        for n in 0..20 {
            hand.leave(n, None, Stage::Open);
        }
        hand
    }

    fn leave(&mut self, n: u64, again: Option<(Cause, Need)>, stage: Stage) {
        self.now += ms(1.0);
        self.packet += 1;
        let segment = DataSegment {
            seq: SeqNumber((n * SEGMENT) as u32),
            len: SEGMENT as u32,
            ..DataSegment::default()
        };
        let sending = self.replay.sent(self.now, &segment).unwrap();
        let (start, end) = (n * SEGMENT, (n + 1) * SEGMENT);
        let again = again.map(|(cause, need)| Retransmission {
            at: self.now,
            packet: self.packet,
            start,
            end,
            transmission: 2,
            cause,
            trigger: None,
            waited: Duration::ZERO,
            need,
            lost: false,
        });
        let departure = Departure {
            at: self.now,
            packet: self.packet,
            start,
            end,
            kind: sending.kind,
            unseen_bytes: 0,
            flags: Flags::NONE,
            timestamps: None,
            ip_id: Some(0),
            window_left: None,
            sent: sending.sent,
            view: sending.view,
        };
        let explained = Explained {
            stage,
            repeat: again.map(|again| crate::analyse::cause::Repeat::Retransmission(again.cause)),
            retransmission: again.as_ref(),
            needless: None,
        };
        self.survey.departed(&departure, &explained);
    }

    fn again(&mut self, n: u64, cause: Cause, need: Need) {
        self.leave(n, Some((cause, need)), Stage::Recovery);
    }

    /// Processes an ACK of everything before segment `n`, with a SACK block of segment `block`.
    fn ack(&mut self, n: u64, block: Option<u64>) {
        self.now += ms(1.0);
        self.packet += 1;
        let at = |n: u64| SeqNumber((n * SEGMENT) as u32);
        let mut ack = Ack {
            ack: at(n),
            window: 1 << 20,
            ..Ack::default()
        };
        if let Some(n) = block {
            ack.sacks.push(SackBlock {
                start: at(n),
                end: at(n + 1),
            });
        }
        let heard = self.replay.acknowledged(self.now, &ack).unwrap();
        let arrival = Arrival {
            at: self.now,
            captured: self.now,
            packet: self.packet,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: None,
            window: Some(1 << 20),
            field: None,
            carried: 0,
            window_left: None,
            view: heard.view,
        };
        let explained = Explained {
            stage: Stage::Recovery,
            repeat: None,
            retransmission: None,
            needless: None,
        };
        self.survey.arrived(&arrival, &explained);
    }

    fn losses(&self) -> u64 {
        self.survey.path().losses
    }
}

#[test]
fn a_dsack_revokes_only_the_loss_of_a_spurious_retransmission() {
    let mut hand = Hand::new(Sack::Permitted);
    for n in [1, 4, 7] {
        hand.again(n, Cause::SackedBeyond, Need::Unknown);
    }
    assert_eq!(hand.losses(), 3);
    // Segments 1 and 4 are retransmitted a second time, although the first retransmissions had arrived.
    for n in [1, 4] {
        hand.again(n, Cause::LostAgain, Need::NeedlessByTime);
    }
    assert_eq!(hand.losses(), 3);
    for n in [1, 4] {
        hand.ack(10, Some(n));
    }
    assert_eq!(hand.losses(), 3);
    // Segment 7 had only one retransmission, so its loss is removed.
    hand.ack(10, Some(7));
    assert_eq!(hand.losses(), 2);
}

#[test]
fn a_keep_alive_is_not_a_loss() {
    let mut hand = Hand::new(Sack::Permitted);
    hand.again(19, Cause::KeepAlive, Need::Unknown);
    assert_eq!(hand.losses(), 0);
    assert_eq!(hand.survey.path().transfer.retransmissions, 0);
    hand.again(19, Cause::TailLossProbe, Need::Unknown);
    assert_eq!(hand.losses(), 1);
    assert_eq!(hand.survey.path().transfer.retransmissions, 1);
}

#[test]
fn without_sack_retransmissions_after_a_timeout_may_have_arrived() {
    let low = |cause, need| {
        let mut hand = Hand::new(Sack::Absent);
        hand.ack(1, None);
        hand.ack(1, None);
        for n in [1, 2, 3, 4, 5] {
            hand.again(n, cause, need);
        }
        let loss = hand.survey.path().loss;
        assert_eq!(loss.value(), Some(0.2), "5 of 25");
        loss.interval().expect("an estimate").0
    };
    let sure = low(Cause::DuplicateAcks, Need::Unknown);
    assert!(sure > 0.05, "{sure}");
    assert_eq!(low(Cause::Timeout { expiry: 1 }, Need::Needed), sure);
    assert_eq!(low(Cause::Timeout { expiry: 1 }, Need::Unknown), 0.0);
    assert_eq!(low(Cause::AfterTimeout, Need::Unknown), 0.0);
}
