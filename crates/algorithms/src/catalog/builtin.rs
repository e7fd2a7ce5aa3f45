//! Algorithms of this crate. A new algorithm needs its own file and one line here.

use super::entry::{Entry, Plugin};
use super::refusal::RegisterError;
use super::registry::Catalog;
use crate::{congestion, differentiation, recovery, response};

impl Catalog {
    /// Returns a catalog of the algorithms of this crate.
    ///
    /// # Panics
    /// If an entry is not well-formed, for example if two entries have the same name. A test covers this.
    #[must_use]
    pub fn builtin() -> Self {
        let mut catalog = Self::empty();
        let registered = catalog.register_all();
        registered.expect("the entries of this crate are well-formed");
        catalog
    }

    fn register_all(&mut self) -> Result<(), RegisterError> {
        // Loss recoveries.
        self.add(recovery::tahoe::entry())?;
        self.add(recovery::reno::entry())?;
        self.add(recovery::newreno::entry())?;
        self.add(recovery::sack::entry())?;
        self.add(recovery::fack::entry())?;
        self.add(recovery::momentary::entry())?;
        self.add(recovery::le::entry())?;
        self.add(recovery::rack::entry())?;
        self.add(recovery::bulk_repeat::entry())?;
        self.add(recovery::robust::entry())?;
        self.add(recovery::delayed_fast::entry())?;
        self.add(recovery::rr_tcp::entry())?;
        self.add(recovery::tcp_dcr::entry())?;
        self.add(recovery::tcp_pr::entry())?;

        // Congestion controls.
        self.add(congestion::reno::entry())?;
        self.add(congestion::fixed::entry())?;
        self.add(congestion::westwood::entry())?;
        self.add(congestion::westwood_linux::entry())?;
        self.add(congestion::cubic::entry())?;
        self.add(congestion::rr::entry())?;
        self.add(congestion::vegas::entry())?;
        self.add(congestion::veno::entry())?;
        self.add(congestion::bbr::entry())?;
        self.add(congestion::bbr_v1::entry())?;
        self.add(congestion::prague::entry())?;
        self.add(congestion::hybla::entry())?;
        self.add(congestion::htcp::entry())?;
        self.add(congestion::illinois::entry())?;
        self.add(congestion::dctcp::entry())?;

        // Loss differentiations.
        self.add(differentiation::none::entry())?;
        self.add(differentiation::always::entry())?;
        self.add(differentiation::oracle::entry())?;
        self.add(differentiation::ncpld::entry())?;
        self.add(differentiation::veno::entry())?;
        self.add(differentiation::spike::entry())?;
        self.add(differentiation::spike::bulk_repeat_entry())?;
        self.add(differentiation::jtcp::entry())?;
        self.add(differentiation::relds::entry())?;
        self.add(differentiation::lda_eq::entry())?;
        self.add(differentiation::zigzag::entry())?;

        // Responses.
        self.add(response::tcp::entry())?;
        self.add(response::previous::entry())?;
        self.add(response::slow_start::method_11())?;
        self.add(response::slow_start::method_12())?;
        self.add(response::slow_start::method_13())?;
        self.add(response::slow_start::method_14())?;
        self.add(response::slow_start::method_15())?;
        self.add(response::slow_start::method_16())?;
        self.add(response::slow_start::method_17())?;
        self.add(response::avoidance::method_21())?;
        self.add(response::avoidance::method_22())?;
        self.add(response::avoidance::method_23())?;
        self.add(response::avoidance::method_24())?;
        self.add(response::avoidance::method_25())?;
        self.add(response::avoidance::method_26())?;
        self.add(response::avoidance::method_27())?;
        self.add(response::dynamic::entry())
    }

    /// Adds an entry of this crate. The entry may exclude another one that is added later; a test checks that the other
    /// entry exists.
    fn add<P: Plugin + ?Sized>(&mut self, entry: Entry<P>) -> Result<(), RegisterError> {
        self.take(entry.at_home())
    }
}
