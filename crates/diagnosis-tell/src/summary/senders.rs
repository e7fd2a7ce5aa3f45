//! Description of predictions for other senders in a line.

use crate::asking::{Asked, TOO_WIDE, commands, in_words, replies_in_words};
use crate::whatif::{Gain, Offer, Role};
use crate::words;

/// Maximum number of predictions that the terminal shows. The report contains all of them.
const ANSWERS_SHOWN: usize = 3;

/// Returns the durations that other senders would have taken, the shortest first.
#[must_use]
pub fn what_if(asked: &Asked) -> String {
    let answers = match asked {
        Asked::Answered(answers) => answers,
        Asked::Refused(why) => return format!("no answer: {why}"),
        Asked::Interrupted => return "interrupted before there was an answer".to_owned(),
    };
    let given = answers.iter().filter(|answer| answer.offer == Offer::Given);
    let captured = given.clone().find(|answer| answer.role == Role::Captured);
    let given = given.filter(|answer| answer.role != Role::Captured);
    let mut said: Vec<String> = given.clone().take(ANSWERS_SHOWN).map(in_words).collect();
    let faster = given.clone().find(|answer| answer.gain() == Gain::Faster);
    let far = answers
        .iter()
        .filter(|answer| answer.offer == Offer::FarSlower);
    let far: Vec<String> = far.take(ANSWERS_SHOWN).map(in_words).collect();
    match faster {
        Some(faster) if !commands(&faster.stack).is_empty() => {
            said.push(format!(
                "`dupack stacks {}` shows how to enable it",
                faster.stack
            ));
        }
        None if !said.is_empty() || !far.is_empty() => {
            let unsure = answers
                .iter()
                .any(|answer| answer.role == Role::PerhapsCaptured);
            let none = "none of these would have been faster";
            said.insert(
                0,
                match unsure {
                    true => {
                        format!("{none} than the captured sender, as far as can be determined")
                    }
                    false => none.to_owned(),
                },
            );
        }
        _ => {}
    }
    let others = given.clone().count().saturating_sub(ANSWERS_SHOWN);
    if others > 0 {
        said.push(format!(
            "{others} more would have been no faster than these"
        ));
    } else {
        said.extend(far);
    }
    let mut certain = given.clone().filter(|answer| !answer.is_rivalled);
    said.extend(certain.find_map(replies_in_words));
    if said.is_empty() {
        return format!("no answer: {TOO_WIDE}");
    }
    said.extend(captured.map(in_words));
    let senders = answers.first().map(|answer| answer.senders.as_slice());
    if let Some(senders @ [_, _, ..]) = senders {
        said.push(whichever(senders));
    }
    said.join("; ")
}

/// Maximum number of senders that are named if the captured sender may be one of several.
const SENDERS_SHOWN: usize = 3;

/// Returns a text with the senders that may be the captured one. The predictions are based on all of them.
fn whichever(senders: &[String]) -> String {
    let named = senders.iter().take(SENDERS_SHOWN).cloned();
    let mut named: Vec<String> = named.collect();
    let others = senders.len().saturating_sub(SENDERS_SHOWN);
    if others > 0 {
        named.push(words::things(others as u64, "other", "others"));
    }
    format!("senders that may have been captured: {}", named.join(", "))
}
