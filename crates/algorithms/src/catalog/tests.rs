//! Tests of the whole catalog, and of the text of stacks.

mod deploy;
mod transfer;

use std::collections::BTreeSet;

use dupack_tcp::time::Duration;

use std::sync::LazyLock;

use super::*;

static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

fn parse(text: &str) -> StackSpec {
    StackSpec::parse(text, &CATALOG).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    StackSpec::parse(text, &CATALOG)
        .expect_err("it is no stack")
        .to_string()
}

/// Returns a value that is not the parameter's default in the dialect `rfc`.
fn another(spec: &ParameterSpec) -> Value {
    let candidates = match &spec.kind {
        Kind::Choice(words) => {
            let words = words.iter().map(|known| known.word.clone());
            words.map(Value::Choice).collect()
        }
        Kind::Integer { min, max, .. } => vec![Value::Integer(*min), Value::Integer(*max)],
        Kind::Real { min, max, .. } => vec![Value::Real(*min), Value::Real((min + max) / 3.0)],
        Kind::Time => vec![Value::Time(Duration::from_micros(1700))],
    };
    let default = &spec.default.rfc;
    let other = candidates.into_iter().find(|value| value != default);
    other.unwrap_or_else(|| panic!("`{}` has only one value", spec.name))
}

#[test]
fn entries_are_well_formed() {
    for entry in CATALOG.descriptions() {
        assert!(!entry.summary.is_empty() && !entry.citation.is_empty());
        let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let source = std::path::Path::new(workspace).join(&*entry.file);
        let source = std::fs::read_to_string(source).unwrap_or_default();
        let named = source.contains(&format!("\"{}\"", entry.name));
        assert!(named, "{} does not name `{}`", entry.file, entry.name);
        for spec in entry.parameters.iter() {
            let place = format!("{}({})", entry.name, spec.name);
            assert!(!spec.doc.is_empty() && !spec.source.is_empty(), "{place}");
        }
        for conflict in &entry.conflicts {
            if let Opponent::Named(with) = &conflict.with {
                let known = CATALOG.find(conflict.axis, with);
                assert!(known.is_some(), "{}: {with}", entry.name);
            }
        }
    }
    for axis in Axis::ALL {
        assert!(
            axis.null()
                .is_none_or(|null| CATALOG.find(axis, null).is_some())
        );
    }
}

#[test]
fn every_stack_builds_in_every_dialect_and_reads_back() {
    for stack in CATALOG.stacks() {
        assert_eq!(parse(&stack.to_string()), stack);
        for dialect in Dialect::ALL {
            drop(stack.build(dialect, &Context::new(1000)));
            assert_eq!(stack.effective(dialect).len(), 4);
            let _ = stack.needs(dialect);
        }
    }
}

#[test]
fn pairs_leave_no_two_entries_apart() {
    let pairs = |stacks: &mut dyn Iterator<Item = StackSpec>| {
        let mut pairs = BTreeSet::new();
        let mut count = 0;
        for stack in stacks {
            count += 1;
            let names = stack.names();
            for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                pairs.insert((a, names[a].to_owned(), b, names[b].to_owned()));
            }
        }
        (pairs, count)
    };
    let (all, product) = pairs(&mut CATALOG.stacks());
    let (some, few) = pairs(&mut CATALOG.stacks_by_pairs());
    assert_eq!(all, some);
    assert!(few < product / 2, "{few} of {product}");
}

#[test]
fn every_parameter_reads_back_and_builds() {
    for entry in CATALOG.descriptions() {
        let stack = CATALOG
            .stacks()
            .find(|s| s.name(entry.axis) == entry.name)
            .unwrap_or_else(|| panic!("no stack has `{}`", entry.name));
        for spec in entry.parameters.iter() {
            let value = another(spec);
            let mut parts = stack.names().map(str::to_owned);
            parts[entry.axis as usize] += &format!("({}={value})", spec.name);
            let text = parts.join("/");
            let changed = parse(&text);
            assert_ne!(changed, stack, "{text}");
            assert_eq!(parse(&changed.to_string()), changed, "{text}");
            assert!(changed.to_string().contains(&format!("{}=", spec.name)));
            for dialect in Dialect::ALL {
                let effective = changed.effective(dialect);
                let found = effective[entry.axis as usize]
                    .parameters
                    .iter()
                    .find(|(s, ..)| s.name == spec.name)
                    .map(|(_, value, origin)| (*value, *origin));
                assert_eq!(found, Some((&value, Origin::Given)), "{text}");
                drop(changed.build(dialect, &Context::new(1000)));
            }
        }
    }
}

#[test]
fn the_short_form_is_canonical() {
    for (text, canonical) in [
        ("newreno/reno", "newreno/reno"),
        (" newreno ( ) / reno ", "newreno/reno"),
        ("newreno/reno/none/0", "newreno/reno"),
        ("newreno/reno/veno/tcp", "newreno/reno/veno/0"),
        ("newreno/reno/veno/previous", "newreno/reno/veno/1"),
        // A value that is the default in every dialect is not printed; a value that is the default in only some is
        // printed.
        ("newreno/reno/veno(beta=3)/1", "newreno/reno/veno/1"),
        ("newreno/reno(count=bytes)", "newreno/reno(count=bytes)"),
        // Parameters are printed in the order of the catalog.
        (
            "newreno/reno( decrease = 0.8 , count=acks)",
            "newreno/reno(count=acks,decrease=0.8)",
        ),
    ] {
        assert_eq!(parse(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn effective_parameters_follow_the_dialect() {
    let stack = parse("newreno/reno(limit=2)");
    let of = |dialect, name| {
        let control = &stack.effective(dialect)[1];
        assert_eq!((control.axis, control.algorithm), (Axis::Control, "reno"));
        let found = control.parameters.iter().find(|(s, ..)| s.name == name);
        found
            .map(|(_, value, origin)| ((*value).clone(), *origin))
            .unwrap()
    };
    let count = |dialect| of(dialect, "count");
    assert_eq!(count(Dialect::Ns2), (Value::word("acks"), Origin::Default));
    assert_eq!(count(Dialect::Rfc), (Value::word("bytes"), Origin::Default));
    assert_eq!(
        of(Dialect::Ns2, "limit"),
        (Value::Integer(2), Origin::Given)
    );
}

#[test]
fn needs_are_those_of_all_entries() {
    assert_eq!(parse("newreno/reno").needs(Dialect::Rfc), Needs::NONE);
    let union = Needs::SACK.union(Needs::NONE.and_order_echo());
    assert!(union.sack && union.order_echo && !union.dsack);
}

#[test]
fn aliases_and_conflicts_are_reported() {
    let previous = CATALOG.descriptions().find(|d| d.name == "1").unwrap();
    assert_eq!(previous.aliases, ["previous"]);
    let forbids = |names| CATALOG.forbids(names);
    let forbidden = forbids(["newreno", "reno", "none", "1"]).unwrap();
    assert_eq!(forbidden.by, (Axis::Differentiation, "none".into()));
    assert_eq!(forbidden.with, (Axis::Response, "1".into()));
    assert_eq!(forbids(["newreno", "reno", "none", "0"]), None);
    assert_eq!(forbids(["newreno", "reno", "veno", "1"]), None);
    assert!(
        CATALOG
            .stacks()
            .all(|s| s.names()[2] != "none" || s.names()[3] == "0")
    );
}

#[test]
fn errors_about_axes() {
    assert_eq!(
        error("newreno"),
        "stack `newreno`: it names no congestion control: write `recovery/control`, as in \
         `newreno/reno`"
    );
    assert_eq!(
        error("newreno/reno/veno"),
        "stack `newreno/reno/veno`: it names a loss differentiation and no response to the \
         losses it finds: add one, as in `newreno/reno/veno/1`"
    );
    assert_eq!(
        error("newreno/reno/veno/1/x"),
        "stack `newreno/reno/veno/1/x`, column 21: `x` is a fifth axis: a stack is \
         `recovery/control`, or `recovery/control/differentiation/response`"
    );
    assert_eq!(
        error("newreno/reno/none/1"),
        "stack `newreno/reno/none/1`, column 14: loss differentiation `none` and response `1` \
         cannot be combined: a response applies only to losses that are classified as link errors, \
         and `none` classifies none: name a loss differentiation, or leave both out"
    );
    assert!(
        error("newreno//veno/1").contains("missing congestion control: expected one of `reno`")
    );
}

#[test]
fn errors_about_names() {
    let text = error("newrno/reno");
    assert!(
        text.starts_with(
            "stack `newrno/reno`, column 1: no loss recovery is called `newrno`; did you mean \
             `newreno`? There are "
        ),
        "{text}"
    );
    let text = error("newreno/newreno");
    assert!(
        text.contains(
            "column 9: no congestion control is called `newreno`, which is a loss recovery (a \
             stack is `recovery/control/differentiation/response`)"
        ),
        "{text}"
    );
    assert!(error("newreno/reno/veno/prevoius").contains("did you mean `previous`?"));
    assert!(error("newreno/reno/veno/99").ends_with(
        "There are `0` (or `tcp`), `1` (or `previous`), `11`, `12`, `13`, `14`, `15`, `16`, `17`, \
             `21`, `22`, `23`, `24`, `25`, `26`, `27`, `dynamic`"
    ));
}

#[test]
fn errors_about_parameters() {
    let text = error("newreno/reno/veno(bta=4)/1");
    assert_eq!(
        text,
        "stack `newreno/reno/veno(bta=4)/1`, column 19: `veno` has no parameter `bta`; did you \
         mean `beta`? It has `beta`, `rtt`"
    );
    assert_eq!(
        error("newreno/reno/oracle(x=4)/1"),
        "stack `newreno/reno/oracle(x=4)/1`, column 21: `oracle` has no parameter `x` (it has \
         none): leave it out"
    );
    assert!(error("newreno/reno(count=byte)").ends_with(
        "column 20: count: invalid value `byte`: expected `acks` or `bytes`; did you mean `bytes`?"
    ));
    assert!(error("newreno/fixed(window=0)").ends_with(
        "column 22: window: invalid value `0`: expected a whole number from 1 to 1000000 \
         (segments)"
    ));
    assert!(
        error("newreno/reno(decrease=)")
            .ends_with("decrease: missing value: expected a number from 0 to 1")
    );
    assert!(error("newreno/reno(count)").ends_with("`count` has no value: write `count=…`"));
    assert!(
        error("newreno/fixed(window=4,window=5)")
            .ends_with("column 24: `window` is given twice: remove one")
    );
}

#[test]
fn errors_about_parentheses() {
    assert!(error("newreno/reno(count=bytes").contains("column 13: unbalanced `(`"));
    assert!(error("newreno/reno)").contains("column 13: unbalanced `)`"));
    assert!(
        error("newreno/reno()x").contains("column 15: unexpected `x` after a closing parenthesis")
    );
}

#[test]
fn no_text_panics() {
    let pieces = [
        "newreno", "reno", "veno", "1", "/", "/", "(", ")", "=", ",", " ", "beta", "é", "💥", "3",
    ];
    let mut state = 1_u64;
    let mut next = |below: usize| {
        // Random numbers by xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as usize % below
    };
    let mut stacks = 0;
    for _ in 0..100_000 {
        let length = next(12);
        let text: String = (0..length).map(|_| pieces[next(pieces.len())]).collect();
        match StackSpec::parse(&text, &CATALOG) {
            Ok(stack) => {
                stacks += 1;
                assert_eq!(parse(&stack.to_string()), stack);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(stacks > 10, "{stacks}");
}

fn mine(name: &'static str) -> Entry<dyn dupack_tcp::response::Response> {
    Entry::response(name, file!())
        .alias("same-as-before")
        .build(|(), _| Box::new(crate::response::previous::Previous))
}

#[test]
fn anyone_registers_and_clones_go_their_own_way() {
    let builtin = Catalog::builtin();
    let mut extended = builtin.clone();
    extended.register(mine("mine")).unwrap();
    let text = "newreno/reno/veno/same-as-before";
    let stack = StackSpec::parse(text, &extended).unwrap();
    assert_eq!(stack.to_string(), "newreno/reno/veno/mine");
    assert!(StackSpec::parse(text, &builtin).is_err());
    let empty = Catalog::empty();
    assert_eq!(empty.stacks().count(), 0);
    let error = StackSpec::parse("newreno/reno", &empty).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no loss recovery is called `newreno`")
    );
}

#[test]
fn a_withdrawn_entry_frees_its_name_and_stays_in_earlier_stacks() {
    let mut catalog = Catalog::builtin();
    catalog.register(mine("mine")).unwrap();
    let text = "newreno/reno/veno/mine";
    let before = StackSpec::parse(text, &catalog).unwrap();
    // The name does not exist on the other axis, so nothing is removed.
    catalog.withdraw(Axis::Control, "mine");
    assert!(StackSpec::parse(text, &catalog).is_ok());
    catalog.withdraw(Axis::Response, "mine");
    assert!(StackSpec::parse(text, &catalog).is_err());
    assert_eq!(before.to_string(), text);
    drop(before.build(Dialect::Rfc, &Context::new(1000)));
    catalog.register(mine("mine")).unwrap();
    assert!(StackSpec::parse(text, &catalog).is_ok());
}

#[test]
fn a_catalog_does_not_take_everything() {
    let mut catalog = Catalog::builtin();
    let mut refused = |entry| catalog.register(entry).unwrap_err().to_string();
    assert_eq!(
        refused(mine("tcp")),
        "response `tcp`: the name `tcp` is taken by `0`: choose another"
    );
    assert!(refused(mine("a/b")).contains("`a/b` cannot be written in a stack"));
    let spec = ParameterSpec {
        name: "n".into(),
        doc: "how many".into(),
        source: "nobody".into(),
        kind: Kind::Integer {
            min: 1,
            max: 9,
            unit: "".into(),
        },
        default: Defaults::same(Value::Integer(10)),
        level: Level::Basic,
    };
    let entry = |specs| {
        Entry::response("dynamically", file!()).build_with(specs, |_: &Values, _| {
            Box::new(crate::response::previous::Previous)
        })
    };
    assert_eq!(
        refused(entry(vec![spec.clone()])),
        "response `dynamically`: its parameter `n` has the default `10` in the dialect `rfc`, but \
         takes a whole number from 1 to 9"
    );
    let fair = ParameterSpec {
        default: Defaults::same(Value::Integer(3)),
        ..spec
    };
    assert_eq!(
        refused(entry(vec![fair.clone(), fair.clone()])),
        "response `dynamically`: its parameter `n` is declared twice: remove one"
    );
    let unwritable = ParameterSpec {
        name: "n m".into(),
        ..fair.clone()
    };
    assert!(refused(entry(vec![unwritable])).contains("its parameter `n m` cannot be written"));
    let word = ParameterSpec {
        kind: Kind::Choice(vec![Word::new("a,b", "either")].into()),
        default: Defaults::same(Value::word("a,b")),
        ..fair.clone()
    };
    assert!(refused(entry(vec![word])).contains("has the word `a,b`, which cannot be written"));
    catalog.register(entry(vec![fair])).unwrap();
    let text = "newreno/reno/veno/dynamically(n=4)";
    let stack = StackSpec::parse(text, &catalog).unwrap();
    assert_eq!(stack.to_string(), text);
    drop(stack.build(Dialect::Rfc, &Context::new(1000)));
}

#[test]
fn names_are_unique_and_excluded_entries_exist() {
    let draft = || Entry::response("mine", file!()).alias("own");
    let taken = |draft: Draft<dyn dupack_tcp::response::Response, ()>| {
        let entry = draft.build(|(), _| Box::new(crate::response::previous::Previous));
        let mut catalog = Catalog::builtin();
        let registered = catalog.register(entry);
        registered
            .map(|()| catalog)
            .map_err(|error| error.to_string())
    };
    for twice in ["mine", "own"] {
        assert_eq!(
            taken(draft().alias(twice)).unwrap_err(),
            format!("response `mine`: it has the name `{twice}` twice: remove one")
        );
    }
    let excludes = |name: &'static str| {
        draft().conflict(Axis::Recovery, Opponent::Named(name.into()), "a test")
    };
    let error = taken(excludes("sakc")).unwrap_err();
    assert!(
        error.contains("it excludes the loss recovery `sakc`, which does not exist"),
        "{error}"
    );
    let catalog = taken(excludes("sack")).unwrap();
    assert!(StackSpec::parse("sack/reno/veno/own", &catalog).is_err());
    assert!(StackSpec::parse("fack/reno/veno/own", &catalog).is_ok());
}

#[test]
fn a_stack_knows_the_owner_of_its_entries() {
    assert!(CATALOG.stacks().all(|stack| stack.is_builtin()));
    let mut catalog = Catalog::builtin();
    catalog.register(mine("mine")).unwrap();
    let is_builtin = |text| StackSpec::parse(text, &catalog).unwrap().is_builtin();
    assert!(is_builtin("sack/reno/veno/1"));
    assert!(!is_builtin("sack/reno/veno/mine"));
}

#[cfg(feature = "suggest")]
#[test]
fn a_misspelt_name_suggests_an_existing_one() {
    assert_eq!(CATALOG.suggest("sakc"), Some("sack"));
    assert_eq!(CATALOG.suggest("westwod"), Some("westwood"));
    assert_eq!(CATALOG.suggest("qqqq"), None);
    let error = error("newreno(xyzzy=1)/reno");
    assert!(error.contains("`xyzzy`. It has `"), "{error}");
}

#[test]
fn every_algorithm_has_a_handful_of_basic_parameters() {
    for entry in Catalog::builtin().descriptions() {
        let basic = entry.parameters.iter().filter(|p| p.level == Level::Basic);
        let (count, all) = (basic.count(), entry.parameters.len());
        assert!(count <= 8, "{}: {count} of {all}", entry.name);
        assert!(count > 0 || all == 0, "{}", entry.name);
    }
}

#[test]
fn parameters_are_basic_if_none_is_marked() {
    let catalog = Catalog::builtin();
    let has_advanced = |name: &str| {
        let mut called = catalog.descriptions().filter(|entry| entry.is_called(name));
        let parameters = &called.next().unwrap().parameters;
        parameters.iter().any(|p| p.level == Level::Advanced)
    };
    assert!(!has_advanced("zigzag") && has_advanced("cubic"));
}
