//! Instructions of a work by source file, summed from the output of callgrind.
//!
//! Counts by function are of little use, because the compiler inlines functions into each other. The source lines of
//! inlined code are still known.

use std::collections::BTreeMap;

/// Instructions by source file.
#[derive(Debug, Default, PartialEq)]
pub struct Profile {
    files: BTreeMap<String, u64>,
}

/// Minimum share of a file in the table. Files with a smaller share are summed in one line.
const SHARE_MIN: f64 = 0.005;

impl Profile {
    /// Reads callgrind's output format, version 1. Costs follow the name of their file. The cost of a call is counted
    /// in the called function.
    pub fn read(text: &str) -> Self {
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        let mut profile = Self::default();
        let (mut file, mut called) = (String::new(), false);
        for line in text.lines() {
            if let Some((kind, name)) = line.split_once('=') {
                let is_file = matches!(kind, "fl" | "fi" | "fe");
                if is_file || matches!(kind, "cfi" | "cfl") {
                    let full = expand(name, &mut names);
                    if is_file {
                        file = full;
                    }
                }
                called |= kind == "calls";
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                let cost = line.split(' ').nth(1).and_then(|cost| cost.parse().ok());
                if !core::mem::take(&mut called) {
                    *profile.files.entry(short(&file)).or_default() += cost.unwrap_or(0);
                }
            }
        }
        profile
    }

    /// Returns the instructions in this profile minus those in `other`.
    pub fn since(&self, other: &Self) -> Self {
        let files = self.files.iter().map(|(file, &count)| {
            let before = other.files.get(file).copied().unwrap_or(0);
            (file.clone(), count.saturating_sub(before))
        });
        Self {
            files: files.collect(),
        }
    }

    /// Returns a table of the instructions per packet for each file, in decreasing order.
    pub fn table(&self, packets: u64) -> String {
        let total: u64 = self.files.values().sum();
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|&(_, &count)| core::cmp::Reverse(count));
        let mut rest = total;
        let mut text =
            "| source file | instructions per packet | share |\n| --- | --- | --- |\n".to_owned();
        let mut line = |file: &str, count: u64| {
            let per_packet = count as f64 / packets as f64;
            let share = 100.0 * count as f64 / total as f64;
            text += &format!("| {file} | {per_packet:.0} | {share:.1} % |\n");
        };
        for (file, &count) in files {
            if count as f64 >= SHARE_MIN * total as f64 {
                line(&format!("`{file}`"), count);
                rest -= count;
            }
        }
        line("all others", rest);
        line("together", total);
        text
    }
}

/// Expands a compressed name. At its first occurrence, the name follows its number in parentheses. Later occurrences
/// consist only of the number.
fn expand<'a>(name: &'a str, names: &mut BTreeMap<&'a str, String>) -> String {
    let Some((number, written)) = name.split_once(')') else {
        return name.to_owned();
    };
    if !written.is_empty() {
        names.insert(number, written.trim().to_owned());
    }
    names.get(number).cloned().unwrap_or_default()
}

/// Shortens a path of our sources to the path in the workspace, and replaces all other paths by one name.
fn short(file: &str) -> String {
    match file.split_once("/crates/").or_else(|| {
        let ours = file.strip_prefix("crates/")?;
        Some(("", ours))
    }) {
        Some((before, ours)) if !before.contains("registry") => ours.replacen("/src/", "/", 1),
        _ => "Rust's and other libraries".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_belong_to_the_file_named_before() {
        let text = "\
version: 1
events: Ir

fl=(1) /home/me/dupack/crates/net/src/link.rs
fn=(1) a
10 5
+2 7
fi=(2) /rustc/abc/library/core/src/option.rs
3 1
fe=(1)
* 2
cfi=(3) crates/tcp/src/rtt.rs
cfn=(2) b
calls=1 5
12 100
fl=(3)
fn=(2)
5 100
totals: 115
";
        let profile = Profile::read(text);
        let expected = [
            ("Rust's and other libraries", 1),
            ("net/link.rs", 14),
            ("tcp/rtt.rs", 100),
        ];
        let files = expected.map(|(file, count)| (file.to_owned(), count));
        assert_eq!(profile.files, BTreeMap::from(files));
        let table = profile.since(&Profile::default()).table(10);
        assert!(table.contains("| `tcp/rtt.rs` | 10 | 87.0 % |"), "{table}");
        assert!(table.contains("| together | 12 | 100.0 % |"), "{table}");
    }
}
