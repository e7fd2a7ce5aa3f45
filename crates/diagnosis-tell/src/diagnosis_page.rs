//! Report of a diagnosis: one page, its figures, and tables for other programs.

mod facts;

use std::collections::BTreeMap;

use dupack_report::figure::FigureError;
use dupack_report::files::Files;
use dupack_report::page::{Block, Cell, Depth, Emphasis, Link, Page, Section};
use dupack_tcp::time::Duration;

use crate::asking::{Asked, commands, compared, duration, in_words, replies_in_words};
use crate::figures::{has_panels, timeline};
use crate::film::{Scene, cause_in_words, needless_in_words};
use crate::notes::notes;
use crate::story::headline;
use crate::summary::{
    UNTOLD, ends, lost_to, packets, path_in_words, sent_again, title, without_data,
};
use crate::whatif::course::Course;
use crate::whatif::{Answer, Offer, Role};
use crate::{keys, numbers, words};
use dupack_diagnosis::analyse::cause::Class;
use dupack_diagnosis::findings::{ConnectionFindings, StreamFindings};
use dupack_diagnosis::read::follow::StreamId;
use dupack_diagnosis::sender::Identification;
use dupack_diagnosis::{Diagnosis, Extent};
use facts::{facts, facts_without_data, limits_or_why};

/// Maximum number of retransmissions that the page lists (our choice). The CSV file contains more.
const LISTED_MAX: usize = 40;

/// Scene of each stream that is described in detail.
pub type Scenes = BTreeMap<StreamId, Scene>;

/// Names of the files with the numbers of the page.
const CONNECTIONS: &str = "connections.csv";
const LIMITS: &str = "limits.csv";
const RETRANSMISSIONS: &str = "retransmissions.csv";
const STALLS: &str = "stalls.csv";
const REQUESTS: &str = "requests.csv";
const GROUPS: &str = "groups.csv";
const JSON: &str = "diagnosis.json";

/// Returns all files of the report on the capture called `name`. The first `detailed` connections are described
/// individually. A stream has a figure if `scenes` contains its scene.
///
/// # Errors
/// If a figure cannot be drawn.
pub fn files<'d>(
    diagnosis: &'d Diagnosis,
    asked: Option<&'d Asked>,
    (name, detailed): (&str, usize),
    scenes: &Scenes,
    courses: &[Course],
) -> Result<Files<'d>, FigureError> {
    let mut files = Files::new();
    let mut sections = vec![in_short(diagnosis)];
    let told = diagnosis.connections.iter().take(detailed);
    for (place, connection) in told.enumerate() {
        let figure = connection.main_stream().and_then(|stream| {
            let id = StreamId {
                connection: connection.number,
                sender: stream.side,
            };
            scenes.get(&id).map(|scene| (stream, scene))
        });
        let svg = match figure {
            Some((stream, scene)) => {
                // Only the first connection has a prediction for other senders.
                let courses = if place == 0 { courses } else { &[] };
                Some(timeline(connection, stream, scene, courses).svg()?)
            }
            None => None,
        };
        let file = svg.as_ref().map(|svg| {
            let file = format!("figures/connection-{}", connection.number);
            files.add_figure(&file, svg.clone());
            format!("{file}.svg")
        });
        let asked = asked.filter(|_| place == 0);
        sections.extend(of_connection(connection, asked, svg.zip(file)));
    }
    sections.extend(shared_bottlenecks(diagnosis));
    sections.extend(by_server(diagnosis));
    sections.push(all_connections(diagnosis));
    files.add_page(Page {
        title: format!("Limits of the transfers in {name}"),
        lead: match diagnosis.connections.first() {
            Some(first) => headline(first),
            None => "No connection carried data.".to_owned(),
        },
        sections,
    });
    files.add(JSON, move || numbers::json(diagnosis, asked));
    files.add(CONNECTIONS, || numbers::connections_csv(diagnosis));
    files.add(LIMITS, || numbers::limits_csv(diagnosis));
    files.add(STALLS, || numbers::stalls_csv(diagnosis));
    files.add(REQUESTS, || numbers::requests_csv(diagnosis));
    files.add(GROUPS, || numbers::groups_csv(diagnosis));
    files.add(RETRANSMISSIONS, || numbers::retransmissions_csv(diagnosis));
    Ok(files)
}

fn in_short(diagnosis: &Diagnosis) -> Section {
    let mut blocks = Vec::new();
    if diagnosis.extent == Extent::Interrupted {
        blocks.push(Block::Warning {
            text: "Reading was interrupted: this page describes the part that was read.".to_owned(),
        });
    }
    let notes = diagnosis.notes.iter();
    blocks.extend(notes.map(|note| Block::Warning {
        text: format!("{note}."),
    }));
    let mut text = format!(
        "{} in {}; {} ({})",
        words::things(diagnosis.connections_all, "connection", "connections"),
        words::time(diagnosis.duration),
        packets(diagnosis),
        diagnosis.format,
    );
    if diagnosis.without_data > 0 {
        let connections = words::things(diagnosis.without_data, "connection", "connections");
        text += &format!("; {connections} without data");
    }
    text.push('.');
    blocks.push(Block::text(text));
    blocks.push(Block::Files {
        links: [
            JSON,
            CONNECTIONS,
            GROUPS,
            REQUESTS,
            LIMITS,
            RETRANSMISSIONS,
            STALLS,
        ]
        .map(Link::to)
        .to_vec(),
    });
    Section {
        heading: "The capture".to_owned(),
        blocks,
        ..Section::default()
    }
}

/// Returns the sections about a connection.
fn of_connection(
    connection: &ConnectionFindings,
    asked: Option<&Asked>,
    figure: Option<(String, String)>,
) -> Vec<Section> {
    let mut blocks = vec![
        Block::text(headline(connection)),
        Block::text(title(connection)),
    ];
    let notes = notes(connection).into_iter();
    blocks.extend(notes.map(|note| Block::Warning {
        text: format!("{}.", words::capital(&note)),
    }));
    let heading = format!("Connection #{}", connection.number);
    let Some(stream) = connection.main_stream() else {
        blocks.extend(facts_without_data(connection));
        return vec![Section {
            heading,
            blocks,
            ..Section::default()
        }];
    };
    blocks.push(facts(connection, stream));
    if let Some((svg, file)) = figure {
        blocks.push(Block::Figure {
            svg,
            caption: caption(stream),
        });
        blocks.push(Block::Files {
            links: vec![Link::to(&file)],
        });
    }
    let mut sections = vec![Section {
        heading,
        note: match stream.limits_untold() {
            Some(_) => format!("the limit {UNTOLD}"),
            None => lost_to(connection, stream),
        },
        blocks,
        ..Section::default()
    }];
    let mut part = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section {
                heading: heading.to_owned(),
                depth: Depth::Subsection,
                blocks,
                ..Section::default()
            });
        }
    };
    part("Limits", vec![limits_or_why(stream)]);
    part("Retransmissions", retransmissions(stream));
    part("Stalls", stalls(stream));
    part("Requests", crate::requests::table(connection));
    part("Both ends", crate::both::tables(connection));
    part("Path", path(stream));
    part("Sender", senders(stream));
    part("Other senders", asked.map_or(Vec::new(), what_if));
    sections
}

const PACKETS: &str = "position of each segment in the stream, and the ACKs; retransmissions are marked by their cause.";

const SIMULATED: &str = "If other senders were simulated, the second panel has their transfers beside the captured one: if the \
    simulation of the captured sender follows the capture, the model of the path fits.";

/// Returns the caption of a stream's figure.
fn caption(stream: &StreamFindings) -> String {
    if !has_panels(stream) {
        return words::capital(PACKETS);
    }
    let limit = match stream.limits_untold() {
        None => "limit of the sender, ",
        Some(_) => "",
    };
    format!(
        "First panel: {PACKETS} {SIMULATED} Panels below: {limit}bytes in flight, round-trip times, and losses with their repairs."
    )
}

fn retransmissions(stream: &StreamFindings) -> Vec<Block> {
    let account = &stream.account;
    if account.retransmissions == 0 || !stream.tells_retransmissions() {
        return Vec::new();
    }
    let classes = Class::ALL
        .into_iter()
        .filter(|class| account.of(*class) > 0);
    let classes = classes.map(|class| {
        vec![
            class.name().into(),
            Cell::new(words::count(account.of(class)), Emphasis::Number),
        ]
    });
    let first = Block::Table {
        caption: sent_again(stream),
        header: ["cause", "segments"].map(str::to_owned).to_vec(),
        rows: classes.collect(),
    };
    let last = stream.retransmissions.iter().rev().take(LISTED_MAX).rev();
    let rows = last.map(|again| {
        let what = match (needless_in_words(again.need), again.lost) {
            (Some(needless), _) => needless,
            (None, true) => "lost again",
            (None, false) => "",
        };
        vec![
            Cell::new(format!("{:.3}", again.at.as_secs_f64()), Emphasis::Number),
            Cell::new(format!("#{}", again.packet), Emphasis::Number),
            Cell::new(again.start.to_string(), Emphasis::Number),
            cause_in_words(again.cause).into(),
            Cell::new(words::time(again.waited), Emphasis::Number),
            Cell::new(
                again.trigger.map_or("–".to_owned(), |by| format!("#{by}")),
                Emphasis::Number,
            ),
            what.into(),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let second = Block::Table {
        caption: format!("The last {} retransmissions.", rows.len()),
        header: [
            "at (s)",
            "packet",
            "from byte",
            "cause",
            "waited",
            "triggered by",
            "outcome",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows,
    };
    vec![first, second]
}

/// Returns a table of the predictions for other senders.
fn what_if(asked: &Asked) -> Vec<Block> {
    let Asked::Answered(answers) = asked else {
        return vec![Block::text(format!("{}.", crate::summary::what_if(asked)))];
    };
    let rows = answers.iter().map(|answer| {
        let number = |text: String| Cell::new(text, Emphasis::Number);
        let name = match answer.role {
            Role::Captured => format!("{}, captured", answer.stack),
            Role::PerhapsCaptured => format!("{}, possibly captured", answer.stack),
            Role::Another => answer.stack.to_string(),
        };
        if answer.offer != Offer::Given {
            let why = in_words(answer);
            return vec![
                name.into(),
                number("–".to_owned()),
                "–".into(),
                number("–".to_owned()),
                why.into(),
            ];
        }
        vec![
            name.into(),
            number(duration(answer)),
            compared(answer).into(),
            number(words::rate(answer.goodput.mean * 1e6)),
            commands(&answer.stack).join("\n").into(),
        ]
    });
    let mut blocks = vec![Block::Table {
        caption: "The same transfer, simulated on the path that the capture shows. The captured sender behaves in simulations as \
                  it did in the capture. Intervals are 95 % confidence intervals; the last column has the commands for Linux."
            .to_owned(),
        header: ["stack", "duration", "compared with the capture", "goodput", "in Linux"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }];
    blocks.extend(replies(answers));
    blocks
}

/// Returns the predicted single answers of a connection with turns, for the fastest senders.
fn replies(answers: &[Answer]) -> Vec<Block> {
    let told = answers.iter().filter_map(replies_in_words);
    told.map(|text| Block::text(format!("{}.", text.replacen("with", "With", 1))))
        .collect()
}

/// Returns a table of the path's properties.
fn path(stream: &StreamFindings) -> Vec<Block> {
    let lines = path_in_words(&stream.path).into_iter();
    let rows = lines.map(|line| vec![line.name.into(), line.text.into()]);
    let mut blocks = vec![Block::Table {
        caption: "Intervals are 95 % confidence intervals.".to_owned(),
        header: ["property", "estimate"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }];
    let votes = stream.path.votes.iter();
    let votes = votes.filter(|vote| vote.congestion + vote.wireless > 0);
    let rows: Vec<Vec<Cell>> = votes
        .map(|vote| {
            let number = |n: u64| Cell::new(words::count(n), Emphasis::Number);
            vec![
                vote.name.clone().into(),
                number(vote.congestion),
                number(vote.wireless),
                number(vote.agrees),
            ]
        })
        .collect();
    if !rows.is_empty() {
        blocks.push(Block::Table {
            caption: "Loss differentiation algorithms, applied to the losses of this capture: their verdicts, and the number of \
                      verdicts that the queueing delay at the loss confirms."
                .to_owned(),
            header: ["algorithm", "congestion", "link", "confirmed by the queue"]
                .map(str::to_owned)
                .to_vec(),
            rows,
        });
    }
    blocks
}

/// Returns a table of the longest stalls. A stall is a period without packets that is longer than two round trips.
fn stalls(stream: &StreamFindings) -> Vec<Block> {
    let Some(caption) = crate::summary::stalls(stream) else {
        return Vec::new();
    };
    let rows = stream.stalls.longest.iter().map(|stall| {
        let number = |text: String| Cell::new(text, Emphasis::Number);
        let sooner = stall.remedy.after();
        vec![
            number(format!("{:.3}", stall.from.as_secs_f64())),
            number(words::time(stall.duration())),
            words::stall_of(stream, stall.kind).into(),
            keys::key(&stall.kind.culprit()).into(),
            number(words::bytes(stall.flight as f64)),
            number(format!("#{} to #{}", stall.before, stall.after)),
            number(sooner.map_or("–".to_owned(), words::time)),
        ]
    });
    vec![Block::Table {
        caption: format!(
            "{caption}. The table lists the longest. Last column: time after which a tail loss probe or RACK would have ended the stall."
        ),
        header: [
            "from (s)",
            "duration",
            "kind",
            "due to",
            "in flight",
            "between packets",
            "probe or RACK after",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: rows.collect(),
    }]
}

/// Maximum distance of a listed candidate's log-likelihood from the best one: a factor of e⁻¹² (our choice).
const SCORE_SHOWN: f64 = 12.0;

fn senders(stream: &StreamFindings) -> Vec<Block> {
    let report = &stream.sender;
    let mut blocks = vec![
        Block::text(format!("Recovery: {}", verdict(&report.recovery))),
        Block::text(format!("Control: {}", verdict(&report.control))),
    ];
    let mut rows = Vec::new();
    rows.extend(candidates("recovery", &report.recovery));
    rows.extend(candidates("control", &report.control));
    if !rows.is_empty() {
        blocks.push(Block::Table {
            caption: "Candidates, the likeliest first, with the evidence for and against each."
                .to_owned(),
            header: ["algorithm", "name", "for", "against"]
                .map(str::to_owned)
                .to_vec(),
            rows,
        });
    }
    blocks
}

fn verdict<N: ToString>(verdict: &Identification<N>) -> String {
    let name = verdict.name.as_ref();
    let name = name.map_or("unknown".to_owned(), ToString::to_string);
    format!("{name}. {}.", verdict.why)
}

fn candidates<N: ToString>(axis: &str, verdict: &Identification<N>) -> Vec<Vec<Cell>> {
    let best = verdict.candidates.first().map_or(0.0, |one| one.score);
    let near = verdict.candidates.iter();
    let near = near.filter(|one| best - one.score <= SCORE_SHOWN);
    let rows = near.enumerate().map(|(place, one)| {
        let axis = if place == 0 { axis } else { "" };
        vec![
            Cell::new(axis, Emphasis::Group),
            one.name.to_string().into(),
            one.evidence_for.join("; ").into(),
            one.evidence_against.join("; ").into(),
        ]
    });
    rows.collect()
}

/// Returns the section about bottlenecks that several streams share, if there are any.
fn shared_bottlenecks(diagnosis: &Diagnosis) -> Option<Section> {
    let blocks = crate::shared::tables(&diagnosis.shared);
    (!blocks.is_empty()).then(|| Section {
        heading: "Shared bottlenecks".to_owned(),
        blocks,
        ..Section::default()
    })
}

/// Returns the section about connections by server, or `None` if no server has several connections.
fn by_server(diagnosis: &Diagnosis) -> Option<Section> {
    let mut blocks = crate::groups::tables(&diagnosis.groups);
    (!blocks.is_empty()).then(|| {
        blocks.push(Block::Files {
            links: vec![Link::to(GROUPS)],
        });
        Section {
            heading: "By server".to_owned(),
            blocks,
            ..Section::default()
        }
    })
}

/// Maximum number of connections that the page lists (our choice). The CSV file contains all connections that were
/// kept.
const CONNECTIONS_LISTED: usize = 100;

fn all_connections(diagnosis: &Diagnosis) -> Section {
    let listed = diagnosis.connections.iter().take(CONNECTIONS_LISTED);
    let rows: Vec<Vec<Cell>> = listed.map(row).collect();
    let beyond = diagnosis.beyond.connections + diagnosis.connections.len() as u64
        - diagnosis.connections.len().min(CONNECTIONS_LISTED) as u64;
    let mut caption = "Ordered by the time that an end waited for data. Lost is the time that was spent neither at the bottleneck, nor \
        waiting for the application, nor in the handshake. Connections whose limits cannot be determined come last."
        .to_owned();
    if beyond > 0 {
        caption += &format!(" {} more are not listed.", words::count(beyond));
    }
    Section {
        heading: "All connections".to_owned(),
        blocks: vec![
            Block::Table {
                caption,
                header: [
                    "#",
                    "from",
                    "to",
                    "data",
                    "time",
                    "lost",
                    "goodput",
                    "retransmitted",
                    "main limit",
                ]
                .map(str::to_owned)
                .to_vec(),
                rows,
            },
            Block::Files {
                links: vec![Link::to(CONNECTIONS)],
            },
        ],
        ..Section::default()
    }
}

/// Text of a cell without a value.
const NONE: &str = "–";

/// Returns the lost time as text, or the text of an empty cell if the time is unknown.
fn lost(time: Option<Duration>) -> String {
    time.map_or(NONE.to_owned(), words::time)
}

fn row(connection: &ConnectionFindings) -> Vec<Cell> {
    let number = |text: String| Cell::new(text, Emphasis::Number);
    let Some(stream) = connection.main_stream() else {
        let none = || number("–".to_owned());
        return vec![
            number(connection.number.to_string()),
            connection.addresses.opener.to_string().into(),
            connection.addresses.answerer.to_string().into(),
            none(),
            number(words::time(connection.duration())),
            number(lost(connection.lost())),
            none(),
            none(),
            without_data(connection).into(),
        ];
    };
    let (from, to) = ends(connection, stream);
    vec![
        number(connection.number.to_string()),
        from.into(),
        to.into(),
        number(words::bytes(stream.bytes() as f64)),
        number(words::time(stream.shares.duration())),
        number(lost(stream.lost())),
        number(stream.goodput_told().map_or(NONE.to_owned(), words::rate)),
        number(crate::summary::retransmissions(stream).map_or(NONE.to_owned(), words::count)),
        lost_to(connection, stream).into(),
    ]
}

#[cfg(test)]
mod tests;
