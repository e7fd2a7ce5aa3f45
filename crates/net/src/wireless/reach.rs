//! Reception, carrier sense and interference between stations, computed once and stored as bit sets.

use super::config::{Interference, Position, RadioConfig};

/// A set of stations.
pub(super) type Stations = u64;

/// Returns the set of one station.
pub(super) const fn only(station: usize) -> Stations {
    1 << station
}

/// Returns the members of a set, in ascending order.
pub(super) fn members(mut set: Stations) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let first = set.trailing_zeros() as usize;
        set &= set - 1;
        Some(first)
    })
}

/// Reception, carrier sense and interference between stations.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    stations: usize,
    /// Stations that a station senses. `receives` contains those whose frames it can receive. Both relations are
    /// symmetric.
    senses: Vec<Stations>,
    receives: Vec<Stations>,
    /// Stations that a station's transmission affects in any way.
    affects: Vec<Stations>,
    /// `disturbers[r * stations + s]`: stations whose transmission destroys a frame from `s` at `r`.
    disturbers: Vec<Stations>,
    /// `nearer[r * stations + s]`: stations whose frames are stronger at `r` than those of `s`.
    nearer: Vec<Stations>,
}

impl Reach {
    pub(super) fn new(config: &RadioConfig, places: &[Position]) -> Self {
        let stations = places.len();
        let distance = |a: usize, b: usize| places[a].distance_m(places[b]);
        // Returns the set of those stations x ≠ a for which `holds(x)` returns `true`.
        let set = |a: usize, holds: &dyn Fn(usize) -> bool| -> Stations {
            let others = (0..stations).filter(|&x| x != a && holds(x));
            others.fold(0, |set, x| set | only(x))
        };
        let within = |range: f64| -> Vec<Stations> {
            (0..stations)
                .map(|a| set(a, &|x| distance(a, x) <= range))
                .collect()
        };
        let senses = within(config.carrier_sense_range_m);
        let receives = within(config.reception_range_m);
        let pairs = || (0..stations).flat_map(|r| (0..stations).map(move |s| (r, s)));
        let disturbers: Vec<_> = pairs()
            .map(|(r, s)| {
                let others = set(r, &|x| disturbs(config, distance(r, s), distance(r, x)));
                others & !only(s)
            })
            .collect();
        let nearer = pairs()
            .map(|(r, s)| set(r, &|x| distance(r, x) < distance(r, s)))
            .collect();
        let affects = (0..stations)
            .map(|x| {
                let disturbed = set(x, &|r| {
                    members(receives[r]).any(|s| disturbers[r * stations + s] & only(x) != 0)
                });
                senses[x] | disturbed
            })
            .collect();
        Self {
            stations,
            senses,
            receives,
            affects,
            disturbers,
            nearer,
        }
    }

    /// Returns the stations that `station` senses.
    pub(super) fn senses(&self, station: usize) -> Stations {
        self.senses[station]
    }

    /// Returns the stations whose frames `station` can receive.
    pub(super) fn receives(&self, station: usize) -> Stations {
        self.receives[station]
    }

    /// Returns the stations that a transmission of `station` affects.
    pub(super) fn affects(&self, station: usize) -> Stations {
        self.affects[station]
    }

    /// Returns the stations whose transmission destroys a frame from `sender` at `receiver`.
    pub(super) fn disturbers(&self, receiver: usize, sender: usize) -> Stations {
        self.disturbers[receiver * self.stations + sender]
    }

    /// Returns the stations whose frames are stronger at `receiver` than those of `sender`.
    pub(super) fn nearer(&self, receiver: usize, sender: usize) -> Stations {
        self.nearer[receiver * self.stations + sender]
    }
}

/// Returns `true` if a transmission from a distance of `other_m` destroys a frame from a distance of `sender_m`.
fn disturbs(config: &RadioConfig, sender_m: f64, other_m: f64) -> bool {
    match config.interference {
        Interference::AnyOverlap => other_m <= config.carrier_sense_range_m,
        Interference::Capture {
            path_loss_exponent,
            threshold_db,
        } => {
            // 10 · exponent · log₁₀(other / sender) < threshold, without a division by zero.
            let ratio = libm::pow(10.0, threshold_db / (10.0 * path_loss_exponent));
            other_m < sender_m * ratio
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(spacing_m: f64, config: &RadioConfig) -> Reach {
        let places: Vec<_> = (0..6_u32)
            .map(|n| Position::on_line(spacing_m * f64::from(n)))
            .collect();
        Reach::new(config, &places)
    }

    #[test]
    fn reach_in_a_chain_of_200_m_hops() {
        let reach = chain(200.0, &RadioConfig::DSSS_11_MBPS);
        assert_eq!(reach.receives(2), 0b00_1010);
        assert_eq!(reach.senses(2), 0b01_1011);
        // At station 1, a frame from station 0 at 200 m is destroyed by transmissions from less than 200·10^(1/4) =
        // 355.7 m: by station 2, but not by station 3 at 400 m.
        assert_eq!(reach.disturbers(1, 0), 0b00_0100);
        assert_eq!(reach.nearer(1, 3), 0b00_0101);
    }

    #[test]
    fn without_capture_any_sensed_frame_destroys() {
        let config = RadioConfig {
            interference: Interference::AnyOverlap,
            ..RadioConfig::DSSS_11_MBPS
        };
        assert_eq!(chain(200.0, &config).disturbers(1, 0), 0b00_1100);
    }

    #[test]
    fn interference_may_reach_further_than_carrier_sense() {
        let config = RadioConfig {
            carrier_sense_range_m: 250.0,
            ..RadioConfig::DSSS_11_MBPS
        };
        // 249 · 1.78 = 443 m: the station after the next one interferes, although it is not sensed.
        let reach = chain(220.0, &config);
        assert_eq!(reach.senses(3), 0b01_0100);
        assert_eq!(reach.affects(3), 0b01_0100);
        let config = RadioConfig {
            interference: Interference::Capture {
                path_loss_exponent: 2.0,
                threshold_db: 10.0,
            },
            ..config
        };
        // The range of interference is 220 · √10 = 696 m.
        assert_eq!(chain(220.0, &config).affects(3), 0b11_0111);
    }
}
