//! Tests of the command as a user runs it: files, exit codes, messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::analysers;
use crate::analysers::Data;
use crate::common;
use crate::common::{Folder, errors};

fn dupack(folder: &Path, args: &[&str]) -> Output {
    common::dupack(args).current_dir(folder).output().unwrap()
}

const QUICK: [&str; 9] = [
    "compare",
    "--stacks",
    "sack/reno,le/westwood",
    "--loss",
    "1%",
    "--seeds",
    "3",
    "--duration",
    "10s",
];

#[test]
fn compare_writes_a_report_and_its_experiment_can_be_repeated() {
    let folder = Folder::new("compare");
    let output = dupack(folder.path(), &QUICK);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        table.contains("★ le/westwood") && table.contains("The answer and its cost"),
        "{table}"
    );
    let made = folder.path().join("dupack-out/compare");
    for file in [
        "report.html",
        "runs.csv",
        "summary.csv",
        "verdicts.csv",
        "comparisons.csv",
        "parameters.csv",
        "results.json",
        "figures/goodput_mbit_s.svg",
    ] {
        assert!(made.join(file).is_file(), "{file}");
    }
    for (ending, built) in [
        ("png", cfg!(feature = "png")),
        ("pdf", cfg!(feature = "pdf")),
    ] {
        let figure = made.join("figures/goodput_mbit_s").with_extension(ending);
        assert_eq!(figure.is_file(), built, "{ending}");
    }
    let again = dupack(
        folder.path(),
        &[
            "run",
            "dupack-out/compare/experiment.toml",
            "--out",
            "again",
        ],
    );
    assert!(again.status.success(), "{}", errors(&again));
    let runs = |path: PathBuf| std::fs::read(path.join("runs.csv")).unwrap();
    assert_eq!(
        runs(made),
        runs(folder.path().join("again")),
        "the same packets"
    );
}

/// This is a case for which goodput alone is misleading: LE over Westwood with ten flows on one queue.
#[test]
fn harmful_and_wasteful_stacks_have_a_warning_and_no_star() {
    let folder = Folder::new("starves");
    let file = "stacks = [\"sack/reno\", \"le/westwood\", \"rack/cubic\", \"newreno/reno\"]\n\
                dialect = \"linux\"\nseeds = 3\nduration = \"20s\"\n[path]\nrate = \"10Mbit/s\"\n\
                delay = \"20ms\"\nbuffer = \"50pkt\"\n[[flows]]\ncount = 10\nstart_spread = \"1s\"\n";
    std::fs::write(folder.path().join("ten.toml"), file).unwrap();
    for (more, prefer) in [(&[][..], "null"), (&["--prefer", "goodput"], "\"goodput\"")] {
        let run = ["run", "ten.toml", "--format", "json"];
        let output = dupack(folder.path(), &[&run[..], more].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let verdicts = &json["verdicts"];
        assert_eq!(verdicts["prefer"].to_string(), prefer);
        let point = &verdicts["points"][0];
        let westwood = &point["stacks"][1];
        assert_eq!(westwood["mark"], "warned", "{point:#}");
        assert_eq!(westwood["warnings"].as_array().unwrap().len(), 2);
        let sentence = westwood["sentence"].as_str().unwrap();
        assert!(sentence.contains("starves CUBIC: harm 0."), "{sentence}");
        let stars = point["stars"].as_array().unwrap();
        assert!(!stars.contains(&"le/westwood".into()), "{stars:?}");
        let comparisons = point["comparisons"].as_array().unwrap();
        assert!(!comparisons.is_empty() && comparisons.iter().all(|c| c["pairs"] == 3));
    }
    let without = dupack(folder.path(), &["run", "ten.toml", "--no-harm", "--legend"]);
    let table = String::from_utf8_lossy(&without.stdout).into_owned();
    assert!(table.contains("Harm was not measured"), "{table}");
    assert!(
        table.contains("! le/westwood"),
        "it is wasteful all the same: {table}"
    );
}

#[test]
fn every_seed_uses_another_part_of_a_trace_and_the_output_lists_them() {
    let folder = Folder::new("recorded");
    // Data has an opportunity every 2 ms for 50 s, then one every 20 ms for 50 s. ACKs have one every millisecond.
    let down = (1..=25_000).map(|n| n * 2);
    let down = down.chain((1..=2500).map(|n| 50_000 + n * 20));
    let lines = |times: &mut dyn Iterator<Item = u32>| -> String {
        times.map(|ms| format!("{ms}\n")).collect()
    };
    for (name, text) in [
        ("a.down", lines(&mut down.into_iter())),
        ("a.up", lines(&mut (1..=90_000))),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut args = QUICK.to_vec();
    args[4] = "0%";
    args.extend(["--trace", "a.down", "--trace-up", "a.up"]);
    let output = dupack(folder.path(), &args);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert!(
        table.contains("a.down: every run uses 10 s of its 100 s, starting at"),
        "{table}"
    );
    assert!(
        table.contains("a.up (ACKs): every run uses 10 s of its 90 s"),
        "{table}"
    );
    let made = folder.path().join("dupack-out/compare");
    let read = |name: &str| std::fs::read_to_string(made.join(name)).unwrap();
    let traces = read("traces.csv");
    let begins: Vec<&str> = traces
        .lines()
        .filter(|line| line.starts_with("path.trace,"))
        .map(|line| line.split(',').nth(3).unwrap())
        .collect();
    assert_eq!(begins.len(), 3, "{traces}");
    assert_ne!(begins[0], begins[1]);
    assert!(read("report.html").contains("every run uses 10 s of its 100 s"));
    assert!(read("results.json").contains(&format!("\"from_s\": {}", begins[1])));
}

#[test]
fn seeds_are_added_until_the_precision_is_reached() {
    let folder = Folder::new("precision");
    let mut args = QUICK.to_vec();
    args.extend(["--precision", "10%", "--seeds-max", "90"]);
    args.extend(["--format", "csv"]);
    let output = dupack(folder.path(), &args);
    assert!(output.status.success(), "{}", errors(&output));
    let csv = String::from_utf8(output.stdout).unwrap();
    let mut goodputs = csv.lines().filter(|line| line.contains(",goodput_mbit_s,"));
    let runs = goodputs.clone().map(|line| line.split(',').nth(2).unwrap());
    let runs: Vec<u32> = runs.map(|runs| runs.parse().unwrap()).collect();
    assert!(runs[0] > 2 && runs[0] < 90 && runs[0] == runs[1], "{csv}");
    assert!(goodputs.all(|line| {
        let number = |n| line.split(',').nth(n).unwrap().parse::<f64>().unwrap();
        number(4) / number(3) <= 0.1
    }));
}

#[test]
fn identical_runs_have_no_star() {
    let folder = Folder::new("identical");
    let mut args = QUICK.to_vec();
    args[4] = "0%";
    let output = dupack(folder.path(), &args);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("no ★: every seed gave the same run"));
    for marked in ["★ sack", "★ le", "≈ sack", "≈ le"] {
        assert!(!table.contains(marked), "{table}");
    }
    // Two flows have random start times, so the runs differ.
    args.extend(["--flows", "2"]);
    let output = dupack(folder.path(), &args);
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(!table.contains("the same run"), "{table}");
    assert!(table.contains('±'), "{table}");
}

#[test]
fn results_are_never_overwritten() {
    let folder = Folder::new("overwrite");
    let mut args = QUICK.to_vec();
    assert!(dupack(folder.path(), &args).status.success());
    assert!(dupack(folder.path(), &args).status.success());
    assert!(folder.path().join("dupack-out/compare-2").is_dir());
    args.extend(["--out", "dupack-out/compare"]);
    let refused = dupack(folder.path(), &args);
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors(&refused).contains("overwritten"));
}

#[test]
fn errors_have_remedies() {
    let folder = Folder::new("mistakes");
    let file = |text: &str| std::fs::write(folder.path().join("bad.toml"), text).unwrap();
    for (args, part) in [
        (vec!["compare", "--rate", "10Mb"], "write 10Mbit/s"),
        (vec!["compare", "--loss", "1"], "1%"),
        (vec!["compare", "--stacks", "sak/reno"], "`sack`"),
        (
            vec!["compare", "--trace", "none.down"],
            "cannot read the trace",
        ),
        (vec!["compare", "--jobs", "100000"], "1 to 1024"),
        (
            vec!["compare", "--trace-up", "none.up"],
            "cannot read the trace",
        ),
        (vec!["compare", "--precision", "2"], "write \"2%\""),
        (vec!["compare", "--precision", "0%"], "no number of seeds"),
        (vec!["compare", "--seeds-max", "20"], "--precision"),
        (
            vec!["compare", "--precision", "2%", "--seeds-max", "5"],
            "`seeds_max` is only 5",
        ),
        (
            vec!["trace", "sack/reno", "--drop", "9-3"],
            "not an ascending range",
        ),
        (
            vec!["trace", "sack/reno", "--from", "50s", "--until", "60s"],
            "within the run",
        ),
        (vec!["run", "none.toml"], "none.toml"),
        (vec!["stacks", "nosuch"], "nosuch"),
        (vec!["stacks", "sakc"], "did you mean `sack`?"),
        (vec!["papers", "nosuch"], "nosuch"),
        (vec!["papers", "--resume", "nosuch"], "begin a new one with"),
    ] {
        let output = dupack(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            errors(&output).contains(part),
            "{args:?}: {}",
            errors(&output)
        );
    }
    file("stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\ndleay = \"2ms\"\n");
    let output = dupack(folder.path(), &["run", "bad.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let message = errors(&output);
    assert!(
        message.contains("bad.toml:4") && message.contains("`delay`"),
        "{message}"
    );
    assert!(
        !folder.path().join("dupack-out").exists(),
        "nothing was started"
    );
}

#[test]
fn tshark_and_tcptrace_read_captures_of_trace() {
    let folder = Folder::new("capture");
    for (stack, out) in [
        ("sack/reno", "sack"),
        ("le(cause=order-echo)/westwood", "le"),
        ("rack/cubic", "rack"),
    ] {
        let args = [
            "trace", stack, "--drop", "24-30", "--loss", "2%", "--out", out,
        ];
        let output = dupack(folder.path(), &args);
        assert!(output.status.success(), "{stack}: {}", errors(&output));
        let file = folder.path().join(out).join("flow.pcapng");
        if let Some(packets) = analysers::find_no_fault(&file, Data::CutShort) {
            assert!(packets > 100, "{stack}: {packets}");
        }
        if let Some(connections) = analysers::tcptrace(&file) {
            let [connection] = connections.as_slice() else {
                panic!("{stack}: {} connections", connections.len());
            };
            let count = |label: &str| connection[label].0.parse::<u64>().unwrap();
            assert!(count("unique bytes sent") > 100_000, "{stack}");
            // Seven of the retransmitted packets are listed losses.
            assert!(count("rexmt data pkts") >= 7, "{stack}");
        }
    }
}

#[test]
fn trace_writes_its_files() {
    let folder = Folder::new("trace");
    let output = dupack(
        folder.path(),
        &[
            "trace",
            "momentary/reno",
            "--drop",
            "24-30",
            "--dialect",
            "ns2",
        ],
    );
    assert!(output.status.success(), "{}", errors(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("cwnd 11.408 → 5.704"), "{text}");
    assert!(
        text.starts_with(
            "Path: 1Mbit/s · 100ms one way · queue 1000pkt (42 BDP) · dialect ns2 · lost: 24-30"
        ),
        "{text}"
    );
    for file in [
        "time-sequence.svg",
        "ladder.svg",
        "flow.pcapng",
        "packets.csv",
    ] {
        assert!(
            folder.path().join("dupack-out/trace").join(file).is_file(),
            "{file}"
        );
    }
}

/// A trace that does not end by itself.
#[cfg(unix)]
const ENDLESS: [&str; 6] = [
    "trace",
    "sack/reno",
    "--rate",
    "10Mbit/s",
    "--duration",
    "10000000s",
];

#[cfg(unix)]
#[test]
fn trace_writes_while_it_runs_and_completes_its_files_at_ctrl_c() {
    let folder = Folder::new("endless");
    let out = folder.path().join("dupack-out/trace");
    let child = common::dupack(&ENDLESS)
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let has_begun = |file| std::fs::metadata(out.join(file)).is_ok_and(|file| file.len() > 50_000);
    let files = ["packets.csv", "windows.csv", "flow.pcapng"];
    while !files.into_iter().all(has_begun) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    common::interrupt(&child);
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", errors(&stopped));
    assert!(errors(&stopped).contains("interrupted at"));
    for (file, columns) in [("packets.csv", 7), ("windows.csv", 12)] {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        let last = text.strip_suffix('\n').and_then(|text| text.lines().last());
        assert_eq!(last.unwrap().split(',').count(), columns, "{file}");
    }
    assert!(out.join("time-sequence.svg").is_file());
    if let Some(packets) = analysers::find_no_fault(&out.join("flow.pcapng"), Data::CutShort) {
        assert!(packets > 100, "{packets}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_of_trace() {
    let folder = Folder::new("no-room");
    // `ulimit -f` limits the length of files to this number of blocks. Further writes fail instead of ending the
    // process, because the signal is ignored.
    let limited = "trap '' XFSZ; ulimit -f 200; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_dupack")])
        .args(ENDLESS)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let message = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for part in ["cannot write dupack-out/trace/", "make room", "--out"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn empty_figures_are_errors_but_the_files_exist() {
    let folder = Folder::new("nothing");
    let args = [
        "trace",
        "momentary/reno",
        "--drop",
        "24-30",
        "--from",
        "8s",
        "--out",
        "out",
    ];
    let output = dupack(folder.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    let message = errors(&output);
    assert!(message.contains("would be empty"), "{message}");
    assert!(message.contains("out has everything but the"), "{message}");
    assert!(folder.path().join("out/packets.csv").is_file());
}

#[test]
fn the_catalog_and_the_schema_print() {
    let folder = Folder::new("catalog");
    let stacks = dupack(folder.path(), &["stacks"]);
    let text = String::from_utf8_lossy(&stacks.stdout).into_owned();
    for name in [
        "tahoe",
        "fack",
        "momentary",
        "le",
        "rack",
        "westwood",
        "bbr",
        "cubic",
        "veno",
    ] {
        assert!(text.contains(&format!("\n  {name}")), "{name}");
    }
    let schema = dupack(folder.path(), &["schema"]);
    let json: serde_json::Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert!(json["properties"]["stacks"].is_object());
}

/// Returns every file below `folder` with its contents, without journals and without lines that contain CPU times.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "html" || e == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                let lines = text.lines().filter(|line| !line.contains("CPU time: "));
                out.push((name, lines.collect::<String>().into_bytes()));
            } else if !path.ends_with("runs.jsonl") {
                out.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    out.sort();
    out
}

#[cfg(unix)]
#[test]
fn papers_continue_after_ctrl_c_and_after_a_crash() {
    let folder = Folder::new("resume");
    let quick = ["papers", "newreno-smooth", "--quick", "--jobs", "1"];
    let journal = folder.path().join("half/newreno-smooth/tables/runs.jsonl");
    let lines = || {
        let text = std::fs::read_to_string(&journal).unwrap_or_default();
        text.matches('\n').count()
    };
    // Starts the command, and waits for `more` additional runs.
    let begin = |args: &[&str], more: usize| {
        let before = lines();
        let mut child = common::dupack(args)
            .current_dir(folder.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while lines() < before + more && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child
    };
    let child = begin(&[&quick[..], &["--out", "half"]].concat(), 3);
    common::interrupt(&child);
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", errors(&stopped));
    let line = "continue with: dupack papers --resume half --jobs 1";
    assert!(errors(&stopped).contains(line), "{}", errors(&stopped));

    let resume = ["papers", "--resume", "half", "--jobs", "1"];
    let before = lines();
    let mut child = begin(&resume, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!((before + 3..120).contains(&lines()), "{}", lines());

    for (args, part) in [
        (vec!["momentary"], "its papers are newreno-smooth"),
        (vec!["--out", "x"], "cannot be used with"),
    ] {
        let output = dupack(folder.path(), &[&resume[..], &args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(errors(&output).contains(part), "{}", errors(&output));
    }
    let resumed = dupack(folder.path(), &resume);
    assert!(resumed.status.success(), "{}", errors(&resumed));
    assert!(errors(&resumed).contains("were completed before"));
    let whole = dupack(folder.path(), &[&quick[..], &["--out", "whole"]].concat());
    assert!(whole.status.success(), "{}", errors(&whole));
    assert_eq!(resumed.stdout, whole.stdout);
    let (half, whole) = (
        contents(&folder.path().join("half")),
        contents(&folder.path().join("whole")),
    );
    assert!(half.len() > 10);
    for (ours, theirs) in half.iter().zip(&whole) {
        assert!(ours == theirs, "{} differs", ours.0.display());
    }
    assert_eq!(half.len(), whole.len());
}

#[test]
fn the_first_screen_of_the_papers_runs_nothing() {
    let folder = Folder::new("first-screen");
    let output = dupack(folder.path(), &["papers"]);
    assert!(output.status.success(), "{}", errors(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in [
        "claims of the paper",
        "inputs",
        "hypotheses of ours",
        "questions of today",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!folder.path().join("dupack-out").exists(), "nothing runs");
}

#[test]
fn one_claim_is_rerun_under_all_readings() {
    let folder = Folder::new("claim");
    let looked = dupack(
        folder.path(),
        &["papers", "le", "--claim", "testbed-rr-6mbit"],
    );
    assert!(looked.status.success(), "{}", errors(&looked));
    let text = String::from_utf8_lossy(&looked.stdout).into_owned();
    for words in ["Rule: ", "Mbit/s", "under another reading", "dup-count="] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        !folder.path().join("dupack-out").exists(),
        "it writes nothing"
    );
    for (args, words) in [
        (
            &["papers", "le", "--claim", "testbed-rr-6mbits"][..],
            "did you mean `testbed-rr-6mbit`?",
        ),
        (&["papers", "--claim", "le-fair"], "<KEY>"),
        (&["papers", "all", "--claim", "le-fair"], "name one paper"),
    ] {
        let output = dupack(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            errors(&output).contains(words),
            "{args:?}: {}",
            errors(&output)
        );
    }
}

#[test]
fn papers_are_listed_with_their_systems() {
    let folder = Folder::new("list");
    let all = dupack(folder.path(), &["papers", "--list"]);
    let text = String::from_utf8_lossy(&all.stdout).into_owned();
    assert!(
        text.contains("momentary") && text.contains("newreno-smooth"),
        "{text}"
    );
    let one = dupack(folder.path(), &["papers", "momentary", "--list"]);
    let text = String::from_utf8_lossy(&one.stdout).into_owned();
    assert!(text.contains("momentary/reno in figure3.toml"), "{text}");
    assert!(!folder.path().join("dupack-out").exists(), "nothing runs");
}

#[test]
fn every_flow_of_every_seed_is_recorded_on_request() {
    let folder = Folder::new("flows");
    let file = "stacks = [\"rack/cubic\", \"rack/reno\"]\nseeds = 3\nduration = \"4s\"\n[path]\nrate = \"10Mbit/s\"\n\
                delay = \"20ms\"\n[[flows]]\nname = \"near\"\ncount = 2\n[[flows]]\nname = \"video\"\nstack = \"rack/reno\"\n";
    std::fs::write(folder.path().join("f.toml"), file).unwrap();
    let output = dupack(
        folder.path(),
        &[
            "run",
            "f.toml",
            "--no-harm",
            "--flows-over-time",
            "--out",
            "o",
        ],
    );
    assert!(output.status.success(), "{}", errors(&output));
    let read = |name: &str| std::fs::read_to_string(folder.path().join("o").join(name)).unwrap();
    let over_time = read("flows_over_time.csv");
    let rows: Vec<Vec<&str>> = over_time
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    // The mean over the intervals of a flow equals the goodput of the flow, except for data that was still out of order
    // at the end.
    for line in read("flows.csv").lines().skip(1) {
        let flow: Vec<&str> = line.split(',').collect();
        let own: Vec<f64> = { rows.iter() }
            .filter(|row| row[..4] == flow[..4])
            .map(|row| row[5].parse().unwrap())
            .collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let goodput: f64 = flow[4].parse().unwrap();
        assert!(
            (mean - goodput).abs() < 0.1 * goodput + 0.1,
            "{line}: {mean}"
        );
    }
    assert_eq!(read("flows.csv").lines().count(), 1 + 2 * 3 * 3);
}
