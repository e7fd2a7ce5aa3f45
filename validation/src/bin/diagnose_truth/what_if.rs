//! Predictions on real packets: a sender is captured, what another would have taken is told from the capture, and the
//! other is run over the same path, with other losses each time. The list is `what-if.toml`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use dupack_algorithms::catalog::{Catalog, StackSpec};
use dupack_diagnosis_tell::asking::{Asked, ask};
use dupack_diagnosis_tell::whatif::{Answer, Offer};
use dupack_lab::run::Interrupt;
use dupack_lab::stats::Summary;
use dupack_packet::Snap;
use dupack_tcp::time::Duration;
use dupack_wire::path::{CaptureFiles, PathConfig, Trust};
use dupack_wire::transfer::{Extent, TransferConfig, transfer};
use serde::{Deserialize, Serialize};

use super::kept::{keep, kept};
use super::packets::{arrivals, read};
use super::paths::{Place, origin};
use super::run::before_others;
use super::told::tell;
use super::truth::fates;
use super::work::{Options, at_once};

const LIST: &str = include_str!("what-if.toml");

/// By how much packets may leave late, and so often a run is done that did not keep to it.
const TOLERANCE: Duration = Duration::from_millis(1);
const TRIES: u64 = 3;

const LIMIT: Duration = Duration::from_secs(120);

/// A prediction is right within this share of the truth.
const RIGHT: f64 = 0.15;

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

/// A question, and how it is told apart.
struct Question {
    number: u64,
    place: Place,
    pair: Pair,
}

/// What came of a question.
struct Found {
    number: u64,
    place: String,
    pair: Pair,
    answer: Result<Answer, String>,
    known: Known,
}

/// What the wire said.
#[derive(Serialize, Deserialize)]
struct Known {
    /// What the captured one took, in seconds.
    captured: f64,
    losses: usize,
    /// What the other took, each time.
    truth: Vec<f64>,
    /// How many of all were late.
    late: usize,
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
    let found = at_once(options.jobs, &questions, &|question| {
        let found = answer(question, options);
        match &found {
            Ok(found) => eprintln!("{}", line(found)),
            Err(error) => eprintln!("failed: {error}"),
        }
        found
    });
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Ok(one) => rows.push(one),
            Err(error) => failed.push(error),
        }
    }
    let text = page(
        &rows,
        &failed,
        list.path.iter().map(|path| path.pairs.len()).sum(),
        options,
    );
    let file = options.page.clone();
    let file = file.unwrap_or_else(|| options.out.join("what-if.md"));
    fs::write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("{text}");
    Ok(())
}

fn answer(question: &Question, options: &Options) -> Result<Found, String> {
    let Question {
        number,
        place,
        pair,
    } = question;
    let file = |end: &str| {
        options
            .out
            .join(format!("what-if-{number}-{}.{end}.pcapng", options.seed))
    };
    let files = CaptureFiles {
        near: file("sender"),
        far: file("receiver"),
        snap: Snap::Headers,
    };
    let file = file("truth").with_extension("json");
    let known = if options.again {
        kept(&file)?
    } else {
        let known = on_the_wire(question, options, &files)?;
        keep(&file, &known)?;
        known
    };
    let telling = tell(&files.near)?;
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

/// Captures the one, and runs the other.
fn on_the_wire(
    question: &Question,
    options: &Options,
    files: &CaptureFiles,
) -> Result<Known, String> {
    let Question {
        number,
        place,
        pair,
    } = question;
    // No two runs meet the same losses.
    let seeds = options.seed * 1_000_000 + number * 1000;
    let captured = once(place, &pair.captured, seeds, Some(files))?;
    let mut known = Known {
        captured: captured.0,
        losses: losses(&files.near, &files.far)?,
        truth: Vec::new(),
        late: usize::from(!captured.1),
    };
    let runs = pair.run.as_ref().unwrap_or(&pair.other);
    for repetition in 1..=options.repeat {
        let once = once(place, runs, seeds + repetition * TRIES, None)?;
        known.truth.push(once.0);
        known.late += usize::from(!once.1);
    }
    Ok(known)
}

/// How long one transfer took, and whether the path kept its times.
fn once(
    place: &Place,
    sender: &str,
    seed: u64,
    files: Option<&CaptureFiles>,
) -> Result<(f64, bool), String> {
    let mut last = None;
    for n in 0..TRIES {
        if let Some(files) = files {
            for file in [&files.near, &files.far] {
                // It is there from an earlier try.
                let _ = fs::remove_file(file);
            }
        }
        let built = place.build(seed + n)?;
        let ack_delay = built.backward.delay;
        let path = PathConfig::new(built.forward, built.backward, seed + n);
        let mut config = TransferConfig::new(path, place.bytes, LIMIT);
        config.receiver.window = built.window;
        config.writes = built.writes;
        config.captures = files.cloned();
        let origin = origin(sender)?;
        let report = before_others(|| transfer(&config, origin, &|| false));
        let report = report.map_err(|error| format!("{sender} over {}: {error:?}", place.name))?;
        if report.extent == Extent::CutOff {
            return Err(format!("{sender} over {}: cut off", place.name));
        }
        let sound = report.path.trust(TOLERANCE) == Trust::Sound;
        // To the last ACK, as predictions are.
        last = Some(((report.lasted + ack_delay).as_secs_f64(), sound));
        if sound {
            break;
        }
    }
    last.ok_or_else(|| "no run".to_owned())
}

fn losses(near: &Path, far: &Path) -> Result<usize, String> {
    let (near, far) = (read(near)?, read(far)?);
    let fates = fates(&near, &arrivals(&near, &far));
    Ok(fates.iter().filter(|fate| fate.lost).count())
}

impl Found {
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
                Some("simulated, it does not end".to_owned())
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

fn page(rows: &[Found], failed: &[String], listed: usize, options: &Options) -> String {
    let given: Vec<&Found> = rows.iter().filter(|row| row.given().is_some()).collect();
    let within = |row: &&&Found| row.error().is_some_and(|error| error.abs() <= RIGHT);
    let right = given.iter().filter(within).count();
    let inside = given.iter().filter(|row| row.is_inside()).count();
    let mut errors: Vec<f64> = given
        .iter()
        .filter_map(|row| row.error())
        .map(f64::abs)
        .collect();
    errors.sort_by(f64::total_cmp);
    let median = errors
        .get(errors.len() / 2)
        .map_or(0.0, |error| error * 100.0);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "# What another sender would have taken, and took\n\nOne sender is captured, what another would have taken is predicted \
         from the capture, and the other is run {} times over the same path with other losses; the truth is their mean. \
         The list was fixed before it was run (`validation/src/bin/diagnose_truth/what-if.toml`): {} of its {listed} \
         pairs were run here, seed {}, on Linux {}. {} were answered, of which {right} are within 15 % of the truth and {inside} have it \
         in their interval; the median error is {median:.1} %. {} were refused, as the last column says. This page is written by `cargo measure diagnose --what-if`.\n\n",
        options.repeat,
        rows.len(),
        options.seed,
        release.trim(),
        given.len(),
        rows.len() - given.len()
    );
    text += "| path | captured | took | losses | other | predicted | took | off by | in the interval | refused |\n";
    text += "| --- | --- | --: | --: | --- | --: | --: | --: | :-: | --- |\n";
    for row in rows {
        let other = match &row.pair.run {
            Some(run) => format!("{} (as {run})", row.pair.other),
            None => row.pair.other.clone(),
        };
        let told = row.given().map(|answer| answer.duration);
        let told = told.map_or_else(
            || "–".to_owned(),
            |told| format!("{:.2} s ({:.2} to {:.2})", told.mean, told.low, told.high),
        );
        let deviation =
            Summary::of(&row.known.truth).and_then(|summary| summary.standard_deviation);
        let error = row.error().map_or_else(
            || "–".to_owned(),
            |error| format!("{:+.1} %", error * 100.0),
        );
        let inside = match (row.given(), row.is_inside()) {
            (None, _) => "–",
            (Some(_), true) => "yes",
            (Some(_), false) => "no",
        };
        let late = if row.known.late > 0 {
            format!(", {} late", row.known.late)
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} s | {} | {other} | {told} | {:.2} ± {:.2} s{late} | {error} | {inside} | {} |",
            row.place,
            row.pair.captured,
            row.known.captured,
            row.known.losses,
            row.mean(),
            deviation.unwrap_or(0.0),
            row.refusal().unwrap_or_default()
        );
    }
    for one in failed {
        let _ = writeln!(text, "\nFailed: {one}");
    }
    text
}
