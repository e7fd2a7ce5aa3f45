//! Reno, NewReno, SACK and FACK against ns-2.35: the mean goodput of each in the scenarios of `validation/peers/ns2` is
//! within 5 % of the mean in ns-2. `cargo measure agree-ns2` runs the complete set. This test omits the long scenarios
//! and does not need ns-2.

use dupack_papers::agreement::{
    Cell, CellAgreement, SENDERS, Scenario, Sender, line, nishida, scenarios,
};

/// Maximum number of packets in ns-2's run of a scenario that this test includes.
const PACKETS_MAX: f64 = 380_000.0;
/// Number of scenarios: the shortest six in an ordinary test run, and all before a release.
const COUNT: [u64; 2] = [6, u64::MAX];

/// Returns the four recoveries with ns-2's defaults.
fn four() -> Vec<Sender> {
    let names = ["reno", "newreno", "sack", "fack"];
    SENDERS
        .into_iter()
        .filter(|s| names.contains(&s.name))
        .collect()
}

fn packets(scenario: &Scenario) -> f64 {
    let newreno = SENDERS[1];
    let runs = dupack_papers::agreement::runs(scenario, newreno);
    let goodput: f64 = runs.iter().map(|run| run.goodput).sum::<f64>() / runs.len() as f64;
    goodput * scenario.duration_s / scenario.packet_bytes as f64
}

fn complain_of(cells: &[Cell]) {
    let wrong: Vec<String> = cells
        .iter()
        .filter(|cell| cell.verdict() == CellAgreement::Differs)
        .map(line)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} means differ from ns-2's by more than 5 %, or not as validation/peers/ns2/differences.csv \
         says (ours, ns-2's, ratio):\n{}",
        wrong.len(),
        cells.len(),
        wrong.join("\n")
    );
}

#[test]
fn four_recoveries_agree_with_ns2_in_every_scenario() {
    let senders = four();
    assert_eq!(senders.len(), 4);
    let all = scenarios().into_iter();
    let mut short: Vec<(f64, Scenario)> = all.map(|one| (packets(&one), one)).collect();
    short.retain(|(packets, _)| *packets <= PACKETS_MAX);
    assert!(short.len() >= 24, "only {} scenarios", short.len());
    short.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let [every, release] = COUNT;
    let count = usize::try_from(dupack_testing::cases(every, release)).unwrap_or(usize::MAX);
    let mut cells = Vec::new();
    for (_, scenario) in short.iter().take(count) {
        // Random losses make the means uncertain. Without losses, all runs are alike.
        let seeds = if scenario.loss > 0.0 { 10 } else { 2 };
        cells.extend(
            scenario
                .compare(&senders, seeds, &())
                .expect("it is an experiment"),
        );
    }
    complain_of(&cells);
}

#[test]
fn newreno_agrees_with_ns2_in_the_setting_of_newreno_smooth() {
    let mut cells = Vec::new();
    for scenario in nishida() {
        cells.extend(
            scenario
                .compare(&[SENDERS[1]], 10, &())
                .expect("it is an experiment"),
        );
    }
    assert_eq!(cells.len(), 6);
    complain_of(&cells);
}
