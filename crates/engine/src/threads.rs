//! Driver that performs a session with the threads of this process.

use std::sync::{Mutex, PoisonError};

use crate::session::{Due, Session};
use crate::set::{Conduct, Evidence, Outcome, Set, Worker};

/// Performs all runs of `session` with `worker` on several threads, round by round. Interrupted runs are not entered.
/// The order in which runs end does not affect the evidence.
///
/// # Panics
/// If the threads cannot be started.
pub fn carry_out<S: Set, E: Evidence<S::Outcome>>(
    session: &mut Session<S, E>,
    worker: &dyn Worker<S::Outcome>,
    conduct: &Conduct<'_>,
) {
    while !conduct.interrupt.is_asked() && session.next_round(worker, conduct) {
        let Session { set, books } = &mut *session;
        let due: Vec<Due> = books.take_due();
        let books = Mutex::new(books);
        let lock = || books.lock().unwrap_or_else(PoisonError::into_inner);
        let set = &*set;
        conduct.execution.each(&due, |due| {
            if conduct.interrupt.is_asked() || lock().has_failed() {
                return None;
            }
            let (whole, experiment) = set.names(due.task);
            conduct.watch.run_begins(&whole, &experiment);
            let before = conduct.watch.cpu_time();
            let outcome = worker.perform(due.task, conduct.interrupt)?;
            let cpu = conduct.watch.cpu_time();
            let cpu = cpu
                .zip(before)
                .map(|(now, before)| now.saturating_sub(before));
            lock().done(set, due.clone(), outcome.took(cpu), conduct.watch);
            Some(())
        });
        if lock().has_failed() {
            break;
        }
    }
}
