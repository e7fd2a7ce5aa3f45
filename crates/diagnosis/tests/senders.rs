//! Senders that are known, over paths drawn from seeds that nothing was tuned with: they are named rightly
//! or not at all.

#[path = "../examples/senders/feed.rs"]
mod feed;
#[path = "../examples/senders/scenario.rs"]
mod scenario;

use dupack_diagnosis::sender::Control;

use scenario::Drawn;

/// Far from those of development, which begin at 0.
const SEEDS: core::ops::Range<u64> = 10_000..10_080;

#[test]
fn a_control_is_named_rightly_or_not_at_all() {
    let (mut right, mut wrong) = (0, Vec::new());
    for seed in SEEDS {
        let drawn = Drawn::of(seed);
        match feed::report(&drawn).control.name {
            Some(Control::BbrOfSomeVersion) if drawn.control == "bbr" => right += 1,
            Some(control) if control.name() == drawn.control => right += 1,
            Some(control) => wrong.push(format!("{control}: {}", drawn.line())),
            None => {}
        }
    }
    // 2 % of 80, rounded up.
    assert!(wrong.len() <= 2, "{wrong:#?}");
    assert!(right >= 40, "{right}");
}
