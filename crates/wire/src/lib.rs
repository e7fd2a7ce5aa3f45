//! TCP/IP on the wire: capture files that other tools read.
