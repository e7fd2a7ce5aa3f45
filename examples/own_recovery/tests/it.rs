//! The example runs, and its table contains the new recovery beside ours.

use std::process::Command;

#[test]
fn the_table_has_our_recovery_beside_those_of_dupack() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-recovery"))
        .output()
        .expect("it can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
    for stack in [
        "sack/reno",
        "fack/reno",
        "majority/reno",
        "majority(share=0.2)/reno",
    ] {
        // One row per loss rate.
        let rows = text
            .lines()
            .filter(|line| line.contains(&format!(" {stack} ")));
        let goodputs: Vec<f64> = rows.filter_map(|row| goodput(row, stack)).collect();
        assert!(goodputs.len() >= 2, "{stack} is not in\n{text}");
        // With 2 % loss NewReno reaches about 2 of 10 Mbit/s.
        assert!(
            goodputs.iter().all(|goodput| *goodput > 1.0),
            "{goodputs:?} in\n{text}"
        );
    }
}

/// Returns the number after the stack's name.
fn goodput(row: &str, stack: &str) -> Option<f64> {
    let rest = row.split_once(stack)?.1;
    rest.split_whitespace().next()?.parse().ok()
}
