//! Scenarios that were drawn after the dynamic response was designed: the files `drawn-*.toml` are the output of this
//! module for the stated seed.
//!
//! The seed is a date and was not searched for. It belongs to the third draw: the draws of 20261121 and 20261122 were
//! made for earlier designs, which failed on them. Only the tests use this module: the runs use the files.

use std::fmt::Write as _;

/// Seed of the draw.
pub(super) const SEED: u64 = 20_261_123;
/// Number of scenarios in each group, as many as in the paper.
pub(super) const SCENARIOS: usize = 60;

/// A group of scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// One flow; all losses are wireless losses.
    Wireless,
    /// Several flows; all losses come from full queues and collisions.
    Congestion,
}

/// Minimum retransmission timeout of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The minimum of the group's file, 200 ms.
    Group,
    /// 1 s (RFC 6298 §2.4).
    Second,
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a whole number from `low` to `high`, both included.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.roll() % (high - low + 1)
    }
}

/// Returns the experiment file of `group` with scenarios drawn from `seed`. `frame` is the text of the group's file up
/// to its sweep; the line of the seeds is replaced, and so is that of the timer if `timer` asks for it.
pub(super) fn file(group: Group, timer: Timer, seed: u64, frame: &str) -> String {
    let mut dice = Dice(seed);
    // The groups share the seed but no draws.
    if group == Group::Congestion {
        for _ in 0..10_000 {
            dice.roll();
        }
    }
    let mut out = heading(group, timer, seed);
    let own_seed = dice.between(1, 1_000_000);
    for line in frame.lines() {
        match line {
            line if line.starts_with("[sweep]") => break,
            line if line.starts_with('#') || line.starts_with("title") => {}
            line if line.starts_with("seeds") => {
                let _ = writeln!(out, "seeds = [{own_seed}]");
            }
            line if line.starts_with("min_rto") && timer == Timer::Second => {
                out.push_str("min_rto = \"1s\"\n");
            }
            line => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    for n in 0..SCENARIOS {
        out.push_str(if n == 0 {
            "[[points]]\n"
        } else {
            "\n[[points]]\n"
        });
        scenario(group, &mut dice, &mut out);
    }
    out
}

fn heading(group: Group, timer: Timer, seed: u64) -> String {
    let (name, title) = match group {
        Group::Wireless => ("W", "every loss is the link's"),
        Group::Congestion => ("C", "every loss is congestion"),
    };
    let timer = match timer {
        Timer::Group => "",
        Timer::Second => ", timer of at least 1 s",
    };
    format!(
        "# Sixty scenarios of group {name}, drawn from seed {seed} after the dynamic response was final.\n\
         # Made by crates/papers/src/responding/draw.rs; a test there holds it against this file.\n\
         title = \"Group {name}, drawn{timer}: {title}\"\n"
    )
}

fn scenario(group: Group, dice: &mut Dice, out: &mut String) {
    let hops = dice.between(1, 5);
    match group {
        Group::Wireless => {
            // In hundredths of a percent.
            let loss = dice.between(50, 600);
            let buffer = dice.between(50, 100);
            let _ = write!(
                out,
                "\"radio.hops\" = {hops}\n\"radio.loss\" = \"{}.{:02}%\"\n\"radio.buffer\" = \"{buffer}pkt\"\n",
                loss / 100,
                loss % 100
            );
        }
        Group::Congestion => {
            let flows = dice.between(3, 25);
            let buffer = dice.between(5, 60);
            let _ = write!(
                out,
                "\"radio.hops\" = {hops}\n\"flows.0.count\" = {flows}\n\"radio.buffer\" = \"{buffer}pkt\"\n"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAPER;
    use super::*;

    fn text(name: &str) -> &'static str {
        let found = PAPER.files.iter().find(|(known, _)| *known == name);
        found.expect("the file is the paper's").1
    }

    #[test]
    fn the_files_are_what_the_seed_yields() {
        let wireless = |timer| file(Group::Wireless, timer, SEED, text("w.toml"));
        let congestion = |timer| file(Group::Congestion, timer, SEED, text("c.toml"));
        assert_eq!(text("drawn-w.toml"), wireless(Timer::Group));
        assert_eq!(text("drawn-w-1s.toml"), wireless(Timer::Second));
        assert_eq!(text("drawn-c.toml"), congestion(Timer::Group));
        assert_eq!(text("drawn-c-1s.toml"), congestion(Timer::Second));
    }

    #[test]
    fn another_seed_yields_other_scenarios() {
        let other = file(Group::Wireless, Timer::Group, SEED + 1, text("w.toml"));
        assert_ne!(text("drawn-w.toml"), other);
    }

    #[test]
    fn draws_stay_within_their_bounds() {
        let mut dice = Dice(1);
        let rolls: Vec<u64> = (0..1000).map(|_| dice.between(3, 5)).collect();
        assert!(rolls.iter().all(|roll| (3..=5).contains(roll)));
        assert!((3..=5).all(|wanted| rolls.contains(&wanted)));
    }
}
