//! The plug-ins of the axis `congestion`.
