//! Tests of `dupack trace` with several stacks: the same losses, files for each stack, and common figures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common;
use crate::common::{Folder, errors, text};

fn dupack(folder: &Path, args: &[&str]) -> Output {
    common::dupack(args).current_dir(folder).output().unwrap()
}

fn succeeds(folder: &Path, args: &[&str]) -> Output {
    let output = dupack(folder, args);
    assert!(output.status.success(), "{args:?}: {}", errors(&output));
    output
}

/// Returns the packets that a trace lost.
fn dropped(packets: &Path) -> Vec<String> {
    let text = fs::read_to_string(packets).unwrap();
    let lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let drops = lines.filter(|columns| columns[1] == "drop" || columns[1] == "drop ack");
    drops.map(|columns| columns[2].to_owned()).collect()
}

/// Returns the description text of a figure.
fn description(figure: &Path) -> String {
    let svg = fs::read_to_string(figure).unwrap();
    let (_, rest) = svg.split_once("<desc>").unwrap();
    rest.split_once("</desc>").unwrap().0.to_owned()
}

const STACKS: [&str; 3] = ["sack/reno", "rack/cubic", "le/reno"];
const FOLDERS: [&str; 3] = ["sack-reno", "rack-cubic", "le-reno"];

/// Traces the three stacks with the losses 24 to 30. Checks the common figure, and the ladder and the files of each
/// stack.
fn three_stacks_lose_the_same(folder: &Path, more: &[&str], out: &str, dialect: &str) {
    let mut args = vec!["trace"];
    args.extend(["--drop", "24-30", "--out", out]);
    args.extend(more);
    succeeds(folder, &args);
    let out = folder.join(out);
    for name in FOLDERS {
        let wanted: Vec<String> = (24..=30).map(|n| n.to_string()).collect();
        let mut lost = dropped(&out.join(name).join("packets.csv"));
        lost.truncate(7);
        assert_eq!(lost, wanted, "{name}");
        for file in ["windows.csv", "flow.pcapng"] {
            assert!(out.join(name).join(file).is_file(), "{name}/{file}");
        }
    }
    for figure in ["time-sequence.svg", "ladder.svg"] {
        let svg = fs::read_to_string(out.join(figure)).unwrap();
        assert!(svg.contains(&format!("dialect {dialect}")), "{figure}");
        let words = description(&out.join(figure));
        for stack in STACKS {
            assert!(words.contains(stack), "{figure}: {words}");
        }
        assert_eq!(words.matches("(24 to 30").count(), 3, "{figure}: {words}");
    }
}

#[test]
fn several_stacks_are_traced_under_the_same_losses() {
    let folder = Folder::new("several");
    three_stacks_lose_the_same(folder.path(), &STACKS, "out", "linux");
    // The stacks are given as a list, and the plots are side by side.
    let list = [&*STACKS.join(","), "--arrange", "beside", "--inflation"];
    three_stacks_lose_the_same(folder.path(), &list, "list", "linux");
    let svg = fs::read_to_string(folder.path().join("list/time-sequence.svg")).unwrap();
    assert!(svg.contains("cwnd inflated"));
}

#[test]
fn several_stacks_are_traced_over_a_recorded_link() {
    let folder = Folder::new("recorded");
    // The link sends a packet every 6 ms for one second, then every 20 ms for another second.
    let fast = (0..166).map(|n| n * 6);
    let slow = (0..50).map(|n| 1000 + n * 20);
    let lines: Vec<String> = fast.chain(slow).map(|ms: u32| ms.to_string()).collect();
    fs::write(folder.path().join("link.down"), lines.join("\n")).unwrap();
    let mut args = STACKS.to_vec();
    args.extend(["--trace", "link.down"]);
    three_stacks_lose_the_same(folder.path(), &args, "out", "linux");
    // The stored experiment can be run again from any folder.
    let stored = folder.path().join("out/experiment.toml");
    let stored = stored.to_str().unwrap();
    let again = folder.path().join("again");
    let again = again.to_str().unwrap();
    let args = ["trace", "--experiment", stored, "--out", again];
    succeeds(&std::env::temp_dir(), &args);
    let packets = |out: &str| fs::read(folder.path().join(out).join("le-reno/packets.csv"));
    assert_eq!(packets("out").unwrap(), packets("again").unwrap());
}

const TWO_FLOWS: &str = r#"
title = "Two flows"
stacks = ["sack/reno", "rack/cubic", "le/reno"]
duration = "5s"

[path]
rate = "2Mbit/s"
delay = "50ms"
buffer = "30pkt"

[[flows]]

[[flows]]
stack = "rack/cubic"
start = "500ms"

[sweep]
"path.delay" = ["50ms", "20ms"]
"#;

#[test]
fn several_stacks_are_traced_in_a_file_of_two_flows() {
    let folder = Folder::new("flows");
    fs::write(folder.path().join("two.toml"), TWO_FLOWS).unwrap();
    let file = ["--experiment", "two.toml"];
    three_stacks_lose_the_same(folder.path(), &file, "out", "linux");
    let figure = |out: &str| folder.path().join(out).join("time-sequence.svg");
    let svg = fs::read_to_string(figure("out")).unwrap();
    assert!(svg.contains("Two flows") && svg.contains("cwnd of flow 2"));
    let both = [
        "trace",
        "--experiment",
        "two.toml",
        "--follow",
        "all",
        "--point",
        "2",
    ];
    succeeds(
        folder.path(),
        &[&both[..], &["--out", "both", "le/reno"]].concat(),
    );
    assert!(folder.path().join("both/flow-2/packets.csv").is_file());
    let words = description(&figure("both"));
    assert!(
        words.contains("le/reno, flow 1") && words.contains("flow 2: rack/cubic, beside le/reno")
    );
    let svg = fs::read_to_string(figure("both")).unwrap();
    assert!(svg.contains("delay 20ms"), "the title has the point");
}

#[test]
fn losses_beyond_the_run_are_errors_with_its_end() {
    let folder = Folder::new("beyond");
    for (rule, part) in [
        ("5000", "packet"),
        ("5 of 4000-5000", "packet"),
        ("ack 5000", "ACK"),
        ("12s..13s", "ended at 10.000 s"),
    ] {
        let out = rule.replace(' ', "-");
        let output = dupack(
            folder.path(),
            &["trace", "sack/reno", "--drop", rule, "--out", &out],
        );
        let message = errors(&output).replace("\n  │", "");
        assert_eq!(output.status.code(), Some(2), "{rule}: {message}");
        for part in ["beyond the end of the run", "sack/reno", part, "--duration"] {
            assert!(message.contains(part), "{rule}: {message}");
        }
        assert!(!folder.path().join(out).join("time-sequence.svg").exists());
    }
    // A rule that is partly beyond the end of the run causes a warning.
    let partly = succeeds(folder.path(), &["trace", "sack/reno", "--drop", "24-5000"]);
    assert!(errors(&partly).contains("the end of `--drop 24-5000`"));
}

#[test]
fn conflicts_of_a_file_and_options_are_errors() {
    let folder = Folder::new("refused");
    fs::write(folder.path().join("two.toml"), TWO_FLOWS).unwrap();
    let links = "stacks = [\"sack/reno\"]\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\n[[flows]]\nfrom = \"a\"\nto = \"b\"\n";
    fs::write(folder.path().join("links.toml"), links).unwrap();
    let two = |more: &'static [&str]| [&["--experiment", "two.toml"], more].concat();
    for (args, part) in [
        (vec![], "STACK"),
        (two(&["--rate", "1Mbit/s"]), "cannot be used with"),
        (two(&["--point", "3"]), "no point 3"),
        (two(&["--follow", "3"]), "the flows are 1 to 2"),
        (vec!["--experiment", "links.toml", "--drop", "3"], "[path]"),
        (vec!["sack/reno", "--burst-loss", "1%"], "0.5%,30%"),
        (
            vec!["sack/reno", "--trace", "none.down"],
            "cannot read the trace",
        ),
    ] {
        let output = dupack(folder.path(), &[&["trace"], args.as_slice()].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let message = errors(&output);
        assert!(message.contains(part), "{args:?}: {message}");
    }
    assert!(
        !folder.path().join("dupack-out").exists(),
        "nothing was started"
    );
}

/// The total delay is the requested one: the first round trip takes 10 ms plus the transmission time.
#[test]
fn the_first_round_trip_is_twice_the_delay() {
    let folder = Folder::new("delay");
    succeeds(
        folder.path(),
        &[
            "trace",
            "sack/reno",
            "--rate",
            "100Mbit/s",
            "--delay",
            "5ms",
        ],
    );
    let windows = folder.path().join("dupack-out/trace/windows.csv");
    let text = fs::read_to_string(windows).unwrap();
    let rtts = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(5)?.parse::<f64>().ok());
    let first = { rtts }.next().unwrap();
    assert!((0.010..0.011).contains(&first), "{first}");
}

/// Returns the examples of `--help`, split into words.
fn examples() -> Vec<Vec<String>> {
    let help = text(
        &common::dupack(&["trace", "--help"])
            .output()
            .unwrap()
            .stdout,
    );
    let (_, rest) = help.split_once("Examples:\n").unwrap();
    let (examples, _) = rest.split_once("\n\n").unwrap();
    let joined = examples.replace("\\\n", " ");
    let words = |line: &str| {
        let quoted = line.split('\'').enumerate();
        let words = quoted.flat_map(|(n, part)| match n % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect::<Vec<String>>()
    };
    joined.lines().map(words).collect()
}

/// Returns every `packets.csv` below a folder.
fn packets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true => packets(&path),
        false if path.ends_with("packets.csv") => vec![path],
        false => Vec::new(),
    });
    found.collect()
}

#[test]
fn examples_of_the_help_show_their_losses() {
    let folder = Folder::new("examples");
    fs::create_dir(folder.path().join("examples")).unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fairness.toml");
    fs::copy(own, folder.path().join("examples/fairness.toml")).unwrap();
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for (n, example) in examples.iter().enumerate() {
        let out = format!("out-{n}");
        let args: Vec<&str> = example.iter().map(String::as_str).collect();
        assert_eq!(args[..2], ["dupack", "trace"]);
        let output = succeeds(folder.path(), &[&args[1..], &["--out", &out]].concat());
        assert!(!errors(&output).contains("beyond"), "{example:?}");
        let out = folder.path().join(out);
        // Each example has losses, and the figures of the example show some of them for every stack.
        for figure in ["time-sequence.svg", "ladder.svg"] {
            let words = description(&out.join(figure));
            assert!(!words.contains("none dropped"), "{example:?}: {words}");
            assert!(!words.contains("none lost"), "{example:?}: {words}");
        }
        let rules = args.windows(2).filter(|pair| pair[0] == "--drop");
        for rule in rules.map(|pair| pair[1]) {
            for file in packets(&out) {
                assert!(takes_place(rule, &file), "{example:?}: {rule}");
            }
        }
    }
}

/// Returns `true` if the trace lost all packets that `rule` names.
fn takes_place(rule: &str, packets: &Path) -> bool {
    let text = fs::read_to_string(packets).unwrap();
    let lost = |event: &str, number: u64| {
        let begins = format!("{event},{number},");
        let lines = text.lines().filter_map(|line| line.split_once(','));
        lines.filter(|(_, rest)| rest.starts_with(&begins)).count() as u64
    };
    if let Some(number) = rule.strip_prefix("ack ") {
        return lost("drop ack", number.parse().unwrap()) == 1;
    }
    let (range, transmission) = rule.split_once('#').unwrap_or((rule, "1"));
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
    let least = transmission.parse().unwrap();
    (first..=last).all(|number| lost("drop", number) >= least)
}
