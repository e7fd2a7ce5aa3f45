use super::*;
use dupack_truth::limits::lot::Drawn;
use dupack_truth::limits::tape::{End, Tape};
use dupack_truth::senders::{Axis, Table, is_right, name_of};

fn tell(bytes: &[u8], name: &str) {
    let mut reader = CaptureReader::new(bytes).unwrap();
    let told = Told(diagnose(&mut reader, Flow::All, &mut ()).unwrap());
    println!("== {name}");
    println!("   {}", told.story());
    let all = std::env::var_os("ALL").is_some();
    for line in told.screen().lines() {
        let t = line.trim_start();
        if all || t.starts_with("retransmitted") || t.starts_with("sender") || t.starts_with("path") || t.starts_with("stalls") { println!("   {t}"); }
    }
    if std::env::var_os("RECS").is_some() {
        for c in &told.0.connections {
        for stream in c.all_streams() {
            for r in &stream.retransmissions { println!("     {:?}", r); }
        }}
    }
    if std::env::var_os("CAND").is_some() {
        let c = &told.0.connections[0].main_stream().unwrap().sender.control;
        for k in &c.candidates { println!("     {} {:.1} for {:?} against {:?}", k.name, k.score, k.evidence_for, k.evidence_against); }
    }
}

#[test]
fn look_at_files() {
    let Ok(files) = std::env::var("PCAPS") else { return };
    for file in files.split_whitespace() {
        tell(&std::fs::read(file).unwrap(), file);
    }
}

#[test]
fn look_at_seeds() {
    let Ok(seeds) = std::env::var("SEEDS") else { return };
    let (from, to) = seeds.split_once("..").unwrap();
    let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    let stack = std::env::var("STACK").unwrap_or_default();
    let mut tables = End::BOTH.map(|_| [Table::default(), Table::default()]);
    let mut pols = End::BOTH.map(|_| [0u32; 4]);
    for seed in from..to {
        let mut drawn = Drawn::of(seed);
        if let Some((recovery, control)) = stack.split_once('/') {
            let (_, rest) = drawn.text.split_once('\n').unwrap();
            drawn.text = format!("stacks = [\"{recovery}/{control}\"]\n{rest}");
            drawn.recovery = recovery.to_owned().leak();
            drawn.control = control.to_owned().leak();
        }
        let tape = drawn.tape();
        for ((end, tables), pols) in End::BOTH.into_iter().zip(&mut tables).zip(&mut pols) {
            if std::env::var_os("PDBG").is_some() { eprintln!("SEED {seed} {end:?} {}", drawn.line); }
            let Some(found) = tape.diagnosed(end) else { continue };
            let mut wrong = false;
            for (axis, table) in Axis::BOTH.into_iter().zip(tables) {
                let (truth, said) = (axis.truth(&drawn), name_of(axis, &found.sender));
                wrong |= said != "unknown" && !is_right(truth, said);
                table.add(drawn.work, truth, said);
            }
            if wrong {
                println!("{seed} {end:?} {}", drawn.line);
                println!("    control {:?} {}", found.sender.control.name, found.sender.control.why);
                println!("    recovery {:?} {}", found.sender.recovery.name, found.sender.recovery.why);
            }
            let policed = drawn.line.contains("policer");
            let told = found.path.policer;
            pols[usize::from(policed) * 2 + usize::from(told.is_some())] += 1;
            if policed || told.is_some() {
                let rate = told.and_then(|p| p.rate.value());
                println!("POL {seed} {end:?} policed {policed} losses {} told {rate:?} {:?} of {}", found.path.losses, told.and_then(|p| p.rate.interval()), drawn.line);
            }
        }
    }
    for ((end, tables), pols) in End::BOTH.into_iter().zip(&tables).zip(&pols) {
        for (axis, table) in Axis::BOTH.into_iter().zip(tables) {
            table.print(&format!("{axis:?} at the {end:?}'s end"));
        }
        println!("policers at {end:?}: not-not {} false {} missed {} found {}", pols[0], pols[1], pols[2], pols[3]);
    }
}

#[test]
fn look_at_policers() {
    let Ok(only) = std::env::var("POLICERS") else { return };
    let [mut all, mut right, mut wrong] = [[0; 2]; 3];
    for control in ["rack/cubic", "sack/reno", "rack/bbr"] {
        for rate in [1.0, 5.0, 20.0, 50.0] {
            for rtt in [10.0, 40.0, 100.0] {
                let bytes = rate * 1e6 / 8.0;
                for burst in [4500.0, 15_000.0, bytes * 0.03, bytes * 0.2] {
                    if burst < 4500.0 { continue }
                    for link in [2.5, 20.0] {
                    let seconds = if rate > 10.0 { 8.0 } else { 15.0 };
                    let text = format!("stacks = [\"{control}\"]\ndialect = \"linux\"\nseeds = 1\nduration = \"{seconds}s\"\n[path]\nrate = \"{}Mbit/s\"\ndelay = \"{}ms\"\nbuffer = \"500pkt\"\nqueue = \"policer\"\ntoken_bucket = {{ rate = \"{rate}Mbit/s\", burst = \"{burst:.0}B\" }}\n[sender]\nsegment = \"1448B\"\n[receiver]\nacks = \"adaptive\"\n", rate * link, rtt / 2.0);
                    let name = format!("{control} {rate} Mbit/s {burst:.0} B rtt {rtt} link x{link}");
                    if !name.contains(&only) { continue }
                    let tape = Tape::of(&text, 1);
                    for (n, end) in End::BOTH.into_iter().enumerate() {
                        if std::env::var_os("PDBG").is_some() { eprintln!("POLICER {name} {end:?}"); }
                        let Some(found) = tape.diagnosed(end) else { continue };
                        let p = found.path.policer;
                        let told = p.and_then(|p| p.rate.value()).map(|r| r / 1e6);
                        all[n] += 1;
                        let ok = told.is_some_and(|t| (t / rate - 1.0).abs() < 0.06);
                        if ok { right[n] += 1 } else if told.is_some() { wrong[n] += 1 }
                        println!("{} {name} {end:?}: losses {} told {told:?} burst {:?} rate {:?} | {}", if ok {"ok "} else if told.is_some() {"BAD"} else {"-- "}, found.path.losses, p.and_then(|p| p.burst.value()), found.path.rate.value(), dupack_diagnosis_tell::story::story(&found));
                    }
                    }
                }
            }
        }
    }
    println!("all {all:?} right {right:?} wrong {wrong:?}");
}
