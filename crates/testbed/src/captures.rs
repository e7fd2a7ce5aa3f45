//! Which file holds the capture of which run.

use std::path::PathBuf;

use dupack_packet::Snap;
use dupack_wire::path::{CaptureFiles, Captured};

use super::Passage;

/// Where captures go.
#[derive(Clone, Debug)]
pub struct CaptureFolder {
    /// The folder. It is there, and has none of the files yet.
    pub path: PathBuf,
    /// How much of each packet is kept.
    pub snap: Snap,
}

impl CaptureFolder {
    /// The files of the run called `name`.
    pub(super) fn files(&self, name: &str) -> CaptureFiles {
        let file = |end: &str| self.path.join(format!("{name}.{end}.pcapng"));
        CaptureFiles {
            near: file(NEAR),
            far: file(FAR),
            snap: self.snap,
        }
    }
}

/// The data comes from the near end.
const NEAR: &str = "sender";
const FAR: &str = "receiver";

/// Names for files: the words of `texts`, made of letters, digits, dots and dashes, and no two
/// the same.
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

/// What is to be said of captures that miss packets; `name` is the run's, in words.
pub(super) fn complaint(passage: &Passage, name: &str) -> Option<String> {
    let captures = passage.path.captures?;
    if captures.missed() == 0 {
        return None;
    }
    let of = |end: &str, Captured { written, missed }| {
        format!("{missed} of {} packets at the {end}", written + missed)
    };
    Some(format!(
        "{name}: the captures are not whole, as the disk did not keep up: {} and {} are missing.",
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
