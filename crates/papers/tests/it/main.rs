//! Integration tests of this crate, in one program.

mod first_screen;
mod inventory;
mod ns2_agreement;
mod papers;
