//! The plug-ins of the axis `recovery`.
