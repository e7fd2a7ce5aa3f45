//! The tables of verdicts: the mark of each stack at each point, and the comparison of each pair of stacks.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use dupack_lab::results::Answered;
use dupack_lab::results::verdict::{Effect, Mark, Side};

use crate::field::{field, optional, words};
use crate::sweep::{Sweep, stack_field};
use crate::words::Met;

/// Builds the table with a row per point and stack.
pub(crate) fn verdicts(results: &Answered<'_>, sweep: &Sweep) -> RecordBatch {
    let (mut at, mut stacks, mut crowned, mut sentences) = (vec![], vec![], vec![], vec![]);
    let (mut answers, mut marks) = (Met::default(), Met::default());
    let (mut warnings, mut beaten) = (list(), list());
    let mut pairs = UInt64Builder::new();
    for point in 0..results.points.len() {
        let verdict = results.verdict(point);
        let cells = &results.goodput(point).cells;
        for (stack, judgement) in verdict.stacks.iter().enumerate() {
            at.push(point as u32);
            stacks.push(stack);
            answers.push(Some(verdict.answer.key()));
            marks.push(Some(judgement.mark.key()));
            crowned.push(judgement.mark == Mark::Star);
            let said = judgement.warnings.iter().map(ToString::to_string);
            warnings.append_value(said.map(Some));
            let by = judgement.beaten_by.iter();
            beaten.append_value(by.map(|by| Some(&verdict.contenders[by.stack].name)));
            pairs.append_value(cells[stack].pairs as u64);
            sentences.push(verdict.sentence(stack));
        }
    }
    let own: [ArrayRef; 8] = [
        sweep.stacks(stacks),
        answers.take(),
        marks.take(),
        Arc::new(BooleanArray::from(crowned)),
        Arc::new(warnings.finish()),
        Arc::new(beaten.finish()),
        Arc::new(pairs.finish()),
        Arc::new(StringArray::from(sentences)),
    ];
    sweep.batch(sweep.schema(verdict_fields()), &at, own)
}

fn verdict_fields() -> [Field; 8] {
    let texts = |name, about| field(name, DataType::List(Arc::new(item())), "", about);
    let pairs = "Number of seeds that both this stack and the first have.";
    [
        stack_field("stack", "The stack under comparison."),
        field(
            "answer",
            words(),
            "",
            "Outcome of the verdict at the point.",
        ),
        field("mark", words(), "", "Standing of the stack at the point."),
        field(
            "crowned",
            DataType::Boolean,
            "",
            "True if the stack gets a star.",
        ),
        texts("warnings", "Measures in which the stack is excessive."),
        texts("beaten_by", "The stacks that beat this one."),
        field("pairs", DataType::UInt64, "", pairs),
        field(
            "sentence",
            DataType::Utf8,
            "",
            "The verdict on the stack in words.",
        ),
    ]
}

/// Builds the table with a row per point, pair of stacks and measure.
pub(crate) fn comparisons(results: &Answered<'_>, sweep: &Sweep) -> RecordBatch {
    let (mut at, mut one, mut other) = (vec![], vec![], vec![]);
    let (mut measures, mut better) = (Met::default(), Met::default());
    let mut pairs = UInt64Builder::new();
    let [mut ratio, mut difference, mut p, mut corrected] = [(); 4].map(|()| Float64Builder::new());
    for point in 0..results.points.len() {
        for contrast in &results.verdict(point).contrasts {
            at.push(point as u32);
            one.push(contrast.one);
            other.push(contrast.other);
            measures.push(Some(contrast.measure.key()));
            pairs.append_value(contrast.pairs as u64);
            let (times, more) = match contrast.effect {
                Effect::Ratio(ratio) => (Some(ratio), None),
                Effect::Difference(difference) => (None, Some(difference)),
                _ => (None, None),
            };
            ratio.append_option(times);
            difference.append_option(more);
            p.append_option(contrast.p);
            corrected.append_option(contrast.corrected_p);
            better.push(match contrast.better {
                Side::One => Some(&*results.stacks[contrast.one]),
                Side::Other => Some(&*results.stacks[contrast.other]),
                Side::Neither => None,
            });
        }
    }
    let own: [ArrayRef; 9] = [
        sweep.stacks(one),
        sweep.stacks(other),
        measures.take(),
        Arc::new(pairs.finish()),
        Arc::new(ratio.finish()),
        Arc::new(difference.finish()),
        Arc::new(p.finish()),
        Arc::new(corrected.finish()),
        better.take(),
    ];
    sweep.batch(sweep.schema(comparison_fields()), &at, own)
}

fn comparison_fields() -> [Field; 9] {
    let number = |name, about| optional(name, DataType::Float64, "", about);
    [
        stack_field("one", "The first of the two stacks."),
        stack_field("other", "The second of the two stacks."),
        field("measure", words(), "", "The measure under comparison."),
        field(
            "pairs",
            DataType::UInt64,
            "",
            "Number of seeds that both stacks have.",
        ),
        number(
            "ratio_other_to_one",
            "Geometric mean of the ratios, if the measure is compared by ratio.",
        ),
        number(
            "difference_other_minus_one",
            "Mean of the differences, in the unit of the measure, if it is compared by difference.",
        ),
        number("p", "Two-sided p-value of the paired t-test."),
        number(
            "p_corrected",
            "The p-value, corrected for all comparisons at the point.",
        ),
        optional(
            "better",
            words(),
            "",
            "The better stack, if the difference is significant and relevant.",
        ),
    ]
}

/// Returns a builder for a column whose values are lists of texts, without nulls in the lists.
fn list() -> ListBuilder<StringBuilder> {
    ListBuilder::new(StringBuilder::new()).with_field(item())
}

fn item() -> Field {
    Field::new("item", DataType::Utf8, false)
}
