//! Shell commands that set something.

/// Returns the commands of `text` as words without quotes. `>` and `2>` are separate words. Redirections that discard
/// output are left out.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut words = Words::default();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('\n') | None => words.end_word(),
                Some(escaped) => words.quote().push(escaped),
            },
            '"' | '\'' => {
                let inside = characters.by_ref().take_while(|&inner| inner != c);
                words.quote().extend(inside);
            }
            '#' if words.word.is_none() => while characters.next_if(|&c| c != '\n').is_some() {},
            '\n' | ';' | '|' => words.end_command(),
            '&' if characters.next_if_eq(&'&').is_some() => words.end_command(),
            '>' => {
                // Appending and forced overwriting have the same effect on these files as `>`.
                let _ = characters.next_if(|&c| matches!(c, '>' | '|'));
                words.redirect();
            }
            c if c.is_whitespace() => words.end_word(),
            c => words.word.get_or_insert_default().push(c),
        }
    }
    words.end_word();
    words.commands.push(words.command);
    words.commands.into_iter().map(without_silence).collect()
}

/// State of the word splitter.
#[derive(Default)]
struct Words {
    commands: Vec<Vec<String>>,
    command: Vec<String>,
    word: Option<String>,
    /// `true` if part of the word was quoted; such a word is not a descriptor number.
    quoted: bool,
}

impl Words {
    fn end_word(&mut self) {
        self.command.extend(self.word.take());
        self.quoted = false;
    }

    fn end_command(&mut self) {
        self.end_word();
        self.commands.push(std::mem::take(&mut self.command));
    }

    /// Returns the current word, to which quoted text is appended.
    fn quote(&mut self) -> &mut String {
        self.quoted = true;
        self.word.get_or_insert_default()
    }

    /// Handles `>`. An unquoted number directly before it is the redirected descriptor (POSIX shell, 2.7); `&` means
    /// all output.
    fn redirect(&mut self) {
        let is_descriptor = |word: &String| {
            !self.quoted && (word == "&" || word.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let descriptor = self.word.take_if(|word| is_descriptor(word));
        self.end_word();
        self.command.push(match descriptor.as_deref() {
            None | Some("1" | "&") => ">".to_owned(),
            Some(other) => format!("{other}>"),
        });
    }
}

/// Removes redirections of descriptor 2 (such as `2>&1`), `> /dev/null` and `&> /dev/null`.
fn without_silence(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let silences = match &*word {
            "2>" => true,
            ">" => words.peek().is_some_and(|into| into == "/dev/null"),
            _ => false,
        };
        if silences {
            words.next();
            continue;
        }
        if word == "&" {
            continue;
        }
        kept.push(word);
    }
    kept
}

/// Returns the numbers in a sysctl's value. Expressions such as `$((15*1024*1024))` are evaluated.
pub(super) fn numbers(value: &str) -> Option<Vec<u64>> {
    value
        .split_whitespace()
        .map(|part| {
            let inside = part.strip_prefix("$((").and_then(|p| p.strip_suffix("))"));
            inside
                .unwrap_or(part)
                .split('*')
                .map(number)
                .try_fold(1_u64, |product, factor| product.checked_mul(factor?))
        })
        .collect()
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
