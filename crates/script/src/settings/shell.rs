//! Shell commands, as far as they set something.

/// The commands of `text`, as words without quotes. Redirections of output that is thrown away
/// are left out.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut characters = text.chars().peekable();
    let mut word: Option<String> = None;
    let end_word = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
            command.push(word);
        }
    };
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('\n') | None => end_word(&mut word, &mut commands),
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '"' | '\'' => {
                let inside = word.get_or_insert_default();
                inside.extend(characters.by_ref().take_while(|&inner| inner != c));
            }
            '#' if word.is_none() => while characters.next_if(|&c| c != '\n').is_some() {},
            '\n' | ';' | '|' => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            '&' if characters.peek() == Some(&'&') => {
                end_word(&mut word, &mut commands);
                commands.push(Vec::new());
                characters.next();
            }
            '>' if word.as_deref() == Some("2") || word.is_none() => {
                let into = word.take().map_or(">", |_| "2>");
                if let Some(command) = commands.last_mut() {
                    command.push(into.to_owned());
                }
            }
            c if c.is_whitespace() => end_word(&mut word, &mut commands),
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut word, &mut commands);
    commands.into_iter().map(without_silence).collect()
}

/// Leaves out `2>&1`, `> /dev/null` and `&> /dev/null`.
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

/// The numbers of a sysctl's value; `$((15*1024*1024))` is worked out.
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
