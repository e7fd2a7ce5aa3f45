//! Tests of charts with empty, invalid and ordinary data: no chart panics, and each chart is a valid picture.

use super::*;

/// Checks that a picture is valid XML. With the features `png` and `pdf`, also checks that it can be converted.
#[track_caller]
fn assert_picture(svg: Result<String, FigureError>) -> String {
    let svg = svg.expect("drawn");
    let document = roxmltree::Document::parse(&svg).expect("valid XML");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    #[cfg(feature = "png")]
    {
        let bitmap = png(&svg, 1.0).expect("valid SVG");
        assert!(bitmap.starts_with(b"\x89PNG\r\n"));
    }
    #[cfg(feature = "pdf")]
    {
        let document = pdf(&svg).expect("valid SVG");
        assert!(document.starts_with(b"%PDF-"));
    }
    svg
}

fn nasty() -> Vec<f64> {
    vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -1.0,
        1e308,
        1e-308,
        -1e308,
        5.0,
    ]
}

fn nasty_points() -> Vec<(f64, f64)> {
    let values = nasty();
    values
        .iter()
        .flat_map(|&x| values.iter().map(move |&y| (x, y)))
        .collect()
}

#[test]
fn empty_charts_say_so() {
    let empty = [
        assert_picture(LineChart::default().svg()),
        assert_picture(BarChart::default().svg()),
        assert_picture(StepChart::default().svg()),
        assert_picture(TimeSequence::default().svg()),
        assert_picture(
            Facets {
                panels: vec![Facet::default(); 3],
                ..Facets::default()
            }
            .svg(),
        ),
    ];
    for svg in empty {
        assert!(svg.contains("no data"));
        assert!(in_words(&svg).is_some_and(|words| words.contains("There is no data.")));
    }
    assert_picture(Facets::default().svg());
    assert_picture(HeatMap::default().svg());
}

/// Returns all texts of a picture.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).expect("valid XML");
    let all = document.descendants().filter(|n| n.has_tag_name("text"));
    all.filter_map(|n| n.text().map(|text| text.trim().to_owned()))
        .collect()
}

#[test]
fn invalid_numbers_have_no_shade() {
    for shades in [Shades::Ratio, Shades::Amount] {
        let cells = nasty().into_iter().map(|value| {
            let interval = Some((value - 1.0, value + 1.0));
            Some(HeatCell { value, interval })
        });
        let cells: Vec<Option<HeatCell>> = cells.chain([None]).collect();
        let map = HeatMap {
            shades,
            columns: vec!["c".into(); 10],
            rows: vec!["r".into(); 2],
            panels: vec![HeatPanel {
                name: "<&>".into(),
                cells: vec![cells.clone(), cells, Vec::new()],
            }],
            ..HeatMap::default()
        };
        assert_picture(map.svg());
    }
}

#[test]
fn larger_amounts_are_darker_and_the_scale_has_their_bounds() {
    let cells = [1.0, 2.0, 3.0, 4.0, 5.0].map(|value| {
        Some(HeatCell {
            value,
            interval: None,
        })
    });
    let map = HeatMap {
        shades: Shades::Amount,
        columns: ["a", "b", "c", "d", "e"].map(Into::into).to_vec(),
        rows: vec!["r".into()],
        panels: vec![HeatPanel {
            name: "p".into(),
            cells: vec![cells.to_vec()],
        }],
        ..HeatMap::default()
    };
    let svg = assert_picture(map.svg());
    // Each shade occurs once in the legend and once in the table.
    for shade in style::AMOUNTS {
        let hex = format!(" fill=\"#{:02X}{:02X}{:02X}\"", shade.0, shade.1, shade.2);
        assert_eq!(svg.matches(&hex).count(), 2, "{hex}");
    }
    for edge in ["1.80", "2.60", "3.40", "4.20"] {
        assert!(texts(&svg).iter().any(|text| text == edge), "{edge}");
    }
}

#[test]
fn panels_have_one_scale_and_the_labels_of_the_outer_ones() {
    let facet = |name: &str, most: f64| Facet {
        name: name.into(),
        series: vec![Series {
            name: "sack/reno".into(),
            points: vec![(0.0, most / 2.0, None).into(), (5.0, most, None).into()],
        }],
    };
    let facets = Facets {
        y_label: "goodput (Mbit/s)".into(),
        x_label: "loss (%)".into(),
        panels: vec![facet("near", 8.0), facet("far", 2.0)],
        ..Facets::default()
    };
    let svg = assert_picture(facets.svg());
    let texts = texts(&svg);
    let count = |wanted: &str| texts.iter().filter(|text| *text == wanted).count();
    assert_eq!((count("near"), count("far")), (1, 1));
    // Both panels have the same vertical axis up to 8, and only the left panel has its labels. Each panel has its own
    // labels below.
    assert_eq!((count("8"), count("5")), (1, 2), "{texts:?}");
    let words = in_words(&svg).expect("words");
    assert!(
        words.contains("2 panels of lines of goodput (Mbit/s), 1 to 8, over loss (%), 0 to 5.")
    );
    assert!(
        words.contains("near: sack/reno: 4 at 0, 8 at 5."),
        "{words}"
    );
}

#[test]
fn zero_is_beyond_a_break_and_connected_by_a_faint_line() {
    let points = [0.0, 0.1, 1.0, 10.0].map(|x| Point::from((x, 5.0 - x / 5.0, None)));
    let chart = |x_scale| LineChart {
        x_scale,
        series: vec![Series {
            name: "a".into(),
            points: points.to_vec(),
        }],
        ..LineChart::default()
    };
    let with_zero = assert_picture(chart(Scale::LogAndZero).svg());
    assert!(texts(&with_zero).iter().any(|text| text == "0.1"));
    let faint = |svg: &str| svg.matches("opacity=\"0.45\"").count();
    assert_eq!(faint(&with_zero), 1, "from 0 to 0.1");
    assert_eq!(faint(&assert_picture(chart(Scale::Linear).svg())), 0);
    let markers = |svg: &str| svg.matches("<circle").count();
    let without = assert_picture(chart(Scale::Log).svg());
    assert_eq!(markers(&with_zero) - markers(&without), 1, "zero is shown");
}

#[test]
fn pictures_have_text_descriptions() {
    let bars = |values: &[f64]| -> Vec<Option<Bar>> {
        let bars = values.iter().map(|&mean| {
            Some(Bar {
                mean,
                half_width: None,
            })
        });
        bars.collect()
    };
    let series = |name: &str, values: &[f64]| BarSeries {
        name: name.into(),
        bars: bars(values),
    };
    let mut chart = BarChart {
        title: "Goodput".into(),
        subtitle: String::new(),
        value_label: "goodput (Mbit/s)".into(),
        categories: ["x", "y", "z"].map(Into::into).to_vec(),
        series: vec![series("", &[2.0, 8.5, 4.0])],
        reference: None,
    };
    let said = |chart: &BarChart| in_words(&assert_picture(chart.svg())).expect("words");
    assert_eq!(
        said(&chart),
        "Goodput. Bars of goodput (Mbit/s), 2.00 to 8.50. In descending order: y 8.50, z 4.00, x 2.00."
    );
    chart.series = vec![series("a", &[1.0, 2.0, 3.0]), series("b", &[3.0, 2.0, 1.0])];
    let words = said(&chart);
    assert!(
        words.contains("x: highest b 3.00, lowest a 1.00."),
        "{words}"
    );
    assert!(
        words.contains("y: highest all equal 2.00, lowest all equal 2.00."),
        "{words}"
    );
    let steps = StepChart {
        title: "Windows".into(),
        subtitle: String::new(),
        x_label: "time (s)".into(),
        y_label: "cwnd (packets)".into(),
        time_range: Some((0.0, 10.0)),
        series: vec![StepSeries {
            name: "a".into(),
            points: vec![(0.0, 10.0), (5.0, 20.0)],
        }],
    };
    let words = in_words(&assert_picture(steps.svg())).expect("words");
    let wanted = "cwnd (packets) over time (s), from 0 to 10. a: 10.0 to 20.0, mean 15.0.";
    assert!(words.ends_with(wanted), "{words}");
}

#[test]
fn invalid_points_of_lines_are_left_out() {
    let points = nasty_points();
    for scale in [Scale::Linear, Scale::Log] {
        let points = points.iter().flat_map(|&(x, y)| {
            let widths = [
                None,
                Some(f64::NAN),
                Some(-1.0),
                Some(f64::INFINITY),
                Some(2.0),
            ];
            widths.map(|half_width| Point {
                x,
                mean: y,
                half_width,
            })
        });
        let series = vec![Series {
            name: "<&\"'\u{0}>".into(),
            points: points.collect(),
        }];
        let chart = LineChart {
            x_scale: scale,
            y_scale: scale,
            series,
            ..LineChart::default()
        };
        assert_picture(chart.svg());
    }
}

#[test]
fn invalid_points_over_time_are_left_out() {
    let points = nasty_points();
    let series = vec![StepSeries {
        name: String::new(),
        points: points.clone(),
    }];
    let sacks = points.iter().map(|&(time, first)| SackBlock {
        time,
        first,
        end: -first,
    });
    let plot = TimeSequence {
        sacks: sacks.collect(),
        sends: points.clone(),
        cwnd: points.clone(),
        ssthresh: points.clone(),
        ..TimeSequence::default()
    };
    for time_range in [
        None,
        Some((f64::NAN, 1.0)),
        Some((1.0, 1.0)),
        Some((0.0, 1e300)),
    ] {
        assert_picture(
            StepChart {
                series: series.clone(),
                time_range,
                ..StepChart::default()
            }
            .svg(),
        );
        assert_picture(
            TimeSequence {
                time_range,
                ..plot.clone()
            }
            .svg(),
        );
    }
}

#[test]
fn invalid_bars_are_left_out() {
    let bars = nasty()
        .into_iter()
        .map(|mean| {
            Some(Bar {
                mean,
                half_width: Some(mean),
            })
        })
        .collect();
    let chart = BarChart {
        categories: vec!["a".into(); 4],
        series: vec![
            BarSeries {
                name: String::new(),
                bars
            };
            3
        ],
        reference: Some(Reference {
            value: f64::NAN,
            name: String::new(),
        }),
        ..BarChart::default()
    };
    assert_picture(chart.svg());
}

#[test]
fn pictures_of_long_runs_have_a_bounded_size() {
    let points: Vec<(f64, f64)> = (0..300_000)
        .map(|i| (f64::from(i) * 1e-3, f64::from(i % 977)))
        .collect();
    let plot = TimeSequence {
        cwnd: points.clone(),
        acks: (0..300_000)
            .map(|i| (f64::from(i) * 1e-3, f64::from(i)))
            .collect(),
        ..TimeSequence::default()
    };
    assert!(assert_picture(plot.svg()).len() < 1_000_000);
    let series = vec![StepSeries {
        name: String::new(),
        points,
    }];
    assert!(
        assert_picture(
            StepChart {
                series,
                ..StepChart::default()
            }
            .svg()
        )
        .len()
            < 1_000_000
    );
}

#[cfg(feature = "png")]
#[test]
fn impossible_scales_are_errors() {
    let svg = LineChart::default().svg().expect("drawn");
    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e9] {
        assert!(
            matches!(png(&svg, scale), Err(FigureError::Scale { .. })),
            "{scale}"
        );
    }
    assert!(matches!(png("<svg", 1.0), Err(FigureError::Svg(_))));
}

/// Returns the number of occurrences of `what` in `bytes`.
#[cfg(feature = "pdf")]
fn times(what: &str, bytes: &[u8]) -> usize {
    let windows = bytes.windows(what.len());
    windows.filter(|window| *window == what.as_bytes()).count()
}

#[cfg(feature = "pdf")]
#[test]
fn a_pdf_is_one_page_of_the_size_of_the_picture_with_its_font() {
    let document = pdf(&examples::line().svg().expect("drawn")).expect("PDF");
    assert!(document.starts_with(b"%PDF-"));
    assert_eq!(times("<</Type/Page/", &document), 1);
    assert_eq!(times("/MediaBox[0 0 675 ", &document), 1, "900 px");
    assert_eq!(times("/Type/FontDescriptor", &document), 1);
    assert!(times("+Ubuntu-Light", &document) > 0);
    assert_eq!(times("/FontFile2 ", &document), 1, "the font is embedded");
    assert_eq!(times("/ToUnicode ", &document), 1, "text is searchable");
    let wordless = pdf("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>");
    assert_eq!(times("Ubuntu", &wordless.expect("PDF")), 0);
    assert!(matches!(pdf("<svg"), Err(FigureError::Svg(_))));
}

#[cfg(feature = "pdf")]
#[test]
fn pdfs_are_light_and_reproducible() {
    let svg = examples::line().svg().expect("drawn");
    let style = svg.find("<style>").expect("dark colours");
    let end = svg.find("</style>").expect("their end") + "</style>".len();
    let light = format!("{}{}", &svg[..style], &svg[end..]);
    assert_eq!(pdf(&svg).expect("PDF"), pdf(&light).expect("PDF"));
    let forced = svg.replace("@media (prefers-color-scheme:dark){", "");
    assert_ne!(pdf(&svg).expect("PDF"), pdf(&forced).expect("PDF"));
}

#[test]
fn pictures_depend_only_on_their_data() {
    let chart = examples::line();
    assert_eq!(chart.svg().expect("drawn"), chart.svg().expect("drawn"));
}

/// Writes every example as SVG into the directory `FIGURES`, for visual inspection. With the features `png` and `pdf`,
/// also writes PNG and PDF files.
#[test]
#[ignore = "for visual inspection: FIGURES=dir cargo test -p dupack-report look_at_figures -- --ignored"]
fn look_at_figures() {
    let directory = std::path::PathBuf::from(std::env::var("FIGURES").expect("FIGURES=dir"));
    std::fs::create_dir_all(&directory).expect("directory");
    for (name, svg) in examples::all() {
        let svg = assert_picture(svg);
        #[cfg(feature = "png")]
        {
            let bitmap = png(&svg, 1.5).expect("PNG");
            std::fs::write(directory.join(format!("{name}.png")), bitmap).expect("written");
        }
        #[cfg(feature = "pdf")]
        {
            let document = pdf(&svg).expect("PDF");
            std::fs::write(directory.join(format!("{name}.pdf")), document).expect("written");
        }
        std::fs::write(directory.join(format!("{name}.svg")), svg).expect("written");
    }
}

/// Charts with made-up but plausible numbers.
mod examples {
    use super::*;

    const STACKS: [&str; 6] = [
        "newreno/reno",
        "sack/reno",
        "le/westwood",
        "sack/reno/veno/24",
        "rack/cubic",
        "rack/bbr",
    ];

    pub(super) fn all() -> Vec<(&'static str, Result<String, FigureError>)> {
        vec![
            ("line", line().svg()),
            ("line-log", line_log().svg()),
            ("line-band", line_band().svg()),
            ("bar-standing", bar_standing().svg()),
            ("bar-lying", bar_lying().svg()),
            ("step", step().svg()),
            ("time-sequence", time_sequence(None).svg()),
            ("time-sequence-part", time_sequence(Some((0.85, 1.6))).svg()),
            (
                "empty",
                TimeSequence {
                    title: "Nothing happened".into(),
                    ..TimeSequence::default()
                }
                .svg(),
            ),
        ]
    }

    pub(super) fn line() -> LineChart {
        let series = STACKS.iter().enumerate().map(|(index, &name)| {
            let robust = index as f64;
            let points = [0.0, 0.5, 1.0, 2.0, 5.0].map(|loss| {
                let mean = 9.4 / (1.0 + loss * 1.6 / (1.0 + robust));
                Point {
                    x: loss,
                    mean,
                    half_width: Some(0.12 + 0.08 * loss),
                }
            });
            Series {
                name: name.to_owned(),
                points: points.to_vec(),
            }
        });
        LineChart {
            title: "Goodput under random loss".into(),
            subtitle: "10 Mbit/s, 40 ms round trip, 50-packet queue; mean of 20 seeds, 95 % confidence intervals".into(),
            x_label: "random loss (%)".into(),
            y_label: "goodput (Mbit/s)".into(),
            y_from_zero: true,
            series: series.collect(),
            ..LineChart::default()
        }
    }

    fn line_log() -> LineChart {
        let series = STACKS.iter().take(3).enumerate().map(|(index, &name)| {
            let points = [1e-5, 1e-4, 1e-3, 1e-2, 5e-2, 0.1].map(|loss: f64| {
                let mean = 1.2e6 / loss.sqrt() / 40.0 * (1.0 + index as f64);
                Point {
                    x: loss,
                    mean,
                    half_width: Some(mean * 0.2),
                }
            });
            Series {
                name: name.to_owned(),
                points: points.to_vec(),
            }
        });
        LineChart {
            title: "Throughput follows 1/√p".into(),
            x_label: "loss probability".into(),
            y_label: "throughput (bit/s)".into(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            series: series.collect(),
            ..LineChart::default()
        }
    }

    fn line_band() -> LineChart {
        let series = STACKS.iter().take(4).enumerate().map(|(index, &name)| {
            let points = (0..60).map(|step| {
                let x = f64::from(step) * 0.5;
                let mean = 20.0 + 10.0 * (x * 0.4 + index as f64).sin() + 8.0 * index as f64;
                Point {
                    x,
                    mean,
                    half_width: Some(1.5 + x * 0.05),
                }
            });
            Series {
                name: name.to_owned(),
                points: points.collect(),
            }
        });
        LineChart {
            title: "Queueing delay over the run".into(),
            x_label: "time (s)".into(),
            y_label: "queueing delay (ms)".into(),
            series: series.collect(),
            ..LineChart::default()
        }
    }

    fn bar_standing() -> BarChart {
        let bars = |base: f64| {
            (0..4)
                .map(|i| {
                    Some(Bar {
                        mean: base + 0.35 * f64::from(i),
                        half_width: Some(0.2),
                    })
                })
                .collect()
        };
        BarChart {
            title: "Gain over NewReno, by network".into(),
            subtitle: "paired by seed".into(),
            value_label: "goodput relative to newreno/reno".into(),
            categories: ["wired", "Wi-Fi, one hop", "Wi-Fi, four hops", "satellite"]
                .map(Into::into)
                .to_vec(),
            series: vec![
                BarSeries {
                    name: "sack/reno".into(),
                    bars: bars(0.9),
                },
                BarSeries {
                    name: "le/westwood".into(),
                    bars: bars(1.2),
                },
                BarSeries {
                    name: "momentary/reno".into(),
                    bars: bars(1.6),
                },
            ],
            reference: Some(Reference {
                value: 1.0,
                name: "newreno/reno".into(),
            }),
        }
    }

    fn bar_lying() -> BarChart {
        let names = [
            "newreno/reno",
            "sack/reno",
            "fack/reno",
            "rack/cubic/none",
            "le/westwood",
            "sack/reno/veno/24",
            "momentary/newreno-with-a-long-name/spike/keep",
            "rack/bbr",
            "rr/reno",
            "sack/westwood",
            "newreno/vegas",
            "rack/prague",
        ];
        BarChart {
            title: "Goodput of every stack in the catalogue at 1 % loss".into(),
            subtitle: "10 Mbit/s, 40 ms; mean of 20 seeds, 95 % confidence intervals".into(),
            value_label: "goodput (Mbit/s)".into(),
            categories: names.map(Into::into).to_vec(),
            series: vec![BarSeries {
                name: "goodput".into(),
                bars: (0..12)
                    .map(|i| {
                        Some(Bar {
                            mean: 2.0 + 0.62 * f64::from(i),
                            half_width: Some(0.25),
                        })
                    })
                    .collect(),
            }],
            reference: None,
        }
    }

    fn step() -> StepChart {
        let series = STACKS.iter().take(4).enumerate().map(|(index, &name)| {
            let mut cwnd: f64 = 10.0;
            let points = (0..3_000).map(|step| {
                let time = f64::from(step) * 0.02;
                let top = 60.0 + 8.0 * index as f64;
                cwnd = if cwnd > top {
                    cwnd * (0.5 + 0.1 * index as f64)
                } else {
                    cwnd + 0.08
                };
                (time, cwnd)
            });
            StepSeries {
                name: name.to_owned(),
                points: points.collect(),
            }
        });
        StepChart {
            title: "Congestion windows".into(),
            subtitle: "10 Mbit/s, 40 ms, drop-tail queue of 50 packets".into(),
            x_label: "time (s)".into(),
            y_label: "cwnd (packets)".into(),
            time_range: None,
            series: series.collect(),
        }
    }

    /// Returns a time–sequence plot of a slow start, three drops, a fast recovery and a timeout.
    fn time_sequence(time_range: Option<(f64, f64)>) -> TimeSequence {
        let mut plot = TimeSequence {
            title: "NewReno recovers three losses, one per round trip".into(),
            subtitle: "newreno/reno, 2 Mbit/s, 100 ms, seed 7".into(),
            time_range,
            ssthresh: vec![(0.0, f64::INFINITY), (1.0, 8.0), (2.0, 5.0)],
            ..TimeSequence::default()
        };
        let rtt = 0.1;
        for packet in 0..260_u32 {
            let number = f64::from(packet);
            let time = number * 0.01;
            plot.sends.push((time, number));
            let lost = [88, 92, 95, 180].contains(&packet);
            if lost {
                plot.drops.push((time + 0.02, number));
            } else if (packet < 88) || (packet > 130 && packet < 180) || packet > 215 {
                plot.acks.push((time + rtt, number + 1.0));
            } else if packet < 131 {
                plot.acks.push((time + rtt, 88.0));
                plot.sacks.push(SackBlock {
                    time: time + rtt,
                    first: 96.0,
                    end: number + 1.0,
                });
                plot.sacks.push(SackBlock {
                    time: time + rtt,
                    first: 93.0,
                    end: 95.0,
                });
            }
            plot.cwnd.push((
                time,
                if time < 1.0 {
                    2.0 + time * 16.0
                } else {
                    8.0 + (time - 1.0) * 3.0
                },
            ));
            plot.in_flight
                .push((time, 3.0 + (number * 0.3).sin() * 2.0 + time * 4.0));
        }
        plot.retransmissions = vec![
            Retransmissions {
                reason: "fast retransmit (3 duplicate ACKs)".into(),
                points: vec![(1.02, 88.0)],
            },
            Retransmissions {
                reason: "partial ACK".into(),
                points: vec![(1.13, 92.0), (1.24, 95.0)],
            },
            Retransmissions {
                reason: "timeout".into(),
                points: vec![(2.1, 180.0)],
            },
        ];
        plot
    }
}
