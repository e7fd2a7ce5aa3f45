//! Integration tests of this crate, in one program.

mod trace_stream;
