//! Diagnosed paths, and predictions for other senders, compared with simulations.

pub mod capture;
pub mod drawn;
pub mod judge;
