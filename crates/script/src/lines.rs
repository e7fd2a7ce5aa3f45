//! The connections of a stage, and which of them does something by itself next.
//!
//! A script may open very many, one after the other. So their timers stand in order, and only those
//! of connections that were touched are asked anew.

use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

use dupack_tcp::time::Instant;

use crate::line::Line;

/// Connections, named by their places.
#[derive(Default)]
pub(crate) struct Lines {
    all: Vec<Line>,
    /// Those that may have other timers than `due` has.
    touched: Vec<usize>,
    /// When something happens, and to which.
    due: BTreeSet<(Instant, usize)>,
    /// What `due` has of each.
    known: Vec<Option<Instant>>,
}

impl Lines {
    /// Adds a connection; its place.
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

    /// All of them, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.touched.clear();
        self.touched.extend(0..self.all.len());
        self.all.iter_mut()
    }

    /// When the next timer expires.
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

    /// Lets the timers expire that are due at `now`.
    pub(crate) fn lapse(&mut self, now: Instant) {
        // Asked anew afterwards: some may be due again at once.
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
