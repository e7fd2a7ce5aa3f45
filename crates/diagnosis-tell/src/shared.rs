//! Description of bottlenecks that several streams share: a sentence for each bottleneck, a line for each connection,
//! and a table for the page.

use dupack_report::page::{Block, Cell, Emphasis};

use crate::words;
use dupack_diagnosis::Side;
use dupack_diagnosis::shared::{SUM_CONSTANT, SharedBottleneck, SharedBottlenecks, Sharer};

/// Maximum number of streams that a sentence names. The other streams are only counted.
const NAMED: usize = 6;

/// Returns a sentence about a bottleneck: `"#1 and #2 share a bottleneck: 9.7 Mbit/s together, of which #1 has 52 %, #2
/// 48 %."`.
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
            "; the total varies by {}, as happens if other traffic also uses the bottleneck",
            words::share(shared.rate_varies)
        );
    }
    text.push('.');
    text
}

/// Returns a line about the bottleneck that a connection shares: `"a bottleneck with #2: 52 % of 9.7 Mbit/s together"`.
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

/// Returns the names as a list: `"#1, #2 and #3"`.
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

/// Returns the sentences for the terminal, one for each bottleneck. The last one is followed by the number of streams
/// that could not be compared.
#[must_use]
pub fn sentences(all: &SharedBottlenecks) -> Vec<String> {
    let mut said: Vec<String> = all.found.iter().map(sentence).collect();
    if let Some(last) = said.last_mut()
        && all.untold > 0
    {
        *last += &format!(" {}.", not_compared(all.untold));
    }
    said
}

fn not_compared(streams: u64) -> String {
    format!(
        "{} could not be compared",
        words::things(streams, "other stream", "other streams")
    )
}

/// Returns one table for each bottleneck with the evidence, and a text about the streams that were compared.
#[must_use]
pub fn tables(all: &SharedBottlenecks) -> Vec<Block> {
    if all.compared == 0 {
        return Vec::new();
    }
    let mut blocks: Vec<Block> = all.found.iter().map(table).collect();
    blocks.push(Block::text(compared(all)));
    blocks
}

fn compared(all: &SharedBottlenecks) -> String {
    let mut text = format!(
        "{} waited in queues at the same time and were compared.",
        words::things(all.compared, "stream", "streams")
    );
    if all.found.is_empty() {
        text += " None of them show a shared bottleneck, which does not exclude one.";
    }
    if all.untold > 0 {
        text += &format!(
            " {}: short ones, those without data outstanding at the same time as another, those that met no queue, and those \
             without ACKs in the capture.",
            not_compared(all.untold)
        );
    }
    text
}

fn table(shared: &SharedBottleneck) -> Block {
    let number = |text: String| Cell::new(text, Emphasis::Number);
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
            "{} The evidence is in {} windows of {}: whenever one stream got more, the others got less, and the queueing delays of \
             all rose and fell together. The total rate varies by {} from window to window.",
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
}
