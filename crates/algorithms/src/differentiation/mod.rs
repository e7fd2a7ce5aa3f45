//! The third axis: was this loss congestion, or the link? One algorithm per file.

pub mod none;
pub mod oracle;
pub mod veno;
