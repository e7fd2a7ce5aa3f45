//! A stack: one choice on each of the four axes.

use alloc::boxed::Box;

use crate::congestion::CongestionControl;
use crate::differentiation::Differentiation;
use crate::recovery::Recovery;
use crate::response::Response;

/// The plug-ins of one sender.
#[derive(Debug)]
pub struct Stack {
    /// What is lost, what goes out next, what counts as in flight.
    pub recovery: Box<dyn Recovery>,
    /// How the window grows, and what a congestion loss makes of it.
    pub control: Box<dyn CongestionControl>,
    /// Whether a loss was congestion or the link.
    pub differentiation: Box<dyn Differentiation>,
    /// What the window becomes after a loss that was the link's.
    pub response: Box<dyn Response>,
}
