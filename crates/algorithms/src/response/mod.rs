//! The plug-ins of the axis `response`.
