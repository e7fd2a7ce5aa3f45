//! The third axis: the cause of a loss, congestion or the link. One algorithm per file.

pub mod always;
#[cfg(test)]
mod bench;
mod delays;
pub mod jtcp;
pub mod lda_eq;
pub mod ncpld;
pub mod none;
pub mod oracle;
pub mod relds;
pub mod spike;
#[cfg(test)]
mod tests;
pub mod veno;
pub mod zigzag;
