//! Captures of anybody's making are read: every format, every link, however little was kept, and whatever
//! is wrong with the file.

mod cuts;
mod damaged;
mod files;
mod formats;
mod links;
mod packed;
mod packets;
mod round_trip;
mod tunnels;
