//! The page docs/diagnose-truth.md, and the list of all wrong diagnoses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use dupack_diagnosis::Need;

use super::run::{Done, End};
use super::score::{About, Mark, Needless, Quantity, Score};
use super::truth::Was;

/// Sums over several captures.
#[derive(Default)]
struct Sum {
    captures: usize,
    right: u64,
    all: u64,
    needless: Needless,
    unknown: u64,
    marks: BTreeMap<(Quantity, Mark), u64>,
}

impl Sum {
    fn add(&mut self, score: &Score, sound: bool) {
        let (right, all) = score.classified();
        self.captures += 1;
        self.right += right;
        self.all += all;
        self.needless.add(&score.needless);
        self.unknown += score.unknown;
        for (quantity, judged) in &score.judged {
            // If packets were late, the path did not have the configured rate.
            let timed = matches!(quantity, Quantity::Rate | Quantity::Room);
            if sound || !timed {
                *self.marks.entry((*quantity, judged.mark)).or_default() += 1;
            }
        }
    }

    fn of(done: &[Done], take: impl Fn(&Done, End) -> bool) -> Self {
        let mut sum = Self::default();
        for one in done {
            for (end, score) in &one.scores {
                if take(one, *end) {
                    sum.add(score, one.unsound.is_empty());
                }
            }
        }
        sum
    }

    fn mark(&self, quantity: Quantity, mark: Mark) -> u64 {
        self.marks.get(&(quantity, mark)).copied().unwrap_or(0)
    }

    fn classified(&self) -> String {
        share(self.right, self.all)
    }

    fn needless(&self) -> String {
        share(self.needless.right(), self.needless.all)
    }
}

fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return "–".to_owned();
    }
    format!("{:.2} % of {all}", part as f64 / all as f64 * 100.0)
}

const HEAD: &str = "\
# Diagnoses of real packets compared with the truth

Real packets cross an emulated path: this project's endpoint and this machine's kernel send in turn. The captures are taken
at both ends and, if the kernel sends, also by tcpdump on its host with offload on, where one packet may be many segments. The
cause of each retransmission is known: our senders record it at each transmission, and the tracepoints `tcp_retransmit_skb` and
`tcp_cong_state_set` show it for the kernel. `TCP_INFO` has the time for which the receive window, or a lack of data, limited a
transfer. The paths are in `validation/diagnosis/src/bin/diagnose_truth/paths.rs`. `cargo measure diagnose` writes this page.

Retransmissions are classified as fast (the first repair and further ones of a recovery), timeout, after a timeout, tail loss
probe, or window probe. A packet that is classified as a retransmission and is none counts as wrong. A spurious retransmission
repeats only data that had arrived, or that was in flight and arrived.

The other values are right under these conditions: shares of time, within 5 points of the kernel's `busy_time` and
`rwnd_limited`; the least round trip, within 1 ms or 2 % of the path's with a full packet's time on its link; the rate, within 5 %
of the path's or its policer's; the loss, if its interval contains the loss of the packets; the buffer, if it overflowed, within
15 %.
";

/// Returns the page.
pub fn page(done: &[Done], failed: &[String], seeds: &str) -> String {
    let mut text = HEAD.to_owned();
    text += "\n## All together\n\n";
    text += "| captured at | captures | causes right | spurious or not: right | truth unknown |\n";
    text += "| --- | --: | --: | --: | --: |\n";
    for end in End::ALL {
        let sum = Sum::of(done, |_, taken| taken == end);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            end.name(),
            sum.captures,
            sum.classified(),
            sum.needless(),
            sum.unknown
        );
    }
    text += &quantities(done);
    text += &by(done, "sender", |one| one.task.sender.clone());
    text += &by(done, "path", |one| one.task.place.name.clone());
    text += &confusion(done);
    text += &each(done);
    text += &circumstances(done, failed, seeds);
    text
}

fn quantities(done: &[Done]) -> String {
    let mut text = "\n| right / wrong / unknown |".to_owned();
    for end in End::ALL {
        let _ = write!(text, " {} |", end.name());
    }
    text += "\n| --- | --: | --: | --: |\n";
    for quantity in Quantity::ALL {
        let _ = write!(text, "| {} |", quantity.name());
        for end in End::ALL {
            let sum = Sum::of(done, |_, taken| taken == end);
            let [right, wrong, untold] =
                [Mark::Right, Mark::Wrong, Mark::Untold].map(|mark| sum.mark(quantity, mark));
            let _ = write!(text, " {right} / {wrong} / {untold} |");
        }
        text += "\n";
    }
    text
}

fn by(done: &[Done], what: &str, of: impl Fn(&Done) -> String) -> String {
    let mut names: Vec<String> = Vec::new();
    for one in done {
        let name = of(one);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut text = format!("\n## By {what}\n\n| {what} |");
    for end in End::ALL {
        let _ = write!(text, " {} |", end.name());
    }
    text += " control right / wrong / unknown |\n| --- | --: | --: | --: | --: |\n";
    for name in names {
        let _ = write!(text, "| {name} |");
        for end in End::ALL {
            let sum = Sum::of(done, |one, taken| taken == end && of(one) == name);
            let _ = write!(text, " {} |", sum.classified());
        }
        let sum = Sum::of(done, |one, taken| taken == End::Sender && of(one) == name);
        let [right, wrong, untold] =
            [Mark::Right, Mark::Wrong, Mark::Untold].map(|mark| sum.mark(Quantity::Control, mark));
        let _ = writeln!(text, " {right} / {wrong} / {untold} |");
    }
    text
}

fn confusion(done: &[Done]) -> String {
    let mut counts: BTreeMap<(End, Was, Was), u64> = BTreeMap::new();
    for one in done {
        for (end, score) in &one.scores {
            for miss in &score.misses {
                if let About::Cause(was, told) = miss.about {
                    *counts.entry((*end, was, told)).or_default() += 1;
                }
            }
        }
    }
    let mut text =
        "\n## Wrong causes\n\n| captured at | truth | diagnosis | packets |\n".to_owned();
    text += "| --- | --- | --- | --: |\n";
    for ((end, was, told), count) in counts {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {count} |",
            end.name(),
            was.name(),
            told.name()
        );
    }
    text
}

fn each(done: &[Done]) -> String {
    let mut text =
        "\n## Each capture\n\nEach cell has the diagnosis, and the truth in parentheses; bold values are wrong.\n\n"
            .to_owned();
    text +=
        "| sender | path | captured at | retransmissions | causes right | spurious or not: right |";
    for quantity in Quantity::ALL {
        let _ = write!(text, " {} |", quantity.name());
    }
    text += "\n| --- | --- | --- | --: | --: | --: |";
    text += &" --- |".repeat(Quantity::ALL.len());
    text += "\n";
    for one in done {
        for (end, score) in &one.scores {
            let was = score
                .confusion
                .iter()
                .filter(|((was, _), _)| was.is_again());
            let again: u64 = was.map(|(_, count)| count).sum();
            let (right, all) = score.classified();
            let percent = |part: u64, all: u64| match all {
                0 => "–".to_owned(),
                _ => format!("{:.1} %", part as f64 / all as f64 * 100.0),
            };
            let late = if one.unsound.is_empty() {
                ""
            } else {
                " (late)"
            };
            let _ = write!(
                text,
                "| {} | {}: {}{late} | {} | {again} | {} | {} |",
                one.task.sender,
                one.task.place.name,
                one.task.place.numbers,
                end.name(),
                percent(right, all),
                percent(score.needless.right(), score.needless.all)
            );
            for quantity in Quantity::ALL {
                let cell = match score.judged.get(&quantity) {
                    None => "–".to_owned(),
                    Some(judged) if judged.mark == Mark::Wrong => format!("**{}**", judged.text),
                    Some(judged) => judged.text.clone(),
                };
                let _ = write!(text, " {cell} |");
            }
            text += "\n";
        }
    }
    text
}

fn circumstances(done: &[Done], failed: &[String], seeds: &str) -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    let date = date.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    let late = done.iter().filter(|one| !one.unsound.is_empty()).count();
    let long = done
        .iter()
        .filter(|one| one.long.is_some_and(|long| long > 0))
        .count();
    let differ = done.iter().filter_map(|one| one.counted);
    let differ = differ.filter(|(kernel, traced)| kernel != traced).count();
    let mut text = "\n## Circumstances\n\n".to_owned();
    let _ = writeln!(
        text,
        "- {} transfers, {seeds}, on {}, Linux {}; in {late} of them the path did not keep its times (\"late\": their rate and \
         buffer are not counted above)",
        done.len(),
        date.unwrap_or_default(),
        release.trim()
    );
    let _ = writeln!(
        text,
        "- {long} captures of tcpdump at the host contain packets longer than a segment"
    );
    let _ = writeln!(
        text,
        "- in {differ} transfers of the kernel, its count of retransmissions (`tcpi_total_retrans`) differs from the number that \
         left its host"
    );
    for one in failed {
        let _ = writeln!(text, "- failed: {one}");
    }
    text
}

/// Returns a line for each wrong diagnosis.
pub fn wrong(done: &[Done]) -> String {
    let mut text = "file,packet,unix_time,sequence_number,it_was,told\n".to_owned();
    for one in done {
        for (_, score) in &one.scores {
            for miss in &score.misses {
                let packet = &miss.packet;
                let (was, told) = match miss.about {
                    About::Cause(was, told) => (was.name(), told.name().to_owned()),
                    About::Need(Need::Needed | Need::Unknown) => ("needless", "needed".to_owned()),
                    About::Need(need) => ("needed", format!("{need:?}")),
                };
                let _ = writeln!(
                    text,
                    "{},{},{}.{:09},{},{was},{told}",
                    miss.file.display(),
                    packet.number,
                    packet.at / 1_000_000_000,
                    packet.at % 1_000_000_000,
                    packet.seq,
                );
            }
        }
    }
    text
}
