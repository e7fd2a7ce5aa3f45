//! Tables of scores in Markdown, and the list of wrong diagnoses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::derive::Derived;
use super::plan::Kind;
use super::score::{Grade, Score};

/// Number of rows of a table whose groups of streams overlap. Such a table has no row of sums.
const GROUPS: usize = 6;

const BEGIN: &str = "<!-- ordinary traffic -->";
const END: &str = "<!-- end of ordinary traffic -->";

/// Puts `section` between the markers of a page. If there are no markers, appends the section to the page.
pub fn replace(page: &Path, section: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = if page.exists() {
        fs::read_to_string(page).map_err(failed)?
    } else {
        String::new()
    };
    let section = format!("{BEGIN}\n{section}{END}");
    let text = match (text.find(BEGIN), text.find(END)) {
        (Some(from), Some(to)) if from < to => {
            format!("{}{section}{}", &text[..from], &text[to + END.len()..])
        }
        _ => format!("{}\n\n{section}\n", text.trim_end()),
    };
    fs::write(page, text).map_err(failed)
}

/// Returns the section of the page.
pub fn section(scores: &[Score], failed: &[String], seeds: &str) -> String {
    let runs = scores.iter().map(|s| (s.kind, s.seed));
    let runs = runs.collect::<std::collections::BTreeSet<_>>().len();
    let captures = scores.iter().map(|s| (s.kind, s.seed, s.at, s.derived));
    let captures = captures.collect::<std::collections::BTreeSet<_>>().len();
    let mut text = format!(
        "## Ordinary traffic\n\n\
         Applications over the kernel's TCP at both ends ({runs} runs, {seeds}), captured at both ends, and captures derived \
         from these ({captures} captures). The truth, the limit of a stream at every instant, comes from `TCP_INFO` of both \
         sockets every 10 ms and from the calls of the programs. While the bottleneck is busy with the last data that an \
         application wrote, either may be named; if a window or the send buffer limits a stream while the path is full, the path \
         may be named, too. There is no truth for streams of less than 10 ms.\n\n\
         A first sentence is right if the limit that it names took most of the time (within 5 points), and flatly wrong if that \
         limit took less than a tenth. An abstention is wrong if one limit took half of the time. Waste (timers, Nagle's algorithm, \
         a shut window) that took a quarter or more may be named first; such sentences have a separate column. \"The sender held \
         back: its send buffer, a congestion window that does not grow, or a shaper\" names the window if nothing was \
         retransmitted, and the path if there is a shaper on the sending host; away from the sender it names the application, too. \
         Slow start, losses and the path count as one limit, the congestion window, unless the named limit is right by itself; the \
         column \"right, in detail\" separates them.\n\n\
         The budget is right if busy time, receive window and send buffer are within 5 points of the kernel's counters at the \
         sender's own end. The bottleneck's rate, if it is known, is right if it is the path's or its shaper's within 5 % or \
         within its interval. `cargo run --release --manifest-path validation/Cargo.toml --bin ordinary -- --page \
         docs/diagnose-truth.md` writes this section.\n\n"
    );
    text += "### By application, captures as taken\n\n";
    let whole = || scores.iter().filter(|s| s.derived == Derived::Whole);
    text += &table(
        "application",
        Kind::ALL.map(|kind| (kind.words(), whole().filter(|s| s.kind == kind).collect())),
    );
    text += "\n### By capture\n\n";
    text += &table(
        "capture",
        Derived::ALL.map(|derived| {
            let of = scores.iter().filter(|s| s.derived == derived);
            (derived.words(), of.collect())
        }),
    );
    text += &sum(scores);
    text += "\n### Other groups, captures as taken\n\n";
    text += &table(
        "group",
        [
            (
                "at the sender",
                whole().filter(|s| s.at == s.from).collect(),
            ),
            (
                "at the receiver",
                whole().filter(|s| s.at != s.from).collect(),
            ),
            ("IPv6", whole().filter(|s| s.v6).collect()),
            (
                "a shaper (tbf) on the sending host",
                whole().filter(|s| s.shaped).collect(),
            ),
            (
                "an end without offload",
                whole().filter(|s| s.single).collect(),
            ),
            (
                "the stream described first",
                whole().filter(|s| s.first).collect(),
            ),
        ],
    );
    text += "\n### Wrong sentences, captures as taken\n\n\
             | sentence names | limit with most of the time | wrong | flatly wrong |\n| --- | --- | --: | --: |\n";
    for ((template, most), [wrong, flat]) in confusions(whole()) {
        let _ = writeln!(text, "| {template} | {most} | {wrong} | {flat} |");
    }
    if !failed.is_empty() {
        let _ = writeln!(text, "\n{} runs failed.", failed.len());
    }
    text.push('\n');
    text
}

/// Returns a summary of all captures with both directions and most of the packets. The other captures are left out,
/// because the sentence about such a capture says that packets are missing.
fn sum(scores: &[Score]) -> String {
    let told = scores.iter().filter(|s| !s.derived.lacks_much());
    let told: Vec<&Score> = told.filter(|s| s.coarse != Grade::Unknown).collect();
    let part = |test: &dyn Fn(&Score) -> bool| {
        let count = told.iter().filter(|score| test(score)).count();
        format!(
            "{count} ({:.1} %)",
            100.0 * count as f64 / told.len().max(1) as f64
        )
    };
    let named = |score: &Score| score.coarse != Grade::Abstained && score.coarse != Grade::Missed;
    let first_named = told.iter().filter(|score| named(score)).count();
    let right = told
        .iter()
        .filter(|score| score.coarse == Grade::Right)
        .count();
    format!(
        "\nOf {} streams in captures with both directions and at least nine of ten packets: right {}, abstained {}, of these \
         wrongly {}, waste named first {}, wrong {}, flatly wrong {}. Of the sentences that name a limit, {:.1} % are right.\n",
        told.len(),
        part(&|s| s.coarse == Grade::Right),
        part(&|s| matches!(s.coarse, Grade::Abstained | Grade::Missed)),
        part(&|s| s.coarse == Grade::Missed),
        part(&|s| s.coarse == Grade::Waste),
        part(&|s| s.coarse == Grade::Wrong),
        part(&|s| s.coarse == Grade::Flat),
        100.0 * right as f64 / first_named.max(1) as f64,
    )
}

fn confusions<'a>(
    scores: impl Iterator<Item = &'a Score>,
) -> BTreeMap<(&'static str, &'static str), [u32; 2]> {
    let mut counts: BTreeMap<_, [u32; 2]> = BTreeMap::new();
    for score in scores {
        let place = match score.coarse {
            Grade::Wrong | Grade::Missed | Grade::Waste => 0,
            Grade::Flat => 1,
            Grade::Unknown | Grade::Right | Grade::Abstained => continue,
        };
        counts.entry((score.template, score.most())).or_default()[place] += 1;
    }
    counts
}

impl Score {
    /// Returns the name of the class with the largest share. Slow start, losses and path count as one class.
    pub fn most(&self) -> &'static str {
        let shares =
            super::truth::Class::ALL.map(|class| (self.budget.coarse_share(class), class.coarse()));
        let most = shares.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        most.map_or("", |(_, class)| match class {
            super::truth::Class::Path => "congestion window",
            other => other.name(),
        })
    }
}

fn table<const N: usize>(title: &str, rows: [(&str, Vec<&Score>); N]) -> String {
    let mut text = format!(
        "| {title} | streams | truth unknown | right | abstained | abstained wrongly | waste named first | wrong | flatly wrong | right, in detail | \
         retransmissions invented | budget right | rate right |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
    );
    let all: Vec<&Score> = rows
        .iter()
        .flat_map(|(_, scores)| scores.iter().copied())
        .collect();
    let all = (N != GROUPS).then_some(("all", all));
    for (name, scores) in rows.into_iter().chain(all) {
        let count = |verdict: Grade| scores.iter().filter(|s| s.coarse == verdict).count();
        let fine = scores.iter().filter(|s| s.fine == Grade::Right).count();
        let invented = scores.iter().filter(|s| s.invented()).count();
        let budget = right_of(scores.iter().filter_map(|s| s.kernel_is_right()));
        let rate = right_of(scores.iter().filter_map(|s| s.rate_is_right));
        let counts = Grade::ALL
            .map(|verdict| count(verdict).to_string())
            .join(" | ");
        let _ = writeln!(
            text,
            "| {name} | {} | {counts} | {fine} | {invented} | {budget} | {rate} |",
            scores.len()
        );
    }
    text
}

/// Formats the number of `true` values, as in `3 of 5`.
fn right_of(each: impl Iterator<Item = bool>) -> String {
    let each: Vec<bool> = each.collect();
    let right = each.iter().filter(|right| **right).count();
    match each.len() {
        0 => "–".to_owned(),
        all => format!("{right} of {all}"),
    }
}

/// Returns a line for each error, whole captures first. A sentence that says that packets are missing is not an error.
pub fn wrong(scores: &[Score]) -> String {
    let mut text = String::new();
    let mut scores: Vec<&Score> = scores.iter().collect();
    scores.sort_by_key(|score| (score.derived, score.kind, score.seed));
    for score in scores {
        let mut faults = Vec::new();
        if score.says_incomplete() {
            // A capture with missing packets does not show the shares of the limits.
        } else if score.coarse > Grade::Abstained {
            faults.push(score.coarse.name().to_owned());
        } else if score.fine > Grade::Abstained {
            faults.push(format!("{} in detail", score.fine.name()));
        }
        if score.invented() {
            let [told, _] = score.retransmissions;
            faults.push(format!("{told} retransmissions invented"));
        }
        if score.kernel_is_right() == Some(false)
            && let Some(shares) = score.kernel
        {
            let shares = shares.map(|s| format!("{:.0}/{:.0}", s.told * 100.0, s.truth * 100.0));
            faults.push(format!(
                "budget told/truth: busy {}, receive window {}, send buffer {}",
                shares[0], shares[1], shares[2]
            ));
        }
        if faults.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "{} | {} {} of {}, from {} {}→{}, place {} | {} | {} | {} | retransmissions {}/{} | {}",
            faults.join("; "),
            score.derived.name(),
            score.at.name(),
            score.kind,
            score.from.name(),
            score.ends[0].port(),
            score.ends[1].port(),
            score.place,
            score.template,
            score.sentence,
            score.budget.in_words(),
            score.retransmissions[0],
            score.retransmissions[1],
            score.file.display()
        );
    }
    text
}
