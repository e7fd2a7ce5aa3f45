//! Tests of inputs that cannot be judged: missing runs, numbers that are not finite, invalid rules.

use super::*;

/// Returns the error for a file that ends with `end`, and the text at which the error points.
fn refused(end: &str) -> (String, String) {
    let source = source(end);
    let plan = source.parse().and_then(|experiment| {
        let plan = Plan::new(experiment, &source, &Catalog::builtin())?;
        Rules::of_plan(&plan, &source, &Catalog::builtin())
    });
    let ExperimentError::Invalid(complaint) = plan.expect_err(end) else {
        panic!("{end}");
    };
    let pointed = complaint
        .at
        .map_or("", |at| &source.text[at.offset()..at.offset() + at.len()]);
    let help = complaint.help.unwrap_or_default();
    (format!("{}; {help}", complaint.message), pointed.to_owned())
}

/// Returns the error for `TEXT` with one more definition.
fn defining(line: &str) -> (String, String) {
    refused(&format!("{line}\n"))
}

#[test]
fn no_claim_is_decided_while_runs_are_missing() {
    let claims = "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = 'all(gain(LE) > 1)'\n";
    let (rules, mut results) = (rules(claims).unwrap(), results());
    assert_eq!(
        rules.judge_results(&results)[0].finding.verdict,
        Verdict::Holds
    );
    // Every cell still has two seeds, which would be enough for a verdict.
    results.runs.retain(|run| run.seed != 3);
    let finding = &rules.judge_results(&results)[0].finding;
    assert_eq!(finding.verdict, Verdict::CannotBeTold);
    assert!(
        finding.found.starts_with("so far: gain(LE): 1.50"),
        "{}",
        finding.found
    );
}

#[test]
fn numbers_that_are_not_finite_decide_nothing() {
    for rule in [
        "0/0 > 0",
        "not (0/0 > 0)",
        "1/0 > 0",
        "ln(-1) > 0",
        "ln(-1) != 0",
        "-(1/0) < 0",
        "exp(1000) > 0",
        "round(1, 400) = 1",
        "geomean(-1, 2) > 0",
        "near(0, 0, 5%)",
        "max(1, 1/0) > 0",
        "1e308 * 10 > 1",
        "within(ratio_of_means(goodput[LE, loss = 5%], timeouts[LE, loss = 5%]), 0, 1)",
    ] {
        let claim = format!("[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = '{rule}'\n");
        let (rules, planned, results) = (rules(&claim).unwrap(), planned(), results());
        rules.check(&World::planned(&planned)).unwrap();
        let judged = rules.judge_results(&results);
        assert_eq!(judged[0].finding.verdict, Verdict::CannotBeTold, "{rule}");
    }
    let (pointed, said) = wrong("1e400 > 0");
    assert_eq!(
        (pointed.as_str(), said.contains("too large")),
        ("1e400", true)
    );
    // All planned values are 1, so the difference is zero. The other side is checked nevertheless.
    let (_, said) =
        wrong("1 / (mean(goodput[LE, loss = 5%]) - mean(goodput[SACK, loss = 5%])) > LE");
    assert!(said.contains("cannot apply `>`"), "{said}");
}

#[test]
fn long_chains_do_not_overflow_the_stack() {
    for sign in ["+", "and", "-", "or"] {
        let chain = |terms| vec!["1"; terms].join(&format!(" {sign} "));
        let fault = crate::parse::parse(&chain(20_000)).unwrap_err();
        assert!(fault.message.contains("operators"), "{}", fault.message);
        assert!(crate::parse::parse(&chain(900)).is_ok());
    }
    holds(&format!("{} = 900", vec!["1"; 900].join(" + ")));
    let dots = "x.".repeat(20_000);
    assert!(crate::parse::parse(&dots).is_err());
    // Definitions use one another, and each of them is deeply nested.
    let open = "(1 + ".repeat(40);
    let close = ")".repeat(40);
    let mut text = "d0 = \"1\"\n".to_owned();
    for n in 1..30 {
        text += &format!("d{n} = \"{open}d{}{close}\"\n", n - 1);
    }
    let claim = "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = 'd29 > 0'\n";
    assert!(refused(&(text + claim)).0.contains("nested too deeply"));
}

#[test]
fn a_rule_that_takes_too_long_is_refused_before_anything_runs() {
    let loops = "all a in points: ".repeat(24);
    let claim = format!("[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = '{loops}1 > 0'\n");
    let (said, pointed) = refused(&claim);
    assert!(said.contains("steps"), "{said}");
    assert!(!pointed.is_empty());
    let mut text = "e0 = \"1\"\n".to_owned();
    for n in 1..10 {
        let eight = vec![format!("e{}", n - 1); 8].join(" + ");
        text += &format!("e{n} = \"{eight}\"\n");
    }
    let claim = "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = 'e9 > 0'\n";
    assert!(refused(&(text + claim)).0.contains("steps"));
}

#[test]
fn an_error_says_what_to_write_instead() {
    for (rule, place, part) in [
        (
            "goodput[SACK, path.loss > 0%] > 1",
            "path.loss",
            "write `\"path.loss\"`",
        ),
        (
            "path.goodput[SACK] > 1",
            "path",
            "this file has a single experiment",
        ),
        (
            "which_largest(each s in both: mean(goodput[s, loss = 0%])) > 3",
            "",
            "cannot apply `>`",
        ),
        (
            "max(value(points, \"path.lss\")) > 1",
            "\"path.lss\"",
            "did you mean `path.loss`",
        ),
        (
            "setting(\"path.rat\") > 1",
            "\"path.rat\"",
            "did you mean `path.rate`",
        ),
        (
            "paper.goodput[SACK, loss = 0%] > 1",
            "",
            "only `[[printed]]`",
        ),
        ("SACK + 1 > 1", "SACK + 1", "goodput[NAME]"),
        ("true + 1 > 1", "true + 1", "with `and`"),
        ("first(points) + 1 > 1", "first(points) + 1", "value(p)"),
    ] {
        let (pointed, said) = wrong(rule);
        assert!(said.contains(part), "{rule}: {said}");
        assert!(place.is_empty() || pointed == place, "{rule}: {pointed}");
    }
    let claim = |more: &str| {
        format!("[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = \"1 > 0\"\n{more}\n")
    };
    let (said, _) = refused(&claim("experiment = \"zzz\""));
    assert!(said.contains("without a name"), "{said}");
    for format in ["zz", "16", "+", ""] {
        let (said, pointed) = refused(&claim(&format!("found = \"{{1:{format}}} %\"")));
        assert!(
            said.contains("invalid number format") && said.contains("`:+1`"),
            "{said}"
        );
        assert_eq!(pointed, format);
    }
}

#[test]
fn invalid_names_are_refused() {
    for (line, part) in [
        ("\"f(x\" = \"x\"", "unclosed parenthesis"),
        (
            "\"f(x,x)\" = \"x\"",
            "two inputs of `f(x,x)` are called `x`",
        ),
        ("\"f()\" = \"1\"", "is not a valid name"),
        ("\"f g\" = \"1\"", "is not a valid name"),
        ("\"\" = \"1\"", "is not a valid name"),
        (
            "SACK = \"1\"",
            "a stack in `[names]` is already called `SACK`",
        ),
        ("goodput = \"1\"", "a measure is already called `goodput`"),
        ("flow_goodput = \"1\"", "a measure is already called"),
        ("points = \"1\"", "is not a valid name"),
        (
            "f = \"1\"\n\"f(x)\" = \"x\"",
            "another definition is already called `f`",
        ),
        ("f = \"godput[SACK]\"", "did you mean `goodput`"),
        ("\"f(x)\" = \"maen(x)\"", "did you mean `mean`"),
        ("\"f(x)\" = \"each s in x: gain(ss)\"", "unknown name `ss`"),
        ("f = \"goodput[SAK]\"", "did you mean `SACK`"),
        ("f = \"other.goodput[SACK]\"", "unknown experiment `other`"),
    ] {
        let (said, pointed) = defining(line);
        assert!(said.contains(part), "{line}: {said}");
        assert!(!pointed.is_empty(), "{line}");
    }
    for name in ["x y", "", "2x", "and", "all", "true", "a-", "x\\u001b"] {
        let text = source("")
            .text
            .replace("[define]", &format!("\"{name}\" = \"sack/reno\"\n[define]"));
        let source = Source { text, ..source("") };
        let experiment = source.parse().unwrap();
        let rules = Rules::new(&experiment.vocabulary(), &[], &source, &Catalog::builtin());
        let said = rules.expect_err(name).to_string();
        assert!(
            said.contains("invalid name") && !said.contains('\u{1b}'),
            "{said}"
        );
    }
    for id in ["", "a\\nb", "a\\u001bb"] {
        let claim = format!("[[claim]]\nid = \"{id}\"\nstatement = \"x\"\nholds_if = \"1 > 0\"\n");
        assert!(
            refused(&claim)
                .0
                .contains("must be a non-empty name on one line"),
            "{id}"
        );
    }
}

#[test]
fn items_of_lists_are_shown_after_their_names() {
    for (rule, found) in [
        ("{which(goodput[SACK] > 1.5)}", "loss 0%, loss 1%"),
        (
            "{which(each s in both: goodput[s] > 3)}",
            "SACK: loss 0%; LE, as published: loss 0%, loss 1%",
        ),
        ("{which(goodput[SACK] > 100)}", "none"),
        (
            "{each s in both: which_largest(goodput[s])}",
            "SACK: loss 0%; LE, as published: loss 0%",
        ),
    ] {
        let claim = format!(
            "[[claim]]\nid = \"x\"\nstatement = \"x\"\nholds_if = 'true'\nfound = '{rule}'\n"
        );
        let shown = rules(&claim).unwrap().judge_results(&results())[0]
            .finding
            .found
            .clone();
        assert_eq!(shown, found, "{rule}");
    }
}

#[test]
fn the_schema_and_the_checks_of_a_claim_agree() {
    let schema = dupack_lab::experiment::json_schema();
    let claim = &schema["$defs"]["Claim"];
    let required = claim["required"]
        .as_array()
        .expect("the schema lists required fields");
    let whole = ["id = \"x\"", "statement = \"x\"", "holds_if = \"1 > 0\""];
    for line in whole {
        let field = line.split(' ').next().unwrap_or_default();
        assert!(required.contains(&field.into()), "{field}: {required:?}");
        let others = whole.iter().filter(|other| **other != line);
        let others: Vec<&str> = others.copied().collect();
        let error = source(&format!("[[claim]]\n{}\n", others.join("\n"))).parse();
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains(&format!("missing field `{field}`")),
            "{error}"
        );
    }
    assert_eq!(required.len(), whole.len());
    // Only a paper has several experiments.
    assert!(claim["properties"].get("experiment").is_none());
}
