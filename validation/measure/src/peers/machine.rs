//! Description of the machine on which a comparison runs, and of its load.

use std::fs;
use std::process::Command;

use dupack_build::output;

/// Description of the machine.
pub struct Machine {
    processor: String,
    processors: usize,
    memory: String,
    system: String,
    date: String,
    /// Load average over one minute at the start of the comparison.
    load: f64,
}

/// Load average above which times depend more on the load of the machine than on the simulators.
const LOAD_MAX: f64 = 0.5;

impl Machine {
    /// Describes this machine.
    pub fn here() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let said = |program: &str, words: &[&str]| {
            let said = output(Command::new(program).args(words));
            said.map_or("unknown".to_owned(), |(out, _)| out.trim().to_owned())
        };
        let load = read("/proc/loadavg");
        let load = load.split(' ').next().and_then(|load| load.parse().ok());
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory: memory(&field(&read("/proc/meminfo"), "MemTotal")),
            system: said("uname", &["-sr"]),
            date: said("date", &["-u", "+%Y-%m-%d"]),
            load: load.unwrap_or(f64::NAN),
        }
    }

    /// Returns a warning if the machine is not quiet.
    pub fn warning(&self) -> Option<String> {
        let busy = self.load > LOAD_MAX;
        busy.then(|| {
            format!(
                "the machine is busy (load {:.2}): times will be too long",
                self.load
            )
        })
    }

    /// Returns the lines of the page about the machine.
    pub fn lines(&self) -> [String; 3] {
        [
            format!("on {}, load {:.2} at the start", self.date, self.load),
            format!(
                "{}, {} processors, memory {}",
                self.processor, self.processors, self.memory
            ),
            self.system.clone(),
        ]
    }
}

/// Returns the text after `name` and a colon in the first line that begins with `name`.
fn field(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':'));
    value.map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

/// Converts `24684084 kB` to GB.
fn memory(text: &str) -> String {
    let kb = text
        .strip_suffix(" kB")
        .and_then(|kb| kb.parse::<f64>().ok());
    kb.map_or("unknown".to_owned(), |kb| {
        format!("{:.0} GB", kb * 1024.0 / 1e9)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_are_found() {
        let text = "processor\t: 0\nmodel name\t: Some CPU\nmodel name\t: Another\n";
        assert_eq!(field(text, "model name"), "Some CPU");
        assert_eq!(field(text, "MemTotal"), "unknown");
        assert_eq!(memory("24684084 kB"), "25 GB");
        assert_eq!(memory("unknown"), "unknown");
    }
}
