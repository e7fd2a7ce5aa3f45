//! Names of stacks as a table shows them: whole, or with a letter in the place of their parameters where
//! there is no room, and what each letter stands for below.

use dupack_lab::results::Results;

/// The names of all stacks of a table.
pub(super) struct Names {
    /// In the order of the stacks.
    shown: Vec<String>,
    /// Short names with the whole ones.
    legend: Vec<(String, String)>,
}

impl Names {
    /// As they are.
    pub(super) fn whole(results: &Results) -> Self {
        Self {
            shown: results.stacks.clone(),
            legend: Vec::new(),
        }
    }

    /// With a letter for each list of parameters: `rack/bbr(A)`. What is alike has the same letter.
    pub(super) fn short(results: &Results) -> Self {
        let mut lists: Vec<String> = Vec::new();
        let mut names = Self {
            shown: Vec::new(),
            legend: Vec::new(),
        };
        for stack in &results.stacks {
            let short = shortened(stack, &mut lists);
            if short != *stack {
                names.legend.push((short.clone(), stack.clone()));
            }
            names.shown.push(short);
        }
        names
    }

    /// The name of `stack` at `point`, with how many of its runs are left, if some of them cannot be
    /// trusted.
    pub(super) fn at(&self, results: &Results, point: usize, stack: usize) -> String {
        let whole = results.name_at(point, stack);
        match whole.strip_prefix(results.stacks[stack].as_str()) {
            Some(rest) => format!("{}{rest}", self.shown[stack]),
            None => whole,
        }
    }

    /// Each short name with the whole one.
    pub(super) fn legend(&self) -> impl Iterator<Item = (&str, &str)> {
        self.legend.iter().map(|(s, w)| (s.as_str(), w.as_str()))
    }
}

/// `stack` with a letter in the place of each list in parentheses; `lists` are those that have one.
fn shortened(stack: &str, lists: &mut Vec<String>) -> String {
    let (mut short, mut list) = (String::new(), String::new());
    let mut depth = 0_u32;
    for c in stack.chars() {
        match (c, depth) {
            ('(', 0) => {
                short.push(c);
                depth = 1;
                continue;
            }
            ('(', _) => depth += 1,
            (')', 1) => {
                short += &letter(&list, lists);
                list.clear();
                depth = 0;
            }
            (')', 2..) => depth -= 1,
            _ => {}
        }
        match depth {
            0 => short.push(c),
            _ => list.push(c),
        }
    }
    short
}

/// The letter of `list`; after Z come numbers.
fn letter(list: &str, lists: &mut Vec<String>) -> String {
    let known = lists.iter().position(|other| other == list);
    let place = known.unwrap_or_else(|| {
        lists.push(list.to_owned());
        lists.len() - 1
    });
    match u8::try_from(place) {
        Ok(place @ 0..26) => char::from(b'A' + place).to_string(),
        _ => place.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_alike_have_the_same_letter() {
        let mut lists = Vec::new();
        let mut short = |stack| shortened(stack, &mut lists);
        assert_eq!(short("sack/reno"), "sack/reno");
        assert_eq!(short("newreno(full_ack=alg1)/reno"), "newreno(A)/reno");
        assert_eq!(short("newreno(full_ack=alg2)/reno"), "newreno(B)/reno");
        assert_eq!(
            short("newreno(full_ack=alg1)/bbr(x=f(1),y=2)"),
            "newreno(A)/bbr(C)"
        );
        let mut many: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        assert_eq!(letter("25", &mut many), "Z");
        assert_eq!(letter("26", &mut many), "26");
    }
}
