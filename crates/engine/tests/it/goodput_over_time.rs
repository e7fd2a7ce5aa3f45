//! Tests that goodput over time counts data when it arrives, not when a retransmission completes the order.

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Conduct, Execution, Shown, show};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};

/// Rate of the path in Mbit/s.
const RATE: f64 = 10.0;

/// Experiment in which a segment is lost twice and blocks several hundred other segments until the retransmission timer
/// expires.
const TEXT: &str = "stacks = [\"sack/reno\"]\nseeds = 1\nduration = \"20s\"\n[path]\nrate = \"10Mbit/s\"\n\
    delay = \"20ms\"\nbuffer = \"500pkt\"\ndrop = [\"9000\", \"9000#2\"]\n";

#[test]
fn goodput_never_exceeds_the_rate_of_the_path() {
    let source = Source::new("test.toml", TEXT);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let conduct = Conduct {
        execution: Execution::default(),
        watch: &(),
        interrupt: &Interrupt::new(),
    };
    let over_time = show(&plan, Shown::OverTime, &conduct).over_time.unwrap();
    let most = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let timeline = &over_time.timelines[0];
    for goodput in [&timeline.goodput_mbit_s, &timeline.flows[0].goodput_mbit_s] {
        let most = most(goodput);
        assert!((0.8 * RATE..=RATE).contains(&most), "{most}");
    }
    // The data in order arrives in a burst at several times the rate of the path.
    let (_, course) = plan.follow(plan.first_job(0), &Interrupt::new()).unwrap();
    let within = over_time.goodput_interval_s;
    let bursts = course.moments.iter().map(|from| {
        let later = course
            .moments
            .iter()
            .filter(|m| m.at >= from.at && m.at - from.at <= within);
        later
            .map(|m| m.delivered - from.delivered)
            .fold(0.0, f64::max)
            / within
    });
    let burst = bursts.fold(0.0, f64::max);
    assert!(burst > 2.0 * RATE, "{burst}");
}
