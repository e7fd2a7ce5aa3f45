//! Availability of an algorithm in Linux, and how to enable it.
//!
//! Each entry declares its own availability ([`Draft::linux`](super::entry::Draft::linux)); an entry without a
//! declaration is not in Linux. [`deploy`](super::deploy) combines the parts of a whole stack.
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

/// Availability of an algorithm in Linux.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Linux {
    /// Not implemented.
    Missing(Missing),
    /// Implemented.
    Has(InLinux),
}

/// Algorithm that Linux does not implement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// Explanation: the algorithm that Linux uses instead, or that it had earlier. May be empty.
    pub why: Text,
    /// Entry on the same axis that corresponds to the algorithm that Linux uses instead.
    pub near: Option<Text>,
}

impl Linux {
    /// Declares that Linux does not implement the algorithm, with an explanation.
    #[must_use]
    pub fn missing(why: impl Into<Text>) -> Missing {
        Missing {
            why: why.into(),
            near: None,
        }
    }
}

impl Missing {
    /// Names the entry on the same axis that corresponds to the algorithm that Linux uses instead.
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

/// Algorithm that Linux implements.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InLinux {
    /// Short description: the name of the algorithm in Linux, and the first kernel that has it.
    pub what: Text,
    /// Congestion control of the kernel, if the algorithm is one.
    pub control: Option<KernelControl>,
    /// Settings that the algorithm needs.
    pub settings: Vec<Setting>,
    /// Differences between Linux's algorithm and ours, one sentence each.
    pub differs: Vec<Text>,
    /// Parameters that can be set in Linux; all others are fixed there.
    pub knobs: Vec<Knob>,
    /// Parameters whose value in Linux differs from our dialect `linux`, with Linux's value.
    pub fixed: Vec<(Text, Text)>,
}

/// Congestion control of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelControl {
    /// Name of the control, as used with `TCP_CONGESTION`.
    pub name: Text,
    /// Module of the control; `None` if every kernel has the control.
    pub module: Option<Text>,
    /// First kernel that has the control.
    pub since: KernelVersion,
    /// Presence in a kernel with the default configuration: `Yes` if it is built in, `No` if it is a module.
    pub usual: Usual,
}

impl KernelControl {
    /// Returns `true` if a kernel with the default configuration has the control without loading a module.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.module.is_none() || self.usual == Usual::Yes
    }

    /// Returns the module to load, if the control is not usually built in.
    #[must_use]
    pub fn to_load(&self) -> Option<&Text> {
        self.module.as_ref().filter(|_| !self.is_built_in())
    }

    /// Returns the command, to be run as root, that makes all new connections use the control.
    #[must_use]
    pub fn command(&self) -> String {
        format!("sysctl -w net.ipv4.tcp_congestion_control={}", self.name)
    }
}

impl InLinux {
    /// Declares an algorithm that is always present and is not a congestion control. `what` is its name in Linux.
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

    /// Declares the congestion control `name`, which every kernel has.
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

    /// Declares the congestion control `name`, which is in `module` if it is not built in.
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

    /// Sets the first kernel that has the congestion control. The default is 2.6.13, which introduced modules for them.
    #[must_use]
    pub fn since(mut self, version: KernelVersion) -> Self {
        if let Some(control) = &mut self.control {
            control.since = version;
        }
        self
    }

    /// Records that the module is built in by default.
    #[must_use]
    pub fn built_in(mut self) -> Self {
        if let Some(control) = &mut self.control {
            control.usual = Usual::Yes;
        }
        self
    }

    /// Adds a setting that the algorithm needs and that is not Linux's default.
    #[must_use]
    pub fn changed(self, place: Place, value: impl Into<Text>) -> Self {
        self.setting(place, value, Usual::No)
    }

    /// Adds a setting that the algorithm needs and that is Linux's default.
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

    /// Adds a difference between Linux's algorithm and ours, as one sentence.
    #[must_use]
    pub fn differs(mut self, how: impl Into<Text>) -> Self {
        self.differs.push(how.into());
        self
    }

    /// Records that the parameter has `value` in Linux, but not in our dialect `linux`.
    #[must_use]
    pub fn fixed(mut self, parameter: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.fixed.push((parameter.into(), value.into()));
        self
    }

    /// Adds a parameter that can be set in Linux.
    #[must_use]
    pub fn knob(mut self, knob: Knob) -> Self {
        self.knobs.push(knob);
        self
    }

    /// Adds several parameters that can be set in Linux.
    #[must_use]
    pub fn knobs(mut self, knobs: impl IntoIterator<Item = Knob>) -> Self {
        self.knobs.extend(knobs);
        self
    }
}

/// Place of a setting in Linux.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Sysctl, such as `net.ipv4.tcp_sack`.
    Sysctl(Text),
    /// Parameter of a module; the module may be built in.
    Module {
        /// Name of the module.
        module: Text,
        /// Name of the parameter.
        parameter: Text,
    },
    /// Queueing discipline of the interface.
    Qdisc,
    /// Attribute of the route, such as `initcwnd`.
    Route(Text),
}

impl Place {
    /// Returns the place of the sysctl `key`.
    #[must_use]
    pub fn sysctl(key: impl Into<Text>) -> Self {
        Self::Sysctl(key.into())
    }

    /// Returns the place of a module's parameter.
    #[must_use]
    pub fn module(module: impl Into<Text>, parameter: impl Into<Text>) -> Self {
        let (module, parameter) = (module.into(), parameter.into());
        Self::Module { module, parameter }
    }

    /// Returns the file that contains the value, if there is one.
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

/// Shell command that prints the current default route of the machine, for `ip route change`, which does not accept all
/// words that `ip route show` prints.
pub const ROUTE: &str = "$(ip route show default | sed 's/ lock//g;s/ linkdown//;q')";

/// Shell command that prints the interface of the default route.
const INTERFACE: &str = r#""$(ip route show default | sed -n '1s/.* dev \([^ ]*\).*/\1/p')""#;

/// Setting in Linux: a place and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Place of the setting.
    pub place: Place,
    /// Value of the setting.
    pub value: Text,
    /// `Yes` if a kernel has this value by default.
    pub usual: Usual,
}

/// Marks a value that is a default of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// Linux's default.
    Yes,
    /// Not Linux's default.
    No,
}

impl Setting {
    /// Creates a setting that is not Linux's default.
    #[must_use]
    pub fn changed(place: Place, value: impl Into<Text>) -> Self {
        Self {
            place,
            value: value.into(),
            usual: Usual::No,
        }
    }

    /// Returns the command, for a root shell, that changes the setting.
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

/// Parameter that can be set in Linux.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Knob {
    /// Name of the parameter.
    pub parameter: Text,
    /// Place at which the parameter is set.
    pub place: Place,
    /// Form of the value at this place.
    pub scale: Scale,
}

/// Form of a value in the kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scale {
    /// Number multiplied by this factor. Only values that result in a whole number can be set.
    Times(f64),
    /// Duration in microseconds.
    Microseconds,
    /// Kernel values for these words; other words cannot be set.
    Words(Cow<'static, [(&'static str, &'static str)]>),
}

impl Knob {
    /// Returns a knob for a number. The kernel's value is the number multiplied by `factor`.
    #[must_use]
    pub fn number(parameter: impl Into<Text>, factor: f64, place: Place) -> Self {
        Self::new(parameter, place, Scale::Times(factor))
    }

    /// Returns a knob for a duration. The kernel's value is in microseconds.
    #[must_use]
    pub fn microseconds(parameter: impl Into<Text>, place: Place) -> Self {
        Self::new(parameter, place, Scale::Microseconds)
    }

    /// Returns a knob for a choice, with the kernel's value for each word.
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

    /// Returns the setting that gives the parameter `value`; `None` if the kernel cannot represent this value.
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

/// Returns `number` as text if it is a whole number that fits the kernel's integers.
fn whole(number: f64) -> Option<String> {
    /// Upper bound of the rounding error of a product of two decimal numbers.
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
    fn a_knob_sets_only_values_that_the_kernel_can_have() {
        let place = || Place::sysctl("net.ipv4.tcp_pacing_ca_ratio");
        let knob = Knob::number("pacing_avoidance", 100.0, place());
        let command = |value| knob.set(&value).map(|setting| setting.command());
        let wanted = "sysctl -w net.ipv4.tcp_pacing_ca_ratio=115";
        assert_eq!(command(Value::Real(1.15)).as_deref(), Some(wanted));
        // 1.155 is 115.5 %, which is not a whole percentage.
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
