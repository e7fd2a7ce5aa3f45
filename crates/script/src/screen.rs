//! Text for a screen of 80 columns, whatever stands in a script.

use std::borrow::Cow;
use std::fmt;

/// Columns of a screen.
const COLUMNS: usize = 80;

/// Columns of a tab.
const TAB: &str = "        ";

/// `text` without characters that a terminal obeys: they are written as Rust escapes them.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match is_obeyed(c) {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// Control characters, and those that turn the direction of what follows or cannot be seen.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A line of a script with its number. If there is a mark on it, of a column from 1 and a width in
/// characters, what is marked is in sight, and a line below points at it.
pub(crate) fn write_line(
    f: &mut fmt::Formatter<'_>,
    gutter: &str,
    text: &str,
    mark: Option<(usize, usize)>,
) -> fmt::Result {
    let indent = gutter.chars().count();
    let room = COLUMNS.saturating_sub(indent).max(2);
    let (cells, mark) = cells(text, mark);
    // A mark may stand behind the last character.
    let length = cells.len().max(mark.map_or(0, |(start, _)| start + 1));
    let first = match mark {
        // The last column is for the sign that the line goes on.
        Some((start, end)) if length > room && end > room - 1 => {
            start.saturating_sub(room / 2).min(length - room)
        }
        _ => 0,
    };
    let mut shown: Vec<char> = cells.iter().skip(first).take(room).copied().collect();
    if let (Some(cell), 1..) = (shown.first_mut(), first) {
        *cell = '…';
    }
    let goes_on = cells.len() > first + room;
    if let (Some(cell), true) = (shown.last_mut(), goes_on) {
        *cell = '…';
    }
    let line: String = gutter.chars().chain(shown).collect();
    writeln!(f, "{}", line.trim_end())?;
    if let Some((start, end)) = mark {
        let at = start - first;
        let most = room - usize::from(goes_on) - at;
        let carets = "^".repeat((end - start).clamp(1, most.max(1)));
        let below = " ".repeat(indent.saturating_sub(2));
        writeln!(f, "{below}| {:at$}{carets}", "")?;
    }
    Ok(())
}

/// The characters of a line as they are shown, and where among them the mark begins and ends.
fn cells(text: &str, mark: Option<(usize, usize)>) -> (Vec<char>, Option<(usize, usize)>) {
    let mut cells = Vec::new();
    // Where each character of the line begins.
    let mut starts = Vec::new();
    for c in text.chars() {
        starts.push(cells.len());
        match c {
            '\t' => cells.extend(TAB.chars()),
            _ if is_obeyed(c) => cells.extend(c.escape_default()),
            _ => cells.push(c),
        }
    }
    let cell = |at: usize| starts.get(at).copied().unwrap_or(cells.len());
    let mark = mark.map(|(column, width)| {
        let at = column.saturating_sub(1);
        (cell(at), cell(at + width).max(cell(at) + 1))
    });
    (cells, mark)
}

/// Text behind a heading, broken where the screen ends: between words, and a word that is longer than a
/// line behind a comma.
pub(crate) fn write_wrapped(f: &mut fmt::Formatter<'_>, heading: &str, text: &str) -> fmt::Result {
    let indent = heading.chars().count();
    let mut line = heading.to_owned();
    let mut length = indent;
    let text = plain(text);
    for mut word in text.split(' ') {
        loop {
            let gap = usize::from(length > indent);
            let left = COLUMNS.saturating_sub(length + gap);
            let width = word.chars().count();
            let (now, later) = match width <= left {
                true => (word, None),
                false if width > COLUMNS - indent => {
                    let (now, later) = word.split_at(breach(word, left, length == indent));
                    (now, Some(later))
                }
                false => ("", Some(word)),
            };
            if later.is_none() || !now.is_empty() {
                line.push_str(&" ".repeat(gap));
                line.push_str(now);
                length += gap + now.chars().count();
            }
            let Some(later) = later else { break };
            word = later;
            writeln!(f, "{}", line.trim_end())?;
            line = " ".repeat(indent);
            length = indent;
        }
    }
    writeln!(f, "{}", line.trim_end())
}

/// Where a word that is too long is broken so that no more than `left` characters come before: behind a
/// comma, or anywhere if the line is empty and there is none.
fn breach(word: &str, left: usize, is_empty: bool) -> usize {
    let end = word
        .char_indices()
        .nth(left)
        .map_or(word.len(), |(at, _)| at);
    match word[..end].rfind(',') {
        Some(comma) => comma + 1,
        None if is_empty => end,
        None => 0,
    }
}
