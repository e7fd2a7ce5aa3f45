//! The connections of a stage, with their timers.
//!
//! A script may open a large number of connections one after another. Therefore, the timers are sorted, and only the
//! timers of connections that were accessed are updated.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use dupack_tcp::time::Instant;

use crate::line::Line;

/// Connections, addressed by index.
#[derive(Default)]
pub(crate) struct Lines {
    all: Vec<Line>,
    /// Connections whose timers may differ from those in `due`.
    touched: Vec<usize>,
    /// Time of each connection's next timer, with the index of the connection.
    due: BTreeSet<(Instant, usize)>,
    /// The time in `due` of each connection, if it has one.
    known: Vec<Option<Instant>>,
}

impl Lines {
    /// Adds a connection and returns its index.
    pub(crate) fn push(&mut self, line: Line) -> usize {
        let index = self.all.len();
        self.all.push(line);
        self.known.push(None);
        self.touched.push(index);
        index
    }

    pub(crate) fn last(&self) -> Option<&Line> {
        self.all.last()
    }

    /// Returns all connections, mutably.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.touched.clear();
        self.touched.extend(0..self.all.len());
        self.all.iter_mut()
    }

    /// Returns the time of the next timer.
    pub(crate) fn next_timeout(&mut self) -> Option<Instant> {
        for index in self.touched.drain(..) {
            let (before, now) = (self.known[index], self.all[index].next_timeout());
            if before == now {
                continue;
            }
            if let Some(before) = before {
                self.due.remove(&(before, index));
            }
            self.due.extend(now.map(|at| (at, index)));
            self.known[index] = now;
        }
        self.due.first().map(|(at, _)| *at)
    }

    /// Handles all timers that are due at `now`.
    pub(crate) fn lapse(&mut self, now: Instant) {
        // The entries in `due` are updated later, because some timers may be due again at once.
        let _ = self.next_timeout();
        let expired: Vec<usize> = self
            .due
            .range(..=(now, usize::MAX))
            .map(|(_, index)| *index)
            .collect();
        for index in expired {
            self[index].lapse(now);
        }
    }
}

impl Index<usize> for Lines {
    type Output = Line;

    fn index(&self, index: usize) -> &Line {
        &self.all[index]
    }
}

impl IndexMut<usize> for Lines {
    fn index_mut(&mut self, index: usize) -> &mut Line {
        if self.touched.last() != Some(&index) {
            self.touched.push(index);
        }
        &mut self.all[index]
    }
}
