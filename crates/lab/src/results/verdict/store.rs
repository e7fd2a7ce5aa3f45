//! Verdicts for other programs: JSON and CSV.

use serde_json::{Value, json};

use super::contrast::Effect;
use super::cost::rules;
use super::limits::{HARM_MOST, WASTE_MOST_PERCENT};
use super::{Answer, Contrast, Margins, Side, Verdict, Warning};
use crate::results::store::{Places, number, put};
use crate::results::{Comparison, Measure, Results};
use crate::significance::LEVEL;

/// The verdicts at all points, and by what rules they were found.
#[must_use]
pub fn json(results: &Results) -> Value {
    let at = (0..results.points.len()).map(|point| {
        let verdict = Verdict::of(results, point);
        let name = |stack: usize| verdict.contenders[stack].name.as_str();
        let contrasts = verdict.contrasts.iter();
        let pairs = pairs(results, point);
        let stacks = (0..verdict.stacks.len()).map(|s| stack(&verdict, s, pairs[s]));
        json!({
            "point": results.points[point].label(),
            "answer": answer_key(&verdict.answer),
            "stars": stars(&verdict).map(name).collect::<Vec<_>>(),
            "no_answer": verdict.no_answer(),
            "delay_margin_ms": Margins::at(results, point).delay_ms,
            "stacks": stacks.collect::<Vec<_>>(),
            "comparisons": contrasts.map(|c| comparison(&verdict, c)).collect::<Vec<_>>(),
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

/// Over how many pairs of runs with the same seed the ratio to the first stack is, for each stack.
fn pairs(results: &Results, point: usize) -> Vec<usize> {
    let cells = Comparison::of(results, point, Measure::Goodput).cells;
    cells.iter().map(|cell| cell.pairs).collect()
}

fn stars(verdict: &Verdict) -> impl Iterator<Item = usize> {
    match &verdict.answer {
        Answer::Stars(stars) => stars.clone().into_iter(),
        _ => Vec::new().into_iter(),
    }
}

const fn answer_key(answer: &Answer) -> &'static str {
    match answer {
        Answer::Stars(_) => "stars",
        Answer::TooMany(_) => "too_many",
        Answer::NotTold(_) => "not_told",
        Answer::SameRuns => "same_runs",
        Answer::SameRunsOf(_) => "same_runs_of",
        Answer::OneRun => "one_run",
        Answer::Alone => "alone",
        Answer::Nobody => "nobody",
        Answer::Worthless => "worthless",
        Answer::TooFew(_) => "too_few_runs",
    }
}

fn stack(verdict: &Verdict, stack: usize, pairs: usize) -> Value {
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

fn comparison(verdict: &Verdict, contrast: &Contrast) -> Value {
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

fn better<'v>(verdict: &'v Verdict, contrast: &Contrast) -> Option<&'v str> {
    let stack = match contrast.better {
        Side::One => contrast.one,
        Side::Other => contrast.other,
        Side::Neither => return None,
    };
    Some(&verdict.contenders[stack].name)
}

/// A line per point and stack: its mark, its warnings, who beats it, over how many pairs of runs its
/// ratio to the first stack is, and the sentence.
#[must_use]
pub fn verdicts_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let places = Places::of(results);
    let own = [
        "stack",
        "answer",
        "mark",
        "warnings",
        "beaten_by",
        "pairs",
        "sentence",
    ];
    places.head(&mut out, own);
    for point in 0..results.points.len() {
        let verdict = Verdict::of(results, point);
        let pairs = pairs(results, point);
        for (stack, judgement) in verdict.stacks.iter().enumerate() {
            let warnings: Vec<String> =
                judgement.warnings.iter().map(ToString::to_string).collect();
            let beaten = judgement.beaten_by.iter();
            let beaten: Vec<&str> = beaten
                .map(|beaten| verdict.contenders[beaten.stack].name.as_str())
                .collect();
            let mut row = places.at(point);
            row.extend([
                verdict.contenders[stack].name.clone(),
                answer_key(&verdict.answer).to_owned(),
                judgement.mark.key().to_owned(),
                warnings.join("; "),
                beaten.join(" "),
                pairs[stack].to_string(),
                verdict.sentence(stack),
            ]);
            put(&mut out, row.iter().map(String::as_str));
        }
    }
    out.into_inner().unwrap_or_default()
}

/// A line per point, pair of stacks and measure: how far apart they are, over how many pairs of
/// seeds, and whether it can be told.
#[must_use]
pub fn comparisons_csv(results: &Results) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let places = Places::of(results);
    let own = [
        "one",
        "other",
        "measure",
        "pairs",
        "ratio_other_to_one",
        "difference_other_minus_one",
        "p",
        "p_corrected",
        "better",
    ];
    places.head(&mut out, own);
    for point in 0..results.points.len() {
        let verdict = Verdict::of(results, point);
        for contrast in &verdict.contrasts {
            let name = |stack: usize| verdict.contenders[stack].name.clone();
            let opt = |value: Option<f64>| value.map_or(String::new(), number);
            let (ratio, difference) = effect(contrast);
            let mut row = places.at(point);
            row.extend([
                name(contrast.one),
                name(contrast.other),
                Measure::key(contrast.measure).to_owned(),
                contrast.pairs.to_string(),
                opt(ratio),
                opt(difference),
                opt(contrast.p),
                opt(contrast.corrected_p),
                better(&verdict, contrast).unwrap_or_default().to_owned(),
            ]);
            put(&mut out, row.iter().map(String::as_str));
        }
    }
    out.into_inner().unwrap_or_default()
}
