//! Tests of accepted text, printed text, and error messages.

use super::*;

fn message<T: FromStr<Err = UnitError> + fmt::Debug>(text: &str) -> String {
    text.parse::<T>().expect_err(text).to_string()
}

#[test]
fn parses_rates() {
    let bits = |text: &str| text.parse::<Rate>().map(Rate::as_bits_per_second);
    assert_eq!(bits("10Mbit/s"), Ok(10_000_000));
    assert_eq!(bits("10Mbps"), Ok(10_000_000));
    assert_eq!(bits("1.5Gbit/s"), Ok(1_500_000_000));
    assert_eq!(bits("838kbit/s"), Ok(838_000));
    assert_eq!(bits(" 64 bit/s "), Ok(64));
    assert_eq!(bits("18446744073709551615bit/s"), Ok(u64::MAX));
}

#[test]
fn parses_delays() {
    let nanos = |text: &str| text.parse::<Delay>().map(Delay::as_nanos);
    assert_eq!(nanos("20ms"), Ok(20_000_000));
    assert_eq!(nanos("200us"), Ok(200_000));
    assert_eq!(nanos("200\u{b5}s"), Ok(200_000));
    assert_eq!(nanos("200\u{3bc}s"), Ok(200_000));
    assert_eq!(nanos("1.5s"), Ok(1_500_000_000));
    assert_eq!(nanos(".1ms"), Ok(100_000));
    assert_eq!(nanos("10ns"), Ok(10));
    assert_eq!(nanos("2min"), Ok(120_000_000_000));
    assert_eq!(nanos("0"), Ok(0));
}

#[test]
fn parses_byte_counts_and_buffers() {
    let bytes = |text: &str| text.parse::<ByteCount>().map(ByteCount::as_bytes);
    assert_eq!(bytes("20MB"), Ok(20_000_000));
    assert_eq!(bytes("64KiB"), Ok(65_536));
    assert_eq!(bytes("1460B"), Ok(1_460));
    assert_eq!(bytes("0.5KiB"), Ok(512));
    assert_eq!("50pkt".parse(), Ok(Buffer::Packets(50)));
    assert_eq!("50 packets".parse(), Ok(Buffer::Packets(50)));
    assert_eq!("64kB".parse(), Ok(Buffer::Bytes(64_000)));
    assert_eq!("1MiB".parse(), Ok(Buffer::Bytes(1 << 20)));
}

#[test]
fn parses_probabilities() {
    let fraction = |text: &str| text.parse::<Probability>().map(Probability::as_fraction);
    assert_eq!(fraction("1%"), Ok(0.01));
    assert_eq!(fraction("0.1 %"), Ok(0.001));
    assert_eq!(fraction("0"), Ok(0.0));
    assert_eq!(fraction("1e-5"), Ok(1e-5));
    assert_eq!(fraction("100%"), Ok(1.0));
}

/// A bare `0.5` is ambiguous in a file and in a flag.
#[test]
fn a_bare_number_is_not_a_probability() {
    assert_eq!(
        message::<Probability>("0.01"),
        "`0.01` could be a fraction or a percentage: write 1% or 0.01%"
    );
    assert_eq!(
        message::<Probability>("1"),
        "`1` could be a fraction or a percentage: write 100% or 1%"
    );
}

#[test]
fn a_bare_number_of_bytes_needs_a_unit() {
    assert_eq!(
        message::<ByteCount>("1448"),
        "`1448` has no unit: write 1448B"
    );
}

#[test]
fn prints_the_shortest_exact_form() {
    let rate = |bits| Rate::from_bits_per_second(bits).to_string();
    assert_eq!(rate(10_000_000), "10Mbit/s");
    assert_eq!(rate(1_500_000_000), "1.5Gbit/s");
    assert_eq!(rate(838_000), "838kbit/s");
    assert_eq!(rate(0), "0bit/s");
    let delay = |nanos| Delay::from_nanos(nanos).to_string();
    assert_eq!(delay(100_000_000), "100ms");
    assert_eq!(delay(1_500_000_000), "1.5s");
    assert_eq!(delay(120_000_000_000), "120s");
    assert_eq!(delay(1_000_001), "1000001ns");
    let bytes = |bytes| ByteCount::from_bytes(bytes).to_string();
    assert_eq!(bytes(65_536), "64KiB");
    assert_eq!(bytes(64_000), "64kB");
    assert_eq!(bytes(1_460), "1460B");
    assert_eq!(Buffer::Packets(50).to_string(), "50pkt");
    let probability = |p| Probability::new(p).expect("between 0 and 1").to_string();
    assert_eq!(probability(0.0), "0%");
    assert_eq!(probability(-0.0), "0%");
    assert_eq!(probability(1.0), "100%");
    assert_eq!(probability(0.005), "0.5%");
    assert_eq!(probability(0.12345), "12.345%");
    assert_eq!(probability(1e-7), "1e-7");
}

#[test]
fn printed_values_parse_to_the_same_value() {
    let mut value = 1_u64;
    for step in 0..2_000_u64 {
        value = value
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let sample = value >> (step % 64);
        let rate = Rate::from_bits_per_second(sample);
        assert_eq!(rate.to_string().parse(), Ok(rate));
        let delay = Delay::from_nanos(sample);
        assert_eq!(delay.to_string().parse(), Ok(delay));
        let bytes = ByteCount::from_bytes(sample);
        assert_eq!(bytes.to_string().parse(), Ok(bytes));
        for buffer in [Buffer::Bytes(sample), Buffer::Packets(sample as u32)] {
            assert_eq!(buffer.to_string().parse(), Ok(buffer));
        }
        let fraction = (value >> 11) as f64 / (1_u64 << 53) as f64 / (1 + step * step) as f64;
        let probability = Probability::new(fraction).expect("between 0 and 1");
        assert_eq!(probability.to_string().parse(), Ok(probability));
    }
}

#[test]
fn errors_suggest_a_correction() {
    assert_eq!(
        message::<Rate>("10Mb"),
        "`10Mb` has no time unit: write 10Mbit/s"
    );
    assert_eq!(
        message::<Rate>("10M"),
        "`10M` has no time unit: write 10Mbit/s"
    );
    assert_eq!(message::<Rate>("10"), "`10` has no unit: write 10Mbit/s");
    assert_eq!(
        message::<Rate>("10MB/s"),
        "`10MB/s` counts bytes, not bits: write 80Mbit/s"
    );
    assert_eq!(
        message::<Rate>("1,5Gbit/s"),
        "`1,5Gbit/s` has a comma in its number: write 1.5Gbit/s"
    );
    assert_eq!(
        message::<Rate>("10Mbits/s"),
        "`10Mbits/s` has the unknown unit `Mbits/s`: write 10Mbit/s"
    );
    assert_eq!(
        message::<Rate>("-5Mbit/s"),
        "`-5Mbit/s` is negative: write 5Mbit/s"
    );
    assert_eq!(message::<Delay>("20"), "`20` has no unit: write 20ms");
    assert_eq!(
        message::<Delay>("20m"),
        "`20m` is ambiguous: write 20ms or 20min"
    );
    assert_eq!(
        message::<Delay>("20msec"),
        "`20msec` has the unknown unit `msec`: write 20ms"
    );
    assert_eq!(
        message::<Delay>("20MS"),
        "`20MS` has the unknown unit `MS`: write 20ms"
    );
    assert_eq!(
        message::<Delay>("0.5ns"),
        "`0.5ns` is finer than the resolution: write a multiple of 1ns"
    );
    assert_eq!(
        message::<Delay>("1e3ms"),
        "`1e3ms` has an exponent: write plain digits, for example 10ms"
    );
    assert_eq!(
        message::<ByteCount>("20M"),
        "`20M` does not say that it counts bytes: write 20MB"
    );
    assert_eq!(
        message::<ByteCount>("10Mbit"),
        "`10Mbit` counts bits, not bytes: write 1.25MB"
    );
    assert_eq!(
        message::<Buffer>("50"),
        "`50` has no unit: write 50pkt or 50kB"
    );
    assert_eq!(
        message::<Buffer>("50pakets"),
        "`50pakets` has the unknown unit `pakets`: write 50packets"
    );
    assert_eq!(
        message::<Buffer>("1bdp"),
        "`1bdp` has the unknown unit `bdp`: write 1pkt or 1kB"
    );
    assert_eq!(message::<Probability>("5"), "`5` is above 1: write \"5%\"");
    assert_eq!(
        message::<Probability>("1ppm"),
        "`1ppm` has the unknown unit `ppm`: write \"1%\""
    );
    assert_eq!(
        message::<Probability>("101%"),
        "`101%` is above 100%: write at most \"100%\""
    );
}

#[test]
fn hostile_text_is_an_error_and_never_a_panic() {
    let long = "9".repeat(100_000);
    let nasty = [
        "",
        " ",
        "\0",
        "-",
        "--1",
        "+1",
        ".",
        "..",
        "1..2ms",
        "1.2.3s",
        "%",
        "%%",
        "1%%",
        "ms",
        "e",
        "e5",
        "1e",
        "1e+",
        "1e999999999999%",
        "NaN",
        "nan%",
        "inf",
        "-inf",
        "∞ms",
        "١ms",
        "\u{2212}5ms",
        "5\u{3bc}",
        "5\u{b5}",
        "🦀",
        "5🦀",
        "1_000ms",
        "0x10B",
        "-0",
        "-0%",
        "1,",
        ",5ms",
        "1,5,5ms",
        "99999999999999999999s",
        "18446744073709551616bit/s",
        "99999999999999999999TiB",
        "0.00000000000000000000000000001ms",
        "4294967296pkt",
        "1.5pkt",
        &long,
    ];
    for text in nasty {
        let errors = [
            text.parse::<Rate>().err(),
            text.parse::<Delay>().err(),
            text.parse::<ByteCount>().err(),
            text.parse::<Buffer>().err(),
            text.parse::<Probability>().err(),
        ];
        for error in errors {
            let message = error
                .unwrap_or_else(|| panic!("{text:.40?} was accepted"))
                .to_string();
            assert!(
                message.len() < 500,
                "{} bytes for {text:.40?}",
                message.len()
            );
        }
    }
    assert!(format!("{long}ms").parse::<Delay>().is_err());
    assert!(
        format!("1{}", "m".repeat(100_000))
            .parse::<Delay>()
            .is_err()
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Link {
    rate: Rate,
    delay: Delay,
    loss: Probability,
    queue: Buffer,
    transfer: ByteCount,
}

#[test]
fn files_parse_and_print_units() {
    let text = "rate = \"10Mbit/s\"\ndelay = \"20ms\"\nloss = \"1%\"\nqueue = \"50pkt\"\ntransfer = \"20MB\"\n";
    let link: Link = toml::from_str(text).expect("valid");
    assert_eq!(toml::to_string(&link).expect("serialisable"), text);
    let error = toml::from_str::<Link>(&text.replace("\"1%\"", "0.01")).expect_err("bare");
    assert!(error.to_string().contains("write 1% or 0.01%"), "{error}");
    let error = toml::from_str::<Link>(&text.replace("\"20ms\"", "20")).expect_err("no unit");
    assert!(
        error.to_string().contains("`20` has no unit: write 20ms"),
        "{error}"
    );
    let error = toml::from_str::<Link>(&text.replace("\"1%\"", "5")).expect_err("above 1");
    assert!(
        error.to_string().contains("`5` is above 1: write \"5%\""),
        "{error}"
    );
}

#[test]
fn the_schema_shows_examples() {
    let schema = serde_json::to_string(&schemars::schema_for!(Link)).expect("JSON");
    for example in ["10Mbit/s", "20ms", "1%", "50pkt", "20MB"] {
        assert!(schema.contains(example), "{example} in {schema}");
    }
}
