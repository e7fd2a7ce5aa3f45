//! Paths, and other senders on them, beside what the simulation had.

pub mod capture;
pub mod drawn;
pub mod judge;
