//! Parts of pages between two marks. Measurements write these parts.

/// Returns `page` with `text` between the marks of the part `name`. The part is written by `cargo measure COMMAND`.
pub fn put(page: &str, (command, name): (&str, &str), text: &str) -> Result<String, String> {
    let begins = format!("<!-- {name}: `cargo measure {command}` writes this -->\n");
    let ends = format!("<!-- end of {name} -->\n");
    let missing = || format!("the page has no part `{name}` that `cargo measure {command}` writes");
    let (before, rest) = page.split_once(&begins).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&ends).ok_or_else(missing)?;
    Ok(format!(
        "{before}{begins}\n{}\n\n{ends}{after}",
        text.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_replaced_and_nothing_else_changes() {
        let page = "a\n<!-- x: `cargo measure it` writes this -->\nold\n<!-- end of x -->\nb\n";
        let of_it = ("it", "x");
        let once = put(page, of_it, "new\n").unwrap();
        let whole =
            "a\n<!-- x: `cargo measure it` writes this -->\n\nnew\n\n<!-- end of x -->\nb\n";
        assert_eq!(once, whole);
        assert_eq!(put(&once, of_it, "new").unwrap(), once);
        assert!(put(page, ("it", "y"), "new").unwrap_err().contains("`y`"));
        assert!(put(page, ("other", "x"), "new").is_err());
    }
}
