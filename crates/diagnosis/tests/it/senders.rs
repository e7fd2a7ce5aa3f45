//! Known senders, captured at both endpoints. They are drawn from seeds that were not used to tune any parameter. Each
//! sender is named correctly or not at all.

use dupack_truth::limits::lot::Drawn;
use dupack_truth::limits::tape::End;
use dupack_truth::senders::{Axis, Table, name_of};

/// Seeds that differ from those of development, which begin at 0.
const SEEDS: core::ops::Range<u64> = 800_000..800_060;

#[test]
fn named_senders_are_named_correctly() {
    let mut tables = End::BOTH.map(|_| [Table::default(), Table::default()]);
    for seed in SEEDS {
        let drawn = Drawn::of(seed);
        let tape = drawn.tape();
        for (end, tables) in End::BOTH.into_iter().zip(&mut tables) {
            let Some(found) = tape.diagnosed(end) else {
                continue;
            };
            for (axis, table) in Axis::BOTH.into_iter().zip(tables) {
                let said = name_of(axis, &found.sender);
                table.add(drawn.work, axis.truth(&drawn), said);
            }
        }
    }
    for (end, tables) in End::BOTH.into_iter().zip(&tables) {
        for (axis, table) in Axis::BOTH.into_iter().zip(tables) {
            let count = table.total;
            // About 1 % of the 60 senders may be wrong.
            assert!(count.wrong <= 1, "{end:?} {axis:?} {count:?}");
            assert!(count.right >= 4, "{end:?} {axis:?} {count:?}");
        }
    }
}
