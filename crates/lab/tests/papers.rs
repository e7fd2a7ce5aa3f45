//! Every paper, quickly: each claim gets a verdict, and those that must hold do.

use dupack_lab::papers::{Extent, PAPERS, Reproduction, Verdict, find};
use dupack_lab::run::{Execution, Interrupt};

fn quick(key: &str) -> Reproduction {
    let campaign = find(key).unwrap().plan(Extent::Quick).unwrap();
    let reproduction = campaign.execute(Execution::default(), &(), &Interrupt::new());
    assert_eq!(reproduction.evidence.missing(), 0);
    assert_eq!(reproduction.evidence.planned(), campaign.runs());
    for judged in &reproduction.judged {
        let finding = &judged.finding;
        println!(
            "{}: {}: {}",
            judged.claim.id,
            finding.verdict.name(),
            finding.found
        );
        let rests_on_runs =
            !finding.found.contains("do not show") && !finding.found.contains("no rule");
        assert!(rests_on_runs, "{}: {}", judged.claim.id, finding.found);
    }
    reproduction
}

fn verdict(reproduction: &Reproduction, id: &str) -> Verdict {
    let judged = reproduction.judged.iter().find(|j| j.claim.id == id);
    judged
        .unwrap_or_else(|| panic!("no claim {id}"))
        .finding
        .verdict
}

#[test]
fn momentary_meets_its_oracle() {
    let momentary = quick("momentary");
    for id in [
        "window-before-and-after",
        "newreno-first-sends",
        "newreno-one-per-rtt",
        "newreno-new-data",
        "sack-two-per-partial",
        "fack-silent",
        "momentary-first-round",
        "momentary-second-round",
        "momentary-full-ack",
        "momentary-increases-at-once",
        "restart-newreno",
        "restart-fack",
    ] {
        assert_eq!(verdict(&momentary, id), Verdict::Holds, "{id}");
    }
    // ns-2's own log says so, too: what does not hold is the paper's, not ours to repair.
    for id in ["all-halve", "sack-four-rtts", "others-wait"] {
        assert_eq!(verdict(&momentary, id), Verdict::DoesNotHold, "{id}");
    }
}

#[test]
fn alg2_is_the_worst_and_alg3_close_to_alg1() {
    let draft = quick("newreno-smooth");
    for id in ["alg2-worst", "alg2-grows-worse", "alg1-best", "events-grow"] {
        assert_eq!(verdict(&draft, id), Verdict::Holds, "{id}");
    }
    // A quick look may not decide it, but it must not refute it.
    assert_ne!(verdict(&draft, "alg3-close"), Verdict::DoesNotHold);
}

#[test]
fn what_an_interrupt_leaves_undone_cannot_be_told() {
    let asked = Interrupt::new();
    asked.ask();
    for paper in PAPERS {
        let campaign = paper.plan(Extent::Quick).unwrap();
        let reproduction = campaign.execute(Execution::default(), &(), &asked);
        assert_eq!(reproduction.evidence.missing(), campaign.runs());
        assert_eq!(
            reproduction.count(Verdict::CannotBeTold),
            reproduction.judged.len()
        );
        assert!(
            reproduction
                .warnings()
                .iter()
                .any(|w| w.contains("interrupted"))
        );
        let page = dupack_lab::report::html(&reproduction.page());
        assert!(page.contains("cannot be told"));
    }
}
