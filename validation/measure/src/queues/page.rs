//! The tables of docs/queues.md.

use std::fmt::Write;

use super::bucket::{self, Measured};
use super::settings::Discipline;
use super::{Compared, Sample};
use crate::ns3::{half_width, mean};

/// Relative difference from which two numbers disagree.
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
        "# Our queues beside ns-3's and Linux's\n\n\
         Written by `cargo measure queues`. Each queue is alone before a transmitter with a constant \
         rate, and both programs get the same packets of 1500 bytes: at fixed times (Poisson, on/off), or \
         from windows that grow and halve as Reno's do and learn the fate of each packet one round trip \
         later. {seeds} seeds of \
         60 s, of which 10 s do not count; ± is the 95 % confidence interval of the mean.\n\n\
         `wait` is the mean time in the queue of packets that were delivered, `signals` the share of \
         packets that were dropped or marked, in per cent. In {plain} of {all} settings ours and theirs differ by at most {:.0} % in both; in \
         {explained} more the difference disappears when ours imitates their deviations from the RFC or the \
         paper (the columns \"as theirs\").\n",
        TOLERANCE * 100.0
    )
}

const fn title(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::CoDel => "CoDel (RFC 8289) and ns-3.37's",
        Discipline::FqCoDel => "FQ-CoDel (RFC 8290) and ns-3.37's",
        Discipline::Pie => "PIE (RFC 8033) and ns-3.37's",
        Discipline::Red => "RED and ns-3.37's",
    }
}

const fn about(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::CoDel | Discipline::FqCoDel => {
            "ns-3 is configured to spare a queue of at most 1500 bytes, as in the RFC (by default it \
             spares only less). It deviates in two ways: it computes 1/√count by one step of Newton's method, as \
             Linux does, so that the first drops of an episode come earlier (after 0.5 intervals instead of \
             0.71), and it measures the time to the next mark from the last mark instead of its due time. Ours as \
             theirs does both. The column `given` has target and interval.\n"
        }
        Discipline::Pie => {
            "ns-3's bound on the steps of a high probability is off, as in basic PIE. The column \
             `given` has the target; the probability is updated every 15 ms.\n"
        }
        Discipline::Red => {
            "Drops are spread evenly (ns-3's `Wait` is off), the slope is gentle. ns-3 deviates from \
             the paper of 1993 in three ways, as ns-2 did: a packet that finds at most one other in the queue is \
             never dropped, the next packet that finds more is not dropped either, and a packet after an idle \
             time ages the average once more. Ours as theirs does all three. The column `given` has the \
             thresholds.\n"
        }
    }
}

fn table(discipline: Discipline, rows: &[&Compared]) -> String {
    let mut text = "| setting | given | wait, theirs (ms) | ours (ms) | ratio | signals, theirs (%) | ours (%) | ratio |"
        .to_owned();
    let mut rule = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |".to_owned();
    if discipline.differs() {
        text.push_str(" as theirs: wait | signals |");
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
        "Datagrams of 1000 bytes cross a loopback device with Linux's `tbf` in a network namespace; ours is given the \
         times at which they were sent. A load counts what is sent on average, in trains of so many at the times \
         of a Poisson process. {} runs of 5 s each; theirs ends with the kernel's own time stamps.\n",
        bucket::ROUNDS
    )
}

fn bucket_table(buckets: &[Measured]) -> String {
    let mut text = "| setting | wait, theirs (ms) | ours (ms) | ratio | dropped, theirs (%) | ours (%) | ratio |\n\
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

/// Returns the columns of waits and signals.
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

/// Formats mean and interval.
fn spread(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> String {
    let values = values(samples, of);
    let half = half_width(&values).unwrap_or(f64::NAN);
    format!("{:.2} ± {half:.2}", mean(&values))
}

/// Returns the ratios of our waits and signals to theirs, which are 1 if both are zero.
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

/// Emphasises a difference.
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
    fn the_tolerance_is_ten_per_cent_in_both_directions() {
        let theirs = sample(10.0, 2.0);
        assert!(agrees(&theirs, &sample(10.9, 1.9)));
        assert!(!agrees(&theirs, &sample(11.1, 2.0)));
        assert!(!agrees(&theirs, &sample(10.0, 1.7)));
        assert!(agrees(&sample(10.0, 0.0), &sample(10.0, 0.0)));
        assert!(!agrees(&sample(10.0, 0.0), &sample(10.0, 0.1)));
        assert!(!agrees(&theirs, &[]));
    }
}
