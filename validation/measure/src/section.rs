//! Sections of docs/performance.md that other commands than `cargo measure peers` write.

/// Returns the section of `page` that begins with `heading`, or an empty text if there is none.
pub fn find<'p>(page: &'p str, heading: &str) -> &'p str {
    let Some(rest) = page.find(heading).and_then(|at| page.get(at..)) else {
        return "";
    };
    let next = rest
        .get(heading.len()..)
        .and_then(|rest| rest.find("\n## "));
    match next {
        Some(next) => &rest[..heading.len() + next + 1],
        None => rest,
    }
}

/// Returns `page` with the section `text`, which begins with `heading`. The text replaces the section with this
/// heading. If there is no such section, the text is added at the end.
pub fn put(page: &str, heading: &str, text: &str) -> String {
    let text = text.trim_end();
    match find(page, heading) {
        "" => format!("{}\n\n{text}\n", page.trim_end()),
        old if page.ends_with(old) => page.replace(old, &format!("{text}\n")),
        old => page.replace(old, &format!("{text}\n\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Performance\n\n## One\n\nold\n\n### Part\n\nold\n\n## Two\n\nlast\n";

    #[test]
    fn a_section_ends_where_the_next_begins() {
        assert_eq!(
            find(PAGE, "## One\n"),
            "## One\n\nold\n\n### Part\n\nold\n\n"
        );
        assert_eq!(find(PAGE, "## Two\n"), "## Two\n\nlast\n");
        assert_eq!(find(PAGE, "## Three\n"), "");
    }

    #[test]
    fn a_section_replaces_the_old_one_and_the_others_stay() {
        let one = put(PAGE, "## One\n", "## One\n\nnew\n");
        assert_eq!(one, "# Performance\n\n## One\n\nnew\n\n## Two\n\nlast\n");
        let two = put(PAGE, "## Two\n", "## Two\n\nnew\n");
        assert!(two.ends_with("old\n\n## Two\n\nnew\n"), "{two}");
        let three = put(PAGE, "## Three\n", "## Three\n\nnew\n");
        assert_eq!(three, format!("{PAGE}\n## Three\n\nnew\n"));
        assert_eq!(put(&three, "## Three\n", "## Three\n\nnew"), three);
    }
}
