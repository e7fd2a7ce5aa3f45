//! Deployment of a whole stack on Linux: the parts that Linux implements, and how to enable them.
//!
//! A stack can be enabled only if all its parts can be enabled together: Linux implements each of them, the value of
//! each parameter is Linux's own or can be set by a knob, and no two parts need different values of the same setting. A
//! parameter that was not given has Linux's value, in every dialect.

use core::fmt;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::axis::Axis;
use super::dialect::Dialect;
use super::entry::Description;
use super::linux::{InLinux, KernelControl, Linux, Place, ROUTE, Setting, Usual};
use super::parameter::{Text, Value};
use super::registry::Catalog;
use super::stack::StackSpec;

/// Deployment of a stack on Linux.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Deployment {
    /// Parts of the stack, in the order of the axes.
    pub parts: Vec<Component>,
    /// Reasons why the stack cannot be enabled; empty if it can.
    pub obstacles: Vec<Obstacle>,
    /// Settings that the stack needs, with one entry for each place.
    pub settings: Vec<Setting>,
    /// Congestion control of the kernel, if Linux implements the stack's.
    pub control: Option<KernelControl>,
}

/// Part of a stack, and its availability in Linux.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Component {
    /// Axis of the part.
    pub axis: Axis,
    /// Name of the part.
    pub name: Text,
    /// Availability of the part in Linux.
    pub linux: Linux,
}

/// Reason why a stack cannot be enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// Linux does not implement one of the algorithms.
    Missing {
        /// Axis of the algorithm.
        axis: Axis,
        /// Name of the algorithm.
        name: Text,
        /// Explanation; may be empty.
        why: Text,
    },
    /// A parameter has a value that cannot be set in Linux.
    Fixed {
        /// Name of the algorithm.
        name: Text,
        /// Name of the parameter.
        parameter: Text,
        /// Value that was given.
        value: String,
        /// Linux's value.
        linux: String,
    },
    /// Two parts need different values of the same setting.
    Clash {
        /// Place of the setting.
        place: String,
        /// One value.
        one: Text,
        /// The other value.
        other: Text,
    },
    /// No part is a congestion control of the kernel.
    NoControl,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { axis, name, why } => {
                write!(f, "Linux does not have the {} `{name}`", axis.noun())?;
                if why.is_empty() {
                    return Ok(());
                }
                write!(f, ": {why}")
            }
            Self::Fixed {
                name,
                parameter,
                value,
                linux,
            } => write!(
                f,
                "nothing in Linux sets {name}({parameter}={value}): its value there is {linux}"
            ),
            Self::Clash { place, one, other } => write!(
                f,
                "its parts conflict: one needs {place} to be {one}, another {other}"
            ),
            Self::NoControl => f.write_str("no part of it is a congestion control of the kernel"),
        }
    }
}

impl Deployment {
    /// Returns the deployment of `stack`.
    #[must_use]
    pub fn of(stack: &StackSpec) -> Self {
        let mut all = Self {
            parts: Vec::new(),
            obstacles: Vec::new(),
            settings: Vec::new(),
            control: None,
        };
        for (description, given) in stack.described() {
            all.take(description, &given);
        }
        if all.control.is_none() && all.is_possible() {
            all.obstacles.push(Obstacle::NoControl);
        }
        all
    }

    /// Returns `true` if the stack can be enabled.
    #[must_use]
    pub const fn is_possible(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Returns the differences between Linux's algorithms and ours, with the name of each algorithm.
    pub fn differences(&self) -> impl Iterator<Item = (&str, &str)> + '_ {
        self.parts.iter().flat_map(|part| {
            let differs = match &part.linux {
                Linux::Has(has) => has.differs.as_slice(),
                Linux::Missing(_) => &[],
            };
            differs.iter().map(|how| (&*part.name, &**how))
        })
    }

    /// Returns the commands, to be run as root, that enable the stack for all new connections. The list is empty if
    /// this is not possible.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let Some(control) = self.usable_control() else {
            return Vec::new();
        };
        let mut commands = self.preparations();
        commands.push(control.command());
        commands
    }

    /// Returns the commands that must run before a connection, a route or the whole machine can use the congestion
    /// control: they load its module and change the other settings.
    #[must_use]
    pub fn preparations(&self) -> Vec<String> {
        let module = self.control.as_ref().and_then(KernelControl::to_load);
        let module = module.map(|module| format!("modprobe {module}"));
        let settings = self.settings.iter().map(Setting::command);
        module.into_iter().chain(settings).collect()
    }

    /// Returns the command that makes the connections over one route use the congestion control. The preparations must
    /// run first.
    #[must_use]
    pub fn route_command(&self) -> Option<String> {
        let control = self.usable_control()?;
        Some(format!("ip route change {ROUTE} congctl {}", control.name))
    }

    /// Returns the congestion control if a kernel with default settings behaves like the stack. The kernel of a new
    /// network namespace has default settings, except for the parameters of modules.
    #[must_use]
    pub fn counterpart(&self) -> Option<&KernelControl> {
        let as_usual = |setting: &Setting| {
            setting.usual == Usual::Yes || matches!(setting.place, Place::Module { .. })
        };
        let all_as_usual = self.settings.iter().all(as_usual);
        self.usable_control().filter(|_| all_as_usual)
    }

    /// Returns the commands that show whether the stack is enabled: they print the settings, and the congestion control
    /// of every connection.
    #[must_use]
    pub fn checks(&self) -> Vec<String> {
        if !self.is_possible() {
            return Vec::new();
        }
        let mut keys = String::from("sysctl");
        let mut checks = Vec::new();
        for setting in &self.settings {
            match &setting.place {
                Place::Sysctl(key) => keys += &format!(" {key}"),
                Place::Module { .. } => {
                    let file = setting.place.file().unwrap_or_default();
                    checks.push(format!("cat {file}"));
                }
                Place::Qdisc => checks.push("tc qdisc show".to_string()),
                Place::Route(_) => checks.push("ip route show".to_string()),
            }
        }
        checks.insert(0, keys + " net.ipv4.tcp_congestion_control");
        checks.push("ss -tio".to_string());
        checks
    }

    /// Returns the call by which a program selects the congestion control, after the preparations.
    #[must_use]
    pub fn socket_option(&self) -> Option<String> {
        let name = &self.usable_control()?.name;
        let length = name.len();
        Some(format!(
            "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"{name}\", {length})"
        ))
    }

    fn usable_control(&self) -> Option<&KernelControl> {
        self.control.as_ref().filter(|_| self.is_possible())
    }

    fn take(&mut self, description: &Description, given: &[(usize, &Value)]) {
        let name = &description.name;
        self.parts.push(Component {
            axis: description.axis,
            name: name.clone(),
            linux: description.linux.clone(),
        });
        let has = match &description.linux {
            Linux::Has(has) => has,
            Linux::Missing(missing) => {
                self.obstacles.push(Obstacle::Missing {
                    axis: description.axis,
                    name: name.clone(),
                    why: missing.why.clone(),
                });
                return;
            }
        };
        if let Some(control) = &has.control {
            self.control = Some(control.clone());
        }
        let turned = self.turned(description, has, given);
        let own = has.settings.iter();
        // The value that a parameter sets replaces the usual value.
        let usual = own.filter(|own| turned.iter().all(|new| new.place != own.place));
        let usual: Vec<Setting> = usual.cloned().collect();
        for setting in usual.into_iter().chain(turned) {
            self.set(setting);
        }
    }

    /// Returns the settings for the parameters that differ from Linux's, and adds an obstacle for each parameter that
    /// cannot be set.
    fn turned(
        &mut self,
        description: &Description,
        has: &InLinux,
        given: &[(usize, &Value)],
    ) -> Vec<Setting> {
        let mut turned = Vec::new();
        for (index, value) in given {
            let spec = &description.parameters[*index];
            let mut fixed = has.fixed.iter();
            let fixed = fixed.find(|(name, _)| *name == spec.name);
            let usual = match fixed {
                Some((_, value)) => value.to_string(),
                None => spec.default.of(Dialect::Linux).to_string(),
            };
            if value.to_string() == usual {
                continue;
            }
            let mut knobs = has.knobs.iter();
            let knob = knobs.find(|knob| knob.parameter == spec.name);
            match knob.and_then(|knob| knob.set(value)) {
                Some(setting) => turned.push(setting),
                None => self.obstacles.push(Obstacle::Fixed {
                    name: description.name.clone(),
                    parameter: spec.name.clone(),
                    value: value.to_string(),
                    linux: usual,
                }),
            }
        }
        turned
    }

    fn set(&mut self, setting: Setting) {
        let mut known = self.settings.iter();
        let Some(before) = known.find(|known| known.place == setting.place) else {
            self.settings.push(setting);
            return;
        };
        if before.value != setting.value {
            let clash = Obstacle::Clash {
                place: setting.place.to_string(),
                one: before.value.clone(),
                other: setting.value,
            };
            self.obstacles.push(clash);
        }
    }
}

/// Deployment of the stacks of a catalog.
impl Catalog {
    /// Returns every stack with default parameters that can be enabled on Linux, in the order of the recoveries.
    #[must_use]
    pub fn deployable(&self) -> Vec<StackSpec> {
        let there = |axis| -> Vec<&Description> {
            let on_axis = self.on(axis);
            on_axis
                .filter(|known| matches!(known.linux, Linux::Has(_)))
                .collect()
        };
        let [recoveries, controls, differentiations, responses] = Axis::ALL.map(there);
        let mut stacks = Vec::new();
        for recovery in &recoveries {
            for control in &controls {
                for differentiation in &differentiations {
                    for response in &responses {
                        let parts = [recovery, control, differentiation, response];
                        let text = parts.map(|part| &*part.name).join("/");
                        stacks.extend(StackSpec::parse(&text, self).ok());
                    }
                }
            }
        }
        stacks.retain(|stack| Deployment::of(stack).is_possible());
        stacks
    }

    /// Returns the stack with default parameters that can be enabled and is closest to `stack`: each part that Linux
    /// does not implement is replaced by the entry that it names, or by the algorithm that does nothing. Returns `None`
    /// if a part has no replacement, if the result cannot be enabled, or if the result is `stack` itself.
    #[must_use]
    pub fn nearest_deployable(&self, stack: &StackSpec) -> Option<StackSpec> {
        let stands_for = |axis: Axis| {
            let description = self.find(axis, stack.name(axis))?;
            match &description.linux {
                Linux::Has(_) => Some(&*description.name),
                Linux::Missing(missing) => missing.near.as_deref().or_else(|| axis.null()),
            }
        };
        let mut names = Vec::new();
        for axis in Axis::ALL {
            names.push(stands_for(axis)?);
        }
        let near = StackSpec::parse(&names.join("/"), self).ok()?;
        (near != *stack && Deployment::of(&near).is_possible()).then_some(near)
    }
}
