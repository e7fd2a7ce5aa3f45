//! Text for a screen of 80 columns, regardless of the contents of a script.

use std::borrow::Cow;
use std::fmt;

/// Width of the screen in columns.
const COLUMNS: usize = 80;

/// Spaces that replace a tab.
const TAB: &str = "        ";

/// Returns `text` with characters that would control a terminal escaped as in Rust.
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

/// Returns `true` for control characters, invisible characters, and characters that change the text direction.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Writes a line of a script with its number. `mark` is a column, counted from 1, and a width in characters. The marked
/// part is kept visible, and carets on the next line point at it.
pub(crate) fn write_line(
    f: &mut fmt::Formatter<'_>,
    gutter: &str,
    text: &str,
    mark: Option<(usize, usize)>,
) -> fmt::Result {
    let indent = gutter.chars().count();
    let room = COLUMNS.saturating_sub(indent).max(2);
    let (cells, mark) = cells(text, mark);
    // The mark may be after the last character.
    let length = cells.len().max(mark.map_or(0, |(start, _)| start + 1));
    let first = match mark {
        // The last column is reserved for the ellipsis, which shows that the line continues.
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

/// Returns the characters of a line as they are shown, and the shown range of the mark.
fn cells(text: &str, mark: Option<(usize, usize)>) -> (Vec<char>, Option<(usize, usize)>) {
    let mut cells = Vec::new();
    // Shown position of each character of the line.
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

/// Writes text after a heading, wrapped at the edge of the screen. Lines are broken between words, and within an
/// overlong word after a comma.
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

/// Returns the position at which an overlong word is broken within `left` characters: after a comma, or anywhere if the
/// line is empty and there is no comma.
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
