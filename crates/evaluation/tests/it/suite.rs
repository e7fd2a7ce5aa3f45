//! The built-in suite is valid, and its cards show the results of their runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::Execution;
use dupack_evaluation::{
    Campaign, Conduct, Evaluated, EvaluationError, Extent, Mark, Scale, Suite,
};
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};

/// RFC 9743 §§5.1 to 5.3, 6 and 7.
const SECTIONS: [&str; 25] = [
    "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2",
    "6.1", "6.2", "6.3", "6.4", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "7.9",
    "7.10", "7.11",
];

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn campaign<'s>(suite: &'s Suite, stacks: &[&str], only: &[&str], extent: Extent) -> Campaign<'s> {
    let stacks = texts(stacks);
    Campaign::new(suite, (&stacks, &Catalog::builtin()), &texts(only), extent).unwrap()
}

fn carry_out(
    campaign: &Campaign<'_>,
    interrupt: &Interrupt,
    journal: Option<&PathBuf>,
) -> Vec<Evaluated> {
    let conduct = Conduct {
        runs: dupack_engine::Conduct {
            execution: Execution::default(),
            watch: &(),
            interrupt,
        },
        journal: journal.map(PathBuf::as_path),
    };
    campaign.carry_out(&conduct).unwrap()
}

#[test]
fn every_heading_of_the_rfc_is_there_and_every_rule_fits_its_experiment() {
    let suite = Suite::builtin();
    let sections: Vec<&str> = suite.headings.iter().map(|h| h.section.as_str()).collect();
    assert_eq!(sections, SECTIONS);
    for extent in [Extent::Full, Extent::Quick] {
        for stack in ["rack/bbr", "rack/cubic", "rack/reno", "le/westwood"] {
            assert!(
                campaign(&suite, &[stack], &[], extent).runs() > 100,
                "{stack}"
            );
        }
    }
    for criterion in &suite.criteria {
        let claim = suite.claim(criterion).unwrap();
        assert!(
            claim.rule.ends_with('.') && claim.rule.len() > 40,
            "{}",
            criterion.key
        );
        assert_eq!(claim.section, criterion.section, "{}", criterion.key);
        assert!(claim.found.is_some(), "{}", criterion.key);
    }
}

#[test]
fn the_suite_in_the_folder_is_the_one_in_the_program() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/experiments"));
    let read = Suite::read(&folder).unwrap();
    let builtin = Suite::builtin();
    let keys = |suite: &Suite| {
        suite
            .criteria
            .iter()
            .map(|c| c.key.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&read), keys(&builtin));
    let named: BTreeSet<String> = builtin
        .scenarios
        .iter()
        .map(|s| format!("{}.toml", s.name))
        .collect();
    let files = std::fs::read_dir(&folder).unwrap();
    for name in files.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let known = named.contains(&name) || name == "criteria.toml" || !name.ends_with(".toml");
        assert!(known, "{name} is in no scenario");
    }
}

#[test]
fn no_run_has_more_packets_than_a_hundred_million() {
    let suite = Suite::builtin();
    let followed = |e: &Experiment| e.path.as_ref().is_some_and(|path| path.trace.is_some());
    for scenario in &suite.scenarios {
        let experiment = suite.experiment(scenario).unwrap();
        assert!(experiment.points.len() <= 40, "{}", scenario.name);
        if followed(&experiment) {
            continue;
        }
        let source = Source::of_flags(&experiment);
        let plan = Plan::new(experiment, &source, &Catalog::builtin()).unwrap();
        for job in plan.jobs() {
            let packets = plan.scenario(job).packets();
            assert!(
                packets <= 100_000_000,
                "{}: {job:?}: {packets}",
                scenario.name
            );
        }
    }
}

#[test]
fn what_is_not_there_gets_an_error_that_says_what_is() {
    let suite = Suite::builtin();
    let error = |stacks: &[&str], only: &[&str]| {
        let catalog = Catalog::builtin();
        Campaign::new(
            &suite,
            (&texts(stacks), &catalog),
            &texts(only),
            Extent::Quick,
        )
        .unwrap_err()
    };
    let unknown = error(&["rack/bbr"], &["bufferbload"]);
    assert!(
        matches!(&unknown, EvaluationError::Unknown { help, .. } if help.contains("`bufferbloat`"))
    );
    assert!(matches!(
        error(&["rack/bbbr"], &[]),
        EvaluationError::Stack { .. }
    ));
    let twice = error(&["rack/bbr", "rack/bbr"], &[]).to_string();
    assert!(twice.contains("twice"), "{twice}");
}

#[test]
fn a_key_stands_for_all_criteria_that_begin_so() {
    let suite = Suite::builtin();
    let chosen = |key: &str| {
        let chosen = suite.choose(&texts(&[key])).unwrap();
        chosen.iter().map(|c| c.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        chosen("harm"),
        ["harm-cubic", "harm-reno", "harm-loss", "harm-delay"]
    );
    assert_eq!(chosen("collapse"), ["collapse"]);
    assert!(suite.is_of_wire("wire-harm") && !suite.is_of_wire("harm"));
    for none in ["har", "harm-", "", "-"] {
        assert!(suite.choose(&texts(&[none])).is_err(), "{none}");
    }
}

/// If the stack under test is also a baseline, it is run once and compared with itself.
#[test]
fn a_baseline_is_held_against_itself() {
    let suite = Suite::builtin();
    let of = carry_out(
        &campaign(
            &suite,
            &["rack/reno"],
            &["full-backoff", "harm-reno"],
            Extent::Quick,
        ),
        &Interrupt::new(),
        None,
    );
    let card = &of[0].card;
    assert_eq!(card.rows.len(), 2, "{card:?}");
    assert_eq!(card.count(Mark::Meets), 2, "{card:?}");
    assert_eq!(card.worse_than(card).unwrap(), []);
}

/// After an interrupt, the criteria with missing runs are undecided. After a resume, the card is the same as without an
/// interrupt.
#[test]
fn an_interrupted_card_goes_on() {
    let suite = Suite::builtin();
    let all = campaign(&suite, &["rack/bbr"], &["full-backoff"], Extent::Quick);
    let whole = carry_out(&all, &Interrupt::new(), None);
    let folder =
        std::env::temp_dir().join(format!("dupack-evaluation-suite-{}", std::process::id()));
    let stopped = Interrupt::new();
    stopped.ask();
    let cut = carry_out(&all, &stopped, Some(&folder));
    assert_eq!(cut[0].card.missing, all.runs());
    assert_eq!(cut[0].card.rows[0].verdict, Mark::CannotBeTold);
    for _ in 0..2 {
        let again = carry_out(&all, &Interrupt::new(), Some(&folder));
        assert_eq!(again[0].card, whole[0].card);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The runs of baselines that several cards share are performed once.
#[test]
fn cards_side_by_side_share_the_baselines() {
    let suite = Suite::builtin();
    let runs = |stacks: &[&str]| campaign(&suite, stacks, &["high-loss"], Extent::Quick).runs();
    let (one, two) = (runs(&["rack/bbr"]), runs(&["rack/bbr", "rack/vegas"]));
    // A third of the runs of a card are runs of the stack under test.
    assert_eq!(two, one + one / 3);
}

#[test]
fn sets_of_seeds_have_none_in_common() {
    let suite = Suite::builtin();
    let seeds = |seed_set| {
        let scale = Scale {
            extent: Extent::Quick,
            seed_set,
        };
        let catalog = Catalog::builtin();
        let only = texts(&["full-backoff"]);
        let campaign =
            Campaign::new(&suite, (&texts(&["rack/bbr"]), &catalog), &only, scale).unwrap();
        let of = carry_out(&campaign, &Interrupt::new(), None);
        assert_eq!(of[0].card.seed_set, seed_set);
        let runs = &of[0].parts[0].results.runs;
        runs.iter().map(|run| run.seed).collect::<BTreeSet<u64>>()
    };
    assert_eq!(seeds(1), BTreeSet::from([1, 2, 3]));
    // Each set contains four times as many seeds as the first round uses. The other seeds are for undecided criteria.
    assert_eq!(seeds(3), BTreeSet::from([25, 26, 27]));
}
