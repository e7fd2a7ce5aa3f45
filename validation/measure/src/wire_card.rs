//! `cargo measure wire-card`: makes report cards on real packets for docs/wire-card.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use dupack_build::{cargo, output, root};
use serde::Deserialize;

const PAGE: &str = "docs/wire-card.md";

#[derive(Args)]
pub struct WireCardArgs {
    /// The senders, separated by commas
    #[arg(
        long,
        default_value = "rack/cubic,rack/reno,rack/bbr,kernel:cubic,kernel:reno,kernel:bbr"
    )]
    senders: String,
    /// Number of simultaneous runs
    #[arg(long, default_value_t = 4)]
    jobs: usize,
    /// Make cards with fewer and shorter runs
    #[arg(long)]
    quick: bool,
    /// Use the folder of a finished `dupack evaluate --compare ... --wire`, instead of a new run
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

/// The part of a card that the page shows.
#[derive(Deserialize)]
struct Card {
    stack: String,
    extent: String,
    missing: usize,
    wire: Option<WireCard>,
}

#[derive(Deserialize)]
struct WireCard {
    runs: usize,
    void: usize,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    section: String,
    key: String,
    title: String,
    verdict: String,
    #[serde(default)]
    simulated: Option<String>,
    found: String,
    rule: String,
}

pub fn run(args: &WireCardArgs) -> Result<(), String> {
    let root = root();
    let folder = match &args.from {
        Some(folder) => folder.clone(),
        None => evaluate(root, args)?,
    };
    let path = folder.join("card.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let cards: Vec<Card> = serde_json::from_str(&text)
        .map_err(|e| format!("{} has no cards side by side: {e}", path.display()))?;
    fs::write(root.join(PAGE), page(&cards)?).map_err(|e| format!("cannot write {PAGE}: {e}"))?;
    eprintln!("{PAGE} written");
    Ok(())
}

/// Returns the keys of the criteria on real packets.
fn keys(root: &Path) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct Listed {
        criterion: Vec<Criterion>,
    }
    #[derive(Deserialize)]
    struct Criterion {
        key: String,
    }
    let path = root.join("experiments/evaluation/wire/criteria.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let listed: Listed = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(listed.criterion.into_iter().map(|c| c.key).collect())
}

/// Makes the cards, in a new folder.
fn evaluate(root: &Path, args: &WireCardArgs) -> Result<PathBuf, String> {
    let mut folders = (1..).map(|n: u32| root.join(format!("target/wire-card-{n}")));
    let folder = folders
        .find(|folder| !folder.exists())
        .ok_or("every folder is taken")?;
    let name = folder.display().to_string();
    let (keys, jobs) = (keys(root)?.join(","), args.jobs.to_string());
    let fixed = ["run", "--release", "--package", "dupack-cli", "--"];
    let mut words = vec!["evaluate", "--compare", &args.senders, "--only", &keys];
    words.extend(["--wire-jobs", &jobs, "--out", &name]);
    if args.quick {
        words.push("--quick");
    }
    cargo(&[&fixed[..], &words].concat()).map_err(|e| {
        format!(
            "{e}; what is done is kept: go on with `dupack evaluate --resume {name}`, then \
             `cargo measure wire-card --from {name}`"
        )
    })?;
    Ok(folder)
}

fn page(cards: &[Card]) -> Result<String, String> {
    let mut on_wire = Vec::new();
    for card in cards {
        let wire = card.wire.as_ref();
        on_wire.push((
            card,
            wire.ok_or_else(|| format!("{} has no real packets", card.stack))?,
        ));
    }
    let (_, first) = on_wire.first().ok_or("there is no card")?;
    let mut text = HEAD.to_owned();
    text += "\n## Verdicts\n\n| RFC 9743 | on real packets |";
    for (card, _) in &on_wire {
        text += &format!(" `{}` |", card.stack);
    }
    text += &format!("\n| --- | --- |{}\n", " :-: |".repeat(cards.len()));
    for (n, row) in first.rows.iter().enumerate() {
        text += &format!("| {} | {} |", row.section, row.title);
        for (card, wire) in &on_wire {
            let own = wire.rows.get(n).filter(|own| own.key == row.key);
            let own = own.ok_or_else(|| format!("{} has no {}", card.stack, row.key))?;
            let simulated = own.simulated.as_deref().map_or("–", sign);
            text += &format!(" {} / {simulated} |", sign(&own.verdict));
        }
        text += "\n";
    }
    text += "\n## Findings\n";
    for (n, row) in first.rows.iter().enumerate() {
        text += &format!("\n### {} {}\n\n{}\n\n", row.section, row.title, row.rule);
        for (card, wire) in &on_wire {
            let own = &wire.rows[n];
            text += &format!("- `{}`: {} {}\n", card.stack, sign(&own.verdict), own.found);
        }
    }
    text += &circumstances(&on_wire);
    Ok(text)
}

const HEAD: &str = "# Report cards on real packets

Our senders and the kernel's send at the same time over one emulated path in real time, to a receiver in the kernel. The cards
cover some criteria of RFC 9743, with thresholds relative to the kernel's own CUBIC and Reno in the same situation. The rules and
the paths are in [experiments/evaluation/wire](../experiments/evaluation/wire) and were written before the first run.
[evaluation.md](evaluation.md) explains how to read a card. `cargo measure wire-card` writes this page.

The verdict before the slash is that on real packets. The verdict after it is that of the same experiment in the simulator, where
`rack/cubic` and `rack/reno` replace the kernel's CUBIC and Reno: ✓ meets, ✗ does not meet, ? undecided. The kernel's senders
are not in the simulator (–).
";

fn sign(verdict: &str) -> &'static str {
    match verdict {
        "meets" => "✓",
        "does_not_meet" => "✗",
        "cannot_be_told" => "?",
        _ => "–",
    }
}

/// Returns a text about the machine and the number of void runs.
fn circumstances(cards: &[(&Card, &WireCard)]) -> String {
    let mut text = "\n## Circumstances\n\n".to_owned();
    for (card, wire) in cards {
        let missing = match card.missing {
            0 => String::new(),
            n => format!("; {n} are missing"),
        };
        text += &format!(
            "- `{}`: {} runs behind its card, {} void because their path was not on time{missing}\n",
            card.stack, wire.runs, wire.void
        );
    }
    let extents: BTreeSet<&str> = cards.iter().map(|(card, _)| card.extent.as_str()).collect();
    let extents: Vec<&str> = extents.into_iter().collect();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    let date = output(Command::new("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_default();
    text += &format!(
        "- {} cards, made on {}, Linux {}, {processors} processors, load {load} at the end\n",
        extents.join(" and "),
        date.0.trim(),
        release.trim(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_both_verdicts_and_every_finding() {
        let row = |verdict: &str, simulated: Option<&str>| Row {
            section: "5.1.2".to_owned(),
            key: "wire-bufferbloat".to_owned(),
            title: "Queueing delay".to_owned(),
            verdict: verdict.to_owned(),
            simulated: simulated.map(str::to_owned),
            found: format!("found of {verdict}"),
            rule: "The rule.".to_owned(),
        };
        let card = |stack: &str, row: Row| Card {
            stack: stack.to_owned(),
            extent: "full".to_owned(),
            missing: 0,
            wire: Some(WireCard {
                runs: 12,
                void: 1,
                rows: vec![row],
            }),
        };
        let mut cards = vec![
            card("rack/bbr", row("meets", Some("does_not_meet"))),
            card("kernel:bbr", row("cannot_be_told", None)),
        ];
        let text = page(&cards).unwrap();
        for part in [
            "| 5.1.2 | Queueing delay | ✓ / ✗ | ? / – |",
            "- `kernel:bbr`: ? found of cannot_be_told",
            "- `rack/bbr`: 12 runs behind its card, 1 void",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        cards[1].wire = None;
        assert!(page(&cards).unwrap_err().contains("kernel:bbr"));
    }

    #[test]
    fn the_suite_lists_its_criteria() {
        let keys = keys(root()).unwrap();
        assert!(keys.iter().any(|key| key == "wire-harm-cubic"), "{keys:?}");
    }
}
