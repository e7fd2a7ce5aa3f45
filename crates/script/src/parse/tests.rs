use super::*;
use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};

use crate::syntax::{EcnField, Expression, Packet, TcpOption};

fn events(source: &str) -> Vec<Event> {
    parse(source).expect("a script").events
}

fn first(source: &str) -> What {
    events(source).remove(0).what
}

fn packet(source: &str) -> Packet {
    match first(&format!("0 {source}")) {
        What::Inbound(packet) | What::Outbound(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn call(source: &str) -> crate::syntax::Call {
    match first(&format!("0 {source}")) {
        What::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

/// Returns line, column and message of the error.
fn wrong(source: &str) -> (usize, usize, String) {
    let error = parse(source).expect_err("no script");
    assert_eq!(error.fault, Fault::Script, "{error}");
    (error.line, error.column, error.message)
}

const BEGIN: &str = "0 close(3) = 0\n";

#[test]
fn times_are_absolute_relative_ranges_or_any() {
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let after = Duration::from_millis;
    let source = format!(
        "{BEGIN} .5 < . 1:1(0)\n +.25 < . 1:1(0)\n 1~1.5 > . 1:1(0)\n +1~+2.0 > . 1:1(0)\n * > . 1:1(0)"
    );
    let times: Vec<When> = events(&source)[1..].iter().map(|event| event.at).collect();
    assert_eq!(
        times,
        [
            When::At(at(500)),
            When::After(after(250)),
            When::Between(at(1000), at(1500)),
            When::AfterBetween(after(1000), after(2000)),
            When::Whenever,
        ]
    );
}

#[test]
fn a_packet_has_flags_numbers_and_options() {
    assert_eq!(
        packet(
            "> [ect0] FP. 1:1001(1000) ack 7 win 32 <nop,nop,TS val 5 ecr 6,nop,nop,sack 1:2 3:4>"
        ),
        Packet {
            ecn: Some(EcnField::Ect0),
            flags: Packet::FIN | Packet::PSH | Packet::ACK,
            seq: 1,
            len: 1000,
            ack: 7,
            window: Some(32),
            options: Some(vec![
                TcpOption::Nop,
                TcpOption::Nop,
                TcpOption::Timestamps { value: 5, echo: 6 },
                TcpOption::Nop,
                TcpOption::Nop,
                TcpOption::Sack(vec![(1, 2), (3, 4)]),
            ]),
        }
    );
    let syn = packet("< SEW 0:0(0) win 1 <mss 1460,sackOK,nop,nop,wscale 7,eol>");
    assert_eq!(syn.flags, Packet::SYN | Packet::ECE | Packet::CWR);
    assert_eq!(packet("> . 1:1(0) <...>").options, None);
    assert_eq!(packet("> - 1:1(0)").flags, 0);
    assert_eq!(packet("> . 1:1(0)").options, Some(Vec::new()));
}

#[test]
fn a_call_has_arguments_a_result_and_optionally_an_end() {
    let call = call(
        "... .5 poll([{fd=4, events=POLLIN|POLLOUT, revents=0}], 1, 0x10) = -1 EAGAIN (try again)",
    );
    assert_eq!(call.until, Some(Duration::from_millis(500)));
    assert_eq!(call.result, Expression::Number(-1));
    assert_eq!(call.error.as_deref(), Some("EAGAIN"));
    assert_eq!(call.arguments[2], Expression::Number(16));
    let Expression::List(list) = &call.arguments[0] else {
        panic!("{call:?}");
    };
    let Expression::Struct(members) = &list[0] else {
        panic!("{list:?}");
    };
    assert_eq!(members[1].name.as_deref(), Some("events"));
    assert!(matches!(&members[1].value, Expression::Or(words) if words.len() == 2));
}

#[test]
fn addresses_messages_and_notes_are_parsed() {
    call(
        r#"bind(3, {sa_family = AF_INET, sin_port = htons(8080), sin_addr = inet_addr("1.2.3.4")}, ...) = 0"#,
    );
    call("sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 10}, {..., 20}], msg_flags=0}, 0) = 30");
    assert_eq!(
        call("fcntl(3, F_GETFL) = 0x2 (flags O_RDWR)").result,
        Expression::Number(2)
    );
}

#[test]
fn options_commands_code_and_comments_have_their_places() {
    let source = "--tolerance_usecs=10 // note\n--strict\n`sysctl a=\"b\"\nsecond`\n/* two\nlines */\n0 %{ assert 1 > 0 }%\n+0 `third`\n`last`";
    let script = parse(source).expect("a script");
    assert_eq!(script.options[0].value.as_deref(), Some("10"));
    assert_eq!((script.options[1].line, script.options.len()), (2, 2));
    assert_eq!(script.preparation.expect("commands").line, 3);
    let lines: Vec<usize> = script.events.iter().map(|event| event.line).collect();
    assert_eq!(lines, [7, 8]);
}

#[test]
fn errors_have_a_place_and_say_what_was_expected() {
    for (source, line, column, words) in [
        ("", 1, 1, "no events"),
        ("1 close(3) = 0", 1, 1, "time 0"),
        ("0 < X. 1:1(0)", 1, 5, "flags"),
        ("0 < . 1:11(9)", 1, 7, "from 1 to 11 does not have 9 bytes"),
        ("0 < . 1:1(0) <mss>", 1, 18, "a segment size"),
        ("0 < . 1:1(0) <mss 70000>", 1, 19, "70000 is out of range"),
        ("0 < . 1:1(0) <mess 7>", 1, 15, "unknown option `mess`"),
        (
            "0 < . 1:1(0) <...>",
            1,
            15,
            "not allowed for inbound packets",
        ),
        ("0 < icmp nonsense", 1, 10, "an ICMP error"),
        ("0 < icmp unreachable nonsense", 1, 22, "a code"),
        ("0 < icmp unreachable host_unreachable mtu 7", 1, 43, "MTU"),
        ("0 < icmp packet_too_big mtu", 1, 28, "an MTU"),
        (
            "0 < icmp unreachable [1:2(2)]",
            1,
            23,
            "does not have 2 bytes",
        ),
        (
            "0 close(3)\n+0 close(4) = 0",
            2,
            1,
            "the result of the call",
        ),
        ("0 close(3 = 0", 1, 11, "another value, or `)`"),
        ("0 socket() = 3\n+0 %{ assert 1", 2, 4, "`}%`"),
        ("0 `sysctl", 1, 3, "a back quote"),
        (
            "0 close(3) = 0\n+1~+2 close(4) = 0",
            2,
            7,
            "the time `*` or a range",
        ),
        ("0 close(3) = 0\n 2~1 > . 1:1(0)", 2, 2, "before it begins"),
        ("0 close(3) = 0\n+0 !", 2, 4, "an event"),
        ("0 < .8 1:1(0)", 1, 5, "an ACE field of 0 to 7"),
        ("0 < E.5 1:1(0)", 1, 9, "twice"),
        ("0 < 5.5 1:1(0)", 1, 5, "an ACE field of 0 to 7"),
        ("0 < . 1:1(0) <ECN ceb 1>", 1, 19, "the first counter"),
        ("0 < . 1:1(0) <ECN e0b 16777216>", 1, 23, "24 bits"),
        (
            "0 close() = 0",
            1,
            3,
            "close takes 1 argument (descriptor), but 0 are given",
        ),
        (
            "0 write(4, 10) = 10",
            1,
            3,
            "write takes 3 arguments (descriptor, buffer, bytes), but 2 are given",
        ),
        (
            "0...1 fcntl(3) = 0",
            1,
            7,
            "fcntl takes 2 or 3 arguments (descriptor, command, [value]), but 1 are given",
        ),
    ] {
        let (found_line, found_column, message) = wrong(source);
        assert_eq!(
            (found_line, found_column),
            (line, column),
            "{source}: {message}"
        );
        assert!(message.contains(words), "{source}: {message}");
    }
}

#[test]
fn options_that_exceed_a_header_are_errors() {
    let stamped = "nop,nop,TS val 1 ecr 2,nop,nop,sack 1:2 3:4 5:6";
    for direction in ['<', '>'] {
        let fits = format!("0 {direction} . 1:1(0) <{stamped}>");
        assert!(parse(&fits).is_ok());
        let (line, column, message) = wrong(&format!("0 {direction} . 1:1(0) <{stamped},nop>"));
        assert_eq!((line, column), (1, fits.len() + 1));
        assert!(message.contains("41 bytes"), "{message}");
    }
    let (_, column, message) = wrong("0 < . 1:1(0) <nop,nop,sack 1:2 3:4 5:6 7:8 9:10>");
    assert_eq!(column, 23);
    assert!(message.contains("44 bytes"), "{message}");
}

#[test]
fn options_must_fill_whole_words() {
    for direction in ['<', '>'] {
        let with = |options: &str| format!("0 {direction} S 0:0(0) <{options}>");
        assert!(parse(&with("mss 1460,nop,wscale 7")).is_ok());
        assert!(parse(&with("sackOK,eol,eol")).is_ok());
        let (_, column, message) = wrong(&with("mss 1460,wscale 7"));
        assert_eq!(column, "0 < S 0:0(0) <mss 1460,".len() + 1);
        assert!(
            message.contains("7 bytes") && message.contains("1 in all"),
            "{message}"
        );
        assert!(wrong(&with("TS val 1 ecr 2")).2.contains("2 in all"));
    }
}

#[test]
fn unsupported_features_are_not_errors_of_the_script() {
    for (source, words) in [
        ("0 > icmp unreachable", "ICMP"),
        ("0 < icmp echo_request", "ICMP"),
        ("0 < icmp unreachable [udp (10)]", "UDP"),
        ("0 < udp (10)", "UDP"),
        ("0 < S 0:0(0) <FO abcd,nop>", "Fast Open"),
        ("0 > [tos 0x10] . 1:1(0)", "IP header"),
        ("0 < . 1:1(0) win 1 urg 5", "urgent"),
    ] {
        let error = parse(source).expect_err(source);
        assert_eq!(error.fault, Fault::Missing, "{source}");
        assert!(error.message.contains(words), "{source}: {error}");
    }
}

#[test]
fn the_ace_field_can_be_flags_or_a_number() {
    let packet = |text: &str| match parse(text).expect(text).events.remove(0).what {
        What::Inbound(packet) => packet,
        other => panic!("{text}: {other:?}"),
    };
    let letters = packet("0 < EAP. 1:11(10) ack 1 <ECN e1b 1 ceb 20 e0b 3,nop>");
    let digits = packet("0 < P.5 1:11(10) ack 1 <ECN e1b 1 ceb 20 e0b 3,nop>");
    assert_eq!(letters, digits);
    let before = packet("0 < P5. 1:11(10) ack 1 <ECN e1b 1 ceb 20 e0b 3,nop>");
    assert_eq!(letters, before);
    let option = EcnCounters::new(CounterOrder::Ect1First, &[1, 20, 3]);
    let expected = [TcpOption::Counters(option), TcpOption::Nop];
    assert_eq!(letters.options.as_deref(), Some(&expected[..]));
    let short = packet("0 < .0 1:1(0) ack 1 <ECN e0b 9,nop,nop,nop>");
    assert!(!short.is(Packet::ECE) && short.is(Packet::ACK));
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = |open: &str, close: &str, levels: usize| {
        let source = format!(
            "0 close(3) = 0\n+0 poll({}1{}, 1, 0) = 0",
            open.repeat(levels),
            close.repeat(levels)
        );
        parse(&source)
            .map(drop)
            .map_err(|error| (error.line, error.message))
    };
    for (open, close) in [
        ("[", "]"),
        ("{", "}"),
        ("a=", ""),
        ("f(", ")"),
        ("{a=", "}"),
    ] {
        assert_eq!(deep(open, close, 10), Ok(()), "{open}");
        for levels in [DEEPEST, 10_000] {
            let told = (2, "nested too deeply: at most 50 levels".to_owned());
            assert_eq!(deep(open, close, levels), Err(told), "{open}");
            // Unclosed brackets also count as nesting.
            deep(open, "", levels).expect_err("no script");
        }
    }
    // A long list is not deeply nested.
    let long = format!("0 poll(a{}, 1, 0) = 0", "|a".repeat(20_000));
    parse(&long).expect("a script");
}
