//! Orca's action: multiplies the window of the underlying control. The control continues with the new window.
//!
//! Source: Abbasloo et al., SIGCOMM 2020. The paper was not available to us, so this file follows the authors' code
//! (github.com/Soheil-ab/Orca, `rl-module/envwrapper.py`, `src/orca-server-mahimahi.cc`).
//!
//! ```text
//! cwnd = 2^a · cwnd of CUBIC,  −2 ≤ a ≤ 2      (the code: 4^a with −1 ≤ a ≤ 1, in hundredths)
//! ```
//!
//! Our interpretation:
//! - The window is multiplied once per step, at the next ACK. Between two steps, CUBIC increases and reduces the window
//!   as usual.
//! - The factor does not reduce the window below 4 segments (`MIN_CWND`).
//! - In the code, the agent does not act on a flow before slow start ends, except for a factor of 1.1 every 20 ms.
//!   Here, the agent acts from the first step; it can recognise slow start by a window that is not fully used.
//! - The underlying control is the control of the stack; Orca uses `"rack/cubic"`. A control that sets its window by a
//!   model, such as BBR, discards the factor at the next ACK and is therefore rejected.
//! - In the code, the kernel paces at window / SRTT. Here, the stack's own pacing applies: in the dialect `linux`,
//!   CUBIC is paced.

use serde::{Deserialize, Serialize};

use crate::error::EnvironmentError;

/// Factor that multiplies the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WindowFactor {
    /// Maximum absolute value of an action a. The window is multiplied by 2^a.
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
