//! BBR through the whole system: what it reaches alone, under random loss, and with a second flow.
//!
//! Bottleneck of 10 Mbit/s, 40 ms of round trip, a buffer of 50 packets. The bounds are what the
//! draft promises (draft-ietf-ccwg-bbr §3.1, §5.3.4.2), with room for headers; the same networks
//! with CUBIC and NewReno are there to compare.

use std::path::PathBuf;

use dupack_lab::experiment::load::Source;
use dupack_lab::results::Measure;
use dupack_lab::run::{Execution, Interrupt, Plan};
use dupack_lab::trace::Trace;

fn plan(stack: &str, more: &str) -> Plan {
    let text = format!(
        r#"
        stacks = ["{stack}"]
        seeds = 1
        duration = "60s"
        {more}
        "#
    );
    let source = Source {
        name: "test".to_owned(),
        text,
        folder: PathBuf::new(),
    };
    Plan::new(source.parse().unwrap(), &source).unwrap()
}
