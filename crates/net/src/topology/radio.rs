//! Radio networks on the map: shared channels, their stations, and links between stations.
//!
//! A radio link is an edge like any other, so a route remains a list of links. All links of a medium share its channel,
//! and all links of a station share its queue.

use super::{Edge, LinkSetup, Topology, TopologyError};
use crate::ids::{LinkId, MediumId, NodeId, StationId};
use crate::wireless::config::MAX_STATIONS;
use crate::wireless::{Medium, Position, RadioConfig, RadioFault, RadioPort};

/// A shared channel before the run.
#[derive(Clone, Debug)]
pub(super) struct MediumPlan {
    name: String,
    config: RadioConfig,
    stations: Vec<(NodeId, Position)>,
}

impl Topology {
    /// Adds a shared radio channel without stations. Channels are named `medium 0`, `medium 1`, …. This name and the
    /// names of the nodes determine the random numbers of the channel.
    pub fn medium(&mut self, config: RadioConfig) -> MediumId {
        let id = MediumId(self.media.len() as u32);
        self.media.push(MediumPlan {
            name: format!("medium {}", id.0),
            config,
            stations: Vec::new(),
        });
        id
    }

    /// Adds a station of `medium` at `node`, with position `place`.
    pub fn station(&mut self, medium: MediumId, node: NodeId, place: Position) -> StationId {
        let stations = &mut self.media[medium.index()].stations;
        stations.push((node, place));
        StationId(stations.len() as u32 - 1)
    }

    /// Adds a link in one direction between two stations of `medium`. The network cannot be built if the stations are
    /// out of each other's reception range.
    pub fn radio(&mut self, medium: MediumId, from: StationId, to: StationId) -> LinkId {
        let setup = LinkSetup::Radio {
            medium,
            port: RadioPort { from, to },
        };
        let (from, to) = (
            self.station_node(medium, from),
            self.station_node(medium, to),
        );
        self.edge(from, to, setup)
    }

    /// Adds a radio link in each direction; the first of the pair leads from `a` to `b`.
    pub fn radio_duplex(
        &mut self,
        medium: MediumId,
        a: StationId,
        b: StationId,
    ) -> (LinkId, LinkId) {
        (self.radio(medium, a, b), self.radio(medium, b, a))
    }

    /// Returns the number of shared channels.
    #[must_use]
    pub fn medium_count(&self) -> usize {
        self.media.len()
    }

    /// Returns the number of stations of a channel.
    #[must_use]
    pub fn station_count(&self, medium: MediumId) -> usize {
        self.media[medium.index()].stations.len()
    }

    /// Returns the node of a station.
    #[must_use]
    pub fn station_node(&self, medium: MediumId, station: StationId) -> NodeId {
        self.media[medium.index()].stations[station.index()].0
    }

    /// Creates the media for the run with `seed`.
    pub(super) fn build_media(&self, seed: u64) -> Result<Vec<Medium>, TopologyError> {
        let media = self.media.iter();
        media
            .map(|plan| {
                if let Some(fault) = plan.fault() {
                    return Err(TopologyError::Medium {
                        medium: plan.name.clone(),
                        fault,
                    });
                }
                let stations: Vec<_> = plan
                    .stations
                    .iter()
                    .map(|&(node, place)| {
                        let name = format!("{} {}", plan.name, self.node_name(node));
                        (name, place)
                    })
                    .collect();
                Ok(Medium::new(&plan.config, &stations, seed))
            })
            .collect()
    }

    /// Returns the fault of a link between two stations, if there is one.
    pub(super) fn radio_fault(&self, edge: &Edge) -> Option<TopologyError> {
        let LinkSetup::Radio { medium, port } = edge.setup else {
            return None;
        };
        let plan = &self.media[medium.index()];
        let place = |station: StationId| plan.stations[station.index()].1;
        let apart = place(port.from).distance_m(place(port.to));
        let reachable = port.from != port.to && apart <= plan.config.reception_range_m;
        (!reachable).then(|| TopologyError::Medium {
            medium: edge.name.clone(),
            fault: RadioFault::OutOfRange,
        })
    }
}

impl MediumPlan {
    fn fault(&self) -> Option<RadioFault> {
        if self.stations.len() > MAX_STATIONS {
            return Some(RadioFault::TooManyStations);
        }
        let mut places = self.stations.iter().map(|(_, place)| place);
        if !places.all(|place| place.x_m.is_finite() && place.y_m.is_finite()) {
            return Some(RadioFault::Nowhere);
        }
        self.config.fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates two stations at a distance of `apart_m`.
    fn pair(config: RadioConfig, apart_m: f64) -> Topology {
        let mut map = Topology::new();
        let nodes = ["a", "b"].map(|name| map.node(name));
        let medium = map.medium(config);
        let a = map.station(medium, nodes[0], Position::on_line(0.0));
        let b = map.station(medium, nodes[1], Position::on_line(apart_m));
        map.radio_duplex(medium, a, b);
        map
    }

    fn complaint(map: &Topology) -> String {
        map.fabric(1, 0).unwrap_err().to_string()
    }

    #[test]
    fn radio_links_are_named_and_routed_like_wires() {
        let mut map = pair(RadioConfig::default(), 250.0);
        let route = map.route(NodeId(1), NodeId(0)).unwrap();
        assert_eq!(map.route_links(route), [LinkId(1)]);
        assert_eq!(map.link_name(LinkId(1)), "b->a");
        assert!(map.fabric(1, 0).is_ok());
    }

    #[test]
    fn invalid_media_are_named_in_the_error() {
        let far = complaint(&pair(RadioConfig::default(), 251.0));
        assert!(
            far.contains("a->b") && far.contains("reception range"),
            "{far}"
        );
        let unordered = RadioConfig {
            cw_min: 63,
            cw_max: 31,
            ..RadioConfig::default()
        };
        let windows = complaint(&pair(unordered, 1.0));
        assert!(
            windows.contains("medium 0") && windows.contains("cw_min"),
            "{windows}"
        );
        let mut crowd = pair(RadioConfig::default(), 1.0);
        for n in 2..=MAX_STATIONS {
            let node = crowd.node(format!("{n}"));
            crowd.station(MediumId(0), node, Position::default());
        }
        assert!(complaint(&crowd).contains("64"));
        let nowhere = complaint(&pair(RadioConfig::default(), f64::NAN));
        assert!(nowhere.contains("position"), "{nowhere}");
    }
}
