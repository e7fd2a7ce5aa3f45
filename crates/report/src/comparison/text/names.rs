//! Names of stacks in a table. If the full names do not fit, a letter replaces the parameters of each name, and a
//! legend explains the letters.

use dupack_lab::results::Results;

/// The names of all stacks of a table.
pub(super) struct Names {
    /// Names as shown in the table, in the order of the stacks.
    shown: Vec<String>,
    /// Pairs of a short name and its full name.
    legend: Vec<(String, String)>,
}

impl Names {
    /// Returns the full names.
    pub(super) fn whole(results: &Results) -> Self {
        Self {
            shown: results.stacks.clone(),
            legend: Vec::new(),
        }
    }

    /// Returns names in which a letter replaces each list of parameters: `rack/bbr(A)`. Equal lists have the same
    /// letter.
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

    /// Returns the name of `stack` at `point`. If some of its runs cannot be trusted, the number of remaining runs
    /// follows the name.
    pub(super) fn at(&self, results: &Results, point: usize, stack: usize) -> String {
        let whole = results.name_at(point, stack);
        match whole.strip_prefix(results.stacks[stack].as_str()) {
            Some(rest) => format!("{}{rest}", self.shown[stack]),
            None => whole,
        }
    }

    /// Returns each short name with its full name.
    pub(super) fn legend(&self) -> impl Iterator<Item = (&str, &str)> {
        self.legend.iter().map(|(s, w)| (s.as_str(), w.as_str()))
    }
}

/// Returns `stack` with a letter in place of each list in parentheses. `lists` contains the lists that already have a
/// letter.
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

/// Returns the letter of `list`. Lists after the 26th have a number instead.
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
    fn equal_lists_have_the_same_letter() {
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
