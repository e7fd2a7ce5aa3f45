//! Names of the dialects.

use core::error::Error;
use core::fmt;
use core::str::FromStr;

use alloc::borrow::ToOwned;
use alloc::string::String;

use crate::catalog::nearest::nearest;

/// Named set of defaults for the endpoints and the algorithms.
///
/// With the feature `serde`, it is read from files and written to them by its name, and with `schemars` it has a JSON
/// Schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[cfg_attr(
    feature = "schemars",
    derive(schemars::JsonSchema),
    schemars(
        rename = "DialectName",
        description = "A named set of defaults for the endpoints."
    )
)]
pub enum Dialect {
    /// Behaviour that the current RFCs recommend.
    Rfc,
    /// Behaviour of Linux where it differs from the RFCs.
    #[default]
    #[cfg_attr(feature = "schemars", schemars(description = "As Linux does."))]
    Linux,
    /// Behaviour of ns-2.35, with which the results in the papers were obtained.
    #[cfg_attr(feature = "schemars", schemars(description = "As ns-2.35 does."))]
    Ns2,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 3] = [Self::Rfc, Self::Linux, Self::Ns2];

    /// Returns the name of the dialect in files and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Linux => "linux",
            Self::Ns2 => "ns2",
        }
    }
}

impl Dialect {
    /// Returns a description of the dialect for users who choose one.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Rfc => "As the RFCs in force recommend",
            Self::Linux => "As Linux does",
            Self::Ns2 => "As ns-2.35 does, whose results the papers report",
        }
    }
}

/// Error: no dialect has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect {
    /// Name that was given.
    pub name: String,
}

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no dialect is called `{}`", self.name)?;
        if let Some(meant) = nearest(&self.name, Dialect::ALL.iter().map(|d| d.name())) {
            write!(f, "; did you mean `{meant}`?")?;
        }
        f.write_str(" There are `rfc`, `linux`, `ns2`")
    }
}

impl Error for UnknownDialect {}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.into_iter().find(|d| d.name() == name);
        found.ok_or_else(|| UnknownDialect {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
