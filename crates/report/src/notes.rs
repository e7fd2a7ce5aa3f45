//! What a reader must know of chance in a comparison: what the ratios rest on, where every seed gave
//! the same run, which part of a recorded trace was seen, how many seeds a precision took.

use std::collections::BTreeMap;

use dupack_lab::results::{Answered, Carries, Comparison, Recorded, Results};
use dupack_lab::stats::{Centre, Ratio};

/// So many seeds are told apart in a sentence; `traces.csv` has all.
const SEEDS_TOLD: usize = 3;

/// All that there is to say, a sentence or two each.
#[must_use]
pub fn notes(results: &Answered<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(pairs(results));
    notes.extend(zeros(results));
    notes.extend(untold(results));
    notes.extend(same_runs(results));
    notes.extend(precision(results));
    notes.extend(traces(results));
    notes
}

/// Over how many pairs the ratios to the first stack are.
fn pairs(results: &Answered<'_>) -> Option<String> {
    let pairs = pair_counts(results)?;
    Some(format!(
        "× first: over {pairs} of runs with the same seed, per stack."
    ))
}

/// How many pairs a ratio to the first stack is over: `10 pairs`; nothing where there is none.
pub(crate) fn pair_counts(results: &Answered<'_>) -> Option<String> {
    let counts: Vec<usize> = goodputs(results)
        .flat_map(|comparison| &comparison.cells)
        .filter(|cell| cell.stack > 0 && cell.ratio.is_some())
        .map(|cell| cell.pairs)
        .collect();
    range(&counts, "pair", "pairs")
}

/// Where a pair has a zero.
fn zeros(results: &Answered<'_>) -> Option<String> {
    let mut places = Vec::new();
    for comparison in goodputs(results) {
        let of_means = comparison.cells.iter().filter_map(|cell| {
            let ratio = cell.ratio.filter(|r| r.centre == Centre::RatioOfMeans)?;
            let stack = &results.stacks[cell.stack];
            Some(format!("{stack} in {} of {}", ratio.zeros, ratio.pairs))
        });
        let of_means: Vec<String> = of_means.collect();
        if !of_means.is_empty() {
            let place = at(&results.points[comparison.point].label(), &of_means);
            places.push(place);
        }
    }
    (!places.is_empty()).then(|| {
        format!(
            "In some pairs one side got nothing across ({}). These count: × first is the ratio of the \
             means there, with Fieller's interval.",
            places.join("; ")
        )
    })
}

/// Where a ratio is not told.
fn untold(results: &Answered<'_>) -> Option<String> {
    let cells = goodputs(results).flat_map(|comparison| &comparison.cells);
    let is_untold = |ratio: Ratio| ratio.reaches_zero;
    { cells }
        .any(|cell| cell.ratio.is_some_and(is_untold))
        .then(|| {
            "× first is –: the 95 % confidence interval of one of the two goodputs reaches zero, and the ratio may be \
             anything. More seeds make it narrower."
                .to_owned()
        })
}

/// Where nothing was left to chance.
fn same_runs(results: &Answered<'_>) -> Option<String> {
    results.has_runs_without_chance().then(|| {
        "No ±: every seed gave the same run, as nothing was left to chance. One run shows no spread, so \
         it gets no ★ and no ≈."
            .to_owned()
    })
}

/// How many seeds a precision took.
fn precision(results: &Answered<'_>) -> Option<String> {
    let precision = results.experiment.precision?;
    let counts: Vec<usize> = seed_counts(results);
    let seeds = range(&counts, "seed", "seeds")?;
    Some(format!(
        "For half of each interval to be at most {precision} of its mean goodput: {seeds} per point."
    ))
}

/// Which part of each recorded trace was seen.
fn traces(results: &Answered<'_>) -> Vec<String> {
    let mut told: BTreeMap<(String, String), &Recorded> = BTreeMap::new();
    for recorded in &results.recorded {
        let place = (recorded.key.clone(), recorded.file.display().to_string());
        told.entry(place).or_insert(recorded);
    }
    let all = told.values();
    all.filter_map(|recorded| trace(results, recorded))
        .collect()
}

fn trace(results: &Answered<'_>, recorded: &Recorded) -> Option<String> {
    let seeds = results.seeds_at(recorded.point);
    let name = recorded.file.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let way = match recorded.key.ends_with("reverse.trace") {
        true => " (ACKs)",
        false => "",
    };
    let seconds = |ms: u64| format!("{:.0} s", ms as f64 / 1e3);
    let (seen, length) = (
        seconds(recorded.seen_ms),
        seconds(u64::from(recorded.length_ms)),
    );
    let sees = match recorded.rounds() {
        None => format!("every run sees {seen} of its {length}"),
        Some(rounds) => format!(
            "every run of {} goes round its {length} {rounds:.1} times",
            seconds(recorded.run_ms)
        ),
    };
    let both = match recorded.carries {
        Carries::OneWay => "",
        Carries::BothWays => " It carries the ACKs, too, as no trace is named for them.",
    };
    let begins = |seed: &u64| recorded.from_ms(*seed);
    let first = begins(seeds.first()?);
    if seeds.iter().all(|seed| begins(seed) == first) {
        let from = seconds(first);
        return Some(format!("{name}{way}: {sees}, from {from} on.{both}"));
    }
    let few = seeds.iter().take(SEEDS_TOLD);
    let mut few: Vec<String> = few
        .map(|seed| format!("{} with seed {seed}", seconds(begins(seed))))
        .collect();
    if seeds.len() > SEEDS_TOLD {
        few.push("…".to_owned());
    }
    let together = seconds(recorded.seen_together_ms(seeds.iter().copied()));
    Some(format!(
        "{name}{way}: {sees}, from {} on; all seeds together see {together} (each in traces.csv).{both}",
        few.join(", ")
    ))
}

/// How many seeds each point has.
#[must_use]
pub fn seed_counts(results: &Results) -> Vec<usize> {
    let counts = (0..results.points.len()).map(|point| results.seeds_at(point).len());
    counts.filter(|count| *count > 0).collect()
}

/// `10 pairs`, or `8 to 12 pairs`; nothing of nothing.
pub(crate) fn range(counts: &[usize], one: &str, many: &str) -> Option<String> {
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    let unit = if *most == 1 { one } else { many };
    Some(match least == most {
        true => format!("{most} {unit}"),
        false => format!("{least} to {most} {unit}"),
    })
}

fn goodputs<'a>(results: &'a Answered<'_>) -> impl Iterator<Item = &'a Comparison> {
    let points = 0..results.points.len();
    points.map(|point| results.goodput(point))
}

fn at(label: &str, what: &[String]) -> String {
    match label {
        "" => what.join(", "),
        label => format!("{label}: {}", what.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use dupack_algorithms::catalog::Catalog;
    use dupack_engine::{Execute, Execution};
    use dupack_lab::experiment::load::Source;
    use dupack_lab::results::verdict::Answer;
    use dupack_lab::results::{Measure, Run, Values, Verdict, store};
    use dupack_lab::run::{Interrupt, Plan};

    use super::*;
    use crate::comparison;
    use crate::table::{self, Colour};

    fn plan(text: &str) -> Plan {
        let duration = match text.contains("duration") {
            true => "",
            false => "duration = \"5s\"\n",
        };
        let text = format!("stacks = [\"sack/reno\", \"rack/cubic\"]\n{duration}{text}");
        let source = Source::new("test.toml", text);
        // An opportunity every 5 ms for 100 s: 2.4 Mbit/s.
        let trace: String = (1..=20_000).map(|n| format!("{}\n", n * 5)).collect();
        // One every 2 ms in its first half and every 20 ms in its second: any two parts differ.
        let uneven = (1..=25_000)
            .map(|n| n * 2)
            .chain((1..=2500).map(|n| 50_000 + n * 20));
        let uneven: String = uneven.map(|ms| format!("{ms}\n")).collect();
        let files: BTreeMap<PathBuf, String> = [("even", trace), ("uneven", uneven)]
            .map(|(name, text)| (PathBuf::from(name), text))
            .into();
        let experiment = source.parse().unwrap();
        Plan::with_files(experiment, &source, &Catalog::builtin(), &files).unwrap()
    }

    fn run(text: &str) -> Results {
        plan(text).execute(Execution::default(), &(), &Interrupt::new())
    }

    /// Results in which the stacks have these goodputs, a seed each.
    fn made_up(goodputs: [&[f64]; 2]) -> Results {
        let mut results = plan("[path]\nrate = \"1Mbit/s\"\n").empty_results();
        for (stack, goodputs) in goodputs.into_iter().enumerate() {
            for (seed, &goodput) in (1..).zip(goodputs) {
                let mut values = Values::default();
                values.set(Measure::Goodput, goodput);
                results.runs.push(Run {
                    point: 0,
                    stack,
                    seed,
                    values,
                    flow_goodputs: vec![goodput],
                    trace_hash: seed,
                });
            }
        }
        results
    }

    #[test]
    fn identical_runs_have_no_interval_and_no_star() {
        let results = run("seeds = 3\n[path]\nrate = \"1Mbit/s\"\ndelay = \"5ms\"\n");
        assert_eq!(Verdict::of(&results, 0).answer, Answer::SameRuns);
        let text = comparison::text(
            &Answered::of(&results),
            table::Legend::Whole,
            Colour::No,
            Some(100),
        );
        for marked in ["★ sack", "★ rack", "≈ sack", "≈ rack"] {
            assert!(!text.contains(marked), "{text}");
        }
        assert!(text.contains("every seed gave the same run"), "{text}");
        let csv = String::from_utf8(store::summary_csv(&Answered::of(&results))).unwrap();
        let row = csv.lines().nth(2).unwrap();
        let cells: Vec<&str> = row.split(',').collect();
        // stack, measure, runs, mean, no half width … and no interval of the ratio, over three pairs.
        assert_eq!((cells[0], cells[2], cells[4]), ("rack/cubic", "3", ""));
        assert_eq!(&cells[9..12], ["", "", "3"]);
    }

    #[test]
    fn one_run_has_no_star() {
        let answer = |results: &Results| Verdict::of(results, 0).answer;
        assert_eq!(answer(&made_up([&[1.0], &[2.0]])), Answer::OneRun);
        let several = made_up([&[1.0; 4], &[2.0; 4]]);
        assert_eq!(answer(&several), Answer::Stars(vec![1]));
    }

    #[test]
    fn pairs_are_counted_those_with_a_zero_too() {
        let results = made_up([&[1.0, 1.0, 1.0, 1.0], &[2.0, 2.0, 0.0, 2.0]]);
        let notes = notes(&Answered::of(&results)).join("\n");
        assert!(notes.contains("over 4 pairs"), "{notes}");
        assert!(notes.contains("rack/cubic in 1 of 4"), "{notes}");
        let json = store::json(&Answered::of(&results));
        let row = &json["summary"][1];
        assert_eq!(
            (
                &row["ratio_pairs"],
                &row["ratio_is"],
                &row["ratio_to_first"]
            ),
            (&4.into(), &"ratio of means".into(), &1.5.into())
        );
    }

    #[test]
    fn a_trace_says_which_part_was_seen_and_two_seeds_see_different_parts() {
        let results = run("seeds = 2\n[path]\ntrace = \"uneven\"\ndelay = \"5ms\"\n");
        let (one, two) = {
            let goodput = |seed| {
                let run = results.runs.iter().find(|run| run.seed == seed).unwrap();
                run.values.get(Measure::Goodput).unwrap()
            };
            (goodput(1), goodput(2))
        };
        assert!((one - two).abs() > 0.01, "{one} {two}");
        let recorded = &results.recorded[0];
        let begins = [1, 2].map(|seed| recorded.from_ms(seed));
        assert_ne!(begins[0], begins[1]);
        let text = comparison::text(
            &Answered::of(&results),
            table::Legend::Whole,
            Colour::No,
            None,
        );
        assert!(
            text.contains("uneven: every run sees 5 s of its 100 s"),
            "{text}"
        );
        let csv = String::from_utf8(store::traces_csv(&Answered::of(&results))).unwrap();
        let line = format!("path.trace,uneven,2,{},5,100,5\n", begins[1] as f64 / 1e3);
        assert!(csv.ends_with(&line), "{csv}");
        let json = store::json(&Answered::of(&results));
        assert_eq!(json["traces"][0]["from_s"], begins[0] as f64 / 1e3);
        // Where the start is given, it is said as well.
        let given = run("starts = \"given\"\nseeds = 2\n[path]\ntrace = \"even\"\n");
        let notes = notes(&Answered::of(&given)).join("\n");
        assert!(
            notes.contains(
                "even: every run sees 5 s of its 100 s, from 0 s on. It carries the ACKs, too"
            ),
            "{notes}"
        );
        assert!(given.is_without_chance(0, 0));
    }

    #[test]
    fn a_run_longer_than_its_trace_goes_round_it_and_says_how_often() {
        let round = plan(
            "seeds = 2\nduration = \"250s\"\n[path]\ntrace = \"even\"\nreverse = { trace = \"uneven\" }\n",
        );
        let mut results = round.empty_results();
        results.runs = made_up([&[1.0, 2.0], &[1.0, 2.0]]).runs;
        let notes = notes(&Answered::of(&results)).join("\n");
        for wanted in [
            "even: every run of 250 s goes round its 100 s 2.5 times, from ",
            "uneven (ACKs): every run of 250 s goes round its 100 s 2.5 times, from ",
        ] {
            assert!(notes.contains(wanted), "{wanted}: {notes}");
        }
        // A trace of their own carries the ACKs.
        assert!(!notes.contains("too"), "{notes}");
    }

    #[test]
    fn the_seeds_of_a_precision_are_counted() {
        let results =
            run("seeds = 2\nprecision = \"20%\"\n[path]\nrate = \"1Mbit/s\"\nloss = \"2%\"\n");
        let count = results.seeds_at(0).len();
        let notes = notes(&Answered::of(&results)).join("\n");
        assert!(
            notes.contains(&format!("at most 20% of its mean goodput: {count} seeds")),
            "{notes}"
        );
    }
}
