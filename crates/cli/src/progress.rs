//! Progress bars and Ctrl-C.

mod screen;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use dupack_engine::{Amount, Watch};
use dupack_lab::run::Interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use screen::{Room, cut};

static INTERRUPT: Interrupt = Interrupt::new();

/// Returns the interrupt that the first Ctrl-C requests. A second Ctrl-C ends the program at once.
pub fn interrupt() -> &'static Interrupt {
    interrupt_saying("completed runs are kept")
}

/// Returns the interrupt of [`interrupt`]. After Ctrl-C, the message contains `kept`, which says what is kept.
pub fn interrupt_saying(kept: &'static str) -> &'static Interrupt {
    static HANDLER: OnceLock<()> = OnceLock::new();
    HANDLER.get_or_init(|| {
        let handler = move || {
            if INTERRUPT.is_asked() {
                std::process::exit(130);
            }
            if READS_INPUT.load(Ordering::Relaxed) && !INPUT_ENDS.swap(true, Ordering::Relaxed) {
                say!("\nreading the rest of standard input (Ctrl-C again to stop)");
                return;
            }
            say!("\nstopping: {kept} (Ctrl-C again to exit at once)");
            INTERRUPT.ask();
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            say!("warning: Ctrl-C exits at once: {error}");
        }
    });
    &INTERRUPT
}

/// `true` while standard input is read, and after Ctrl-C has requested the end of the input.
static READS_INPUT: AtomicBool = AtomicBool::new(false);
static INPUT_ENDS: AtomicBool = AtomicBool::new(false);

/// Returns the request to end standard input. The writer of the input also receives the first Ctrl-C and ends the
/// input, so all of the input is read. The second Ctrl-C requests [`interrupt`].
pub fn interrupt_of_input(kept: &'static str) -> &'static AtomicBool {
    READS_INPUT.store(true, Ordering::Relaxed);
    interrupt_saying(kept);
    &INPUT_ENDS
}

/// Returns a bar on `target` with `style`.
fn bar(target: ProgressDrawTarget, length: u64, style: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let style = ProgressStyle::with_template(style).expect("the template is valid");
    bar.set_style(style.progress_chars("━╸─"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Progress bar for a known number of runs. The bar is hidden without a terminal.
pub struct Bar {
    bar: ProgressBar,
    room: Room,
    has_begun: AtomicBool,
}

impl Bar {
    /// Returns a bar for `runs` runs of `what`.
    pub fn new(runs: usize, what: &str) -> Self {
        Self::on(screen::target(), Room::of_the_terminal(), runs, what)
    }

    /// Returns such a bar on `target`, with this space for its text.
    fn on(target: ProgressDrawTarget, room: Room, runs: usize, what: &str) -> Self {
        let style = match room {
            Room::Wide { .. } => "{msg} {wide_bar} {pos}/{len} runs, {eta} left",
            Room::Narrow => "{wide_bar} {pos}/{len} runs",
            Room::Least => "{wide_bar} {pos}/{len}",
        };
        let this = Self {
            bar: bar(target, runs as u64, style),
            room,
            has_begun: AtomicBool::new(false),
        };
        this.tell(what);
        this
    }

    /// Shows the name of the current work.
    fn tell(&self, what: &str) {
        self.bar.set_message(cut(what, self.room.message()));
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Progress bar for reading a file. If the size is unknown, the bar is a count of bytes.
pub struct Reading(ProgressBar);

impl Reading {
    /// Returns a bar for reading `what`, which has `bytes` bytes.
    pub fn new(bytes: Option<u64>, what: &str) -> Self {
        let room = Room::of_the_terminal();
        let style = match (bytes, room) {
            (Some(_), Room::Wide { .. }) => "{msg} {wide_bar} {bytes}/{total_bytes}, {eta} left",
            (Some(_), _) => "{wide_bar} {bytes}",
            (None, Room::Wide { .. }) => "{spinner} {msg}: {bytes} read",
            (None, _) => "{spinner} {bytes}",
        };
        let bar = bar(screen::target(), bytes.unwrap_or(0), style);
        bar.set_message(cut(what, room.message()));
        Self(bar)
    }

    /// Updates the number of bytes read.
    pub fn taken(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

#[cfg(target_os = "linux")]
impl dupack_testbed::Watch for Bar {
    fn run_begins(&self, what: &str) {
        if self.bar.is_hidden() {
            say!("{what}");
        } else {
            self.tell(what);
        }
    }

    fn run_done(&self) {
        self.bar.inc(1);
    }
}

impl Watch for Bar {
    /// When the bar is created, only the first round of runs is known. The option `--precision` may add further rounds.
    fn begins(&self, total: Amount, done: Amount) {
        match self.has_begun.swap(true, Ordering::Relaxed) {
            false => self.bar.set_length(total.runs as u64),
            true => self.bar.inc_length(total.runs as u64),
        }
        self.bar.inc(done.runs as u64);
        if done.runs > 0 {
            let taken = format!("{} of {} runs were completed before", done.runs, total.runs);
            self.note(&taken);
        }
    }

    fn run_done(&self, _: u64) {
        self.bar.inc(1);
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| say!("note: {text}"));
    }
}

/// Interval of the lines that replace a bar without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// Progress bar for all runs of several experiments. Without a terminal, a line is printed at intervals. The length of
/// the bar is in packets, so that the remaining time is known although the runs differ in length.
pub struct Board {
    bar: ProgressBar,
    room: Room,
    state: Mutex<State>,
    last_line_ms: AtomicU64,
    /// Clock of the current part of the work: a bar that is never shown.
    part: ProgressBar,
}

#[derive(Default)]
struct State {
    total: Amount,
    /// Work that an earlier process completed. Its duration is unknown.
    before: Amount,
    done: Amount,
}

impl Board {
    /// Returns a board without any work.
    pub fn new() -> Self {
        let room = Room::of_the_terminal();
        let style = match room {
            Room::Wide { .. } => "{msg} {wide_bar} {prefix}",
            Room::Narrow | Room::Least => "{wide_bar} {prefix}",
        };
        Self {
            bar: bar(screen::target(), 0, style),
            room,
            state: Mutex::default(),
            last_line_ms: AtomicU64::new(0),
            part: ProgressBar::hidden(),
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    /// Prints the duration of a part of the work, unless the duration was short.
    pub fn says_how_long(&self, what: &str) {
        let took = self.part.elapsed();
        self.part.reset_elapsed();
        if took >= LINE_EVERY {
            let took = in_words(took.as_secs_f64());
            self.bar.suspend(|| say!("{what}: {took}"));
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line if enough time has passed since the previous line.
    fn line(&self, text: &str) {
        let now = self.bar.elapsed().as_millis() as u64;
        let last = self.last_line_ms.load(Ordering::Relaxed);
        let due = now >= last + LINE_EVERY.as_millis() as u64;
        let mine = || {
            let swap = (Ordering::Relaxed, Ordering::Relaxed);
            self.last_line_ms
                .compare_exchange(last, now, swap.0, swap.1)
                .is_ok()
        };
        if due && mine() {
            say!("{text}");
        }
    }
}

impl State {
    /// Returns a count like `12/960`.
    fn count(&self) -> String {
        format!("{}/{}", self.done.runs, self.total.runs)
    }

    /// Returns words like `12/960 runs, about 3 min left`.
    fn words(&self, elapsed: Duration) -> String {
        let mut words = format!("{} runs", self.count());
        let new = self.done.packets.saturating_sub(self.before.packets);
        if new > 0 {
            let left = self.total.packets.saturating_sub(self.done.packets);
            let seconds = elapsed.as_secs_f64() * left as f64 / new as f64;
            words += &format!(", about {} left", in_words(seconds));
        }
        words
    }
}

fn in_words(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min", seconds / 60.0)
    }
}

impl Watch for Board {
    fn begins(&self, total: Amount, done: Amount) {
        *self.state() = State {
            total,
            before: done,
            done,
        };
        // The clock and the interval of the lines restart.
        self.bar.reset();
        self.last_line_ms.store(0, Ordering::Relaxed);
        self.bar.set_length(total.packets);
        self.bar.set_position(done.packets);
        if done.runs > 0 {
            let taken = format!("{} of {} runs were completed before", done.runs, total.runs);
            self.bar.suspend(|| say!("{taken}"));
        }
    }

    fn run_begins(&self, whole: &str, experiment: &str) {
        let what = format!("{whole}: {experiment}");
        self.bar.set_message(cut(&what, self.room.message()));
    }

    fn run_done(&self, packets: u64) {
        let words = {
            let mut state = self.state();
            state.done = state.done.and(packets);
            match self.room {
                Room::Least => state.count(),
                Room::Narrow => format!("{} runs", state.count()),
                Room::Wide { .. } => state.words(self.bar.elapsed()),
            }
        };
        self.bar.inc(packets);
        if self.bar.is_hidden() {
            self.line(&format!("{}: {words}", self.bar.message()));
        } else {
            self.bar.set_prefix(words);
        }
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| say!("note: {text}"));
    }

    fn cpu_time(&self) -> Option<Duration> {
        Some(on_this_thread().unwrap_or_else(|| self.bar.elapsed()))
    }
}

/// Returns the processor time of the calling thread, if the system provides it, as Linux does.
fn on_this_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_depends_on_packets_instead_of_runs() {
        let amount = |runs, packets| Amount { runs, packets };
        let state = State {
            total: amount(100, 1000),
            before: amount(50, 200),
            done: amount(51, 400),
        };
        // 200 packets took 10 s, and 600 remain.
        let words = state.words(Duration::from_secs(10));
        assert_eq!(words, "51/100 runs, about 30 s left");
        assert_eq!(in_words(300.0), "5 min");
    }
}
