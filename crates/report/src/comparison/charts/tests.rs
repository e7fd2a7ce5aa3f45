//! Tests of the choice of figures by the sweep, and of their contents, with made-up results.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Results, Run, Values};
use dupack_lab::run::Plan;

use super::*;
use crate::figure::in_words;

/// Returns the results of a sweep. `goodput` returns the goodput for the index of a point, the index of a stack, and a
/// seed.
fn results(sweep: &str, goodput: impl Fn(usize, usize, u64) -> f64) -> Results {
    let text = format!(
        "stacks = [\"sack/reno\", \"rack/cubic\", \"le/reno\"]\nseeds = 5\n[path]\nrate = \"10Mbit/s\"\n\
         delay = \"20ms\"\n[sweep]\n{sweep}\n"
    );
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let mut results = plan.empty_results();
    for point in 0..results.points.len() {
        for stack in 0..results.stacks.len() {
            for seed in 1..=5 {
                let mut values = Values::default();
                values.set(Measure::Goodput, goodput(point, stack, seed));
                results.runs.push(Run {
                    point,
                    stack,
                    seed,
                    values,
                    flow_goodputs: vec![1.0],
                    trace_hash: 1000 * (point as u64 + 1) + 10 * stack as u64 + seed,
                });
            }
        }
    }
    results
}

fn names(results: &Results) -> Vec<String> {
    let charts = charts(&Answered::of(results), &Catalog::builtin()).unwrap();
    charts.figures.iter().map(|f| f.name.clone()).collect()
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.filter_map(|n| n.text().map(|t| t.trim().to_owned()))
        .collect()
}

const TWO: &str = "\"path.delay\" = [\"5ms\", \"25ms\", \"100ms\", \"200ms\"]\n\
                   \"path.loss\" = [\"0%\", \"0.1%\", \"1%\", \"5%\"]";

/// Returns the goodput of a stack. The second stack has 2 times the first stack's goodput at the first delay, and 0.4
/// times at the last delay. The third stack is not significantly different from the first.
fn made_up(point: usize, stack: usize, seed: u64) -> f64 {
    let base = 1.0 + seed as f64 * 0.1;
    match (stack, point / 4) {
        (1, 0) => 2.0 * base,
        (1, 3) => 0.4 * base,
        (2, _) => base * if seed.is_multiple_of(2) { 1.3 } else { 0.8 },
        _ => base,
    }
}

#[test]
fn two_keys_give_panels_and_a_table_of_ratios() {
    let results = results(TWO, made_up);
    assert_eq!(names(&results), ["goodput_mbit_s", "goodput_mbit_s-ratio"]);
    let charts = charts(&Answered::of(&results), &Catalog::builtin()).unwrap();
    let panels = texts(&charts.figures[0].svg);
    for delay in ["5ms", "25ms", "100ms", "200ms"] {
        let name = format!("one-way delay {delay}");
        assert!(panels.contains(&name), "{name}: {panels:?}");
    }
    for stack in &results.stacks {
        let times = panels.iter().filter(|text| *text == stack).count();
        assert_eq!(times, 1, "{stack} is in the legend once");
    }
    assert!(panels.contains(&"packet loss (%), logarithmic, with 0 beyond the break".to_owned()));
    assert!(charts.note.is_none());
}

#[test]
fn cells_of_ratios_have_their_numbers_and_mark_insignificant_ones() {
    let results = results(TWO, made_up);
    let charts = charts(&Answered::of(&results), &Catalog::builtin()).unwrap();
    let map = &charts.figures[1];
    let cells = texts(&map.svg);
    let count = |text: &str| cells.iter().filter(|cell| *cell == text).count();
    // There are four points at the delay with the factor 2, and four at the delay with the factor 0.4.
    assert_eq!((count("2.00"), count("0.40")), (4, 4), "{cells:?}");
    // At eight points, both stacks have the same goodput in every pair, so the ratio is exactly 1.
    assert_eq!(count("1.00"), 8);
    let open = cells.iter().filter(|cell| cell.starts_with('≈')).count();
    assert_eq!(open, 16, "the cells of the third stack");
    let words = in_words(&map.svg).unwrap();
    let wanted = "rack/cubic: from 0.40 (0%, 200ms) to 2.00 (0%, 5ms); above 1 in 4 of 16, below 1 in 4, not \
                  significantly different from 1 in 8.";
    assert!(words.contains(wanted), "{words}");
    assert!(
        words.contains(
            "above 1 in 0 of 16, below 1 in 0, not significantly different from 1 in 16."
        )
    );
}

#[test]
fn one_key_gives_lines_with_a_description() {
    let sweep = "\"path.loss\" = [\"0%\", \"1%\", \"5%\"]";
    let results = results(sweep, |point, stack, _| match (point, stack) {
        (2, 1) => 9.0,
        (_, 0) => 4.0,
        (_, 1) => 2.0,
        _ => 3.0,
    });
    let charts = charts(&Answered::of(&results), &Catalog::builtin()).unwrap();
    assert_eq!(charts.figures.len(), 1);
    let words = in_words(&charts.figures[0].svg).unwrap();
    for wanted in [
        "Lines of goodput (Mbit/s), 2 to 9, over packet loss (%), 0 to 5.",
        "Highest: sack/reno at 0 and 1; rack/cubic at 5.",
        "Lowest: rack/cubic at 0 and 1; le/reno at 5.",
        "rack/cubic: 2 at 0, 9 at 5.",
        "References: Mathis and Padhye.",
    ] {
        assert!(words.contains(wanted), "{wanted}\n{words}");
    }
}

#[test]
fn goodputs_over_decades_get_a_logarithmic_axis() {
    let sweep = "\"path.loss\" = [\"0.1%\", \"1%\", \"10%\"]";
    let of = |least: f64| {
        let results = results(sweep, |point, _, _| [9.0, 2.0, least][point]);
        let charts = charts(&Answered::of(&results), &Catalog::builtin()).unwrap();
        texts(&charts.figures[0].svg)
    };
    let has = |texts: &[String], text: &str| texts.iter().any(|t| t == text);
    assert!(has(&of(0.05), "goodput (Mbit/s), logarithmic"));
    assert!(has(&of(1.0), "goodput (Mbit/s)"));
    assert!(has(&of(1.0), "packet loss (%), logarithmic"));
    assert!(
        has(&of(0.0), "goodput (Mbit/s)"),
        "9 and 2 do not span decades"
    );
}

#[test]
fn words_on_both_axes_give_a_shaded_table() {
    let sweep = "\"path.buffer\" = [\"20pkt\", \"100kB\"]\ndialect = [\"rfc\", \"linux\", \"ns2\"]";
    let results = results(sweep, |point, stack, _| (1 + point + 10 * stack) as f64);
    assert_eq!(names(&results), ["goodput_mbit_s", "goodput_mbit_s-ratio"]);
    let charts = charts(&Answered::of(&results), &Catalog::builtin()).unwrap();
    let cells = texts(&charts.figures[0].svg);
    for text in ["rfc", "linux", "ns2", "20pkt", "100kB", "dialect", "26"] {
        assert!(cells.iter().any(|cell| cell == text), "{text}: {cells:?}");
    }
}

#[test]
fn a_third_key_gives_a_figure_for_each_of_its_first_values() {
    let sweep = format!("{TWO}\n\"path.buffer\" = [\"20pkt\", \"50pkt\"]");
    let two = results(&sweep, made_up);
    let wanted = [
        "goodput_mbit_s-buffer-20pkt",
        "goodput_mbit_s-buffer-20pkt-ratio",
        "goodput_mbit_s-buffer-50pkt",
        "goodput_mbit_s-buffer-50pkt-ratio",
    ];
    assert_eq!(names(&two), wanted);
    let many: Vec<String> = (1..=4).map(|n| format!("\"{n}pkt\"")).collect();
    let sweep = format!(
        "\"path.delay\" = [\"5ms\", \"25ms\"]\n\"path.loss\" = [\"0%\", \"1%\", \"2%\"]\n\"path.rate\" = [\"1Mbit/s\", \"2Mbit/s\", \
         \"3Mbit/s\"]\n\"path.buffer\" = [{}]",
        many.join(", ")
    );
    let charts = charts(
        &Answered::of(&results(&sweep, |_, _, _| 1.0)),
        &Catalog::builtin(),
    )
    .unwrap();
    assert_eq!(charts.figures.len(), 2 * SLICES_MAX);
    let note = charts.note.unwrap();
    assert!(
        note.starts_with(
            "Figures show the first 4 of the 6 values of one-way delay and packet loss"
        ),
        "{note}"
    );
}

#[test]
fn slices_that_differ_only_in_special_characters_have_distinct_names() {
    let two = results(
        "\"path.loss\" = [\"0%\", \"1%\", \"2%\"]\n\"path.delay\" = [\"5ms\", \"6ms\", \"7ms\"]\n\
         \"path.reverse.loss\" = [\"1%\", \"1 %\"]",
        |_, _, _| 1.0,
    );
    let mut all = names(&two);
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "{all:?}");
}
