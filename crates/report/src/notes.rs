//! Notes on the randomness of a comparison: the pairs behind the ratios, points at which every seed gave the same run,
//! the parts of recorded traces that the runs used, and the number of seeds that a required precision took.

use std::collections::BTreeMap;

use dupack_lab::results::{Answered, Carries, Comparison, Recorded, Results};
use dupack_lab::stats::{Centre, Ratio};

/// Maximum number of seeds that a sentence lists. `traces.csv` has all of them.
const SEEDS_TOLD: usize = 3;

/// Returns all notes. Each note consists of one or two sentences.
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

/// Returns the note on the number of pairs behind the ratios to the first stack.
fn pairs(results: &Answered<'_>) -> Option<String> {
    let pairs = pair_counts(results)?;
    Some(format!(
        "× first: ratio to the first stack, over {pairs} of runs with the same seed per stack."
    ))
}

/// Returns the number of pairs behind the ratios to the first stack, such as `10 pairs`, or `None` if there are no
/// pairs.
pub(crate) fn pair_counts(results: &Answered<'_>) -> Option<String> {
    let counts: Vec<usize> = goodputs(results)
        .flat_map(|comparison| &comparison.cells)
        .filter(|cell| cell.stack > 0 && cell.ratio.is_some())
        .map(|cell| cell.pairs)
        .collect();
    range(&counts, "pair", "pairs")
}

/// Returns the note on pairs with a goodput of zero.
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
            "In some pairs, one side has a goodput of zero ({}). × first is then the ratio of the means, with \
             Fieller's interval.",
            places.join("; ")
        )
    })
}

/// Returns the note on ratios that are unknown because a confidence interval includes zero.
fn untold(results: &Answered<'_>) -> Option<String> {
    let cells = goodputs(results).flat_map(|comparison| &comparison.cells);
    let is_untold = |ratio: Ratio| ratio.reaches_zero;
    { cells }
        .any(|cell| cell.ratio.is_some_and(is_untold))
        .then(|| {
            "× first is – if the 95 % confidence interval of one of the two goodputs includes zero, so that the ratio \
             could have any value. More seeds make the interval narrower."
                .to_owned()
        })
}

/// Returns the note on points without randomness.
fn same_runs(results: &Answered<'_>) -> Option<String> {
    results.has_runs_without_chance().then(|| {
        "No ±: every seed gave the same run, because nothing in it is random. A single run shows no random \
         variation, so it gets no ★ and no ≈."
            .to_owned()
    })
}

/// Returns the note on the number of seeds that the required precision took.
fn precision(results: &Answered<'_>) -> Option<String> {
    let precision = results.experiment.precision?;
    let counts: Vec<usize> = seed_counts(results);
    let seeds = range(&counts, "seed", "seeds")?;
    Some(format!(
        "Precision: {seeds} per point, so that half of each interval is at most {precision} of its mean goodput."
    ))
}

/// Returns one note for each recorded trace, which describes the part that the runs used.
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
        None => format!("every run uses {seen} of its {length}"),
        Some(rounds) => format!(
            "every run of {} repeats its {length} {rounds:.1} times",
            seconds(recorded.run_ms)
        ),
    };
    let both = match recorded.carries {
        Carries::OneWay => "",
        Carries::BothWays => " It also carries the ACKs, which have no trace of their own.",
    };
    let begins = |seed: &u64| recorded.from_ms(*seed);
    let first = begins(seeds.first()?);
    if seeds.iter().all(|seed| begins(seed) == first) {
        let from = seconds(first);
        return Some(format!("{name}{way}: {sees}, starting at {from}.{both}"));
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
        "{name}{way}: {sees}, starting at {}; all seeds together use {together} (traces.csv lists each).{both}",
        few.join(", ")
    ))
}

/// Returns the number of seeds of each point that has any.
#[must_use]
pub fn seed_counts(results: &Results) -> Vec<usize> {
    let counts = (0..results.points.len()).map(|point| results.seeds_at(point).len());
    counts.filter(|count| *count > 0).collect()
}

/// Returns `10 pairs` or `8 to 12 pairs`, or `None` if `counts` is empty.
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
    use dupack_lab::results::{Contest, Measure, Run, Values, store};
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
        // The trace has a delivery opportunity every 5 ms for 100 s, which is 2.4 Mbit/s.
        let trace: String = (1..=20_000).map(|n| format!("{}\n", n * 5)).collect();
        // The trace has an opportunity every 2 ms in the first half and every 20 ms in the second half, so any two
        // parts differ.
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

    /// Returns results in which each stack has these goodputs, one per seed.
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
        assert_eq!(Contest::of(&results, 0).answer, Answer::SameRuns);
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
        // The columns are the stack, the number of runs, and an empty half width. Then follow an empty interval of the
        // ratio and the number of pairs, which is three.
        assert_eq!((cells[0], cells[2], cells[4]), ("rack/cubic", "3", ""));
        assert_eq!(&cells[9..12], ["", "", "3"]);
    }

    #[test]
    fn one_run_has_no_star() {
        let answer = |results: &Results| Contest::of(results, 0).answer;
        assert_eq!(answer(&made_up([&[1.0], &[2.0]])), Answer::OneRun);
        let several = made_up([&[1.0; 4], &[2.0; 4]]);
        assert_eq!(answer(&several), Answer::Stars(vec![1]));
    }

    #[test]
    fn pairs_with_a_zero_are_counted() {
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
    fn the_note_on_a_trace_has_the_part_of_each_seed() {
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
            text.contains("uneven: every run uses 5 s of its 100 s"),
            "{text}"
        );
        let csv = String::from_utf8(store::traces_csv(&Answered::of(&results))).unwrap();
        let line = format!("path.trace,uneven,2,{},5,100,5\n", begins[1] as f64 / 1e3);
        assert!(csv.ends_with(&line), "{csv}");
        let json = store::json(&Answered::of(&results));
        assert_eq!(json["traces"][0]["from_s"], begins[0] as f64 / 1e3);
        // If the experiment file gives the start, the note also states it.
        let given = run("starts = \"given\"\nseeds = 2\n[path]\ntrace = \"even\"\n");
        let notes = notes(&Answered::of(&given)).join("\n");
        assert!(
            notes.contains(
                "even: every run uses 5 s of its 100 s, starting at 0 s. It also carries the ACKs"
            ),
            "{notes}"
        );
        assert!(given.is_without_chance(0, 0));
    }

    #[test]
    fn runs_longer_than_their_trace_repeat_it() {
        let round = plan(
            "seeds = 2\nduration = \"250s\"\n[path]\ntrace = \"even\"\nreverse = { trace = \"uneven\" }\n",
        );
        let mut results = round.empty_results();
        results.runs = made_up([&[1.0, 2.0], &[1.0, 2.0]]).runs;
        let notes = notes(&Answered::of(&results)).join("\n");
        for wanted in [
            "even: every run of 250 s repeats its 100 s 2.5 times, starting at ",
            "uneven (ACKs): every run of 250 s repeats its 100 s 2.5 times, starting at ",
        ] {
            assert!(notes.contains(wanted), "{wanted}: {notes}");
        }
        // A separate trace carries the ACKs.
        assert!(!notes.contains("also"), "{notes}");
    }

    #[test]
    fn seeds_of_a_precision_are_counted() {
        let results =
            run("seeds = 2\nprecision = \"20%\"\n[path]\nrate = \"1Mbit/s\"\nloss = \"2%\"\n");
        let count = results.seeds_at(0).len();
        let notes = notes(&Answered::of(&results)).join("\n");
        assert!(
            notes.contains(&format!("Precision: {count} seeds per point")),
            "{notes}"
        );
    }
}
