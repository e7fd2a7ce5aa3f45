//! Text and tables of docs/queues.md.

use std::fmt::Write;

use super::bucket::{self, Measured};
use super::settings::Discipline;
use super::{Compared, Sample};
use crate::ns3::{half_width, mean};

/// Maximum relative difference between two numbers that agree.
const TOLERANCE: f64 = 0.1;

pub fn page(compared: &[Compared], buckets: &[Measured], seeds: u32) -> String {
    let mut text = head(compared, buckets, seeds);
    for discipline in Discipline::ALL {
        let rows = compared
            .iter()
            .filter(|c| c.setting.discipline == discipline);
        let rows: Vec<&Compared> = rows.collect();
        if !rows.is_empty() {
            let _ = write!(
                text,
                "\n## {}\n\n{}\n",
                title(discipline),
                about(discipline)
            );
            text.push_str(&table(discipline, &rows));
        }
    }
    if !buckets.is_empty() {
        let _ = write!(text, "\n## Token bucket\n\n{}\n", about_buckets());
        text.push_str(&bucket_table(buckets));
    }
    text
}

fn head(compared: &[Compared], buckets: &[Measured], seeds: u32) -> String {
    let all = compared.len() + buckets.len();
    let plain = compared.iter().filter(|c| agrees(&c.peer, &c.ours)).count()
        + buckets
            .iter()
            .filter(|b| agrees(&b.theirs, &b.ours))
            .count();
    let explained = compared
        .iter()
        .filter(|c| !agrees(&c.peer, &c.ours) && agrees(&c.peer, &c.as_peer))
        .count();
    format!(
        "# Queue disciplines compared with ns-3 and Linux\n\n\
         This page is written by `cargo measure queues`. Each queue runs alone behind a transmitter of constant rate. \
         Both programs get the same packets of 1500 bytes. Their times are either fixed in advance (Poisson, on/off), \
         or determined by windows that grow and halve like Reno's and learn the fate of each packet one round-trip \
         time later. There are {seeds} seeds of 60 s, of which the first 10 s do not count; ± is the 95 % confidence \
         interval of the mean.\n\n\
         `wait` is the mean time in the queue of delivered packets. `signals` is the percentage of packets that are \
         dropped or marked. In {plain} of {all} settings dupack and its peer differ by at most {:.0} % in both. In \
         {explained} more settings the difference disappears if dupack follows the peer where it deviates from the RFC \
         or the paper (columns \"as ns-3\").\n",
        TOLERANCE * 100.0
    )
}

const fn title(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::CoDel => "CoDel (RFC 8289)",
        Discipline::FqCoDel => "FQ-CoDel (RFC 8290)",
        Discipline::Pie => "PIE (RFC 8033)",
        Discipline::Red => "RED",
    }
}

const fn about(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::CoDel | Discipline::FqCoDel => {
            "The peer is ns-3.37, configured to drop nothing while at most 1500 bytes wait, like the RFC (its default is fewer than 1500 bytes). It deviates from the RFC in two ways. It approximates 1/√count by one step of \
             Newton's method, like Linux, so that the first drops of an episode come sooner (after 0.5 intervals \
             instead of 0.71). And the time to the next mark starts when a mark is made, not when it was due. The \
             columns \"as ns-3\" include both deviations. The parameters are target and interval.\n"
        }
        Discipline::Pie => {
            "The peer is ns-3.37. Its bound on the steps of a high probability is off, as in basic PIE. The parameter is \
             the target; the probability is updated every 15 ms.\n"
        }
        Discipline::Red => {
            "The peer is ns-3.37. Drops are spread evenly (ns-3's `Wait` is off), and the slope is gentle. ns-3 deviates \
             from the paper of 1993 in three ways, like ns-2: a packet that finds at most one other packet waiting is \
             never dropped; nor is the next packet that finds more; and a packet after an idle time ages the average \
             once more. The columns \"as ns-3\" include all three deviations. The parameters are the thresholds.\n"
        }
    }
}

fn table(discipline: Discipline, rows: &[&Compared]) -> String {
    let mut text = "| setting | parameters | wait: ns-3 (ms) | dupack (ms) | ratio | signals: ns-3 (%) | dupack (%) | ratio |"
        .to_owned();
    let mut rule = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |".to_owned();
    if discipline.differs() {
        text.push_str(" as ns-3: wait | signals |");
        rule.push_str(" ---: | ---: |");
    }
    let _ = writeln!(text, "\n{rule}");
    for row in rows {
        let setting = &row.setting;
        let _ = write!(
            text,
            "| {} | {} {}",
            setting.words(),
            setting.parameters(),
            both(&row.peer, &row.ours)
        );
        if discipline.differs() {
            let [wait, signals] = ratios(&row.peer, &row.as_peer).map(bold);
            let _ = write!(text, " {wait} | {signals} |");
        }
        text.push('\n');
    }
    text
}

fn about_buckets() -> String {
    format!(
        "The peer is Linux's `tbf`. Datagrams of 1000 bytes cross a loopback device with `tbf` in a network namespace; \
         dupack's shaper gets the times at which they were sent. The load is the mean rate of datagrams as a multiple \
         of the bucket's rate; they are sent in trains, at the times of a Poisson process. There are {} runs of 5 s \
         each. Linux's waits end at the kernel's own time stamps.\n",
        bucket::ROUNDS
    )
}

fn bucket_table(buckets: &[Measured]) -> String {
    let mut text = "| setting | wait: Linux (ms) | dupack (ms) | ratio | dropped: Linux (%) | dupack (%) | ratio |\n\
                    | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for row in buckets {
        let _ = writeln!(
            text,
            "| {} {}",
            row.setting.words(),
            both(&row.theirs, &row.ours)
        );
    }
    text
}

/// Returns the table cells of waits and signals.
fn both(theirs: &[Sample], ours: &[Sample]) -> String {
    let [wait, signals] = ratios(theirs, ours).map(bold);
    format!(
        "| {} | {} | {wait} | {} | {} | {signals} |",
        spread(theirs, |s| s.wait_ms),
        spread(ours, |s| s.wait_ms),
        spread(theirs, |s| s.signals),
        spread(ours, |s| s.signals),
    )
}

fn values(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Vec<f64> {
    samples.iter().map(of).collect()
}

/// Returns the mean with its confidence interval.
fn spread(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> String {
    let values = values(samples, of);
    let half = half_width(&values).unwrap_or(f64::NAN);
    format!("{:.2} ± {half:.2}", mean(&values))
}

/// Returns the ratios of our waits and signals to those of the peer; 1 if both are zero.
fn ratios(theirs: &[Sample], ours: &[Sample]) -> [f64; 2] {
    let ratio = |of: fn(&Sample) -> f64| {
        let (theirs, ours) = (mean(&values(theirs, of)), mean(&values(ours, of)));
        if theirs == ours { 1.0 } else { ours / theirs }
    };
    [ratio(|s| s.wait_ms), ratio(|s| s.signals)]
}

fn is_close(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

fn agrees(theirs: &[Sample], ours: &[Sample]) -> bool {
    !ours.is_empty() && ratios(theirs, ours).into_iter().all(is_close)
}

/// Formats a ratio, in bold if the numbers do not agree.
fn bold(ratio: f64) -> String {
    if is_close(ratio) {
        format!("{ratio:.3}")
    } else {
        format!("**{ratio:.3}**")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(wait_ms: f64, signals: f64) -> [Sample; 2] {
        [Sample { wait_ms, signals }; 2]
    }

    #[test]
    fn waits_and_signals_agree_within_ten_per_cent() {
        let theirs = sample(10.0, 2.0);
        assert!(agrees(&theirs, &sample(10.9, 1.9)));
        assert!(!agrees(&theirs, &sample(11.1, 2.0)));
        assert!(!agrees(&theirs, &sample(10.0, 1.7)));
        assert!(agrees(&sample(10.0, 0.0), &sample(10.0, 0.0)));
        assert!(!agrees(&sample(10.0, 0.0), &sample(10.0, 0.1)));
        assert!(!agrees(&theirs, &[]));
    }
}
