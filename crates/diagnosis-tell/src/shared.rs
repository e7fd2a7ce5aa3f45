//! Bottlenecks that several streams share: a sentence each, a line per connection, a table for the page.

use dupack_report::page::{Block, Cell, Emphasis};

use crate::words;
use dupack_diagnosis::Side;
use dupack_diagnosis::shared::{SUM_CONSTANT, SharedBottleneck, Sharer};

/// Streams that a sentence names: the rest is a number.
const NAMED: usize = 6;

/// The bottleneck in a sentence: `"#1 and #2 share a bottleneck: 9.7 Mbit/s together, of which #1 has 52 %, #2 48 %."`.
#[must_use]
pub fn sentence(shared: &SharedBottleneck) -> String {
    let names = shared.streams.iter().map(name);
    let mut shares = shared
        .streams
        .iter()
        .map(|stream| format!("{} {}", name(stream), words::share(stream.share)));
    let named: Vec<String> = shares.by_ref().take(NAMED).collect();
    let others = match shares.count() as u64 {
        0 => String::new(),
        others => format!(" and {} the rest", words::things(others, "other", "others")),
    };
    let mut text = format!(
        "{} share a bottleneck: {} together, of which {}{others}",
        listed(names.collect()),
        words::rate(shared.rate),
        named.join(", ").replacen(' ', " has ", 1)
    );
    if shared.rate_varies > SUM_CONSTANT {
        text += &format!(
            "; that varies by {}, as where others use it, too",
            words::share(shared.rate_varies)
        );
    }
    text.push('.');
    text
}

/// What a connection shares, for a line of its own: `"a bottleneck with #2: 52 % of 9.7 Mbit/s together"`.
#[must_use]
pub fn of_connection(shared: &[SharedBottleneck], connection: u64, side: Side) -> Option<String> {
    let (bottleneck, own) = shared.iter().find_map(|bottleneck| {
        let own = |stream: &&Sharer| stream.connection == connection && stream.side == side;
        Some((bottleneck, bottleneck.streams.iter().find(own)?))
    })?;
    let others = bottleneck.streams.iter().filter(|stream| *stream != own);
    Some(format!(
        "a bottleneck with {}: {} of {} together",
        listed(others.map(name).collect()),
        words::share(own.share),
        words::rate(bottleneck.rate)
    ))
}

fn name(stream: &Sharer) -> String {
    format!("#{}", stream.connection)
}

/// `"#1, #2 and #3"`.
fn listed(mut names: Vec<String>) -> String {
    let beyond = names.len().saturating_sub(NAMED);
    if beyond > 0 {
        names.truncate(NAMED);
        names.push(words::things(beyond as u64, "other", "others"));
    }
    let last = names.pop().unwrap_or_default();
    if names.is_empty() {
        return last;
    }
    format!("{} and {last}", names.join(", "))
}

/// A table of each bottleneck, with the evidence.
#[must_use]
pub fn tables(all: &[SharedBottleneck]) -> Vec<Block> {
    let number = |text: String| Cell::new(text, Emphasis::Number);
    let table = |shared: &SharedBottleneck| {
        let rows = shared.streams.iter().map(|stream| {
            vec![
                number(name(stream)),
                number(words::share(stream.share)),
                number(words::rate(stream.share * shared.rate)),
                number(format!("{:.2}", stream.rates)),
                number(format!("{:.2}", stream.delays)),
            ]
        });
        Block::Table {
            caption: format!(
                "{} In {} windows of {} each got what the others did not, and all waited for the same queue; the sum varies by \
                 {}.",
                sentence(shared),
                words::count(shared.windows as u64),
                words::time(shared.width),
                words::share(shared.rate_varies)
            ),
            header: [
                "connection",
                "share",
                "rate",
                "correlation of rates",
                "correlation of delays",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows: rows.collect(),
        }
    };
    all.iter().map(table).collect()
}
