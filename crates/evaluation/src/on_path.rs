//! The suite on a user's own path: the scenarios that make sense on any path, with the user's path instead of their
//! own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dupack_engine::folder::OutputFolder;
use dupack_lab::path_file::PathFile;
use toml::{Table, Value};

use crate::error::EvaluationError;
use crate::suite::{CRITERIA, Suite};

/// Name of the folder of such a suite inside the card's folder.
pub const FOLDER: &str = "suite";

impl Suite {
    /// Returns a suite of the scenarios marked `on_path`, with the path and the endpoints of `file`. The application of
    /// `file` is not used: the flows always have data to send.
    ///
    /// # Errors
    /// If a recorded trace of the path cannot be read, or no scenario is marked.
    pub fn on_path(&self, file: &PathFile) -> Result<Self, EvaluationError> {
        let mut files = BTreeMap::new();
        let mut path = file.path.clone();
        let mut keep = |trace: &mut PathBuf, name: &str| -> Result<(), EvaluationError> {
            let text = std::fs::read_to_string(&*trace).map_err(|error| {
                EvaluationError::suite(format!("{} cannot be read: {error}", trace.display()))
            })?;
            *trace = PathBuf::from(name);
            files.insert(trace.clone(), text);
            Ok(())
        };
        if let Some(trace) = &mut path.trace {
            keep(trace, "path.trace")?;
        }
        if let Some(trace) = path.reverse.as_mut().and_then(|back| back.trace.as_mut()) {
            keep(trace, "path-back.trace")?;
        }
        let marked = self.scenarios.iter().filter(|scenario| scenario.on_path);
        let marked: Vec<&str> = marked.map(|scenario| scenario.name.as_str()).collect();
        for scenario in self.scenarios.iter().filter(|scenario| scenario.on_path) {
            let mut experiment = self.experiment(scenario)?;
            experiment.path = Some(path.clone());
            experiment.sender = file.sender;
            experiment.receiver = file.receiver;
            experiment.dialect = file.dialect;
            experiment.description = format!("On the path of {}.", file.source.name);
            // A sweep over parameters of the scenario's own path does not apply to this path.
            experiment.sweep.retain(|key, _| !key.starts_with("path."));
            let name = PathBuf::from(format!("{}.toml", scenario.name));
            files.insert(name, experiment.text());
        }
        let criteria = PathBuf::from(CRITERIA);
        let text = self.files.get(&criteria).map_or("", String::as_str);
        files.insert(criteria, only(text, &marked)?);
        Self::new(files)
    }

    /// Writes the files of the suite into the folder `suite` of `folder`, where [`Suite::read`] can read them.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn write(&self, folder: &OutputFolder) -> Result<PathBuf, EvaluationError> {
        for (name, text) in &self.files {
            let name = Path::new(FOLDER).join(name);
            folder.write(&name.to_string_lossy(), text.as_bytes())?;
        }
        Ok(folder.path().join(FOLDER))
    }
}

/// Returns `criteria.toml` reduced to the scenarios called `names` and their criteria and headings.
fn only(criteria: &str, names: &[&str]) -> Result<String, EvaluationError> {
    let wrong = |error: toml::de::Error| EvaluationError::suite(format!("{CRITERIA}: {error}"));
    let mut list: Table = toml::from_str(criteria).map_err(wrong)?;
    let is_of = |table: &Value, key: &str, names: &[&str]| {
        let name = table.get(key).and_then(Value::as_str);
        name.is_some_and(|name| names.contains(&name))
    };
    let retain = |list: &mut Table, key: &str, keep: &dyn Fn(&Value) -> bool| {
        if let Some(Value::Array(items)) = list.get_mut(key) {
            items.retain(keep);
        }
    };
    retain(&mut list, "scenario", &|table| is_of(table, "name", names));
    retain(&mut list, "criterion", &|table| {
        is_of(table, "scenario", names)
    });
    let kept = list
        .get("criterion")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let sections: Vec<&str> = { kept.iter() }
        .filter_map(|table| table.get("section").and_then(Value::as_str))
        .collect();
    retain(&mut list, "heading", &|table| {
        is_of(table, "section", &sections)
    });
    Ok(list.to_string())
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_lab::experiment::load::{Disk, Source};

    use super::*;

    #[test]
    fn what_makes_sense_on_any_path_is_asked_on_this_one() {
        let text =
            "dialect = \"rfc\"\n[path]\nrate = \"3Mbit/s\"\ndelay = \"70ms\"\nloss = \"1%\"\n";
        let source = Source::new("slow.toml", text);
        let file = PathFile::of(source, &Catalog::builtin(), &Disk).unwrap();
        let suite = Suite::builtin().on_path(&file).unwrap();
        let keys: Vec<&str> = suite.criteria.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "fairness",
                "harm-cubic",
                "harm-reno",
                "harm-loss",
                "harm-delay"
            ]
        );
        for scenario in &suite.scenarios {
            let experiment = suite.experiment(scenario).unwrap();
            assert_eq!(
                experiment.path.as_ref(),
                Some(&file.path),
                "{}",
                scenario.name
            );
            assert_eq!(experiment.dialect, file.dialect);
            assert!(!experiment.varies("path.buffer"), "{}", scenario.name);
        }
    }
}
