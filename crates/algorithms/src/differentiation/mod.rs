//! Third axis: classification of a loss as congestion or wireless. There is one algorithm per file.

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
