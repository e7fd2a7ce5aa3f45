//! What of a whole stack Linux has, and how it is told to use it.
//!
//! A stack can be turned on only if all its parts are there together: each is in Linux, the values
//! of their parameters are Linux's own or have something that sets them, and no two of them want
//! the same setting to be different. Parameters that were not given count as Linux's, whatever the
//! dialect.

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

/// What of a stack Linux has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Deployment {
    /// Its parts, axis by axis.
    pub parts: Vec<Part>,
    /// Why it cannot be turned on: nothing, if it can.
    pub obstacles: Vec<Obstacle>,
    /// What must be set, each place once.
    pub settings: Vec<Setting>,
    /// The kernel's congestion control, if Linux has the stack's.
    pub control: Option<KernelControl>,
}

/// An entry of a stack, and what of it Linux has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// Its axis.
    pub axis: Axis,
    /// Its name.
    pub name: Text,
    /// What of it Linux has.
    pub linux: Linux,
}

/// Why a stack cannot be turned on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// Linux does not have one of its algorithms.
    Missing {
        /// On which axis it is.
        axis: Axis,
        /// Its name.
        name: Text,
        /// What is to be said of that. May be empty.
        why: Text,
    },
    /// A parameter has a value that nothing in Linux sets.
    Fixed {
        /// The algorithm.
        name: Text,
        /// The parameter.
        parameter: Text,
        /// The value that was given.
        value: String,
        /// Linux's.
        linux: String,
    },
    /// Two of its parts want the same setting to be different.
    Clash {
        /// What is set.
        place: String,
        /// The one value.
        one: Text,
        /// The other.
        other: Text,
    },
    /// No part of it is a congestion control of the kernel.
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
                "nothing in Linux sets {name}({parameter}={value}): there it is {linux}"
            ),
            Self::Clash { place, one, other } => write!(
                f,
                "its parts do not go together: one needs {place} to be {one}, another {other}"
            ),
            Self::NoControl => f.write_str("no part of it is a congestion control of the kernel"),
        }
    }
}

impl Deployment {
    /// Of `stack`.
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

    /// Whether it can be turned on.
    #[must_use]
    pub const fn is_possible(&self) -> bool {
        self.obstacles.is_empty()
    }

    /// Where Linux's algorithms differ from ours, with the name of each.
    pub fn differences(&self) -> impl Iterator<Item = (&str, &str)> + '_ {
        self.parts.iter().flat_map(|part| {
            let differs = match &part.linux {
                Linux::Has(has) => has.differs.as_slice(),
                Linux::Missing(_) => &[],
            };
            differs.iter().map(|how| (&*part.name, &**how))
        })
    }

    /// What turns it on for all new connections, as root; nothing, if that is not possible.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let Some(control) = self.usable_control() else {
            return Vec::new();
        };
        let mut commands = self.preparations();
        commands.push(control.command());
        commands
    }

    /// What must be so before a connection, a route or the whole machine takes the congestion
    /// control: its module, and the other settings.
    #[must_use]
    pub fn preparations(&self) -> Vec<String> {
        let module = self.control.as_ref().and_then(KernelControl::to_load);
        let module = module.map(|module| format!("modprobe {module}"));
        let settings = self.settings.iter().map(Setting::command);
        module.into_iter().chain(settings).collect()
    }

    /// What has the connections over one route take the congestion control, after the preparations.
    #[must_use]
    pub fn route_command(&self) -> Option<String> {
        let control = self.usable_control()?;
        Some(format!("ip route change {ROUTE} congctl {}", control.name))
    }

    /// The congestion control, where connections of a kernel that was told nothing else do what the
    /// stack does: those of a new network namespace, in which only modules have what was set.
    #[must_use]
    pub fn counterpart(&self) -> Option<&KernelControl> {
        let as_usual = |setting: &Setting| {
            setting.usual == Usual::Yes || matches!(setting.place, Place::Module { .. })
        };
        let all_as_usual = self.settings.iter().all(as_usual);
        self.usable_control().filter(|_| all_as_usual)
    }

    /// What shows that it is on: the settings, and the congestion control of every connection.
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

    /// The call by which a program takes the congestion control, after the preparations.
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
        self.parts.push(Part {
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
        // What a parameter sets takes the place of the usual value.
        let usual = own.filter(|own| turned.iter().all(|new| new.place != own.place));
        let usual: Vec<Setting> = usual.cloned().collect();
        for setting in usual.into_iter().chain(turned) {
            self.set(setting);
        }
    }

    /// What sets the parameters that are not Linux's; an obstacle for each that nothing sets.
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

/// What of a catalog Linux has.
impl Catalog {
    /// Every stack of default parameters that can be turned on in Linux, recovery by recovery.
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

    /// The stack of default parameters that can be turned on and is nearest to `stack`, as its parts
    /// say; nothing, if they do not say enough, or it is that stack itself.
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
