//! Tests of captures of any origin: every format, every link type, truncated packets and damaged files.

mod cuts;
mod damaged;
mod files;
mod formats;
mod links;
mod packed;
mod packets;
mod round_trip;
mod tunnels;
