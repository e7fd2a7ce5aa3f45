use std::sync::Arc;

use dupack_lab::results::Answered;
use std::collections::BTreeMap;
use std::path::PathBuf;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution, Watch};
use dupack_lab::results::Prefer;
use dupack_lab::run::Interrupt;

use super::*;
use crate::comparison::{self, Beside};
use crate::table::{self, Colour};
use dupack_engine::folder::{IfPresent, MemoryFolder};

const TEXT: &str = "title = \"A sweep\"\nstacks = [\"newreno/reno\", \"rack/cubic\", \"le/westwood\"]\nseeds = 3\n\
    duration = \"2s\"\n[path]\nrate = \"1Mbit/s\"\n[sweep]\n\"path.loss\" = [0, \"2%\", \"5%\"]\n\
    \"path.delay\" = [\"5ms\", \"500us\"]\n";

fn source(text: &str) -> Source {
    let mut source = Source::new("test.toml", text);
    source.folder = traces();
    source
}

/// Returns a folder that contains a recorded trace of 2.4 Mbit/s for 20 s.
fn traces() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("dupack-streamed-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let trace: String = (1..=4000).map(|n| format!("{}\n", n * 5)).collect();
    fs::write(folder.join("down"), trace).unwrap();
    folder
}

fn plan(source: &Source) -> Plan {
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), source, &catalog).unwrap();
    plan.measuring_harm(&catalog)
}

/// Returns settings with `runs` as the number of runs at which a block ends.
fn settings(runs: usize) -> Settings {
    let mut settings = Settings::new(Harm::Measured);
    settings.size.runs = runs;
    settings
}

fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dupack-stream-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

fn begin(name: &str, plan: &Plan, source: &Source, runs: usize) -> Streaming {
    let folder = OutputFolder::create(&path(name), IfPresent::Refuse).unwrap();
    Streaming::new(folder, plan, source, &settings(runs)).unwrap()
}

fn execute(streaming: &mut Streaming, plan: &Plan, interrupt: &Interrupt) -> Progressed {
    let conduct = Conduct {
        execution: Execution::default(),
        watch: &(),
        interrupt,
    };
    streaming.execute(plan, &conduct).unwrap()
}

/// Returns the files of an experiment that was streamed. A block ends with the point at which it reaches `runs` runs.
fn streamed(name: &str, plan: &Plan, source: &Source, runs: usize) -> BTreeMap<String, Vec<u8>> {
    let mut streaming = begin(name, plan, source, runs);
    let progressed = execute(&mut streaming, plan, &Interrupt::new());
    assert_eq!(progressed, Progressed::ToTheEnd);
    streaming.finish(plan, &Catalog::builtin()).unwrap();
    let files = files(&path_of(name));
    fs::remove_dir_all(path_of(name)).unwrap();
    files
}

fn path_of(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dupack-stream-{name}-{}", std::process::id()))
}

/// Returns all files below `folder`, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for entry in fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// Returns the files of the same experiment if all runs are in memory.
fn whole(plan: &Plan) -> BTreeMap<String, Vec<u8>> {
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let folder = MemoryFolder::default();
    let files = comparison::files(
        &Arc::new(Answered::of(&results)),
        &Catalog::builtin(),
        Beside::default(),
    )
    .unwrap();
    files.write(&folder).unwrap();
    folder.into_files()
}

/// Returns all parts of a table as a single table with one header.
fn together(files: &BTreeMap<String, Vec<u8>>, folder: &str) -> String {
    let parts = files.iter().filter(|(name, _)| name.starts_with(folder));
    let mut all = String::new();
    for (_, part) in parts {
        let part = std::str::from_utf8(part).unwrap();
        let (head, rows) = part.split_once('\n').unwrap();
        match all.is_empty() {
            true => all += part,
            false => {
                assert!(all.starts_with(head));
                all += rows;
            }
        }
    }
    all
}

#[track_caller]
fn same(streamed: &BTreeMap<String, Vec<u8>>, whole: &BTreeMap<String, Vec<u8>>) {
    let tables = whole
        .keys()
        .filter(|name| name.ends_with(".csv") && !name.contains('/'));
    let tables: Vec<&String> = tables.collect();
    assert!(tables.len() >= 5, "{tables:?}");
    for name in tables {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let wanted = text(&whole[name]);
        let found = match name.as_str() {
            "runs.csv" => together(streamed, "runs/"),
            "flows.csv" => together(streamed, "flows/"),
            name => text(&streamed[name]),
        };
        assert!(found == wanted, "{name}: {found}\n{wanted}");
    }
}

#[test]
fn streamed_sweeps_have_the_same_files_as_sweeps_in_memory() {
    let traced = TEXT
        .replace("rate = \"1Mbit/s\"", "trace = \"down\"")
        .replace("duration = \"2s\"", "duration = \"4s\"");
    for (name, text) in [
        ("plain", TEXT.to_owned()),
        ("traced", traced),
        (
            "without-a-sweep",
            TEXT.split("[sweep]").next().unwrap().to_owned(),
        ),
        (
            "precise",
            TEXT.replace("seeds = 3", "seeds = 2\nprecision = \"3%\"\nseeds_max = 9"),
        ),
    ] {
        let source = source(&text);
        let plan = plan(&source);
        let whole = whole(&plan);
        assert_eq!(whole.contains_key("traces.csv"), name == "traced");
        for runs in [1, 40, 10_000] {
            let streamed = streamed(name, &plan, &source, runs);
            same(&streamed, &whole);
            assert!(!streamed.keys().any(|file| file.starts_with("blocks/")));
            assert_eq!(streamed["experiment.toml"], text.as_bytes());
        }
    }
}

#[test]
fn figures_of_a_complete_sweep_match_those_in_memory() {
    let source = source(TEXT);
    let plan = plan(&source);
    let (whole, streamed) = (whole(&plan), streamed("figures", &plan, &source, 40));
    let figures = whole.keys().filter(|name| name.starts_with("figures/"));
    let figures: Vec<&String> = figures.collect();
    assert!(figures.len() > 4, "{figures:?}");
    for name in figures {
        assert!(streamed[name] == whole[name], "{name}");
    }
    assert!(streamed.contains_key("figures/winners.svg"));
    let page = std::str::from_utf8(&streamed["report.html"]).unwrap();
    // The experiment has 6 points, 3 stacks and 3 seeds.
    for part in [
        "54 runs at 6 points",
        "comes first",
        "loss 2%",
        "runs/part-00001.csv",
        "The experiment",
        "summary.csv",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("This page shows"));
}

#[test]
fn several_flows_have_a_file() {
    let text = TEXT.replace("[sweep]", "[[flows]]\ncount = 2\n[sweep]");
    let source = source(&text);
    let plan = plan(&source);
    let streamed = streamed("flows", &plan, &source, 40);
    same(&streamed, &whole(&plan));
    let flows = together(&streamed, "flows/");
    assert_eq!(flows.lines().count(), 1 + 54 * 2);
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let last = results.runs.last().unwrap();
    let wanted = format!(",le/westwood,3,1,group 1,{}", last.flow_goodputs[1]);
    assert!(flows.trim_end().ends_with(&wanted), "{flows}");
}

/// Interrupts an experiment after a number of runs.
struct Stop<'i> {
    after: std::sync::atomic::AtomicUsize,
    interrupt: &'i Interrupt,
}

impl Watch for Stop<'_> {
    fn run_done(&self, _: u64) {
        use std::sync::atomic::Ordering;
        if self.after.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.interrupt.ask();
        }
    }
}

#[test]
fn interrupted_experiments_continue_with_the_first_missing_part() {
    let source = source(TEXT);
    let plan = plan(&source);
    let whole = whole(&plan);
    let path = path_of("interrupted");
    // Each of the six points is a block, with three stacks, three runs that measure harm, and three seeds.
    let mut streaming = begin("interrupted", &plan, &source, 1);
    assert_eq!(streaming.runs_to_do(), 6 * 18);
    let interrupt = Interrupt::new();
    let stop = Stop {
        after: (2 * 18 + 5).into(),
        interrupt: &interrupt,
    };
    let conduct = Conduct {
        execution: Execution { jobs: Some(1) },
        watch: &stop,
        interrupt: &interrupt,
    };
    let progressed = streaming.execute(&plan, &conduct).unwrap();
    assert_eq!(progressed, Progressed::ToBlock(2));
    assert_eq!(streaming.runs_to_do(), 4 * 18);
    drop(streaming);
    // The crash leaves a partial file. Further below, a complete part is damaged.
    fs::write(path.join("runs/part-00003.csv.partial"), "half").unwrap();
    let again = Streaming::again(&path, &plan, &source, None).unwrap();
    assert_eq!(again.runs_to_do(), 4 * 18);
    drop(again);
    fs::write(path.join("runs/part-00002.csv"), "damaged").unwrap();
    let mut again = Streaming::again(&path, &plan, &source, None).unwrap();
    assert_eq!(again.runs_to_do(), 5 * 18);
    execute(&mut again, &plan, &Interrupt::new());
    again.finish(&plan, &Catalog::builtin()).unwrap();
    same(&files(&path), &whole);
    let finished = Streaming::again(&path, &plan, &source, None).unwrap();
    assert!(finished.is_finished());
    assert_eq!(finished.runs_to_do(), 0);
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn only_one_process_continues_the_same_experiment() {
    let source = source(TEXT);
    let plan = plan(&source);
    let path = path_of("other");
    let streaming = begin("other", &plan, &source, 1);
    let refused = |plan: &Plan| {
        let error = Streaming::again(&path, plan, &source, None).unwrap_err();
        assert!(miette::Diagnostic::help(&error).is_some(), "{error}");
        error.to_string()
    };
    assert!(refused(&plan).contains("another dupack process is using"));
    drop(streaming);
    let other = self::source(&TEXT.replace("seeds = 3", "seeds = 4"));
    assert!(refused(&self::plan(&other)).contains("its runs are different"));
    let preferring = plan.clone().preferring(Some(Prefer::Delay));
    assert!(refused(&preferring).contains("--prefer is delay, but was nothing"));
    // The title and the description are not part of the experiment's identity.
    let renamed = self::source(&TEXT.replace("A sweep", "The sweep"));
    Streaming::again(&path, &self::plan(&renamed), &source, Some(Format::Csv)).unwrap();
    fs::write(path.join("stream.json"), "{}").unwrap();
    assert!(refused(&plan).contains("cannot use"));
    fs::remove_file(path.join("stream.json")).unwrap();
    assert!(refused(&plan).contains("it has no stream.json"));
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn errors_name_lost_blocks() {
    let source = source(TEXT);
    let plan = plan(&source);
    let path = path_of("lost");
    let mut streaming = begin("lost", &plan, &source, 1);
    execute(&mut streaming, &plan, &Interrupt::new());
    fs::remove_file(path.join("blocks/00002.json")).unwrap();
    let error = streaming.finish(&plan, &Catalog::builtin()).unwrap_err();
    assert!(error.to_string().contains("blocks/00002.json"), "{error}");
    let mut again = Streaming::again(&path, &plan, &source, None).unwrap();
    assert_eq!(again.runs_to_do(), 5 * 18);
    execute(&mut again, &plan, &Interrupt::new());
    again.finish(&plan, &Catalog::builtin()).unwrap();
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn the_terminal_shows_at_how_many_points_each_stack_is_best() {
    let text = TEXT.replace("seeds = 3", "seeds = 12").replace("0, ", "");
    let source = source(&text);
    let plan = plan(&source).preferring(Some(Prefer::Goodput));
    let path = path_of("told");
    let mut streaming = begin("told", &plan, &source, 100);
    execute(&mut streaming, &plan, &Interrupt::new());
    let finished = streaming.finish(&plan, &Catalog::builtin()).unwrap();
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let first = (0..4).filter_map(|point| {
        use dupack_lab::results::Contest;
        use dupack_lab::results::verdict::Answer;
        match Contest::of(&results, point).answer {
            Answer::Stars(stars) => stars.first().copied(),
            _ => None,
        }
    });
    let first: Vec<usize> = first.collect();
    assert!(!first.is_empty());
    let text = finished.text(table::Legend::Whole, Colour::No, Some(100));
    assert!(text.starts_with("144 runs at 4 point(s)"), "{text}");
    for (stack, name) in results.stacks.iter().enumerate() {
        let count = first.iter().filter(|winner| **winner == stack).count();
        let line = text
            .lines()
            .find(|line| line.contains(name.as_str()))
            .unwrap();
        let told = line.split_whitespace().nth(1).unwrap();
        assert_eq!(told, count.to_string(), "{text}");
    }
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn large_sweeps_have_small_pages_that_name_omissions() {
    let values = |count: usize, unit: &str| -> String {
        let all: Vec<String> = (1..=count).map(|n| format!("\"{n}{unit}\"")).collect();
        all.join(", ")
    };
    let text = format!(
        "stacks = [\"newreno/reno\", \"rack/cubic\"]\nseeds = 2\nduration = \"100ms\"\n[path]\nrate = \"1Mbit/s\"\n\
         [sweep]\n\"path.delay\" = [{}]\n\"path.loss\" = [{}]\n",
        values(40, "ms"),
        values(30, "%")
    );
    let source = source(&text);
    let catalog = Catalog::builtin();
    let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
    let streamed = streamed("large", &plan, &source, 1000);
    let page = std::str::from_utf8(&streamed["report.html"]).unwrap();
    assert!(page.len() < 3_000_000, "{}", page.len());
    for part in [
        "4800 runs at 1200 points",
        "16 of 40 values of path.delay",
        "16 of 30 values of path.loss",
        "40 of 1200 points",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let summary = String::from_utf8(streamed["summary.csv"].clone()).unwrap();
    let goodputs = summary
        .lines()
        .filter(|line| line.contains(",goodput_mbit_s,"));
    assert_eq!(goodputs.count(), 2400);
}
