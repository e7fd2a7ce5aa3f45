//! The plug-ins of the axis `differentiation`.
