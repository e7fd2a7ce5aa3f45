//! Tests of filter expressions and the connections that pass them.

use proptest::prelude::*;

use super::*;

/// Two connections over IPv4 and one over IPv6.
const CONNECTIONS: [[&str; 2]; 3] = [
    ["10.0.0.1:40000", "192.168.1.9:443"],
    ["10.0.0.2:50000", "10.0.0.1:80"],
    ["[2001:db8::1]:60000", "[::1]:443"],
];

fn filter(text: &str) -> Filter {
    let filter = text.parse();
    filter.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the numbers, counted from 1, of the connections that pass. Checks both directions.
fn taken(text: &str) -> Vec<usize> {
    let filter = filter(text);
    let takes = |ends: [&str; 2]| {
        let [one, other] = ends.map(|end| end.parse().unwrap());
        let there = filter.takes(one, other);
        assert_eq!(
            there,
            filter.takes(other, one),
            "{text}: only one direction passes"
        );
        there
    };
    let numbered = (1..).zip(CONNECTIONS);
    let taken = numbered.filter(|(_, ends)| takes(*ends));
    taken.map(|(number, _)| number).collect()
}

fn error(text: &str) -> FilterError {
    let parsed = text.parse::<Filter>();
    parsed.err().unwrap_or_else(|| panic!("{text} was parsed"))
}

#[test]
fn an_expression_passes_the_packets_that_tcpdump_prints() {
    for (text, numbers) in [
        ("host 10.0.0.1", &[1, 2][..]),
        ("10.0.0.2", &[2]),
        ("host ::1", &[3]),
        ("host 0:0:0:0:0:0:0:1", &[3]),
        ("host 2001:DB8::1", &[3]),
        ("host 10.0.0.3", &[]),
        ("net 10.0.0.0/8", &[1, 2]),
        ("net 10", &[1, 2]),
        ("net 192.168", &[1]),
        ("net 192.168.1", &[1]),
        ("net 192.168/16", &[1]),
        ("net 192.168.2", &[]),
        ("net 10.0.0.2", &[2]),
        ("net 10.0.0.2/31", &[2]),
        ("net 0.0.0.0/0", &[1, 2]),
        ("10.0.0.0/8", &[1, 2]),
        ("net 2001:db8::/32", &[3]),
        ("net ::/0", &[3]),
        ("net ::1", &[3]),
        ("port 443", &[1, 3]),
        ("port https", &[1, 3]),
        ("portrange 80-442", &[2]),
        ("portrange 442-80", &[2]),
        ("portrange http-https", &[1, 2, 3]),
        ("portrange 80", &[2]),
        ("tcp", &[1, 2, 3]),
        ("ip", &[1, 2]),
        ("ip6", &[3]),
        ("TCP PORT 80", &[2]),
        ("tcp port 443", &[1, 3]),
        ("ip port 443", &[1]),
        ("ip6 port 443", &[3]),
        ("ip host 10.0.0.1", &[1, 2]),
        ("ip6 net 2001:db8::/32", &[3]),
        ("ip and port 443", &[1]),
        ("tcp and not ip6", &[1, 2]),
    ] {
        assert_eq!(taken(text), numbers, "{text}");
    }
}

#[test]
fn a_direction_chooses_ends_and_passes_whole_connections() {
    for (text, numbers) in [
        ("src host 10.0.0.1", &[1, 2][..]),
        ("dst 10.0.0.1", &[1, 2]),
        ("src 10.0.0.0/8 and dst net 10.0.0.0/8", &[2]),
        ("src net 10.0.0 and dst port 443", &[1]),
        ("src and dst net 10", &[2]),
        ("dst and src net 10", &[2]),
        ("src or dst net 10", &[1, 2]),
        ("src port 443 and dst port 443", &[]),
        ("tcp src port 80", &[2]),
        ("tcp dst portrange 1-100", &[2]),
        ("src host 10.0.0.1 and dst host 10.0.0.2", &[2]),
        ("src host 10.0.0.1 and src host 10.0.0.2", &[]),
        // These expressions are true for the packets to that host.
        ("not src host 10.0.0.1", &[1, 2, 3]),
        ("not host 10.0.0.1", &[3]),
        ("not (src or dst host 10.0.0.1)", &[3]),
    ] {
        assert_eq!(taken(text), numbers, "{text}");
    }
}

#[test]
fn a_value_without_keywords_has_those_before_it() {
    for (text, same) in [
        ("port 80 or 443", "port 80 or port 443"),
        ("host 10.0.0.2 or ::1", "host 10.0.0.2 or host ::1"),
        (
            "host 10.0.0.1 and 10.0.0.2",
            "host 10.0.0.1 and host 10.0.0.2",
        ),
        (
            "host 10.0.0.1 and not 10.0.0.2",
            "host 10.0.0.1 and not host 10.0.0.2",
        ),
        ("ip port 80 or 443", "ip port 80 or ip port 443"),
        ("port (80 or 443)", "port 80 or port 443"),
        (
            "host 10.0.0.1 and port (80 or 22)",
            "host 10.0.0.1 and (port 80 or port 22)",
        ),
        ("(port 80) or 443", "port 80 or port 443"),
        (
            "net 192.168.1 or 2001:db8::/32",
            "net 192.168.1 or net 2001:db8::/32",
        ),
        ("portrange 1-2 or 80-81", "portrange 1-2 or portrange 80-81"),
        (
            "src host 10.0.0.2 or 192.168.1.9",
            "src host 10.0.0.2 or src host 192.168.1.9",
        ),
        (
            "10.0.0.2 or 192.168.1.9",
            "host 10.0.0.2 or host 192.168.1.9",
        ),
    ] {
        assert_eq!(taken(text), taken(same), "{text}");
    }
    assert_eq!(taken("port 80 or 443"), [1, 2, 3]);
    assert_eq!(taken("host 10.0.0.1 and not 10.0.0.2"), [1]);
}

#[test]
fn not_binds_tightest_and_the_others_associate_to_the_left() {
    for (text, numbers) in [
        ("port 80 or port 443 and ip", &[1, 2][..]),
        ("port 80 or (port 443 and ip6)", &[2, 3]),
        ("port 443 or port 80 and ip6", &[3]),
        ("port 443 || port 80 && ip6", &[3]),
        ("ip6 and port 80 or port 443", &[1, 3]),
        ("not port 80 and ip", &[1]),
        ("not (port 80 and ip)", &[1, 3]),
        ("!port 80", &[1, 3]),
        ("! ( port 80 )", &[1, 3]),
        ("not not port 80", &[2]),
        ("not ! not port 80", &[1, 3]),
        ("ip and not port 80 or port 80", &[1, 2]),
        ("((((port 80))))", &[2]),
        ("(ip)and(port 80)", &[2]),
    ] {
        assert_eq!(taken(text), numbers, "{text}");
    }
}

#[test]
fn simple_display_filters_are_parsed() {
    for (text, numbers) in [
        ("ip.addr == 10.0.0.1", &[1, 2][..]),
        ("ip.addr==10.0.0.1&&tcp.port==443", &[1]),
        ("ip.addr eq 10.0.0.0/8", &[1, 2]),
        ("ip.addr != 10.0.0.1", &[3]),
        ("ip.src == 10.0.0.1 && ip.dst == 10.0.0.2", &[2]),
        ("ipv6.addr == ::1", &[3]),
        ("tcp.port == 443", &[1, 3]),
        ("tcp.port = 443", &[1, 3]),
        ("tcp.port ne 443", &[2]),
        ("!(tcp.port == 443)", &[2]),
        ("tcp.dstport == 80 or tcp.srcport == 60000", &[2, 3]),
        ("ip.addr == 10.0.0.1 and port 80 or 443", &[1, 2, 3]),
    ] {
        assert_eq!(taken(text), numbers, "{text}");
    }
}

#[test]
fn an_error_names_the_column_and_a_valid_expression() {
    for (text, column, parts) in [
        (
            "",
            1,
            &[
                "a primitive",
                "the end of the filter",
                "`host 192.0.2.1 and port 443`",
            ][..],
        ),
        ("   ", 4, &["a primitive"]),
        ("host", 5, &["an address", "`host 192.0.2.1`"]),
        ("host and port 80", 6, &["an address", "`and`"]),
        ("host port 80", 6, &["an address", "`port`"]),
        (
            "host example.com",
            6,
            &[
                "`example.com` is not an IP address",
                "names are not resolved",
            ],
        ),
        (
            "example.com",
            1,
            &["names are not resolved", "`host 192.0.2.1`"],
        ),
        (
            "host 10.0.0.1:443",
            6,
            &["without a port", "`host 10.0.0.1 and port 443`"],
        ),
        ("host 10.0.0", 6, &["a whole address", "`net 10.0.0`"]),
        (
            "host 10.0.0.0/8",
            6,
            &["a whole address", "`net 10.0.0.0/8`"],
        ),
        ("host 256.0.0.1", 6, &["not an IP address"]),
        ("host 443", 6, &["an address", "`port 443`"]),
        ("443", 1, &["an address", "`port 443`"]),
        ("net", 4, &["a network", "`net 10.0.0.0/8`"]),
        (
            "net 10.0.0.1/8",
            5,
            &["bits beyond its prefix", "`net 10.0.0.0/8`"],
        ),
        ("net 2001:db8::1/32", 5, &["`net 2001:db8::/32`"]),
        (
            "net 10.0.0.0/33",
            5,
            &[
                "`10.0.0.0/33`",
                "32 bits",
                "an IPv4 address",
                "`net 10.0.0.0/8`",
            ],
        ),
        ("10.0.0.0/33", 1, &["32 bits"]),
        ("host 10.0.0.1/33", 6, &["32 bits"]),
        ("net 10.0.0.0/99999999999", 5, &["32 bits"]),
        ("ip.addr == 10.0.0.0/33", 12, &["32 bits"]),
        ("net 10.0.0.0/", 5, &["a network"]),
        ("net 1.2.3.4.5", 5, &["a network"]),
        (
            "net ::/129",
            5,
            &["128 bits", "an IPv6 address", "`net 2001:db8::/32`"],
        ),
        ("net ::/x", 5, &["a network"]),
        ("http", 1, &["an address", "`port http`"]),
        ("tcp.port", 9, &["`==` or `!=`", "`tcp.port == 443`"]),
        (
            "ipv6.addr",
            10,
            &["`==` or `!=`", "`ipv6.addr == 2001:db8::1`"],
        ),
        ("net example", 5, &["a network"]),
        ("port", 5, &["a port", "`port 443`"]),
        ("port 65536", 6, &["a port from 0 to 65535"]),
        ("port gopherd", 6, &["a port from 0 to 65535"]),
        ("port 80-90", 6, &["`portrange 80-90`"]),
        ("port 80 or 10.0.0.1", 12, &["a port", "`host 10.0.0.1`"]),
        (
            "portrange 80-",
            11,
            &["a range of ports", "`portrange 8000-8080`"],
        ),
        ("portrange", 10, &["a range of ports"]),
        (
            "tcp 443",
            5,
            &["host, net, port", "`443`", "`tcp port 443`"],
        ),
        ("port 80 port 443", 9, &["`and` or `or`", "`port`"]),
        ("port 80 and", 12, &["a primitive", "the end of the filter"]),
        ("port 80)", 8, &["`and` or `or`", "`)`"]),
        (
            "ip and (port 80",
            8,
            &["a `)` that closes", "`(port 80 or port 443)`"],
        ),
        ("(port 80 host)", 10, &["`and`, `or` or `)`"]),
        ("()", 2, &["a primitive"]),
        ("port 80 & ip", 9, &["`and` or `or`", "`&`"]),
        ("prot 80", 1, &["no keyword `prot`", "did you mean `port`?"]),
        ("tcp and hots 10.0.0.1", 9, &["did you mean `host`?"]),
        ("udp port 53", 1, &["`udp` is not supported"]),
        ("tcp or icmp", 8, &["`icmp` is not supported"]),
        ("tcp[13] & 2 != 0", 1, &["`tcp[…]` is not supported"]),
        ("frame.number == 3", 1, &["`frame.number` is not supported"]),
        (
            "tcp.flags.syn == 1",
            1,
            &["`tcp.flags.syn` is not supported"],
        ),
        (
            "tcp.stream == 3",
            1,
            &["not a property of a packet", "`--flow 4`"],
        ),
        ("tcp.stream eq x", 1, &["`--flow 1`"]),
        ("tcp.stream", 1, &["`--flow 1`"]),
        ("tcp.port", 9, &["`==` or `!=`", "`tcp.port == 443`"]),
        ("tcp.port > 443", 10, &["`==` or `!=`", "`>`"]),
        ("tcp.port in {80 443}", 10, &["`==` or `!=`", "`in`"]),
        (
            "ip.addr == ::1",
            12,
            &["an IPv4 address", "`ipv6.addr == ::1`"],
        ),
        (
            "ipv6.addr == 10.0.0.1",
            14,
            &["an IPv6 address", "`ip.addr == 10.0.0.1`"],
        ),
        (
            "tcp.port == 80 or tcp.port == 443 and ip",
            35,
            &["parentheses"],
        ),
        ("höst 10.0.0.1", 1, &["did you mean `host`?"]),
        ("port 80 or höß", 12, &["a port"]),
        ("€", 1, &["a primitive", "`€`"]),
    ] {
        let error = error(text);
        assert_eq!(error.column, column, "{text}: {error}");
        let said = error.to_string();
        assert!(said.starts_with(&format!("column {column}: ")), "{said}");
        assert!(!said.contains('\n'), "{said}");
        for part in parts {
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}

#[test]
fn the_example_in_an_error_is_valid() {
    let quoted = |said: &str| said.rsplit('`').nth(1).map(ToOwned::to_owned);
    for text in [
        "",
        "host",
        "host 443",
        "host 10.0.0",
        "host [::1]:443",
        "net 10.0.0.1/8",
        "port 1-2",
        "portrange a",
        "tcp 443",
        "(port 80",
        "ip.addr == ::1",
        "udp",
        "tcp.port",
        "tcp.port == 80 or ip.addr == 10.0.0.1 and ip",
    ] {
        let said = error(text).to_string();
        let example = quoted(&said).unwrap();
        assert!(example.parse::<Filter>().is_ok(), "{text}: {said}");
    }
}

#[test]
fn depth_is_bounded_and_length_is_not() {
    let nested = |depth: usize| format!("{}port 80{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(taken(&nested(64)), [2]);
    for depth in [65, 1000, 100_000] {
        let error = error(&nested(depth));
        assert_eq!((error.column, error.problem), (65, Problem::TooDeep));
    }
    assert_eq!(taken(&format!("{}port 80", "not ".repeat(20_000))), [2]);
    assert_eq!(taken(&format!("port 80{}", " or 22".repeat(20_000))), [2]);
}

#[test]
fn long_or_strange_text_does_not_fill_the_screen() {
    let said = error(&format!("host {}", "x".repeat(1_000_000))).to_string();
    assert!(said.chars().count() < 300, "{said}");
    let said = error("host \u{1b}[31m").to_string();
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_filter_is_displayed_as_it_was_written() {
    assert_eq!(filter("  port 80 or 443 ").to_string(), "port 80 or 443");
}

/// Generates words of expressions in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "host",
        "net",
        "port",
        "portrange",
        "src",
        "dst",
        "tcp",
        "ip",
        "ip6",
        "and",
        "or",
        "not",
        "!",
        "&&",
        "||",
        "(",
        ")",
        "==",
        "!=",
        "10.0.0.1",
        "::1",
        "10.0.0.0/8",
        "::/0",
        "80",
        "1-2",
        "ip.addr",
        "tcp.port",
        "tcp.stream",
        "x",
    ]);
    prop::collection::vec(word, 0..20).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*", words in words()) {
        for text in [text, words] {
            if let Ok(filter) = text.parse::<Filter>() {
                taken(&text);
                prop_assert_eq!(filter.to_string().parse(), Ok(filter));
            }
        }
    }
}
