//! The packet numbers next to the lines of a ladder.

use super::super::FigureError;
use super::super::canvas::{Canvas, Lettering};
use super::super::style::{SOFT_INK, VERMILLION};
use super::{Hosts, LadderColumn, Layout, NUMBER, Rung, RungEnd, RungKind};

/// Draws as many packet numbers as fit next to the lines. The numbers of rare rungs take precedence.
pub(super) fn draw_numbers(
    canvas: &Canvas<'_>,
    layout: &Layout,
    hosts: Hosts,
    column: &LadderColumn,
) -> Result<(), FigureError> {
    let mut groups = Group::of_all(column, |time| layout.shows(time), |time| layout.down(time));
    groups.sort_by_key(|group| group.class);
    let mut taken: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for group in groups {
        let is_ack = group.first.kind.is_ack();
        let side = &mut taken[usize::from(is_ack)];
        let y = group.y;
        if side.iter().any(|other| (other - y).abs() < TOGETHER) {
            continue;
        }
        side.push(y);
        let color = match (group.class, group.first.kind) {
            (Class::Lost, _) => VERMILLION,
            (_, RungKind::Ack) => SOFT_INK,
            (_, kind) => kind.color(),
        };
        let (place, lettering) = match is_ack {
            true => ((hosts.receiver + 6.0, y), Lettering::left(NUMBER, color)),
            false => ((hosts.sender - 6.0, y), Lettering::right(NUMBER, color)),
        };
        canvas.text(&group.numbers(), place, &lettering)?;
    }
    Ok(())
}

/// Rungs whose distance is below this many px share a label.
const TOGETHER: f64 = NUMBER * 0.95;

/// Class of a rung's label. Rare classes come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Lost,
    Again,
    Duplicate,
    Common,
}

/// Similar rungs that start so close to each other that they share a label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<'r> {
    class: Class,
    pub(super) first: &'r Rung,
    last: &'r Rung,
    /// Vertical position of the first rung, in px.
    y: f64,
}

impl<'r> Group<'r> {
    pub(super) fn of_all(
        column: &'r LadderColumn,
        shows: impl Fn(f64) -> bool,
        down: impl Fn(f64) -> f64,
    ) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for is_ack in [false, true] {
            // A group contains either segments or ACKs, because their labels are on different sides.
            let begin = groups.len();
            let own = column.rungs.iter().filter(|r| r.kind.is_ack() == is_ack);
            for rung in own.filter(|rung| shows(rung.sent)) {
                let (class, y) = (rung.class(), down(rung.sent));
                let open = groups.get_mut(begin..).and_then(|own| own.last_mut());
                match open {
                    Some(group) if group.takes(rung, class, y) => group.last = rung,
                    _ => groups.push(Group {
                        class,
                        first: rung,
                        last: rung,
                        y,
                    }),
                }
            }
        }
        groups
    }

    fn takes(&self, rung: &Rung, class: Class, y: f64) -> bool {
        let goes_on = match class {
            Class::Duplicate => rung.packet == self.first.packet,
            _ => rung.packet >= self.last.packet,
        };
        class == self.class && y - self.y < TOGETHER && goes_on
    }

    /// Returns the label of the group: `24`, `24–27`, or for duplicate ACKs `24 ×1–3`.
    pub(super) fn numbers(&self) -> String {
        let range = |first: f64, last: f64| match first == last {
            true => format!("{first:.0}"),
            false => format!("{first:.0}–{last:.0}"),
        };
        let whole = |rung: &Rung| rung.packet.floor();
        let packets = range(whole(self.first), whole(self.last));
        match (self.first.kind, self.last.kind) {
            (RungKind::Duplicate(first), RungKind::Duplicate(last)) => {
                format!("{packets} ×{}", range(first.into(), last.into()))
            }
            _ => packets,
        }
    }
}

impl Rung {
    const fn class(&self) -> Class {
        match (self.end, self.kind) {
            (RungEnd::Lost(_), _) => Class::Lost,
            (_, RungKind::Again) => Class::Again,
            (_, RungKind::Duplicate(_)) => Class::Duplicate,
            (_, RungKind::Segment | RungKind::Ack) => Class::Common,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(kind: RungKind, packet: f64, sent: f64) -> Rung {
        let end = RungEnd::Arrived(sent + 0.1);
        Rung {
            kind,
            packet,
            sent,
            end,
        }
    }

    #[test]
    fn similar_rungs_close_together_share_a_label() {
        let mut lost = rung(RungKind::Segment, 4.0, 0.003);
        lost.end = RungEnd::Lost(0.004);
        let rungs = vec![
            rung(RungKind::Segment, 1.0, 0.000),
            rung(RungKind::Segment, 2.0, 0.001),
            rung(RungKind::Segment, 3.0, 0.002),
            lost,
            rung(RungKind::Segment, 5.0, 0.050),
            rung(RungKind::Duplicate(1), 4.0, 0.100),
            rung(RungKind::Duplicate(2), 4.0, 0.101),
        ];
        let column = LadderColumn {
            rungs,
            ..LadderColumn::default()
        };
        // The scale is one px per millisecond.
        let groups = Group::of_all(&column, |_| true, |time| time * 1e3);
        let labels: Vec<String> = groups.iter().map(Group::numbers).collect();
        assert_eq!(labels, ["1–3", "4", "5", "4 ×1–2"]);
    }
}
