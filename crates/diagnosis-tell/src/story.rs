//! Limit of a stream in one plain sentence.
//!
//! The sentences are defined by [`TEMPLATES`]: the first template whose condition holds is used. The order of the
//! conditions is:
//!
//! 1. The limit is unknown: the capture has no data, no ACKs, or too little of the data.
//! 2. There are signs of a property of the path, such as a black hole or a policer, that explains the other
//!    observations.
//! 3. One group of limits took more time than the other groups, and at least a third of the time. If this group is a
//!    changing window, the stream must last for several round trips; a shorter transfer does not show its limit.
//! 4. If no other condition holds, the sentence names the two largest groups.

mod case;
mod headline;
mod sentences;
#[cfg(test)]
mod tests;
pub mod words;

use dupack_diagnosis::StreamFindings;
use dupack_diagnosis::analyse::budget::Group;
use dupack_diagnosis::untold::Untold;

pub use case::Case;
use case::{NAGLE_MIN, REST_SHARE, is_a_window};
pub use headline::{has_acks_alone, headline, silent_later};
use sentences::{
    application, black_hole, constant_rate, contradictory, handshake, in_doubt, losses,
    missing_packets, mixed, nagle, nothing, one_direction, options_cut, path, policer,
    receive_window, sender, shut_window, slow_start, small, timers, too_short, turns, unscaled,
    was_shut, went_to,
};

/// Minimum fraction of the time that losses and timers must take for a black hole to take precedence over all other
/// limits (our choice).
const WASTE_SHARE: f64 = 0.25;

/// A sentence with its condition.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Name of the template, for files and tests.
    pub name: &'static str,
    holds: fn(&Case<'_>) -> bool,
    say: fn(&Case<'_>) -> String,
}

/// All templates, in the order in which their conditions are evaluated.
pub const TEMPLATES: [Template; 24] = [
    Template {
        name: "nothing",
        holds: |case| case.shares.segments == 0,
        say: nothing,
    },
    Template {
        name: "one direction",
        holds: |case| case.untold == Some(Untold::WithoutAcks),
        say: one_direction,
    },
    Template {
        name: "missing packets",
        holds: |case| case.untold == Some(Untold::PacketsMissing),
        say: missing_packets,
    },
    Template {
        name: "contradictory",
        holds: |case| case.untold == Some(Untold::Contradictory),
        say: contradictory,
    },
    Template {
        name: "options cut",
        holds: |case| case.untold == Some(Untold::OptionsCut),
        say: options_cut,
    },
    Template {
        name: "black hole",
        holds: |case| case.signs.black_hole.is_some() && case.wasted() >= WASTE_SHARE,
        say: black_hole,
    },
    Template {
        name: "unscaled window",
        holds: |case| case.signs.unscaled.is_some(),
        say: unscaled,
    },
    Template {
        name: "nagle",
        holds: |case| case.main() == Some(Group::Nagle) && case.shares.nagle_waits >= NAGLE_MIN,
        say: nagle,
    },
    Template {
        name: "constant rate",
        holds: |case| case.leaves_at_a_constant_rate(),
        say: constant_rate,
    },
    Template {
        name: "in doubt",
        holds: |case| case.doubt().is_some(),
        say: in_doubt,
    },
    Template {
        name: "turns",
        holds: |case| case.main() == Some(Group::Application) && case.turning().is_some(),
        say: turns,
    },
    Template {
        name: "application",
        holds: |case| case.main() == Some(Group::Application),
        say: application,
    },
    Template {
        name: "policer",
        holds: |case| case.policer.is_some() && case.is_wasted_most(),
        say: policer,
    },
    Template {
        name: "timers",
        holds: |case| case.main() == Some(Group::Timers),
        say: timers,
    },
    Template {
        name: "shut window",
        holds: |case| case.main() == Some(Group::Receiver) && case.is_shut_most(),
        say: shut_window,
    },
    Template {
        name: "handshake",
        holds: |case| case.main() == Some(Group::Handshake) && case.waited_to_open(),
        say: handshake,
    },
    Template {
        name: "small",
        holds: |case| case.is_small() && case.main().is_none_or(is_a_window),
        say: small,
    },
    Template {
        name: "too short",
        holds: |case| {
            let moves = |group| is_a_window(group) || group == Group::Nagle;
            case.is_short() && case.main().is_none_or(moves)
        },
        say: too_short,
    },
    Template {
        name: "receive window",
        holds: |case| case.main() == Some(Group::Receiver),
        say: receive_window,
    },
    Template {
        name: "path",
        holds: |case| case.main() == Some(Group::Path),
        say: path,
    },
    Template {
        name: "losses",
        holds: |case| case.main() == Some(Group::Losses),
        say: losses,
    },
    Template {
        name: "slow start",
        holds: |case| case.main() == Some(Group::SlowStart) && !case.loses_much(),
        say: slow_start,
    },
    Template {
        name: "sender",
        holds: |case| case.main() == Some(Group::Sender),
        say: sender,
    },
    Template {
        name: "mixed",
        holds: |_| true,
        say: mixed,
    },
];

/// Returns a sentence about the limit of a stream.
#[must_use]
pub fn story(stream: &StreamFindings) -> String {
    let (_, said) = tell(&Case::of(stream));
    if said.is_empty() {
        return said;
    }
    format!("{}.", crate::words::capital(&said))
}

/// Returns the name of the template that applies to a stream, and its sentence without a full stop.
#[must_use]
pub fn tell(case: &Case<'_>) -> (&'static str, String) {
    let template = TEMPLATES.iter().find(|template| (template.holds)(case));
    template.map_or(("nothing", String::new()), |template| {
        let mut said = (template.say)(case);
        let timers = case.shares.of_group(Group::Timers);
        let of_others = case.untold.is_none()
            && !["application", "turns", "timers", "mixed"].contains(&template.name);
        if of_others && case.part(Group::Timers) >= REST_SHARE {
            let long = crate::words::time(timers);
            said.push_str(&format!("; {long} {}", went_to(Group::Timers)));
        }
        if template.name != "shut window" && case.shut_matters() {
            said.push_str("; ");
            said.push_str(&was_shut(case));
        }
        (template.name, said)
    })
}
