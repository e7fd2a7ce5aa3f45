//! Orca's action: the window of the control below is multiplied, and the control goes on from there.
//!
//! Abbasloo et al., SIGCOMM 2020. The text was not at hand: this follows its authors' code
//! (github.com/Soheil-ab/Orca, `rl-module/envwrapper.py`, `src/orca-server-mahimahi.cc`).
//!
//! ```text
//! cwnd = 2^a · cwnd of CUBIC,  −2 ≤ a ≤ 2      (the code: 4^a with −1 ≤ a ≤ 1, in hundredths)
//! ```
//!
//! Readings:
//! - The window is multiplied once a step, with the next ACK; between two steps CUBIC grows and reduces it as ever.
//! - It does not fall below 4 segments (`MIN_CWND`).
//! - The code leaves a flow alone until it has been through slow start (but for a factor of 1.1 each 20 ms). Here the
//!   agent acts from the first step on: its observation tells it of slow start, by a window that is not used up.
//! - The control below is the stack's: `"rack/cubic"` is Orca's. One that sets its window by a model, as BBR does,
//!   forgets the factor at the next ACK, and is refused.
//! - The code has the kernel pace at window / SRTT. Here the stack's own pacing holds: in dialect `linux`, CUBIC has it.

use serde::{Deserialize, Serialize};

use crate::error::EnvironmentError;

/// A factor on the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WindowFactor {
    /// The most that an action may be, either way: the window is multiplied by 2 to its power.
    pub bound: f32,
    /// Segments below which the window does not fall.
    pub least: u32,
}

impl Default for WindowFactor {
    fn default() -> Self {
        Self {
            bound: 2.0,
            least: 4,
        }
    }
}

impl WindowFactor {
    pub(super) fn check(&self) -> Result<(), EnvironmentError> {
        if !(self.bound > 0.0 && self.bound <= 20.0) {
            let message = format!("a bound of {} is not above 0 and at most 20", self.bound);
            return Err(EnvironmentError::setting(
                "action.bound",
                message,
                "Orca's is 2",
            ));
        }
        if !(1..=1_000_000).contains(&self.least) {
            let message = format!("a least window of {} segments", self.least);
            return Err(EnvironmentError::setting(
                "action.least",
                message,
                "from 1 to 1000000; Orca's is 4",
            ));
        }
        Ok(())
    }
}
