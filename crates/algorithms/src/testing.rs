//! Timelines of the catalog's recoveries: [`dupack_tcp::testing`] with an entry of the catalog under test, its
//! parameters by name, and the options that it needs. Use it with the feature `testing` in the tests of your own
//! algorithm.
//!
//! A test passes events and their times to a timeline, and receives a line of text with the sender's reaction:
//!
//! ```ignore
//! let mut t = Setup::new(newreno::entry()).set("full_ack", "alg2").window(4.0).start(100);
//! assert_eq!(t.sent(), "new:0 new:1 new:2 new:3");
//! assert_eq!(t.receive(100, ack(1)), "new:4 new:5");
//! assert_eq!(t.receive(101, ack(1).sack(2, 3)), "");
//! assert_eq!(t.wait(1300), "rto:1");
//! assert_eq!(t.cwnd(), 1.0);
//! ```

#[cfg(test)]
mod ns2;

use alloc::boxed::Box;
use alloc::vec::Vec;

use dupack_tcp::SenderConfig;
use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::facts::LossCause;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;
use dupack_tcp::testing::{self, Always, Loopback, Path, Transfer};

pub use dupack_tcp::testing::{AckIn, Aimd, SMSS, Timeline, ack, at, coin};
#[cfg(test)]
pub(crate) use ns2::agrees_with_ns2;

use crate::catalog::{Context, Dialect, Entry, Value, Values};

/// Recovery under test, and the configuration of its sender.
#[derive(Debug)]
pub struct Setup {
    entry: Entry<dyn Recovery>,
    dialect: Dialect,
    settings: Vec<(&'static str, Value)>,
    configure: Vec<fn(&mut SenderConfig)>,
    control: Aimd,
    /// Control of the catalog with its defaults, instead of [`Aimd`].
    catalog_control: Option<Entry<dyn CongestionControl>>,
    /// Response of the catalog. If there is one, every loss is classified as wireless.
    response: Option<Entry<dyn Response>>,
    window: f64,
    ssthresh: f64,
}

impl Setup {
    /// Returns a setup with the catalog's `entry` and its defaults. The window is 10 segments, and `ssthresh` is
    /// infinite.
    #[must_use]
    pub fn new(entry: Entry<dyn Recovery>) -> Self {
        Self {
            entry,
            dialect: Dialect::Rfc,
            settings: Vec::new(),
            configure: Vec::new(),
            control: Aimd::FlightSize,
            catalog_control: None,
            response: None,
            window: 10.0,
            ssthresh: f64::INFINITY,
        }
    }

    /// Uses the defaults of `dialect` instead of those of `rfc`.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets a parameter to a word.
    ///
    /// # Panics
    /// If there is no such parameter, or if the word is invalid for it.
    #[must_use]
    pub fn set(self, name: &'static str, word: &'static str) -> Self {
        self.set_value(name, Value::word(word))
    }

    /// Sets a parameter to any value.
    ///
    /// # Panics
    /// If there is no such parameter, or if the value is invalid for it.
    #[must_use]
    pub fn set_value(mut self, name: &'static str, value: Value) -> Self {
        let set = self.entry.defaults(self.dialect).set(name, value.clone());
        set.unwrap_or_else(|error| panic!("{error}"));
        self.settings.push((name, value));
        self
    }

    /// Sets the initial congestion window, in segments.
    #[must_use]
    pub fn window(mut self, segments: f64) -> Self {
        self.window = segments;
        self
    }

    /// Sets the initial slow start threshold, in segments.
    #[must_use]
    pub fn ssthresh(mut self, segments: f64) -> Self {
        self.ssthresh = segments;
        self
    }

    /// Sets the control. The default control halves FlightSize at a loss.
    #[must_use]
    pub fn control(mut self, control: Aimd) -> Self {
        self.control = control;
        self
    }

    /// Uses a control of the catalog, with its defaults, instead of [`Aimd`].
    #[must_use]
    pub fn controlled_by(mut self, entry: Entry<dyn CongestionControl>) -> Self {
        self.catalog_control = Some(entry);
        self
    }

    /// Classifies every loss as wireless, and uses a response of the catalog.
    #[must_use]
    pub fn answered_by(mut self, entry: Entry<dyn Response>) -> Self {
        self.response = Some(entry);
        self
    }

    /// Changes the sender's configuration.
    #[must_use]
    pub fn configure(mut self, change: fn(&mut SenderConfig)) -> Self {
        self.configure.push(change);
        self
    }

    fn values(&self) -> Values {
        let mut values = self.entry.defaults(self.dialect);
        for (name, value) in &self.settings {
            let set = values.set(name, value.clone());
            set.unwrap_or_else(|error| panic!("{error}"));
        }
        values
    }

    /// Returns the setup of an endpoint. The stack is built, and the options that the recovery needs are negotiated.
    #[must_use]
    pub fn prepared(self) -> testing::Setup {
        let values = self.values();
        let needs = self.entry.needs(&values);
        let context = Context::new(SMSS);
        let mut setup = testing::Setup::boxed(self.entry.build(&values, &context))
            .window(self.window)
            .ssthresh(self.ssthresh)
            .control(match self.catalog_control {
                Some(entry) => entry.build(&entry.defaults(self.dialect), &context),
                None => Box::new(self.control),
            });
        if let Some(entry) = self.response {
            let defaults = entry.defaults(self.dialect);
            setup = setup
                .differentiation(Box::new(Always(LossCause::Wireless)))
                .response(entry.build(&defaults, &context));
        }
        if needs.sack {
            setup = setup.sack();
        }
        if needs.dsack {
            setup = setup.dsack();
        }
        if needs.order_echo {
            setup = setup.order_echo();
        }
        if needs.trigger_timestamps {
            setup = setup.trigger_timestamps();
        }
        for change in self.configure {
            setup = setup.configure(change);
        }
        setup
    }

    /// Starts at time 0 with `segments` segments to send.
    pub fn start(self, segments: u64) -> Timeline {
        self.prepared().start(segments)
    }

    /// Sends `segments` segments over a link that loses every transmission for which `lost` returns `true`: see
    /// [`testing::Setup::transfer`].
    pub fn transfer(self, segments: u64, lost: impl FnMut(u64, u64) -> bool) -> Transfer {
        self.prepared().transfer(segments, lost)
    }

    /// Returns the sender and a receiver at the two ends of `path`.
    #[must_use]
    pub fn loopback(self, path: Path) -> Loopback {
        self.prepared().loopback(path)
    }
}
