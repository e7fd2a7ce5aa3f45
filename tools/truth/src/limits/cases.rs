//! Stalls of a known kind, which are caused by dropping packets or by stopping one end.

use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_net::flow::Reader;
use dupack_tcp::time::Duration;

use super::tape::{End, Tape};

/// A transfer with stalls of known kinds.
pub struct Case {
    pub name: &'static str,
    stack: &'static str,
    /// Part of the experiment in addition to its rate and delay.
    text: &'static str,
    reader: Reader,
    /// Kinds of the stalls in order of time. If there are many stalls, only the first ones are listed.
    pub kinds: &'static [StallKind],
}

/// Response of 30 full segments, which takes three flights.
const ANSWER: &str = "[[flows]]\nwrites = [{ bytes = \"43440B\" }]";

const fn case(name: &'static str, text: &'static str, kinds: &'static [StallKind]) -> Case {
    Case {
        name,
        stack: "sack/reno",
        text,
        reader: Reader::AtOnce,
        kinds,
    }
}

/// Returns all cases. `BULK` and `ANSWER` are placeholders for the data that is sent.
pub fn all() -> Vec<Case> {
    use StallKind as K;
    vec![
        case(
            "the last segments of an answer are lost",
            "drop = [\"28-29\"]\nANSWER",
            &[K::TailOpen],
        ),
        case(
            "these segments are lost, and so is the first retransmission by the timer",
            "drop = [\"28-29\", \"28#2\"]\nANSWER",
            &[K::TailOpen, K::TimeoutDouble],
        ),
        case(
            "these segments are lost during a repair",
            "drop = [\"20\", \"28-29\"]\nANSWER",
            &[K::TailRecovery],
        ),
        Case {
            // The SACK recovery of Linux detects a lost retransmission by later SACK blocks, so this case uses NewReno.
            stack: "newreno/reno",
            ..case(
                "a fast retransmission is lost",
                "drop = [\"200\", \"200#2\"]\n[receiver]\nbuffer = \"20000B\"\nBULK",
                &[K::FastDouble],
            )
        },
        case(
            "everything is lost for a while",
            "drop = [\"2s..2.1s\"]\nBULK",
            &[K::ContinuousLoss],
        ),
        case(
            "everything is lost for a second",
            "drop = [\"2s..3s\"]\nBULK",
            &[K::ContinuousLoss, K::TimeoutDouble],
        ),
        case(
            "a flight of three is lost",
            "drop = [\"60-62\"]\n[sender]\nmax_window = \"3pkt\"\nBULK",
            &[K::SmallCongestionWindow],
        ),
        case(
            "a loss with room for three segments at the receiver",
            "drop = [\"60\"]\n[receiver]\nbuffer = \"4344B\"\nBULK",
            &[K::SmallReceiveWindow],
        ),
        case(
            "the application pauses",
            "[[flows]]\nwrites = [{ bytes = \"43440B\" }, { at = \"3s\", bytes = \"43440B\" }]",
            &[K::DataUnavailable],
        ),
        case(
            "ACKs are lost for a while",
            "[path.reverse]\ndrop = [\"2s..2.4s\"]\nBULK",
            &[K::AckDelayOrLoss],
        ),
        case(
            "nothing passes for a time shorter than the timeout",
            "changes = [{ at = \"2s\", gap = \"170ms\" }]\nBULK",
            &[K::PacketDelay],
        ),
        Case {
            name: "the receiver stops reading",
            stack: "sack/reno",
            text: "[receiver]\nbuffer = \"65536B\"\nBULK",
            reader: Reader::Pausing {
                reading: Duration::from_secs(2),
                pause: Duration::from_secs(10),
            },
            kinds: &[K::ZeroWindow],
        },
    ]
}

impl Case {
    /// Returns the experiment. Its stack does not use RACK, which would not wait for a timer.
    fn experiment(&self) -> String {
        let rest = self.text.replace("BULK", "").replace("ANSWER", ANSWER);
        format!(
            "stacks = [\"{}\"]\ndialect = \"linux\"\nseeds = 1\nduration = \"6s\"\n[path]\n\
             rate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"60pkt\"\n{rest}\n",
            self.stack
        )
    }

    /// Returns the kinds of the stalls that the diagnosis of the capture at `end` reports.
    pub fn told(&self, end: End) -> Vec<StallKind> {
        let text = self.experiment();
        let tape = match self.reader {
            Reader::AtOnce => Tape::of(&text, 1),
            slow => Tape::to_slow_reader(&text, slow, 1),
        };
        let found = tape.diagnosed(end);
        let stalls = found.map(|found| found.stalls.longest).unwrap_or_default();
        stalls.iter().map(|stall| stall.kind).collect()
    }
}
