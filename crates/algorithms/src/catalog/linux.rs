//! What of an algorithm Linux has today, and what turns it on.
//!
//! Each entry says it of itself ([`Draft::linux`](super::entry::Draft::linux)); who says nothing is not
//! in Linux. What a whole stack comes to is in [`deploy`](super::deploy).
//!
//! ```
//! use dupack_algorithms::catalog::linux::{InLinux, Knob, Linux, Place};
//!
//! let module = InLinux::module("the module tcp_half, of our own tree", "half", "tcp_half")
//!     .knob(Knob::number("factor", 1024.0, Place::module("tcp_half", "factor")));
//! let missing = Linux::missing("nobody has ported it").near("reno");
//! # let _ = (module, missing);
//! ```

use core::fmt;

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::kernel::KernelVersion;
use super::parameter::{Text, Value};

/// What of an algorithm Linux has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Linux {
    /// Nothing.
    Missing(Missing),
    /// It.
    Has(InLinux),
}

/// An algorithm that Linux does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// What is to be said of it: what Linux does in its place, or what it once had. May be empty.
    pub why: Text,
    /// The entry on the same axis that stands for what Linux does in its place.
    pub near: Option<Text>,
}

impl Linux {
    /// Linux does not have it, and what there is to say of that.
    #[must_use]
    pub fn missing(why: impl Into<Text>) -> Missing {
        Missing {
            why: why.into(),
            near: None,
        }
    }
}

impl Missing {
    /// The entry on the same axis that stands for what Linux does in its place.
    #[must_use]
    pub fn near(mut self, name: impl Into<Text>) -> Self {
        self.near = Some(name.into());
        self
    }
}

impl From<Missing> for Linux {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

impl From<InLinux> for Linux {
    fn from(has: InLinux) -> Self {
        Self::Has(has)
    }
}

/// An algorithm that Linux has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InLinux {
    /// What it is there, and since which kernel, in a few words.
    pub what: Text,
    /// The kernel's congestion control that it is, if it is one.
    pub control: Option<KernelControl>,
    /// What must be set for it.
    pub settings: Vec<Setting>,
    /// Where Linux's differs from ours, a sentence each.
    pub differs: Vec<Text>,
    /// Parameters that something in Linux sets; all others are fixed there.
    pub knobs: Vec<Knob>,
    /// Parameters that Linux has at another value than our dialect `linux`, and that value.
    pub fixed: Vec<(Text, Text)>,
}

/// A congestion control of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelControl {
    /// As `TCP_CONGESTION` takes it.
    pub name: Text,
    /// The module that it is in, unless every kernel has it.
    pub module: Option<Text>,
    /// The first kernel that has it.
    pub since: KernelVersion,
    /// Its presence in a kernel of the default configuration, built in or as a module.
    pub usual: Usual,
}

impl KernelControl {
    /// Tells if a kernel has it without anything to load.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.module.is_none() || self.usual == Usual::Yes
    }

    /// The module to load, where it is not usually built in.
    #[must_use]
    pub fn to_load(&self) -> Option<&Text> {
        self.module.as_ref().filter(|_| !self.is_built_in())
    }

    /// The command, as root, by which all new connections take it.
    #[must_use]
    pub fn command(&self) -> String {
        format!("sysctl -w net.ipv4.tcp_congestion_control={}", self.name)
    }
}

impl InLinux {
    /// One that is there without being a congestion control, and what it is there.
    #[must_use]
    pub fn always(what: impl Into<Text>) -> Self {
        Self {
            what: what.into(),
            control: None,
            settings: Vec::new(),
            differs: Vec::new(),
            knobs: Vec::new(),
            fixed: Vec::new(),
        }
    }

    /// The congestion control `name`, which every kernel has.
    #[must_use]
    pub fn control(what: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self {
            control: Some(KernelControl {
                name: name.into(),
                module: None,
                since: KernelVersion::of(2, 6, 13),
                usual: Usual::Yes,
            }),
            ..Self::always(what)
        }
    }

    /// The congestion control `name`, which is in `module` where it is not built in.
    #[must_use]
    pub fn module(what: impl Into<Text>, name: impl Into<Text>, module: impl Into<Text>) -> Self {
        Self {
            control: Some(KernelControl {
                name: name.into(),
                module: Some(module.into()),
                since: KernelVersion::of(2, 6, 13),
                usual: Usual::No,
            }),
            ..Self::always(what)
        }
    }

    /// The first kernel that has the congestion control; 2.6.13, which brought modules of them, if nothing is said.
    #[must_use]
    pub fn since(mut self, version: KernelVersion) -> Self {
        if let Some(control) = &mut self.control {
            control.since = version;
        }
        self
    }

    /// Kernels are built with the module in them where nobody says otherwise.
    #[must_use]
    pub fn built_in(mut self) -> Self {
        if let Some(control) = &mut self.control {
            control.usual = Usual::Yes;
        }
        self
    }

    /// What must be set for it, which Linux has otherwise by itself.
    #[must_use]
    pub fn changed(self, place: Place, value: impl Into<Text>) -> Self {
        self.setting(place, value, Usual::No)
    }

    /// What must be set for it, and is by default.
    #[must_use]
    pub fn usual(self, place: Place, value: impl Into<Text>) -> Self {
        self.setting(place, value, Usual::Yes)
    }

    fn setting(mut self, place: Place, value: impl Into<Text>, usual: Usual) -> Self {
        self.settings.push(Setting {
            place,
            value: value.into(),
            usual,
        });
        self
    }

    /// Where Linux's differs from ours, in a sentence.
    #[must_use]
    pub fn differs(mut self, how: impl Into<Text>) -> Self {
        self.differs.push(how.into());
        self
    }

    /// A parameter that Linux has at `value`, though our dialect `linux` has it otherwise.
    #[must_use]
    pub fn fixed(mut self, parameter: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.fixed.push((parameter.into(), value.into()));
        self
    }

    /// A parameter that something in Linux sets.
    #[must_use]
    pub fn knob(mut self, knob: Knob) -> Self {
        self.knobs.push(knob);
        self
    }

    /// Several of them.
    #[must_use]
    pub fn knobs(mut self, knobs: impl IntoIterator<Item = Knob>) -> Self {
        self.knobs.extend(knobs);
        self
    }
}

/// Where something is set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A sysctl: `net.ipv4.tcp_sack`.
    Sysctl(Text),
    /// A parameter of a module, or of what is built in like one.
    Module {
        /// The module.
        module: Text,
        /// Its parameter.
        parameter: Text,
    },
    /// The queueing discipline of the interface.
    Qdisc,
    /// An attribute of the route: `initcwnd`.
    Route(Text),
}

impl Place {
    /// The sysctl `key`.
    #[must_use]
    pub fn sysctl(key: impl Into<Text>) -> Self {
        Self::Sysctl(key.into())
    }

    /// The parameter of a module.
    #[must_use]
    pub fn module(module: impl Into<Text>, parameter: impl Into<Text>) -> Self {
        let (module, parameter) = (module.into(), parameter.into());
        Self::Module { module, parameter }
    }

    /// The file that holds the value, if one does.
    #[must_use]
    pub fn file(&self) -> Option<String> {
        match self {
            Self::Sysctl(key) => Some(format!("/proc/sys/{}", key.replace('.', "/"))),
            Self::Module { module, parameter } => {
                Some(format!("/sys/module/{module}/parameters/{parameter}"))
            }
            Self::Qdisc | Self::Route(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl(key) => f.write_str(key),
            Self::Module { module, parameter } => write!(f, "{module}'s parameter {parameter}"),
            Self::Qdisc => f.write_str("the interface's queueing discipline"),
            Self::Route(attribute) => write!(f, "the route's {attribute}"),
        }
    }
}

/// The default route as the machine has it now, for `ip route change`, which does not take all words
/// that `ip route show` prints.
pub const ROUTE: &str = "$(ip route show default | sed 's/ lock//g;s/ linkdown//;q')";

/// The interface of the default route.
const INTERFACE: &str = r#""$(ip route show default | sed -n '1s/.* dev \([^ ]*\).*/\1/p')""#;

/// A place and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Where it is set.
    pub place: Place,
    /// To what.
    pub value: Text,
    /// Whether a kernel has this value by itself.
    pub usual: Usual,
}

/// Whether a kernel has a value by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// It is Linux's default.
    Yes,
    /// It is not.
    No,
}

impl Setting {
    /// A value that is not Linux's own.
    #[must_use]
    pub fn changed(place: Place, value: impl Into<Text>) -> Self {
        Self {
            place,
            value: value.into(),
            usual: Usual::No,
        }
    }

    /// The command that sets it, for a shell of root's.
    #[must_use]
    pub fn command(&self) -> String {
        let value = &self.value;
        match &self.place {
            Place::Sysctl(key) => format!("sysctl -w {key}={value}"),
            Place::Module { module, parameter } => {
                format!("echo {value} > /sys/module/{module}/parameters/{parameter}")
            }
            Place::Qdisc => format!("tc qdisc replace dev {INTERFACE} root {value}"),
            Place::Route(attribute) => format!("ip route change {ROUTE} {attribute} {value}"),
        }
    }
}

/// A parameter that something in Linux sets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Knob {
    /// The parameter's name.
    pub parameter: Text,
    /// What sets it.
    pub place: Place,
    /// How it is written there.
    pub scale: Scale,
}

/// How a value is written for the kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scale {
    /// A number, times this; only what gives a whole number can be set.
    Times(f64),
    /// A span of time, in microseconds.
    Microseconds,
    /// These words have these values; other words cannot be set.
    Words(Cow<'static, [(&'static str, &'static str)]>),
}

impl Knob {
    /// A number, which the kernel has times `factor`.
    #[must_use]
    pub fn number(parameter: impl Into<Text>, factor: f64, place: Place) -> Self {
        Self::new(parameter, place, Scale::Times(factor))
    }

    /// A span of time, which the kernel has in microseconds.
    #[must_use]
    pub fn microseconds(parameter: impl Into<Text>, place: Place) -> Self {
        Self::new(parameter, place, Scale::Microseconds)
    }

    /// A choice: its words, and what the kernel has for each.
    #[must_use]
    pub fn words(
        parameter: impl Into<Text>,
        words: &'static [(&'static str, &'static str)],
        place: Place,
    ) -> Self {
        Self::new(parameter, place, Scale::Words(Cow::Borrowed(words)))
    }

    fn new(parameter: impl Into<Text>, place: Place, scale: Scale) -> Self {
        Self {
            parameter: parameter.into(),
            place,
            scale,
        }
    }

    /// What sets the parameter to `value`; nothing, if the kernel cannot have this value.
    #[must_use]
    pub fn set(&self, value: &Value) -> Option<Setting> {
        let written = match (&self.scale, value) {
            (Scale::Times(factor), Value::Integer(number)) => whole(*number as f64 * factor)?,
            (Scale::Times(factor), Value::Real(number)) => whole(number * factor)?,
            (Scale::Microseconds, Value::Time(span)) => {
                let nanos = span.as_nanos();
                (nanos % 1000 == 0).then(|| (nanos / 1000).to_string())?
            }
            (Scale::Words(words), Value::Choice(word)) => {
                let known = words.iter().find(|(known, _)| known == word)?;
                known.1.to_string()
            }
            _ => return None,
        };
        Some(Setting::changed(self.place.clone(), written))
    }
}

/// `number` as text, if it is a whole number that the kernel's integers hold.
fn whole(number: f64) -> Option<String> {
    /// As far as the sum of rounding goes in a product of two decimals.
    const CLOSE: f64 = 1e-9;
    let nearest = libm::round(number);
    let fits = (0.0..=f64::from(i32::MAX)).contains(&nearest);
    (fits && (number - nearest).abs() <= CLOSE * nearest.max(1.0)).then(|| format!("{nearest}"))
}

#[cfg(test)]
mod tests {
    use dupack_tcp::time::Duration;

    use super::*;

    #[test]
    fn a_knob_sets_what_the_kernel_can_have() {
        let place = || Place::sysctl("net.ipv4.tcp_pacing_ca_ratio");
        let knob = Knob::number("pacing_avoidance", 100.0, place());
        let command = |value| knob.set(&value).map(|setting| setting.command());
        let wanted = "sysctl -w net.ipv4.tcp_pacing_ca_ratio=115";
        assert_eq!(command(Value::Real(1.15)).as_deref(), Some(wanted));
        // A thousandth of a window per round trip is no percentage.
        assert_eq!(command(Value::Real(1.155)), None);
        assert_eq!(command(Value::Real(-1.0)), None);
        assert_eq!(command(Value::Real(1e300)), None);
        assert_eq!(command(Value::word("on")), None);

        let knob = Knob::microseconds("delay", Place::module("tcp_half", "delay_us"));
        let set = |nanos| knob.set(&Value::Time(Duration::from_nanos(nanos)));
        let command = set(1_500_000).unwrap().command();
        assert_eq!(
            command,
            "echo 1500 > /sys/module/tcp_half/parameters/delay_us"
        );
        assert_eq!(set(1_500), None);

        let knob = Knob::words("pacing", &[("on", "fq")], Place::Qdisc);
        let command = knob.set(&Value::word("on")).unwrap().command();
        assert!(command.ends_with(" root fq"), "{command}");
        assert_eq!(knob.set(&Value::word("sometimes")), None);
    }
}
