//! The entries of this crate. A new algorithm is a file of its own and one line here.

use super::entry::Entry;
use super::registry::Catalog;
use crate::{congestion, differentiation, recovery, response};

impl Catalog {
    /// The algorithms of this crate.
    ///
    /// # Panics
    /// If two of them share a name: a mistake in this file, which no test would let through.
    #[must_use]
    pub fn builtin() -> Self {
        let mut catalog = Self::empty();
        let registered = catalog.register_all();
        registered.expect("the entries of this crate are well-formed");
        catalog
    }

    fn register_all(&mut self) -> Result<(), super::RegisterError> {
        // Loss recoveries.
        self.register(Entry::from(&recovery::tahoe::ENTRY))?;
        self.register(Entry::from(&recovery::reno::ENTRY))?;
        self.register(Entry::from(&recovery::newreno::ENTRY))?;
        self.register(Entry::from(&recovery::sack::ENTRY))?;
        self.register(Entry::from(&recovery::fack::ENTRY))?;
        self.register(Entry::from(&recovery::momentary::ENTRY))?;
        self.register(Entry::from(&recovery::le::ENTRY))?;
        self.register(Entry::from(&recovery::rack::ENTRY))?;
        self.register(Entry::from(&recovery::bulk_repeat::ENTRY))?;
        self.register(Entry::from(&recovery::robust::ENTRY))?;
        self.register(Entry::from(&recovery::delayed_fast::ENTRY))?;

        // Congestion controls.
        self.register(Entry::from(&congestion::reno::ENTRY))?;
        self.register(Entry::from(&congestion::fixed::ENTRY))?;
        self.register(Entry::from(&congestion::westwood::ENTRY))?;
        self.register(Entry::from(&congestion::cubic::ENTRY))?;
        self.register(Entry::from(&congestion::rr::ENTRY))?;
        self.register(Entry::from(&congestion::vegas::ENTRY))?;
        self.register(Entry::from(&congestion::veno::ENTRY))?;
        self.register(Entry::from(&congestion::bbr::ENTRY))?;

        // Loss differentiations.
        self.register(Entry::from(&differentiation::none::ENTRY))?;
        self.register(Entry::from(&differentiation::always::ENTRY))?;
        self.register(Entry::from(&differentiation::oracle::ENTRY))?;
        self.register(Entry::from(&differentiation::ncpld::ENTRY))?;
        self.register(Entry::from(&differentiation::veno::ENTRY))?;
        self.register(Entry::from(&differentiation::spike::ENTRY))?;
        self.register(Entry::from(&differentiation::spike::BULK_REPEAT_ENTRY))?;
        self.register(Entry::from(&differentiation::jtcp::ENTRY))?;
        self.register(Entry::from(&differentiation::relds::ENTRY))?;
        self.register(Entry::from(&differentiation::lda_eq::ENTRY))?;
        self.register(Entry::from(&differentiation::zigzag::ENTRY))?;

        // Responses.
        self.register(Entry::from(&response::tcp::ENTRY))?;
        self.register(Entry::from(&response::previous::ENTRY))?;
        self.register(Entry::from(&response::slow_start::METHOD_11))?;
        self.register(Entry::from(&response::slow_start::METHOD_12))?;
        self.register(Entry::from(&response::slow_start::METHOD_13))?;
        self.register(Entry::from(&response::slow_start::METHOD_14))?;
        self.register(Entry::from(&response::slow_start::METHOD_15))?;
        self.register(Entry::from(&response::slow_start::METHOD_16))?;
        self.register(Entry::from(&response::slow_start::METHOD_17))?;
        self.register(Entry::from(&response::avoidance::METHOD_21))?;
        self.register(Entry::from(&response::avoidance::METHOD_22))?;
        self.register(Entry::from(&response::avoidance::METHOD_23))?;
        self.register(Entry::from(&response::avoidance::METHOD_24))?;
        self.register(Entry::from(&response::avoidance::METHOD_25))?;
        self.register(Entry::from(&response::avoidance::METHOD_26))?;
        self.register(Entry::from(&response::avoidance::METHOD_27))?;
        self.register(Entry::from(&response::dynamic::ENTRY))
    }
}
