//! Progress bars, and Ctrl-C.

use std::sync::OnceLock;
use std::time::Duration;

use dupack_lab::run::{Interrupt, Progress};
use indicatif::{ProgressBar, ProgressStyle};

static INTERRUPT: Interrupt = Interrupt::new();

/// The interrupt that Ctrl-C asks. A second Ctrl-C ends the program at once.
pub fn interrupt() -> &'static Interrupt {
    static HANDLER: OnceLock<()> = OnceLock::new();
    HANDLER.get_or_init(|| {
        let handler = || {
            if INTERRUPT.is_asked() {
                std::process::exit(130);
            }
            eprintln!("\nstopping: the finished runs are kept (again to end at once)");
            INTERRUPT.ask();
        };
        if let Err(error) = ctrlc::set_handler(handler) {
            eprintln!("warning: Ctrl-C will not keep the finished runs: {error}");
        }
    });
    &INTERRUPT
}

/// A bar over a known number of runs; nothing where no one is looking.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar for `runs` runs of `what`.
    pub fn new(runs: usize, what: &str) -> Self {
        let bar = ProgressBar::new(runs as u64);
        let style = "{msg} {wide_bar} {pos}/{len} runs, {eta} left";
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Bar {
    fn run_done(&self) {
        self.0.inc(1);
    }
}
