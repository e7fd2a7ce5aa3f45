//! Orca's action: multiplies the window of the underlying control, which continues from the new window.
//!
//! Abbasloo et al., SIGCOMM 2020. The text was not available: this follows its authors' code
//! (github.com/Soheil-ab/Orca, `rl-module/envwrapper.py`, `src/orca-server-mahimahi.cc`).
//!
//! ```text
//! cwnd = 2^a · cwnd of CUBIC,  −2 ≤ a ≤ 2      (the code: 4^a with −1 ≤ a ≤ 1, in hundredths)
//! ```
//!
//! Readings:
//! - The window is multiplied once per step, at the next ACK. Between two steps, CUBIC grows and reduces it as usual.
//! - The factor does not reduce it below 4 segments (`MIN_CWND`).
//! - In the code, the agent does not act on a flow until slow start is over, apart from a factor of 1.1 every 20 ms. Here
//!   the agent acts from the first step; it can recognise slow start by a window that is not fully used.
//! - The underlying control is that of the stack: `"rack/cubic"` is Orca's. A control that sets its window by a model, as
//!   BBR does, forgets the factor at the next ACK and is rejected.
//! - In the code, the kernel paces at window / SRTT. Here the stack's own pacing applies: in dialect `linux`, CUBIC has it.

use serde::{Deserialize, Serialize};

use crate::error::EnvironmentError;

/// A factor on the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WindowFactor {
    /// Largest absolute value of an action a; the window is multiplied by 2^a.
    pub bound: f32,
    /// Minimum of the multiplied window, in segments.
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
            let message = format!(
                "invalid bound {}: expected a number above 0 and at most 20",
                self.bound
            );
            return Err(EnvironmentError::setting(
                "action.bound",
                message,
                "Orca uses 2",
            ));
        }
        if !(1..=1_000_000).contains(&self.least) {
            let message = format!("invalid minimum window of {} segments", self.least);
            return Err(EnvironmentError::setting(
                "action.least",
                message,
                "choose a number from 1 to 1000000; Orca uses 4",
            ));
        }
        Ok(())
    }
}
