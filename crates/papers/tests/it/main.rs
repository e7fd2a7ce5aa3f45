//! Integration tests of this crate, in one program.

mod inventory;
mod ns2_agreement;
mod papers;
