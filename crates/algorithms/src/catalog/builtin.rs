//! The entries of this crate. A new algorithm is a file of its own and one line here.

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
        self.register(recovery::tahoe::entry())?;
        self.register(recovery::reno::entry())?;
        self.register(recovery::newreno::entry())?;
        self.register(recovery::sack::entry())?;
        self.register(recovery::fack::entry())?;
        self.register(recovery::momentary::entry())?;
        self.register(recovery::le::entry())?;
        self.register(recovery::rack::entry())?;
        self.register(recovery::bulk_repeat::entry())?;
        self.register(recovery::robust::entry())?;
        self.register(recovery::delayed_fast::entry())?;

        // Congestion controls.
        self.register(congestion::reno::entry())?;
        self.register(congestion::fixed::entry())?;
        self.register(congestion::westwood::entry())?;
        self.register(congestion::cubic::entry())?;
        self.register(congestion::rr::entry())?;
        self.register(congestion::vegas::entry())?;
        self.register(congestion::veno::entry())?;
        self.register(congestion::bbr::entry())?;

        // Loss differentiations.
        self.register(differentiation::none::entry())?;
        self.register(differentiation::always::entry())?;
        self.register(differentiation::oracle::entry())?;
        self.register(differentiation::ncpld::entry())?;
        self.register(differentiation::veno::entry())?;
        self.register(differentiation::spike::entry())?;
        self.register(differentiation::spike::bulk_repeat_entry())?;
        self.register(differentiation::jtcp::entry())?;
        self.register(differentiation::relds::entry())?;
        self.register(differentiation::lda_eq::entry())?;
        self.register(differentiation::zigzag::entry())?;

        // Responses.
        self.register(response::tcp::entry())?;
        self.register(response::previous::entry())?;
        self.register(response::slow_start::method_11())?;
        self.register(response::slow_start::method_12())?;
        self.register(response::slow_start::method_13())?;
        self.register(response::slow_start::method_14())?;
        self.register(response::slow_start::method_15())?;
        self.register(response::slow_start::method_16())?;
        self.register(response::slow_start::method_17())?;
        self.register(response::avoidance::method_21())?;
        self.register(response::avoidance::method_22())?;
        self.register(response::avoidance::method_23())?;
        self.register(response::avoidance::method_24())?;
        self.register(response::avoidance::method_25())?;
        self.register(response::avoidance::method_26())?;
        self.register(response::avoidance::method_27())?;
        self.register(response::dynamic::entry())
    }
}
