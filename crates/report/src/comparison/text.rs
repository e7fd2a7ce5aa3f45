//! A comparison as text for the terminal: the table of all stacks, the answer, and the notes.

mod detailed;
mod names;

use crate::answer;
use crate::groups;
use crate::notes::notes;
use crate::setting::path_line;
use crate::table::{Colour, Legend, paragraph, room};
use dupack_lab::results::Answered;
use dupack_lab::results::medium::NO_ANSWER;

/// Returns the text of a comparison: the table of all stacks, then the answer.
#[must_use]
pub fn text(results: &Answered<'_>, legend: Legend, colour: Colour, width: Option<u16>) -> String {
    let mut text = format!("{}\n", paragraph(&path_line(results), width));
    text += &detailed::detailed(results, colour, room(width));
    if results.is_worthless() {
        return format!("{}\n\n{NO_ANSWER}", text.trim_end());
    }
    text.truncate(text.trim_end().len());
    text += "\n\n";
    if let Some(groups) = groups::table(results, width) {
        text += &groups;
        text += "\n";
    }
    text += answer::text(results, legend, colour, width).trim_end();
    text += "\n";
    for note in notes(results) {
        text += &format!("\n{}", paragraph(&note, width).trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap::columns;
    use dupack_algorithms::catalog::Catalog;
    use dupack_engine::{Execute, Execution};
    use dupack_lab::experiment::load::Source;
    use dupack_lab::results::{Doubt, Measure, Medium, Results, Run, Values, WireRecord};
    use dupack_lab::run::{Interrupt, Plan};

    const LONG: &str = "rack/bbr(loss_thresh=0.9,beta=0.99,headroom=0)";

    const WIDTHS: [u16; 6] = [40, 60, 80, 100, 120, 160];

    fn plan(stacks: &[&str]) -> Plan {
        let text = format!(
            "stacks = {stacks:?}\nseeds = 3\nduration = \"5s\"\n[path]\nrate = \"5Mbit/s\"\n\
             loss = \"1%\"\n[[flows]]\ncount = 2\n"
        );
        let source = Source::new("test.toml", text);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        plan.measuring_harm(&catalog)
    }

    fn results(stacks: &[&str]) -> Results {
        plan(stacks).execute(Execution::default(), &(), &Interrupt::new())
    }

    fn usual() -> Results {
        results(&["newreno/reno", "reno/reno/veno/24", "rack/cubic"])
    }

    #[track_caller]
    fn no_line_is_longer(text: &str, width: u16) {
        let too_long = text.lines().find(|line| columns(line) > width.into());
        assert_eq!(too_long, None, "{width}: {text}");
    }

    /// Returns the table, without the line of the path above it and the text below it.
    fn table(text: &str) -> &str {
        text.split("\n\n").nth(1).unwrap()
    }

    /// The text names the columns that do not fit. The remaining columns are complete.
    #[test]
    fn narrow_tables_name_the_columns_left_out() {
        let results = usual();
        let all = [
            ("× first ", "the interval of × first"),
            ("median", "median queue delay"),
            ("95th %", "95th percentile of the queue delay"),
            ("retrans", "retransmitted %"),
            ("time-", "timeouts"),
            ("fair", "fair"),
        ];
        let mut last = 0;
        for width in WIDTHS {
            let text = text(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            );
            no_line_is_longer(&text, width);
            for name in &results.stacks {
                assert!(text.contains(name.as_str()), "{width}: {name} in {text}");
            }
            let said: String = text.replace('\n', " ");
            let lost = said.split_once("Columns left out for lack of room: ");
            let lost = lost.map_or("", |(_, rest)| rest.split_once(". ").unwrap().0);
            let head = table(&text).split('─').next().unwrap().to_owned();
            for (shown, name) in all {
                assert_ne!(
                    head.contains(shown),
                    lost.split(", ")
                        .any(|one| name.ends_with(one) && !one.is_empty()),
                    "{width}: {name} is either shown or listed as left out: {text}"
                );
            }
            let shown = table(&text).lines().map(columns).max().unwrap();
            assert!(shown >= last, "{width}: a wider table has no fewer columns");
            last = shown;
        }
        let wide = text(
            &Answered::of(&results),
            Legend::Whole,
            Colour::No,
            Some(160),
        );
        assert!(!wide.contains("left out"), "{wide}");
    }

    #[test]
    fn the_width_in_the_note_fits_all_columns() {
        let results = usual();
        let narrow = text(&Answered::of(&results), Legend::Whole, Colour::No, Some(60));
        let said = narrow.replace('\n', " ");
        let (before, _) = said.split_once(" shows all of them").unwrap();
        let wanted: u16 = before.rsplit(' ').next().unwrap().parse().unwrap();
        let lost = |width| {
            text(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            )
            .contains("left out")
        };
        assert!(!lost(wanted) && lost(wanted - 1), "{wanted}");
    }

    /// The table does not break a long name. It abbreviates the name by a letter and prints the full name below the
    /// table.
    #[test]
    fn long_names_are_not_broken_within_a_word() {
        let results = results(&["rack/cubic", LONG, "newreno(full_ack=alg1)/reno"]);
        for width in WIDTHS {
            let text = text(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            );
            no_line_is_longer(&text, width);
            let whole = text.contains(&format!(" {LONG} "));
            assert!(whole || text.contains("rack/bbr(A) "), "{width}: {text}");
            // A name on two lines is broken after a separator.
            let together: String = text.lines().map(str::trim).collect();
            assert!(together.contains(LONG), "{width}: {text}");
            for line in text.lines().map(str::trim_end) {
                let last = line.split(' ').next_back().unwrap();
                let cut = LONG
                    .match_indices(['_', '=', '.'])
                    .any(|(at, _)| last.ends_with(&LONG[..=at]) || last == &LONG[..at]);
                assert!(!cut, "{width}: {line}");
            }
        }
        let at_60 = text(&Answered::of(&results), Legend::Whole, Colour::No, Some(60));
        assert!(
            at_60.contains(&format!("rack/bbr(A) is\n  {LONG}")),
            "{at_60}"
        );
        assert!(at_60.contains("newreno(B)/reno is"), "{at_60}");
    }

    #[test]
    fn accuracy_is_shown_if_several_stacks_differentiate_losses() {
        let results = usual();
        let head = |results: &Results| {
            let text = text(&Answered::of(results), Legend::Whole, Colour::No, Some(200));
            text.split('─').next().unwrap().to_owned()
        };
        assert!(!head(&results).contains("A_w"));
        let two = results_of_two();
        assert!(head(&two).contains("A_w"));
    }

    /// Returns made-up results of two stacks with loss differentiation.
    fn results_of_two() -> Results {
        let mut results = plan(&["reno/reno/veno/24", "le/reno/veno/24"]).empty_results();
        for stack in 0..2 {
            let mut values = Values::default();
            values.set(Measure::Goodput, 1.0);
            values.set(Measure::AccuracyWireless, 80.0);
            results.runs.push(Run {
                point: 0,
                stack,
                seed: 1,
                values,
                flow_goodputs: vec![0.5, 0.5],
                trace_hash: 1,
            });
        }
        results
    }

    /// Results as from `dupack testbed`: kernel senders in addition to our senders, and runs that cannot be trusted.
    #[test]
    fn tables_of_real_packets_are_complete_and_their_columns_explained() {
        let mut results = plan(&["sack/reno", "rack/cubic"]).empty_results();
        results.stacks[1] = "kernel:a_control_with_a_long_name".to_owned();
        let doubt = Doubt {
            point: 0,
            stack: 1,
            seed: 2,
            reasons: Vec::new(),
        };
        results.medium = Medium::Wire(WireRecord {
            doubts: vec![doubt],
            ..WireRecord::default()
        });
        for (stack, seed) in [(0, 1), (0, 2), (1, 1), (1, 2)] {
            let mut values = Values::default();
            for measure in [
                Measure::Goodput,
                Measure::Retransmissions,
                Measure::RetransmissionShare,
                Measure::Timeouts,
                Measure::DelayMedian,
                Measure::DelayP95,
            ] {
                values.set(measure, 100.0 + seed as f64);
            }
            results.runs.push(Run {
                point: 0,
                stack,
                seed,
                values,
                flow_goodputs: vec![1.0],
                trace_hash: 0,
            });
        }
        for width in [60, 80, 120] {
            let text = text(
                &Answered::of(&results),
                Legend::Whole,
                Colour::No,
                Some(width),
            );
            no_line_is_longer(&text, width);
            let name = "kernel:a_control_with_a_long_name †1/2 ";
            assert!(text.contains(name), "{width}: {text}");
        }
        let text = text(
            &Answered::of(&results),
            Legend::Whole,
            Colour::No,
            Some(120),
        );
        for head in ["segs", "retrans", "queue", "delay ms", "median", "95th %"] {
            assert!(table(&text).contains(head), "{head} in {text}");
        }
    }

    #[test]
    fn heads_and_key_explain_the_delay() {
        let text = text(
            &Answered::of(&usual()),
            Legend::Whole,
            Colour::No,
            Some(200),
        );
        for part in ["queue\n", "delay ms", "median", "95th %", "CUBIC's"] {
            let head = table(&text).split('─').next().unwrap();
            assert!(head.contains(part.trim_end()), "{part} in {head}");
        }
        assert!(
            text.contains(
                "Queue delay: waiting time of the packets of all flows at the bottleneck"
            ),
            "{text}"
        );
    }

    #[test]
    fn rules_and_thresholds_are_below_the_table() {
        let text = text(
            &Answered::of(&usual()),
            Legend::Whole,
            Colour::No,
            Some(200),
        );
        for part in [
            "Holm",
            "0.5",
            "10 %",
            "Ware et al.",
            "rack/cubic flow",
            "3 pairs",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
