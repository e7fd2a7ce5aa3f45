//! Predictions on real packets. A sender is captured, and the transfer time of another sender is predicted from the
//! capture. Then the other sender runs over the same path, with different losses each time. The list of pairs is
//! `what-if.toml`.
//!
//! The results of a transfer are stored as soon as the transfer has ended, so the same command continues after an
//! interruption.

mod what_if_page;
mod wire;

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis_tell::asking::{Asked, ask};
use dupack_diagnosis_tell::whatif::{Answer, Offer};
use dupack_lab::run::Interrupt;
use serde::Deserialize;

use super::paths::Place;
use super::told::tell;
use super::work::{Options, at_once};
use what_if_page::{Run, page};
use wire::{Files, Known};

const LIST: &str = include_str!("what-if.toml");

#[derive(Deserialize)]
struct List {
    path: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    bytes: u64,
    experiment: String,
    pairs: Vec<Pair>,
}

#[derive(Clone, Deserialize)]
struct Pair {
    captured: String,
    other: String,
    run: Option<String>,
}

/// A question: a pair of senders on a path.
struct Question {
    number: u64,
    place: Place,
    pair: Pair,
}

/// Answer to a question.
struct Found {
    number: u64,
    place: String,
    pair: Pair,
    answer: Result<Answer, String>,
    known: Known,
}

pub fn run(options: &Options) -> Result<(), String> {
    let list: List = toml::from_str(LIST).map_err(|error| error.to_string())?;
    let mut questions = Vec::new();
    let mut number = 0;
    for listed in &list.path {
        for pair in &listed.pairs {
            number += 1;
            let text = format!("{} over {}", pair.captured, listed.name);
            if text.contains(&options.only) {
                questions.push(Question {
                    number,
                    place: Place {
                        name: listed.name.clone(),
                        numbers: String::new(),
                        experiment: listed.experiment.clone(),
                        bytes: listed.bytes,
                        reader: None,
                    },
                    pair: pair.clone(),
                });
            }
        }
    }
    let progress = Progress::new(questions.len(), options);
    let found = at_once(options.jobs, &questions, &|question| {
        let found = match progress.is_late() {
            true => None,
            false => Some(answer(question, options)),
        };
        progress.say(question, found.as_ref());
        found
    });
    let left = found.iter().filter(|one| one.is_none()).count();
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for one in found.into_iter().flatten() {
        match one {
            Ok(one) => rows.push(one),
            Err(error) => failed.push(error),
        }
    }
    if left > 0 {
        return Err(format!(
            "{left} of {} pairs are left: the same command goes on with them",
            questions.len()
        ));
    }
    let run = Run {
        rows,
        failed,
        listed: list.path.iter().map(|path| path.pairs.len()).sum(),
    };
    let text = page(&run, options);
    let file = options.page.clone();
    let file = file.unwrap_or_else(|| options.out.join("what-if.md"));
    fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("{text}");
    Ok(())
}

/// Progress of the run.
struct Progress {
    begun: Instant,
    /// Time after which no further pair is begun.
    limit: Option<Duration>,
    all: usize,
    done: AtomicUsize,
}

impl Progress {
    #[expect(
        clippy::disallowed_methods,
        reason = "the machine's clock, for people who wait"
    )]
    fn new(all: usize, options: &Options) -> Self {
        let minutes = options.minutes;
        Self {
            begun: Instant::now(),
            limit: minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
            all,
            done: AtomicUsize::new(0),
        }
    }

    fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.begun.elapsed() > limit)
    }

    /// Prints the result of a question, and the approximate remaining time.
    fn say(&self, question: &Question, found: Option<&Result<Found, String>>) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match found {
            Some(Ok(found)) => eprintln!("{}", line(found)),
            Some(Err(error)) => eprintln!("failed: {error}"),
            None => return eprintln!("{}: left for another run", question.number),
        }
        let minutes = self.begun.elapsed().as_secs_f64() / 60.0;
        let left = minutes / done as f64 * self.all.saturating_sub(done) as f64;
        eprintln!(
            "  {done} of {} pairs in {minutes:.1} minutes, about {left:.0} more",
            self.all
        );
    }
}

fn answer(question: &Question, options: &Options) -> Result<Found, String> {
    let Question {
        number,
        place,
        pair,
    } = question;
    let files = Files::of(*number, options);
    let known = wire::known((*number, place, pair), options, &files)?;
    let telling = tell(files.near())?;
    let catalog = Catalog::builtin();
    let stack = StackSpec::parse(&pair.other, &catalog).map_err(|error| error.to_string())?;
    let asked = ask(
        &telling.stream,
        &catalog,
        Some(std::slice::from_ref(&stack)),
        &(),
        &Interrupt::new(),
    )?;
    let answer = match asked {
        Asked::Answered(answers) => {
            let mut answers = answers.into_iter();
            let answer = answers.find(|answer| answer.stack == stack);
            answer.ok_or_else(|| "no answer".to_owned())
        }
        Asked::Refused(why) => Err(why),
        Asked::Interrupted => Err("interrupted".to_owned()),
    };
    Ok(Found {
        number: *number,
        place: place.name.clone(),
        pair: pair.clone(),
        answer,
        known,
    })
}

impl Found {
    /// Returns the mean transfer time of the other sender.
    fn mean(&self) -> f64 {
        self.known.truth.iter().sum::<f64>() / self.known.truth.len().max(1) as f64
    }

    fn given(&self) -> Option<&Answer> {
        self.answer
            .as_ref()
            .ok()
            .filter(|answer| answer.offer == Offer::Given)
    }

    fn error(&self) -> Option<f64> {
        Some(self.given()?.duration.mean / self.mean() - 1.0)
    }

    fn is_inside(&self) -> bool {
        let holds =
            |answer: &Answer| (answer.duration.low..=answer.duration.high).contains(&self.mean());
        self.given().is_some_and(holds)
    }

    fn refusal(&self) -> Option<String> {
        match &self.answer {
            Err(why) => Some(why.clone()),
            Ok(answer) if answer.offer == Offer::TooWide => {
                Some("its interval is too wide".to_owned())
            }
            Ok(answer) if answer.offer == Offer::FarSlower => {
                Some("several times slower than the capture".to_owned())
            }
            Ok(answer) if answer.offer == Offer::DoesNotEnd => {
                Some("its simulated transfer does not end".to_owned())
            }
            Ok(_) => None,
        }
    }
}

fn line(found: &Found) -> String {
    let pair = &found.pair;
    let mut text = format!(
        "{}: {} ({:.2} s, {} losses) for {} over {}: it took {:.2} s",
        found.number,
        pair.captured,
        found.known.captured,
        found.known.losses,
        pair.other,
        found.place,
        found.mean()
    );
    match (found.given(), found.refusal()) {
        (Some(answer), _) => {
            let told = answer.duration;
            let _ = write!(
                text,
                ", predicted {:.2} s ({:.2} to {:.2})",
                told.mean, told.low, told.high
            );
        }
        (None, why) => {
            let _ = write!(text, ", refused: {}", why.unwrap_or_default());
        }
    }
    text
}
