//! Conversion of a Python class into an entry of the catalog.

use std::sync::Arc;

use dupack_algorithms::catalog::{
    Axis, Catalog, Defaults, Draft, Entry, Home, Kind, Needs, ParameterSpec, Plugin, RegisterError,
    StackSpec, Text, Value, Values, Word,
};
use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;
use dupack_tcp::time::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::object::Class;
use super::{control, differentiation, recovery, response};

/// Prefix of the `sources` of an algorithm in Python. The prefix distinguishes such an algorithm from an algorithm in
/// Rust.
const SOURCES: &str = "python ";

/// Declaration of a class: the fields of `dupack._declare.Declaration`.
#[derive(FromPyObject)]
pub struct Declaration<'py> {
    /// Name of the axis.
    axis: String,
    name: String,
    aliases: Vec<String>,
    summary: String,
    citation: String,
    /// Source file of the class.
    file: String,
    /// Hash of the sources of the class.
    sources: String,
    /// Requirements on the receiver and on the connection, by the names of the fields of [`Needs`].
    needs: Vec<String>,
    algorithm: Bound<'py, PyType>,
    /// Callable that creates an instance.
    make: Bound<'py, PyAny>,
    /// Methods that the class overrides.
    overrides: Vec<String>,
    parameters: Vec<Parameter<'py>>,
}

/// A parameter: `dupack._declare.Declared`.
#[derive(FromPyObject)]
struct Parameter<'py> {
    name: String,
    doc: String,
    source: String,
    /// `choice`, `integer`, `real` or `time`.
    kind: String,
    low: Option<Bound<'py, PyAny>>,
    high: Option<Bound<'py, PyAny>>,
    unit: String,
    words: Vec<(String, String)>,
    /// Defaults in the dialects rfc, linux and ns2.
    defaults: (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>),
}

/// Entry for a class, on the axis of the trait of this class.
pub enum AnyEntry {
    Recovery(Entry<dyn Recovery>),
    Control(Entry<dyn CongestionControl>),
    Differentiation(Entry<dyn Differentiation>),
    Response(Entry<dyn Response>),
}

impl AnyEntry {
    /// Registers the entry. With `replaces`, the entry replaces the one of the same name.
    pub fn register(self, catalog: &mut Catalog, replaces: bool) -> Result<(), RegisterError> {
        fn put<P: Plugin + ?Sized>(
            catalog: &mut Catalog,
            entry: Entry<P>,
            replaces: bool,
        ) -> Result<(), RegisterError> {
            if replaces {
                catalog.withdraw(P::AXIS, entry.name());
            }
            catalog.register(entry)
        }
        match self {
            Self::Recovery(entry) => put(catalog, entry, replaces),
            Self::Control(entry) => put(catalog, entry, replaces),
            Self::Differentiation(entry) => put(catalog, entry, replaces),
            Self::Response(entry) => put(catalog, entry, replaces),
        }
    }
}

/// Creates the entry of a declared class.
pub fn entry_of(declaration: &Declaration<'_>) -> PyResult<AnyEntry> {
    let specs = declaration.parameters.iter().map(Parameter::spec);
    let specs = specs.collect::<PyResult<Vec<ParameterSpec>>>()?;
    let axis = Axis::ALL
        .into_iter()
        .find(|axis| axis.name() == declaration.axis);
    let axis =
        axis.ok_or_else(|| PyValueError::new_err(format!("unknown axis {}", declaration.axis)))?;
    let (name, file) = (declaration.name.clone(), declaration.file.clone());
    Ok(match axis {
        Axis::Recovery => {
            let class = declaration.class(recovery::METHODS)?;
            let draft = declaration.complete(Entry::recovery(name, file))?;
            AnyEntry::Recovery(draft.build_with(specs, move |values, context| {
                Box::new(recovery::Recovery::new(&class, values, context))
            }))
        }
        Axis::Control => {
            let class = declaration.class(control::METHODS)?;
            let draft = declaration.complete(Entry::control(name, file))?;
            AnyEntry::Control(draft.build_with(specs, move |values, context| {
                Box::new(control::Control::new(&class, values, context))
            }))
        }
        Axis::Differentiation => {
            let class = declaration.class(differentiation::METHODS)?;
            let draft = declaration.complete(Entry::differentiation(name, file))?;
            AnyEntry::Differentiation(draft.build_with(specs, move |values, context| {
                Box::new(differentiation::Differentiation::new(
                    &class, values, context,
                ))
            }))
        }
        Axis::Response => {
            let class = declaration.class(response::METHODS)?;
            let draft = declaration.complete(Entry::response(name, file))?;
            AnyEntry::Response(draft.build_with(specs, move |values, context| {
                Box::new(response::Response::new(&class, values, context))
            }))
        }
    })
}

/// Returns `true` if the stack contains an algorithm in Python.
pub fn is_python(stack: &StackSpec) -> bool {
    let is_ours = |home: &Home| matches!(home, Home::Named(text) if text.starts_with(SOURCES));
    stack.strangers().any(|entry| is_ours(&entry.home))
}

impl Declaration<'_> {
    fn complete<P: Plugin + ?Sized>(&self, draft: Draft<P, Values>) -> PyResult<Draft<P, Values>> {
        let needs = self.needs()?;
        let draft = draft
            .summary(self.summary.clone())
            .citation(self.citation.clone())
            .made_of(format!("{SOURCES}{}", self.sources))
            .needs(move |_| needs);
        let aliases = self.aliases.iter().cloned();
        Ok(aliases.fold(draft, Draft::alias))
    }

    fn needs(&self) -> PyResult<Needs> {
        let mut needs = Needs::NONE;
        for name in &self.needs {
            match name.as_str() {
                "sack" => needs.sack = true,
                "dsack" => needs.dsack = true,
                "order_echo" => needs.order_echo = true,
                "trigger_timestamps" => needs.trigger_timestamps = true,
                "counted_marks" => needs.counted_marks = true,
                "exact_echo" => needs.exact_echo = true,
                other => {
                    return Err(PyValueError::new_err(format!(
                        "needs: unknown need {other:?}"
                    )));
                }
            }
        }
        Ok(needs)
    }

    fn class(&self, methods: &[&str]) -> PyResult<Arc<Class>> {
        let overrides = methods
            .iter()
            .map(|name| self.overrides.iter().any(|own| own == name));
        Ok(Arc::new(Class {
            class: self.algorithm.clone().unbind(),
            make: self.make.clone().unbind(),
            name: self.algorithm.name()?.to_string(),
            overrides: overrides.collect(),
        }))
    }
}

impl Parameter<'_> {
    fn spec(&self) -> PyResult<ParameterSpec> {
        let unit = Text::Owned(self.unit.clone());
        let kind = match self.kind.as_str() {
            "choice" => Kind::Choice(self.words.iter().map(word).collect()),
            "integer" => Kind::Integer {
                min: self.bound(&self.low)?.extract()?,
                max: self.bound(&self.high)?.extract()?,
                unit,
            },
            "real" => Kind::Real {
                min: self.bound(&self.low)?.extract()?,
                max: self.bound(&self.high)?.extract()?,
                unit,
            },
            "time" => Kind::Time,
            _ => return Err(self.wrong()),
        };
        let (rfc, linux, ns2) = &self.defaults;
        let default = Defaults {
            rfc: self.value(&kind, rfc)?,
            linux: self.value(&kind, linux)?,
            ns2: self.value(&kind, ns2)?,
        };
        Ok(ParameterSpec::new(self.name.clone(), kind, default)
            .documented(self.doc.clone(), self.source.clone()))
    }

    fn value(&self, kind: &Kind, default: &Bound<'_, PyAny>) -> PyResult<Value> {
        Ok(match kind {
            Kind::Choice(_) => Value::Choice(Text::Owned(default.extract()?)),
            Kind::Integer { .. } => Value::Integer(default.extract()?),
            Kind::Real { .. } => Value::Real(default.extract()?),
            Kind::Time => {
                let nanos = (default.extract::<f64>()? * 1e9).round();
                Value::Time(Duration::from_nanos(nanos as u64))
            }
        })
    }

    fn bound<'a, 'py>(
        &self,
        bound: &'a Option<Bound<'py, PyAny>>,
    ) -> PyResult<&'a Bound<'py, PyAny>> {
        bound.as_ref().ok_or_else(|| self.wrong())
    }

    fn wrong(&self) -> PyErr {
        PyValueError::new_err(format!("{}: a {} lacks something", self.name, self.kind))
    }
}

fn word((word, meaning): &(String, String)) -> Word {
    Word {
        word: Text::Owned(word.clone()),
        meaning: Text::Owned(meaning.clone()),
    }
}
