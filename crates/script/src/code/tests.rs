use super::*;

fn state(name: &str) -> Lookup {
    match name {
        "tcpi_snd_cwnd" => Lookup::Is(Value::Int(10)),
        "tcpi_rtt" => Lookup::Is(Value::Int(100_250)),
        "tcpi_hidden" => Lookup::Beyond("`tcpi_hidden`".to_owned()),
        _ => Lookup::Unknown,
    }
}

fn run(text: &str) -> Result<(), Stop> {
    Interpreter::new(|_| ()).run(text, &state)
}

fn complaint(text: &str) -> Complaint {
    match run(text) {
        Err(Stop::Failed(complaint)) => complaint,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn true_assertions_pass() {
    for text in [
        "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
        " assert 9 < tcpi_snd_cwnd <= 10 # a comment, with an ' in it",
        "assert (tcpi_snd_cwnd & 2) != 0 and not False or None",
        "assert 0x7fffffff == 2147483647; assert 7 // 2 == 3; assert 7 / 2 == 3.5",
        "assert -7 // 2 == -4 and -7 % 3 == 2 and 7 % -3 == -2 and 7 // -2 == -4",
        "assert 2 ** 10 == 1024 and 1 << 4 == 16 and ~0 == -1 and 6 ^ 3 == 5",
        "assert 'cwnd=%d %s %.2f%%' % (10, 'x', 1.5) == 'cwnd=10 x 1.50%'",
        "assert min(3, 1, 2) == 1 and max((4, 5)) == 5 and abs(-3) == 3 and round(2.5) == 2",
        "assert int('7') == 7 and int(' -12 ') == -12 and float('1.5') == 1.5",
        "assert 2 ** -1 == 0.5 and 2.0 ** 3 == 8 and 9 ** 0.5 == 3 and (-2.0) ** 2 == 4",
        "assert -1 >> 70 == -1 and 5 >> 64 == 0 and -1 << 63 < 0 and 0 << 99 == 0 and str(2 ** -2) == '0.25'",
        "assert \\\n tcpi_snd_cwnd == 10",
        "assert (1 <\n 2)",
        "assert (1, 2) < (1, 3) and 'a' != 1",
        "print(tcpi_snd_cwnd); x = 3; x += 4; assert x == 7",
        "",
    ] {
        assert_eq!(run(text), Ok(()), "{text}");
    }
}

#[test]
fn a_failed_assertion_has_a_line_a_message_and_values() {
    let complaint =
        complaint("\nassert 1 == 1\nassert tcpi_snd_cwnd == 7, 'cwnd %d' % tcpi_snd_cwnd");
    assert_eq!(complaint.line, 2);
    assert!(complaint.message.ends_with("cwnd 10"), "{complaint:?}");
    assert_eq!(
        complaint.seen,
        [("tcpi_snd_cwnd".to_owned(), "10".to_owned())]
    );
}

#[test]
fn variables_persist_between_blocks_of_code() {
    let mut interpreter = Interpreter::new(|_| ());
    interpreter
        .run("cwnd = tcpi_snd_cwnd", &state)
        .expect("it runs");
    interpreter
        .run("cwnd += 1; assert cwnd == 11", &state)
        .expect("it runs");
}

#[test]
fn errors_of_python_fail() {
    for text in [
        "assert nothing",
        "x = 1 // 0",
        "assert 'a' < 1",
        "x = 'a' - 1",
        "x = int('seven')",
        "x = int('7.5')",
        "x = float('')",
        "x = 0 ** -1",
        "x = 1 << -1",
        "x = 1 >> -1",
        "x = 10.0 ** 400",
    ] {
        complaint(text);
    }
}

#[test]
fn unsupported_python_is_reported() {
    for text in [
        "assert tcpi_hidden == 1",
        "import sys",
        "if 1: x = 2",
        "assert [1] == [1]",
        "x = open('file')",
        "x = 9223372036854775807 + 1",
        "x = 3 << 63",
        "x = 1 << 64",
        "x = int('99999999999999999999')",
        "x = (-8) ** -0.5",
        "assert 'a' in 'abc'",
        "x = y = 1",
        "x, y = 1, 2",
        "print 'text'",
        "x = f(a=1)",
        "x = f(*a)",
        "x = 1 if True else 2",
        "assert 10L == 0b1010",
        "x = r'text'",
        "assert not tcpi_snd_cwnd is None",
        "pass",
        "x = \'\'\'a\nb\'\'\'",
        "x = lambda: 1",
        "x = (lambda: 1)",
        "x = (a for a in b)",
        "x = 1 if (2 if 3 else 4) else 5",
    ] {
        assert!(
            matches!(run(text), Err(Stop::Beyond(_))),
            "{text}: {:?}",
            run(text)
        );
    }
}

#[test]
fn boolean_operators_short_circuit() {
    assert_eq!(run("assert True or tcpi_hidden"), Ok(()));
    assert_eq!(run("x = False and tcpi_hidden; assert not x"), Ok(()));
}

#[test]
fn print_prints_as_python_does() {
    std::thread_local! {
        static PRINTED: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let print = |line: &str| PRINTED.with_borrow_mut(|lines| lines.push(line.to_owned()));
    let code =
        "print('cwnd', tcpi_snd_cwnd, 1.5, ('a', None))\nprint()\nprint('%d' % 7); assert 1 == 2";
    let stopped = Interpreter::new(print).run(code, &state);
    assert!(matches!(stopped, Err(Stop::Failed(_))));
    let printed = PRINTED.take();
    assert_eq!(printed, ["cwnd 10 1.5 ('a', None)", "", "7"]);
}

#[test]
fn invalid_python_fails_with_a_message() {
    for (text, line, words) in [
        (
            "\nassert tcpi_snd_cwnd ==",
            1,
            "expected an expression after `==`",
        ),
        ("assert", 0, "expected an expression after `assert`"),
        ("x =", 0, "expected an expression after `=`"),
        ("assert (tcpi_snd_cwnd == 99", 0, "unclosed `(`"),
        ("x = max(1, 2", 0, "unclosed `(`"),
        ("x = (1\nassert x == 1", 1, "found `assert` after `1`"),
        ("assert tcpi_snd_cwnd = 99", 0, "`=` assigns: write `==`"),
        ("assert (x = 1)", 0, "`=` assigns"),
        ("assert x)", 0, "unmatched `)`"),
        ("assert x == )", 0, "after `==`, found `)`"),
        ("assert x && y", 0, "after `&`, found `&`"),
        ("assert and x", 0, "after `assert`, found `and`"),
        ("assert x y", 0, "found `y` after `x`"),
        ("assert (1 2)", 0, "found `2` after `1`"),
        ("x = 1; assert x == 1 'one'", 0, "found `'one'` after `1`"),
        ("assert x, y, z", 0, "a condition and a message"),
        (
            "\n\nx = 'unfinished",
            2,
            "unclosed text at `'unfinished`: add `'`",
        ),
        ("assert !x", 0, "`!` is not Python"),
        ("x = '%d' % 'a'", 0, "needs a number"),
        ("x = '%d %d' % 1", 0, "more places than values"),
        ("x = '%d' % (1, 2)", 0, "fewer places than values"),
    ] {
        let complaint = complaint(text);
        assert!(complaint.message.contains(words), "{text}: {complaint:?}");
        assert_eq!(complaint.line, line, "{text}");
    }
}

#[test]
fn numbers_can_have_an_exponent() {
    assert_eq!(
        run("assert 1e3 == 1000 and 2.5e-1 == .25 and 1E+1 == 10"),
        Ok(())
    );
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [
        ("(", ")"),
        ("not ", ""),
        ("-", ""),
        ("+", ""),
        ("~", ""),
        ("2 ** ", ""),
        ("max(", ")"),
        ("(1, ", ")"),
        ("not (1 + 2 * -(3 ** (", ")))"),
    ] {
        let deep = |levels: usize| {
            let (open, close) = (open.repeat(levels), close.repeat(levels));
            format!("\nassert {open}1{close}")
        };
        if let Err(stop) = run(&deep(3)) {
            assert!(!format!("{stop:?}").contains("nested"), "{stop:?}");
        }
        for levels in [crate::parse::DEEPEST, 10_000] {
            let complaint = complaint(&deep(levels));
            let told = "nested too deeply: at most 50 levels";
            assert_eq!((complaint.line, &*complaint.message), (1, told), "{open}");
        }
    }
}

#[test]
fn long_expressions_are_not_deep() {
    for (sign, sum) in [
        ("+", "20001"),
        ("and", "1"),
        ("|", "1"),
        ("*", "1"),
        ("<=", "True"),
    ] {
        let terms = format!(" {sign} 1").repeat(20_000);
        assert_eq!(run(&format!("x = 1{terms}; assert x == {sum}, x")), Ok(()));
    }
}

#[test]
fn values_that_grow_without_bound_are_unsupported() {
    for text in [
        format!("x = 1, 2\n{}", "x = (x,)\n".repeat(20_000)),
        format!("x = 1, 2\n{}", "x = x, x\n".repeat(100)),
        format!("x = 'text'\n{}", "x = x + x\n".repeat(100)),
        format!("x = 'text'\n{}", "x = '%s%s' % (x, x)\n".repeat(100)),
        "x = '%.70000f' % 1".to_owned(),
        "x = '%.60000f' % 1".to_owned(),
    ] {
        let outcome = run(&text);
        let start: String = text.chars().take(30).collect();
        assert!(
            matches!(outcome, Err(Stop::Beyond(_))),
            "{start}: {outcome:?}"
        );
    }
}

#[test]
fn an_impossible_name_is_an_error_with_a_reason() {
    let lookup = |_: &str| Lookup::Wrong("tcp_info has no field tcpi_nosuch".to_owned());
    let stop = Interpreter::new(|_| ()).run("assert tcpi_nosuch", &lookup);
    assert!(
        matches!(&stop, Err(Stop::Failed(complaint)) if complaint.message.contains("no field tcpi_nosuch")),
        "{stop:?}"
    );
}
