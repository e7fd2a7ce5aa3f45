//! Queue disciplines that are compared with those of ns-3, and their loads.

use std::fmt::Write;

use super::loads;

/// A discipline that ns-3 also has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    CoDel,
    FqCoDel,
    Pie,
    Red,
}

impl Discipline {
    pub const ALL: [Self; 4] = [Self::CoDel, Self::FqCoDel, Self::Pie, Self::Red];

    /// Returns the name that both programs use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoDel => "codel",
            Self::FqCoDel => "fq_codel",
            Self::Pie => "pie",
            Self::Red => "red",
        }
    }

    /// Returns `true` if the discipline of ns-3 deviates from ours in a way that ours can imitate.
    pub const fn differs(self) -> bool {
        !matches!(self, Self::Pie)
    }
}

/// Load of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Number of windows that grow and halve like Reno's, and their approximate round-trip time in milliseconds.
    Windows(u32, f64),
    /// Poisson process: number of flows, and offered load as a multiple of the rate.
    Poisson(u32, f64),
    /// On/off sources that are on for 0.2 s and off for 0.4 s on average: number of flows, and offered load as a
    /// multiple of the rate.
    OnOff(u32, f64),
}

/// One comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    pub discipline: Discipline,
    pub rate_mbps: u32,
    /// Factor by which CoDel's target and interval, or PIE's target, are multiplied.
    pub patience: u32,
    /// RED's thresholds in packets.
    pub thresholds: (u32, u32),
    pub ecn: bool,
    pub load: Load,
}

/// Duration of a run, in seconds. `FROM` is the time from which packets count.
const SECONDS: u32 = 60;
const FROM: u32 = 10;

/// Returns the settings of a discipline. All disciplines have the same ten settings.
pub fn of(discipline: Discipline) -> Vec<Setting> {
    let base = Setting {
        discipline,
        rate_mbps: 10,
        patience: 1,
        thresholds: (5, 15),
        ecn: false,
        load: Load::Windows(4, 50.0),
    };
    vec![
        Setting {
            rate_mbps: 2,
            load: Load::Windows(2, 100.0),
            ..base
        },
        base,
        Setting {
            rate_mbps: 50,
            thresholds: (20, 60),
            load: Load::Windows(10, 20.0),
            ..base
        },
        Setting { ecn: true, ..base },
        Setting {
            thresholds: (10, 30),
            ecn: true,
            load: Load::Windows(16, 50.0),
            ..base
        },
        Setting {
            patience: 3,
            thresholds: (20, 60),
            load: Load::Windows(8, 50.0),
            ..base
        },
        Setting {
            load: Load::Poisson(8, 0.95),
            ..base
        },
        Setting {
            load: Load::Poisson(8, 1.1),
            ..base
        },
        Setting {
            load: Load::OnOff(10, 0.8),
            ..base
        },
        Setting {
            ecn: true,
            load: Load::OnOff(10, 0.8),
            ..base
        },
    ]
}

impl Setting {
    /// Returns the text of the first column of the table.
    pub fn words(&self) -> String {
        let load = match self.load {
            Load::Windows(flows, rtt) => format!("{flows} windows, {rtt:.0} ms"),
            Load::Poisson(_, load) => format!("Poisson, load {load}"),
            Load::OnOff(flows, load) => format!("{flows} on/off, load {load}"),
        };
        let ecn = if self.ecn { ", ECN" } else { "" };
        format!("{} Mbit/s, {load}{ecn}", self.rate_mbps)
    }

    /// Returns the discipline's parameters.
    pub fn parameters(&self) -> String {
        let (target, interval) = self.times_ms();
        match self.discipline {
            Discipline::Red => format!("{} and {} packets", self.thresholds.0, self.thresholds.1),
            Discipline::Pie => format!("{target} ms"),
            Discipline::CoDel | Discipline::FqCoDel => format!("{target} and {interval} ms"),
        }
    }

    /// Returns the target and the interval, in milliseconds. For PIE, the interval is the update interval.
    fn times_ms(&self) -> (u32, u32) {
        match self.discipline {
            // PIE's update interval is not multiplied.
            Discipline::Pie => (15 * self.patience, 15),
            _ => (5 * self.patience, 100 * self.patience),
        }
    }

    /// Returns the description that both programs read.
    pub fn description(&self, seed: u32) -> String {
        let rate = f64::from(self.rate_mbps) * 1e6;
        let (target, interval) = self.times_ms();
        let mut text = format!(
            "discipline {} rate {rate} limit 1000 seed {seed} from {FROM} until {SECONDS} \
             target {target} interval {interval} ecn {} min {} max {}\n",
            self.discipline.name(),
            u8::from(self.ecn),
            self.thresholds.0,
            self.thresholds.1
        );
        let mut draws = loads::Draws::new(seed);
        match self.load {
            Load::Windows(flows, rtt_ms) => {
                for (start, rtt) in loads::windows(&mut draws, flows, rtt_ms) {
                    let _ = writeln!(text, "window {start} {rtt} {}", loads::BYTES);
                }
            }
            Load::Poisson(flows, load) => {
                let all = loads::poisson(&mut draws, flows, rate * load, f64::from(SECONDS));
                loads::write(&mut text, &all);
            }
            Load::OnOff(flows, load) => {
                let all = loads::on_off(&mut draws, flows, rate * load, f64::from(SECONDS));
                loads::write(&mut text, &all);
            }
        }
        text
    }
}
