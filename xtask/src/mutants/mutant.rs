//! A mutant, as cargo-mutants lists it, and what of it stays when the file around it changes.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

/// A change to one place in the sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// As cargo-mutants names it: `crates/tcp/src/rtt.rs:95:20: replace < with <= in Rtt::sample`.
    pub name: String,
    /// The crate that it is in, such as `dupack-tcp`.
    pub package: String,
    /// Its file, from the workspace's root.
    pub file: String,
    /// The line of code that it changes, or nothing if it replaces a whole function.
    pub code: String,
    /// The same as long as the function around it is.
    pub key: u64,
}

/// What cargo-mutants says of one.
#[derive(Deserialize)]
struct Listed {
    name: String,
    package: String,
    file: String,
    function: Option<Function>,
    span: Span,
    replacement: String,
    genre: String,
}

#[derive(Deserialize)]
struct Function {
    function_name: String,
    span: Span,
}

#[derive(Clone, Copy, Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Both count from 1.
#[derive(Clone, Copy, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

/// What cargo-mutants calls the replacement of a function's body.
const WHOLE_FUNCTION: &str = "FnValue";

/// Reads what `cargo mutants --list --json` printed of the sources in `tree`.
///
/// # Errors
/// If that is something else, or a file cannot be read.
pub fn read(json: &str, tree: &Path) -> Result<Vec<Mutant>, String> {
    let listed: Vec<Listed> = serde_json::from_str(json)
        .map_err(|e| format!("cargo-mutants lists what cannot be read: {e}"))?;
    let mut texts: HashMap<String, Vec<String>> = HashMap::new();
    let mut mutants = Vec::with_capacity(listed.len());
    for one in listed {
        if !texts.contains_key(&one.file) {
            let path = tree.join(&one.file);
            let text = fs::read_to_string(&path)
                .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            let lines = text.lines().map(str::to_owned).collect();
            texts.insert(one.file.clone(), lines);
        }
        mutants.push(Mutant::of(one, &texts));
    }
    Ok(mutants)
}

impl Mutant {
    fn of(listed: Listed, texts: &HashMap<String, Vec<String>>) -> Self {
        let lines = texts.get(&listed.file).map_or(&[][..], Vec::as_slice);
        let Place { line, column } = listed.span.start;
        let changed = lines.get(line.wrapping_sub(1));
        let changed = changed.map_or("", |line| line.trim());
        let (function, around, first) = match &listed.function {
            Some(function) => {
                let Span { start, end } = function.span;
                let last = end.line.min(lines.len());
                let body = lines.get(start.line.saturating_sub(1)..last);
                let body = body.unwrap_or_default().join("\n");
                (&*function.function_name, body, start.line)
            }
            None => ("", changed.to_owned(), line),
        };
        let within = line.saturating_sub(first);
        let key = [
            &*listed.file,
            function,
            &around,
            &format!("{within}:{column}"),
            &listed.genre,
            &listed.replacement,
        ];
        let whole = listed.genre == WHOLE_FUNCTION;
        Self {
            code: if whole { "" } else { changed }.to_owned(),
            key: xxh3_64(key.join("\0").as_bytes()),
            name: listed.name,
            package: listed.package,
            file: listed.file,
        }
    }

    /// What it changes, without where: by this a reason names it.
    pub fn change(&self) -> String {
        let what = self.name.splitn(4, ':').nth(3).unwrap_or(&self.name).trim();
        match self.code.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {}", self.code),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// One of a file, with a key.
    pub fn mutant(file: &str, key: u64) -> Mutant {
        Mutant {
            name: format!("{file}:{key}:5: replace < with <= in f"),
            package: "dupack-tcp".to_owned(),
            file: file.to_owned(),
            code: "a < b".to_owned(),
            key,
        }
    }

    /// A list of one mutant in a function that begins on line `first`.
    fn listed(first: usize) -> Listed {
        let place = |line, column| Place { line, column };
        Listed {
            name: format!("a.rs:{}:7: replace < with <= in f", first + 1),
            package: "dupack-tcp".to_owned(),
            file: "a.rs".to_owned(),
            function: Some(Function {
                function_name: "f".to_owned(),
                span: Span {
                    start: place(first, 1),
                    end: place(first + 2, 2),
                },
            }),
            span: Span {
                start: place(first + 1, 7),
                end: place(first + 1, 8),
            },
            replacement: "<=".to_owned(),
            genre: "BinaryOperator".to_owned(),
        }
    }

    fn key(text: &str, first: usize) -> u64 {
        let lines = text.lines().map(str::to_owned).collect();
        let texts = HashMap::from([("a.rs".to_owned(), lines)]);
        Mutant::of(listed(first), &texts).key
    }

    const FUNCTION: &str = "fn f() -> bool {\n    a < b\n}\n";

    #[test]
    fn a_key_stays_while_the_function_stays() {
        let here = key(FUNCTION, 1);
        let further_down = key(&format!("// More.\n\n{FUNCTION}"), 3);
        assert_eq!(here, further_down);
        let changed = FUNCTION.replace("b", "c");
        assert_ne!(here, key(&changed, 1));
    }

    #[test]
    fn a_change_is_told_without_its_place() {
        let told = mutant("a.rs", 7).change();
        assert_eq!(told, "replace < with <= in f: a < b");
    }

    #[test]
    fn what_cargo_mutants_lists_is_read() {
        let text = r#"[{"name": "src/lib.rs:1:1: replace main with ()", "package": "xtask", "file": "src/lib.rs",
            "function": {"function_name": "main", "return_type": "", "span":
            {"start": {"line": 1, "column": 1}, "end": {"line": 2, "column": 1}}},
            "span": {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 9}},
            "replacement": "()", "genre": "FnValue", "diff": ""}]"#;
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), "fn main() {\n}\n").unwrap();
        let read = read(text, folder.path()).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].change(), "replace main with ()");
    }
}
