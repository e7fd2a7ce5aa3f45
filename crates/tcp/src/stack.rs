//! Stack: one plug-in on each of the four axes.

use alloc::boxed::Box;

use crate::congestion::CongestionControl;
use crate::differentiation::Differentiation;
use crate::recovery::Recovery;
use crate::response::Response;

/// Plug-ins of one sender.
#[derive(Debug)]
pub struct Stack {
    /// Loss recovery.
    pub recovery: Box<dyn Recovery>,
    /// Congestion control.
    pub control: Box<dyn CongestionControl>,
    /// Loss differentiation, which attributes a loss to congestion or to the link.
    pub differentiation: Box<dyn Differentiation>,
    /// Response to losses that the differentiation attributes to the link.
    pub response: Box<dyn Response>,
}
