//! Rules that mark a segment as lost, and reasons to send a segment.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use dupack_tcp::facts::{self, RuleWords};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Maximum number of rules that a process may define. The text of a rule is never freed.
const RULES_MOST: usize = 10_000;

/// Rule by which a segment was marked as lost.
#[pyclass(frozen, eq, hash, module = "dupack._native")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LossRule(pub facts::LossRule);

#[pymethods]
impl LossRule {
    #[classattr]
    const TIMEOUT: Self = Self(facts::LossRule::TIMEOUT);
    #[classattr]
    const PROBE: Self = Self(facts::LossRule::PROBE);
    #[classattr]
    const MARK: Self = Self(facts::LossRule::MARK);

    #[new]
    fn new(name: &str, meaning: &str) -> PyResult<Self> {
        if name.is_empty() || name.contains(char::is_whitespace) || meaning.is_empty() {
            return Err(PyValueError::new_err(format!(
                "expected a name of one word and a meaning, such as \
                 LossRule(\"third\", \"three duplicate ACKs\"); found {name:?} and {meaning:?}"
            )));
        }
        words(name, meaning).map(|words| Self(facts::LossRule::new(words)))
    }

    /// The unique name of the rule, one word.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Description of the evidence, for people.
    #[getter]
    fn meaning(&self) -> String {
        self.0.to_string()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    pub fn __repr__(&self) -> String {
        format!("LossRule({:?}, {:?})", self.0.name(), self.0.to_string())
    }

    fn __getnewargs__(&self) -> (&'static str, String) {
        (self.0.name(), self.0.to_string())
    }
}

/// Returns the text of a rule. The same name and meaning always give the same reference.
fn words(name: &str, meaning: &str) -> PyResult<&'static RuleWords> {
    static KNOWN: Mutex<Option<HashMap<(String, String), &'static RuleWords>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let key = (name.to_owned(), meaning.to_owned());
    if let Some(words) = known.get(&key) {
        return Ok(words);
    }
    if known.len() >= RULES_MOST {
        return Err(PyValueError::new_err(format!(
            "{RULES_MOST} rules have been made: make each rule once, outside the methods, and reuse it"
        )));
    }
    let words: &'static RuleWords = Box::leak(Box::new(RuleWords {
        name: key.0.clone().leak(),
        meaning: key.1.clone().leak(),
    }));
    known.insert(key, words);
    Ok(words)
}

/// Reason to send a segment.
#[pyclass(frozen, eq, module = "dupack._native")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendReason(pub facts::SendReason);

#[pymethods]
impl SendReason {
    #[classattr]
    const NEW_DATA: Self = Self(facts::SendReason::NewData);
    #[classattr]
    const LIMITED_TRANSMIT: Self = Self(facts::SendReason::LimitedTransmit);
    #[classattr]
    const HOLE_FILL: Self = Self(facts::SendReason::HoleFill);
    #[classattr]
    const RESCUE: Self = Self(facts::SendReason::Rescue);
    #[classattr]
    const TAIL_LOSS_PROBE: Self = Self(facts::SendReason::TailLossProbe);
    #[classattr]
    const WINDOW_PROBE: Self = Self(facts::SendReason::WindowProbe);
    #[classattr]
    const PATH_PROBE: Self = Self(facts::SendReason::PathProbe);

    /// Retransmission of a segment that `rule` marked as lost.
    #[staticmethod]
    fn retransmit(rule: &LossRule) -> Self {
        Self(facts::SendReason::Retransmit(rule.0))
    }

    /// The rule that marked the segment as lost, or `None`.
    #[getter]
    const fn rule(&self) -> Option<LossRule> {
        match self.0 {
            facts::SendReason::Retransmit(rule) => Some(LossRule(rule)),
            _ => None,
        }
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<SendReason: {}>", self.0)
    }
}

impl SendReason {
    /// Reads a reason. A loss rule is also valid: it stands for a retransmission of a segment that the rule marked as
    /// lost.
    pub fn read(value: &Bound<'_, PyAny>) -> PyResult<facts::SendReason> {
        if let Ok(reason) = value.cast::<Self>() {
            return Ok(reason.get().0);
        }
        if let Ok(rule) = value.cast::<LossRule>() {
            return Ok(facts::SendReason::Retransmit(rule.get().0));
        }
        let kind = value.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "why: expected a dupack.SendReason or a dupack.LossRule, found a {kind}"
        )))
    }
}
