//! Tests of the texts about deployment in Linux, for comparisons with made-up numbers, and of the page in docs/.

use dupack_lab::results::Answered;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dupack_algorithms::catalog::Kernel;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Measure, Results, Run, Values};
use dupack_lab::run::Plan;

use super::*;
use crate::page::Block;

fn stack(text: &str, catalog: &Catalog) -> StackSpec {
    StackSpec::parse(text, catalog).unwrap()
}

fn told(text: &str, width: Option<u16>) -> String {
    let catalog = Catalog::builtin();
    super::text(&stack(text, &catalog), &catalog, width)
}

/// Returns a comparison in which the stacks have these goodputs and are otherwise equal.
fn results(settings: &str, goodputs: &[(&str, f64)]) -> Results {
    let names: Vec<String> = goodputs
        .iter()
        .map(|(name, _)| format!("{name:?}"))
        .collect();
    let text = format!("stacks = [{}]\n{settings}", names.join(", "));
    let source = Source::new("test.toml", text);
    let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap();
    let mut results = plan.empty_results();
    for point in 0..results.points.len() {
        for (stack, (_, goodput)) in goodputs.iter().enumerate() {
            for seed in 1..=4_u64 {
                let mut values = Values::default();
                let goodput = goodput + seed as f64 / 1000.0;
                values.set(Measure::Goodput, goodput);
                results.runs.push(Run {
                    point,
                    stack,
                    seed,
                    values,
                    flow_goodputs: vec![goodput],
                    trace_hash: seed + 100 * stack as u64,
                });
            }
        }
    }
    results
}

const PATH: &str =
    "[path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"50pkt\"\nloss = \"1%\"\n";

#[test]
fn stacks_in_linux_have_commands() {
    let text = told("rack/westwood-linux", Some(100));
    for wanted in [
        "rack/westwood-linux can be turned on in Linux.",
        "\n  modprobe tcp_westwood\n",
        "\n  sysctl -w net.ipv4.tcp_congestion_control=westwood\n",
        "TCP_CONGESTION, \"westwood\", 8)",
        "\n  ss -tio\n",
        "after a timeout",
        "(modprobe needs root):\n  modprobe tcp_westwood\n  dupack testbed --senders rack/westwood-linux,kernel:westwood\n",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    // No command turns SACK off.
    let text = told("newreno/reno", Some(100));
    assert!(text.contains("cannot be turned on"), "{text}");
}

#[test]
fn missing_parts_of_stacks_are_listed() {
    let text = told("le/westwood", Some(100));
    for wanted in [
        "le/westwood cannot be turned on in Linux.",
        "loss recovery `le`",
        "Westwood+",
        "`dupack stacks rack/westwood-linux`",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(!text.contains("sysctl -w"), "{text}");
    let text = told("rack/cubic(c=0.5)", Some(100));
    assert!(
        text.contains("nothing in Linux sets cubic(c=0.5)"),
        "{text}"
    );
}

#[test]
fn text_fits_the_terminal_and_commands_are_not_broken() {
    for width in [60, 80, 120] {
        let text = told("le/reno/veno/24", Some(width));
        for line in text.lines() {
            assert!(
                line.chars().count() <= usize::from(width),
                "{width}: {line}"
            );
        }
    }
    // Commands to be pasted stay on one line at any width.
    let text = told("rack/cubic(pacing=on)", Some(40));
    let whole = |line: &str| line.contains("tc qdisc replace") && line.ends_with("root fq");
    assert!(text.lines().any(whole), "{text}");
}

#[test]
fn json_has_the_same_information() {
    let catalog = Catalog::builtin();
    let json = stack_json(&stack("rack/cubic", &catalog), &catalog);
    assert_eq!(json["deployable"], true);
    assert_eq!(json["kernel_sender"], "kernel:cubic");
    assert_eq!(json["commands"].as_array().unwrap().len(), 4);
    let json = stack_json(&stack("rack/bbr", &catalog), &catalog);
    assert_eq!(json["deployable"], false);
    assert_eq!(json["kernel_sender"], Value::Null);
    assert_eq!(json["commands"].as_array().unwrap().len(), 0);
    let listing = crate::catalog::Listing::of(&catalog, Some("cubic"))
        .unwrap()
        .json();
    assert_eq!(listing[0]["linux"]["congestion_control"], "cubic");
}

#[test]
fn the_answer_names_the_starred_stacks_in_linux() {
    let catalog = Catalog::builtin();
    let both = results(
        PATH,
        &[("sack/reno", 1.0), ("le/reno", 1.0), ("rack/cubic", 2.0)],
    );
    let text = answer::text(&Answered::of(&both), &catalog, None, Some(80)).unwrap();
    assert!(text.contains("rack/cubic can be turned on"), "{text}");
    assert!(text.contains("--senders rack/cubic,kernel:cubic"), "{text}");
    assert!(!text.contains("le/reno"), "{text}");

    let none = results(PATH, &[("sack/reno", 1.0), ("le/reno", 2.0)]);
    let text = answer::text(&Answered::of(&none), &catalog, None, Some(80)).unwrap();
    assert!(text.contains("none of le/reno is available"), "{text}");
    assert!(text.contains("--senders le/reno,kernel:cubic"), "{text}");

    let nobody = results(PATH, &[("sack/reno", 1.0)]);
    let starred = answer::text(&Answered::of(&nobody), &catalog, None, Some(80));
    assert_eq!(starred, None);
}

#[test]
fn undominated_stacks_without_a_star_have_commands() {
    let catalog = Catalog::builtin();
    let stacks = [("rack/reno", 2.0), ("rack/westwood-linux", 2.0)];
    let open = results(PATH, &stacks);
    let mut same = open.clone();
    same.runs.iter_mut().for_each(|run| run.trace_hash = 7);
    for results in [open, same] {
        let text = answer::text(&Answered::of(&results), &catalog, None, Some(200)).unwrap();
        for wanted in [
            "Undominated, on Linux: rack/reno, rack/westwood-linux can be turned on",
            "On real packets (modprobe needs root):\nmodprobe tcp_westwood\ndupack testbed ",
            "--senders rack/reno,kernel:reno,rack/westwood-linux,kernel:westwood",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let section = answer::section(&Answered::of(&results), &catalog).unwrap();
        let recipes = |block: &&Block| matches!(block, Block::Listing { caption, .. } if caption.starts_with("To turn on"));
        assert_eq!(section.blocks.iter().filter(recipes).count(), 2);
        let Block::Table { rows, .. } = &section.blocks[0] else {
            panic!("{section:?}");
        };
        assert_eq!(rows[0][1].text, "undominated");
    }
}

#[test]
fn paths_that_deliver_nothing_are_not_suggested() {
    let check = |loss: &str| {
        let settings = format!("{PATH}[sweep]\n\"path.loss\" = [{loss}]\n");
        let results = results(&settings, &[("rack/cubic", 1.0)]);
        wire::WireCheck::of(&results.experiment, &["rack/cubic".to_owned()])
    };
    let some = check("\"50%\", \"100%\"").unwrap();
    assert!(some.command().contains("--loss 50% "), "{}", some.command());
    let left_out = some.left_out.unwrap();
    assert!(left_out.contains("The loss of 100%"), "{left_out}");
    assert_eq!(check("\"100%\""), None);
    assert_eq!(check("0, \"1%\"").unwrap().left_out, None);
}

#[test]
fn the_page_has_commands_only_for_stacks_with_a_star() {
    let catalog = Catalog::builtin();
    let results = results(
        &format!(
            "dialect = \"rfc\"\n[sender]\ninitial_window = \"20pkt\"\nmax_window = \"99pkt\"\n{PATH}"
        ),
        &[("rack/reno", 1.0), ("le/reno", 1.0), ("rack/cubic", 2.0)],
    );
    let section = answer::section(&Answered::of(&results), &catalog).unwrap();
    let blocks = format!("{:?}", section.blocks);
    let Block::Table { rows, .. } = &section.blocks[0] else {
        panic!("{blocks}");
    };
    let column = |index: usize| rows.iter().map(move |row| row[index].text.clone());
    assert_eq!(
        column(0).collect::<Vec<_>>(),
        ["rack/reno", "le/reno", "rack/cubic"]
    );
    assert_eq!(column(2).collect::<Vec<_>>(), ["yes", "no", "yes"]);
    let recipes = |block: &&Block| matches!(block, Block::Listing { caption, .. } if caption.starts_with("To turn on"));
    assert_eq!(section.blocks.iter().filter(recipes).count(), 1);
    assert!(blocks.contains("initcwnd 20"), "{blocks}");
    assert!(blocks.contains("max_window"), "{blocks}");
    assert!(blocks.contains("--dialect linux"), "{blocks}");
    let json = answer::json(&Answered::of(&results), &catalog);
    assert_eq!(json[2]["deployable"], true);
}

#[test]
fn the_check_has_the_path_of_the_comparison_and_names_unsupported_parts() {
    let settings = "dialect = \"linux\"\n[[flows]]\ncount = 4\n[receiver]\ndelayed_ack = \"40ms\"\n\
                    [path]\nrate = \"50Mbit/s\"\ndelay = \"40ms\"\nbuffer = \"200pkt\"\n\
                    reorder = { probability = \"1%\", delay = \"7ms\" }\nreverse = { loss = \"1%\" }\n\
                    [sweep]\n\"path.loss\" = [0, \"0.1%\", \"1%\"]\n";
    let results = results(settings, &[("rack/cubic", 1.0)]);
    let senders = ["rack(tlp=off)/cubic", "kernel:cubic"].map(str::to_owned);
    let check = wire::WireCheck::of(&results.experiment, &senders).unwrap();
    assert_eq!(
        check.command(),
        "dupack testbed --rate 50Mbit/s --delay 40ms --buffer 200pkt --loss 0,0.1%,1% --reorder 1% \
         --reorder-delay 7ms --dialect linux --senders 'rack(tlp=off)/cubic,kernel:cubic'"
    );
    let caution = check.caution();
    for wanted in ["several flows", "lost ACKs", "delayed-ACK timeout", "60s"] {
        assert!(caution.contains(wanted), "{wanted}: {caution}");
    }
    // Without its line breaks, the command is the same at any width.
    for width in [60, 80, 120] {
        let lines = check.lines(Some(width));
        assert!(
            lines.lines().all(|line| line.len() <= usize::from(width)),
            "{lines}"
        );
        assert_eq!(lines.replace(" \\\n   ", ""), check.command());
    }
}

/// Returns docs/deploy.md without the part that is generated from the catalog, and the generated part.
fn page() -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy.md");
    let page = fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- catalog -->\n").unwrap();
    let (tables, after) = rest.split_once("<!-- end -->\n").unwrap();
    (format!("{before}{after}"), tables.to_owned())
}

#[test]
fn the_tables_in_the_docs_match_the_catalog() {
    let (_, tables) = page();
    let wanted = markdown(&Catalog::builtin());
    assert!(
        tables == wanted,
        "put the output of `dupack stacks --markdown` between the marks of docs/deploy.md:\n{wanted}"
    );
}

#[test]
fn stacks_and_sysctls_in_the_docs_exist() {
    let (text, _) = page();
    let catalog = Catalog::builtin();
    // Every word that looks like the name of a stack must be one.
    let coded = text.split('`').skip(1).step_by(2);
    let stacks = coded.filter(|word| {
        word.contains('/') && !word.contains([' ', '.', '=']) && !word.starts_with('/')
    });
    let mut seen = 0;
    for word in stacks {
        let parsed = StackSpec::parse(word, &catalog);
        assert!(parsed.is_ok(), "{word}");
        seen += 1;
    }
    assert!(seen > 0);
    // The sysctls are checked on the running kernel, if this kernel is new enough to have all of them.
    let known = Path::new("/proc/sys/net/ipv4/tcp_rto_min_us").exists();
    let keys: BTreeSet<&str> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .filter(|word| word.starts_with("net.ipv4."))
        .map(|word| word.trim_end_matches('.'))
        .collect();
    assert!(keys.len() > 5, "{keys:?}");
    if !known {
        eprintln!("*** skipped: the sysctls need a kernel since 6.11");
        return;
    }
    for key in keys {
        let file = format!("/proc/sys/{}", key.replace('.', "/"));
        assert!(Path::new(&file).exists(), "{file}");
    }
}

/// The stacks that a kernel offers are in the order of the answer and have commands. Stacks that the kernel does not
/// have are omitted.
#[test]
fn a_kernel_offers_its_stacks_in_the_order_of_the_answer() {
    let catalog = Catalog::builtin();
    let results = results(
        PATH,
        &[
            ("le/westwood", 9.0),
            ("rack/reno", 3.0),
            ("rack/cubic", 4.0),
            ("rack/vegas", 5.0),
        ],
    );
    let host = Kernel::host("6.18.1", "reno cubic", Vec::new());
    let text = answer::text(&Answered::of(&results), &catalog, Some(&host), Some(80)).unwrap();
    let [cubic, reno] = [
        "1. rack/cubic: 4.00 Mbit/s; dominated by another stack",
        "2. rack/reno: ",
    ]
    .map(|wanted| {
        text.find(wanted)
            .unwrap_or_else(|| panic!("{wanted}: {text}"))
    });
    assert!(cubic < reno, "{text}");
    assert!(
        text.contains("On this host, Linux 6.18.1, highest goodput first"),
        "{text}"
    );
    assert!(
        text.contains("\n     sysctl -w net.ipv4.tcp_congestion_control=cubic\n"),
        "{text}"
    );
    for never in ["vegas:", "tcp_sack", "modprobe"] {
        assert!(!text.contains(never), "{never}: {text}");
    }

    let none = Kernel::host("6.18.1", "reno", Vec::new());
    let others = self::results(PATH, &[("le/westwood", 9.0), ("rack/cubic", 4.0)]);
    let text = answer::text(&Answered::of(&others), &catalog, Some(&none), Some(80)).unwrap();
    assert!(text.contains("none of these stacks is available"), "{text}");
}

#[test]
fn stacks_for_data_centres_say_so() {
    let results = results(PATH, &[("rack/dctcp", 9.0), ("rack/cubic", 4.0)]);
    let host = Kernel::host("6.18.1", "dctcp cubic", Vec::new());
    let text = answer::text(
        &Answered::of(&results),
        &Catalog::builtin(),
        Some(&host),
        None,
    )
    .unwrap();
    let line = |name| text.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        line(". rack/dctcp").contains("only for data centres"),
        "{text}"
    );
    assert!(!line(". rack/cubic").contains("data centres"), "{text}");
}
