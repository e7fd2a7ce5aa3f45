//! Description of the first difference between two experiments, for readers.

use serde_json::Value;

use super::Experiment;

impl Experiment {
    /// Returns the first key whose value differs from `other`, with both values, or `None` if the experiments are
    /// equal.
    ///
    /// ```
    /// use dupack_lab::experiment::{Experiment, Seeds};
    ///
    /// let one = Experiment::new(vec!["sack/reno".to_owned()]);
    /// let mut other = one.clone();
    /// assert_eq!(one.difference(&other), None);
    /// other.seeds = Seeds::Count(7);
    /// let words = other.difference(&one).unwrap();
    /// assert_eq!(words, "seeds is 7, and was 10");
    /// ```
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let values = [self, other].map(|e| serde_json::to_value(e).unwrap_or_default());
        let [ours, theirs] = &values;
        // If no serialised value differs, there is no difference for a reader of the file.
        first("", Some(ours), Some(theirs))
    }
}

fn first(key: &str, ours: Option<&Value>, theirs: Option<&Value>) -> Option<String> {
    if ours == theirs {
        return None;
    }
    if let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) {
        let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
        names.sort();
        names.dedup();
        return names.into_iter().find_map(|name| {
            let below = match key {
                "" => name.clone(),
                key => format!("{key}.{name}"),
            };
            first(&below, ours.get(name), theirs.get(name))
        });
    }
    let words = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "not set".to_owned(),
        Some(value) => value.to_string(),
    };
    Some(format!(
        "{key} is {}, and was {}",
        words(ours),
        words(theirs)
    ))
}
