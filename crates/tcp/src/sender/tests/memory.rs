//! Tests of state that the sender keeps: SACK information, samples, window changes, and the state that an undo may
//! restore.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::undo::UndoRules;

#[test]
fn a_timeout_forgets_sacks_if_the_rule_says_so() {
    let sacked_after = |memory| {
        let setup = plain().sack().configure(|c| c.sacks_after_timeout = memory);
        let mut t = setup.window(4.0).start(4);
        t.receive(100, ack(0).sack(2, 3));
        t.wait(1100);
        assert_eq!(t.sender().stats().timeouts, 1);
        assert_eq!(t.sender().stats().renegings, 0);
        t.sender().scoreboard().sacked_segments()
    };
    assert_eq!(sacked_after(SackMemory::Keep), 1);
    assert_eq!(sacked_after(SackMemory::Forget), 0);
}

#[test]
fn window_changes_are_logged_on_request() {
    let mut t = plain().window(2.0).start(9);
    t.receive(100, ack(1));
    assert!(t.cwnd() > 2.0);
    assert!(!t.sender().has_window_changes());
    let mut t = plain()
        .configure(|c| c.log = WindowLog::On)
        .window(2.0)
        .start(9);
    // A duplicate ACK does not change the window, so no change is logged.
    t.receive(100, ack(0));
    assert!(!t.sender().has_window_changes());
    t.receive(101, ack(1));
    assert!(t.sender().has_window_changes());
    let changes: Vec<_> = t.sender_mut().take_window_changes().collect();
    let cwnds: Vec<_> = changes
        .iter()
        .map(|c| (c.before.cwnd, c.after.cwnd))
        .collect();
    assert_eq!(cwnds, [(2000.0, 3000.0)]);
    assert!(!t.sender().has_window_changes());
}

#[test]
fn a_retransmitted_segment_is_no_longer_timed() {
    // If one segment is timed at a time, its retransmission ends the timing (Karn's algorithm, RFC 6298 §3).
    let timed_after = |number: u64| {
        let mut t = plain()
            .configure(|c| c.rtt.sampling = RttSampling::OnePerWindow)
            .window(4.0)
            .start(4);
        let id = SegmentId(number);
        let segment = *t.sender().scoreboard().get(id).expect("it is outstanding");
        let state = &mut t.sender_mut().state;
        state.record_repeat(at(50), id, &segment);
        state.timing.as_deref().and_then(|timed| timed.segment)
    };
    assert_eq!(timed_after(0), None);
    assert_eq!(timed_after(1), Some((1000, at(0))));
}

#[test]
fn counters_of_undone_reductions_are_added_up() {
    let stats = SenderStats {
        undone_by_timestamp: 1,
        undone_by_dsack: 2,
        undone_by_frto: 4,
        ..SenderStats::default()
    };
    assert_eq!(stats.undone(), 7);
}

/// Control with a window of eight segments, or of one segment from a timeout to the next ACK. It counts the calls of
/// `remember`.
#[derive(Debug)]
struct Eight {
    rules: UndoRules,
    remembered: Arc<AtomicU64>,
}

impl CongestionControl for Eight {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: Credit, view: &View<'_>) -> Window {
        Window {
            cwnd: 8.0 * f64::from(SMSS),
            ..view.window
        }
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        Window {
            cwnd: f64::from(SMSS),
            ..loss.window
        }
    }

    fn undo(&self) -> UndoRules {
        self.rules
    }

    fn remember(&mut self) {
        self.remembered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns a sender with `rules`, and the number of calls of its control's `remember`.
fn under(rules: UndoRules, segments: u64) -> (Timeline, Arc<AtomicU64>) {
    let remembered = Arc::new(AtomicU64::new(0));
    let control = Eight {
        rules,
        remembered: Arc::clone(&remembered),
    };
    let setup = plain().control(Box::new(control)).window(8.0);
    (setup.start(segments), remembered)
}

#[test]
fn a_control_remembers_once_for_a_loss_event_and_its_timeouts() {
    let after = |rules| {
        let (mut t, remembered) = under(rules, 8);
        for n in 1..=3 {
            t.receive(100 + n, ack(0));
        }
        let event = remembered.load(Ordering::Relaxed);
        t.wait(4000);
        assert_eq!(t.sender().stats().timeouts, 2);
        let timeouts = remembered.load(Ordering::Relaxed);
        // All data is acknowledged, and the next flight has its own loss event.
        t.receive(4100, ack(8));
        t.write(8);
        for n in 1..=3 {
            t.receive(4200 + n, ack(8));
        }
        assert_eq!(t.sender().stats().loss_events, 2);
        [event, timeouts, remembered.load(Ordering::Relaxed)]
    };
    assert_eq!(after(UndoRules::LINUX), [1, 1, 2]);
    assert_eq!(after(UndoRules::OFF), [0, 0, 0]);
}
