//! Senders on real packets: a stack of the catalog, or the kernel.

use std::fmt;

use dupack_algorithms::catalog::{Catalog, Dialect, StackError, StackSpec, offer};
use dupack_lab::units::UnitError;
use dupack_wire::transfer::Origin;
use thiserror::Error;

/// Prefix of a kernel's sender on the command line.
const KERNEL: &str = "kernel:";

/// Maximum length of a congestion control's name in bytes (`TCP_CA_NAME_MAX` includes the terminating zero).
const MOST_NAME_BYTES: usize = 15;

/// A sender.
#[derive(Clone, Debug, PartialEq)]
pub enum SenderSpec {
    /// One of our endpoints.
    Stack(StackSpec),
    /// This machine's kernel with this congestion control.
    Kernel(String),
}

/// Error of a text that does not name a sender.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum SenderError {
    /// The text is not a stack.
    #[error("{0} (a sender is a stack, such as sack/reno, or kernel:NAME)")]
    Stack(StackError),
    /// The text after `@` is not a time.
    #[error("{0} (a sender with a longer round trip is kernel:cubic@40ms)")]
    Detour(UnitError),
    /// The text is not a valid name of a congestion control.
    #[error(
        "`{0}` is not a name of a congestion control: write, for example, kernel:cubic; \
         /proc/sys/net/ipv4/tcp_available_congestion_control lists those of this kernel"
    )]
    Name(String),
}

impl SenderSpec {
    /// Returns the stack, if the sender is one of ours.
    #[must_use]
    pub const fn stack(&self) -> Option<&StackSpec> {
        match self {
            Self::Stack(stack) => Some(stack),
            Self::Kernel(_) => None,
        }
    }

    /// Returns the sender in the form that a transfer expects.
    #[must_use]
    pub fn origin(&self, dialect: Dialect) -> Origin {
        let stack = match self {
            Self::Kernel(control) => {
                let control = control.clone();
                return Origin::Kernel { control };
            }
            Self::Stack(stack) => stack,
        };
        let (config, build) = offer(stack, dialect);
        Origin::Endpoint {
            config: Box::new(config),
            build,
        }
    }
}

impl fmt::Display for SenderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(stack) => stack.fmt(f),
            Self::Kernel(control) => write!(f, "{KERNEL}{control}"),
        }
    }
}

impl SenderSpec {
    /// Parses a sender: a stack of `catalog`, or `kernel:` followed by the name of a congestion control.
    ///
    /// # Errors
    /// Returns an error if the text is neither of these. The error states the expected form.
    pub fn parse(text: &str, catalog: &Catalog) -> Result<Self, SenderError> {
        let Some(name) = text.strip_prefix(KERNEL) else {
            let stack = StackSpec::parse(text, catalog).map_err(SenderError::Stack)?;
            return Ok(Self::Stack(stack));
        };
        let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > MOST_NAME_BYTES || !name.chars().all(known) {
            return Err(SenderError::Name(name.to_owned()));
        }
        Ok(Self::Kernel(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_read_back_from_their_text() {
        for text in ["sack/reno", "kernel:cubic", "le/westwood"] {
            assert_eq!(
                SenderSpec::parse(text, &Catalog::builtin())
                    .unwrap()
                    .to_string(),
                text
            );
        }
        for text in [
            "kernel:",
            "kernel:a b",
            "kernel:abcdefghijklmnop",
            "nonsense",
        ] {
            assert!(
                SenderSpec::parse(text, &Catalog::builtin()).is_err(),
                "{text}"
            );
        }
    }
}
