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
fn what_holds_holds() {
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
fn what_does_not_hold_says_where_why_and_with_what_values() {
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
fn variables_live_from_one_piece_of_code_to_the_next() {
    let mut interpreter = Interpreter::new(|_| ());
    interpreter
        .run("cwnd = tcpi_snd_cwnd", &state)
        .expect("it runs");
    interpreter
        .run("cwnd += 1; assert cwnd == 11", &state)
        .expect("it runs");
}

#[test]
fn what_python_would_stop_at_fails() {
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
fn what_is_beyond_us_is_said_and_not_guessed() {
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
        "x = 'unfinished",
    ] {
        assert!(
            matches!(run(text), Err(Stop::Beyond(_))),
            "{text}: {:?}",
            run(text)
        );
    }
}

#[test]
fn what_decides_a_choice_ends_it() {
    assert_eq!(run("assert True or tcpi_hidden"), Ok(()));
    assert_eq!(run("x = False and tcpi_hidden; assert not x"), Ok(()));
}

#[test]
fn print_prints_what_python_would() {
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
