//! Commands of a Markdown page, and the output that the page shows for them.

/// A command in an `sh` block.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Line of the page on which the command begins, counted from 1.
    pub line: usize,
    /// Text for a shell, on one line and without its comment.
    pub text: String,
    /// Output that the page shows: the `text` block after the `sh` block. It belongs to the last command of the `sh`
    /// block.
    pub shown: Option<String>,
}

/// Returns the commands of a page in order.
pub fn commands(page: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut lines = (1..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        let inside = lines
            .by_ref()
            .take_while(|(_, line)| !line.trim_start().starts_with("```"));
        let inside: Vec<&str> = inside.map(|(_, line)| line).collect();
        match language.trim() {
            "sh" => commands.extend(in_block(number + 1, &inside)),
            "text" => {
                // The output belongs to the preceding block, unless that block already has its output.
                if let Some(last) = commands.last_mut().filter(|last| last.shown.is_none()) {
                    last.shown = Some(inside.join("\n"));
                }
            }
            _ => {}
        }
    }
    commands
}

/// Returns the commands of a block. `first` is the line number of its first line in the page.
fn in_block(first: usize, lines: &[&str]) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (line, text) in (first..).zip(lines) {
        let text = without_comment(text);
        let (at, before) = begun.take().unwrap_or((line, String::new()));
        let whole = format!("{before}{}", text.trim());
        if let Some(open) = whole.strip_suffix('\\') {
            begun = Some((at, format!("{} ", open.trim_end())));
        } else if !whole.is_empty() {
            commands.push(Command {
                line: at,
                text: whole,
                shown: None,
            });
        }
    }
    commands
}

/// Removes the comment at the end of a line: `#` after a space, outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() => return &line[..at],
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

/// Returns the first part of `shown` that does not follow the previous parts in `output`. Lines of `…` separate the
/// parts and stand for any number of lines. Line breaks are ignored because they depend on the width of the terminal.
pub fn first_missing(shown: &str, output: &str) -> Option<String> {
    let output = in_one_line(output.lines());
    let lines: Vec<&str> = shown.lines().collect();
    let mut rest = &*output;
    for part in lines.split(|line| line.trim() == "…") {
        let part = in_one_line(part.iter().copied());
        match rest.find(&part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return Some(part),
        }
    }
    None
}

fn in_one_line<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_written() {
        let page = "Text.\n\n```sh\none --a 'b # c'   # why\n\ntwo \\\n   --more 3\n```\n\n```text\nsaid\n```\n\
                    ```python\nx = 1\n```\n```text\nnobody's\n```\n";
        let command = |line, text: &str, shown: Option<&str>| Command {
            line,
            text: text.to_owned(),
            shown: shown.map(str::to_owned),
        };
        let expected = [
            command(4, "one --a 'b # c'", None),
            command(6, "two --more 3", Some("said")),
        ];
        assert_eq!(commands(page), expected);
    }

    #[test]
    fn shown_output_must_appear_in_order() {
        let output = "head\na\nb  is\n  long\nc\n";
        let missing = |shown| first_missing(shown, output);
        assert_eq!(missing("a\n…\nc"), None);
        assert_eq!(missing("b is long"), None);
        assert_eq!(missing("c\n…\na").as_deref(), Some("a"));
        assert_eq!(missing("a\nc").as_deref(), Some("a c"));
    }
}
