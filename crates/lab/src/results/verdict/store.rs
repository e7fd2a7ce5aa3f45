//! JSON and CSV output of verdicts.

use serde_json::{Value, json};

use super::contrast::Effect;
use super::cost::rules;
use super::limits::{HARM_MOST, WASTE_MOST_PERCENT};
use super::{Answer, Contest, Contrast, Margins, Side, Warning};
use crate::results::store::{Places, number, put, whole};
use crate::results::{Answered, Measure};
use crate::significance::LEVEL;

/// Returns the verdicts at all points, with their rules.
#[must_use]
pub fn json(results: &Answered<'_>) -> Value {
    let at = (0..results.points.len()).map(|point| {
        let verdict = results.verdict(point);
        let name = |stack: usize| verdict.contenders[stack].name.as_str();
        let contrasts = verdict.contrasts.iter();
        let pairs = pairs(results, point);
        let stacks = (0..verdict.stacks.len()).map(|s| stack(verdict, s, pairs[s]));
        json!({
            "point": results.points[point].label(),
            "answer": verdict.answer.key(),
            "stars": stars(verdict).map(name).collect::<Vec<_>>(),
            "no_answer": verdict.no_answer(),
            "delay_margin_ms": Margins::at(results, point).delay_ms,
            "stacks": stacks.collect::<Vec<_>>(),
            "comparisons": contrasts.map(|c| comparison(verdict, c)).collect::<Vec<_>>(),
        })
    });
    json!({
        "rules": rules(results),
        "level": LEVEL,
        "harm_most": HARM_MOST,
        "waste_most_percent": WASTE_MOST_PERCENT,
        "prefer": results.prefer.map(super::Prefer::name),
        "points": at.collect::<Vec<_>>(),
    })
}

/// Returns the number of pairs of runs with the same seed, for each stack and the first stack.
fn pairs(results: &Answered<'_>, point: usize) -> Vec<usize> {
    let cells = &results.goodput(point).cells;
    cells.iter().map(|cell| cell.pairs).collect()
}

fn stars(verdict: &Contest) -> impl Iterator<Item = usize> {
    match &verdict.answer {
        Answer::Stars(stars) => stars.clone().into_iter(),
        _ => Vec::new().into_iter(),
    }
}

fn stack(verdict: &Contest, stack: usize, pairs: usize) -> Value {
    let judgement = &verdict.stacks[stack];
    let beaten = judgement.beaten_by.iter().map(|beaten| {
        let by: Vec<&str> = beaten.measures.iter().map(|m| m.key()).collect();
        json!({ "stack": verdict.contenders[beaten.stack].name, "by": by })
    });
    let warning = |warning: &Warning| match warning {
        Warning::Harm(harm) => json!({ "harm_goodput_share": harm }),
        Warning::Waste(own) => json!({ "resent_beyond_link_losses_percent": own }),
    };
    json!({
        "stack": verdict.contenders[stack].name,
        "mark": judgement.mark.key(),
        "sentence": verdict.sentence(stack),
        "warnings": judgement.warnings.iter().map(warning).collect::<Vec<_>>(),
        "beaten_by": beaten.collect::<Vec<_>>(),
        "pairs": pairs,
    })
}

fn comparison(verdict: &Contest, contrast: &Contrast) -> Value {
    let name = |stack: usize| verdict.contenders[stack].name.as_str();
    let (ratio, difference) = effect(contrast);
    json!({
        "one": name(contrast.one),
        "other": name(contrast.other),
        "measure": contrast.measure.key(),
        "pairs": contrast.pairs,
        "ratio": ratio,
        "difference": difference,
        "p": contrast.p,
        "p_corrected": contrast.corrected_p,
        "better": better(verdict, contrast),
    })
}

const fn effect(contrast: &Contrast) -> (Option<f64>, Option<f64>) {
    match contrast.effect {
        Effect::Ratio(ratio) => (Some(ratio), None),
        Effect::Difference(difference) => (None, Some(difference)),
    }
}

fn better<'v>(verdict: &'v Contest, contrast: &Contrast) -> Option<&'v str> {
    let stack = match contrast.better {
        Side::One => contrast.one,
        Side::Other => contrast.other,
        Side::Neither => return None,
    };
    Some(&verdict.contenders[stack].name)
}

/// Returns a CSV file with one line per point and stack: its mark, its warnings, the stacks that dominate it, the
/// number of run pairs from which its ratio to the first stack is computed, and its sentence.
#[must_use]
pub fn verdicts_csv(results: &Answered<'_>) -> Vec<u8> {
    whole(results, verdicts_head, verdict_rows)
}

/// Returns the header line of [`verdicts_csv`].
#[must_use]
pub fn verdicts_head(places: &Places) -> Vec<u8> {
    places.head([
        "stack",
        "answer",
        "mark",
        "warnings",
        "beaten_by",
        "pairs",
        "sentence",
    ])
}

/// Appends the rows of [`verdicts_csv`] at the point `at` of `results`. `place` is the position of that point in the
/// sweep.
pub fn verdict_rows(out: &mut Vec<u8>, results: &Answered<'_>, at: usize, place: &[String]) {
    let (verdict, pairs) = (results.verdict(at), pairs(results, at));
    for (stack, judgement) in verdict.stacks.iter().enumerate() {
        let warnings: Vec<String> = judgement.warnings.iter().map(ToString::to_string).collect();
        let beaten = judgement.beaten_by.iter();
        let beaten: Vec<&str> = beaten
            .map(|beaten| verdict.contenders[beaten.stack].name.as_str())
            .collect();
        let own = [
            verdict.contenders[stack].name.clone(),
            verdict.answer.key().to_owned(),
            judgement.mark.key().to_owned(),
            warnings.join("; "),
            beaten.join(" "),
            pairs[stack].to_string(),
            verdict.sentence(stack),
        ];
        put(out, place, &own);
    }
}

/// Returns a CSV file with one line per point, pair of stacks and measure: the difference, the number of pairs of
/// seeds, and its significance.
#[must_use]
pub fn comparisons_csv(results: &Answered<'_>) -> Vec<u8> {
    whole(results, comparisons_head, comparison_rows)
}

/// Returns the header line of [`comparisons_csv`].
#[must_use]
pub fn comparisons_head(places: &Places) -> Vec<u8> {
    places.head([
        "one",
        "other",
        "measure",
        "pairs",
        "ratio_other_to_one",
        "difference_other_minus_one",
        "p",
        "p_corrected",
        "better",
    ])
}

/// Appends the rows of [`comparisons_csv`] at a point, as [`verdict_rows`] does.
pub fn comparison_rows(out: &mut Vec<u8>, results: &Answered<'_>, at: usize, place: &[String]) {
    let verdict = results.verdict(at);
    for contrast in &verdict.contrasts {
        let name = |stack: usize| verdict.contenders[stack].name.clone();
        let opt = |value: Option<f64>| value.map_or(String::new(), number);
        let (ratio, difference) = effect(contrast);
        let own = [
            name(contrast.one),
            name(contrast.other),
            Measure::key(contrast.measure).to_owned(),
            contrast.pairs.to_string(),
            opt(ratio),
            opt(difference),
            opt(contrast.p),
            opt(contrast.corrected_p),
            better(verdict, contrast).unwrap_or_default().to_owned(),
        ];
        put(out, place, &own);
    }
}
