//! The measured parts of docs/evaluation.md.

use std::fmt::Write as _;

use super::cards::{Card, Row, Stability, Verdict, alike};

/// Returns the table of all cards, with signs only.
pub fn cards(cards: &[Card]) -> String {
    let names = cards.iter().enumerate();
    let names: Vec<String> = names
        .map(|(n, card)| format!("{} `{}`", n + 1, card.stack))
        .collect();
    let scale = match cards.first().map(|card| card.extent.as_str()) {
        Some("quick") => "By a quick look (`--quick`): ",
        _ => "",
    };
    let mut out = format!("{scale}{}.\n\n| RFC 9743 | criterion |", names.join(", "));
    for n in 1..=cards.len() {
        let _ = write!(out, " {n} |");
    }
    let _ = writeln!(out, "\n| --- | --- |{}", " :-: |".repeat(cards.len()));
    for (n, row) in cards
        .first()
        .iter()
        .flat_map(|card| card.rows.iter().enumerate())
    {
        let _ = write!(out, "| {} | {} |", row.section, row.title);
        for card in cards {
            let sign = card.rows.get(n).map_or("", |row| row.verdict.sign());
            let _ = write!(out, " {sign} |");
        }
        out.push('\n');
    }
    out
}

/// Returns the table with the numbers of senders that meet and do not meet each rule, and the rules that no card
/// distinguishes.
pub fn rules(ten: &[Card], broken: &[Card]) -> String {
    let all = [ten, broken].concat();
    let mut out = "| criterion | meets | does not meet | cannot be told | broken senders that do not meet it |\n\
                   | --- | --: | --: | --: | --- |\n"
        .to_owned();
    let rows: Vec<&Row> = ten.first().iter().flat_map(|card| &card.rows).collect();
    for row in rows {
        let Some(key) = &row.key else { continue };
        let count = |verdict| {
            let of = all.iter().filter(|card| card.verdict(key) == Some(verdict));
            of.count()
        };
        let failing = broken.iter();
        let failing = failing.filter(|card| card.verdict(key) == Some(Verdict::DoesNotMeet));
        let failing: Vec<String> = failing.map(|card| format!("`{}`", card.stack)).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            row.title,
            count(Verdict::Meets),
            count(Verdict::DoesNotMeet),
            count(Verdict::CannotBeTold),
            failing.join(", ")
        );
    }
    let pairs: Vec<String> = alike(&all)
        .iter()
        .map(|(a, b)| format!("`{a}` and `{b}`"))
        .collect();
    let extents = [ten, broken].map(|cards| cards.first().map_or("", |card| &card.extent));
    let _ = writeln!(
        out,
        "\nThe {} cards above are {}, and the {} cards of broken senders are {}.",
        ten.len(),
        extents[0],
        broken.len(),
        extents[1]
    );
    let _ = match pairs.is_empty() {
        true => writeln!(
            out,
            "For any two rules, some sender meets one and does not meet the other."
        ),
        false => writeln!(
            out,
            "Indistinguishable rules, which no sender separates: {}.",
            pairs.join("; ")
        ),
    };
    out
}

/// Returns the part about other seeds.
pub fn stability(found: &Stability) -> String {
    let stacks: Vec<String> = found
        .stacks
        .iter()
        .map(|stack| format!("`{stack}`"))
        .collect();
    let mut out = format!(
        "Of {} verdicts on {}, {} ({:.1} %) are the same with {} disjoint sets of seeds; {} change between \
         ✓ and ✗.\n",
        found.cells,
        stacks.join(", "),
        found.agreeing,
        100.0 * found.share(),
        found.sets,
        found.turned.len()
    );
    if !found.different.is_empty() {
        out += "\n| stack | criterion | verdict with each set |\n| --- | --- | --- |\n";
    }
    for (stack, key, verdicts) in &found.different {
        let signs: Vec<&str> = verdicts.iter().map(|verdict| verdict.sign()).collect();
        let _ = writeln!(out, "| `{stack}` | `{key}` | {} |", signs.join(" "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::cards::tests::card;
    use super::*;
    use Verdict::{DoesNotMeet, Meets};

    #[test]
    fn indistinguishable_rules_are_named() {
        let ten = [card("x", &[Meets, Meets])];
        assert!(rules(&ten, &[]).contains("separates: `a` and `b`."));
        let broken = [card("y", &[Meets, DoesNotMeet])];
        let text = rules(&ten, &broken);
        assert!(
            text.contains("For any two rules") && text.contains("| 1 | 1 | 0 | `y` |"),
            "{text}"
        );
        assert!(cards(&ten).contains("| 6.1 | t | ✓ |"));
    }
}
