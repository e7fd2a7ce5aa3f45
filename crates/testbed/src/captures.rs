//! Names of the capture files of each run.

use std::path::PathBuf;

use dupack_packet::Snap;
use dupack_wire::path::{CaptureFiles, Captured};

use super::Passage;

/// Folder for captures.
#[derive(Clone, Debug)]
pub struct CaptureFolder {
    /// Path of the folder. The folder must exist and must not contain the capture files.
    pub path: PathBuf,
    /// Part of each packet to keep.
    pub snap: Snap,
}

impl CaptureFolder {
    /// Returns the files of the run called `name`.
    pub(super) fn files(&self, name: &str) -> CaptureFiles {
        let file = |end: &str| self.path.join(format!("{name}.{end}.pcapng"));
        CaptureFiles {
            near: file(NEAR),
            far: file(FAR),
            snap: self.snap,
        }
    }
}

/// Names of the near end, from which the data comes, and of the far end.
const NEAR: &str = "sender";
const FAR: &str = "receiver";

/// Converts `texts` to distinct file names: words of letters, digits and dots, joined by dashes.
pub(super) fn names(texts: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for text in texts {
        let name = name(text);
        let mut free = name.clone();
        let mut number = 2_u32;
        while names.contains(&free) {
            free = format!("{name}-{number}");
            number += 1;
        }
        names.push(free);
    }
    names
}

fn name(text: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let words = text.split(|c| !kept(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Returns a warning if packets are missing from the captures. `name` describes the run.
pub(super) fn complaint(passage: &Passage, name: &str) -> Option<String> {
    let captures = passage.path.captures?;
    if captures.missed() == 0 {
        return None;
    }
    let of = |end: &str, Captured { written, missed }| {
        format!("{missed} of {} packets at the {end}", written + missed)
    };
    Some(format!(
        "{name}: the captures are incomplete because the disk did not keep up: {} and {} are missing.",
        of(NEAR, captures.near),
        of(FAR, captures.far),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_differ() {
        let texts = [
            "le/westwood",
            "kernel:cubic",
            "fack(limited_transmit=on)/reno",
            "fack(limited-transmit=on)/reno",
            "loss 2.5%, delay 10ms",
        ];
        assert_eq!(
            names(&texts.map(str::to_owned)),
            [
                "le-westwood",
                "kernel-cubic",
                "fack-limited-transmit-on-reno",
                "fack-limited-transmit-on-reno-2",
                "loss-2.5-delay-10ms",
            ]
        );
    }
}
